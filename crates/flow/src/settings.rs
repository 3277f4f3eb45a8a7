//! The configuration section of flow tracking. Keys and defaults are those of the specification;
//! what a flow leads to is for `policy`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How data is followed from where it was read to where it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowTracking {
    /// Whether data is followed at all.
    pub enabled: bool,
    /// Minutes without a call after which what a session read is forgotten.
    pub session_timeout_minutes: u32,
    /// Origins remembered for a session; the oldest go first.
    pub max_origins_per_session: usize,
    /// Shortest text of a field that gets a hash of its own, in characters.
    pub hash_min_length: usize,
    /// Bytes of an answer that the hash of its whole covers; fragments are found in all of it.
    pub max_response_hash_bytes: usize,
    /// How far secrets and typed values are recognized.
    pub scope: Scope,
}

/// How far secrets and typed values are recognized; other text never beyond linked sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In everything that the same verified caller sends, since an agent can renew its session.
    #[default]
    Principal,
    /// Only in the session that read them.
    Session,
}

impl Default for FlowTracking {
    fn default() -> Self {
        Self {
            enabled: true,
            session_timeout_minutes: 30,
            max_origins_per_session: 10_000,
            hash_min_length: 20,
            max_response_hash_bytes: 65_536,
            scope: Scope::default(),
        }
    }
}
