//! Addresses that collect what is sent to them.
//!
//! Which host and subdomain that is, in whatever spelling, is found where the facts are made.

use mcpproxy_core::{Action, Finding, Severity, Source, Tier};

use super::{Case, finding};

/// Denies what the configuration lists, whatever else is said; warns of what is only known for it.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let judged = case.facts.suspicious.iter().map(|one| {
        let host = &one.host;
        let found = if one.listed {
            let reason = format!("Data is sent to a suspicious endpoint ({host}).");
            Finding {
                severity: Severity::Critical,
                ..finding("suspicious_endpoint", Tier::Endpoint, Action::Deny, reason)
            }
        } else {
            // Nobody forbade it, so it may only tighten what comes out.
            let reason =
                format!("Data is sent to an address that is known to collect it ({host}).");
            Finding {
                confidence: 80,
                ..finding("likely_collector", Tier::Risk, Action::Warn, reason)
            }
        };
        Finding {
            source: Source::Static,
            place: Some(one.place.clone()),
            ..found
        }
    });
    judged.collect()
}
