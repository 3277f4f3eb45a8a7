//! Calls at given moments, and which of them are too much.

use mcpproxy_core::{Charged, Id128, Limit as Shared, Principal, ToolName};
use mcpproxy_testkit::samples;

use super::*;

fn at(millis: u64) -> Tick {
    Tick(Duration::from_millis(millis))
}

fn call(number: u64) -> Call {
    let mut call = samples::call();
    call.id = CallId::new(1, number.into());
    call.wire.raw = r#"{"params":{"arguments":{"a":1}}}"#.into();
    call
}

fn settings(yaml: &str) -> Settings {
    serde_json::from_str(yaml).unwrap()
}

#[test]
fn calls_come_at_the_rate_and_in_bursts() {
    let check = |limit: &str, moments: &[u64], expect: &str| {
        let abuse = Abuse::new(settings(limit));
        let mut given = String::new();
        for (number, moment) in (0..).zip(moments) {
            let refused = abuse.admit(&call(number), at(*moment)).is_some();
            given.push(if refused { '-' } else { '+' });
            abuse.release(call(number).id);
        }
        assert_eq!(given, expect, "{limit}");
    };
    let one_a_second = r#"{"per_principal":{"calls_per_minute":60,"burst":2}}"#;
    check(one_a_second, &[0, 0, 0, 999, 1000, 1001], "++--+-");
    check(one_a_second, &[0, 60_000, 60_000, 60_000], "+++-");
    let ten_seconds = r#"{"per_tool":{"calls_per_minute":60}}"#;
    check(ten_seconds, &[0; 11], "++++++++++-");
    let few = r#"{"per_tool":{"calls_per_minute":12}}"#;
    check(few, &[0, 0, 0, 0, 0, 0, 5000], "+++++-+");
    let fewer = r#"{"per_tool":{"calls_per_minute":3}}"#;
    check(fewer, &[0, 0, 0, 0, 20_000], "+++-+");
    // A call costs as much as the configuration says, and one that costs more than there ever is
    // passes when nothing else was taken.
    let dear =
        r#"{"per_server":{"calls_per_minute":60,"burst":5},"costs":{"slack:post_message":4}}"#;
    check(dear, &[0, 0, 3000], "+-+");
    let dearer =
        r#"{"per_server":{"calls_per_minute":60,"burst":5},"costs":{"slack:post_message":9}}"#;
    check(dearer, &[0, 5000, 9000], "+-+");
    // The body of a call is 32 bytes.
    let bytes = r#"{"per_session":{"bytes_per_minute":80}}"#;
    check(bytes, &[0, 0, 0, 24_000], "++-+");
    check(
        r#"{"repeats_per_minute":3}"#,
        &[0, 0, 0, 0, 20_000],
        "+++-+",
    );
    check("{}", &[0; 100], &"+".repeat(100));
}

#[test]
fn every_limit_is_of_its_own() {
    let check = |limit: &str, change: fn(&mut Call), apart: bool| {
        let abuse = Abuse::new(settings(limit));
        assert!(abuse.admit(&call(1), at(0)).is_none());
        assert!(abuse.admit(&call(2), at(0)).is_some(), "{limit}");
        let mut other = call(3);
        change(&mut other);
        assert_eq!(abuse.admit(&other, at(0)).is_none(), apart, "{limit}");
    };
    let limit = |of: &str| format!(r#"{{"{of}":{{"calls_per_minute":1,"burst":1}}}}"#);
    let by_another = |call: &mut Call| {
        call.who = Principal::agent("owner");
    };
    let elsewhere = |call: &mut Call| call.session.id = Id128(2);
    let other_tool = |call: &mut Call| call.tool.tool = ToolName::new("get_channel");
    let other_words = |call: &mut Call| call.wire.raw = r#"{"params":{"arguments":{}}}"#.into();
    check(&limit("per_principal"), by_another, true);
    check(&limit("per_principal"), elsewhere, false);
    check(&limit("per_session"), elsewhere, true);
    check(&limit("per_session"), other_tool, false);
    check(&limit("per_tool"), other_tool, true);
    check(&limit("per_tool"), by_another, false);
    check(&limit("per_server"), other_tool, false);
    check(r#"{"repeats_per_minute":1}"#, other_words, true);
    check(r#"{"repeats_per_minute":1}"#, by_another, true);
    check(r#"{"repeats_per_minute":1}"#, elsewhere, false);
}

#[test]
fn the_same_call_is_the_same_however_it_is_written() {
    let check = |first: &str, again: &str, same: bool| {
        let abuse = Abuse::new(settings(r#"{"repeats_per_minute":1}"#));
        let said = |number, arguments: &str| {
            let mut call = call(number);
            call.wire.raw = format!(r#"{{"params":{{"arguments":{arguments}}}}}"#).into();
            call
        };
        let named = |call: &Call| {
            let bill = abuse.bill(call, at(0)).unwrap();
            bill.charge.limits.first().unwrap().0.clone()
        };
        let (first, again) = (said(1, first), said(2, again));
        assert_eq!(named(&first) == named(&again), same, "{again:?}");
        assert!(abuse.admit(&first, at(0)).is_none());
        assert_eq!(abuse.admit(&again, at(0)).is_some(), same, "{again:?}");
    };
    let call = r#"{"path":"abc","n":1}"#;
    check(call, call, true);
    check(call, r#"{ "path" :  "abc","n":1 }"#, true);
    check(call, r#"{"n":1,"path":"abc"}"#, true);
    check(call, r#"{"path":"\u0061bc","n":1.0}"#, true);
    check(call, r#"{"path":"abd","n":1}"#, false);
    check(call, r#"{"path":"abc","n":2}"#, false);
    check(call, r#"{"path":"abc"}"#, false);
    check(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false);
}

#[test]
fn as_many_are_under_way_as_the_limit_says() {
    let abuse = Abuse::new(settings(r#"{"per_tool":{"concurrent":2}}"#));
    assert!(abuse.admit(&call(1), at(0)).is_none());
    assert!(abuse.admit(&call(2), at(0)).is_none());
    let refused = abuse.admit(&call(3), at(0)).unwrap();
    assert_eq!(
        refused.reason.as_str(),
        "More than 2 calls of this tool at the same time: try again when one is over."
    );
    abuse.release(call(3).id);
    assert!(
        abuse.admit(&call(4), at(0)).is_some(),
        "a refused call frees nothing"
    );
    abuse.release(call(1).id);
    abuse.release(call(1).id);
    assert!(abuse.admit(&call(5), at(0)).is_none());
    assert!(
        abuse.admit(&call(6), at(0)).is_some(),
        "a call is over once"
    );
}

#[test]
fn a_refusal_says_when_to_try_again_and_charges_nothing() {
    let limits = r#"{"per_session":{"calls_per_minute":60,"burst":9},"per_tool":{"calls_per_minute":6,"burst":1}}"#;
    let abuse = Abuse::new(settings(limits));
    assert!(abuse.admit(&call(0), at(0)).is_none());
    for number in 1..50 {
        let refused = abuse.admit(&call(number), at(0)).unwrap();
        assert_eq!(
            refused.reason.as_str(),
            "Too many calls of this tool: try again in 11 s."
        );
        assert_eq!(refused.retry_after, Some(11));
        assert_eq!(refused.threat, Threat::RateLimitExceeded);
    }
    let mut other = call(50);
    other.tool.tool = ToolName::new("get_channel");
    assert!(
        abuse.admit(&other, at(0)).is_none(),
        "the session was not charged"
    );
}

#[test]
fn past_the_bound_whoever_is_new_shares() {
    let abuse = Abuse::new(settings(
        r#"{"per_session":{"calls_per_minute":2,"burst":1}}"#,
    ));
    let of = |session: u64| {
        let mut call = call(session);
        call.session.id = Id128(session.into());
        call
    };
    let most = MOST as u64;
    for session in 0..most {
        assert!(abuse.admit(&of(session), at(0)).is_none());
    }
    assert!(abuse.admit(&of(most), at(0)).is_none(), "the shared bucket");
    assert!(
        abuse.admit(&of(most + 1), at(0)).is_some(),
        "is one for all"
    );
    for session in 0..=most {
        abuse.release(of(session).id);
    }
    // A while later the old ones are full, and forgotten.
    assert!(abuse.admit(&of(most + 2), at(40_000)).is_none());
    assert!(abuse.lock().buckets.len() <= 2);
}

#[test]
fn what_nobody_knows_is_an_error() {
    let check = |config: &str| assert!(serde_json::from_str::<Settings>(config).is_err());
    check(r#"{"per_user":{}}"#);
    check(r#"{"per_tool":{"calls":1}}"#);
    check(r#"{"per_tool":{"calls_per_minute":-1}}"#);
}

/// What the store is asked for a call: the limits, by what they are.
fn asked(abuse: &Abuse, number: u64, now: Tick) -> (Bill, Vec<Shared>) {
    let bill = abuse.bill(&call(number), now).unwrap();
    let limits = bill.charge.limits.iter();
    let limits = limits.map(|(_, limit)| limit.clone()).collect();
    (bill, limits)
}

#[test]
fn what_the_store_says_is_known_here_and_told_again_where_it_may_have_forgotten() {
    let abuse = Abuse::new(settings(
        r#"{"per_principal":{"calls_per_minute":1,"burst":4}}"#,
    ));
    let minute = |count: u64| Duration::from_secs(60 * count);
    let bucket = |known: u64| {
        vec![Shared::Bucket {
            cost: minute(1),
            room: minute(4),
            known: minute(known),
        }]
    };
    assert!(Abuse::new(settings("{}")).bill(&call(1), at(0)).is_none());
    // Three calls went through other gateways.
    let (bill, limits) = asked(&abuse, 1, at(0));
    assert_eq!(limits, bucket(0));
    let taken = Charged::Taken(vec![minute(4)]);
    assert!(abuse.settle(&call(1), &bill, Some(&taken)).is_none());
    // Alone, this one knows it, and then tells what it charged by itself.
    let (bill, limits) = asked(&abuse, 2, at(0));
    assert_eq!(limits, bucket(0));
    assert!(abuse.settle(&call(2), &bill, None).is_some());
    let (bill, _) = asked(&abuse, 3, at(60_000));
    assert!(abuse.settle(&call(3), &bill, None).is_none());
    assert_eq!(asked(&abuse, 4, at(60_000)).1, bucket(4));
    // A refusal says when to come back, and is known here, too.
    let full = Charged::Full {
        limit: 0,
        wait: minute(2),
    };
    let (bill, _) = asked(&abuse, 5, at(60_000));
    let refused = abuse.settle(&call(5), &bill, Some(&full)).unwrap();
    assert!(refused.reason.as_str().contains("in 121 s"), "{refused:?}");
    abuse.doubt();
    assert_eq!(asked(&abuse, 6, at(60_000)).1, bucket(5));
}

#[test]
fn a_call_under_way_has_places_until_it_is_over() {
    let limits = r#"{"per_session":{"concurrent":2},"per_tool":{"concurrent":9}}"#;
    let abuse = Abuse::new(settings(limits));
    let (bill, limits) = asked(&abuse, 1, at(0));
    assert_eq!(limits, [Shared::Places(2), Shared::Places(9)]);
    let taken = Charged::Taken(vec![Duration::ZERO; 2]);
    assert!(abuse.settle(&call(1), &bill, Some(&taken)).is_none());
    let held = abuse.seats();
    let names: Vec<_> = bill.charge.limits.iter().map(|(name, _)| name).collect();
    assert_eq!(
        held.iter().map(|seat| &seat.limit).collect::<Vec<_>>(),
        names
    );
    let left = abuse.release(call(1).id);
    assert_eq!(seats(call(1).id, &left), held);
    assert_eq!(abuse.seats(), []);
    // One that was charged here alone has none.
    let (bill, _) = asked(&abuse, 2, at(0));
    assert!(abuse.settle(&call(2), &bill, None).is_none());
    assert_eq!(abuse.release(call(2).id), [""; 0]);
    let full = Charged::Full {
        limit: 1,
        wait: Duration::ZERO,
    };
    let refused = abuse.settle(&call(3), &bill, Some(&full)).unwrap();
    let reason = refused.reason.as_str();
    assert!(
        reason.contains("More than 9 calls of this tool"),
        "{reason}"
    );
}
