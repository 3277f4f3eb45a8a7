//! The sole place where findings become a verdict.

use mcpproxy_core::{
    Action, Askable, Call, Enforcement, Facts, Finding, Masked, Risk, Severity, Source, Tier,
    Verdict,
};

use crate::policy::Policy;
use crate::precedence::deciding;
use crate::risk;
use crate::rules::Case;
use crate::settings::Mode;
use crate::{direction, explain};

/// Decides about a call.
///
/// The strictest finding that has a say wins, in the order that `precedence` has. A question that
/// nobody can be asked becomes a warning; in shadow mode every call passes. Either way the verdict
/// keeps what was wanted.
pub fn decide(policy: &Policy, call: &Call, facts: &Facts, findings: Vec<Finding>) -> Verdict {
    let mut findings = findings;
    let score = risk::score(&policy.risk, &findings);
    findings.extend(over_threshold(policy, score));
    let decided_by = deciding(&findings);
    let decider = decided_by.and_then(|at| findings.get(at));
    let wanted = decider.map_or(Action::Allow, |finding| finding.wants);
    let ordered = decider.is_some_and(is_order);
    let (action, enforced) = enforce(policy.mode, call.askable, wanted, ordered);
    let case = Case {
        policy,
        call,
        facts,
    };
    Verdict {
        action,
        wanted,
        enforced,
        decided_by,
        findings: findings.into(),
        risk: Risk {
            level: direction::level(&case),
            score,
        },
        flow: direction::flow_type(&case),
    }
}

/// Returns what is done about what is wanted. An operator's order is carried out in shadow mode
/// too: who pulls the plug does not ask for a rehearsal.
fn enforce(mode: Mode, askable: Askable, wanted: Action, ordered: bool) -> (Action, Enforcement) {
    match (mode, wanted, askable) {
        (Mode::Shadow, Action::Warn | Action::Ask | Action::Deny, _) if !ordered => {
            (Action::Allow, Enforcement::Shadow)
        }
        (_, Action::Ask, Askable::Nobody) => (Action::Warn, Enforcement::Degraded),
        (_, wanted, _) => (wanted, Enforcement::Enforced),
    }
}

fn is_order(finding: &Finding) -> bool {
    finding.tier == Tier::Quarantine && finding.source == Source::Operator
}

/// Returns a finding if the score reaches a threshold.
fn over_threshold(policy: &Policy, score: u8) -> Option<Finding> {
    let (wants, why) = risk::outcome(&policy.risk, score)?;
    Some(Finding {
        source: Source::Operator,
        // It is made of the points of others and adds none.
        severity: Severity::Info,
        reason: Masked::from_safe(explain::score_reason(score, why)),
        ..Finding::new("risk_score", Tier::Risk, wants)
    })
}

#[cfg(test)]
mod tests;
