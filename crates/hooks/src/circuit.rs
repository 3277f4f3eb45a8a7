//! The circuit of one hook: its breaker, and what a fault says about the hook.
//!
//! Whoever writes a message can make a hook fail at it: a caller with its arguments, an upstream with
//! its results. So what a hook answers is no failure here, however useless the answer is, and a row of
//! failures alone opens nothing: the hook is asked how it is first, by nobody's message. That happens
//! aside; no call waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Clock, HookFault, SecurityHook};
use tokio::time::Instant;

use crate::breaker::{Breaker, BreakerSettings, Standing};
use crate::guarded::guarded;

/// How long a hook has to say how it is: longer than for a question, since whoever wants the circuit
/// open keeps it busy.
const PATIENCE: Duration = Duration::from_secs(2);

/// The circuit of one hook.
#[derive(Debug)]
pub(crate) struct Circuit {
    breaker: Mutex<Breaker>,
    hook: Arc<dyn SecurityHook>,
    clock: Arc<dyn Clock>,
}

/// A question that the circuit let through. One that is given up says nothing about the hook.
#[derive(Debug)]
pub(crate) struct Attempt {
    circuit: Arc<Circuit>,
    /// Whether it came to an answer; nothing if nobody waited for it.
    answered: Option<bool>,
}

impl Circuit {
    pub(crate) fn new(
        settings: BreakerSettings,
        hook: Arc<dyn SecurityHook>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let breaker = Mutex::new(Breaker::new(settings));
        Arc::new(Self {
            breaker,
            hook,
            clock,
        })
    }

    /// Returns how the hook is treated.
    pub(crate) fn standing(&self) -> Standing {
        let now = self.clock.tick();
        self.with_breaker(|breaker| breaker.standing(now))
    }

    /// Lets a question through, if the hook may be asked now.
    pub(crate) fn attempt(self: &Arc<Self>) -> Option<Attempt> {
        let now = self.clock.tick();
        let admits = self.with_breaker(|breaker| breaker.admits(now));
        // Made only then: one that is dropped was let through.
        admits.then(|| Attempt {
            circuit: Arc::clone(self),
            answered: None,
        })
    }

    /// Asks the hook how it is, after questions that it did not answer.
    async fn examine(self: Arc<Self>) {
        let hook = Arc::clone(&self.hook);
        let task = async move { hook.health_check().await };
        let said = guarded(task, Instant::now() + PATIENCE).await;
        let well = said.is_ok_and(|status| status.healthy);
        let now = self.clock.tick();
        self.with_breaker(|breaker| breaker.examined(well, now));
        if !well {
            let id = self.hook.id();
            tracing::warn!("hook `{id}` failed too often and is not well; it is left alone");
        }
    }

    fn with_breaker<T>(&self, use_it: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        use_it(&mut breaker)
    }
}

impl Attempt {
    /// Takes note of what became of the question.
    pub(crate) fn ended<T>(mut self, said: &Result<T, HookFault>) {
        self.answered = Some(said.as_ref().err().is_none_or(is_answer));
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let examine = self.circuit.with_breaker(|breaker| match self.answered {
            Some(true) => {
                breaker.succeeded();
                false
            }
            Some(false) => breaker.failed(),
            None => {
                breaker.given_up();
                false
            }
        });
        if examine {
            tokio::spawn(Arc::clone(&self.circuit).examine());
        }
    }
}

/// Tells whether a hook with this fault is there and answers, though not with a decision.
const fn is_answer(fault: &HookFault) -> bool {
    match fault {
        HookFault::Garbage(_) | HookFault::TooLarge | HookFault::Busy | HookFault::Resting => true,
        HookFault::Late | HookFault::Unreachable(_) | HookFault::Crashed(_) => false,
    }
}
