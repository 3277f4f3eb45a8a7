//! What tools are described with, and what they answer.

use serde_json::{Value, json};

/// What a tool does to the world.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    /// Only looks.
    Reads,
    /// Adds or changes.
    Writes,
    /// Cannot be undone.
    Destroys,
}

/// Whom a tool's effects reach.
#[derive(Clone, Copy)]
pub(crate) enum Reach {
    /// Only the sample itself.
    Closed,
    /// Others.
    Open,
}

/// A tool in a list, described only once it is on the page: a list may be long.
pub(crate) enum Card {
    /// One of a sample's own.
    Own(Value),
    /// One of many that only say their name: a kind and a number.
    Plain(&'static str, usize),
}

impl Card {
    /// Returns the descriptor.
    pub(crate) fn descriptor(self) -> Value {
        match self {
            Self::Own(tool) => tool,
            Self::Plain(kind, number) => {
                let name = format!("{kind}_{number}");
                let description = format!("Return the words \"{name}\".");
                describe(
                    &name,
                    &description,
                    Effect::Reads,
                    Reach::Closed,
                    &json!({}),
                )
            }
        }
    }
}

/// Describes a tool whose properties are all required, but for those with a default.
pub(crate) fn describe(
    name: &str,
    description: &str,
    effect: Effect,
    reach: Reach,
    properties: &Value,
) -> Value {
    let required: Vec<_> = properties
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, property)| property.get("default").is_none())
        .map(|(name, _)| name.clone())
        .collect();
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": properties, "required": required },
        "annotations": {
            "readOnlyHint": matches!(effect, Effect::Reads),
            "destructiveHint": matches!(effect, Effect::Destroys),
            "openWorldHint": matches!(reach, Reach::Open),
        },
    })
}

/// Adds the schema of a tool's structured result.
pub(crate) fn returning(mut tool: Value, properties: &Value) -> Value {
    if let Some(members) = tool.as_object_mut() {
        let schema = json!({ "type": "object", "properties": properties });
        members.insert("outputSchema".to_owned(), schema);
    }
    tool
}

/// Describes a text.
pub(crate) fn a_text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// Describes a whole number from 0 to `most`.
pub(crate) fn a_count(description: &str, most: u64) -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": most, "description": description })
}

/// A result that is one text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// A result that is a value, and the same as text.
pub(crate) fn structured(shown: impl Into<String>, value: Value) -> Value {
    let mut result = text(shown);
    if let Some(members) = result.as_object_mut() {
        members.insert("structuredContent".to_owned(), value);
    }
    result
}

/// A result that says it is an error.
pub(crate) fn failed(why: &str) -> Value {
    let mut result = text(why);
    if let Some(members) = result.as_object_mut() {
        members.insert("isError".to_owned(), true.into());
    }
    result
}
