//! The port through which upstreams are changed. Who implements it knows the configuration file;
//! nothing here does.

use std::fmt;

use serde::Serialize;

/// Changes the configuration and puts the change in force.
///
/// Settings may hold secrets: an implementation keeps them out of its faults and its log.
pub trait Configurer: Send + Sync + fmt::Debug {
    /// Adds an upstream with settings as the configuration file has them.
    fn add_upstream(&self, name: &str, settings: serde_json::Value) -> Result<(), ChangeFault>;
    /// Changes the named settings of an upstream; `null` takes one out.
    fn change_upstream(&self, name: &str, settings: serde_json::Value) -> Result<(), ChangeFault>;
    /// Removes an upstream.
    fn remove_upstream(&self, name: &str) -> Result<(), ChangeFault>;
    /// Switches an upstream on or off.
    fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), ChangeFault>;
    /// Reads the configuration again; a bad one leaves the last good one in force.
    fn reload(&self) -> Result<ReloadReport, ChangeFault>;
}

/// Why the configuration was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeFault {
    /// There is no such upstream.
    #[error("there is no upstream `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The name is taken.
    #[error("there is an upstream `{name}` already")]
    Exists {
        /// The name.
        name: String,
    },
    /// The name, the settings or the configuration are wrong.
    #[error("{reason}")]
    Invalid {
        /// What is wrong.
        reason: String,
        /// What would make it right, where that is known.
        hint: Option<String>,
    },
    /// The configuration could not be read or written.
    #[error("{reason}")]
    Failed {
        /// Why.
        reason: String,
        /// What would make it right, where that is known.
        hint: Option<String>,
    },
}

impl ChangeFault {
    /// Returns what would make it right, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unknown { .. } | Self::Exists { .. } => None,
            Self::Invalid { hint, .. } | Self::Failed { hint, .. } => hint.as_deref(),
        }
    }
}

/// What a reload brought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReloadReport {
    /// Upstreams that are new.
    pub added: Vec<String>,
    /// Upstreams that are gone.
    pub removed: Vec<String>,
    /// Upstreams whose settings changed.
    pub changed: Vec<String>,
    /// Keys whose change is not in force before a restart.
    pub needs_restart: Vec<String>,
}
