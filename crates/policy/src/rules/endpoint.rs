//! Addresses that collect what is sent to them.
//!
//! Which host and subdomain that is, in whatever spelling, is found where the facts are made.

use mcpproxy_core::{Action, Finding, Severity, Source, Tier};

use super::{Case, finding};

/// Denies what the configuration lists, whatever else is said; warns of what is only known for it.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let judged = case.facts.suspicious.iter().map(|one| {
        let (rule, tier, wants, severity, confidence) = match one.listed {
            true => (
                "suspicious-endpoint",
                Tier::Endpoint,
                Action::Deny,
                Severity::Critical,
                100,
            ),
            // Nobody forbade it, so it may only tighten what comes out.
            false => (
                "likely-collector",
                Tier::Risk,
                Action::Warn,
                Severity::Medium,
                80,
            ),
        };
        let reason = match one.listed {
            true => format!("Data is sent to a suspicious endpoint ({}).", one.host),
            false => format!(
                "Data is sent to an address that is known for collecting ({}).",
                one.host
            ),
        };
        Finding {
            source: Source::Static,
            severity,
            confidence,
            place: Some(one.place.clone()),
            ..finding(rule, tier, wants, reason)
        }
    });
    judged.collect()
}
