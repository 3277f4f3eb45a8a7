//! How long records are kept.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// When records are dropped, and when what they say is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Bytes past which the oldest records are dropped.
    pub max_bytes: u64,
    /// Records past which the oldest are dropped.
    pub max_records: Option<u64>,
    /// Age past which records are dropped.
    pub max_age: Option<Duration>,
    /// Age past which records that hold sensitive data keep their facts alone.
    pub redact_after: Option<Duration>,
}

impl Retention {
    /// Keeps everything.
    pub const ALL: Self = Self {
        max_bytes: u64::MAX,
        max_records: None,
        max_age: None,
        redact_after: None,
    };
}

/// What is in force, which may change while the log is written.
#[derive(Debug)]
pub(crate) struct InForce(Mutex<Retention>);

impl InForce {
    /// Puts the first in force.
    pub(crate) fn new(retention: Retention) -> Self {
        Self(Mutex::new(retention))
    }

    /// Returns what is in force.
    pub(crate) fn get(&self) -> Retention {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts another in force.
    pub(crate) fn set(&self, retention: Retention) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = retention;
    }
}
