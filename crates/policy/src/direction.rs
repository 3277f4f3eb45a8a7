//! The direction in which data would move, and how risky the specification says that is.

use mcpproxy_core::{FlowType, RiskLevel, Side, Sink, Weight};

use crate::rules::{Case, command, contradiction, exposure, unread};

/// Returns the direction in which data would move.
///
/// What stands in for private data counts as such: a secret of unknown origin, or a run that nobody
/// can read, on its way out after private data was read; and what a command takes along.
pub(crate) fn flow_type(case: &Case<'_>) -> FlowType {
    let matches = &case.facts.flow.matches;
    let read = |side| matches.iter().any(|one| one.origin.side == side);
    let outside = case.outside() || matches.iter().any(|one| case.strays(one));
    let stands_in =
        exposure::assumed(case).is_some() || unread::assumed(case) || command::takes(case);
    if read(Side::Inside) || stands_in {
        if outside {
            FlowType::InternalToExternal
        } else {
            FlowType::InternalToInternal
        }
    } else if read(Side::Outside) {
        if outside {
            FlowType::ExternalToExternal
        } else {
            FlowType::ExternalToInternal
        }
    } else {
        FlowType::None
    }
}

/// Returns the risk of the flow (FR-024): none for safe ones, critical with sensitive data, high
/// when it is not justified, medium otherwise. A destination that is only assumed to be outside
/// stays at medium unless the data is sensitive.
pub(crate) fn level(case: &Case<'_>) -> RiskLevel {
    match flow_type(case) {
        FlowType::None
        | FlowType::InternalToInternal
        | FlowType::ExternalToExternal
        | FlowType::ExternalToInternal => RiskLevel::None,
        FlowType::InternalToExternal if is_sensitive(case) => RiskLevel::Critical,
        FlowType::InternalToExternal if is_unjustified(case) => RiskLevel::High,
        FlowType::InternalToExternal => RiskLevel::Medium,
    }
}

fn is_sensitive(case: &Case<'_>) -> bool {
    let sensitive = |one: &mcpproxy_core::Match| {
        one.origin.side == Side::Inside && one.weight == Weight::Sensitive
    };
    case.facts.flow.matches.iter().any(sensitive)
        || exposure::assumed(case).is_some()
        || command::takes_secrets(case)
}

/// Tells whether a flow goes out again without the justification that was asked for, or with a
/// declared intent that something contradicts.
pub(crate) fn is_unjustified(case: &Case<'_>) -> bool {
    let known = case.facts.destination.sink == Sink::Outside;
    let repeated = case.lacks_justification() && case.facts.history.unjustified;
    let contradicted =
        !case.facts.contradictions.is_empty() || !contradiction::declared(case).is_empty();
    known && (repeated || contradicted)
}

/// Returns why the flow has its risk.
pub(crate) fn reason(case: &Case<'_>) -> &'static str {
    match (flow_type(case), level(case)) {
        (FlowType::None, _) => "no data that was read before is in it",
        (_, RiskLevel::None) => "data does not leave",
        (_, RiskLevel::Medium) if case.facts.destination.sink == Sink::Assumed => {
            "private data goes to a destination that nobody knows"
        }
        (_, RiskLevel::Medium) => "private data leaves that is not known to be sensitive",
        (_, RiskLevel::High) => "private data leaves without a justification that holds",
        (_, RiskLevel::Critical) if case.facts.destination.sink == Sink::Unproven => {
            "sensitive data goes to a place that only its own word speaks for"
        }
        (_, RiskLevel::Critical) => "sensitive data leaves",
    }
}
