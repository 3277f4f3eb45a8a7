//! Prompts, resources, completions and the log level.

use mcpproxy_mcp::era::Era;
use serde_json::{Value, json};

use super::severity;
use crate::sample::dispatch::cacheable;
use crate::sample::exchange::{Answer, Exchange, Fault};
use crate::sample::listeners::MOST_RESOURCES;

/// MCP up to 2025-11-25, "Resources", error handling: a resource was not found.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// The names that are offered for the prompt.
const NAMES: [&str; 4] = ["Ada", "Alan", "Barbara", "Grace"];
/// The memos that are offered for the template.
const MEMOS: [&str; 2] = ["1", "2"];

/// Answers a method; an unknown one is nothing.
pub(crate) fn answer(exchange: &Exchange) -> Option<Answer> {
    let cached = |result| Some(Ok(cacheable(exchange, result)));
    match (&**exchange.frame.method(), exchange.era) {
        ("prompts/list", _) => cached(json!({ "prompts": [greet()] })),
        ("prompts/get", _) => Some(get_prompt(exchange)),
        ("resources/list", _) => cached(json!({ "resources": MEMOS.map(memo) })),
        ("resources/templates/list", _) => cached(json!({ "resourceTemplates": [template()] })),
        ("resources/read", _) => Some(read(exchange).map(|found| cacheable(exchange, found))),
        ("completion/complete", _) => Some(complete(exchange)),
        ("resources/subscribe", Era::Legacy) => Some(subscribe(exchange)),
        ("resources/unsubscribe", Era::Legacy) => Some(unsubscribe(exchange)),
        ("logging/setLevel", Era::Legacy) => Some(set_level(exchange)),
        _ => None,
    }
}

fn greet() -> Value {
    json!({
        "name": "greet",
        "description": "Greet somebody.",
        "arguments": [{ "name": "name", "description": "Whom to greet.", "required": true }],
    })
}

fn memo(id: &str) -> Value {
    json!({ "uri": format!("memo://{id}"), "name": format!("memo {id}"), "mimeType": "text/plain" })
}

fn template() -> Value {
    json!({ "uriTemplate": "memo://{id}", "name": "memo", "mimeType": "text/plain" })
}

fn get_prompt(exchange: &Exchange) -> Answer {
    let prompt = exchange.string(&["name"])?;
    if prompt != "greet" {
        return Err(Fault::params(format!("unknown prompt `{prompt}`")));
    }
    let name = exchange.string(&["arguments", "name"])?;
    let content = json!({ "type": "text", "text": format!("Say hello to {name}.") });
    Ok(json!({
        "description": "Greet somebody.",
        "messages": [{ "role": "user", "content": content }],
    }))
}

fn read(exchange: &Exchange) -> Answer {
    let uri = exchange.string(&["uri"])?;
    let Some(id) = uri.strip_prefix("memo://").filter(|id| !id.is_empty()) else {
        let why = format!("no resource is at `{uri}`");
        return Err(match exchange.era {
            Era::Legacy => Fault::protocol(RESOURCE_NOT_FOUND, why),
            Era::Modern => Fault::params(why),
        });
    };
    let content = json!({
        "uri": uri,
        "mimeType": "text/plain",
        "text": format!("This is memo {id}."),
    });
    Ok(json!({ "contents": [content] }))
}

fn complete(exchange: &Exchange) -> Answer {
    let known: &[&str] = match exchange.string(&["ref", "type"])?.as_str() {
        "ref/prompt" => &NAMES,
        "ref/resource" => &MEMOS,
        other => return Err(Fault::params(format!("unknown reference `{other}`"))),
    };
    let begun = exchange.string(&["argument", "value"])?;
    let values: Vec<_> = known
        .iter()
        .filter(|value| value.starts_with(&begun))
        .collect();
    Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
}

fn subscribe(exchange: &Exchange) -> Answer {
    let uri = exchange.string(&["uri"])?;
    let conversation = &exchange.conversation;
    let mut full = false;
    conversation
        .service
        .listeners
        .change_wants(conversation.number, |wants| {
            full = wants.resources.len() >= MOST_RESOURCES;
            if !full {
                wants.resources.insert(uri);
            }
        });
    if full {
        return Err(Fault::params("too many subscriptions"));
    }
    Ok(json!({}))
}

fn unsubscribe(exchange: &Exchange) -> Answer {
    let uri = exchange.string(&["uri"])?;
    let conversation = &exchange.conversation;
    conversation
        .service
        .listeners
        .change_wants(conversation.number, |wants| {
            wants.resources.remove(&uri);
        });
    Ok(json!({}))
}

fn set_level(exchange: &Exchange) -> Answer {
    let level = severity(&exchange.string(&["level"])?).map_err(Fault::params)?;
    exchange.conversation.set_log_level(level);
    Ok(json!({}))
}
