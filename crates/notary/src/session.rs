//! The lines of a session that are not calls: its start, its end, and checkpoints between them.

use std::borrow::Cow;

use mcpproxy_core::Wall;

use crate::chain::Chain;
use crate::error::NotaryError;
use crate::hash::hex;
use crate::keys::{Signer, Succession};
use crate::layout::Last;
use crate::line::Line;
use crate::note::Checkpoint;
use crate::read::Read;
use crate::receipt::{Common, Outcome, random_id};
use crate::tree::Tree;

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The upstream ended or the connection was closed, in good order.
    Closed,
    /// SIGINT or SIGTERM, and everything in flight was answered.
    Interrupted,
    /// SIGINT, SIGTERM or the client's leaving, and not everything was answered in time or heard.
    Cut,
    /// The upstream failed, or a pipe broke.
    UpstreamFailed,
    /// The proxy failed.
    Failed,
    /// The proxy was killed; its successor wrote this.
    Recovered,
}

impl End {
    /// Returns the name that stands in the receipt.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Interrupted => "interrupted",
            Self::Cut => "cut",
            Self::UpstreamFailed => "upstream_failed",
            Self::Failed => "failed",
            Self::Recovered => "recovered",
        }
    }

    /// Tells whether the session was seen to its end.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Closed | Self::Interrupted)
    }
}

/// How many calls ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answered.
    pub forwarded: u64,
    /// Refused.
    pub denied: u64,
    /// Answered with an error.
    pub errors: u64,
    /// Not answered.
    pub timeouts: u64,
    /// Receipts that could not be written.
    pub lost: u64,
}

impl Counts {
    /// Returns how many calls have their receipt.
    pub fn calls(&self) -> u64 {
        self.forwarded + self.denied + self.errors + self.timeouts
    }

    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.add_name(outcome.name());
    }

    pub(crate) fn add_name(&mut self, outcome: &str) {
        match outcome {
            "forwarded" => self.forwarded += 1,
            "denied" => self.denied += 1,
            "error" => self.errors += 1,
            _ => self.timeouts += 1,
        }
    }
}

/// Renders the first line of a session.
pub(crate) fn start(
    common: &Common,
    profile: &str,
    last: Option<&Last>,
    signer: &Signer,
    at: Wall,
) -> Result<Line, NotaryError> {
    let mut line = common.line("mcp.session_start", &random_id("mss_")?, at);
    line.text("profile", profile)
        .optional("policy_hash", common.policy_hash.as_deref())
        .optional("previous_pack", last.map(|last| last.pack.as_str()))
        .optional("previous_root", last.map(|last| last.root.as_str()))
        .text("signer_id", signer.name())
        .text("signer_pubkey", &signer.public().base64());
    Ok(line)
}

/// Renders the statements by which keys were replaced until the signer's came.
pub(crate) fn successions(
    common: &Common,
    signer: &Signer,
    at: Wall,
) -> Result<Vec<Line>, NotaryError> {
    let render = |succession: &Succession| {
        let mut line = common.line("mcp.key_succession", &random_id("mks_")?, at);
        line.text("old_pubkey", &succession.old.base64())
            .text("new_pubkey", &succession.new.base64())
            .text("old_signature", &succession.signature());
        Ok(line)
    };
    signer.successions().iter().map(render).collect()
}

/// Renders the last word on a session.
pub(crate) fn end(
    common: &Common,
    end: End,
    complete: bool,
    counts: Counts,
    dropped: u64,
    at: Wall,
) -> Result<Line, NotaryError> {
    let mut line = common.line("mcp.session_end", &random_id("mse_")?, at);
    line.flag("session_complete", complete)
        .text("reason", end.name())
        .number("calls_forwarded", counts.forwarded)
        .number("calls_denied", counts.denied)
        .number("calls_error", counts.errors)
        .number("calls_timeout", counts.timeouts)
        .number("receipts_lost", counts.lost)
        .number("bytes_dropped", dropped);
    Ok(line)
}

/// Renders a checkpoint over all lines before it, and returns its note too.
pub(crate) fn checkpoint(
    common: &Common,
    chain: &Chain,
    signer: &Signer,
    closes: Option<&str>,
    at: Wall,
) -> Result<(Line, String), NotaryError> {
    let checkpoint = Checkpoint {
        origin: origin(&common.session_id),
        size: chain.size(),
        root: chain.tree().root(),
    };
    let note = checkpoint.sign(signer);
    let mut line = common.line("mcp.checkpoint", &random_id("mck_")?, at);
    line.number("tree_size", checkpoint.size)
        .text("root_hash", &format!("sha256:{}", hex(&checkpoint.root)))
        .text("checkpoint", &note)
        .optional("closes_pack", closes);
    Ok((line, note))
}

/// Returns the note of a checkpoint line, if it is of the tree before the line.
pub(crate) fn note_of<'a>(line: &Read<'a>, tree: &Tree) -> Option<Cow<'a, str>> {
    let note = line.text("checkpoint")?;
    let said = Checkpoint::read(&note).ok()?;
    let own = (tree.size(), tree.root());
    let printed = line.text("root_hash")? == format!("sha256:{}", hex(&own.1));
    let numbered = line.number("tree_size") == Some(own.0);
    ((said.size, said.root) == own && printed && numbered).then_some(note)
}

/// Names the log that a session is.
pub(crate) fn origin(session_id: &str) -> String {
    format!("mcpproxy.session/{session_id}")
}
