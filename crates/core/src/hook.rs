//! What an agent's hook tells about one use of a tool, and what is kept of it.
//!
//! How each agent writes it is for `agents` to know.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Action;

/// When a hook spoke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the tool is used: what is said now counts.
    #[default]
    Pre,
    /// After it was used: there is nothing left to stop.
    Post,
}

/// Whose tool an agent uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// The agent's own.
    Agent,
    /// An upstream's, through this gateway: the call itself comes by and is judged again.
    Gateway,
    /// An upstream's that the agent reaches by itself.
    Elsewhere,
}

/// What a hook said about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooked {
    /// The agent, as `claude-code`.
    pub agent: Arc<str>,
    /// When it spoke.
    pub phase: Phase,
    /// The event, as the agent calls it.
    pub event: Box<str>,
    /// The conversation, as the agent calls it.
    pub session: Box<str>,
    /// The use of the tool, as the agent calls it, if it does.
    pub tool_use: Option<Box<str>>,
    /// Whose tool it is.
    pub owner: Owner,
    /// Whether the agent tells that it failed.
    pub failed: bool,
    /// Where the links among the paths lead that the tool is given; nothing where they are too many, or
    /// that took too long to see.
    pub leads: Option<Vec<Box<str>>>,
    /// The folder in which the agent works.
    pub folder: Option<Box<str>>,
}

/// Whoever asked about a call, where one can see whether they still wait.
#[derive(Clone, Debug)]
pub struct Asker {
    /// The way back to them.
    pub way: Arc<dyn Waiting>,
    /// What they answer by themselves once they wait no longer.
    pub late: Action,
}

/// The way back to somebody who asked.
pub trait Waiting: fmt::Debug + Send + Sync {
    /// Tells whether there is still somebody at its end.
    fn is_open(&self) -> bool;
}

/// What a record says about the hook it came from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HookNote {
    /// The agent, as `claude-code`.
    pub agent: String,
    /// The event, as the agent calls it.
    pub event: String,
    /// When it spoke.
    pub phase: Phase,
    /// The conversation, as the agent calls it.
    pub session: String,
    /// The use of the tool, as the agent calls it, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Whose tool it is.
    pub owner: Owner,
    /// What the tool was taken for.
    pub classification: Classified,
}

/// What a tool was taken for, in one use of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Classified {
    /// Internal, external, hybrid or unknown.
    pub class: &'static str,
    /// How sure that is, from 0.0 to 1.0.
    pub confidence: f64,
    /// How it was found out.
    pub method: &'static str,
    /// Whether private data can be read through it.
    pub can_read_data: bool,
    /// Whether data can leave through it.
    pub can_exfiltrate: bool,
}

/// How much of what an agent does can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Its calls through this gateway.
    ProxyOnly,
    /// Its own tools as well.
    Full,
}

impl Coverage {
    /// Returns the name under which records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProxyOnly => "proxy_only",
            Self::Full => "full",
        }
    }
}

/// The file in the data folder in which hooks that could not ask leave word.
pub const GAPS: &str = "hook-gaps.jsonl";
/// The length at which that file is full: what comes after is not written, and that it is full tells
/// so.
pub const GAPS_FULL: u64 = 256 * 1024;

/// One use of a tool about which a hook could not ask.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Gap {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The agent, as `claude-code`.
    pub agent: String,
    /// The event, as the agent calls it.
    pub event: String,
    /// When it spoke.
    #[serde(default)]
    pub phase: Phase,
    /// The conversation, as the agent calls it; empty where that is not known.
    #[serde(default)]
    pub session: String,
    /// The tool, as the agent calls it; empty where that is not known.
    pub tool: String,
    /// Why it could not ask.
    pub cause: GapCause,
    /// What the agent was told instead.
    pub decision: Action,
    /// The name under which it asked, if it did: the gateway may have judged it all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

/// Why a hook could not ask.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GapCause {
    /// Nobody listens at the socket.
    Unreachable,
    /// No answer came in time.
    Slow,
    /// The answer was no answer.
    Garbled,
    /// What the agent sent is not understood.
    Malformed,
    /// What the agent sent is too large or too deep.
    TooLarge,
    /// The file in which hooks leave word had no room: there were more than it tells of.
    Full,
    /// Word was left, and cannot be read.
    Torn,
}

impl GapCause {
    /// Returns what a person is told.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Unreachable => "no gateway answers at the socket",
            Self::Slow => "the gateway did not answer in time",
            Self::Garbled => "the gateway's answer is not understood",
            Self::Malformed => "the agent's payload is not understood",
            Self::TooLarge => {
                "the agent's payload is too large, too deep or too odd to be looked at"
            }
            Self::Full => "the file in which hooks leave word was full: there were more",
            Self::Torn => "a hook left word that cannot be read",
        }
    }
}
