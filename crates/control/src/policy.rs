//! Trying the policy: what would happen to a call, and what would have happened to those on record
//! under another policy.

use mcpproxy_core::{Action, ActivityQuery, Askable, CallId, Field, Principal, Wall};
use mcpproxy_engine::recorded::{Again, Recorded};
use mcpproxy_engine::replay::{Explanation, Replay, Session};
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::{Act, Mandate};
use crate::configurer::{ChangeFault, ConfigChange};
use crate::control::Control;
use crate::error::{Error, Refused};

/// Records that are read at once.
const CHUNK: usize = 500;
/// Records that are judged again at most, newest first.
const MOST: usize = 20_000;
/// Changes that are named at most; beyond, they are only counted.
const MOST_NAMED: usize = 1000;

/// What another policy would have made of the calls on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replayed {
    /// Calls about which it would have decided otherwise, newest first; a bounded number.
    pub changed: Vec<Changed>,
    /// How many those are altogether.
    pub changed_total: u64,
    /// Calls about which it would have decided the same.
    pub unchanged: u64,
    /// Calls that cannot be judged again from their record: what was sent is not kept.
    pub skipped: u64,
    /// Why, with how often.
    pub skipped_because: std::collections::BTreeMap<&'static str, u64>,
    /// Whether everything since then was looked at, or only the newest.
    pub complete: bool,
}

/// A call about which another policy would have decided otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// The record.
    pub activity_id: CallId,
    /// The tool, as `upstream:tool`.
    pub tool_name: String,
    /// What was decided.
    pub before: Action,
    /// What would be.
    pub after: Action,
}

impl Control {
    /// Explains what would happen to the last call of a session.
    pub async fn explain_policy(
        &self,
        who: &Principal,
        session: &Session,
    ) -> Result<Explanation, Refused> {
        Mandate::of(who, Act::TryPolicy)?;
        let invalid = |reason: String| ChangeFault::Invalid { reason, hint: None };
        let settings = self.engine().settings();
        let replay = Replay::new(settings, Askable::AgentPrompt);
        let replay = replay.map_err(|fault| invalid(fault.to_string()))?;
        replay.engine().learn_from(self.engine());
        let explained = replay.explain(session).await;
        let explained = explained.map_err(|fault| invalid(fault.to_string()))?;
        Ok(explained.ok_or_else(|| invalid("there is no call to explain".into()))?)
    }

    /// Judges the calls on record since a time again, under the policy that a change would make.
    pub fn replay_policy(
        &self,
        who: &Principal,
        change: &ConfigChange,
        since: Wall,
    ) -> Result<Replayed, Refused> {
        Mandate::of(who, Act::TryPolicy)?;
        let log = self.log()?;
        let again = Recorded::new(self.engine(), self.configurer().preview(change)?);
        let kinds = ["tool_call", "policy_decision", "hook_evaluation"];
        let kinds = kinds.map(str::to_owned).to_vec();
        let mut query = ActivityQuery {
            wanted: vec![(Field::Kind, kinds)],
            from: Some(since),
            limit: CHUNK,
            ..ActivityQuery::default()
        };
        let (mut replayed, mut looked) = (Replayed::default(), 0);
        loop {
            let page = log.page(&query).map_err(Error::Unreadable)?;
            looked += page.records.len();
            for record in &page.records {
                replayed.add(again.judge(record));
            }
            match page.next {
                Some(next) if looked < MOST => query.before = Some(next),
                next => {
                    replayed.complete = next.is_none();
                    return Ok(replayed);
                }
            }
        }
    }
}

impl Replayed {
    fn add(&mut self, again: Again) {
        match again {
            Again::Same => self.unchanged += 1,
            Again::Skipped(why) => {
                self.skipped += 1;
                *self.skipped_because.entry(why).or_default() += 1;
            }
            Again::Changed {
                id: activity_id,
                tool: tool_name,
                before,
                after,
            } => {
                self.changed_total += 1;
                if self.changed.len() < MOST_NAMED {
                    self.changed.push(Changed {
                        activity_id,
                        tool_name,
                        before,
                        after,
                    });
                }
            }
        }
    }
}
