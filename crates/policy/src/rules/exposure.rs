//! Sensitive values in the arguments of a call that goes outside, whose origin nobody knows.
//!
//! `sensitive_data_external` is about data that flows from inside. A secret that was typed out is
//! treated like it once the session has read private data, since it may come from there in a shape
//! that was not recognized; before that it can only be the agent's or its user's own, and the call
//! passes with a warning. Personal data of unknown origin is written down and counted; a warning
//! comes with what harms most, and with the thresholds.

use mcpproxy_core::{Action, Finding, Nature, Sensitive, Severity, Source, Tier};

use super::{Case, finding};

/// Confidence, in percent, from which a value counts as a secret without proof of its structure.
const SURE: u8 = 80;

/// Reports the worst secret and the worst personal data.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    if !case.outside() {
        return Vec::new();
    }
    let found = [secret(case), personal(case)];
    found.into_iter().flatten().collect()
}

/// Returns the secret of unknown origin that is treated like data from inside.
pub(crate) fn assumed<'a>(case: &Case<'a>) -> Option<&'a Sensitive> {
    let after_private_read = case.outside() && case.facts.flow.taint.private;
    worst(case, Nature::Secret).filter(|one| after_private_read && is_sure(one))
}

fn secret(case: &Case<'_>) -> Option<Finding> {
    let one = worst(case, Nature::Secret)?;
    let (word, to) = (one.label.word, case.destination());
    let (wants, reason) = if assumed(case).is_some() {
        let reason = format!(
            "Sensitive data ({word}) of unknown origin flowing to {to} after private data was read."
        );
        (case.policy.flow.sensitive_data_external, reason)
    } else {
        let reason = format!("Sensitive data ({word}) of unknown origin flowing to {to}.");
        let warn = is_sure(one) || case.facts.flow.taint.private;
        (if warn { Action::Warn } else { Action::Allow }, reason)
    };
    let start = finding("secret_to_external", Tier::SensitiveFlow, wants, reason);
    Some(about(one, start))
}

fn personal(case: &Case<'_>) -> Option<Finding> {
    let one = worst(case, Nature::Personal)?;
    let (word, to) = (one.label.word, case.destination());
    let alarm = case.policy.alerts.pii_exposure && one.label.severity >= Severity::High;
    let wants = if alarm { Action::Warn } else { Action::Allow };
    let reason = format!("Personal data ({word}) is sent to {to}.");
    Some(about(
        one,
        finding("pii_to_external", Tier::Risk, wants, reason),
    ))
}

fn about(one: &Sensitive, start: Finding) -> Finding {
    Finding {
        source: Source::Pii,
        severity: one.label.severity,
        confidence: one.confidence,
        place: Some(one.place.clone()),
        ..start
    }
}

/// Returns the worst value of a nature whose origin is not known.
fn worst<'a>(case: &Case<'a>, nature: Nature) -> Option<&'a Sensitive> {
    let matches = &case.facts.flow.matches;
    let is_known = |value: &Sensitive| {
        let same = |label: &mcpproxy_core::Label| label.kind == value.label.kind;
        matches
            .iter()
            .any(|one| one.place == value.place && one.label.as_ref().is_some_and(same))
    };
    let rank = |value: &Sensitive| (is_sure(value), value.label.severity, value.confidence);
    let values = case.facts.sensitive.iter();
    values
        .filter(|value| value.label.nature == nature && !is_known(value))
        .reduce(|best, value| {
            if rank(value) > rank(best) {
                value
            } else {
                best
            }
        })
}

fn is_sure(value: &Sensitive) -> bool {
    value.label.validated || (value.confidence >= SURE && value.label.severity >= Severity::High)
}
