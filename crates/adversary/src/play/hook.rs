//! What the agent's hook is asked and told, where it has one.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Playing, Through, Way};
use crate::agent::Reply;
use crate::error::Error;
use crate::hook::{Heard, Hook};
use crate::scenario::Step;

/// One use of a tool, as the agent calls it.
pub(super) struct Use {
    tool: String,
    input: Value,
    id: String,
}

impl<'a> Playing<'a> {
    /// Begins the use of a tool.
    pub(super) fn use_of(&mut self, tool: String, input: Value) -> Use {
        self.uses += 1;
        let id = format!("toolu_{}", self.uses);
        Use { tool, input, id }
    }

    /// Asks the agent's hook; says why not where the step does not go on.
    pub(super) async fn announce(
        &mut self,
        step: &Step,
        used: &Use,
    ) -> Result<Option<Through>, Error> {
        let Some(hook) = self.hooked(step) else {
            return Ok(None);
        };
        let began = Instant::now();
        let heard = self.tell(hook, step, used, "PreToolUse", json!({})).await?;
        if heard != Heard::Nothing {
            self.came.times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        Ok(match heard {
            Heard::Deny => Some(Through::No("denied by the hook".to_owned())),
            Heard::Ask => {
                self.came.asked = true;
                Some(Through::No("the user was asked, and declined".to_owned()))
            }
            Heard::Nothing => None,
        })
    }

    /// Tells the agent's hook what a tool gave, and waits until it was told: agents do not, but the
    /// model behind them takes longer to think of the next step.
    pub(super) async fn report(
        &mut self,
        step: &Step,
        used: &Use,
        reply: &Reply,
    ) -> Result<(), Error> {
        let Some(hook) = self.hooked(step) else {
            return Ok(());
        };
        let (event, more) = match reply {
            Reply::Result(result) if reply.is_fine() => {
                ("PostToolUse", json!({ "tool_response": result }))
            }
            Reply::Result(result) => {
                let text = result.pointer("/content/0/text").and_then(Value::as_str);
                let text = text.map_or_else(|| reply.words(), str::to_owned);
                ("PostToolUseFailure", json!({ "error": text }))
            }
            Reply::Refused(why) => ("PostToolUseFailure", json!({ "error": why })),
        };
        self.tell(hook, step, used, event, more).await.map(drop)
    }

    async fn tell(
        &self,
        hook: &Hook,
        step: &Step,
        used: &Use,
        event: &str,
        more: Value,
    ) -> Result<Heard, Error> {
        let session = [self.case, step.agent.as_deref().unwrap_or_default()].concat();
        let mut payload = json!({
            "session_id": session, "transcript_path": "/srv/agent/transcript.jsonl",
            "cwd": "/srv/project", "permission_mode": "default", "hook_event_name": event,
            "tool_name": used.tool, "tool_input": used.input, "tool_use_id": used.id,
        });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        hook.tell(event, &used.tool, &payload).await
    }

    fn hooked(&self, step: &Step) -> Option<&'a Hook> {
        match self.way {
            Way::Gateway { hook, .. } if !step.past => hook,
            Way::Gateway { .. } | Way::Direct => None,
        }
    }
}
