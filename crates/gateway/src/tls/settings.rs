//! What the gateway is told about TLS on its listener.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS on the listener.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// File with the gateway's certificate and those that lead to its authority, in PEM.
    pub certificate: PathBuf,
    /// File with the private key of that certificate, in PEM.
    pub key: PathBuf,
    /// Whose certificates name callers; nobody's where nothing is said.
    #[serde(default)]
    pub callers: Option<CallerSettings>,
}

/// Whose certificates name callers, and how.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerSettings {
    /// File with the certificates of the authorities that are believed, in PEM.
    pub roots: PathBuf,
    /// Whether a connection without a certificate is refused.
    #[serde(default)]
    pub required: bool,
    /// Which name in a certificate is that of its holder; exactly one of it must be there.
    #[serde(default)]
    pub named_by: NamedBy,
}

/// A kind of name in a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamedBy {
    /// The common name of the subject.
    #[default]
    CommonName,
    /// The alternative name that is a host's.
    Dns,
    /// The alternative name that is a mail address.
    Email,
    /// The alternative name that is an address, such as a SPIFFE id.
    Uri,
}
