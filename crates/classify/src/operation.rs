//! Whether a tool reads, writes or destroys, from its name, its hints and its parameters.
//!
//! The strictest believable source decides. What each one says is handed on as a signal; who of
//! them lies is not decided here.

pub(crate) mod verbs;

use mcpproxy_core::{Masked, Operation};
use serde::Serialize;

pub use self::verbs::by_name;
use crate::class::{Confidence, Method};
use crate::purpose::Purpose;
use crate::signal::{Says, Signal, SignalSource};
use crate::tool::{Annotations, Parameter, Tool};
use crate::words::Words;

/// An opinion about what a tool does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Does {
    /// What it does; nothing if nobody can tell.
    pub operation: Option<Operation>,
    /// How sure that is.
    pub confidence: Confidence,
    /// How it was found.
    pub method: Method,
    /// Why, safe to show.
    pub reason: Masked,
}

impl Does {
    /// Returns the operation to count with: what nobody can tell counts as writing.
    pub fn assumed(&self) -> Operation {
        self.operation.unwrap_or(Operation::Write)
    }
}

/// What one source says, with its weight.
struct Opinion {
    operation: Operation,
    percent: u8,
    source: SignalSource,
    reason: String,
}

/// Says what a tool does, and adds what each source says to `signals`.
pub fn operation(tool: &Tool<'_>, signals: &mut Vec<Signal>) -> Does {
    let hinted = hinted(tool.annotations);
    let reads = hinted
        .as_ref()
        .is_some_and(|it| it.operation == Operation::Read);
    let named = by_name(&Words::of(&tool.name));
    let named = named.map(|verb| if reads { verb.said_to_read() } else { verb });
    let named = named.map(|verb| Opinion {
        operation: verb.operation,
        percent: verb.percent,
        source: SignalSource::NameHeuristic,
        reason: format!("its name says `{}`", verb.word),
    });
    let shaped = tool
        .parameters
        .iter()
        .filter_map(shaped)
        .max_by_key(|it| it.operation);
    let opinions: Vec<Opinion> = [named, hinted, shaped].into_iter().flatten().collect();
    signals.extend(opinions.iter().map(|opinion| Signal {
        source: opinion.source,
        says: Says::Operation(opinion.operation),
    }));
    decided(&opinions)
}

fn decided(opinions: &[Opinion]) -> Does {
    // A parameter that can do more than the name says is a hint, not a proof: many tools that
    // list take a `recursive`.
    let proofs = || {
        opinions
            .iter()
            .filter(|it| it.source != SignalSource::Schema)
    };
    let strictest = proofs().max_by_key(|it| (it.operation, it.percent));
    let Some(opinion) = strictest.or(opinions.first()) else {
        return Does {
            operation: None,
            confidence: Confidence::NONE,
            method: Method::Heuristic,
            reason: Masked::from_safe("neither name nor hints nor parameters say what it does"),
        };
    };
    let others = || proofs().filter(|it| it.source != opinion.source);
    let agreed = others().any(|it| it.operation == opinion.operation);
    let disputed = others().any(|it| it.operation != opinion.operation);
    let percent = match (agreed, disputed) {
        (true, false) => opinion.percent.max(95),
        (_, true) => opinion.percent.saturating_sub(10),
        (false, false) => opinion.percent,
    };
    let method = match opinion.source {
        SignalSource::ServerAnnotation => Method::Annotation,
        _ => Method::Heuristic,
    };
    Does {
        operation: Some(opinion.operation),
        confidence: Confidence::percent(percent),
        method,
        reason: Masked::from_safe(opinion.reason.clone()),
    }
}

/// What the hints say. By the protocol they are hints, whoever gives them.
fn hinted(hints: Annotations) -> Option<Opinion> {
    let (operation, reason) = match hints {
        Annotations {
            read_only: Some(true),
            destructive: Some(true),
            ..
        } => (
            Operation::Destructive,
            "it is said both to read only and to destroy",
        ),
        Annotations {
            read_only: Some(true),
            ..
        } => (Operation::Read, "it is said to read only"),
        Annotations {
            destructive: Some(true),
            ..
        } => (Operation::Destructive, "it is said to destroy"),
        Annotations {
            read_only: Some(false),
            ..
        }
        | Annotations {
            destructive: Some(false),
            ..
        } => (Operation::Write, "it is said to write"),
        _ => return None,
    };
    Some(Opinion {
        operation,
        percent: SignalSource::ServerAnnotation.trust(),
        source: SignalSource::ServerAnnotation,
        reason: reason.to_owned(),
    })
}

/// What a parameter says: a choice that includes deleting, or a text to be put somewhere.
fn shaped(parameter: &Parameter<'_>) -> Option<Opinion> {
    let (operation, what) = match parameter.purpose? {
        Purpose::Choice => {
            let operation = strictest_choice(parameter)?;
            (operation, "one of its parameters chooses what it does")
        }
        Purpose::Destroys => (
            Operation::Destructive,
            "one of its parameters makes it destroy",
        ),
        Purpose::Content => (
            Operation::Write,
            "one of its parameters is a text to be put somewhere",
        ),
        Purpose::Recipient | Purpose::Address | Purpose::Place => return None,
    };
    Some(Opinion {
        operation,
        percent: 55,
        source: SignalSource::Schema,
        reason: what.to_owned(),
    })
}

fn strictest_choice(parameter: &Parameter<'_>) -> Option<Operation> {
    let choices = parameter.values.iter().map(|value| Words::of(value));
    choices.filter_map(|words| verbs::choice(&words)).max()
}

/// Says whether the value of a choosing argument is to destroy: `delete`, `DELETE`, `rm`.
pub(crate) fn destroys(value: &Words) -> bool {
    verbs::is_destructive(value.word(0))
}

#[cfg(test)]
mod tests;
