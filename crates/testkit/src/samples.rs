//! Values for tests: one plain call, on which a test puts what it is about.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Askable, Call, CallId, Declared, Door, FlowScope, Id128, MessageKind, Principal, SessionBasis,
    SessionKey, Tick, ToolName, ToolRef, Trace, UpstreamId, Wall, Wire,
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
