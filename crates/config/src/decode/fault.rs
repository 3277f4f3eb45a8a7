//! One mistake that serde found, with the way to it.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::path::Segment;

/// A mistake and the steps to it from the value that was being read.
#[derive(Debug)]
pub(super) struct Fault {
    /// Innermost step first, since it is filled on the way out.
    steps: Vec<Segment>,
    kind: Kind,
}

/// What is wrong.
#[derive(Debug)]
pub(super) enum Kind {
    /// A key that the type does not have.
    UnknownKey {
        name: String,
        known: &'static [&'static str],
    },
    /// A word that the type does not know; no name where it must not be printed.
    UnknownValue {
        name: Option<String>,
        known: &'static [&'static str],
    },
    /// A key that must be there.
    Missing(&'static str),
    /// Anything else.
    Other {
        message: String,
        hint: Option<String>,
    },
}

impl Fault {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            steps: Vec::new(),
            kind,
        }
    }

    pub(super) fn other(message: impl Into<String>, hint: Option<&str>) -> Self {
        let (message, hint) = (message.into(), hint.map(str::to_owned));
        Self::new(Kind::Other { message, hint })
    }

    /// Adds the step from the surrounding value.
    pub(super) fn within(mut self, step: Segment) -> Self {
        self.steps.push(step);
        self
    }

    /// Takes out what was read from the environment.
    pub(super) fn masked(self, value: &str) -> Self {
        let kind = match self.kind {
            Kind::UnknownValue { known, .. } => Kind::UnknownValue { name: None, known },
            // Where a message repeats the value, it does so in backticks.
            Kind::Other { message, hint } => Kind::Other {
                message: message.replace(&format!("`{value}`"), "`***`"),
                hint,
            },
            kind @ (Kind::UnknownKey { .. } | Kind::Missing(_)) => kind,
        };
        Self { kind, ..self }
    }

    pub(super) fn into_parts(mut self) -> (Vec<Segment>, Kind) {
        self.steps.reverse();
        (self.steps, self.kind)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::other(message.to_string(), None)
    }

    /// Values are not printed: a number in the place of a key may be the key.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::other(
            format!("expected {expected}, found {}", describe(found)),
            None,
        )
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Unsigned(number) => Self::other(format!("`{number}` is too large"), None),
            Unexpected::Signed(number) if number < 0 => {
                Self::other(format!("`{number}` is less than zero"), None)
            }
            other => Self::invalid_type(other, expected),
        }
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownValue {
            name: Some(name.to_owned()),
            known,
        })
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownKey {
            name: name.to_owned(),
            known,
        })
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(Kind::Missing(name))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::other(format!("`{name}` is given twice"), None)
    }
}

fn describe(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "`true` or `false`",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a fraction",
        Unexpected::Char(_) | Unexpected::Str(_) => "text",
        Unexpected::Unit | Unexpected::Option => "nothing",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a map",
        _ => "something else",
    }
}
