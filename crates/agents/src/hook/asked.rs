//! One payload, understood: what every agent's event comes down to.

use serde_json::Value;

use super::{HookAgent, HookEvent};

/// What an agent's hook asks or tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Who is to be answered, in its own protocol.
    pub agent: HookAgent,
    /// Who really runs the hook, where it is another: some agents also load Claude Code's file.
    /// Such an agent may ask twice about one call.
    pub borrowed_by: Option<HookAgent>,
    /// What the event means.
    pub event: HookEvent,
    /// What the agent calls it.
    pub event_name: String,
    /// The agent's name for the conversation; empty where it has none.
    pub session: String,
    /// Which tool is meant.
    pub tool: Tool,
    /// The arguments of the tool. Those of a tool behind MCP are exactly what the agent will send.
    pub input: Value,
    /// What the tool gave, or its error. A Cursor that is about to read a file already has it.
    pub response: Option<Value>,
    /// The agent's id of this call.
    pub tool_use_id: Option<String>,
    /// The folder in which the agent works.
    pub cwd: Option<String>,
    /// What the person wrote, of [`HookEvent::Prompt`].
    pub prompt: Option<String>,
    /// How much the agent may do without asking, in its own words.
    pub permission_mode: Option<String>,
    /// The helper agent that makes the call, where it is not the agent itself.
    pub subagent: Option<String>,
}

impl Asked {
    /// Says whether the agent tells of a tool that failed: by the event's name, or in the words in
    /// which agents mark what such a tool gave.
    pub fn has_failed(&self) -> bool {
        let told = |value: &Value| {
            let marked = ["is_error", "isError"]
                .iter()
                .any(|key| value[*key] == true);
            let words = ["failure", "denied", "rejected"];
            let kind = value["resultType"].as_str();
            marked || kind.is_some_and(|kind| words.contains(&kind)) || !value["error"].is_null()
        };
        self.event == HookEvent::Post
            && (self.event_name.to_ascii_lowercase().ends_with("failure")
                || self.response.as_ref().is_some_and(told))
    }
}

/// Which tool an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A tool that the agent brings along.
    ///
    /// Some agents do not mark what is behind MCP (`slack_post` or `slack-post`); who knows the
    /// names of the upstreams may find one in `spelled`.
    Own {
        /// The name under which the specification knows it (`Bash`, `Read`, `WebFetch`); the
        /// agent's own where there is none.
        name: String,
        /// As the agent spells it.
        spelled: String,
    },
    /// A tool behind MCP.
    Mcp {
        /// The upstream, as the agent names it; empty where it does not say.
        upstream: String,
        /// The tool.
        tool: String,
        /// Both, as the agent spells them.
        spelled: String,
    },
    /// The event is about no tool.
    None,
}

impl Tool {
    /// Returns the name as the agent spells it.
    pub fn spelled(&self) -> &str {
        match self {
            Self::Own { spelled, .. } | Self::Mcp { spelled, .. } => spelled,
            Self::None => "",
        }
    }
}
