//! What `context-integrity` remembers, as several gateways remember it together: a log that everybody
//! reads and appends to before an answer is released. What stands in it is folded in its order, one's
//! own among it, so that of two answers at two gateways the second to be told is held to the first.
//!
//! Where the common store is lost, answers are held to what this gateway saw, and what it sees is told
//! when the store is back. What was seen in messages beside answers is told within a second.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Call, Id128, Journal, LiveFault, Nature, Outcome, Turn};
use mcpproxy_detect::Direction;
use mcpproxy_hooks::guards::context::{self, Context, Fact, Given, Look, Memory, Settings, told};
use mcpproxy_hooks::guards::poisoning::answers::Answered;
use mcpproxy_hooks::guards::watch::On;
use tokio::sync::Mutex as Waiting;

use crate::engine::Engine;
use crate::facts::{self, tool_name};
use crate::live::{LONGEST, Live};
use crate::marks;
use crate::ready::Ready;

/// The room of the log; scopes are digests, and none is this.
const ROOM: Id128 = Id128(4);
/// Entries of the log that are kept, and for how long when nobody adds to it.
const ENTRIES: usize = 16 * 1024;
const REST: Duration = Duration::from_hours(24);
/// Facts of one entry, and facts that wait to be told; past that the oldest go.
const TOGETHER: usize = 256;
const MOST_UNTOLD: usize = 32 * 1024;

/// The guard, and what of its memory is told to others.
#[derive(Debug)]
pub(crate) struct Integrity {
    pub(crate) guard: Context,
    journal: Waiting<Journal>,
    untold: Mutex<VecDeque<Fact>>,
    lost: AtomicBool,
}

impl Integrity {
    pub(crate) fn new(settings: Settings, memory: &Arc<Memory>) -> Self {
        Self {
            guard: Context::new(settings, Arc::clone(memory)),
            journal: Waiting::new(Journal::new(ROOM, ENTRIES)),
            untold: Mutex::default(),
            lost: AtomicBool::new(false),
        }
    }

    fn untold(&self) -> MutexGuard<'_, VecDeque<Fact>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps facts to be told.
    fn keep(&self, facts: Vec<Fact>) {
        let mut untold = self.untold();
        untold.extend(facts);
        let over = untold.len().saturating_sub(MOST_UNTOLD);
        untold.drain(..over);
    }

    /// Finds what an answer shows that is remembered.
    fn look(&self, call: &Call, body: &str, ready: &Ready) -> Look {
        Look {
            seen: self.guard.seen(call, body),
            given: self.given(call, body, ready),
        }
    }

    /// Finds the secrets of an answer.
    fn given(&self, call: &Call, body: &str, ready: &Ready) -> Given {
        if !self.guard.wants_secrets(call) {
            return Given::default();
        }
        let tool = tool_name(call);
        let around = facts::context(&tool, Direction::Response);
        let report = ready.detector.json(body, around);
        let marked = marks::marked(&ready.detector, body, &report);
        let secrets = marked.iter();
        let secrets = secrets.filter(|one| one.label.nature == Nature::Secret);
        Given::new(call, secrets.map(|one| (&*one.value, one.label.word)))
    }

    /// Tells what an answer shows and what waits, and folds what others told before.
    async fn meet(&self, live: &Live, look: &Look) {
        let met = tokio::time::timeout(LONGEST, self.exchanged(live, look)).await;
        let late = || LiveFault("others told too much to be heard at once".to_owned());
        let met = met.unwrap_or_else(|_| Err(late()));
        let lost = self.lost.swap(met.is_err(), Ordering::Relaxed);
        if let (Err(fault), false) = (met, lost) {
            tracing::warn!("answers are held to what this gateway saw alone: {fault}");
        }
    }

    async fn exchanged(&self, live: &Live, look: &Look) -> Result<(), LiveFault> {
        let mut journal = self.journal.lock().await;
        loop {
            self.keep(self.guard.news(look));
            let facts: Vec<Fact> = self.untold().iter().cloned().collect();
            let append = facts.chunks(TOGETHER).map(told).collect();
            let turn = journal.turn(live.store(), append, REST).await?;
            self.untold().drain(..facts.len());
            self.folded(&turn);
            // What others told may have made news of what was known.
            if !facts.is_empty() || self.guard.news(look).is_empty() {
                return Ok(());
            }
        }
    }

    fn folded(&self, turn: &Turn) {
        for entry in &turn.entries {
            self.guard.fold(entry);
        }
        if turn.forgot {
            self.keep(self.guard.all());
        }
    }
}

impl Engine {
    /// Finds what an answer shows that is remembered, and tells the other gateways before the caller
    /// has it; nothing where nothing is looked at. What breaks down here does so again where it is judged,
    /// and is contained there.
    pub(crate) async fn looked_at(
        &self,
        live: &Live,
        call: &Call,
        outcome: &Outcome,
        answered: &Answered,
        ready: &Ready,
    ) -> Option<Look> {
        let integrity = self.guarded().integrity().map(Arc::clone)?;
        let watch = ready.guards.watches().of(context::ID)?;
        if !ready.settings.enabled || outcome.body.is_empty() || !watch.runs_on(On::Response) {
            return None;
        }
        let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
        let body = answered.text.as_deref().unwrap_or(body);
        let look = || integrity.look(call, body, ready);
        let look = catch_unwind(AssertUnwindSafe(look)).ok()?;
        if !look.is_empty() {
            integrity.meet(live, &look).await;
        }
        Some(look)
    }

    /// Finds the secrets of a message that no other gateway was told of; they are told later.
    pub(crate) fn given(
        &self,
        integrity: &Integrity,
        call: &Call,
        body: &str,
        ready: &Ready,
    ) -> Given {
        let look = Look {
            given: integrity.given(call, body, ready),
            ..Look::default()
        };
        if self.is_shared() {
            integrity.keep(integrity.guard.news(&look));
        }
        look.given
    }

    /// Tells the others what waits, and folds what they told.
    pub(crate) async fn share_context(&self, live: &Live) {
        let integrity = self.guarded().integrity().map(Arc::clone);
        if let Some(integrity) = integrity {
            integrity.meet(live, &Look::default()).await;
        }
    }
}
