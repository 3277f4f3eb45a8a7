//! What each agent must say about its hooks. One adapter a file.

use std::path::PathBuf;

use mcpproxy_core::Action;
use serde_json::Value;

use super::payload::Payload;
use super::reply::Reply;
use super::status::Trust;
use super::target::{Setting, Target};
use super::{HookEvent, Tool, tools};
use crate::error::Error;
use crate::places::{Places, Scope};
use crate::tree::Node;

/// What a payload says, in the words of one agent.
pub(super) struct Heard {
    pub(super) session: Option<String>,
    pub(super) tool: Tool,
    pub(super) input: Option<Value>,
    pub(super) response: Option<Value>,
    pub(super) tool_use_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) prompt: Option<String>,
}

/// What an agent is to be told.
pub(super) struct Answer<'a> {
    pub(super) event: HookEvent,
    /// What the agent calls the event.
    pub(super) event_name: &'a str,
    pub(super) ruling: Action,
    /// Never empty.
    pub(super) reason: &'a str,
    /// Whether nothing is said where there is nothing against the call.
    pub(super) quiet: bool,
}

/// What an agent must say about its hooks.
pub(super) trait Adapter: Sync {
    /// Understands a payload. Most agents took Claude Code's names over.
    fn decode(&self, mut payload: Payload, _event_name: &str) -> Heard {
        Heard {
            session: payload.owned(&["session_id"]),
            tool: self.tool(&payload),
            input: payload.take(&["tool_input"]),
            response: payload.take(&["tool_response", "error"]),
            tool_use_id: payload.owned(&["tool_use_id"]),
            cwd: payload.owned(&["cwd"]),
            prompt: payload.owned(&["prompt"]),
        }
    }

    /// Finds the tool that a payload with Claude Code's names speaks of.
    fn tool(&self, payload: &Payload) -> Tool {
        payload.text(&["tool_name"]).map_or(Tool::None, tools::own)
    }

    /// Says a ruling in the agent's own protocol.
    fn encode(&self, answer: &Answer<'_>) -> Reply;

    /// Lists the files to write, and what goes into them.
    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error>;

    /// Lists files and folders that are there when the user has the agent.
    fn traces(&self, places: &Places) -> Vec<PathBuf>;

    /// Says what else in a file keeps our hook from running.
    fn obstacles(&self, _root: &Node) -> Vec<String> {
        Vec::new()
    }

    /// Says whether the agent takes no file with comments or commas too many.
    fn is_strict(&self) -> bool {
        false
    }

    /// Lists all files of settings that the agent reads and in which such a thing can stand, though
    /// our hook does not.
    fn settings(&self, _places: &Places) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Says what is left for the user to do.
    fn after_install(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lists files of other agents whose hooks this one runs too.
    fn borrows(&self, _places: &Places) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Says whether the agent trusts the hooks of ours that stand at these places of the file.
    fn trust(&self, _places: &Places, _scope: Scope, _spots: &[super::spot::Spot]) -> Trust {
        Trust::NotAsked
    }

    /// Returns after how many milliseconds a handler is given up, where it says so.
    fn timeout(&self, handler: &Node) -> Option<u64> {
        let seconds = handler.get("timeout")?.as_number()?;
        Some(seconds.saturating_mul(1_000))
    }
}
