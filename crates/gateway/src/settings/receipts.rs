//! What may be told about signed receipts. `receipts: enabled` alone is enough.

use std::path::PathBuf;

use mcpproxy_core::{PackInterval, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Durability;

/// Signed receipts of every call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiptSettings {
    /// Whether every call and every use of a tool that hooks tell of has a receipt.
    pub enabled: bool,
    /// Folder for receipts, packs and copies of the policy; `receipts` in the data folder if it is
    /// not given.
    pub audit_dir: Option<PathBuf>,
    /// Folder of the signing key; `~/.assay/keys` if it is not given, where `assay` looks for it.
    pub keys_dir: Option<PathBuf>,
    /// Whether a call waits until its receipt is on disk, and is refused if it cannot be written.
    pub durability: Durability,
    /// When packs are made, beside the end: `session` for none, `Nm` minutes or `Nr` receipts.
    pub pack_interval: PackInterval,
    /// Whether arguments are kept in clear.
    pub store_args: bool,
    /// Members of arguments that are kept in clear, where not all are.
    pub store_fields: Vec<String>,
    /// Whether results are kept in clear.
    pub store_results: bool,
    /// Key for the hashes of arguments and results, so that short ones cannot be guessed.
    #[schemars(with = "Option<String>")]
    pub hash_pepper: Option<Secret>,
}

impl Default for ReceiptSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            audit_dir: None,
            keys_dir: None,
            durability: Durability::default(),
            pack_interval: PackInterval::Minutes(60),
            store_args: false,
            store_fields: Vec::new(),
            store_results: false,
            hash_pepper: None,
        }
    }
}
