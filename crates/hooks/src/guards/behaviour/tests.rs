//! Callers with habits, and what is said when they depart from them.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Id128, ToolName};
use mcpproxy_testkit::samples;

use super::*;

/// 2026-01-05, a Monday, at nine.
const START: u64 = 1_767_603_600_000;
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;

/// A caller who reads two files and writes one, again and again, and a clock.
struct Office {
    behaviour: Behaviour,
    now: u64,
    next: u64,
}

impl Office {
    fn new(settings: &str) -> Self {
        let settings = serde_json::from_str(settings).unwrap();
        Self {
            behaviour: Behaviour::new(settings, Arc::default()),
            now: START,
            next: 0,
        }
    }

    fn call(&mut self, upstream: &str, tool: &str, bytes: usize) -> Call {
        self.next += 1;
        let mut call = samples::call();
        call.id = CallId::new(self.now, self.next.into());
        call.tool.upstream = UpstreamId::new(upstream);
        call.tool.tool = ToolName::new(tool);
        call.wire.raw = Bytes::from(vec![b'x'; bytes]);
        call
    }

    /// Makes a call that is judged, allowed and answered.
    fn makes(&mut self, call: &Call, hosts: &[&str], status: Status) -> Option<Finding> {
        let now = Wall(self.now);
        let hosts: Vec<Box<str>> = hosts.iter().map(|host| (*host).into()).collect();
        self.behaviour.count(call, now);
        let said = self.behaviour.judge(call, &hosts, now);
        let outcome = Outcome {
            body: Bytes::from_static(b"{}"),
            status,
            took: Duration::ZERO,
        };
        let answered = self.behaviour.learn(call, &outcome, now);
        said.or(answered)
    }

    fn does(&mut self, upstream: &str, tool: &str) -> Option<Finding> {
        let call = self.call(upstream, tool, 300);
        self.makes(&call, &[], Status::Success)
    }

    /// Works for some days as always: two reads and a write every five minutes, from nine to five.
    fn works(&mut self, days: u64) -> usize {
        let mut said = 0;
        for _ in 0..days {
            let morning = self.now;
            for round in 0..96 {
                self.now = morning + round * 5 * MINUTE;
                for tool in ["read_file", "read_file", "write_file"] {
                    said += usize::from(self.does("files", tool).is_some());
                }
            }
            self.now = morning + DAY;
        }
        said
    }
}

fn words(finding: Option<&Finding>) -> &str {
    finding.map_or("", |finding| finding.reason.as_str())
}

#[test]
fn nobody_is_unusual_before_they_are_known() {
    let mut office = Office::new("{}");
    // Everything at once, on the first day: nothing is said.
    for number in 0..5000 {
        let call = office.call("files", &format!("tool{}", number % 100), 100_000);
        let said = office.makes(&call, &["drop.example"], Status::Error);
        assert!(said.is_none(), "{}", words(said.as_ref()));
        office.now += 10;
    }
    // Neither do few calls over a long time make a habit.
    let mut office = Office::new("{}");
    for _ in 0..199 {
        assert!(office.does("files", "read_file").is_none());
        office.now += DAY / 10;
    }
    assert!(office.does("web", "post").is_none());
}

#[test]
fn work_as_always_is_never_unusual() {
    let mut office = Office::new("{}");
    assert_eq!(office.works(30), 0);
}

#[test]
fn every_kind_of_departure_is_said_in_words() {
    let check = |act: fn(&mut Office) -> Option<Finding>, expect: &str| {
        let mut office = Office::new(r#"{"tag_at":1,"alarm_at":0}"#);
        let said = office.works(8);
        assert_eq!(said, 0, "before: {expect}");
        let said = act(&mut office);
        let said = words(said.as_ref());
        assert!(said.contains(expect), "{said:?} has no {expect:?}");
    };
    check(|_| None, "");
    check(
        |office| {
            let mut said = None;
            for _ in 0..40 {
                said = office.does("files", "read_file");
            }
            said
        },
        "40 calls in a minute where 3 are usual for this caller",
    );
    check(
        |office| office.does("files", "delete_all"),
        "`files:delete_all`, which is new after 2304 calls for this caller",
    );
    check(
        |office| {
            let call = office.call("files", "write_file", 300);
            office.makes(&call, &["a.b.drop.example"], Status::Success)
        },
        "`drop.example`, which is new for this caller",
    );
    check(
        |office| {
            let call = office.call("files", "write_file", 200_000);
            office.makes(&call, &[], Status::Success)
        },
        "200000 bytes are sent where 300 are usual for this caller",
    );
    check(
        |office| {
            office.does("files", "write_file");
            office.does("files", "write_file")
        },
        "`files:write_file` never came after the tool before it for this caller",
    );
    check(
        |office| {
            let mut said = None;
            for _ in 0..9 {
                let call = office.call("files", "read_file", 300);
                said = office.makes(&call, &[], Status::Error);
                office.now += MINUTE;
            }
            said
        },
        "8 of the last 16 calls failed where 0 do usually for this caller",
    );
    check(
        |office| {
            office.now -= 7 * 60 * MINUTE;
            office.does("files", "read_file")
        },
        "it is 02:00 UTC, when there are hardly any calls for this caller",
    );
    check(
        |office| {
            let call = office.call("files", "read_file", 300);
            let outcome = Outcome {
                body: Bytes::from(vec![b'x'; 500_000]),
                status: Status::Success,
                took: Duration::ZERO,
            };
            office.behaviour.learn(&call, &outcome, Wall(office.now))
        },
        "500000 bytes came back where 2 are usual for this caller",
    );
}

#[test]
fn thresholds_say_what_follows() {
    let check = |settings: &str, expect: Option<Action>| {
        let mut office = Office::new(settings);
        office.works(8);
        let mut call = office.call("chat", "post_message", 300);
        call.session.id = Id128(7);
        let said = office.makes(&call, &["drop.example"], Status::Success);
        assert_eq!(said.as_ref().map(|one| one.wants), expect, "{settings}");
        if let Some(said) = said {
            assert_eq!(said.threat, Threat::AnomalousBehavior);
            assert_eq!(said.tier, Tier::Risk);
        }
    };
    check("{}", Some(Action::Ask));
    check(r#"{"alarm_at":0}"#, Some(Action::Allow));
    check(r#"{"deny_at":60}"#, Some(Action::Deny));
    check(r#"{"tag_at":0,"alarm_at":0}"#, None);
    check(r#"{"tag_at":100,"alarm_at":100}"#, None);
    check(r#"{"learning_calls":100000}"#, None);
    check(r#"{"learning_time":"300h"}"#, None);
}

#[test]
fn what_was_not_allowed_teaches_nothing() {
    let mut office = Office::new("{}");
    office.works(8);
    for _ in 0..100 {
        let call = office.call("chat", "post_message", 300);
        let now = Wall(office.now);
        office.behaviour.count(&call, now);
        let said = office.behaviour.judge(&call, &["drop.example".into()], now);
        assert!(words(said.as_ref()).contains("drop.example"));
        office.behaviour.release(call.id);
        office.now += MINUTE;
    }
    assert!(office.behaviour.book.lock().pending.is_empty());
}

#[test]
fn a_flood_of_new_things_does_not_become_usual_at_once() {
    let mut office = Office::new(r#"{"new_per_day":2}"#);
    office.works(8);
    let (mut days, tools) = (Vec::new(), 0..12);
    for _ in 0..4 {
        for _ in 0..5 {
            for tool in tools.clone() {
                office.does("files", &format!("odd{tool}"));
            }
            office.now += 2 * MINUTE;
        }
        let call = |tool| office.call("files", &format!("odd{tool}"), 300);
        let calls: Vec<_> = tools.clone().map(call).collect();
        let behaviour = &office.behaviour;
        let new = calls
            .iter()
            .filter(|call| {
                let said = behaviour.judge(call, &[], Wall(office.now));
                words(said.as_ref()).contains("which is new")
            })
            .count();
        days.push(new);
        office.now += DAY;
    }
    assert_eq!(days, [10, 8, 6, 4]);
}

#[test]
fn hundreds_of_new_things_do_not_hide_the_next() {
    let mut office = Office::new(r#"{"new_per_day":2,"tag_at":5}"#);
    for _ in 0..300 {
        let call = office.call("files", "read_file", 300);
        office.makes(&call, &["home.example"], Status::Success);
        office.now += MINUTE;
    }
    office.works(8);
    for number in 0..600 {
        let call = office.call("files", "read_file", 300);
        let host = format!("flood{number}.example");
        office.makes(&call, &[&host], Status::Success);
        office.does("files", &format!("flood{number}"));
        office.now += MINUTE;
    }
    let call = office.call("files", "read_file", 300);
    let said = office.makes(&call, &["mallory.example"], Status::Success);
    let said = words(said.as_ref());
    assert!(said.contains("`mallory.example`, which is new"), "{said}");
    let said = office.does("files", "wipe");
    assert!(words(said.as_ref()).contains("wipe`, which is new"));
}

#[test]
fn habits_are_taken_up_again() {
    let mut office = Office::new("{}");
    office.works(8);
    let kept = office.behaviour.book.changed(Wall(office.now));
    assert!(office.behaviour.book.changed(Wall(office.now)).is_empty());
    let mut subjects: Vec<_> = kept.iter().map(|one| &*one.subject).collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["owner/owner", "upstream/files"]);

    let mut again = Office::new("{}");
    again.now = office.now;
    let mut kept = kept;
    kept.push(Habits {
        subject: "agent/x".into(),
        learned: r#"{"feelings":1}"#.into(),
        at: Wall(0),
    });
    assert_eq!(again.behaviour.book.take(kept), ["agent/x".into()]);
    assert_eq!(again.works(1), 0);
    let said = again.does("files", "delete_all");
    assert!(words(said.as_ref()).contains("which is new"));
}

#[test]
fn everything_is_bounded() {
    let mut office = Office::new("{}");
    for number in 0..3000_u32 {
        let mut call = office.call("files", &format!("tool{number}"), 300);
        call.session.id = Id128(number.into());
        call.who = Principal {
            kind: PrincipalKind::Agent,
            name: number.to_string().into(),
            claims: None,
        };
        let host = format!("host{number}.example");
        office.makes(&call, &[&host], Status::Success);
    }
    let (callers, size) = {
        let state = office.behaviour.book.lock();
        let files = &state.upstreams[&UpstreamId::new("files")];
        let size = serde_json::to_string(files).unwrap().len();
        (state.callers.len(), size)
    };
    assert_eq!(callers, MOST);
    assert!(size < 200_000, "{size}");
    // Whoever rested for a week makes room.
    office.now += 9 * DAY;
    let mut call = office.call("files", "read_file", 300);
    call.who.name = "new".into();
    office.makes(&call, &[], Status::Success);
    let state = office.behaviour.book.lock();
    assert_eq!(state.callers.len(), MOST);
    assert!(state.callers.contains_key(&call.who));
}

#[test]
fn what_one_gateway_learned_is_unusual_or_not_at_another() {
    let settings = r#"{"learning_calls":40,"learning_time":"0s","tag_at":20}"#;
    for shared in [false, true] {
        let (mut one, mut other) = (Office::new(settings), Office::new(settings));
        one.behaviour.book.share();
        for _ in 0..60 {
            one.now += MINUTE;
            other.now = one.now;
            one.does("files", "read");
            let told = one.behaviour.book.untold().unwrap();
            assert!(one.behaviour.book.untold().is_none());
            if shared {
                other.behaviour.fold(&told, Wall(other.now));
            }
        }
        // Who was not told to share keeps nothing for others.
        assert!(other.behaviour.book.untold().is_none());
        assert!(other.does("files", "read").is_none(), "{shared}");
        assert_eq!(other.does("files", "wipe").is_some(), shared);
        // Calls through both are one flood.
        for _ in 0..30 {
            let call = one.call("files", "read", 300);
            one.behaviour.count(&call, Wall(one.now));
        }
        let told = one.behaviour.book.untold().unwrap();
        if shared {
            other.behaviour.fold(&told, Wall(other.now));
        }
        let flood = other.does("files", "read");
        assert_eq!(flood.is_some(), shared, "{flood:?}");
        other.behaviour.fold(b"what is this", Wall(other.now));
    }
}
