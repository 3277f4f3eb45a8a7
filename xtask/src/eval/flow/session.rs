//! A conversation, what is known about it, and what a gateway said to its calls.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// One conversation, in the form that `mcpproxy policy replay` reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) label: Label,
    pub(super) meta: Meta,
    pub(super) calls: Vec<Call>,
}

/// Whether something leaves that should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Label {
    Leak,
    Benign,
}

/// What is known about a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Meta {
    /// The set it belongs to.
    pub(super) set: String,
    /// Whether the design names the transformation.
    pub(super) named: bool,
    /// Whether the transformation is tried with the held-out table alone.
    pub(super) unseen: bool,
    /// The transformation, or the kind of harmless conversation.
    pub(super) group: String,
    /// What kind of data leaves.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) data: String,
    /// What it travels in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) carrier: String,
    /// Where it stands in there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) position: String,
    /// How many bytes it is after the transformation.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) bytes: usize,
    /// The calls with which it leaves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) leaks: Vec<usize>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One call and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Call {
    /// Missing where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    pub(super) tool: String,
    pub(super) args: Value,
    pub(super) result: Value,
}

impl Call {
    /// Makes a call to a tool of an upstream.
    pub(super) fn new(server: &str, tool: &str, args: Value, result: impl Into<Value>) -> Self {
        Self {
            server: Some(server.to_owned()),
            tool: tool.to_owned(),
            args,
            result: result.into(),
        }
    }
}

/// What should happen to a call; an ask that nobody can be asked stays an ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    #[default]
    Allow,
    Warn,
    Ask,
    Deny,
}

impl Wanted {
    /// Tells whether the call does not go through by itself.
    pub(super) fn is_stopped(self) -> bool {
        self >= Self::Ask
    }
}

/// What was said to one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    pub(super) wanted: Wanted,
    /// How the data was recognized, heaviest first, with encodings that were undone.
    pub(super) evidence: Vec<String>,
    /// The risk of the flow in a word, and why.
    pub(super) reason: String,
    pub(super) took: Duration,
}

/// Whoever judges conversations.
pub(super) trait Judge {
    /// Judges every call of a conversation, in order, from a fresh start.
    fn session(&mut self, session: &Session) -> anyhow::Result<Vec<Judged>>;
}
