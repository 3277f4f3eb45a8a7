//! The movements of a session: as the gateway follows them, and as they were written down.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::Value;

use super::looked::{is_stopped, rank};
use crate::look::Look as _;

/// What is said where nothing is known. A guess could be the opposite of what happened.
pub(super) const UNKNOWN: &str = "unknown";

/// A movement of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) call: String,
    pub(super) risk: String,
    pub(super) status: String,
    pub(super) how: String,
    pub(super) shared: u64,
}

impl Edge {
    /// Takes a movement that the gateway follows.
    fn followed(edge: &Value) -> Self {
        let to = edge.text("to");
        Self::new(edge.part("from"), to, edge, edge, edge.text("activity_id"))
    }

    /// Takes a movement out of the record of its call.
    fn recorded(evidence: &Value, record: &Value) -> Self {
        let (to, call) = (record.text("server_name"), record.text("id"));
        Self::new(evidence.part("origin"), to, evidence, record, call)
    }

    /// Takes a movement as it was found, with what is known of its call.
    fn new(origin: &Value, to: &str, found: &Value, known: &Value, call: &str) -> Self {
        let told = |name: &str| match known.text(name) {
            "" => UNKNOWN.to_owned(),
            told => told.to_owned(),
        };
        Self {
            from: format!("{}:{}", origin.text("upstream"), origin.text("tool")),
            to: to.to_owned(),
            call: call.to_owned(),
            risk: told("risk_level"),
            status: told("status"),
            how: found.text("evidence").to_owned(),
            shared: found.count("shared"),
        }
    }

    /// How much it matters to who looks, the most first: what is cut off is the least of it.
    fn order(&self) -> Reverse<(usize, bool)> {
        Reverse((rank(&self.risk), is_stopped(&self.status)))
    }
}

/// Returns the movements of a session, worst first, and the latest of those: what the gateway follows,
/// and of other calls what their records say.
pub(super) fn edges(flow: Option<&Value>, records: &[Value]) -> Vec<Edge> {
    let followed = flow.map_or(&[][..], |flow| flow.list("edges"));
    let mut edges: Vec<Edge> = followed.iter().rev().map(Edge::followed).collect();
    let known: BTreeSet<String> = edges.iter().map(|edge| edge.call.clone()).collect();
    let others = records.iter().filter(|one| !known.contains(one.text("id")));
    for record in others {
        let findings = record.list("findings").iter();
        let evidence = findings.map(|one| one.part("evidence"));
        let mut found: Vec<Edge> = Vec::new();
        for evidence in evidence.filter(|one| !one.is_null()) {
            let edge = Edge::recorded(evidence, record);
            if !found.contains(&edge) {
                found.push(edge);
            }
        }
        edges.extend(found);
    }
    edges.sort_by_key(Edge::order);
    edges
}
