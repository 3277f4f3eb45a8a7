//! Hooks that are told instead of asked. A call hands over what it wants them to know and goes on;
//! what does not fit into the queue is dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpproxy_core::{SecurityDecision, SecurityViolation};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Semaphore, mpsc::error::TrySendError};

use crate::member::Member;
use crate::metrics::Metrics;
use crate::question::Question;

/// Messages that wait for one hook at most.
const WAITING: usize = 1024;
/// Bytes of messages that wait for one hook at most.
const WAITING_BYTES: usize = 16 * 1024 * 1024;
/// Nobody waits for the answer, so that only the hook's own timeout counts.
const ENDLESS: Duration = Duration::from_hours(1);

/// The queue in front of a hook that is told instead of asked.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Sender<Question>,
    bytes: Arc<AtomicUsize>,
}

impl Queue {
    /// Makes a queue and begins to tell; it ends when the queue is dropped.
    pub(crate) fn start(member: Arc<Member>, metrics: Arc<Metrics>) -> Self {
        let (waiting, questions) = channel(WAITING);
        let bytes = Arc::new(AtomicUsize::new(0));
        tokio::spawn(tell(member, metrics, questions, Arc::clone(&bytes)));
        Self { waiting, bytes }
    }

    /// Hands a message over; tells whether there was room.
    pub(crate) fn put(&self, question: Question) -> bool {
        let size = question.subject.size();
        let before = self.bytes.fetch_add(size, Ordering::Relaxed);
        if before.saturating_add(size) <= WAITING_BYTES {
            match self.waiting.try_send(question) {
                Ok(()) => return true,
                Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {}
            }
        }
        self.bytes.fetch_sub(size, Ordering::Relaxed);
        false
    }

    /// Returns how many messages wait.
    pub(crate) fn waiting(&self) -> usize {
        WAITING.saturating_sub(self.waiting.capacity())
    }
}

async fn tell(
    member: Arc<Member>,
    metrics: Arc<Metrics>,
    mut questions: Receiver<Question>,
    bytes: Arc<AtomicUsize>,
) {
    let at_once = Arc::new(Semaphore::new(member.limits.concurrency.max(1)));
    while let Some(question) = questions.recv().await {
        let Ok(slot) = Arc::clone(&at_once).acquire_owned().await else {
            return;
        };
        let (member, metrics) = (Arc::clone(&member), Arc::clone(&metrics));
        let bytes = Arc::clone(&bytes);
        tokio::spawn(async move {
            let _slot = slot;
            let size = question.subject.size();
            let said = member.ask(question, ENDLESS).await;
            bytes.fetch_sub(size, Ordering::Relaxed);
            if let Ok(decision) = said {
                note(&member, &metrics, &decision);
            }
        });
    }
}

/// Takes note of what a hook says too late to stop anything.
fn note(member: &Member, metrics: &Metrics, decision: &SecurityDecision) {
    let (SecurityDecision::Deny(SecurityViolation {
        rule_id,
        severity,
        threat_type,
        ..
    })
    | SecurityDecision::Ask(SecurityViolation {
        rule_id,
        severity,
        threat_type,
        ..
    })
    | SecurityDecision::AskOrDeny(SecurityViolation {
        rule_id,
        severity,
        threat_type,
        ..
    })) = decision
    else {
        return;
    };
    metrics.violation(*threat_type, *severity);
    let rule: String = rule_id
        .chars()
        .filter(char::is_ascii_graphic)
        .take(64)
        .collect();
    tracing::warn!("hook `{}` objects afterwards: `{rule}`", member.id);
}
