//! What an upstream says while a call is on its way reaches the agent before the answer does, and is
//! remembered before that.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Askable, Call, CallId, Clock as _, ToolName, ToolRef, UpstreamId, Wire};
use mcpproxy_engine::{Before, Engine, EngineSettings, Unasked};
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

/// A key of the right shape that was never issued.
const KEY: &str = "AKIAQ3EGRTLZ7VHWN2KM";

fn call(clock: &FixedClock, number: u64, upstream: &str, tool: &str, text: &str) -> Call {
    let raw = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{text}"}}}}}}"#
    );
    Call {
        id: CallId::new(number, 0),
        at: clock.wall(),
        deadline: clock.tick().after(Duration::from_mins(1)),
        tool: ToolRef {
            upstream: UpstreamId::new(upstream),
            tool: ToolName::new(tool),
        },
        askable: Askable::Nobody,
        wire: Wire {
            raw: raw.into(),
            ticket: Some(number),
        },
        ..samples::call()
    }
}

#[tokio::test]
async fn news_of_a_call_under_way_are_origins() {
    let clock = Arc::new(FixedClock::default());
    let sink = Arc::new(MemorySink::default());
    let engine = Engine::new(EngineSettings::default(), sink, Arc::clone(&clock) as _);
    let engine = engine.unwrap_or_else(|fault| panic!("{fault}"));
    let read = call(&clock, 1, "github", "get_file", "config");
    let Before::Cleared(cleared) = engine.before(read).await else {
        panic!("a read passes");
    };
    let news = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":1,"message":"read {KEY}"}}}}"#
    );
    engine.heard(cleared.value(), &news);
    let leak = call(&clock, 2, "slack", "post_message", KEY);
    let Before::Denied(denied) = engine.before(leak).await else {
        panic!("the answer has not come yet, but the agent has the key");
    };
    let reason = &denied.answer.reason;
    assert!(reason.contains("internal source (github)"), "{reason}");
}

#[tokio::test]
async fn what_a_session_hears_outside_of_calls_is_an_origin() {
    let clock = Arc::new(FixedClock::default());
    let sink = Arc::new(MemorySink::default());
    let engine = Engine::new(EngineSettings::default(), sink, Arc::clone(&clock) as _);
    let engine = engine.unwrap_or_else(|fault| panic!("{fault}"));
    let leak = call(
        &clock,
        1,
        "slack",
        "post_message",
        "the harbour opens at nine",
    );
    let heard = Unasked {
        upstream: &UpstreamId::new("github"),
        scope: leak.scope,
        session: leak.session,
    };
    engine.heard_aside(
        &heard,
        &format!(r#"{{"level":"info","data":"using {KEY}"}}"#),
    );
    let Before::Cleared(_) = engine.before(leak).await else {
        panic!("nothing of it is in this call");
    };
    let leak = call(&clock, 2, "slack", "post_message", KEY);
    let Before::Denied(denied) = engine.before(leak).await else {
        panic!("the agent has the key from the log of an upstream");
    };
    let reason = &denied.answer.reason;
    assert!(reason.contains("internal source (github)"), "{reason}");
}
