//! Steps that call tools.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Playing, Through, Way};
use crate::agent::Reply;
use crate::error::Error;
use crate::scenario::Step;

impl Playing<'_> {
    /// Calls a tool; it came through if it arrived.
    pub(super) async fn call(&mut self, step: &Step, call: &str) -> Result<Through, Error> {
        let (upstream, tool) = self.split(call)?;
        let arguments = Value::Object(step.args.clone());
        let (name, arguments, endpoint) = match (&step.operation, self.way_of(step)) {
            (_, Way::Direct) => (tool.clone(), arguments, upstream.clone()),
            (Some(operation), Way::Gateway { .. }) => {
                let args = json!({ "name": call, "args": arguments });
                (
                    format!("call_tool_{operation}"),
                    args,
                    "/mcp/call".to_owned(),
                )
            }
            (None, Way::Gateway { single: true, .. }) => {
                (tool.clone(), arguments, "/mcp".to_owned())
            }
            (None, Way::Gateway { single: false, .. }) => (
                format!("{upstream}__{tool}"),
                arguments,
                "/mcp/all".to_owned(),
            ),
        };
        let used = self.use_of(format!("mcp__mcpproxy__{name}"), arguments.clone());
        if let Some(no) = self.announce(step, &used).await? {
            return Ok(no);
        }
        let before = self.arrived(&upstream, &tool);
        // The session is opened before the clock starts.
        let agent = self.agent(step, &endpoint).await?;
        agent.answers.clone_from(&step.answers);
        let began = Instant::now();
        let reply = self
            .agent(step, &endpoint)
            .await?
            .call(&name, &arguments)
            .await;
        let waited = began.elapsed();
        self.report(step, &used, &reply).await?;
        if let (Some(told), Some(one)) = (&step.told, self.upstreams.get(&upstream))
            && one.received().iter().any(|raw| raw.contains(told.as_str()))
        {
            self.harmed(format!("`{upstream}` was told what it wanted"));
        }
        let after = self.arrived(&upstream, &tool);
        if after == before {
            if matches!(reply, Reply::Result(_)) {
                self.came.times.push(waited.as_secs_f64() * 1000.0);
            }
            return Ok(Through::No(reply.words()));
        }
        if step.needed && !reply.is_fine() {
            return Ok(Through::No(reply.words()));
        }
        Ok(Through::Yes)
    }
}
