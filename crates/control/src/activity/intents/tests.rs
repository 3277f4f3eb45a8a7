//! Which intents a list tells of.

use serde_json::{Value, json};

use super::super::tests::{Memory, record};
use super::*;

/// A record of a call of its own time; its request has its own name unless all have one.
fn of_call(number: u32, kind: &str, request: Option<&str>) -> Value {
    let id = CallId::new(1_772_600_000_000 + u64::from(number), 7).to_string();
    let at = Wall(1_772_600_000_000 + u64::from(number)).rfc3339();
    let status = if kind == INTENT { "pending" } else { "success" };
    record(&[
        ("request_id", json!(request.unwrap_or(&id))),
        ("id", json!(id)),
        ("type", json!(kind)),
        ("status", json!(status)),
        ("timestamp", json!(at)),
    ])
}

/// A strict log of so many calls, newest first, of which some never ended.
fn log(calls: u32, unfollowed: &[u32], request: Option<&str>) -> Memory {
    let mut records = Vec::new();
    for call in 0..calls {
        records.push(of_call(call, INTENT, request));
        if !unfollowed.contains(&call) {
            records.push(of_call(call, "tool_call", request));
        }
    }
    records.reverse();
    Memory(records)
}

/// Goes through all pages and returns their records, as a number of the call and the type.
fn paged(log: &Memory, mut query: ActivityQuery) -> Vec<Vec<(u64, String)>> {
    let mut pages = Vec::new();
    loop {
        let page = page(log, &query).unwrap();
        assert!(page.records.len() <= query.limit);
        let told = page.records.iter().map(|one| {
            let one: Seen = serde_json::from_str(one).unwrap();
            let call = CallId::parse(&one.id).unwrap();
            (call.millis() - 1_772_600_000_000, one.kind)
        });
        pages.push(told.collect());
        match page.next {
            Some(next) => query.before = Some(next),
            None => return pages,
        }
    }
}

fn wanted(field: Field, value: &str) -> Vec<(Field, Vec<String>)> {
    vec![(field, vec![value.to_owned()])]
}

/// Regression for #8.
#[test]
fn a_list_tells_of_every_call_once() {
    for request in [None, Some("one-name-for-all")] {
        let log = log(200, &[3, 150], request);
        let query = ActivityQuery {
            limit: 30,
            ..ActivityQuery::default()
        };
        let pages = paged(&log, query.clone());
        let all = pages.concat();
        let expect = (0..200).rev().map(|call| {
            let open = call == 3 || call == 150;
            (call, if open { INTENT } else { "tool_call" }.to_owned())
        });
        assert_eq!(all, expect.collect::<Vec<_>>());
        let full = pages.iter().take(6).all(|page| page.len() == 30);
        assert!(full, "{pages:?}");
        // What is left out is counted in what is shown.
        let skipped = ActivityQuery { skip: 33, ..query };
        assert_eq!(page(&log, &skipped).unwrap().records.len(), 30);
        assert_eq!(
            paged(
                &log,
                ActivityQuery {
                    skip: 30,
                    limit: 30,
                    ..ActivityQuery::default()
                }
            )[0],
            pages[1]
        );
    }
}

/// Regression for #8.
#[test]
fn what_is_pending_has_not_ended() {
    for request in [None, Some("one-name-for-all")] {
        let log = log(900, &[3, 898], request);
        let pending = ActivityQuery {
            wanted: wanted(Field::Status, "pending"),
            limit: 50,
            ..ActivityQuery::default()
        };
        let intent = |call| (call, INTENT.to_owned());
        assert_eq!(paged(&log, pending), [[intent(898), intent(3)]]);
    }
}

#[test]
fn who_asks_for_a_type_gets_all_of_it() {
    let log = log(20, &[3], None);
    for (kind, expect) in [(INTENT, 20), ("tool_call", 19)] {
        let query = ActivityQuery {
            wanted: wanted(Field::Kind, kind),
            limit: 50,
            ..ActivityQuery::default()
        };
        assert_eq!(page(&log, &query).unwrap().records.len(), expect, "{kind}");
    }
}

#[test]
fn a_page_ends_where_too_much_was_looked_through_and_the_next_goes_on() {
    let log = log(300, &[3], None);
    let mut query = ActivityQuery {
        wanted: wanted(Field::Status, "pending"),
        limit: 50,
        ..ActivityQuery::default()
    };
    let first = page_within(&log, &query, 100).unwrap();
    assert!(first.records.is_empty());
    query.before = first.next;
    assert!(query.before.is_some());
    let rest = page_within(&log, &query, 300).unwrap();
    assert_eq!((rest.records.len(), rest.next), (1, None));
}
