//! Facts for tests about one plain call to one destination, with what a test is about put on top.

use mcpproxy_core::{
    CallId, DataOrigin, Destination, Facts, Label, Likeness, Masked, Match, Nature, Sensitive,
    Severity, Side, Sink, ToolName, UpstreamId, Wall, Weight,
};

pub(crate) use mcpproxy_testkit::samples::call;

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
