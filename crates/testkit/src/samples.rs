//! Values for tests: one plain call, on which a test puts what it is about.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Askable, Call, CallId, Clock, Declared, Door, FlowScope, Id128, MessageKind, Principal,
    SessionBasis, SessionKey, Tick, ToolName, ToolRef, Trace, UpstreamId, Wall, Wire,
};

/// Returns a call of `slack:post_message` by the owner, with a minute to go and nothing on the wire.
pub fn call() -> Call {
    Call {
        id: CallId::new(1, 1),
        leg: 0,
        at: Wall(0),
        deadline: Tick(Duration::from_mins(1)),
        door: Door::Mcp,
        who: Principal::owner(),
        scope: FlowScope(Id128(1)),
        session: SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(1),
        },
        kind: MessageKind::Request("tools/call".into()),
        tool: ToolRef {
            upstream: UpstreamId::new("slack"),
            tool: ToolName::new("post_message"),
        },
        declared: Declared::default(),
        askable: Askable::Elicit,
        hook: None,
        trace: Trace::default(),
        wire: Wire {
            raw: Bytes::new(),
            ticket: None,
        },
    }
}

/// Returns a call of a tool with one argument, `text`, that begins now and that nobody can be asked
/// about.
pub fn saying(clock: &dyn Clock, number: u64, tool: (&str, &str), text: &str) -> Call {
    let (upstream, tool) = tool;
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
        ..call()
    }
}
