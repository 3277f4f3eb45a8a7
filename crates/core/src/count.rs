//! What can be counted over the activity log, and what is a call among its records.
//!
//! How it is counted is for `store` to know, what is made of it for `control`.

use std::collections::BTreeMap;

use crate::clock::Wall;
use crate::history::{ActivityQuery, Field};

/// The requests that use something of an upstream.
const CALLS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];
/// The record of a call that is about to leave; it stands again, with how it ended.
pub const INTENT: &str = "intent";
/// How calls end that were stopped.
pub const STOPPED: [&str; 2] = ["blocked", "rejected"];
/// Keys that are told apart; the rest is counted under [`OTHERS`].
const MOST_KEYS: usize = 10_000;
/// What stands for keys beyond those that are told apart.
const OTHERS: &str = "(others)";

/// Tells whether a record stands for a call: for a tool, a prompt or a resource that somebody wanted to
/// use. Notices, answers to questions, lists and summaries are on record as well. Of what a hook told,
/// `hook` has the phase and who owns the tool.
pub fn is_call(kind: &str, method: &str, status: &str, hook: Option<(&str, &str)>) -> bool {
    match kind {
        "tool_call" => true,
        "policy_decision" | "message" => is_use(method),
        // What comes by the gateway has a record of its own, unless it is stopped here; what is told
        // after a use was told before it.
        "hook_evaluation" => hook.is_some_and(|(phase, owner)| {
            phase == "pre" && (owner != "gateway" || status == "blocked")
        }),
        _ => false,
    }
}

/// Tells whether a method uses something of an upstream.
pub fn is_use(method: &str) -> bool {
    CALLS.contains(&method)
}

/// What is to be counted: every record that a question is about. Of an [`INTENT`] this is so where nothing
/// followed it, as of a call that is under way or that a stop cut off, and it then stands for the call;
/// who asks for a type has all of that type counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountQuery {
    /// The question. How many records it wants does not matter, nor in which order.
    pub query: ActivityQuery,
    /// The length of the parts of time that are told apart, in milliseconds, from the question's start on.
    pub part: u64,
    /// Fields by whose values records are counted, too: one, or several together.
    pub by: Vec<Vec<Field>>,
}

/// What records have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The part of time.
    pub part: u64,
    /// The type.
    pub kind: String,
    /// How they ended.
    pub status: String,
    /// The direction in which data moved.
    pub flow_type: String,
    /// The risk of that.
    pub risk_level: String,
    /// Whether they stand for calls.
    pub is_call: bool,
}

impl Cell {
    /// Tells whether these are calls that were stopped. What a person withholds or refuses is on record
    /// as well, and stops no call by itself.
    pub fn is_stopped(&self) -> bool {
        self.is_call && STOPPED.contains(&&*self.status)
    }
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many records have what in common.
    pub cells: BTreeMap<Cell, u64>,
    /// For each of the fields that were asked for: the values, with a colon between those of several
    /// fields, how many records have them, and how many of these are calls that were stopped.
    pub groups: Vec<BTreeMap<String, (u64, u64)>>,
    /// From when on intents are counted, where the log has more than it was looked through for them.
    pub intents_since: Option<Wall>,
}

impl Counted {
    /// Begins to count.
    pub fn new(asked: &CountQuery) -> Self {
        Self {
            cells: BTreeMap::new(),
            groups: vec![BTreeMap::new(); asked.by.len()],
            intents_since: None,
        }
    }

    /// Counts records.
    pub fn add(&mut self, cell: Cell, many: u64) {
        *self.cells.entry(cell).or_default() += many;
    }

    /// Counts records of a group. What has nothing to be called by is in none.
    pub fn add_to_group(&mut self, which: usize, values: &[&str], (all, stopped): (u64, u64)) {
        let Some(groups) = self.groups.get_mut(which) else {
            return;
        };
        if values.last().is_none_or(|last| last.is_empty()) {
            return;
        }
        let key = values.join(":");
        let is_known = groups.len() < MOST_KEYS || groups.contains_key(&key);
        let key = if is_known { key } else { OTHERS.to_owned() };
        let (total, blocked) = groups.entry(key).or_default();
        *total += all;
        *blocked += stopped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_all_else() {
        let check = |kind: &str, method: &str, status: &str, hook, expect: bool| {
            let found = is_call(kind, method, status, hook);
            assert_eq!(found, expect, "{kind} {method} {status} {hook:?}");
        };
        check("tool_call", "tools/call", "error", None, true);
        check("policy_decision", "tools/call", "blocked", None, true);
        check("policy_decision", "elicitation/create", "", None, false);
        check("message", "resources/read", "success", None, true);
        check("message", "notifications/cancelled", "", None, false);
        check("approval", "denied", "blocked", None, false);
        check("hook_evaluation", "", "success", None, false);
        check("hook_evaluation", "", "", Some(("pre", "agent")), true);
        check("hook_evaluation", "", "", Some(("post", "agent")), false);
        let ours = Some(("pre", "gateway"));
        check("hook_evaluation", "", "success", ours, false);
        check("hook_evaluation", "", "blocked", ours, true);
    }

    #[test]
    fn groups_are_bounded_and_what_has_no_name_is_in_none() {
        let by = vec![vec![Field::Upstream, Field::Tool]];
        let asked = CountQuery {
            by,
            ..CountQuery::default()
        };
        let mut counted = Counted::new(&asked);
        counted.add_to_group(0, &["up", ""], (1, 0));
        assert!(counted.groups[0].is_empty());
        for number in 0..MOST_KEYS + 5 {
            counted.add_to_group(0, &["up", &number.to_string()], (2, 1));
        }
        counted.add_to_group(0, &["up", "7"], (2, 1));
        assert_eq!(counted.groups[0].len(), MOST_KEYS + 1);
        assert_eq!(counted.groups[0]["up:7"], (4, 2));
        assert_eq!(counted.groups[0][OTHERS], (10, 5));
    }
}
