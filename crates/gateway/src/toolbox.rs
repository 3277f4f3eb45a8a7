//! The gateway's own tools in call mode: search, describe, call, read on.

mod cache;
mod descriptors;
mod retrieve;

pub use cache::Cache;
pub use descriptors::descriptors;
pub(crate) use retrieve::{describe_state, says};

use std::sync::Arc;

use mcpproxy_core::{Declared, OfferKind, Operation, ToolName, ToolRef};
use mcpproxy_mcp::compose::{self, quoted};
use mcpproxy_mcp::era::Era;
use mcpproxy_mcp::{Frame, FrameKind};
use mcpproxy_text::{self as text, Limits};
use serde_json::Value;

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::forward::{Origin, Target, reread};
use crate::gateway::Gateway;
use crate::management;
use crate::quarantine;
use crate::router::{Answer, to_upstream};
use crate::translate;

/// The names of the gateway's own tools.
pub(crate) const NAMES: [&str; 8] = [
    "retrieve_tools",
    "describe_tool",
    "call_tool_read",
    "call_tool_write",
    "call_tool_destructive",
    "read_cache",
    "upstream_servers",
    "quarantine_security",
];
/// The longest text with which an agent may explain a call, in characters.
const WORDS: usize = 1000;

/// Calls one of the gateway's own tools.
pub async fn call(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    origin: &mut Origin,
) -> Result<Answer, Failure> {
    let tool = frame.parameter(&["name"]).unwrap_or_default().into_owned();
    let (raw, _) = text::get(frame.params(), &["arguments"]).unwrap_or(("{}", 0..0));
    let arguments: Value = serde_json::from_str(raw)
        .map_err(|fault| Failure::params(format!("`arguments` cannot be read: {fault}")))?;
    let names: Vec<_> = text::members(raw).map(|member| member.key).collect();
    if let Some((one, other)) = text::fold_twins(&names) {
        let message = format!("`{one}` and `{other}` could be taken for each other");
        return Err(Failure::params(message));
    }
    let Some(operation) = operation(&tool) else {
        return own(gateway, downstream, frame, &tool, &arguments).await;
    };
    let inner = unwrapped(frame, &arguments, gateway.limits())?;
    let declared = declared(operation, &arguments)?;
    let wanted = Some((OfferKind::Tool, inner.tool.as_str()));
    let upstream = gateway.upstream_for(&downstream.who, &inner.upstream, wanted)?;
    let name = ToolName::new(inner.tool);
    let from = ToolRef {
        upstream: upstream.name().clone(),
        tool: name.clone(),
    };
    let answer = to_upstream(
        gateway,
        downstream,
        &inner.frame,
        upstream,
        name,
        declared,
        origin,
    )
    .await?;
    Ok(cut(gateway, downstream, from, answer))
}

async fn own(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    tool: &str,
    arguments: &Value,
) -> Result<Answer, Failure> {
    let value = match tool {
        "retrieve_tools" => retrieve::retrieve(gateway, downstream, arguments).await?,
        "describe_tool" => retrieve::describe(gateway, &downstream.who, arguments).await?,
        "read_cache" => read_cache(gateway, downstream, frame, arguments).await?,
        "upstream_servers" if gateway.active().settings.management_tools => {
            management::upstream_servers(gateway, downstream, arguments).await?
        }
        "quarantine_security" if gateway.active().settings.management_tools => {
            quarantine::quarantine_security(gateway, downstream, arguments).await?
        }
        _ => return Err(Failure::params(format!("no tool is named `{tool}`"))),
    };
    Ok(Answer::Result(tool_result(&value, downstream.era)))
}

/// Prints a value as the result of a tool call, as text and as structured content.
fn tool_result(value: &Value, era: Era) -> String {
    let shown = quoted(&value.to_string());
    let modern = match era {
        Era::Legacy => "",
        Era::Modern => r#""resultType":"complete","#,
    };
    format!(
        r#"{{{modern}"content":[{{"type":"text","text":{shown}}}],"structuredContent":{value}}}"#
    )
}

/// The call of an upstream's tool that was inside a call of ours.
pub(crate) struct Unwrapped {
    pub(crate) upstream: String,
    pub(crate) tool: String,
    pub(crate) frame: Frame,
}

/// Returns the call of an upstream's tool inside a call of ours, if there is one that can be read.
pub(crate) fn inside(frame: &Frame, limits: Limits) -> Option<Unwrapped> {
    let tool = frame.parameter(&["name"])?;
    operation(&tool)?;
    let (raw, _) = text::get(frame.params(), &["arguments"])?;
    let arguments: Value = serde_json::from_str(raw).ok()?;
    unwrapped(frame, &arguments, limits).ok()
}

/// Returns what a tool of ours declares to do to an upstream, if it calls one.
fn operation(tool: &str) -> Option<Operation> {
    match tool {
        "call_tool_read" => Some(Operation::Read),
        "call_tool_write" => Some(Operation::Write),
        "call_tool_destructive" => Some(Operation::Destructive),
        _ => None,
    }
}

/// Takes the call of an upstream's tool out of the call of ours. The arguments are the bytes that
/// the agent wrote, in place or inside a string.
fn unwrapped(frame: &Frame, arguments: &Value, limits: Limits) -> Result<Unwrapped, Failure> {
    let full = arguments.get("name").and_then(Value::as_str);
    let full = full.ok_or_else(|| Failure::params("`name` is missing; give `server:tool`"))?;
    let Some((upstream, tool)) = full.split_once(':') else {
        return Err(Failure::params(format!(
            "`{full}` is not of the form `server:tool`"
        )));
    };
    let within = |name| text::get(frame.params(), &["arguments", name]).map(|(raw, _)| raw);
    let as_text = arguments
        .get("args_json")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let raw = match (as_text, within("args")) {
        (Some(inner), _) => inner,
        (None, Some(raw)) => raw,
        (None, None) => "{}",
    };
    text::check(raw.as_bytes(), limits)
        .map_err(|fault| Failure::params(format!("`args_json` is refused: {fault}")))?;
    if !raw.trim_start().starts_with('{') {
        return Err(Failure::params("the arguments must be an object"));
    }
    let meta = text::get(frame.params(), &["_meta"]);
    let meta = meta
        .map(|(raw, _)| format!(r#","_meta":{raw}"#))
        .unwrap_or_default();
    let params = format!(r#"{{"name":{},"arguments":{raw}{meta}}}"#, quoted(tool));
    let id = frame.id().unwrap_or("0");
    let inner = Frame::parse(compose::request(id, "tools/call", &params), limits)?;
    Ok(Unwrapped {
        upstream: upstream.to_owned(),
        tool: tool.to_owned(),
        frame: inner,
    })
}

pub(crate) fn declared(operation: Operation, arguments: &Value) -> Result<Declared, Failure> {
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .map(Box::<str>::from)
    };
    let sensitivity = text("intent_data_sensitivity");
    if let Some(given) = &sensitivity
        && !["public", "internal", "private", "unknown"].contains(&&**given)
    {
        let message = format!(
            "`intent_data_sensitivity` is `{given}`; use public, internal, private or unknown"
        );
        return Err(Failure::params(message));
    }
    let words = |name: &str| {
        let given = text(name);
        if given
            .as_ref()
            .is_some_and(|words| words.chars().count() > WORDS)
        {
            let message = format!("`{name}` is longer than {WORDS} characters");
            return Err(Failure::params(message));
        }
        Ok(given)
    };
    Ok(Declared {
        operation: Some(operation),
        sensitivity,
        reason: words("intent_reason")?,
        flow_justification: words("flow_justification")?,
        flow_destination_type: words("flow_destination_type")?,
    })
}

/// Cuts an answer past the configured length and keeps the whole for `read_cache`.
fn cut(gateway: &Gateway, downstream: &Downstream, from: ToolRef, answer: Answer) -> Answer {
    let limit = gateway.active().settings.tool_response_limit;
    let frame = match answer {
        Answer::Frame(frame) if limit > 0 && frame.kind() == FrameKind::Result => frame,
        other => return other,
    };
    if frame.payload().len() <= limit {
        return Answer::Frame(frame);
    }
    let whole = frame.payload().to_owned();
    let length = whole.len();
    let head = cache::head(&whole, limit).to_owned();
    let Some(key) = gateway
        .cache
        .keep(&downstream.who.name, from, whole, gateway.clock.tick())
    else {
        return Answer::Frame(frame);
    };
    let note = format!(
        "{head}\n\n[cut by mcpproxy at {} of {length} bytes; read on with read_cache, key `{key}`, offset {}]",
        head.len(),
        head.len()
    );
    let shown = quoted(&note);
    let modern = match downstream.era {
        Era::Legacy => "",
        Era::Modern => r#""resultType":"complete","#,
    };
    Answer::Result(format!(
        r#"{{{modern}"content":[{{"type":"text","text":{shown}}}]}}"#
    ))
}

/// Reads on in an answer that was cut. A page leaves like an answer, so it is judged and recorded
/// like one.
async fn read_cache(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    frame: &Frame,
    arguments: &Value,
) -> Result<Value, Failure> {
    let key = arguments.get("key").and_then(Value::as_str);
    let key = key.ok_or_else(|| Failure::params("`key` is missing"))?;
    let number = |name: &str, usual: usize| {
        let given = arguments.get(name).and_then(Value::as_u64);
        given.map_or(usual, |given| usize::try_from(given).unwrap_or(usize::MAX))
    };
    let limit = gateway.active().settings.tool_response_limit.max(1024);
    let page = gateway.cache.read(
        &downstream.who.name,
        key,
        number("offset", 0),
        number("limit", limit).min(limit),
    );
    let (from, page) =
        page.ok_or_else(|| Failure::params(format!("nothing is kept under `{key}`")))?;
    let upstream = gateway.fleet.get(from.upstream.as_str())?;
    let read = Operation::Read;
    gateway
        .access
        .permits(&downstream.who, &from.upstream, || read)?;
    let target = Target {
        upstream,
        tool: from.tool,
        declared: Declared {
            operation: Some(read),
            ..Declared::default()
        },
    };
    // A page is part of what that tool answered, so the message that is judged names it.
    let frame = translate::renamed(frame, &["name"], &target.tool, gateway.limits())?;
    reread(gateway, downstream, &frame, &target, page).await
}
