//! Receipts of calls: what the engine tells whoever keeps evidence, and when.
//!
//! A receipt is for a `tools/call` and for what agents' hooks tell of tools. It comes after the
//! activity record, so that nothing has an intent here that was refused there. What was answered
//! without being judged is told of by whoever answered it. How receipts look, and where they are
//! kept, is behind the port.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{
    Action, Call, Deed, Ended, Enforcement, Finding, FlowType, Later, Masked, MessageKind, Outcome,
    Passing, ReceiptSink, Risk, RiskLevel, SinkFault, Status, Tier, Unanswered, Verdict,
};
use mcpproxy_text as text;

use crate::engine::keeping::LEAST;
use crate::engine::{After, Engine};

/// What receipts name in place of a rule where nobody was asked.
const UNJUDGED: &str = "unjudged";

impl Engine {
    /// Gives it somebody who keeps receipts.
    #[must_use]
    pub fn with_receipts(mut self, receipts: Arc<dyn ReceiptSink>) -> Self {
        self.receipts = Some(receipts);
        self
    }

    /// Returns who keeps receipts, if anybody does.
    pub fn receipts(&self) -> Option<&dyn ReceiptSink> {
        self.receipts.as_deref()
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

    /// Has it recorded that a call is refused because the log does not take it.
    pub(crate) async fn witness_unrecorded(&self, call: &Call) -> Result<(), SinkFault> {
        let verdict = refusal("unrecorded", "the activity log cannot be written");
        self.witness_denial(call, &verdict).await
    }

    /// Tells whether anybody keeps receipts.
    pub fn is_witnessed(&self) -> bool {
        self.receipts.is_some()
    }

    /// Has it recorded what became of a call that was never judged: it ended, or it was refused.
    pub async fn witness_unjudged(
        &self,
        deed: Deed,
        ended: Option<Ended>,
    ) -> Result<(), SinkFault> {
        let Some(receipts) = &self.receipts else {
            return Ok(());
        };
        let kept = match ended {
            Some(ended) => receipts.outcome(deed, ended),
            None => receipts.denied(deed),
        };
        in_time(kept, LEAST).await
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
        in_time(tell(&**receipts, deed), self.patience_for(call)).await
    }
}

async fn in_time(
    kept: Later<'_, Result<(), SinkFault>>,
    patience: Duration,
) -> Result<(), SinkFault> {
    let late = || SinkFault::Unreceipted("they were not on disk in time".to_owned());
    let kept = tokio::time::timeout(patience, kept).await;
    kept.unwrap_or_else(|_| Err(late()))
}

/// Returns what receipts say of a call that was refused before the rules were asked.
pub fn refusal(rule: &'static str, reason: impl Into<String>) -> Arc<Verdict> {
    beforehand(rule, reason, Action::Deny)
}

/// Returns what receipts say of a call to which nobody objected, since nobody was asked.
pub fn unjudged() -> Arc<Verdict> {
    beforehand(UNJUDGED, "no rule was asked", Action::Allow)
}

fn beforehand(rule: &'static str, reason: impl Into<String>, wanted: Action) -> Arc<Verdict> {
    let finding = Finding {
        reason: Masked::from_safe(reason),
        ..Finding::new(rule, Tier::Guard, wanted)
    };
    Arc::new(Verdict {
        action: wanted,
        wanted,
        enforced: Enforcement::Enforced,
        decided_by: Some(0),
        findings: [finding].into(),
        risk: Risk {
            level: RiskLevel::None,
            score: 0,
        },
        flow: FlowType::None,
    })
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
            After::Replaced(instead) => Passing::Changed(Box::new(instead.clone())),
            After::Withheld(_) => Passing::Withheld,
        },
        took: outcome.took,
    }
}
