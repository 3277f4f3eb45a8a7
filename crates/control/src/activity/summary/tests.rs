//! Counts over records that stand in memory.

use serde_json::{Value, json};

use super::*;
use crate::activity::tests::{Memory, record};

fn count(records: Vec<Value>, period: &str, group_by: Option<GroupBy>) -> Summary {
    let period = one_of("period", period, &Period::ALL).unwrap();
    let question = Question::of(&[]).unwrap();
    let now = Wall::from_rfc3339("2026-03-05T00:00:00Z").unwrap();
    let stretch = Stretch::of(Some(period), &question.query, now);
    let summing = Summing::new(stretch, group_by);
    summing.run(&Memory(records), question).unwrap()
}

/// Regression for #8: a hundred thousand calls after a denial made it vanish.
#[test]
fn however_much_came_after_it_what_was_stopped_is_counted() {
    let at = ("timestamp", json!("2026-03-04T23:30:00Z"));
    let mut records = vec![record(std::slice::from_ref(&at)); MOST_READ + 1];
    let stopped = [
        ("type", json!("policy_decision")),
        ("status", json!("blocked")),
        at,
    ];
    records.push(record(&stopped));
    let summary = count(records, "24h", None);
    let expect = u64::try_from(MOST_READ).unwrap() + 2;
    assert_eq!((summary.total, summary.blocked), (expect, 1));
    assert!(summary.complete, "nothing moved and nobody was asked");
    assert_eq!(summary.counted_from, None);
}

/// What moved data is read, the newest first, and the summary says how far it got.
#[test]
fn flows_that_are_not_told_are_owned_up_to() {
    let flow = |at: &str| {
        record(&[
            ("timestamp", json!(at)),
            ("flow_type", json!("internal→internal")),
        ])
    };
    let mut records = vec![flow("2026-03-04T23:30:00Z"); MOST_READ];
    records.push(flow("2026-03-04T22:30:00Z"));
    let summary = count(records, "24h", None);
    let expect = u64::try_from(MOST_READ).unwrap() + 1;
    assert_eq!((summary.total, summary.complete), (expect, false));
    assert_eq!(
        summary.counted_from.as_deref(),
        Some("2026-03-04T23:30:00Z")
    );
}

/// Counts what is asked for of the day up to the fifth of March.
fn counted(records: &[Value], asked: &[(&str, &str)]) -> Summary {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let asked: Vec<_> = asked.iter().map(own).collect();
    let question = Question::of(&asked).unwrap();
    let now = Wall::from_rfc3339("2026-03-05T00:00:00Z").unwrap();
    let stretch = Stretch::of(None, &question.query, now);
    let summing = Summing::new(stretch, None);
    summing.run(&Memory(records.to_vec()), question).unwrap()
}

/// Regression for #8: a call that a crash had cut off was in no count, and no intent was.
#[test]
fn a_call_that_nothing_followed_is_counted_and_one_that_ended_is_counted_once() {
    let flow = json!([{ "evidence": { "origin": { "upstream": "in", "tool": "read" } } }]);
    let of = |id: &str, kind: &str, status: &str| {
        record(&[
            ("id", json!(id)),
            ("request_id", json!(id)),
            ("type", json!(kind)),
            ("status", json!(status)),
            ("timestamp", json!("2026-03-04T23:30:00Z")),
            ("flow_type", json!("internal→external")),
            ("findings", flow.clone()),
        ])
    };
    let [cut, ended] = ["01K0000000000000000000000A", "01K0000000000000000000000B"];
    let records = [
        of(cut, INTENT, "pending"),
        of(ended, "tool_call", "success"),
        of(ended, INTENT, "pending"),
    ];
    let check = |asked: &[(&str, &str)], expect: (u64, u64), flows: u64| {
        let summary = counted(&records, asked);
        assert_eq!((summary.total, summary.calls), expect, "{asked:?}");
        let moved: u64 = summary.flows.iter().map(|flow| flow.count).sum();
        assert_eq!(moved, flows, "{asked:?}");
        assert!(summary.complete, "{asked:?}");
    };
    check(&[], (2, 2), 2);
    check(&[("status", "pending")], (1, 1), 1);
    check(&[("status", "success")], (1, 1), 1);
    check(&[("type", "intent")], (2, 0), 0);
    check(&[("type", "tool_call")], (1, 1), 1);
    let by_status = counted(&records, &[]).by_status;
    assert_eq!((by_status["pending"], by_status["success"]), (1, 1));
}

/// Regression for #8: of more groups than are named the others were passed over in silence.
#[test]
fn groups_that_are_not_named_are_counted() {
    let of = |number: usize| {
        record(&[
            ("timestamp", json!("2026-03-04T23:30:00Z")),
            ("tool_name", json!(format!("tool{number}"))),
        ])
    };
    let check = |many: usize, named: usize, more: usize| {
        let summary = count((0..many).map(of).collect(), "1h", Some(GroupBy::Tool));
        let groups = summary.groups.map(|groups| groups.len());
        assert_eq!((groups, summary.more_groups), (Some(named), Some(more)));
        assert_eq!(summary.more_servers, 0);
    };
    check(1, 1, 0);
    check(MOST_NAMED, MOST_NAMED, 0);
    check(MOST_NAMED + 3, MOST_NAMED, 3);
    let none = count(vec![of(1)], "1h", None);
    assert_eq!((none.groups, none.more_groups), (None, None));
}

/// What closes a session has the gravest direction of its calls, which are counted by theirs.
#[test]
fn a_direction_is_counted_by_calls_and_not_again_by_what_closes_their_session() {
    let of = |kind: &str| {
        record(&[
            ("type", json!(kind)),
            ("timestamp", json!("2026-03-04T23:30:00Z")),
            ("flow_type", json!("internal→external")),
        ])
    };
    let records = vec![of(CLOSING), of("tool_call")];
    let summary = count(records, "1h", Some(GroupBy::FlowType));
    assert_eq!((summary.total, summary.calls), (2, 1));
    assert_eq!(summary.by_flow["internal→external"], 1);
    let groups = summary.groups.unwrap();
    assert_eq!((&*groups[0].key, groups[0].total), ("internal→external", 1));
}

/// Regression for #8: a start was taken for no more than the period that nobody had asked for.
#[test]
fn of_a_start_and_a_period_the_later_beginning_counts() {
    let now = Wall::from_rfc3339("2026-03-05T00:00:00Z").unwrap();
    let stretch = |period: Option<&str>, asked: &[(&str, &str)]| {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let asked: Vec<_> = asked.iter().map(own).collect();
        let question = Question::of(&asked).unwrap();
        let period = period.map(|period| one_of("period", period, &Period::ALL).unwrap());
        Stretch::of(period, &question.query, now)
    };
    let check = |period: Option<&str>, asked: &[(&str, &str)], expect: [&str; 3]| {
        let found = stretch(period, asked);
        let (from, to) = (found.from.rfc3339(), found.to.rfc3339());
        assert_eq!([found.name, &from, &to], expect, "{period:?} {asked:?}");
        let parts = u64::try_from(found.starts().count()).unwrap();
        let length = found.to.0.saturating_sub(found.from.0);
        assert!(found.part * parts >= length, "{asked:?}");
    };
    let (day, now) = ("2026-03-04T00:00:00.000Z", "2026-03-05T00:00:00.000Z");
    check(None, &[], ["24h", day, now]);
    let hour = "2026-03-04T23:00:00.000Z";
    check(Some("1h"), &[], ["1h", hour, now]);
    let week = ("start_time", "2026-02-25");
    let start = "2026-02-25T00:00:00.000Z";
    check(None, &[week], ["custom", start, now]);
    let end = ("end_time", "2026-02-28");
    let both = ["custom", start, "2026-02-28T23:59:59.999Z"];
    check(None, &[week, end], both);
    let day = [
        "24h",
        "2026-02-27T23:59:59.999Z",
        "2026-02-28T23:59:59.999Z",
    ];
    check(None, &[end], day);
    check(Some("1h"), &[week], ["1h", hour, now]);
    check(Some("30d"), &[week], ["custom", start, now]);
    let later = ("start_time", "2027-01-01");
    check(None, &[later], ["custom", "2027-01-01T00:00:00.000Z", now]);
    let nothing = counted(&[record(&[("timestamp", json!(now))])], &[later]);
    assert_eq!((nothing.total, nothing.complete), (0, true));
}

#[test]
fn records_are_counted_by_what_they_have() {
    let flow = json!([{ "evidence": { "origin": { "upstream": "in", "tool": "read" } } }]);
    let records = vec![
        record(&[("timestamp", json!("2026-03-04T23:59:00Z"))]),
        record(&[
            ("type", json!("policy_decision")),
            ("timestamp", json!("2026-03-04T22:30:00Z")),
            ("status", json!("blocked")),
            ("decision", json!("deny")),
            ("server_name", json!("out")),
            ("tool_name", json!("post")),
            ("flow_type", json!("internal→external")),
            ("risk_level", json!("critical")),
            ("findings", flow),
        ]),
        // The same call, before it left, and one of the day before.
        record(&[
            ("type", json!("intent")),
            ("timestamp", json!("2026-03-04T23:58:00Z")),
        ]),
        record(&[("timestamp", json!("2026-03-03T23:00:00Z"))]),
    ];
    let summary = count(records, "24h", Some(GroupBy::Tool));
    assert_eq!((summary.total, summary.calls), (2, 2));
    assert!(summary.complete);
    assert_eq!(summary.start_time, "2026-03-04T00:00:00.000Z");
    assert_eq!(summary.by_status["blocked"], 1);
    assert_eq!(summary.by_type["tool_call"], 1);
    assert_eq!(summary.by_risk["critical"], 1);
    assert_eq!(summary.by_flow["none"], 1);
    let named: Vec<_> = summary
        .servers
        .iter()
        .map(|one| (&*one.name, one.blocked))
        .collect();
    assert_eq!(named, [("out", 1), ("up", 0)]);
    let [flow] = summary.flows.as_slice() else {
        panic!("one flow, not {:?}", summary.flows);
    };
    assert_eq!(
        (&*flow.source, &*flow.destination, flow.count),
        ("in:read", "out:post", 1)
    );
    let groups = summary.groups.unwrap();
    let keys: Vec<_> = groups.iter().map(|one| &*one.key).collect();
    assert_eq!(keys, ["out:post", "up:echo"]);
    let buckets = &summary.buckets;
    assert_eq!(buckets.len(), 24);
    assert_eq!((buckets[23].total, buckets[22].blocked), (1, 1));
    assert_eq!(buckets[22].risk["critical"], 1);
    assert_eq!(buckets[22].start, "2026-03-04T22:00:00.000Z");
    let week = count(
        vec![record(&[("timestamp", json!("2026-03-03T23:00:00Z"))])],
        "7d",
        None,
    );
    assert_eq!((week.total, week.buckets.len(), week.groups), (1, 28, None));
}

#[test]
fn calls_are_counted_once_and_nothing_else_is_a_call() {
    let at = ("timestamp", json!("2026-03-04T23:30:00Z"));
    let check = |kind: &str, more: &[(&str, Value)], calls: u64| {
        let base = [("type", json!(kind)), at.clone()];
        let summary = count(vec![record(&[&base[..], more].concat())], "1h", None);
        assert_eq!(
            (summary.total, summary.calls),
            (1, calls),
            "{kind} {more:?}"
        );
        let in_buckets: u64 = summary.buckets.iter().map(|one| one.calls).sum();
        let by_risk: u64 = summary
            .buckets
            .iter()
            .flat_map(|one| one.risk.values())
            .sum();
        assert_eq!((in_buckets, by_risk), (calls, calls), "{kind} {more:?}");
    };
    let method = |method: &str| [("method", json!(method))];
    check("tool_call", &[], 1);
    check("policy_decision", &[], 1);
    check("policy_decision", &method("elicitation/create"), 0);
    check("message", &method("resources/read"), 1);
    check("message", &method("prompts/get"), 1);
    check("message", &method("notifications/cancelled"), 0);
    for kind in [
        "flow_summary",
        "system_start",
        "tool_quarantine_change",
        "approval",
    ] {
        check(kind, &method(""), 0);
    }
    let hook = |phase: &str, owner: &str| {
        (
            "hook",
            json!({ "agent": "a", "phase": phase, "owner": owner }),
        )
    };
    check("hook_evaluation", &[hook("pre", "agent")], 1);
    check("hook_evaluation", &[hook("post", "agent")], 0);
    check("hook_evaluation", &[hook("pre", "elsewhere")], 1);
    // The call itself comes by, unless the hook stops it.
    check("hook_evaluation", &[hook("pre", "gateway")], 0);
    let stopped = ("status", json!("blocked"));
    check("hook_evaluation", &[hook("pre", "gateway"), stopped], 1);
}

/// Regression for #8: one critical call of a session that ended was two.
#[test]
fn the_end_of_a_session_is_no_second_risk() {
    let of = |kind: &str| {
        record(&[
            ("type", json!(kind)),
            ("timestamp", json!("2026-03-04T23:30:00Z")),
            ("risk_level", json!("critical")),
            ("flow_type", json!("internal→external")),
        ])
    };
    let summary = count(vec![of("tool_call"), of("flow_summary")], "1h", None);
    assert_eq!(summary.total, 2);
    assert_eq!(summary.by_risk["critical"], 1);
    assert_eq!(summary.by_flow["internal→external"], 1);
}

#[test]
fn only_calls_are_stopped() {
    let at = ("timestamp", json!("2026-03-04T23:30:00Z"));
    let check = |kind: &str, method: &str, blocked: u64| {
        let fields = [
            ("type", json!(kind)),
            ("method", json!(method)),
            ("status", json!("blocked")),
            at.clone(),
        ];
        let summary = count(vec![record(&fields)], "1h", Some(GroupBy::Server));
        let in_buckets: u64 = summary.buckets.iter().map(|one| one.blocked).sum();
        let named: u64 = summary.servers.iter().map(|one| one.blocked).sum();
        let grouped = summary.groups.unwrap_or_default();
        let grouped: u64 = grouped.iter().map(|one| one.blocked).sum();
        let found = [summary.blocked, in_buckets, named, grouped];
        assert_eq!(found, [blocked; 4], "{kind} {method}");
        assert_eq!(summary.by_status["blocked"], 1);
    };
    check("policy_decision", "tools/call", 1);
    check("tool_call", "tools/call", 1);
    check("quarantine_change", "", 0);
    check("tool_quarantine_change", "", 0);
    // A person said no: the call that was asked about has a record of its own.
    check("approval", "denied", 0);
}

#[test]
fn the_share_of_questions_that_were_approved_is_told() {
    let at = ("timestamp", json!("2026-03-04T23:00:00Z"));
    let asked = |kind: &str, more: &[(&str, Value)]| {
        let base = [
            ("type", json!(kind)),
            at.clone(),
            ("decision", json!("ask")),
            ("effective", json!("ask")),
        ];
        record(&[&base[..], more].concat())
    };
    let question = |about: &str, what: &str| {
        let more = [("parent_id", json!(about)), ("method", json!(what))];
        asked("approval", &more)
    };
    let hook = |used: &str, phase: &str| {
        let hook = json!({ "agent": "a", "phase": phase, "owner": "agent", "tool_use_id": used });
        asked("hook_evaluation", &[("hook", hook)])
    };
    let check = |records: Vec<Value>, expect: [u64; 4], share: Option<f64>| {
        let asks = count(records, "1h", None).approvals;
        let found = [asks.asked, asks.approved, asks.denied, asks.unanswered];
        assert_eq!((found, asks.approved_share), (expect, share));
    };
    check(Vec::new(), [0; 4], None);
    // Newest first. The same call was made again five times while its question waited.
    let mut records = vec![asked("tool_call", &[]), question("1", "approved")];
    let again = asked("policy_decision", &[("status", json!("blocked"))]);
    records.extend(vec![again; 5]);
    records.push(question("1", "requested"));
    check(records, [1, 1, 0, 0], Some(1.0));
    let records = vec![
        question("4", "lapsed"),
        question("3", "requested"),
        question("2", "denied"),
        question("2", "requested"),
        // What was asked before the stretch began.
        question("1", "approved"),
        // Nobody could be asked.
        asked("tool_call", &[("effective", json!("warn"))]),
    ];
    check(records, [4, 1, 1, 2], Some(0.5));
    let mut done = hook("1", "post");
    done["decision"] = json!("allow");
    let records = vec![done, hook("1", "pre"), hook("2", "pre")];
    check(records, [2, 1, 1, 0], Some(0.5));
}
