//! A payload as it came: a JSON object whose fields are taken out one by one.

mod loose;

use mcpproxy_text::json::{self, Fault, FaultKind, Limits};
use serde_json::{Map, Value};

use super::HookError;

/// What the parser says of texts that other readers take: a model chooses the strings and numbers in
/// an agent's payload, and must not choose one that nobody looks at.
const ODD: [&str; 4] = [
    "lone leading surrogate",
    "unexpected end of hex escape",
    "invalid unicode code point",
    "number out of range",
];

/// The fields of a payload that were not taken yet.
pub(super) struct Payload(Map<String, Value>);

impl Payload {
    /// Parses a payload.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, HookError> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(map)) => match said_twice(bytes) {
                None => Ok(Self(map)),
                Some(fault) => Err(fault),
            },
            Ok(_) => Err(HookError::Malformed {
                reason: "it is another value".to_owned(),
            }),
            Err(error) => Err(fault(&error)),
        }
    }

    /// Parses what readers differ on, as far as it goes: for what a tool gave, which is remembered
    /// and not decided about.
    pub(super) fn as_far_as_it_goes(bytes: &[u8]) -> Option<Self> {
        match loose::value(bytes)? {
            Value::Object(map) => Some(Self(map)),
            _ => None,
        }
    }

    /// Says whether a field is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Says whether a field has something in it.
    pub(super) fn says(&self, key: &str) -> bool {
        match self.0.get(key) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(members)) => !members.is_empty(),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => true,
        }
    }

    /// Takes the first of these fields that is there and not null.
    pub(super) fn take(&mut self, keys: &[&str]) -> Option<Value> {
        let mut found = keys.iter().filter_map(|key| self.0.remove(*key));
        found.find(|value| !value.is_null())
    }

    /// Returns the first of these fields that is a text with something in it.
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        let texts = keys.iter().filter_map(|key| self.0.get(*key)?.as_str());
        texts.into_iter().find(|text| !text.is_empty())
    }

    /// Returns the first of these fields that is a text, as its own.
    pub(super) fn owned(&self, keys: &[&str]) -> Option<String> {
        self.text(keys).map(str::to_owned)
    }

    /// Returns a text within the object in a field.
    pub(super) fn text_in(&self, key: &str, inner: &str) -> Option<&str> {
        let text = self.0.get(key)?.get(inner)?.as_str()?;
        Some(text).filter(|text| !text.is_empty())
    }

    /// Takes the object in a field as a payload of its own; an empty one where there is none.
    pub(super) fn inner(&mut self, key: &str) -> Self {
        match self.0.remove(key) {
            Some(Value::Object(map)) => Self(map),
            _ => Self(Map::new()),
        }
    }

    /// Returns the fields that are left.
    pub(super) fn rest(self) -> Value {
        Value::Object(self.0)
    }
}

/// Returns what a text holds where an agent sends JSON as text, and anything else as it is.
///
/// A text on which readers differ is left as it is.
pub(super) fn unwrapped(value: Value) -> Value {
    let Some(text) = value.as_str() else {
        return value;
    };
    match serde_json::from_str::<Value>(text) {
        Ok(inner) if is_composed(&inner) && said_twice(text.as_bytes()).is_none() => inner,
        _ => value,
    }
}

/// Says what readers differ on in a text that begins like JSON, if they do.
pub(super) fn doubt(text: &str) -> Option<HookError> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(_) => said_twice(text.as_bytes()),
        Err(error) => Some(fault(&error)).filter(HookError::is_evasion),
    }
}

/// Says what is wrong with a JSON text in which one object has the same key twice: which of the
/// two counts is the reader's choice, and the agent may choose the other one.
fn said_twice(text: &[u8]) -> Option<HookError> {
    match json::check(text, Limits::default()) {
        Err(
            fault @ Fault {
                kind: FaultKind::DuplicateKey(_),
                ..
            },
        ) => Some(HookError::Ambiguous {
            reason: fault.to_string(),
        }),
        _ => None,
    }
}

fn fault(error: &serde_json::Error) -> HookError {
    let reason = error.to_string();
    // The parser has no kind of its own for the depth at which it gives up.
    if reason.starts_with("recursion limit") {
        HookError::TooDeep
    } else if ODD.iter().any(|odd| reason.starts_with(odd)) {
        HookError::Ambiguous { reason }
    } else {
        HookError::Malformed { reason }
    }
}

fn is_composed(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
