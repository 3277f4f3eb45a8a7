//! What has to change when the two sides speak different eras, and nothing else.
//!
//! ARCHITECTURE.md has the table of what maps to what.

use mcpproxy_core::{CallId, ToolName};
use mcpproxy_mcp::compose::quoted;
use mcpproxy_mcp::envelope::{Envelope, insert_meta, remove, strip_meta};
use mcpproxy_mcp::era::{
    Era, LEGACY_LATEST, META_LOG_LEVEL, META_SERVER_INFO, META_SUBSCRIPTION, MODERN, negotiate,
};
use mcpproxy_mcp::trace::{Context, TRACEPARENT};
use mcpproxy_mcp::{Frame, FrameKind, Refusal};
use mcpproxy_text::{self as text, Limits, Splice};
use mcpproxy_upstream::Instance;

use crate::downstream::Downstream;

/// Rewrites a downstream's request for the era of the upstream.
pub fn outgoing(
    frame: &Frame,
    from: &Downstream,
    to: Era,
    limits: Limits,
) -> Result<Frame, Refusal> {
    match (from.era, to) {
        (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => Ok(frame.clone()),
        (Era::Modern, Era::Legacy) => {
            let frame = strip_meta(frame, limits)?;
            remove(&frame, &[], &["inputResponses", "requestState"], limits)
        }
        (Era::Legacy, Era::Modern) => {
            let envelope = Envelope {
                version: MODERN.to_owned(),
                capabilities: from.greeting.capabilities.clone(),
                client_info: Some(from.greeting.client_info.clone()),
            };
            let mut members = envelope.members();
            let session = from.session.as_ref();
            if let Some(level) = session.and_then(|session| session.log_level()) {
                members.extend([",", &quoted(META_LOG_LEVEL), ":", &quoted(level)]);
            }
            // A legacy downstream may know these keys too; here they are the gateway's to set.
            insert_meta(&strip_meta(frame, limits)?, &members, limits)
        }
    }
}

/// Puts the gateway's own id into a request, and into its progress token if it has one. Returns
/// the downstream's raw token.
pub fn numbered(
    frame: &Frame,
    ticket: u64,
    limits: Limits,
) -> Result<(Frame, Option<String>), Refusal> {
    let frame = frame.renumbered(ticket);
    let path = ["_meta", "progressToken"];
    let Some(span) = frame.parameter_span(&path) else {
        return Ok((frame, None));
    };
    let token = text::get(frame.params(), &path).map(|(raw, _)| raw.to_owned());
    let mut splice = Splice::default();
    splice.replace(span, ticket.to_string());
    Ok((frame.edited(splice, limits)?, token))
}

/// Names the gateway's own span of a call as the parent of what the upstream does, in the trace of
/// whoever called. Returns the caller's raw parent.
pub fn traced(
    frame: &Frame,
    call: CallId,
    limits: Limits,
) -> Result<(Frame, Option<String>), Refusal> {
    let path = ["_meta", TRACEPARENT];
    let parent = text::get(frame.params(), &path).map(|(raw, _)| raw.to_owned());
    let known = parent.as_deref().and_then(text::string);
    let known = known.and_then(|known| Context::parse(&known));
    let own = quoted(&Context::of(call, known.as_ref()).to_string());
    let Some(span) = frame.parameter_span(&path) else {
        let member = format!("{}:{own}", quoted(TRACEPARENT));
        return Ok((insert_meta(frame, &member, limits)?, parent));
    };
    let mut splice = Splice::default();
    splice.replace(span, own);
    Ok((frame.edited(splice, limits)?, parent))
}

/// Gives a tool, prompt or task the name that its upstream knows.
pub fn renamed(
    frame: &Frame,
    path: &[&str],
    name: &ToolName,
    limits: Limits,
) -> Result<Frame, Refusal> {
    let mut splice = Splice::default();
    if let Some(span) = frame.parameter_span(path) {
        splice.replace(span, quoted(name.as_str()));
    }
    frame.edited(splice, limits)
}

/// Gives a notification of a call back the token or subscription that the downstream chose.
pub fn notification(
    frame: &Frame,
    ticket: u64,
    token: Option<&str>,
    downstream_id: &str,
    limits: Limits,
) -> Result<Frame, Refusal> {
    let ours = ticket.to_string();
    let mut splice = Splice::default();
    let is_ours =
        |path: &[&str]| text::get(frame.params(), path).is_some_and(|(raw, _)| raw == ours);
    if let Some(token) = token
        && is_ours(&["progressToken"])
        && let Some(span) = frame.parameter_span(&["progressToken"])
    {
        splice.replace(span, token);
    }
    let subscription = ["_meta", META_SUBSCRIPTION];
    if is_ours(&subscription)
        && let Some(span) = frame.parameter_span(&subscription)
    {
        splice.replace(span, downstream_id);
    }
    frame.edited(splice, limits)
}

/// Rewrites an upstream's answer for the era of the downstream.
pub fn incoming(
    frame: &Frame,
    method: &str,
    from: Era,
    to: Era,
    limits: Limits,
) -> Result<Frame, Refusal> {
    let mut splice = Splice::default();
    if let (Era::Legacy, Era::Modern, FrameKind::Result) = (from, to, frame.kind())
        && let Some(span) = frame.payload_span()
        && frame.payload().starts_with('{')
    {
        let mut members = String::new();
        if text::member(frame.payload(), "resultType").is_none() {
            members.push_str(r#""resultType":"complete""#);
        }
        if is_cacheable(method) && text::member(frame.payload(), "ttlMs").is_none() {
            members.push_str(r#","ttlMs":0,"cacheScope":"private""#);
        }
        let members = members.trim_start_matches(',');
        if !members.is_empty() {
            let comma = if text::members(frame.payload()).next().is_some() {
                ","
            } else {
                ""
            };
            splice.replace(span.start + 1..span.start + 1, format!("{members}{comma}"));
        }
    }
    frame.edited(splice, limits)
}

/// Tells whether a modern result of this method must say how long it may be kept.
pub fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// Gives the answer to a subscription back the id that the downstream chose.
pub fn subscription_result(
    frame: &Frame,
    downstream_id: &str,
    limits: Limits,
) -> Result<Frame, Refusal> {
    let mut splice = Splice::default();
    if let Some(base) = frame.payload_span()
        && let Some((_, span)) = text::get(frame.payload(), &["_meta", META_SUBSCRIPTION])
    {
        splice.replace(
            base.start + span.start..base.start + span.end,
            downstream_id,
        );
    }
    frame.edited(splice, limits)
}

/// Prints the result of `initialize` for an upstream of either era.
pub fn initialize_result(instance: &Instance, proposed: &str) -> String {
    if instance.era() == Era::Legacy {
        return instance.hello().to_owned();
    }
    let version = negotiate(proposed);
    let info = instance
        .server_info()
        .unwrap_or(r#"{"name":"unknown","version":"0"}"#);
    let instructions = member(instance.hello(), "instructions");
    let capabilities = instance.capabilities();
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{info}{instructions}}}"#
    )
}

/// Prints the result of `server/discover` for a legacy upstream.
pub fn discover_result(instance: &Instance) -> String {
    let info = instance
        .server_info()
        .unwrap_or(r#"{"name":"unknown","version":"0"}"#);
    let instructions = member(instance.hello(), "instructions");
    let capabilities = instance.capabilities();
    let key = quoted(META_SERVER_INFO);
    format!(
        r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{capabilities}{instructions},"ttlMs":0,"cacheScope":"private","_meta":{{{key}:{info}}}}}"#
    )
}

fn member(object: &str, name: &str) -> String {
    let found = text::get(object, &[name]);
    found
        .map(|(raw, _)| format!(",{}:{raw}", quoted(name)))
        .unwrap_or_default()
}

/// The version that a downstream's own `initialize` is answered with.
pub fn answered_version(result: &str) -> String {
    let version = text::get(result, &["protocolVersion"]).and_then(|(raw, _)| text::string(raw));
    version.map_or_else(|| LEGACY_LATEST.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(raw: &str) -> Frame {
        Frame::parse(raw.to_owned().into(), Limits::default()).unwrap()
    }

    #[test]
    fn progress_tokens_go_out_as_ours_and_come_back_as_theirs() {
        let call = frame(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"progressToken":"tok"},"name":"x"}}"#,
        );
        let (sent, token) = numbered(&call, 7, Limits::default()).unwrap();
        assert_eq!(
            sent.raw(),
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"x"}}"#
        );
        let told = frame(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1.0}}"#,
        );
        let back = notification(&told, 7, token.as_deref(), "\"a\"", Limits::default()).unwrap();
        assert_eq!(back.params(), r#"{"progressToken":"tok","progress":1.0}"#);
    }

    #[test]
    fn the_gateway_s_span_is_named_and_nothing_else_of_a_message_changes() {
        let trace = "0123456789abcdef0123456789abcdef";
        let id = CallId::new(1, 1);
        let check = |params: &str, known: bool, expect: &str| {
            let raw = |params: &str| {
                format!(r#"{{"jsonrpc":"2.0","id":7, "method":"tools/call","params":{params}}}"#)
            };
            let theirs = format!("00-{trace}-0123456789abcdef-00");
            let parent = known.then(|| Context::parse(&theirs).unwrap());
            let own = Context::of(id, parent.as_ref()).to_string();
            let fill = |text: &str| text.replace("THEIRS", &theirs).replace("OWN", &own);
            let before = frame(&raw(&fill(params)));
            let (sent, said) = traced(&before, id, Limits::default()).unwrap();
            assert_eq!(sent.raw(), raw(&fill(expect)).as_bytes(), "{params}");
            let there = text::get(before.params(), &["_meta", "traceparent"]);
            assert_eq!(said.as_deref(), there.map(|(raw, _)| raw));
        };
        check(
            r#"{"_meta" : {"z":1.0,"traceparent": "THEIRS"},"arguments":{"n": 1.50}}"#,
            true,
            r#"{"_meta" : {"z":1.0,"traceparent": "OWN"},"arguments":{"n": 1.50}}"#,
        );
        check(
            r#"{"_meta":{"traceparent":7}}"#,
            false,
            r#"{"_meta":{"traceparent":"OWN"}}"#,
        );
        check(
            r#"{"a":"\u0041"}"#,
            false,
            r#"{"_meta":{"traceparent":"OWN"},"a":"\u0041"}"#,
        );
    }

    #[test]
    fn legacy_results_gain_what_the_modern_era_requires() {
        let check = |method: &str, result: &str, expect: &str| {
            let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let frame = frame(&raw);
            let changed =
                incoming(&frame, method, Era::Legacy, Era::Modern, Limits::default()).unwrap();
            assert_eq!(changed.payload(), expect);
        };
        check(
            "tools/call",
            r#"{"content":[]}"#,
            r#"{"resultType":"complete","content":[]}"#,
        );
        check("ping", "{}", r#"{"resultType":"complete"}"#);
        check(
            "tools/list",
            r#"{"tools":[]}"#,
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}"#,
        );
    }
}
