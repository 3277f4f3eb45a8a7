//! What a command would take outside by itself: files, variables, and what programs print about the
//! machine, also where nobody saw it being read.

use mcpproxy_core::{Action, Finding, Moved, Severity, Source, Tier};

use super::{Case, finding};

/// Reports the worst of it.
///
/// A program that is there to publish, as `git push` is, is written down and has no say.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let worst = case.facts.moves.iter().min_by_key(|one| rank(one));
    worst.map(|one| about(case, one)).into_iter().collect()
}

/// Tells whether a command would take something sensitive outside.
pub(crate) fn takes_secrets(case: &Case<'_>) -> bool {
    case.outside() && case.facts.moves.iter().any(|one| one.sensitive)
}

/// Tells whether a command would take something outside that it is not there to publish.
pub(crate) fn takes(case: &Case<'_>) -> bool {
    case.outside() && case.facts.moves.iter().any(|one| !one.usual)
}

fn rank(one: &Moved) -> u8 {
    match (one.sensitive, one.usual) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    }
}

fn about(case: &Case<'_>, one: &Moved) -> Finding {
    let what = &one.what;
    let to = match &one.to {
        Some(host) => format!("external destination ({host})"),
        None => "a destination that only the command knows".to_owned(),
    };
    let flow = &case.policy.flow;
    let (tier, wants, severity) = match rank(one) {
        0 => (
            Tier::SensitiveFlow,
            flow.sensitive_data_external,
            Severity::Critical,
        ),
        1 => (Tier::Flow, flow.internal_to_external, Severity::Medium),
        _ => (Tier::Flow, Action::Allow, Severity::Info),
    };
    let kind = if one.sensitive {
        "Sensitive data"
    } else {
        "Data"
    };
    let reason = format!("{kind} ({what}) flowing from this machine by a command to {to}.");
    Finding {
        source: Source::Static,
        severity,
        ..finding("command_external", tier, wants, reason)
    }
}
