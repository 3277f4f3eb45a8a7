//! How calls ended that took data along, for who looks at what a session moved.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcpproxy_core::{ActivityQuery, ActivityReader, CallId, Field, Principal, ReadFault, Wall};
use serde::Deserialize;

use super::CHUNK;
use crate::change::{Act, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused};

/// Records that are looked through.
const MOST_LOOKED: usize = 10_000;
/// How far the time of a record may be from that in the id of its call.
const NEAR: Duration = Duration::from_mins(1);

/// What is looked at of a record.
#[derive(Deserialize)]
struct Seen {
    id: String,
    status: String,
}

impl Control {
    /// Returns how those of some calls ended that are on record under one of some sessions. A call
    /// that is about to leave is `pending`.
    ///
    /// Only records of flows are looked at: a call that took along what was read has one.
    pub fn ends_of_flows(
        &self,
        who: &Principal,
        sessions: &[String],
        calls: &BTreeSet<CallId>,
    ) -> Result<BTreeMap<CallId, String>, Refused> {
        Mandate::to_audit(who, Act::ReadActivity)?;
        let found = ends(self.log()?, sessions, calls);
        Ok(found.map_err(Error::Unreadable)?)
    }
}

fn ends(
    log: &dyn ActivityReader,
    sessions: &[String],
    calls: &BTreeSet<CallId>,
) -> Result<BTreeMap<CallId, String>, ReadFault> {
    let mut ends = BTreeMap::new();
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else {
        return Ok(ends);
    };
    let mut query = question(sessions, *first, *last);
    let mut looked = 0;
    while ends.len() < calls.len() && looked < MOST_LOOKED {
        let page = log.page(&query)?;
        looked += page.records.len();
        for record in &page.records {
            let seen = serde_json::from_str::<Seen>(record).ok();
            let seen = seen.and_then(|seen| Some((CallId::parse(&seen.id)?, seen.status)));
            // What was written last comes first, and says how it ended.
            if let Some((call, status)) = seen.filter(|(call, _)| calls.contains(call)) {
                ends.entry(call).or_insert(status);
            }
        }
        match page.next {
            Some(next) => query.before = Some(next),
            None => break,
        }
    }
    Ok(ends)
}

fn question(sessions: &[String], first: CallId, last: CallId) -> ActivityQuery {
    let near = u64::try_from(NEAR.as_millis()).unwrap_or(0);
    let flows = Field::FlowType.known().unwrap_or_default().iter();
    let flows = flows.filter(|flow| **flow != "none");
    ActivityQuery {
        wanted: vec![
            (Field::Session, sessions.to_vec()),
            (
                Field::FlowType,
                flows.map(|&flow| flow.to_owned()).collect(),
            ),
        ],
        from: Some(Wall(first.millis().saturating_sub(near))),
        to: Some(Wall(last.millis()).after(NEAR)),
        limit: CHUNK,
        ..ActivityQuery::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{Memory, record};
    use super::*;

    /// Regression for #8: how a call ended is found however much came after it.
    #[test]
    fn how_a_call_ended_is_known_under_all_that_followed() {
        let start = Wall::from_rfc3339("2026-03-04T05:06:07.008Z").unwrap();
        let call = |number: u64| CallId::new(start.0 + number, 7);
        let of = |number: u64, session: &str, kind: &str, status: &str, flow: &str| {
            record(&[
                ("id", json!(call(number).to_string())),
                ("type", json!(kind)),
                ("session_id", json!(session)),
                ("status", json!(status)),
                ("flow_type", json!(flow)),
            ])
        };
        let out = "internal→external";
        let mut records = vec![
            of(0, "a", "policy_decision", "blocked", out),
            of(1, "a", "intent", "pending", out),
            of(1, "a", "tool_call", "success", out),
            of(2, "a", "intent", "pending", out),
            of(3, "b", "tool_call", "error", out),
        ];
        records.extend((4..1_500).map(|at| of(at, "a", "tool_call", "success", out)));
        records.reverse();
        let calls = BTreeSet::from([0, 1, 2, 3, 9_999].map(call));
        let found = |sessions: &[&str]| {
            let sessions: Vec<_> = sessions.iter().map(|&one| one.to_owned()).collect();
            let found = ends(&Memory(records.clone()), &sessions, &calls).unwrap();
            let found = found.into_iter();
            found
                .map(|(call, end)| (call.millis() - start.0, end))
                .collect::<Vec<_>>()
        };
        let known = |number, end: &str| (number, end.to_owned());
        let own = [
            known(0, "blocked"),
            known(1, "success"),
            known(2, "pending"),
        ];
        assert_eq!(found(&["a"]), own);
        assert_eq!(
            found(&["a", "b"]),
            [&own[..], &[known(3, "error")]].concat()
        );
    }
}
