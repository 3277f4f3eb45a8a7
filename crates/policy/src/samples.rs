//! Calls and facts for tests: one plain call to one destination, with what a test is about put on
//! top.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Askable, Call, CallId, DataOrigin, Declared, Destination, Door, Facts, FlowScope, Id128, Label,
    Likeness, Masked, Match, MessageKind, Nature, Principal, Sensitive, SessionBasis, SessionKey,
    Severity, Side, Sink, Tick, ToolName, ToolRef, Trace, UpstreamId, Wall, Weight, Wire,
};

/// A call of `slack:post_message` that can be asked about.
pub(crate) fn call() -> Call {
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

/// What is known about a call to a destination.
pub(crate) fn facts(sink: Sink, class: &'static str) -> Facts {
    Facts::bare(Destination {
        sink,
        class,
        name: "slack".into(),
    })
}

pub(crate) fn outside() -> Facts {
    facts(Sink::Outside, "external")
}

pub(crate) fn inside() -> Facts {
    facts(Sink::Inside, "internal")
}

pub(crate) fn label(nature: Nature, severity: Severity) -> Label {
    Label {
        kind: "github_pat".into(),
        word: match nature {
            Nature::Secret => "api_token",
            Nature::Personal => "email",
            Nature::Typed => "code",
        },
        severity,
        validated: false,
        nature,
    }
}

/// Data that was read on a side.
pub(crate) fn read(side: Side, weight: Weight) -> Match {
    Match {
        how: Likeness::Exact,
        via: Vec::new(),
        origin: DataOrigin {
            call: CallId::new(0, 0),
            upstream: UpstreamId::new("github"),
            tool: ToolName::new("get_file"),
            at: Wall(0),
            side,
        },
        place: "/text".into(),
        shared: 40,
        weight,
        label: (weight == Weight::Sensitive).then(|| label(Nature::Secret, Severity::Critical)),
        sample: Masked::from_safe("gh…"),
    }
}

/// A value in the arguments whose origin nobody knows.
pub(crate) fn value(nature: Nature, severity: Severity, confidence: u8) -> Sensitive {
    Sensitive {
        label: label(nature, severity),
        confidence,
        place: "/text".into(),
        sample: Masked::from_safe("gh…"),
    }
}
