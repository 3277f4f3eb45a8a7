//! What goes outside and could not be looked at: runs in no known code, and more than is compared.

use mcpproxy_core::{Action, Finding, Reduced, Severity, Source, Tier};

use super::{Case, finding};

/// Bytes from which on a run that nobody can read is none that people write.
const BLOB: u32 = 48;

/// Asks about what cannot be read, or was not, on its way out.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    if !case.outside() {
        return Vec::new();
    }
    let found = [opaque(case), skipped(case), weakened(case)];
    found.into_iter().flatten().collect()
}

/// Tells whether something that nobody can read stands in for private data.
pub(crate) fn assumed(case: &Case<'_>) -> bool {
    let flow = &case.facts.flow;
    let unread = !flow.opaque.is_empty() || flow.reduced.iter().any(|one| is_skipped(*one));
    case.outside() && flow.taint.private && unread
}

/// A run that nobody can read may be anything that was read before.
fn opaque(case: &Case<'_>) -> Option<Finding> {
    let flow = &case.facts.flow;
    let one = flow.opaque.first().filter(|_| flow.taint.private)?;
    let (bytes, to) = (one.bytes, case.destination());
    // What is so short may be a key, and as well the number of a part.
    let what = match bytes {
        0..BLOB => "Data that looks like a key or a code",
        BLOB.. => "Data that cannot be read",
    };
    let reason = format!("{what} ({bytes} bytes) flowing to {to} after private data was read.");
    Some(Finding {
        confidence: 60,
        place: Some(one.place.clone()),
        ..finding("unread_to_external", Tier::Flow, at_least_ask(case), reason)
    })
}

/// What was left out for its size is asked about in any session: a secret is looked for beyond it.
fn skipped(case: &Case<'_>) -> Option<Finding> {
    let mut reduced = case.facts.flow.reduced.iter();
    let one = reduced.find(|one| is_skipped(**one))?;
    let what = match one {
        Reduced::Decoding => "encoded beyond what is undone",
        Reduced::Unscanned => "that may be a secret of an answer too large to be looked through",
        Reduced::Size | Reduced::Evicted | Reduced::LocalOnly => "larger than what is compared",
    };
    let reason = format!("Data {what} flowing to {}.", case.destination());
    Some(Finding {
        confidence: 60,
        ..finding("unread_to_external", Tier::Flow, at_least_ask(case), reason)
    })
}

/// That less is remembered than was read is written down with the verdict.
fn weakened(case: &Case<'_>) -> Option<Finding> {
    let mut reduced = case.facts.flow.reduced.iter();
    let reason = match reduced.find(|one| !is_skipped(**one))? {
        Reduced::LocalOnly => "Only what this process saw was compared.",
        Reduced::Evicted | Reduced::Decoding | Reduced::Size | Reduced::Unscanned => {
            "Text that was read long ago was not compared."
        }
    };
    Some(Finding {
        source: Source::Behavioral,
        severity: Severity::Info,
        ..finding("reduced_look", Tier::Flow, Action::Allow, reason)
    })
}

fn at_least_ask(case: &Case<'_>) -> Action {
    case.policy.flow.internal_to_external.max(Action::Ask)
}

fn is_skipped(reduced: Reduced) -> bool {
    match reduced {
        Reduced::Decoding | Reduced::Size | Reduced::Unscanned => true,
        Reduced::Evicted | Reduced::LocalOnly => false,
    }
}
