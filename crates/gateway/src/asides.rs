//! What upstreams say beside their answers, on its way to a downstream: what cannot be meant for it
//! goes nowhere, and the engine looks at the rest before anybody hears it.

use std::sync::Arc;

use mcpproxy_core::{Call, McpMessage};
use mcpproxy_engine::{Engine, Heard};
use mcpproxy_mcp::frame::replace;
use mcpproxy_mcp::{Frame, FrameKind};
use mcpproxy_text::{self as text, Limits};

use crate::gateway::{DEEPEST, Gateway};

/// The call on whose stream something is said: its ticket, and the token under which the downstream
/// wants to hear of its progress.
pub(crate) type Of<'a> = Option<(u64, Option<&'a str>)>;

/// Tells whether a notification can be meant for the downstream that would hear it: one of a call, or
/// of the conversation.
pub(crate) fn is_meant(frame: &Frame, of: Of<'_>) -> bool {
    let names = |key: &str, ticket: u64| {
        let named = text::get(frame.params(), &[key]);
        named.is_some_and(|(raw, _)| raw.parse() == Ok(ticket))
    };
    match frame.method().as_ref() {
        // Progress is told of a request that asked for it, and of no other.
        "notifications/progress" => of.is_some_and(|(ticket, token)| {
            let asked = token.is_some();
            asked && names("progressToken", ticket)
        }),
        // An upstream takes back questions of its own, under ids that no downstream knows; the
        // requests of a downstream are not its to take back.
        "notifications/cancelled" => false,
        _ => true,
    }
}

/// Makes of a message what the engine is asked about.
pub(crate) fn message(frame: &Frame) -> McpMessage {
    let span = frame.params_span();
    McpMessage {
        to_upstream: false,
        wants_answer: frame.kind() == FrameKind::Request,
        method: Arc::clone(frame.method()),
        params: span.map_or_else(Default::default, |span| frame.raw().slice(span)),
    }
}

/// What an upstream is told of a message that is stopped. Why is for the log and the record: an upstream
/// that learns which hook stopped it learns how to get past it.
const STOPPED: &str = "the gateway does not let this message pass";

/// Has the engine and its hooks look at what an upstream says beside its answers; returns what is
/// passed on, or what the upstream is told where nothing is.
pub(crate) async fn overheard(
    gateway: &Gateway,
    call: &Call,
    frame: &Frame,
) -> Result<Frame, &'static str> {
    let heard = gateway.engine.overheard(call, message(frame)).await;
    changed(frame, heard, gateway.limits())
}

/// Has the engine look at a notification that belongs to no call; returns what is passed on.
pub(crate) fn listened(engine: &Arc<Engine>, call: &Call, frame: &Frame) -> Option<Frame> {
    let (heard, note) = engine.hear(call, &message(frame));
    if let Some(note) = note {
        // The reader of the upstream's messages does not wait for the log.
        let engine = Arc::clone(engine);
        tokio::spawn(async move { engine.note_aside(note).await });
    }
    // It was read once, under the limits that hold.
    changed(frame, heard, Limits { depth: DEEPEST }).ok()
}

fn changed(frame: &Frame, heard: Heard, limits: Limits) -> Result<Frame, &'static str> {
    let params = match heard {
        Heard::Passed => return Ok(frame.clone()),
        Heard::Stopped(why) => {
            tracing::debug!("`{}` of an upstream is stopped: {why}", frame.method());
            return Err(STOPPED);
        }
        Heard::Changed(params) => params,
    };
    let raw = replace(frame.raw(), frame.params_span(), &params);
    // Changed to what cannot be read.
    Frame::parse(raw, limits).map_err(|_| STOPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 6: neither a hook's name nor its words are for an upstream.
    #[test]
    fn an_upstream_is_not_told_who_stopped_it() {
        let raw = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}"#;
        let frame = Frame::parse(raw.into(), Limits::default()).unwrap();
        let check = |heard: Heard| {
            let told = changed(&frame, heard, Limits::default());
            assert_eq!(told.err(), Some(STOPPED));
        };
        check(Heard::Stopped("hook `ear`: it names a key".to_owned()));
        check(Heard::Changed("[".into()));
    }

    #[test]
    fn only_what_can_be_meant_for_a_downstream_is_passed_on() {
        let check = |method: &str, params: &str, of: Of<'_>, expect: bool| {
            let raw = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            let frame = Frame::parse(raw.into(), Limits::default()).unwrap();
            assert_eq!(is_meant(&frame, of), expect, "{method} {params} {of:?}");
        };
        let progress = "notifications/progress";
        let own = r#"{"progressToken":7,"progress":1}"#;
        check(progress, own, Some((7, Some("\"a\""))), true);
        check(progress, own, Some((7, None)), false);
        check(progress, own, Some((8, Some("1"))), false);
        check(progress, own, None, false);
        let words = r#"{"progressToken":"7","progress":1}"#;
        check(progress, words, Some((7, Some("1"))), false);
        let cancelled = "notifications/cancelled";
        check(cancelled, r#"{"requestId":7}"#, Some((7, None)), false);
        check(cancelled, r#"{"requestId":7}"#, None, false);
        let log = "notifications/message";
        check(log, r#"{"level":"info","data":"x"}"#, None, true);
    }
}
