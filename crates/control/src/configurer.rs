//! The port through which the configuration is shown and changed. Who implements it knows the configuration file;
//! nothing here does.

use std::fmt;

use mcpproxy_engine::EngineSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of one change that are named.
const MOST_KEYS: usize = 32;

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
    /// Shows the configuration in the files, without secrets.
    fn show(&self) -> Result<Shown, ChangeFault>;
    /// Says what is wrong with the configuration that a change would make; nothing is written.
    fn check(&self, change: &ConfigChange) -> Result<Vec<String>, ChangeFault>;
    /// Changes the file and puts the change in force; a bad one leaves everything as it was.
    fn apply(&self, change: &ConfigChange) -> Result<Applied, ChangeFault>;
    /// Returns what the engine would be told after a change; nothing is written.
    fn preview(&self, change: &ConfigChange) -> Result<EngineSettings, ChangeFault>;
}

/// A change of the configuration file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigChange {
    /// The whole text of the file, as YAML or JSON.
    Text(String),
    /// What is laid over the file: maps are merged, `null` takes a key out (RFC 7396).
    Patch(serde_json::Map<String, serde_json::Value>),
}

impl ConfigChange {
    /// Names what a patch sets, two keys deep, without values; nothing of a whole text.
    pub(crate) fn keys(&self) -> Vec<String> {
        let Self::Patch(patch) = self else {
            return Vec::new();
        };
        let keys = patch
            .iter()
            .flat_map(|(key, value)| match value.as_object() {
                Some(inner) if !inner.is_empty() => {
                    inner.keys().map(|one| format!("{key}.{one}")).collect()
                }
                Some(_) | None => vec![key.clone()],
            });
        keys.take(MOST_KEYS).collect()
    }
}

/// The configuration as it may be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Configuration")]
pub struct Shown {
    /// Every value, defaults included, in the order of their keys.
    pub values: Vec<ShownValue>,
    /// The files that were read, the strongest first.
    pub files: Vec<String>,
    /// The file that changes are written to.
    pub target: String,
    /// What was given and does nothing.
    pub notices: Vec<String>,
}

/// One value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConfigurationValue")]
pub struct ShownValue {
    /// Its key, as `security.flow_policy.mode`.
    pub key: String,
    /// The value, masked where it is or may be secret.
    pub value: String,
    /// Where it came from.
    pub origin: String,
}

/// A change that was put in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Applied {
    /// What it brought.
    #[serde(flatten)]
    pub report: ReloadReport,
    /// Where the file stands as it was before; nothing where there was none.
    pub backup: Option<String>,
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
    /// No upstream can have the name.
    #[error("{reason}")]
    Name {
        /// What is wrong with it.
        reason: String,
    },
    /// The settings or the configuration are wrong.
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
            Self::Unknown { .. } | Self::Exists { .. } | Self::Name { .. } => None,
            Self::Invalid { hint, .. } | Self::Failed { hint, .. } => hint.as_deref(),
        }
    }
}

/// What a reload brought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
