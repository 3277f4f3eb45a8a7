//! What a receipt tells of a call, and the port behind which receipts are written.
//!
//! Beside the activity log, which is for looking things up, receipts are evidence: signed, chained,
//! and made to be shown to others. How they look is for the notary to know.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::activity::{Later, SinkFault};
use crate::call::{Call, Door, ToolRef};
use crate::clock::Wall;
use crate::hook::Hooked;
use crate::id::CallId;
use crate::verdict::Verdict;
use crate::who::SessionKey;

/// A call as its receipt tells of it: cheap to make, since what is long is shared.
#[derive(Clone, Debug)]
pub struct Deed {
    /// Names the call in the activity log.
    pub id: CallId,
    /// Counts the retries of one invocation.
    pub leg: u8,
    /// When the door received it.
    pub at: Wall,
    /// When it was decided about.
    pub decided_at: Wall,
    /// The door it came through.
    pub door: Door,
    /// The name of the verified caller.
    pub principal: Arc<str>,
    /// The conversation it belongs to.
    pub session: SessionKey,
    /// What it is addressed to.
    pub tool: ToolRef,
    /// The id that ties together everything about one request, where it is not the call's own.
    pub correlation_id: Option<Arc<str>>,
    /// What the agent's hook said, for what came through one.
    pub hook: Option<Arc<Hooked>>,
    /// The id under which the upstream knows the request.
    pub ticket: Option<u64>,
    /// The raw id under which whoever called knows it.
    pub asked_as: Option<Box<str>>,
    /// What is odd about the message.
    pub oddities: Vec<Oddity>,
    /// The message.
    pub raw: Bytes,
    /// Where the arguments stand in it; nothing where there are none.
    pub arguments: Range<usize>,
    /// What was decided.
    pub verdict: Arc<Verdict>,
}

impl Deed {
    /// Tells of a call whose arguments stand at `arguments` in its message.
    pub fn new(
        call: &Call,
        arguments: Range<usize>,
        verdict: &Arc<Verdict>,
        decided_at: Wall,
    ) -> Self {
        Self {
            id: call.id,
            leg: call.leg,
            at: call.at,
            decided_at,
            door: call.door,
            principal: Arc::clone(&call.who.name),
            session: call.session,
            tool: call.tool.clone(),
            correlation_id: call.trace.correlation_id.clone(),
            hook: call.hook.clone(),
            ticket: call.wire.ticket,
            asked_as: call.trace.asked_as.clone(),
            oddities: Vec::new(),
            raw: call.wire.raw.clone(),
            arguments,
            verdict: Arc::clone(verdict),
        }
    }
}

/// What is odd about a message that was refused for its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// It has no id, so that nobody could be answered.
    NoId,
    /// Another one in flight has the same id.
    DuplicateId,
    /// It came in a batch.
    Batched,
    /// It cannot be read by everybody alike.
    Unread,
}

/// Why no answer came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The deadline passed.
    TimedOut,
    /// Whoever called does not want it any more.
    Cancelled,
    /// The upstream, or the way to it, failed.
    Failed,
    /// An order of the operator ended it.
    Stopped,
}

/// That no answer came back, and why in safe words.
#[derive(Clone, Copy, Debug)]
pub struct Unanswered<'a> {
    /// Why.
    pub cause: Cause,
    /// The same in words.
    pub words: &'a str,
}

/// What became of an answer on its way to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passing {
    /// It was passed on as it came.
    Whole,
    /// This was passed on instead, exact bytes.
    Changed(Box<Bytes>),
    /// Nothing of it was.
    Withheld,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// With an answer.
    Answered {
        /// The result or error value, exact bytes.
        body: Bytes,
        /// Whether it is an error, or says that it is one.
        is_error: bool,
        /// What became of it.
        passing: Passing,
        /// How long it took.
        took: Duration,
    },
    /// Without one.
    Unanswered {
        /// Why.
        cause: Cause,
        /// How long it was waited for.
        took: Duration,
    },
    /// With an error of our own, before it was sent.
    Unsent {
        /// The error value, exact bytes.
        body: Bytes,
        /// Why, unless the fault is ours.
        cause: Option<Cause>,
        /// How long it took to find out.
        took: Duration,
    },
    /// The tool was used, and what it gave was told by an agent's hook.
    Reported {
        /// What it gave, if that was told.
        body: Option<Bytes>,
        /// Whether it is an error.
        is_error: bool,
    },
}

/// Where receipts are written. In strict mode each of these resolves once the receipt is on disk;
/// in relaxed mode at once.
pub trait ReceiptSink: Send + Sync + fmt::Debug {
    /// Records that a call is about to leave. If this fails it must not leave.
    fn intent(&self, deed: Deed) -> Later<'_, Result<(), SinkFault>>;

    /// Records that a call may not leave.
    fn denied(&self, deed: Deed) -> Later<'_, Result<(), SinkFault>>;

    /// Records how a call ended. If this fails its answer must not be released.
    fn outcome(&self, deed: Deed, ended: Ended) -> Later<'_, Result<(), SinkFault>>;

    /// Says why receipts are being lost, while they are.
    fn problem(&self) -> Option<String>;

    /// Finds the receipts of a call that was made then; the error says why they cannot be read.
    fn find(&self, call: CallId, at: Wall) -> Later<'_, Result<Vec<Receipted>, String>>;
}

/// A receipt as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipted {
    /// Its line, which is JSON.
    pub line: String,
    /// The name of the pack that it is in, once it is in one.
    pub pack: Option<String>,
    /// The proof that it is in that pack, which is JSON.
    pub proof: Option<String>,
}

impl Receipted {
    /// Takes the line of a receipt that is in no pack yet.
    pub fn new(line: &str) -> Self {
        Self {
            line: line.to_owned(),
            pack: None,
            proof: None,
        }
    }
}

/// When packs are made of the receipts, beside the end of a session: `session`, `5m` or `100r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackInterval {
    /// At the end only.
    Session,
    /// Also after so many minutes.
    Minutes(u32),
    /// Also after so many receipts.
    Receipts(u32),
}

impl FromStr for PackInterval {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected `session`, `Nm` (minutes) or `Nr` (receipts)";
        if text == "session" {
            return Ok(Self::Session);
        }
        let end = text.len().saturating_sub(1);
        let (number, unit) = text.split_at_checked(end).ok_or(WRONG)?;
        let plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u32 = number.parse().ok().filter(|_| plain).ok_or(WRONG)?;
        match (number, unit) {
            (0, "m" | "r") => Err("an interval is at least one"),
            (minutes, "m") => Ok(Self::Minutes(minutes)),
            (receipts, "r") => Ok(Self::Receipts(receipts)),
            _ => Err(WRONG),
        }
    }
}

impl fmt::Display for PackInterval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => formatter.write_str("session"),
            Self::Minutes(minutes) => write!(formatter, "{minutes}m"),
            Self::Receipts(receipts) => write!(formatter, "{receipts}r"),
        }
    }
}

impl<'de> Deserialize<'de> for PackInterval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Serialize for PackInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for PackInterval {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PackInterval".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`session`, or a number of minutes such as `5m` or of receipts such as `100r`.",
            "type": "string",
            "pattern": "^(session|[0-9]+[mr])$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_sessions_minutes_or_receipts() {
        let check = |text: &str, expect: Option<PackInterval>| {
            assert_eq!(text.parse().ok(), expect, "{text}");
            if let Some(interval) = expect {
                assert_eq!(interval.to_string(), text);
            }
        };
        check("session", Some(PackInterval::Session));
        check("5m", Some(PackInterval::Minutes(5)));
        check("100r", Some(PackInterval::Receipts(100)));
        let wrong = ["", "m", "0m", "0r", "5", "5h", "-1m", "+1m", "1.5m", "é"];
        for wrong in wrong.into_iter().chain(["99999999999m"]) {
            check(wrong, None);
        }
    }
}
