//! Whose data it is, how long it is remembered, and within which bounds.

use std::fmt::Write as _;
use std::sync::Arc;

use mcpproxy_core::Likeness;

use super::*;

#[test]
fn secrets_follow_the_principal_and_text_its_session() {
    let check = |scope: Scope, link: bool, text: &str, expect: Option<Weight>| {
        let settings = FlowTracking {
            scope,
            ..FlowTracking::default()
        };
        let desk = Desk::with(&settings);
        desk.read(PROSE)
            .read_secret(&env_file(), KEY, Nature::Secret);
        if link {
            desk.tracker.link(session(ME), session(2));
        }
        let evidence = desk.send_as(whose(ME, 2), "slack", &message(text), true);
        assert_eq!(weight(&evidence), expect, "{scope:?} {link}");
    };
    check(Scope::Principal, false, KEY, Some(Weight::Sensitive));
    check(Scope::Principal, false, PROSE, None);
    check(Scope::Principal, true, PROSE, Some(Weight::Notable));
    check(Scope::Session, false, KEY, None);
    check(Scope::Session, true, KEY, Some(Weight::Sensitive));
    // Another principal sees nothing, unless its session is the same conversation.
    let desk = Desk::new();
    desk.read(PROSE)
        .read_secret(&env_file(), KEY, Nature::Secret);
    assert_eq!(
        weight(&desk.send_as(whose(9, 9), "slack", &message(KEY), true)),
        None
    );
    desk.tracker.link(session(9), session(ME));
    let evidence = desk.send_as(whose(9, 9), "slack", &message(KEY), true);
    assert_eq!(weight(&evidence), Some(Weight::Sensitive));
    assert!(evidence.taint.private);
}

#[test]
fn a_session_is_bounded_and_says_so() {
    let settings = FlowTracking {
        max_origins_per_session: 3,
        ..FlowTracking::default()
    };
    let desk = Desk::with(&settings);
    desk.read(PROSE);
    for n in 0..2_u64 {
        desk.read(&format!("filler number {}", crate::roll::scramble(n)));
    }
    let evidence = desk.send(&message(PROSE));
    assert_eq!(
        (weight(&evidence), evidence.reduced),
        (Some(Weight::Notable), vec![])
    );
    desk.read("one more that pushes the first out");
    let evidence = desk.send(&message(PROSE));
    assert_eq!(
        (weight(&evidence), evidence.reduced),
        (None, vec![Reduced::Evicted])
    );
    assert_eq!(desk.tracker.usage().origins, 3);
}

#[test]
fn sessions_end_and_are_summed_up() {
    let desk = Desk::new();
    desk.read(PROSE).send(&message(PROSE));
    let view = desk.tracker.session(session(ME)).unwrap();
    // Regression for #8: what the agent said was listed as an origin, which it is not counted as.
    assert_eq!((view.origins.len(), view.edges.len()), (1, 1));
    assert_eq!((view.summary.origins, view.summary.edges), (1, 1));
    assert_eq!(&*view.edges[0].to, "slack");
    assert!(
        desk.tracker
            .expire(Tick(Duration::from_mins(29)))
            .is_empty()
    );
    let ended = desk.tracker.expire(Tick(Duration::from_mins(30)));
    let [summary] = ended.as_slice() else {
        panic!("{ended:?}");
    };
    assert_eq!((summary.origins, summary.edges), (1, 1));
    assert_eq!(summary.tools, ["files:read", "slack:read"]);
    assert!(summary.taint.is_lethal() == summary.taint.untrusted);
    assert!(desk.tracker.session(session(ME)).is_none());
    assert_eq!(desk.tracker.usage().scopes, 0);
    assert_eq!(weight(&desk.send(&message(PROSE))), None);
    assert_eq!(desk.tracker.finish().len(), 1);
}

/// Regression for #8: what a conversation moved stood under one of its sessions alone.
#[test]
fn a_conversation_is_seen_from_each_of_its_sessions() {
    let desk = Desk::new();
    desk.read(PROSE);
    desk.tracker.link(session(ME), session(2));
    desk.send_as(whose(ME, 2), "slack", &message(PROSE), true);
    let check = |from: u128, expect: &[u128]| {
        let views = desk.tracker.views(session(from));
        let sessions: Vec<_> = views.iter().map(|view| view.whose.session.id.0).collect();
        assert_eq!(sessions, expect, "{from}");
        let [origins, edges] = views.iter().fold([0, 0], |[origins, edges], view| {
            [origins + view.origins.len(), edges + view.edges.len()]
        });
        assert_eq!((origins, edges), (1, 1), "{from}");
    };
    check(ME, &[ME, 2]);
    check(2, &[2, ME]);
    assert!(desk.tracker.views(session(3)).is_empty());
}

#[test]
fn a_session_that_ended_before_its_question_was_answered_stays_ended() {
    let desk = Desk::new();
    let me = whose(ME, ME);
    let later = Tick(Duration::from_mins(40));
    check(&desk.tracker, me, 7, "slack", &message(PROSE), NOW);
    assert_eq!(desk.tracker.expire(later).len(), 1);
    desk.tracker
        .settle(me, CallId::new(7, 0), Fate::Left, later);
    assert!(desk.tracker.session(session(ME)).is_none());
    assert_eq!(desk.tracker.usage().sessions, 0);
}

#[test]
fn legs_sends_and_denials_are_counted() {
    let desk = Desk::new();
    let me = whose(ME, ME);
    assert_eq!(desk.tracker.taint(me), Taint::default());
    desk.read(PROSE);
    desk.read_as(me, Side::Outside, "web", "words", &[]);
    desk.tracker.mark(
        me,
        Taint {
            outside: true,
            ..Taint::default()
        },
        NOW,
    );
    assert!(desk.tracker.taint(me).is_lethal());
    desk.send_as(me, "slack", "left", true);
    desk.send_as(me, "slack", "denied", false);
    // The call that asks counts, too.
    let recent = desk.asked("slack", NOW).recent;
    assert_eq!((recent.outside_calls, recent.outside_bytes), (2, 4));
    let recent = desk.asked("slack", Tick(Duration::from_mins(2))).recent;
    assert_eq!((recent.outside_calls, recent.outside_bytes), (1, 4));
    let slack = to("slack", Sink::Outside);
    desk.tracker.note_denied(me, NOW);
    desk.tracker.note_unjustified(me, &slack, NOW);
    let history = desk.asked("slack", NOW).history;
    assert!(history.denials == 1 && history.unjustified);
    assert!(!desk.asked("other", NOW).history.unjustified);
    desk.tracker.note_justified(me, &slack, NOW);
    assert!(!desk.asked("slack", NOW).history.unjustified);
}

#[test]
fn the_text_of_a_scope_that_rests_makes_room() {
    let desk = Desk {
        tracker: Tracker::bounded(&FlowTracking::default(), 300_000),
        calls: std::cell::Cell::new(1),
    };
    let noise = |from: u64| -> String {
        (from..from + 2000).fold(String::new(), |mut text, n| {
            write!(text, "{:x} ", crate::roll::scramble(n)).unwrap();
            text
        })
    };
    desk.read_secret(&noise(0), KEY, Nature::Secret);
    desk.read_as(whose(2, 2), Side::Inside, "files", &noise(9000), &[]);
    desk.read_as(whose(3, 3), Side::Inside, "files", &noise(90_000), &[]);
    let evidence = desk.send(&message(&noise(0)));
    assert!(evidence.reduced.contains(&Reduced::Evicted));
    assert!(
        evidence
            .matches
            .iter()
            .all(|one| one.how != Likeness::Fragment)
    );
    assert_eq!(weight(&desk.send(&message(KEY))), Some(Weight::Sensitive));
}

#[test]
fn nothing_is_followed_where_that_is_switched_off() {
    let off = FlowTracking {
        enabled: false,
        ..FlowTracking::default()
    };
    let desk = Desk::with(&off);
    desk.read(PROSE);
    assert_eq!(desk.send(&message(PROSE)), FlowEvidence::default());
    desk.tracker.reload(&FlowTracking::default());
    desk.read(PROSE);
    assert_eq!(weight(&desk.send(&message(PROSE))), Some(Weight::Notable));
}

#[test]
fn many_threads_share_a_tracker() {
    let desk = Arc::new(Tracker::new(&FlowTracking::default()));
    std::thread::scope(|scope| {
        for n in 0..8_u64 {
            let tracker = Arc::clone(&desk);
            scope.spawn(move || {
                let me = whose(u128::from(n % 2), u128::from(n));
                for call in 0..20 {
                    let json = format!("{PROSE} {n} {call}");
                    let content = Content {
                        json: &json,
                        marked: &[],
                    };
                    tracker.record(me, origin(call, Side::Inside, "files"), &content, NOW);
                    let number = 1000 * n + call;
                    let evidence = check(&tracker, me, number, "slack", &json, NOW).evidence;
                    assert_eq!(weight(&evidence), Some(Weight::Notable));
                    tracker.settle(me, CallId::new(number, 0), Fate::Left, NOW);
                }
            });
        }
    });
    assert_eq!(desk.usage().sessions, 8);
}

/// The plain matcher: a run of both folded texts, forwards.
#[test]
fn sessions_of_a_principal_are_bounded_and_none_ends_unsaid() {
    let tracker = Tracker::new(&FlowTracking::default());
    for number in 0..5000_u64 {
        let whose = whose(1, u128::from(number));
        let content = Content {
            json: "a short answer",
            marked: &[],
        };
        let origin = origin(number, Side::Inside, "github");
        tracker.record(whose, origin, &content, Tick(Duration::from_millis(number)));
    }
    assert_eq!(tracker.usage().sessions, 4096);
    assert!(tracker.session(session(0)).is_none(), "the oldest went");
    assert!(tracker.session(session(4999)).is_some());
    assert_eq!(tracker.finish().len(), 5000);
}
