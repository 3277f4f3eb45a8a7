//! Parameters that a tool has no business asking for.

use serde_json::Value;

use crate::detection::{Detection, Level};
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
    for name in names(tool) {
        if let Some(found) = suspect(&name, &about) {
            let path = format!("inputSchema.properties.{name}");
            sheet.add(&path, 0, vec![found]);
        }
    }
}

/// The names of a descriptor's parameters.
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
