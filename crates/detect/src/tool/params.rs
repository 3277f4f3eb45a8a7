//! Parameters that a tool has no business asking for.

use serde_json::Value;

use crate::detection::{Detection, Level};
use crate::tool::fields::join;
use crate::tool::{Sheet, structural};

/// Parameters whose names say that they want what is said around the call.
const CONTEXT: &[&str] = &[
    "conversation",
    "conversationhistory",
    "chathistory",
    "messagehistory",
    "fullconversation",
    "conversationcontext",
    "chatcontext",
    "usermessages",
    "previousmessages",
    "transcript",
    "contextwindow",
    "fullcontext",
];

/// Words of a name that mean the talk, and words that mean all of it.
const TALK: &[&str] = &[
    "conversation",
    "chat",
    "dialogue",
    "dialog",
    "transcript",
    "context",
];
const ALL: &[&str] = &[
    "log", "history", "dump", "full", "complete", "raw", "entire", "whole", "all", "previous",
    "prior",
];

/// Parameters whose names say that they want the model's own orders.
const ORDERS: &[&str] = &[
    "systemprompt",
    "systeminstructions",
    "systemmessage",
    "developermessage",
    "modelinstructions",
    "chainofthought",
    "modelname",
    "toolslist",
    "availabletools",
    "availabletoolslist",
];

/// Parameters whose names say nothing, where text can be put that nobody looks at.
const ASIDE: &[&str] = &[
    "sidenote",
    "sidenotes",
    "sideeffect",
    "hiddencontext",
    "internalnotes",
];

/// Words by which a tool shows that such a parameter is its purpose.
const PURPOSE: &[&str] = &[
    "conversation",
    "chat",
    "prompt",
    "message",
    "llm",
    "model",
    "agent",
    "assistant",
    "summar",
    "memory",
    "transcri",
    "completion",
    "session",
    "feedback",
    "meeting",
    "call recording",
];

/// Judges the names of all parameters.
pub(crate) fn judge(tool: &Value, sheet: &mut Sheet) {
    let text = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
    let about = format!("{} {}", text("name"), text("description")).to_lowercase();
    for param in all(tool) {
        if let Some(found) = suspect(param.name, &about) {
            sheet.add(&param.path, 0, vec![found]);
        }
    }
}

/// One parameter, wherever a schema describes it.
#[derive(Clone, Debug)]
pub(crate) struct Param<'a> {
    pub(crate) name: &'a str,
    /// Where it stands, as `inputSchema.properties.options.properties.depth`.
    pub(crate) path: String,
    /// Whether it cannot hold a text.
    pub(crate) is_number: bool,
    /// Whether a call needs it, as far as the schema that names it says.
    pub(crate) is_required: bool,
}

/// Members of a schema that are schemas, that list some, and that have some by name.
const SCHEMAS: &[&str] = &[
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedProperties",
    "contains",
    "not",
    "if",
    "then",
    "else",
];
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
];
/// The deepest nesting that is followed.
const DEEPEST: usize = 64;

/// The parameters of a descriptor, at whatever depth: a schema may hide one in another, in a choice or
/// in a definition.
pub(crate) fn all(tool: &Value) -> Vec<Param<'_>> {
    let mut found = Vec::new();
    if let Some(schema) = tool.get("inputSchema") {
        collect(schema, "inputSchema", DEEPEST, &mut found);
    }
    found
}

fn collect<'a>(schema: &'a Value, path: &str, depth: usize, found: &mut Vec<Param<'a>>) {
    let (Some(members), true) = (schema.as_object(), depth > 0) else {
        return;
    };
    let required = members.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|one| one.as_str() == Some(name))
    };
    for (key, member) in members {
        let path = join(path, key);
        if key == "properties" {
            for (name, schema) in member.as_object().into_iter().flatten() {
                let path = join(&path, name);
                collect(schema, &path, depth - 1, found);
                found.push(Param {
                    name,
                    path,
                    is_number: is_number(schema),
                    is_required: is_required(name),
                });
            }
            continue;
        }
        if SCHEMAS.contains(&key.as_str()) {
            collect(member, &path, depth - 1, found);
        }
        if NAMED.contains(&key.as_str()) {
            for (name, schema) in member.as_object().into_iter().flatten() {
                collect(schema, &join(&path, name), depth - 1, found);
            }
        }
        if LISTS.contains(&key.as_str()) {
            for (at, schema) in member.as_array().into_iter().flatten().enumerate() {
                collect(schema, &format!("{path}[{at}]"), depth - 1, found);
            }
        }
    }
}

/// Tells whether a schema lets only numbers and switches pass.
fn is_number(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| ["boolean", "integer", "number", "null"].contains(&kind))
}

/// The names of the parameters that a descriptor has at its top.
pub(crate) fn names(tool: &Value) -> Vec<String> {
    let properties = tool
        .pointer("/inputSchema/properties")
        .and_then(Value::as_object);
    properties
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

fn suspect(name: &str, about: &str) -> Option<Detection> {
    let flat: String = name
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    let flat = flat.to_lowercase();
    let flat = flat.as_str();
    let parts: Vec<String> = name.split(['_', '-']).map(str::to_lowercase).collect();
    let says = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    let talk = CONTEXT.contains(&flat) || (says(TALK) && says(ALL));
    let purpose = PURPOSE.iter().any(|word| about.contains(word));
    let reason = if talk && !purpose {
        "a parameter asks for the conversation, which the tool has no use for"
    } else if ORDERS.contains(&flat) && !purpose {
        "a parameter asks for the model's own instructions or surroundings"
    } else if ASIDE.contains(&flat) {
        "a parameter takes text that is not part of the task"
    } else {
        return None;
    };
    let tags = &["MCP10", "ASI02", "AML.T0086"];
    let weight = if ASIDE.contains(&flat) { 30 } else { 50 };
    let level = if weight >= 50 {
        Level::Warn
    } else {
        Level::Note
    };
    Some(structural(
        "parameter",
        level,
        weight,
        reason.to_owned(),
        tags,
    ))
}
