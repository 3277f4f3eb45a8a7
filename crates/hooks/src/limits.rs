//! What one hook is held to, whatever it is made of.

use std::time::Duration;

use mcpproxy_core::Sight;
use schemars::JsonSchema;
use serde::Serialize;

use crate::breaker::BreakerSettings;

/// How long a hook has where nothing is said.
const TIMEOUT: Duration = Duration::from_millis(200);
/// Questions that a hook has at once where nothing is said.
const CONCURRENCY: usize = 64;
/// The largest message that a hook is shown where nothing is said.
const MAX_BODY: usize = 1024 * 1024;

/// What one hook is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it has to answer.
    pub timeout: Duration,
    /// What it means for a message that it did not.
    pub failure_mode: FailureMode,
    /// Questions that it has at once; others wait for as long as the timeout.
    pub concurrency: usize,
    /// Questions that it gets in a while.
    pub rate: Option<Rate>,
    /// What it may see.
    pub sight: Sight,
    /// Whether it is told instead of asked: no call waits for it, and it stops none.
    pub asynchronous: bool,
    /// When it is left alone, and for how long.
    pub breaker: BreakerSettings,
    /// The largest message that it is shown; a larger one is a failure of the hook.
    pub max_body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: TIMEOUT,
            failure_mode: FailureMode::Closed,
            concurrency: CONCURRENCY,
            rate: None,
            sight: Sight::default(),
            asynchronous: false,
            breaker: BreakerSettings::default(),
            max_body: MAX_BODY,
        }
    }
}

/// What it means for a message that a hook did not decide about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum FailureMode {
    /// It goes on.
    #[serde(rename = "fail_open")]
    Open,
    /// It is refused.
    #[serde(rename = "fail_closed")]
    Closed,
}

impl FailureMode {
    /// Returns the name under which configuration and records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "fail_open",
            Self::Closed => "fail_closed",
        }
    }
}

/// How often a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Questions in a second, on average.
    pub per_second: u32,
    /// Questions at once after a rest.
    pub burst: u32,
}
