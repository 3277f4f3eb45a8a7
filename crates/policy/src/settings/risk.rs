//! What scores and counts lead to: risk, thresholds, alerts.

use mcpproxy_core::{Action, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ActionName;

/// What a risk score from 0 to 100 leads to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RiskAssessment {
    /// Whether calls are scored.
    pub enabled: bool,
    /// Score from which a call is flagged.
    #[schemars(range(max = 100))]
    pub auto_flag_threshold: u8,
    /// Score from which a call needs approval.
    #[schemars(range(max = 100))]
    pub require_approval_threshold: u8,
    /// Whether a critical score stops a call.
    pub block_on_critical: bool,
}

/// How much may go outside within a while, and what happens past that.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Exfiltration {
    /// Calls to outside destinations in a minute.
    pub max_external_calls_per_minute: u32,
    /// Calls within the window that take personal data outside.
    pub max_pii_external_sends: u32,
    /// Bytes within the window that go outside.
    pub max_data_volume_bytes: u64,
    /// Minutes that the window reaches back.
    pub window_minutes: u32,
    /// What happens to a call past one of these.
    #[schemars(with = "ActionName")]
    pub action: Action,
}

/// Who is told about findings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// Whether data on its way outside raises an alert.
    pub exfiltration_detection: bool,
    /// Whether personal data raises an alert.
    pub pii_exposure: bool,
    /// Address to which alerts are posted; it often is a credential by itself.
    #[schemars(with = "Option<String>")]
    pub webhook_url: Option<Secret>,
    /// Keys that sign each alert, as for webhook hooks; two while one replaces the other.
    #[schemars(with = "Vec<String>")]
    pub signing_keys: Vec<Secret>,
    /// Where alerts go as syslog messages: `udp://host:514`, or `unix:///dev/log`.
    pub syslog: Option<String>,
}

/// Which alarms are raised: what judging needs of [`Alerts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AlertSwitches {
    /// Whether data on its way outside raises an alert.
    pub exfiltration_detection: bool,
    /// Whether personal data raises an alert.
    pub pii_exposure: bool,
}

impl Alerts {
    /// Returns which alarms are raised.
    pub fn switches(&self) -> AlertSwitches {
        AlertSwitches {
            exfiltration_detection: self.exfiltration_detection,
            pii_exposure: self.pii_exposure,
        }
    }
}

impl Default for RiskAssessment {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_flag_threshold: 70,
            require_approval_threshold: 85,
            block_on_critical: false,
        }
    }
}

impl Default for Exfiltration {
    fn default() -> Self {
        Self {
            max_external_calls_per_minute: 10,
            max_pii_external_sends: 3,
            max_data_volume_bytes: 1_048_576,
            window_minutes: 5,
            action: Action::Warn,
        }
    }
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            exfiltration_detection: true,
            pii_exposure: true,
            webhook_url: None,
            signing_keys: Vec::new(),
            syslog: None,
        }
    }
}

impl Default for AlertSwitches {
    fn default() -> Self {
        Alerts::default().switches()
    }
}
