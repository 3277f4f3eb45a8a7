//! What can be asked of the activity log, and the port behind which its readers stand.
//!
//! How a question is answered is for `store` to know, who may ask for `control`.

use std::fmt;

use crate::clock::Wall;
use crate::count::{CountQuery, Counted};
use crate::id::CallId;

/// A property of records by which they can be picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The type of the record.
    Kind,
    /// The door.
    Source,
    /// The upstream.
    Upstream,
    /// The tool, prompt or resource.
    Tool,
    /// The conversation.
    Session,
    /// The session of the protocol, where the conversation is that of a hook.
    McpSession,
    /// The verified caller.
    Principal,
    /// How the call ended.
    Status,
    /// What was decided.
    Decision,
    /// The direction in which data moved.
    FlowType,
    /// The risk of the flow.
    RiskLevel,
    /// The operation that the agent declared.
    Operation,
    /// Whether sensitive data was found.
    Sensitive,
    /// The weight of the heaviest finding.
    Severity,
    /// The types of sensitive data that were found.
    Detection,
    /// The request.
    Request,
    /// The call that it is part of.
    Parent,
    /// The agent whose hook told of it.
    Agent,
}

impl Field {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Kind,
        Self::Source,
        Self::Upstream,
        Self::Tool,
        Self::Session,
        Self::McpSession,
        Self::Principal,
        Self::Status,
        Self::Decision,
        Self::FlowType,
        Self::RiskLevel,
        Self::Operation,
        Self::Sensitive,
        Self::Severity,
        Self::Detection,
        Self::Request,
        Self::Parent,
        Self::Agent,
    ];

    /// Returns the name under which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kind => "type",
            Self::Source => "source",
            Self::Upstream => "server",
            Self::Tool => "tool",
            Self::Session => "session_id",
            Self::McpSession => "mcp_session_id",
            Self::Principal => "principal",
            Self::Status => "status",
            Self::Decision => "decision",
            Self::FlowType => "flow_type",
            Self::RiskLevel => "risk_level",
            Self::Operation => "intent_type",
            Self::Sensitive => "sensitive_data",
            Self::Severity => "severity",
            Self::Detection => "detection_type",
            Self::Request => "request_id",
            Self::Parent => "parent_id",
            Self::Agent => "agent",
        }
    }

    /// Returns the values that it can have, mildest first; nothing where any text can stand.
    pub fn known(self) -> Option<&'static [&'static str]> {
        Some(match self {
            Self::Kind => &[
                "tool_call",
                "message",
                "intent",
                "policy_decision",
                "quarantine_change",
                "tool_quarantine_change",
                "server_change",
                "system_start",
                "system_stop",
                "config_change",
                "hook_evaluation",
                "flow_summary",
                "approval",
                "auditor_finding",
            ],
            Self::Source => &["mcp", "cli", "api", "hook", "internal"],
            Self::Status => &["success", "error", "blocked", "rejected", "pending"],
            Self::Decision => &["allow", "warn", "ask", "deny"],
            Self::FlowType => &[
                "none",
                "internal→internal",
                "external→external",
                "external→internal",
                "internal→external",
            ],
            Self::RiskLevel => &["none", "medium", "high", "critical"],
            Self::Operation => &["read", "write", "destructive"],
            Self::Sensitive => &["false", "true"],
            Self::Severity => &["info", "low", "medium", "high", "critical"],
            Self::Upstream
            | Self::Tool
            | Self::Session
            | Self::McpSession
            | Self::Principal
            | Self::Detection
            | Self::Request
            | Self::Parent
            | Self::Agent => return None,
        })
    }
}

/// The order in which records are given, the newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// That in which they were written, which is that in which calls ended.
    #[default]
    Written,
    /// That of their own times, which is that in which calls began. What has the same time stands
    /// in the order in which it was written.
    Begun,
}

/// A place between two records of an answer, from which the next page goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The time of the record before, where records are in the order of their times. It is kept with
    /// the place, since the record may be dropped before the next page is asked for.
    pub at: Option<Wall>,
    /// The place of the record before.
    pub place: u64,
}

impl Cursor {
    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain =
            |text: &&str| text.len() < 19 && text.bytes().all(|one| one.is_ascii_digit());
        let number = |text: &str| Some(text).filter(is_plain)?.parse::<u64>().ok();
        Some(match text.split_once('-') {
            Some((at, place)) => Self {
                at: Some(Wall(number(at)?)),
                place: number(place)?,
            },
            None => Self::from(number(text)?),
        })
    }
}

impl From<u64> for Cursor {
    fn from(place: u64) -> Self {
        Self { at: None, place }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Wall(at)) = self.at {
            write!(formatter, "{at}-")?;
        }
        write!(formatter, "{}", self.place)
    }
}

/// A question to the log: records that have one of the values in every field that is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    /// The fields, each with the values that it may have.
    pub wanted: Vec<(Field, Vec<String>)>,
    /// Not before this time.
    pub from: Option<Wall>,
    /// Not after this time.
    pub to: Option<Wall>,
    /// The order of the answer.
    pub order: Order,
    /// Only records that come after this place in that order.
    pub before: Option<Cursor>,
    /// How many of the newest are left out.
    pub skip: usize,
    /// How many are wanted at most.
    pub limit: usize,
}

impl ActivityQuery {
    /// Tells whether records of one or more types are asked for.
    pub fn asks_for_types(&self) -> bool {
        let mut wanted = self.wanted.iter();
        wanted.any(|(field, _)| *field == Field::Kind)
    }

    /// Tells whether intents can be in the answer without being asked for by their type: what is about
    /// to leave is pending.
    pub fn may_meet_intents(&self) -> bool {
        let mut wanted = self.wanted.iter();
        let is_pending = |values: &[String]| values.iter().any(|one| one == "pending");
        !self.asks_for_types()
            && wanted.all(|(field, values)| *field != Field::Status || is_pending(values))
    }
}

/// Some records of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityPage {
    /// The records, each as a JSON object.
    pub records: Vec<String>,
    /// The place from which to go on; nothing where there are no more.
    pub next: Option<Cursor>,
    /// How many records are known to have been lost, ever.
    pub lost: u64,
}

/// Why the log could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFault(pub String);

impl fmt::Display for ReadFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot read the activity log: {}", self.0)
    }
}

impl std::error::Error for ReadFault {}

/// Where activity records are read. Every method waits for the disk.
pub trait ActivityReader: Send + Sync + fmt::Debug {
    /// Returns the newest records that a question is about, newest first by its order.
    fn page(&self, query: &ActivityQuery) -> Result<ActivityPage, ReadFault>;

    /// Counts all records that a question is about, however many.
    fn count(&self, asked: &CountQuery) -> Result<Counted, ReadFault>;

    /// Returns what was last written about a call.
    fn get(&self, id: CallId) -> Result<Option<String>, ReadFault>;

    /// Returns the records that were written after the one at a place, oldest first.
    fn tail(&self, after: u64, limit: usize) -> Result<ActivityPage, ReadFault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        let timed = Cursor {
            at: Some(Wall(7)),
            place: 9,
        };
        for (cursor, text) in [(timed, "7-9"), (Cursor::from(12), "12")] {
            assert_eq!(cursor.to_string(), text);
            assert_eq!(Cursor::parse(text), Some(cursor));
        }
        for odd in ["", "-", "1-", "-1", "1-2-3", "x", "1-x"] {
            assert_eq!(Cursor::parse(odd), None, "{odd}");
        }
    }
}
