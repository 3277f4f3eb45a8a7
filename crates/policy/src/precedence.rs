//! The order of the tiers, and which finding decides. `decide` and `explain` both read it here.
//!
//! Every tier can say no. Only the operator's override for a tool can say yes, and only to what
//! stands below it: contradictions, flows, operations. What a stronger tier leaves milder, a weaker
//! one may therefore still tighten; otherwise an agent could turn the denial of a leak into a
//! question by contradicting itself.

use mcpproxy_core::{Action, Finding, Tier};

/// The tiers, strongest first.
pub(crate) const TIERS: [Tier; 11] = [
    Tier::Endpoint,
    Tier::Quarantine,
    Tier::Guard,
    Tier::Hook,
    Tier::Access,
    Tier::Override,
    Tier::Contradiction,
    Tier::SensitiveFlow,
    Tier::Flow,
    Tier::Operation,
    Tier::Risk,
];

/// What a tier can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    /// It can make a verdict stricter than what stronger tiers want.
    Forbid,
    /// It can, and while it speaks, weaker tiers that only forbid are silent.
    Settle,
    /// It makes the verdict stricter, whoever else speaks.
    Tighten,
}

/// Returns what a tier can do.
pub(crate) fn say(tier: Tier) -> Say {
    match tier {
        Tier::Override => Say::Settle,
        Tier::Hook | Tier::Risk => Say::Tighten,
        Tier::Endpoint
        | Tier::Quarantine
        | Tier::Guard
        | Tier::Access
        | Tier::Contradiction
        | Tier::SensitiveFlow
        | Tier::Flow
        | Tier::Operation => Say::Forbid,
    }
}

/// Tells whether a finding has no say because an override speaks for the tool.
pub(crate) fn is_silenced(finding: &Finding, findings: &[Finding]) -> bool {
    say(finding.tier) == Say::Forbid
        && finding.tier > Tier::Override
        && findings.iter().any(|other| other.tier == Tier::Override)
}

/// Returns the finding that decides: the strictest that has a say, of equally strict ones that of
/// the strongest tier, and of those the first.
///
/// A finding that wants a call to pass decides only as an override.
pub(crate) fn deciding(findings: &[Finding]) -> Option<usize> {
    let mut best: Option<(usize, &Finding)> = None;
    for (at, finding) in findings.iter().enumerate() {
        if is_silenced(finding, findings) || !has_opinion(finding) {
            continue;
        }
        let better = best.is_none_or(|(_, best)| {
            (finding.wants, std::cmp::Reverse(finding.tier))
                > (best.wants, std::cmp::Reverse(best.tier))
        });
        if better {
            best = Some((at, finding));
        }
    }
    best.map(|(at, _)| at)
}

fn has_opinion(finding: &Finding) -> bool {
    finding.wants > Action::Allow || finding.tier == Tier::Override
}
