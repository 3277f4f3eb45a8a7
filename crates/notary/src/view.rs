//! A session as its lines tell it, for people who read: calls in order, without judging the pack.
//!
//! Whoever prints this has verified the pack before, or says that it was not.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use crate::error::NotaryError;
use crate::file::plain;
use crate::pack::RECEIPTS;
use crate::read::Read;

/// The longest line that is looked at.
const LONGEST: u64 = 64 << 20;

/// One call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallView {
    /// The receipt.
    pub receipt_id: String,
    /// The tool; behind a gateway with its upstream in front, as `github/list_issues`.
    pub tool: String,
    /// Its upstream, behind a gateway; else it is the session's.
    pub server: Option<String>,
    /// When it was seen.
    pub at: String,
    /// How it ended.
    pub outcome: String,
    /// How long it took, in milliseconds.
    pub duration: Option<u64>,
    /// What the policy said.
    pub verdict: String,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// The digest of the arguments.
    pub arguments: String,
    /// The digest of the result.
    pub result: Option<String>,
    /// What else is to be known.
    pub marks: Vec<String>,
}

/// A session, or the part of it that a pack holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub session_id: String,
    /// The upstream.
    pub server_id: String,
    /// The profile, if the session's start is here.
    pub profile: Option<String>,
    /// The digest of the policy, if one was loaded.
    pub policy: Option<String>,
    /// The first and the last time that is told.
    pub times: Option<(String, String)>,
    /// Whether the session was seen to its end, once that is told.
    pub complete: Option<bool>,
    /// Why it ended.
    pub reason: Option<String>,
    /// Its calls.
    pub calls: Vec<CallView>,
    /// The pack that was made before this session, if it names one.
    pub previous: Option<String>,
    /// How many calls were announced and not ended here.
    pub open: u64,
    /// Whether its lines are chained: then the end of the session is a line of its own.
    pub chained: bool,
}

impl Session {
    /// Reads the pack in a folder, or a file of receipts.
    pub fn load(path: &Path) -> Result<Self, NotaryError> {
        let mut session = Self::default();
        let (mut intents, mut ended) = (0_u64, 0_u64);
        each_line(path, |line| {
            intents += u64::from(line.text("type").as_deref() == Some("mcp.tool_intent"));
            ended += u64::from(session.see(line));
        })?;
        session.open = intents.saturating_sub(ended);
        Ok(session)
    }

    /// Takes up a line; tells whether it ended a call that was announced.
    fn see(&mut self, line: Read<'_>) -> bool {
        let text = |name: &str| line.text(name).map(Cow::into_owned);
        if let Some(at) = text("timestamp") {
            let first = self
                .times
                .take()
                .map_or_else(|| at.clone(), |(first, _)| first);
            self.times = Some((first, at));
        }
        self.chained |= line.raw("prev_hash").is_some();
        if self.session_id.is_empty() {
            self.session_id = text("session_id").unwrap_or_default();
        }
        // The calls of a gateway have upstreams of their own.
        if self.server_id.is_empty() && line.raw("downstream_session_id").is_none() {
            self.server_id = text("server_id").unwrap_or_default();
        }
        if self.policy.is_none() {
            self.policy = text("policy_hash");
        }
        match line.text("type").unwrap_or_default().as_ref() {
            "mcp.session_start" => {
                self.profile = text("profile");
                self.previous = text("previous_pack");
            }
            "mcp.session_end" => {
                self.complete = line.flag("session_complete");
                self.reason = text("reason");
            }
            "mcp_tool_call" => {
                self.policy = text("policy_hash").or(self.policy.take());
                let call = CallView::read(line);
                let announced = call.outcome != "denied";
                self.calls.push(call);
                return announced;
            }
            _ => {}
        }
        false
    }
}

impl CallView {
    fn read(line: Read<'_>) -> Self {
        let optional = |name: &str| line.text(name).map(Cow::into_owned);
        let text = |name: &str| optional(name).unwrap_or_default();
        let marks = line.list("marks").unwrap_or_default();
        let gateway = line.raw("downstream_session_id").is_some();
        let server = optional("server_id").filter(|_| gateway);
        let tool = text("tool_name");
        Self {
            receipt_id: text("receipt_id"),
            tool: match &server {
                Some(server) => format!("{server}/{tool}"),
                None => tool,
            },
            server,
            at: text("request_observed_at"),
            outcome: text("outcome"),
            duration: line.number("duration_ms"),
            verdict: text("policy_verdict"),
            rule: optional("policy_ref"),
            reason: optional("policy_reason"),
            arguments: text("arguments_hash"),
            result: optional("result_hash"),
            marks: marks
                .into_iter()
                .filter_map(mcpproxy_text::string)
                .map(Cow::into_owned)
                .collect(),
        }
    }
}

/// Shows every line of a pack or of a file of receipts that can be read.
pub(crate) fn each_line(path: &Path, mut each: impl FnMut(Read<'_>)) -> Result<(), NotaryError> {
    let file = if path.is_dir() {
        path.join(RECEIPTS)
    } else {
        path.to_owned()
    };
    let failed = NotaryError::file("read", &file);
    let mut reader = BufReader::new(plain(&file).map_err(&failed)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .by_ref()
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .map_err(&failed)?;
        if read == 0 {
            return Ok(());
        }
        if let Some(line) = Read::new(line.trim_ascii_end()) {
            each(line);
        }
    }
}
