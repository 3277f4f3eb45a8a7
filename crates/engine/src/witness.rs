//! Receipts of calls: what the engine tells whoever keeps evidence, and when.
//!
//! A receipt is for a `tools/call` and for what agents' hooks tell of tools. It comes after the
//! activity record, so that nothing has an intent here that was refused there. How receipts look,
//! and where they are kept, is behind the port.

use std::sync::Arc;

use mcpproxy_core::{
    Call, Deed, Ended, Later, MessageKind, Outcome, Passing, ReceiptSink, SinkFault, Status,
    Unanswered, Verdict,
};
use mcpproxy_text as text;

use crate::engine::{After, Engine};

impl Engine {
    /// Gives it somebody who keeps receipts.
    #[must_use]
    pub fn with_receipts(mut self, receipts: Arc<dyn ReceiptSink>) -> Self {
        self.receipts = Some(receipts);
        self
    }

    /// Has it recorded that a call is about to leave.
    pub(crate) async fn witness_intent(
        &self,
        call: &Call,
        verdict: &Arc<Verdict>,
    ) -> Result<(), SinkFault> {
        self.witness(call, verdict, |receipts, deed| receipts.intent(deed))
            .await
    }

    /// Has it recorded that a call may not leave.
    pub(crate) async fn witness_denial(
        &self,
        call: &Call,
        verdict: &Arc<Verdict>,
    ) -> Result<(), SinkFault> {
        self.witness(call, verdict, |receipts, deed| receipts.denied(deed))
            .await
    }

    /// Has it recorded how a call ended.
    pub(crate) async fn witness_end(
        &self,
        call: &Call,
        verdict: &Arc<Verdict>,
        ended: impl FnOnce() -> Ended,
    ) -> Result<(), SinkFault> {
        self.witness(call, verdict, |receipts, deed| {
            receipts.outcome(deed, ended())
        })
        .await
    }

    /// Tells of a call, if anybody keeps receipts, and waits no longer than the call may take.
    async fn witness(
        &self,
        call: &Call,
        verdict: &Arc<Verdict>,
        tell: impl for<'a> FnOnce(&'a dyn ReceiptSink, Deed) -> Later<'a, Result<(), SinkFault>>,
    ) -> Result<(), SinkFault> {
        let is_call =
            matches!(&call.kind, MessageKind::Request(method) if &**method == "tools/call");
        let Some(receipts) = self.receipts.as_ref().filter(|_| is_call) else {
            return Ok(());
        };
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let arguments = text::get(raw, &["params", "arguments"]);
        let arguments = arguments.map_or(0..0, |(_, span)| span);
        let deed = Deed::new(call, arguments, verdict, self.now().1);
        let kept = tell(&**receipts, deed);
        let kept = tokio::time::timeout(self.patience_for(call), kept).await;
        let late = || SinkFault::Unreceipted("they were not on disk in time".to_owned());
        kept.unwrap_or_else(|_| Err(late()))
    }
}

/// Says how a call ended that went to an upstream.
pub(crate) fn ended(outcome: &Outcome, problem: Option<Unanswered<'_>>, after: &After) -> Ended {
    if let Some(problem) = problem {
        return Ended::Unanswered {
            cause: problem.cause,
            took: outcome.took,
        };
    }
    Ended::Answered {
        body: outcome.body.clone(),
        is_error: outcome.status != Status::Success,
        passing: match after {
            After::Passed => Passing::Whole,
            After::Replaced(_) => Passing::Changed,
            After::Withheld(_) => Passing::Withheld,
        },
        took: outcome.took,
    }
}
