//! The sole place where findings become a verdict.

use mcpproxy_core::{
    Action, Askable, Enforcement, Finding, FlowType, Risk, RiskLevel, Severity, Source, Tier,
    Verdict,
};

/// Decides about a call.
///
/// The first tier with an opinion wins, and within it the most restrictive finding. Hooks and risk
/// thresholds may only tighten what comes out. A question that nobody can be asked becomes a
/// warning, and the verdict says so.
pub fn decide(findings: Vec<Finding>, askable: Askable, flow: FlowType) -> Verdict {
    let decided_by = deciding(&findings);
    let wanted = decided_by
        .and_then(|at| findings.get(at))
        .map_or(Action::Allow, |finding| finding.wants);
    let (action, enforced) = match (wanted, askable) {
        (Action::Ask, Askable::Nobody) => (Action::Warn, Enforcement::Degraded),
        (wanted, _) => (wanted, Enforcement::Enforced),
    };
    let risk = Risk {
        level: level(&findings, flow),
        score: score(&findings),
    };
    Verdict {
        action,
        wanted,
        enforced,
        decided_by,
        findings: findings.into(),
        risk,
        flow,
    }
}

fn deciding(findings: &[Finding]) -> Option<usize> {
    let strictest = |tier: Tier| {
        let of_tier = findings
            .iter()
            .enumerate()
            .filter(move |(_, finding)| finding.tier == tier);
        // The first of equally strict findings is named, so that the answer is stable.
        of_tier
            .rev()
            .max_by_key(|(_, finding)| finding.wants)
            .map(|(at, _)| at)
    };
    let tiers = findings.iter().map(|finding| finding.tier);
    let first = tiers
        .filter(|tier| !only_tightens(*tier))
        .min()
        .and_then(strictest);
    let tightening = findings
        .iter()
        .enumerate()
        .filter(|(_, finding)| only_tightens(finding.tier));
    let action = |at: &usize| {
        findings
            .get(*at)
            .map_or(Action::Allow, |finding| finding.wants)
    };
    let tighter = tightening
        .rev()
        .max_by_key(|(_, finding)| finding.wants)
        .map(|(at, _)| at);
    match (first, tighter) {
        (Some(first), Some(tighter)) if action(&tighter) > action(&first) => Some(tighter),
        (None, tighter) => tighter,
        (first, _) => first,
    }
}

fn only_tightens(tier: Tier) -> bool {
    matches!(tier, Tier::Hook | Tier::Risk)
}

fn level(findings: &[Finding], flow: FlowType) -> RiskLevel {
    let sensitive = findings
        .iter()
        .any(|finding| finding.tier == Tier::SensitiveFlow);
    match flow {
        FlowType::None
        | FlowType::InternalToInternal
        | FlowType::ExternalToExternal
        | FlowType::ExternalToInternal => RiskLevel::None,
        FlowType::InternalToExternal if sensitive => RiskLevel::Critical,
        FlowType::InternalToExternal => RiskLevel::Medium,
    }
}

/// Adds up confidence times severity times the weight of the source, to at most 100.
fn score(findings: &[Finding]) -> u8 {
    let weight = |source| match source {
        Source::Flow | Source::Operator => 100_u32,
        Source::Pii => 80,
        Source::Static => 60,
        Source::Behavioral => 50,
        Source::AgentHint => 30,
    };
    let severity = |severity| match severity {
        Severity::Info => 0_u32,
        Severity::Low => 20,
        Severity::Medium => 50,
        Severity::High => 75,
        Severity::Critical => 100,
    };
    let sum: u32 = findings
        .iter()
        .map(|finding| {
            u32::from(finding.confidence) * severity(finding.severity) * weight(finding.source)
                / 10_000
        })
        .sum();
    u8::try_from(sum.min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Masked, Threat};
    use proptest::prelude::*;

    use super::*;

    fn finding(tier: Tier, wants: Action) -> Finding {
        Finding {
            rule: "test",
            source: Source::Flow,
            tier,
            wants,
            severity: Severity::Medium,
            confidence: 100,
            threat: Threat::DataExfiltration,
            place: None,
            evidence: None,
            reason: Masked::from_safe("because"),
        }
    }

    fn check(findings: &[(Tier, Action)], askable: Askable, expect: (Action, Option<usize>)) {
        let findings = findings
            .iter()
            .map(|&(tier, wants)| finding(tier, wants))
            .collect();
        let verdict = decide(findings, askable, FlowType::None);
        assert_eq!((verdict.action, verdict.decided_by), expect);
    }

    #[test]
    fn the_first_tier_with_an_opinion_wins() {
        use Action::{Allow, Ask, Deny, Warn};
        let nobody = Askable::Nobody;
        check(&[], nobody, (Allow, None));
        check(
            &[(Tier::Flow, Deny), (Tier::Override, Allow)],
            nobody,
            (Allow, Some(1)),
        );
        check(
            &[(Tier::Flow, Warn), (Tier::Flow, Deny), (Tier::Flow, Deny)],
            nobody,
            (Deny, Some(1)),
        );
        check(
            &[(Tier::Quarantine, Deny), (Tier::Override, Allow)],
            nobody,
            (Deny, Some(0)),
        );
        check(&[(Tier::Flow, Ask)], nobody, (Warn, Some(0)));
        check(&[(Tier::Flow, Ask)], Askable::Elicit, (Ask, Some(0)));
    }

    #[test]
    fn hooks_and_risk_only_tighten() {
        use Action::{Allow, Deny, Warn};
        let nobody = Askable::Nobody;
        check(
            &[(Tier::Hook, Allow), (Tier::Flow, Deny)],
            nobody,
            (Deny, Some(1)),
        );
        check(
            &[(Tier::Hook, Deny), (Tier::Override, Allow)],
            nobody,
            (Deny, Some(0)),
        );
        check(&[(Tier::Risk, Warn)], nobody, (Warn, Some(0)));
    }

    fn tier() -> impl Strategy<Value = Tier> {
        prop::sample::select(vec![
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
        ])
    }

    fn action() -> impl Strategy<Value = Action> {
        prop::sample::select(vec![Action::Allow, Action::Warn, Action::Ask, Action::Deny])
    }

    proptest! {
        #[test]
        fn the_order_of_findings_does_not_matter(
            findings in prop::collection::vec((tier(), action()), 0..6),
        ) {
            let make = |list: &[(Tier, Action)]| {
                let list = list.iter().map(|&(tier, wants)| finding(tier, wants)).collect();
                decide(list, Askable::Elicit, FlowType::None).action
            };
            let mut reversed = findings.clone();
            reversed.reverse();
            prop_assert_eq!(make(&findings), make(&reversed));
        }
    }
}
