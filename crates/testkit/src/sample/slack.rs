//! An outside chat: what is posted there leaves the company.

use serde_json::{Value, json};

use super::exchange::{Answer, Exchange, Fault};
use super::tool::{Effect, Reach, a_text, describe, returning, structured};

/// The channels and who reads them.
const CHANNELS: [(&str, &str); 3] = [
    ("general", "everybody at the company"),
    ("incidents", "whoever is on call"),
    ("partners", "people of other companies"),
];

/// Describes the tools.
pub(crate) fn tools() -> Vec<Value> {
    // The channel is repeated in a header, which modern requests over HTTP then must carry.
    let channel = json!({
        "type": "string",
        "description": "The channel's name, without a hash.",
        "x-mcp-header": "Channel",
    });
    let post = describe(
        "post_message",
        "Post a message to a channel.",
        Effect::Writes,
        Reach::Open,
        &json!({ "channel": channel, "text": a_text("What to post.") }),
    );
    let list = describe(
        "list_channels",
        "List the channels and who reads them.",
        Effect::Reads,
        Reach::Open,
        &json!({}),
    );
    let posted = json!({ "id": a_text("The message."), "channel": a_text("Where it stands.") });
    vec![returning(post, &posted), list]
}

/// Calls a tool; an unknown one is nothing.
pub(crate) fn call(exchange: &Exchange, name: &str) -> Option<Answer> {
    match name {
        "post_message" => Some(post_message(exchange)),
        "list_channels" => Some(Ok(list_channels())),
        _ => None,
    }
}

fn post_message(exchange: &Exchange) -> Answer {
    let (channel, _text) = (exchange.text("channel")?, exchange.text("text")?);
    if !CHANNELS.iter().any(|&(known, _)| known == channel) {
        return Err(Fault::Tool(format!("no channel is called `{channel}`")));
    }
    let id = format!("msg-{}", exchange.conversation.service.number());
    let shown = format!("posted {id} to #{channel}");
    Ok(structured(shown, json!({ "id": id, "channel": channel })))
}

fn list_channels() -> Value {
    let lines: Vec<_> = CHANNELS
        .iter()
        .map(|(name, readers)| format!("#{name}: read by {readers}"))
        .collect();
    let names: Vec<_> = CHANNELS.iter().map(|(name, _)| *name).collect();
    structured(lines.join("\n"), json!({ "channels": names }))
}
