//! What may be told about the state that several gateways share.

use mcpproxy_core::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Span;

/// The shortest key that is taken, in characters.
const SHORTEST: usize = 32;
/// The longest that a call may be told to wait.
const LONGEST: u64 = 30;

/// Where several gateways share what they know of what goes on, so that they act as one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveSettings {
    /// Address of Redis, as `redis://user:password@host:port/database`; `rediss` encrypts the way.
    #[schemars(with = "String")]
    pub url: Secret,
    /// What only the gateways of one installation know: everything that is shared is sealed with it.
    #[schemars(with = "String")]
    pub key: Secret,
    /// How long an answer is waited for before the store counts as lost.
    #[serde(default = "timeout")]
    pub timeout: Span,
    /// What happens to calls to the outside while the store is lost.
    #[serde(default)]
    pub on_loss: OnLoss,
}

/// What happens to calls to the outside while the store is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnLoss {
    /// They are judged by what this gateway saw itself, and the verdict says so.
    #[default]
    Local,
    /// They are refused.
    Closed,
}

fn timeout() -> Span {
    Span::from_secs(1)
}

impl LiveSettings {
    /// Says what is wrong, with the key that it is wrong about.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let known = ["redis://", "rediss://", "unix://"];
        if !known.iter().any(|one| self.url.expose().starts_with(one)) {
            let why = "must be an address such as `redis://user:password@host:6379/0`";
            wrong.push(("url", why.to_owned()));
        }
        if self.key.expose().chars().count() < SHORTEST {
            let why = format!("must have {SHORTEST} characters or more, the same at every gateway");
            wrong.push(("key", why));
        }
        if self.timeout.is_zero() || self.timeout > Span::from_secs(LONGEST) {
            let why = format!("must be greater than zero and no more than {LONGEST} seconds");
            wrong.push(("timeout", why));
        }
        wrong
    }
}
