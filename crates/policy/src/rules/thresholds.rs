//! How much a session sends outside within a while. Past a threshold there is an alarm; a call is
//! held up only where the configuration says so.

use mcpproxy_core::{Action, Finding, Severity, Source, Threat, Tier};

use super::{Case, finding};

const CALLS: &str = "rapid_external_sends";
const PERSONAL: &str = "pii_external_sends";
const BYTES: &str = "data_volume";

/// The rules of the thresholds: each is an alarm, whatever becomes of the call.
pub const ALARMS: [&str; 3] = [CALLS, PERSONAL, BYTES];

/// Reports each threshold that this call goes over.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    if !case.outside() {
        return Vec::new();
    }
    let limits = &case.policy.exfiltration;
    let alerts = case.policy.alerts;
    let recent = case.facts.recent;
    let minutes = limits.window_minutes;
    let mut found = Vec::new();
    if alerts.exfiltration_detection && recent.outside_calls > limits.max_external_calls_per_minute
    {
        let reason = format!(
            "{} calls went outside within a minute, more than {}.",
            recent.outside_calls, limits.max_external_calls_per_minute
        );
        found.push(Finding {
            threat: Threat::RateLimitExceeded,
            ..alarm(CALLS, limits.action, reason)
        });
    }
    if alerts.pii_exposure && recent.personal_sends > limits.max_pii_external_sends {
        let reason = format!(
            "{} calls took personal data outside within {minutes} minutes, more than {}.",
            recent.personal_sends, limits.max_pii_external_sends
        );
        found.push(alarm(PERSONAL, limits.action, reason));
    }
    if alerts.exfiltration_detection && recent.outside_bytes > limits.max_data_volume_bytes {
        let reason = format!(
            "{} bytes went outside within {minutes} minutes, more than {}.",
            recent.outside_bytes, limits.max_data_volume_bytes
        );
        found.push(alarm(BYTES, limits.action, reason));
    }
    found
}

fn alarm(rule: &'static str, wants: Action, reason: String) -> Finding {
    Finding {
        source: Source::Behavioral,
        severity: Severity::High,
        ..finding(rule, Tier::Risk, wants, reason)
    }
}
