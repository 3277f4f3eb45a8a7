//! Which announcement belongs to which call, and that no two conversations are ever crossed.

use serde_json::json;

use super::*;

fn hook(number: u128) -> SessionKey {
    SessionKey {
        basis: SessionBasis::Hook,
        id: Id128(number),
    }
}

fn session(number: u128) -> SessionKey {
    SessionKey {
        basis: SessionBasis::McpSession,
        id: Id128(number),
    }
}

fn arrival(session: SessionKey) -> Arrival<'static> {
    Arrival {
        session,
        scope: FlowScope(Id128(0)),
        is_owners: true,
        connection: None,
        tool_use: None,
    }
}

fn at(millis: u64) -> Tick {
    Tick(Duration::from_millis(millis))
}

fn expect(correlator: &Correlator, of: SessionKey, arguments: &Value, now: u64) {
    let print = Fingerprint::of("call_tool_read", arguments);
    correlator.expect(by(of), print, None, at(now + 5000), at(now));
}

fn by(hook: SessionKey) -> Announcer {
    Announcer {
        hook,
        home: None,
        reach: Reach::Owner,
    }
}

fn came(
    correlator: &Correlator,
    arrival: Arrival<'_>,
    arguments: &Value,
    now: u64,
) -> Option<SessionKey> {
    let print = Fingerprint::of("call_tool_read", arguments);
    let found = correlator.arrived(arrival, Some(print), at(now)).linked;
    found.map(|linked| linked.hook)
}

#[test]
fn arguments_are_the_same_however_they_are_written() {
    let check = |one: &str, other: &str, same: bool| {
        let print = |text| Fingerprint::of("t", &serde_json::from_str(text).unwrap());
        assert_eq!(print(one) == print(other), same, "{one} {other}");
    };
    check(
        r#"{"a":1,"b":[true,null]}"#,
        r#"{ "b": [true, null], "a": 1.0 }"#,
        true,
    );
    check(r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#, true);
    check(r#"{"a":0}"#, r#"{"a":-0.0}"#, true);
    check(r#"{"a":1}"#, r#"{"a":"1"}"#, false);
    check(r#"{"a":["b","c"]}"#, r#"{"a":["c","b"]}"#, false);
    check(r#"{"a":["bc"]}"#, r#"{"a":["b","c"]}"#, false);
    check(r#"{"a":{}}"#, r#"{"a":[]}"#, false);
    assert_ne!(
        Fingerprint::of("a", &json!({})),
        Fingerprint::of("b", &json!({}))
    );
}

#[test]
fn a_session_is_linked_for_good_and_an_announcement_counts_once() {
    let correlator = Correlator::default();
    let arguments = json!({ "name": "github:get_file", "args": { "path": "x" } });
    expect(&correlator, hook(1), &arguments, 0);
    assert_eq!(
        came(&correlator, arrival(session(7)), &arguments, 50),
        Some(hook(1))
    );
    // Used up: another session with the same call is nobody's.
    assert_eq!(came(&correlator, arrival(session(8)), &arguments, 60), None);
    // Linked for good, whatever comes, and another hook's announcement changes nothing.
    assert_eq!(
        came(&correlator, arrival(session(7)), &json!({}), 70),
        Some(hook(1))
    );
    expect(&correlator, hook(2), &json!({ "other": 1 }), 80);
    assert_eq!(
        came(&correlator, arrival(session(7)), &json!({ "other": 1 }), 90),
        Some(hook(1))
    );
    assert_eq!(correlator.hook_of(session(7)), Some(hook(1)));
    correlator.forget(session(7));
    assert_eq!(correlator.hook_of(session(7)), None);
}

#[test]
fn an_announcement_lapses() {
    let correlator = Correlator::default();
    expect(&correlator, hook(1), &json!({}), 0);
    assert_eq!(
        came(&correlator, arrival(session(7)), &json!({}), 5001),
        None
    );
    assert!(correlator.is_idle());
}

#[test]
fn what_two_conversations_announced_links_nobody() {
    let correlator = Correlator::default();
    expect(&correlator, hook(1), &json!({}), 0);
    expect(&correlator, hook(2), &json!({}), 10);
    assert_eq!(came(&correlator, arrival(session(7)), &json!({}), 20), None);
    assert_eq!(came(&correlator, arrival(session(8)), &json!({}), 30), None);
    // The same conversation may announce the same twice.
    expect(&correlator, hook(3), &json!({ "a": 1 }), 40);
    expect(&correlator, hook(3), &json!({ "a": 1 }), 50);
    assert_eq!(
        came(&correlator, arrival(session(9)), &json!({ "a": 1 }), 60),
        Some(hook(3))
    );
}

#[test]
fn a_call_that_comes_late_is_not_taken_for_that_of_another_conversation() {
    let correlator = Correlator::default();
    expect(&correlator, hook(1), &json!({}), 0);
    expect(&correlator, hook(2), &json!({}), 4500);
    // The first one's call comes when its announcement has lapsed: nobody is linked, nor later.
    for (number, when) in [(7, 6000), (8, 6100)] {
        let found = came(&correlator, arrival(session(number)), &json!({}), when);
        assert_eq!(found, None, "{number}");
    }
    // Not for ever: a call that has not come by then is not reckoned with.
    expect(&correlator, hook(3), &json!({}), 69_499);
    let found = came(&correlator, arrival(session(9)), &json!({}), 69_500);
    assert_eq!(found, None, "the second still stands against it");
    expect(&correlator, hook(4), &json!({ "a": 1 }), 70_000);
    expect(&correlator, hook(5), &json!({ "a": 1 }), 135_001);
    let found = came(
        &correlator,
        arrival(session(10)),
        &json!({ "a": 1 }),
        135_002,
    );
    assert_eq!(found, Some(hook(5)));
}

#[test]
fn what_is_left_of_an_ambiguous_call_is_nobodys() {
    let correlator = Correlator::default();
    expect(&correlator, hook(1), &json!({}), 0);
    expect(&correlator, hook(2), &json!({}), 10);
    assert_eq!(came(&correlator, arrival(session(7)), &json!({}), 20), None);
    // The first is told apart by another call, and makes the same one again.
    expect(&correlator, hook(1), &json!({ "a": 1 }), 30);
    let found = came(&correlator, arrival(session(7)), &json!({ "a": 1 }), 40);
    assert_eq!(found, Some(hook(1)));
    let found = came(&correlator, arrival(session(7)), &json!({}), 50);
    assert_eq!(found, Some(hook(1)));
    // The second's announcement is left over; a stranger does not get it.
    assert_eq!(came(&correlator, arrival(session(9)), &json!({}), 60), None);
    // What the second announces from now on counts.
    expect(&correlator, hook(2), &json!({}), 70);
    let found = came(&correlator, arrival(session(8)), &json!({}), 80);
    assert_eq!(found, Some(hook(2)));
}

#[test]
fn only_sessions_in_reach_of_an_announcement_are_linked() {
    let print = Fingerprint::of("t", &json!({}));
    let check = |reach: Reach, scope: u128, is_owners: bool, linked: bool| {
        let correlator = Correlator::default();
        let announcer = Announcer {
            reach,
            ..by(hook(1))
        };
        correlator.expect(announcer, print, None, at(5000), at(0));
        let arrival = Arrival {
            scope: FlowScope(Id128(scope)),
            is_owners,
            ..arrival(session(7))
        };
        let found = correlator.arrived(arrival, Some(print), at(1)).linked;
        assert_eq!(found.is_some(), linked, "{reach:?} {scope} {is_owners}");
    };
    let only = Reach::Only(FlowScope(Id128(5)));
    check(only, 5, true, true);
    check(only, 5, false, true);
    check(only, 6, true, false);
    check(Reach::Owner, 5, true, true);
    check(Reach::Owner, 5, false, false);
}

#[test]
fn an_announcement_out_of_reach_stands_against_nobody() {
    let correlator = Correlator::default();
    let print = Fingerprint::of("call_tool_read", &json!({}));
    let foreign = Announcer {
        reach: Reach::Only(FlowScope(Id128(5))),
        ..by(hook(2))
    };
    correlator.expect(foreign, print, None, at(5000), at(0));
    expect(&correlator, hook(1), &json!({}), 0);
    let found = came(&correlator, arrival(session(7)), &json!({}), 1);
    assert_eq!(found, Some(hook(1)));
}

#[test]
fn the_agents_own_name_for_a_use_tells_them_apart() {
    let correlator = Correlator::default();
    let print = Fingerprint::of("t", &json!({}));
    for (number, name) in [(1, "toolu_1"), (2, "toolu_2")] {
        correlator.expect(by(hook(number)), print, Some(name), at(5000), at(0));
    }
    let come = |of: u128, name: &'static str| {
        let arrival = Arrival {
            tool_use: Some(name),
            ..arrival(session(of))
        };
        let found = correlator.arrived(arrival, Some(print), at(1)).linked;
        found.map(|linked| linked.hook)
    };
    assert_eq!(come(8, "toolu_2"), Some(hook(2)));
    assert_eq!(come(9, "toolu_9"), None);
    assert_eq!(come(7, "toolu_1"), Some(hook(1)));
}

#[test]
fn callers_that_share_a_credential_are_told_apart_by_their_connections() {
    let correlator = Correlator::default();
    let shared = SessionKey {
        basis: SessionBasis::Credential,
        id: Id128(5),
    };
    let over = |connection| Arrival {
        connection: Some(connection),
        ..arrival(shared)
    };
    expect(&correlator, hook(1), &json!({ "a": 1 }), 0);
    expect(&correlator, hook(2), &json!({ "b": 1 }), 0);
    let print = |value: &Value| Some(Fingerprint::of("call_tool_read", value));
    let first = correlator
        .arrived(over(1), print(&json!({ "a": 1 })), at(1))
        .linked;
    let second = correlator
        .arrived(over(2), print(&json!({ "b": 1 })), at(2))
        .linked;
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((first.hook, second.hook), (hook(1), hook(2)));
    assert_ne!(first.session, second.session);
    assert_eq!(correlator.hook_of(first.session), Some(hook(1)));
    assert_eq!(correlator.hook_of(shared), None);
    // Linked for good, connection by connection; a third one is nobody's.
    let again = correlator.arrived(over(1), None, at(9000)).linked.unwrap();
    assert_eq!((again.session, again.new), (first.session, false));
    assert_eq!(correlator.arrived(over(3), None, at(9000)).linked, None);
}

#[test]
fn bounds_hold_and_one_conversation_cannot_push_another_out() {
    let correlator = Correlator::default();
    expect(&correlator, hook(1), &json!({ "mine": 1 }), 0);
    for number in 0..10_000 {
        expect(&correlator, hook(2), &json!({ "n": number }), 1);
    }
    assert_eq!(correlator.table().pending.len(), MOST_EACH + 1);
    assert_eq!(
        came(&correlator, arrival(session(7)), &json!({ "mine": 1 }), 2),
        Some(hook(1))
    );
    for number in 0..20_000 {
        correlator.table().link(session(number), hook(3));
    }
    assert_eq!(correlator.table().links.len(), MOST_LINKS);
}

/// SC-005: 1,000 pairs in 8 conversations at once. Each pair is a session of its own, so that each
/// must be recognized by itself; now and then two conversations make the same call.
#[test]
fn sc_005_pairs_are_linked_and_none_is_crossed() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut events = Vec::new();
    for pair in 0..1000_u64 {
        let announced = pair * 5 + draw(40);
        let arrives = announced + 1 + draw(300);
        let arguments = if pair % 250 == 7 {
            json!({ "name": "github:list_files", "args": {} })
        } else {
            json!({ "name": "github:get_file", "args": { "path": format!("src/{pair}.rs") } })
        };
        events.push((announced, pair, false, arguments.clone()));
        events.push((arrives, pair, true, arguments));
    }
    events.sort_by_key(|(when, pair, arrives, _)| (*when, *arrives, *pair));
    let correlator = Correlator::default();
    let (mut linked, mut crossed) = (0, 0);
    for (when, pair, arrives, arguments) in events {
        let of = hook(u128::from(pair % 8));
        if !arrives {
            expect(&correlator, of, &arguments, when);
            continue;
        }
        match came(
            &correlator,
            arrival(session(1000 + u128::from(pair))),
            &arguments,
            when,
        ) {
            Some(found) if found == of => linked += 1,
            Some(_) => crossed += 1,
            None => {}
        }
    }
    assert_eq!(crossed, 0);
    assert!(linked >= 990, "{linked} of 1000");
}

#[test]
fn what_came_by_another_gateway_is_not_waited_for() {
    let correlator = Correlator::default();
    let print = Fingerprint::of("call_tool_read", &json!({}));
    assert_eq!(Fingerprint::from_id(print.id()), print);
    let home = Some(FlowScope(Id128(7)));
    let elsewhere = Announcer {
        home,
        ..by(hook(1))
    };
    correlator.expect(elsewhere, print, None, at(5000), at(0));
    correlator.expect(elsewhere, print, None, at(5000), at(0));
    correlator.withdraw(hook(1), print);
    let found = correlator
        .arrived(arrival(session(1)), Some(print), at(1))
        .linked;
    let found = found.unwrap();
    assert_eq!(
        (found.hook, found.home, found.used),
        (hook(1), home, Some(print))
    );
    correlator.withdraw(hook(1), print);
    let other = correlator
        .arrived(arrival(session(2)), Some(print), at(2))
        .linked;
    assert_eq!(other, None, "it was used up");
}

/// Who is linked at a second gateway by a call that two hooks announced and that came by the first,
/// and what then comes by the second.
#[test]
fn what_two_announced_is_good_for_nobody_at_another_gateway_either() {
    let print = Fingerprint::of("call_tool_read", &json!({}));
    let check = |told: bool, expect: Option<SessionKey>| {
        let gateways = [Correlator::default(), Correlator::default()];
        for gateway in &gateways {
            for (number, name) in [(1, "toolu_1"), (2, "toolu_2")] {
                gateway.expect(by(hook(number)), print, Some(name), at(5000), at(0));
            }
        }
        let [here, there] = gateways;
        let came = here.arrived(arrival(session(7)), Some(print), at(1));
        assert_eq!(
            (came.linked, came.spoiled.as_slice()),
            (None, &[hook(1), hook(2)][..])
        );
        if told {
            there.spoil(&came.spoiled, print);
        }
        let named = Arrival {
            tool_use: Some("toolu_1"),
            ..arrival(session(8))
        };
        there.arrived(named, Some(print), at(2));
        // The second hook's call may be the one that came first: this one may be anybody's.
        let found = there.arrived(arrival(session(9)), Some(print), at(3));
        assert_eq!(found.linked.map(|linked| linked.hook), expect, "{told}");
    };
    check(false, Some(hook(2)));
    check(true, None);
}
