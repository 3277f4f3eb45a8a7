//! Flow tracking: no panic on any input, a bounded report, and a shared run is always found.

#![no_main]

use std::borrow::Cow;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcpproxy_core::{
    CallId, DataOrigin, Destination, FlowScope, Id128, Label, Nature, SessionBasis, SessionKey,
    Severity, Side, Sink, Tick, ToolName, UpstreamId, Wall,
};
use mcpproxy_flow::{Content, Fate, FlowTracking, Leaving, Marked, RUN, Tracker, Whose, folded};

fuzz_target!(|texts: (&str, &str, &str)| {
    let (read, secret, sent) = texts;
    let tracker = Tracker::new(&FlowTracking::default());
    let whose = Whose {
        scope: FlowScope(Id128(1)),
        session: SessionKey {
            basis: SessionBasis::Connection,
            id: Id128(1),
        },
    };
    let origin = DataOrigin {
        call: CallId::new(1, 1),
        upstream: UpstreamId::new("files"),
        tool: ToolName::new("read"),
        at: Wall(0),
        side: Side::Inside,
    };
    let marked = [Marked {
        value: Cow::Borrowed(secret),
        label: Label {
            kind: "fuzzed".into(),
            word: "secret",
            severity: Severity::High,
            validated: false,
            nature: Nature::Secret,
        },
        place: Cow::Borrowed(""),
    }];
    let now = Tick(Duration::ZERO);
    let content = Content {
        json: read,
        marked: &marked,
    };
    tracker.record(whose, origin.clone(), &content, now);
    let to = Destination {
        sink: Sink::Outside,
        class: "external",
        name: "out".into(),
    };
    for (number, fate) in (0..).zip([Fate::Left, Fate::Stopped, Fate::Undone]) {
        let call = CallId::new(number, 2);
        let leaving = Leaving {
            by: &DataOrigin {
                call,
                side: Side::Outside,
                ..origin.clone()
            },
            to: &to,
            content: &Content {
                json: sent,
                marked: &[],
            },
            said: &(0..sent.len()),
        };
        let found = tracker.check(whose, leaving, Duration::from_secs(60), now).evidence;
        assert!(found.matches.len() <= 256, "an unbounded report");
        if read == sent && read.is_ascii() && folded(read).len() >= RUN {
            // Only what is common to everybody may go unnoticed.
            let rare = read.contains("zqj");
            assert!(!rare || found.heaviest().is_some(), "a shared run was missed");
        }
        tracker.settle(whose, call, fate, now);
    }
});
