//! The order of precedence, pinned; what is done about what is wanted; the score.

use mcpproxy_core::{RiskLevel, Side, Threat, Weight};
use proptest::prelude::*;

use super::*;
use crate::precedence::TIERS;
use crate::risk::Band;
use crate::samples::{call, inside, outside, read};
use crate::settings::RiskAssessment;
use Action::{Allow, Ask, Deny, Warn};

fn finding(tier: Tier, wants: Action) -> Finding {
    Finding {
        source: Source::Operator,
        severity: Severity::Info,
        threat: Threat::DataExfiltration,
        reason: Masked::from_safe("because"),
        ..Finding::new("test", tier, wants)
    }
}

fn verdict(findings: &[(Tier, Action)], mode: Mode, askable: Askable) -> Verdict {
    let policy = Policy {
        mode,
        ..Policy::default()
    };
    let call = Call { askable, ..call() };
    let findings = findings.iter().map(|&(tier, wants)| finding(tier, wants));
    decide(&policy, &call, &inside(), findings.collect())
}

fn check(findings: &[(Tier, Action)], expect: (Action, Option<usize>)) {
    let verdict = verdict(findings, Mode::Enforce, Askable::Elicit);
    assert_eq!((verdict.action, verdict.decided_by), expect, "{findings:?}");
}

/// Endpoint > quarantine > guards > hooks > access > overrides > contradiction > sensitive flow >
/// flow > operation; risk only tightens.
#[test]
fn the_order_of_the_tiers() {
    check(&[], (Allow, None));
    for (rank, &stronger) in TIERS.iter().enumerate() {
        for &weaker in TIERS.iter().skip(rank + 1) {
            // Of two that want the same, the stronger is named, wherever it stands.
            check(&[(stronger, Deny), (weaker, Deny)], (Deny, Some(0)));
            check(&[(weaker, Deny), (stronger, Deny)], (Deny, Some(1)));
            // What a stronger tier denies, no weaker one lifts.
            check(&[(weaker, Allow), (stronger, Deny)], (Deny, Some(1)));
        }
    }
}

#[test]
fn an_override_settles_what_is_below_it_and_nothing_above() {
    for tier in TIERS {
        let lifted = matches!(
            tier,
            Tier::Contradiction | Tier::SensitiveFlow | Tier::Flow | Tier::Operation
        );
        let expect = match (tier, lifted) {
            (Tier::Override, _) | (_, false) => (Deny, Some(1)),
            (_, true) => (Allow, Some(0)),
        };
        check(&[(Tier::Override, Allow), (tier, Deny)], expect);
    }
    check(
        &[(Tier::Override, Warn), (Tier::Flow, Deny)],
        (Warn, Some(0)),
    );
}

#[test]
fn within_a_tier_the_strictest_wins_and_the_first_of_equals_is_named() {
    for tier in TIERS {
        check(&[(tier, Warn), (tier, Deny), (tier, Deny)], (Deny, Some(1)));
        check(&[(tier, Ask), (tier, Warn)], (Ask, Some(0)));
    }
}

/// Else an agent could contradict itself out of a denial.
#[test]
fn a_milder_tier_does_not_shield_from_a_stricter_one() {
    check(
        &[(Tier::Contradiction, Ask), (Tier::SensitiveFlow, Deny)],
        (Deny, Some(1)),
    );
    check(
        &[(Tier::Flow, Allow), (Tier::Operation, Deny)],
        (Deny, Some(1)),
    );
}

#[test]
fn what_is_done_about_what_is_wanted() {
    use Askable::{AgentPrompt, Elicit, InputRequired, Nobody};
    use Enforcement::{Degraded, Enforced, Shadow};
    let check = |wants, mode, askable, expect: (Action, Enforcement)| {
        let verdict = verdict(&[(Tier::Flow, wants)], mode, askable);
        assert_eq!((verdict.action, verdict.enforced), expect);
        assert_eq!(verdict.wanted, wants);
    };
    for askable in [Elicit, InputRequired, AgentPrompt] {
        check(Ask, Mode::Enforce, askable, (Ask, Enforced));
    }
    check(Ask, Mode::Enforce, Nobody, (Warn, Degraded));
    check(Deny, Mode::Enforce, Nobody, (Deny, Enforced));
    check(Allow, Mode::Shadow, Nobody, (Allow, Enforced));
    for wants in [Warn, Ask, Deny] {
        check(wants, Mode::Shadow, Nobody, (Allow, Shadow));
        check(wants, Mode::Shadow, Elicit, (Allow, Shadow));
    }
}

#[test]
fn the_plug_can_be_pulled_in_shadow_mode() {
    let verdict = verdict(&[(Tier::Quarantine, Deny)], Mode::Shadow, Askable::Nobody);
    assert_eq!(
        (verdict.action, verdict.enforced),
        (Deny, Enforcement::Enforced)
    );
}

/// Weights and severities of the specification, at full confidence and at half.
#[test]
fn every_source_has_its_weight() {
    let check = |source, severity, confidence, expect| {
        let one = Finding {
            source,
            severity,
            confidence,
            ..finding(Tier::Flow, Allow)
        };
        let verdict = decide(&Policy::default(), &call(), &outside(), vec![one]);
        assert_eq!(verdict.risk.score, expect, "{source:?} {severity:?}");
    };
    check(Source::Flow, Severity::Critical, 100, 100);
    check(Source::Flow, Severity::High, 100, 75);
    check(Source::Flow, Severity::Medium, 50, 25);
    check(Source::Flow, Severity::Low, 100, 20);
    check(Source::Flow, Severity::Info, 100, 0);
    check(Source::Pii, Severity::Critical, 100, 80);
    check(Source::Static, Severity::Critical, 100, 60);
    check(Source::Behavioral, Severity::Critical, 100, 50);
    check(Source::AgentHint, Severity::Critical, 100, 30);
}

#[test]
fn a_score_acts_at_its_thresholds() {
    let scored = |points: u8| Finding {
        source: Source::Flow,
        severity: Severity::Critical,
        confidence: points,
        ..finding(Tier::Flow, Allow)
    };
    let check = |risk: RiskAssessment, points, expect: (Action, u8)| {
        let policy = Policy {
            risk,
            ..Policy::default()
        };
        let verdict = decide(&policy, &call(), &outside(), vec![scored(points)]);
        assert_eq!((verdict.action, verdict.risk.score), expect, "{points}");
    };
    let default = RiskAssessment::default;
    check(default(), 69, (Allow, 69));
    check(default(), 70, (Warn, 70));
    check(default(), 84, (Warn, 84));
    check(default(), 85, (Ask, 85));
    let block = RiskAssessment {
        block_on_critical: true,
        ..default()
    };
    check(block.clone(), 69, (Allow, 69));
    check(block, 70, (Deny, 70));
    let flag = RiskAssessment {
        auto_flag_threshold: 10,
        ..default()
    };
    check(flag, 10, (Warn, 10));
    let approve = RiskAssessment {
        require_approval_threshold: 70,
        ..default()
    };
    check(approve, 70, (Ask, 70));
    let off = RiskAssessment {
        enabled: false,
        block_on_critical: true,
        ..default()
    };
    check(off, 100, (Allow, 0));
}

#[test]
fn bands_label_the_score() {
    let check = |scores: std::ops::RangeInclusive<u8>, band| {
        for score in scores {
            assert_eq!(Band::of(score), band, "{score}");
        }
    };
    check(0..=29, Band::Low);
    check(30..=49, Band::Medium);
    check(50..=69, Band::High);
    check(70..=100, Band::Critical);
}

#[test]
fn signals_add_up_to_at_most_a_hundred() {
    let one = Finding {
        source: Source::Flow,
        severity: Severity::High,
        ..finding(Tier::Flow, Allow)
    };
    let verdict = decide(&Policy::default(), &call(), &outside(), vec![one; 300]);
    assert_eq!(verdict.risk.score, 100);
}

#[test]
fn what_an_override_silences_adds_nothing() {
    let leak = Finding {
        source: Source::Flow,
        severity: Severity::Critical,
        ..finding(Tier::SensitiveFlow, Deny)
    };
    let findings = vec![leak, finding(Tier::Override, Allow)];
    let mut facts = outside();
    facts
        .flow
        .matches
        .push(read(Side::Inside, Weight::Sensitive));
    let verdict = decide(&Policy::default(), &call(), &facts, findings);
    assert_eq!((verdict.action, verdict.risk.score), (Allow, 0));
    // The flow is what it is.
    assert_eq!(verdict.risk.level, RiskLevel::Critical);
}

fn tier() -> impl Strategy<Value = Tier> {
    prop::sample::select(TIERS.to_vec())
}

fn action() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![Allow, Warn, Ask, Deny])
}

fn action_of(findings: &[(Tier, Action)]) -> Action {
    verdict(findings, Mode::Enforce, Askable::Elicit).action
}

proptest! {
    #[test]
    fn the_order_of_findings_does_not_matter(
        findings in prop::collection::vec((tier(), action()), 0..6),
    ) {
        let mut reversed = findings.clone();
        reversed.reverse();
        prop_assert_eq!(action_of(&findings), action_of(&reversed));
    }

    #[test]
    fn one_more_finding_never_makes_a_verdict_milder_unless_it_is_an_override(
        findings in prop::collection::vec((tier(), action()), 0..6),
        more in (tier(), action()).prop_filter("override", |(tier, _)| *tier != Tier::Override),
    ) {
        let before = action_of(&findings);
        let after = action_of(&[findings, vec![more]].concat());
        prop_assert!(after >= before);
        if matches!(more.0, Tier::Hook | Tier::Risk) {
            prop_assert!(after == before.max(more.1));
        }
    }
}
