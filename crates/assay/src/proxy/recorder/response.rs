//! Lines on their way back: which calls they answer, and how those ended.

use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::INTERNAL_ERROR;
use mcpproxy_notary::disclose::Side;
use mcpproxy_notary::receipt::{Answer, Mark, Outcome};

use super::{Fate, Keep, Line, Message, Recorder, echoed};
use crate::proxy::calls::Open;

impl Recorder {
    /// Records what a line that is at hand answers.
    pub(in crate::proxy) fn response(&self, line: &[u8]) -> Fate {
        self.answer(&self.read(line))
    }

    pub(super) fn answer(&self, line: &Line<'_>) -> Fate {
        let mut unrecorded = Vec::new();
        let brought_for = *self.brought();
        for message in &line.messages {
            let Some(id) = message
                .seen
                .id
                .as_ref()
                .filter(|_| message.seen.method.is_none())
            else {
                continue;
            };
            let open = self.calls().answered(id, brought_for);
            let Some(open) = open else { continue };
            if let Err(fault) = self.ended(open, message, line) {
                self.tell(Some(fault));
                unrecorded.push(id.clone());
            }
        }
        if unrecorded.is_empty() || !self.settings.strict {
            return Fate::Forward;
        }
        let message = "the result is withheld: its receipt cannot be recorded";
        let answers: Vec<_> = unrecorded
            .iter()
            .map(|id| compose::error(echoed(id).as_deref(), INTERNAL_ERROR, message, None))
            .collect();
        Fate::Refuse(Some(match answers.as_slice() {
            [one] if !line.batch => one.to_vec(),
            all => [b"[", all.join(&b","[..]).as_slice(), b"]"].concat(),
        }))
    }

    fn ended(
        &self,
        open: Open,
        message: &Message,
        line: &Line<'_>,
    ) -> Result<(), mcpproxy_notary::NotaryError> {
        let seen = &message.seen;
        let mut marks: Vec<Mark> = open
            .cancelled
            .map(|_| Mark::Cancelled)
            .into_iter()
            .chain(open.refused.then_some(Mark::UpstreamFailed))
            .chain(open.ambiguous.then_some(Mark::Ambiguous))
            .collect();
        let keep = if self.settings.keep_results {
            Keep::All
        } else {
            Keep::Nothing
        };
        let span = seen.error.clone().or_else(|| seen.result.clone());
        let neither = span.is_none();
        let both = seen.error.is_some() && seen.result.is_some();
        let bytes = line.text.map(|text| match span {
            Some(span) => text.get(span).unwrap_or_default(),
            None => b"null",
        });
        let result = self.evidence(bytes, message.hashed, &keep, &mut marks);
        self.commit(&open.ticket.call().invocation_id, Side::Result, bytes);
        let unread = neither || both || seen.doubtful || line.trouble.is_some();
        marks.extend(unread.then_some(Mark::Uninspected));
        let answer = Answer {
            result,
            replaced_by: None,
            observed_at: line.wall,
            duration: open.since.until(line.tick),
        };
        let outcome = if seen.error.is_some() || seen.failed() || neither {
            Outcome::Error(answer)
        } else {
            Outcome::Forwarded(answer)
        };
        self.ledger.outcome(open.ticket, outcome, &marks)
    }
}
