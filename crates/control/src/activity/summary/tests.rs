//! Counts over records that stand in memory.

use serde_json::{Value, json};

use super::*;
use crate::activity::tests::{Memory, record};

fn count(records: Vec<Value>, period: &str, group_by: Option<GroupBy>) -> Summary {
    let period = one_of("period", period, &Period::ALL).unwrap();
    let question = Question::of(&[]).unwrap();
    let now = Wall::from_rfc3339("2026-03-05T00:00:00Z").unwrap();
    let mut count = Count::new(period, group_by, &question, now);
    count.run(&Memory(records), question).unwrap();
    count.finish()
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
    assert_eq!((summary.total, summary.complete), (2, true));
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
fn the_share_of_questions_that_were_approved_is_told() {
    let asked = |kind: &str, more: &[(&str, Value)]| {
        let base = [
            ("type", json!(kind)),
            ("timestamp", json!("2026-03-04T23:00:00Z")),
            ("decision", json!("ask")),
            ("effective", json!("ask")),
        ];
        record(&[&base[..], more].concat())
    };
    let hook = |used: &str, phase: &str| {
        let hook = json!({ "agent": "a", "phase": phase, "tool_use_id": used });
        asked("hook_evaluation", &[("hook", hook)])
    };
    let mut done = hook("1", "post");
    done["decision"] = json!("allow");
    let records = vec![
        done,
        hook("1", "pre"),
        hook("2", "pre"),
        asked("tool_call", &[]),
        asked("policy_decision", &[("status", json!("blocked"))]),
        // Nobody could be asked.
        asked("tool_call", &[("effective", json!("warn"))]),
    ];
    let asks = count(records, "1h", None).approvals;
    assert_eq!((asks.asked, asks.approved, asks.denied), (4, 2, 2));
    assert_eq!(asks.approved_share, Some(0.5));
    assert_eq!(count(Vec::new(), "1h", None).approvals.approved_share, None);
}
