//! What the agent's hook is asked and told, where it has one.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Playing, Through, Way};
use crate::agent::Reply;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::scenario::{Mode, Step};

impl<'a> Playing<'a> {
    /// Asks the agent's hook; says why not where the step does not go on.
    pub(super) async fn announce(
        &mut self,
        step: &Step,
        event: &Value,
    ) -> Result<Option<Through>, Error> {
        let Some((gateway, token)) = self.hooked(step).await? else {
            return Ok(None);
        };
        let event = self.event("PreToolUse", event);
        let began = Instant::now();
        let said = gateway.hook(&token, &event).await?;
        if said != "allow" {
            self.came.times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        Ok(match &*said {
            "deny" => Some(Through::No("denied by the hook".to_owned())),
            "ask" => {
                self.came.asked = true;
                Some(Through::No("the user was asked, and declined".to_owned()))
            }
            _ => None,
        })
    }

    /// Tells the agent's hook what a tool gave.
    pub(super) async fn report(
        &mut self,
        step: &Step,
        event: &Value,
        reply: &Reply,
    ) -> Result<(), Error> {
        let Some((gateway, token)) = self.hooked(step).await? else {
            return Ok(());
        };
        let mut event = self.event("PostToolUse", event);
        if let (Some(event), Reply::Result(result)) = (event.as_object_mut(), reply) {
            event.insert("tool_response".to_owned(), result.clone());
        }
        gateway.hook(&token, &event).await.map(drop)
    }

    fn event(&self, name: &str, event: &Value) -> Value {
        let mut whole = json!({ "session_id": self.case, "hook_event_name": name });
        if let (Some(whole), Some(event)) = (whole.as_object_mut(), event.as_object()) {
            whole.extend(event.clone());
        }
        whole
    }

    async fn hooked(&mut self, step: &Step) -> Result<Option<(&'a Gateway, String)>, Error> {
        match self.way {
            Way::Gateway {
                gateway,
                mode: Mode::Hooks,
                ..
            } if !step.past => {
                let token = self.token(gateway, step).await?;
                Ok(Some((gateway, token)))
            }
            Way::Gateway { .. } | Way::Direct => Ok(None),
        }
    }
}
