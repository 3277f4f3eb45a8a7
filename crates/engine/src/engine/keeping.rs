//! What is written down: records, summaries and habits, and what it means that one cannot be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpproxy_core::{
    Call, Cause, Durability, Outcome, Record, ResponseKind, SinkFault, Status, TraceNote,
};
use mcpproxy_detect::Detector;
use mcpproxy_flow::Summary;
use mcpproxy_hooks::guards::context;
use mcpproxy_text as text;

use super::{Engine, Judged};
use crate::chronicle::Happening;
use crate::pipeline::review;
use crate::ready::{EngineSettings, Ready};
use crate::record::record;

/// The least time that a record is given to reach the disk: a call whose deadline has passed is
/// put on record too.
pub(crate) const LEAST: Duration = Duration::from_secs(5);

/// How often what was learned about behaviour is written down, in milliseconds.
const KEEP_HABITS: u64 = 60_000;

/// What comes of calls, by how the log is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// They are put on record.
    Sound,
    /// They go on, and their records are lost.
    Losing,
    /// They are refused until the log can be written again.
    Refusing,
}

impl Engine {
    /// How many alerts were lost since the start, for whoever sends them to count.
    pub fn alerts_lost(&self) -> &Arc<AtomicU64> {
        &self.alerts_lost
    }

    /// Finds out whether a call can be written down, before it leaves.
    pub(super) async fn recordable(
        &self,
        call: &Call,
        judged: &Judged,
        ready: &Ready,
    ) -> Result<(), SinkFault> {
        match ready.settings.durability {
            Durability::Strict => self.intent(&ready.detector, call, judged).await,
            Durability::Relaxed => match self.sink.problem() {
                Some(why) if ready.settings.refuse_unrecorded => Err(SinkFault::Broken(why)),
                Some(_) | None => Ok(()),
            },
        }
    }

    /// Lets a call go on whose record was not taken, where the configuration says so; that it is
    /// lost is counted.
    pub(crate) fn settle(
        &self,
        kept: Result<(), SinkFault>,
        settings: &EngineSettings,
    ) -> Result<(), SinkFault> {
        match kept {
            Err(_) if !settings.is_closed() => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            kept => kept,
        }
    }

    /// Writes down, durably, that a call is about to leave.
    pub(super) async fn intent(
        &self,
        detector: &Detector,
        call: &Call,
        judged: &Judged,
    ) -> Result<(), SinkFault> {
        let nothing = self.unanswered(call, Status::Pending);
        let verdict = &judged.verdict;
        let mut record = record(detector, call, verdict, &nothing, None, &judged.detected);
        record.kind = "intent";
        self.keep(call, record, Durability::Strict).await
    }

    /// Hands a record to the log and waits for it, but no longer than the call may take: a disk
    /// that hangs must not hold its callers for ever.
    pub(crate) async fn keep(
        &self,
        call: &Call,
        record: Record,
        how: Durability,
    ) -> Result<(), SinkFault> {
        self.keep_traced(call, record, how, || traced(call)).await
    }

    /// The same for a call that went to an upstream, with how that ended.
    pub(super) async fn keep_ended(
        &self,
        call: &Call,
        record: Record,
        how: Durability,
        outcome: &Outcome,
        cause: Option<Cause>,
    ) -> Result<(), SinkFault> {
        let note = || TraceNote {
            code: code(outcome),
            cause,
            ..traced(call)
        };
        self.keep_traced(call, record, how, note).await
    }

    async fn keep_traced(
        &self,
        call: &Call,
        record: Record,
        how: Durability,
        note: impl FnOnce() -> TraceNote,
    ) -> Result<(), SinkFault> {
        let mut record = self.attributed(call, record);
        self.withhold(call, &mut record);
        self.events.recorded(&record);
        self.calls.count(&record);
        if let Some(tracer) = &self.tracer {
            tracer.ended(&record, &note());
        }
        let kept = self.sink.append(record, how);
        let kept = tokio::time::timeout(self.patience_for(call), kept).await;
        kept.unwrap_or(Err(SinkFault::Late))
    }

    /// Returns how long a disk may take with what is recorded of a call.
    pub(crate) fn patience_for(&self, call: &Call) -> Duration {
        let left = call.deadline.0.saturating_sub(self.clock.tick().0);
        left.max(LEAST)
    }

    /// Ends the sessions that have rested too long, and writes down what they came to.
    pub async fn sweep(&self) {
        self.ask_about_resting().await;
        self.record_lapsed().await;
        let ended = self.tracker.expire(self.clock.tick());
        self.summarize(ended).await;
        self.events
            .rest(self.overheard.load(Ordering::Relaxed), self.clock.tick());
        let now = self.clock.wall().0;
        let kept = self.habits_kept.load(Ordering::Relaxed);
        if now.abs_diff(kept) >= KEEP_HABITS {
            self.keep_habits().await;
        }
    }

    /// Puts on record that questions lapsed: each would wait for ever otherwise.
    pub async fn record_lapsed(&self) {
        for about in self.approvals.lapsed(self.clock.tick()) {
            let by = about.principal.clone();
            self.chronicle(Happening::Answered {
                about: Box::new(about),
                outcome: "lapsed",
                by,
                note: None,
            })
            .await;
        }
    }

    /// Writes down what was learned about everybody since the last time.
    pub(super) async fn keep_habits(&self) {
        let now = self.clock.wall();
        self.habits_kept.store(now.0, Ordering::Relaxed);
        let Some(store) = self.habit_store.clone() else {
            return;
        };
        let habits = Arc::clone(&self.habits);
        // It waits for the disk, which nobody else should.
        let kept = tokio::task::spawn_blocking(move || {
            let changed = habits.changed(now);
            if changed.is_empty() {
                return Ok(());
            }
            store.keep_habits(&changed)
        });
        match kept.await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => tracing::error!("habits are not kept: {fault}"),
            Err(fault) => tracing::error!("habits are not kept: {fault}"),
        }
    }

    /// Tells whether a resource that never changes was read for the first time.
    pub(crate) fn has_reads_to_keep(&self) -> bool {
        self.memory.has_news()
    }

    /// Writes down what resources that never change were when they were first read, before anybody has
    /// them.
    pub(crate) async fn keep_reads(&self) {
        let unkept = self.memory.unkept(self.clock.wall());
        let (Some(store), false) = (self.read_store.clone(), unkept.is_empty()) else {
            return;
        };
        let memory = Arc::clone(&self.memory);
        // It waits for the disk, which nobody else should.
        let kept = tokio::task::spawn_blocking(move || {
            let kept = store.keep_first_reads(&unkept);
            kept.inspect_err(|_| memory.give_back(&unkept))
        });
        let fault = match kept.await {
            Ok(Ok(())) => return,
            Ok(Err(fault)) => fault.to_string(),
            Err(fault) => fault.to_string(),
        };
        tracing::error!("what never changes is not kept, and a restart forgets it: {fault}");
    }

    /// Forgets what resources were at first where the owner says that none of them stays what it was.
    pub(super) fn forget_reads(&self, settings: &EngineSettings) {
        let context = settings.guards.context.as_ref();
        if !context.is_some_and(context::Settings::forgets) || !self.memory.forget() {
            return;
        }
        let forgotten = self
            .read_store
            .as_ref()
            .map(|store| store.forget_first_reads());
        if let Some(Err(fault)) = forgotten {
            tracing::error!("what never changed is not forgotten: {fault}");
        }
    }

    /// Ends every session: the process stops, and what was followed is not known afterwards. Sessions
    /// that are shared go on elsewhere: who sees them end writes down what they came to.
    pub async fn finish(&self) {
        self.approvals.end();
        self.record_lapsed().await;
        if self.is_shared() && !self.is_alone() {
            self.tell_all().await;
        } else {
            let ended = self.tracker.finish();
            self.summarize(ended).await;
        }
        self.keep_habits().await;
    }

    pub(super) async fn summarize(&self, ended: Vec<Summary>) {
        // All before any is forgotten: sessions that end together are linked until the last is told of.
        let records: Vec<_> = ended.iter().map(|one| self.closing(one)).collect();
        for summary in &ended {
            self.correlator.forget(summary.whose.session);
        }
        for (summary, record) in ended.iter().zip(records) {
            if !self.closes(summary.whose.session.id).await {
                continue;
            }
            self.events.recorded(&record);
            let kept = self.sink.append(record, Durability::Relaxed).await;
            if kept.is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Resolves once everything that was recorded before is on disk.
    pub async fn flush(&self) -> Result<(), SinkFault> {
        self.sink.flush().await
    }

    /// Says why records are being lost, while they are.
    pub fn record_problem(&self) -> Option<String> {
        let lost = self.lost.load(Ordering::Relaxed);
        let lost = (lost > 0).then(|| format!("{lost} records were lost: the queue was full"));
        let unreceipted = self
            .receipts
            .as_ref()
            .and_then(|receipts| receipts.problem());
        self.sink.problem().or(lost).or(unreceipted)
    }

    /// Says why old records are not dropped that should be, while they are not.
    pub fn record_doubt(&self) -> Option<String> {
        self.sink.doubt()
    }

    /// Says what comes of calls while the log is as it is.
    pub fn recording(&self) -> Recording {
        if self.sink.problem().is_none() {
            return Recording::Sound;
        }
        if self.ready.load().settings.is_closed() {
            return Recording::Refusing;
        }
        Recording::Losing
    }

    /// Returns how many records wait to be written.
    pub fn records_waiting(&self) -> usize {
        self.sink.waiting()
    }

    /// Returns how many records were lost since the start.
    pub fn records_lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed) + self.sink.lost()
    }
}

/// What a trace needs to know of a call: whose part it is, and the id it left under.
fn traced(call: &Call) -> TraceNote {
    let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
    let parent = match &call.trace.traced {
        Some(traced) => traced.parent.as_deref(),
        None => text::get(raw, &["params", "_meta", "traceparent"]).map(|(parent, _)| parent),
    };
    let parent = parent.and_then(text::string);
    TraceNote {
        parent: parent.map(|parent| parent.into_owned().into()),
        request: call.wire.ticket,
        code: None,
        cause: None,
    }
}

/// Returns the code of an error of the protocol.
fn code(outcome: &Outcome) -> Option<i64> {
    let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
    let is_error = review::kind(outcome) == ResponseKind::Error;
    let code = is_error.then(|| text::get(body, &["code"])).flatten();
    code.and_then(|(raw, _)| raw.parse().ok())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn only_an_error_of_the_protocol_has_a_code() {
        let check = |status: Status, body: &'static str, expect: Option<i64>| {
            let outcome = Outcome {
                body: Bytes::from_static(body.as_bytes()),
                status,
                took: Duration::ZERO,
            };
            assert_eq!(code(&outcome), expect, "{body}");
        };
        let error = r#"{"code":-32601,"message":"no such method"}"#;
        check(Status::Error, error, Some(-32601));
        check(Status::Success, error, None);
        let says = r#"{"content":[],"isError":true,"code":1,"message":"x"}"#;
        check(Status::Error, says, None);
        check(Status::Error, "", None);
    }
}
