//! Agents' hooks: what they send, what they must be answered, and how ours gets into their files.
//!
//! The way of an event: [`read`] understands the payload, the daemon decides, [`reply`] says it in
//! the agent's own protocol. What one agent does differently is in its adapter, one file each.
//! Nothing here decides, opens a socket, or knows whether a daemon runs.

mod adapter;
mod agent;
mod asked;
mod error;
mod event;
mod read;
mod reply;

mod command;
mod merge;
mod original;
mod plan;
mod snippet;
mod spot;
mod status;
mod target;

mod claude_agent_sdk;
mod claude_code;
mod cline;
mod codex;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod goose;
mod kiro;
mod opencode;
mod vscode;
mod windsurf;

mod payload;
mod tools;

pub use agent::HookAgent;
pub use asked::{Asked, Tool};
pub use command::{DEADLINE, FailMode, HookCommand, TIMEOUT, quoted};
pub use error::HookError;
pub use event::HookEvent;
pub use mcpproxy_core::Action as Ruling;
pub use plan::{HookFile, HookPlan, carry_out, is_present, plan_install, plan_uninstall, scopes};
pub use read::{MAX_PAYLOAD, read};
pub use reply::{Reply, reply};
pub use status::{HookStatus, Trust, status, status_all};

/// A tool that no agent has: whoever asks about it wants to know whether the hook blocks.
pub const CANARY: &str = "mcpproxy_canary";
