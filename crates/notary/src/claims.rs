//! The claim card `mcp_session_completeness`: a fold over a session's lines.

use std::collections::BTreeSet;

use crate::json::Json;
use crate::read::Read;

/// What the card looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    lines: u64,
    /// The number that the next line must have.
    next: Option<u64>,
    gaps: u64,
    started: bool,
    /// What the session's last word says, once it is there.
    complete: Option<bool>,
    ending: Option<Ending>,
    calls: u64,
    /// Intents whose receipt has not come.
    open: BTreeSet<String>,
    /// Lines after the session's end that are not checkpoints.
    late: u64,
}

/// What the session's last word says beside whether it is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Why it ended.
    pub reason: String,
    /// How many receipts could not be written.
    pub lost: u64,
    /// How many bytes a start found behind the receipts that did not continue them.
    pub dropped: u64,
}

impl Ending {
    fn read(line: Read<'_>) -> Self {
        let number = |name: &str| line.number(name).unwrap_or(0);
        Self {
            reason: line.text("reason").unwrap_or_default().into_owned(),
            lost: number("receipts_lost"),
            dropped: number("bytes_dropped"),
        }
    }
}

impl Completeness {
    /// Looks at the next line.
    pub(crate) fn see(&mut self, line: Read<'_>) {
        let seq = line.number("seq");
        if let (Some(expect), Some(seq)) = (self.next, seq) {
            self.gaps += u64::from(seq != expect);
        }
        self.next = seq.map(|seq| seq.saturating_add(1));
        self.lines += 1;
        let kind = line.text("type").unwrap_or_default();
        self.late += u64::from(self.complete.is_some() && kind != "mcp.checkpoint");
        let invocation = || line.text("invocation_id").unwrap_or_default().into_owned();
        match kind.as_ref() {
            "mcp.session_start" => self.started |= self.lines == 1,
            "mcp.session_end" => {
                self.complete = line.flag("session_complete");
                self.ending = Some(Ending::read(line));
            }
            "mcp.tool_intent" => {
                self.open.insert(invocation());
            }
            "mcp_tool_call" => {
                self.calls += 1;
                self.open.remove(&invocation());
            }
            _ => {}
        }
    }

    /// Tells whether the session's last word was seen.
    pub fn ended(&self) -> bool {
        self.complete.is_some()
    }

    /// Returns what the session's last word says.
    pub fn session_complete(&self) -> Option<bool> {
        self.complete
    }

    /// Returns what else it says.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Tells whether the claim holds: start and end are there, no number is left out, and every
    /// call that was announced has its receipt.
    pub fn holds(&self) -> bool {
        self.started && self.ended() && self.gaps == 0 && self.open.is_empty() && self.late == 0
    }

    /// Says what is missing.
    pub fn message(&self) -> String {
        let (open, gaps) = (self.open.len(), self.gaps);
        let what = if !self.started {
            "the session's start is missing".to_owned()
        } else if !self.ended() {
            "the session's end is missing".to_owned()
        } else if gaps > 0 {
            format!("{gaps} numbers are left out")
        } else if open > 0 {
            format!("{open} calls have no receipt")
        } else if self.late > 0 {
            format!("{} receipts come after the session's end", self.late)
        } else {
            "the session is complete".to_owned()
        };
        format!("mcp_session_completeness: {what}")
    }

    /// Returns the card for machines.
    pub fn json(&self) -> Json {
        Json::Object(vec![
            ("claim", Json::text("mcp_session_completeness")),
            (
                "verdict",
                Json::text(if self.holds() { "PASS" } else { "FAIL" }),
            ),
            ("calls", Json::Number(self.calls)),
            (
                "calls_without_receipt",
                Json::Number(self.open.len().try_into().unwrap_or(u64::MAX)),
            ),
            ("gaps", Json::Number(self.gaps)),
            ("session_start", Json::Flag(self.started)),
            ("session_end", Json::Flag(self.ended())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is a type, and a number or an invocation where it has one.
    fn check(lines: &[&str], expect: &str) {
        let mut card = Completeness::default();
        for (seq, line) in lines.iter().enumerate() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            let seq = rest.parse().unwrap_or(seq);
            let text = format!(
                r#"{{"type":"{kind}","seq":{seq},"invocation_id":"{rest}","session_complete":true}}"#
            );
            card.see(Read::new(text.as_bytes()).unwrap());
        }
        assert_eq!(
            card.message(),
            format!("mcp_session_completeness: {expect}"),
            "{lines:?}"
        );
        assert_eq!(card.holds(), expect == "the session is complete");
    }

    #[test]
    fn the_card_says_what_is_missing() {
        let (start, end, checkpoint) = ("mcp.session_start", "mcp.session_end", "mcp.checkpoint");
        let (intent, receipt) = ("mcp.tool_intent a", "mcp_tool_call a");
        check(
            &[start, intent, receipt, end, checkpoint],
            "the session is complete",
        );
        check(&[start, receipt, end], "the session is complete");
        check(&[intent, receipt, end], "the session's start is missing");
        check(&[start, intent, receipt], "the session's end is missing");
        check(&[start, intent, end], "1 calls have no receipt");
        check(
            &[start, "mcp_tool_call 5", "mcp.session_end 6"],
            "1 numbers are left out",
        );
        let last = format!("{end} {}", u64::MAX);
        check(&[start, &last, &last], "1 numbers are left out");
        check(
            &[start, end, receipt],
            "1 receipts come after the session's end",
        );
    }
}
