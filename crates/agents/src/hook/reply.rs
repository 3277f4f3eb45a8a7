//! What the hook's command must write and how it must end, for each agent.
//!
//! The shapes that several agents share are here; which agent takes which is in its adapter. A
//! shared encoder would be unsafe: Codex lets a call pass when it sees one key that it does not
//! know.

use mcpproxy_core::Action;
use serde_json::{Value, json};

use super::adapter::Answer;
use super::{HookAgent, HookEvent};
use crate::shown::printable;

/// The most characters of a reason that an agent is told.
const MAX_REASON: usize = 2_000;

/// What the hook's command writes and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub exit: u8,
}

/// Says a ruling in an agent's own protocol.
///
/// `event_name` is the event as the agent spells it. With `quiet_allow` nothing is said where there
/// is nothing against the call, since an explicit leave would skip the agent's own question. Where
/// an agent cannot ask its user, `Ask` becomes a denial.
pub fn reply(
    agent: HookAgent,
    event: HookEvent,
    event_name: &str,
    ruling: Action,
    reason: &str,
    quiet_allow: bool,
) -> Reply {
    let reason = spoken(reason);
    agent.adapter().encode(&Answer {
        event,
        event_name,
        ruling,
        reason: &reason,
        quiet: quiet_allow,
    })
}

/// Makes a reason fit to be said: never empty, bounded, without what moves a cursor.
fn spoken(reason: &str) -> String {
    let short: String = reason.trim().chars().take(MAX_REASON).collect();
    if short.is_empty() {
        return "mcpproxy's policy does not let this call pass".to_owned();
    }
    printable(&short)
}

impl Reply {
    /// Says nothing.
    pub(super) fn silence() -> Self {
        Self::default()
    }

    /// Says something as JSON.
    pub(super) fn json(value: &Value) -> Self {
        Self {
            stdout: format!("{value}\n"),
            ..Self::default()
        }
    }

    /// Blocks by the exit code, with the reason on standard error.
    pub(super) fn blocked(reason: &str) -> Self {
        Self {
            stderr: format!("{reason}\n"),
            exit: 2,
            ..Self::default()
        }
    }
}

impl Answer<'_> {
    /// Says whether the event is one at which something can be stopped.
    pub(super) fn is_gate(&self) -> bool {
        matches!(self.event, HookEvent::Pre | HookEvent::Permission)
    }

    /// Returns what Claude Code and those who took its protocol over are told.
    pub(super) fn claude(&self) -> Reply {
        match self.event {
            HookEvent::Pre => self.claude_pre(),
            HookEvent::Permission => self.claude_permission(),
            HookEvent::Prompt => match self.ruling {
                Action::Deny => self.block(),
                Action::Warn | Action::Ask => self.message(),
                Action::Allow => Reply::silence(),
            },
            HookEvent::Post | HookEvent::SessionStart | HookEvent::SessionEnd => Reply::silence(),
        }
    }

    fn claude_pre(&self) -> Reply {
        let decision = match self.ruling {
            Action::Allow | Action::Warn => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        };
        match self.ruling {
            Action::Allow if self.quiet => Reply::silence(),
            Action::Warn if self.quiet => self.message(),
            Action::Allow => Reply::json(&json!({
                "hookSpecificOutput": {
                    "hookEventName": self.event_name,
                    "permissionDecision": decision,
                },
            })),
            Action::Warn => Reply::json(&json!({
                "hookSpecificOutput": {
                    "hookEventName": self.event_name,
                    "permissionDecision": decision,
                },
                "systemMessage": self.reason,
            })),
            Action::Ask | Action::Deny => Reply::json(&json!({
                "hookSpecificOutput": {
                    "hookEventName": self.event_name,
                    "permissionDecision": decision,
                    "permissionDecisionReason": self.reason,
                },
            })),
        }
    }

    /// The agent is about to ask its user anyway, so that `Ask` needs nothing said.
    fn claude_permission(&self) -> Reply {
        match self.ruling {
            Action::Deny => self.claude_decision(&json!({
                "behavior": "deny",
                "message": self.reason,
            })),
            Action::Allow if !self.quiet => self.claude_decision(&json!({ "behavior": "allow" })),
            Action::Warn => self.message(),
            Action::Allow | Action::Ask => Reply::silence(),
        }
    }

    /// Returns the answer to a question for leave, as Claude Code and Codex take it.
    pub(super) fn claude_decision(&self, decision: &Value) -> Reply {
        Reply::json(&json!({
            "hookSpecificOutput": {
                "hookEventName": self.event_name,
                "decision": decision,
            },
        }))
    }

    /// Returns what stops a prompt.
    pub(super) fn block(&self) -> Reply {
        Reply::json(&json!({ "decision": "block", "reason": self.reason }))
    }

    /// Returns a message to the person.
    pub(super) fn message(&self) -> Reply {
        Reply::json(&json!({ "systemMessage": self.reason }))
    }
}

#[cfg(test)]
mod tests;
