//! Signals that do not go together: somebody is wrong, or lying.

use mcpproxy_core::{
    Action, Contradiction, Finding, FlowType, Masked, Match, Nature, Severity, Side, Sink, Source,
    Threat, Tier, Weight,
};

use super::{Case, finding, source};
use crate::direction;

/// Severity from which the specification's matrix blocks; below it asks.
const BLOCKS: u8 = 70;

/// How far arguments and where they go are trusted: nobody can lie about what is sent.
const TRUSTED: u8 = 90;
/// What the agent's words are held against.
const ARGUMENTS: &str = "argument_analysis";
const DESTINATION: &str = "destination_class";
/// What arguments are that were read inside.
const PRIVATE: &str = "private";

/// Severity below which nobody is asked: what is said is worse than what is done.
const ASKS: u8 = 40;

/// Reports what the facts hold against each other, and what the agent declared against them.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let known = case.facts.contradictions.iter().cloned();
    let all = known.chain(declared(case).into_iter().map(|one| raised(one, case)));
    let judged = all.map(|one| {
        let policy = case.policy.tools.contradiction;
        let wants = match one.severity {
            BLOCKS.. => policy,
            ASKS..BLOCKS => policy.min(Action::Ask),
            0..ASKS => policy.min(Action::Warn),
        };
        Finding {
            source: Source::Static,
            severity: severity(one.severity),
            confidence: one.confidence,
            threat: Threat::AnomalousBehavior,
            reason: one.explanation.clone(),
            contradiction: Some(Box::new(one)),
            ..finding("contradiction", Tier::Contradiction, wants, "")
        }
    });
    judged.collect()
}

/// Returns what the agent declared that the facts contradict.
pub(crate) fn declared(case: &Case<'_>) -> Vec<Contradiction> {
    let declared = &case.call.declared;
    let says = |text: &Option<Box<str>>, words: &[&str]| {
        let text = text.as_deref().unwrap_or_default().trim();
        words.iter().any(|word| text.eq_ignore_ascii_case(word))
    };
    let mut found = Vec::new();
    let known = case.facts.destination.sink == Sink::Outside;
    if known && says(&declared.flow_destination_type, &["internal", "private"]) {
        let to = case.destination();
        let reason = format!("The agent declares an internal destination; this is an {to}.");
        found.push((50, DESTINATION, ("internal", "external"), reason));
    }
    let inside = !case.outside();
    if inside && says(&declared.flow_destination_type, &["external", "public"]) {
        let to = case.destination();
        let reason = format!("The agent declares an external destination; this is an {to}.");
        found.push((30, DESTINATION, ("external", "internal"), reason));
    }
    let mut sensitive = case.facts.sensitive.iter();
    let sensitive = sensitive.find(|one| one.label.nature != Nature::Typed);
    if let Some(one) = sensitive.filter(|_| says(&declared.sensitivity, &["public"])) {
        let what = one.label.word;
        let reason = format!("The agent declares public data; the arguments hold {what}.");
        found.push((50, ARGUMENTS, ("public", "sensitive"), reason));
    } else if let Some(one) = private(case).filter(|_| says(&declared.sensitivity, &["public"])) {
        let from = source(one);
        let reason = format!("The agent declares public data; this was read inside ({from}).");
        found.push((50, ARGUMENTS, ("public", PRIVATE), reason));
    }
    let made = found
        .into_iter()
        .map(|(severity, against, claims, reason)| {
            let (claim1, claim2) = claims;
            Contradiction {
                signal1: "agent_intent",
                signal2: against,
                claim1,
                claim2,
                severity,
                confidence: TRUSTED,
                quarantines: false,
                explanation: Masked::from_safe(reason),
            }
        });
    made.collect()
}

/// Returns what of the arguments was read inside, and is more than a trace.
fn private<'a>(case: &Case<'a>) -> Option<&'a Match> {
    let mut matches = case.facts.flow.matches.iter();
    matches.find(|one| one.origin.side == Side::Inside && one.weight > Weight::Trace)
}

/// A false declaration about data that really goes out is no slip: it is what an agent would say
/// that was told to. What is private though nothing marks it an agent may take for public.
fn raised(one: Contradiction, case: &Case<'_>) -> Contradiction {
    match direction::flow_type(case) {
        _ if one.claim2 == PRIVATE => one,
        FlowType::InternalToExternal => Contradiction {
            severity: one.severity.max(75),
            ..one
        },
        FlowType::None
        | FlowType::InternalToInternal
        | FlowType::ExternalToExternal
        | FlowType::ExternalToInternal => one,
    }
}

fn severity(of_hundred: u8) -> Severity {
    match of_hundred {
        85.. => Severity::Critical,
        BLOCKS..85 => Severity::High,
        ASKS..BLOCKS => Severity::Medium,
        0..ASKS => Severity::Low,
    }
}
