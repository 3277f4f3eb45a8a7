//! Whoever folds what another process did knows what that one knows, and bytes of nobody are refused.

use std::borrow::Cow;
use std::time::Duration;

use mcpproxy_core::{
    Destination, Id128, Label, Nature, SessionBasis, Severity, Sink, ToolName, UpstreamId, Wall,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::pack::VERSION;
use super::*;
use crate::content::{Content, Marked};
use crate::settings::FlowTracking;
use crate::tracker::{Checked, Leaving, Tracker};
use crate::whose::Whose;

const NOW: Tick = Tick(Duration::from_secs(9));
const SCOPE: FlowScope = FlowScope(Id128(1));
/// Made up, of nobody.
const KEY: &str = "vt3-live-9Qm4xLz7WkePb2RsYc8Hd5Nf";
const PROSE: &str = "The ferry to Saaremaa is laid up for six weeks from the second of May, and \
    the harbour office wants the forty crates of lamp oil on the other side before that.";

/// What one may do in a session.
#[derive(Clone, Debug)]
enum Deed {
    Read(Side, String),
    Secret(String),
    Say(String),
    Send(&'static str, String, bool),
    Hold(String),
    Mark,
    Deny,
    Justify(bool),
    Link(u128),
}

fn text() -> impl Strategy<Value = String> {
    let whole = select(vec![
        KEY,
        PROSE,
        "Order 482913 for Katarina",
        "nothing to see",
    ]);
    (whole, 0_usize..40, 0_usize..60).prop_map(|(text, from, length)| {
        let part: String = text.chars().skip(from).take(length + 20).collect();
        format!(r#"{{"text":"{part}"}}"#)
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    let side = select(SIDES.to_vec());
    prop_oneof![
        (side, text()).prop_map(|(side, text)| Deed::Read(side, text)),
        Just(Deed::Secret(format!(r#"{{"env":"KEY={KEY}"}}"#))),
        text().prop_map(Deed::Say),
        (select(vec!["slack", "mail"]), text(), any::<bool>())
            .prop_map(|(to, text, left)| Deed::Send(to, text, left)),
        text().prop_map(Deed::Hold),
        Just(Deed::Mark),
        Just(Deed::Deny),
        any::<bool>().prop_map(Deed::Justify),
        (2_u128..4).prop_map(Deed::Link),
    ]
}

const SIDES: [Side; 2] = [Side::Inside, Side::Outside];

fn whose(session: u128) -> Whose {
    Whose {
        scope: SCOPE,
        session: SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(session),
        },
    }
}

fn origin(number: u64, side: Side) -> DataOrigin {
    DataOrigin {
        call: CallId::new(number, 0),
        upstream: UpstreamId::new("files"),
        tool: ToolName::new("read"),
        at: Wall(number),
        side,
    }
}

fn to(name: &str) -> Destination {
    Destination {
        sink: Sink::Outside,
        class: "external",
        name: name.into(),
    }
}

fn checked(tracker: &Tracker, who: u128, number: u64, name: &str, json: &str) -> Checked {
    let leaving = Leaving {
        by: &origin(number, Side::Outside),
        to: &to(name),
        content: &Content { json, marked: &[] },
        said: &(0..json.len()),
    };
    tracker.check(whose(who), leaving, Duration::from_mins(5), NOW)
}

fn act(tracker: &Tracker, who: u128, number: u64, deed: &Deed) {
    let me = whose(who);
    let label = Label {
        kind: "test_key".into(),
        word: "api_token",
        severity: Severity::Critical,
        validated: true,
        nature: Nature::Secret,
    };
    let marked = [Marked {
        value: Cow::Borrowed(KEY),
        label,
        place: Cow::Borrowed(""),
    }];
    match deed {
        Deed::Read(side, json) => {
            let content = Content { json, marked: &[] };
            tracker.record(me, origin(number, *side), &content, NOW);
        }
        Deed::Secret(json) => {
            let marked = &marked;
            let content = Content { json, marked };
            tracker.record(me, origin(number, Side::Inside), &content, NOW);
        }
        Deed::Say(json) => {
            let content = Content { json, marked: &[] };
            tracker.said(me, origin(number, Side::Outside), &content, NOW);
        }
        Deed::Send(name, json, left) => {
            checked(tracker, who, number, name, json);
            let fate = if *left { Fate::Left } else { Fate::Stopped };
            tracker.settle(me, CallId::new(number, 0), fate, NOW);
        }
        Deed::Hold(json) => drop(checked(tracker, who, number, "slack", json)),
        Deed::Mark => {
            let legs = Taint {
                untrusted: true,
                ..Taint::default()
            };
            tracker.mark(me, legs, NOW);
            tracker.note_unread(me, NOW);
            tracker.note_ordered(me, NOW);
        }
        Deed::Deny => {
            tracker.note_denied(me, NOW);
            // Of the call before, which may have taken something along.
            let call = CallId::new(number - 1, 0);
            tracker.note_flow(me, call, FlowType::InternalToExternal, RiskLevel::High, NOW);
        }
        Deed::Justify(true) => tracker.note_justified(me, &to("slack"), NOW),
        Deed::Justify(false) => tracker.note_unjustified(me, &to("slack"), NOW),
        Deed::Link(other) => tracker.link(me.session, whose(*other).session),
    }
}

/// Carries everything that one tracker did to another, as bytes.
fn carry(from: &Tracker, to: &Tracker) {
    for (at, event) in from.take(SCOPE) {
        let bytes = event.encode();
        let event = Event::decode(&bytes).expect("what was written is read");
        assert_eq!(event.encode(), bytes);
        to.fold(SCOPE, event, at);
    }
}

/// What a tracker says about a session, as far as others can know it.
fn says(tracker: &Tracker, who: u128, number: u64, json: &str) -> String {
    let mut said = Vec::new();
    for name in ["slack", "web"] {
        let found = checked(tracker, who, number, name, json);
        tracker.settle(whose(who), CallId::new(number, 0), Fate::Undone, NOW);
        said.push(format!("{found:?}"));
    }
    let view = tracker.session(whose(who).session);
    let view = view.map(|view| (view.edges, view.summary.flows, view.summary.taint));
    format!("{said:#?} {view:#?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn who_folds_the_events_knows_what_the_teller_knows(
        deeds in prop::collection::vec((1_u128..3, deed()), 1..14), probe in text(),
    ) {
        let (one, other) = (Tracker::new(&FlowTracking::default()), Tracker::new(&FlowTracking::default()));
        one.share();
        for (number, (who, deed)) in (10..).zip(&deeds) {
            act(&one, *who, number, deed);
            carry(&one, &other);
        }
        for who in 1..3 {
            prop_assert_eq!(says(&one, who, 99, &probe), says(&other, who, 99, &probe));
        }
    }

    #[test]
    fn bytes_of_nobody_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u8..13) {
        drop(Event::decode(&bytes));
        let framed = [&[VERSION, kind, 1][..], &[7; 16], &bytes].concat();
        if let Some(event) = Event::decode(&framed) {
            Tracker::new(&FlowTracking::default()).fold(SCOPE, event, NOW);
        }
    }
}

#[test]
fn what_was_said_to_a_place_is_known_there_to_others_too() {
    let (one, other) = (
        Tracker::new(&FlowTracking::default()),
        Tracker::new(&FlowTracking::default()),
    );
    one.share();
    let sent = r#"{"text":"vt3-live-9Qm4xLz7WkePb2RsY"}"#;
    let read = r#"{"text":"vt3-live-9Qm4xLz7Wke"}"#;
    act(&one, 1, 10, &Deed::Send("slack", sent.to_owned(), true));
    act(&one, 1, 11, &Deed::Read(Side::Inside, read.to_owned()));
    carry(&one, &other);
    let said = says(&one, 1, 99, sent);
    assert_eq!(said, says(&other, 1, 99, sent));
}

#[test]
fn what_was_read_by_one_and_leaves_by_another_is_seen() {
    let (one, other) = (
        Tracker::new(&FlowTracking::default()),
        Tracker::new(&FlowTracking::default()),
    );
    one.share();
    other.share();
    act(&one, 1, 1, &Deed::Secret(format!(r#"{{"env":"{KEY}"}}"#)));
    carry(&one, &other);
    // In halves, each through another process, and neither is enough by itself.
    let (left, _) = KEY.split_at(10);
    let (_, right) = KEY.split_at(14);
    let half = |tracker: &Tracker, number: u64, half: &str| {
        let json = format!(r#"{{"text":"{half}"}}"#);
        let evidence = checked(tracker, 1, number, "slack", &json).evidence;
        tracker.settle(whose(1), CallId::new(number, 0), Fate::Left, NOW);
        let worst = evidence.matches.iter().map(|one| one.weight).max();
        worst == Some(mcpproxy_core::Weight::Sensitive)
    };
    assert!(!half(&other, 2, left));
    carry(&other, &one);
    assert!(half(&one, 3, right));
}

#[test]
fn where_nobody_is_told_nothing_waits() {
    let tracker = Tracker::new(&FlowTracking::default());
    act(&tracker, 1, 1, &Deed::Mark);
    assert!(tracker.untold().is_empty());
    tracker.share();
    act(&tracker, 1, 1, &Deed::Mark);
    assert_eq!(tracker.untold(), [SCOPE]);
    assert_eq!(tracker.take(SCOPE).count(), 3);
    assert!(tracker.untold().is_empty());
}

/// A gateway that comes back tells everything again. What was read before goes before what was read
/// since, whenever it is heard of.
#[test]
fn what_is_told_late_does_not_push_out_what_was_read_since() {
    let at = |seconds: u64| Tick(Duration::from_secs(seconds));
    pushes_out_nothing(at(1), at(1000));
    // Of before this process began, which it did a moment ago.
    pushes_out_nothing(at(0), Tick(Duration::from_millis(40)));
}

fn pushes_out_nothing(long_ago: Tick, now: Tick) {
    let (one, other) = (
        Tracker::new(&FlowTracking::default()),
        Tracker::new(&FlowTracking::default()),
    );
    one.share();
    for number in 0..50_000_u64 {
        let json = format!(
            r#"{{"text":"row {number} of a table that is long: {}"}}"#,
            number * 7919
        );
        let content = Content {
            json: &json,
            marked: &[],
        };
        let who = whose(2 + u128::from(number % 4));
        one.record(who, origin(number, Side::Inside), &content, long_ago);
    }
    let json = format!(r#"{{"text":"{PROSE}"}}"#);
    let content = Content {
        json: &json,
        marked: &[],
    };
    other.record(whose(1), origin(100_000, Side::Inside), &content, now);
    for (at, event) in one.take(SCOPE) {
        other.fold(SCOPE, event, at);
    }
    let found = |number| checked(&other, 1, number, "slack", &json).evidence;
    let told = found(100_001);
    assert!(!told.matches.is_empty(), "{told:?}");
    assert!(told.reduced.is_empty(), "{told:?}");
    // And what is read afterwards pushes out the older ones first.
    for number in 160_000..160_100_u64 {
        let json = format!(
            r#"{{"text":"row {number} of another table: {}"}}"#,
            number * 7907
        );
        let content = Content {
            json: &json,
            marked: &[],
        };
        other.record(whose(3), origin(number, Side::Inside), &content, now);
    }
    assert!(!found(160_101).matches.is_empty());
}
