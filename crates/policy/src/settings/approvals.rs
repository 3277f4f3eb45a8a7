//! Whom to ask about a call when nobody waits for its answer who could be asked.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue of calls that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approvals {
    /// Whether there is a queue; without one a question that nobody can be asked is a warning.
    pub mode: Queueing,
    /// Seconds that a call waits for an answer, and that an answer counts.
    #[schemars(range(min = 1))]
    pub timeout_seconds: u32,
}

/// Whether calls wait for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Queueing {
    /// They do not.
    #[default]
    Off,
    /// They wait in the queue of `mcpproxy approvals`.
    Queue,
}

impl Approvals {
    /// Returns how long a person may take, if there is a queue.
    pub fn patience(&self) -> Option<Duration> {
        match self.mode {
            Queueing::Off => None,
            Queueing::Queue => Some(Duration::from_secs(u64::from(self.timeout_seconds))),
        }
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            mode: Queueing::Off,
            timeout_seconds: 300,
        }
    }
}
