//! One hook with everything it is held to. It is asked in a task of its own: a hook that panics,
//! hangs or blocks its thread costs the call its timeout and nothing else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Clock, HealthStatus, HookFault, SecurityDecision, SecurityHook};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::breaker::Standing;
use crate::circuit::Circuit;
use crate::decided::HookId;
use crate::guarded::guarded;
use crate::limits::Limits;
use crate::metrics::HookMetrics;
use crate::question::Question;
use crate::rate::Bucket;

/// One hook with everything it is held to.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: HookId,
    pub(crate) hook: Arc<dyn SecurityHook>,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<HookMetrics>,
    circuit: Arc<Circuit>,
    bucket: Option<Mutex<Bucket>>,
    slots: Arc<Semaphore>,
    started: Arc<OnceCell<()>>,
    clock: Arc<dyn Clock>,
}

impl Member {
    pub(crate) fn new(
        hook: Arc<dyn SecurityHook>,
        limits: Limits,
        metrics: Arc<HookMetrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let bucket = limits.rate.map(|rate| Bucket::new(rate, clock.tick()));
        let slots = limits.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            id: hook.id().into(),
            circuit: Circuit::new(limits.breaker, Arc::clone(&hook), Arc::clone(&clock)),
            hook,
            metrics,
            bucket: bucket.map(Mutex::new),
            slots: Arc::new(Semaphore::new(slots)),
            started: Arc::default(),
            limits,
            clock,
        }
    }

    /// Gets the hook ready.
    pub(crate) async fn start(&self) -> Result<(), HookFault> {
        let (hook, started) = (Arc::clone(&self.hook), Arc::clone(&self.started));
        let task = async move { ready(&*hook, &started).await };
        guarded(task, Instant::now() + self.limits.timeout).await
    }

    /// Asks the hook, within its limits and those of the caller.
    pub(crate) async fn ask(
        &self,
        question: Question,
        left: Duration,
    ) -> Result<SecurityDecision, HookFault> {
        let began = Instant::now();
        let said = self
            .asked(question, began + self.limits.timeout.min(left))
            .await;
        match &said {
            Ok(decision) => self.metrics.decided(decision, began.elapsed()),
            Err(fault) => {
                self.metrics.gave_up(fault, began.elapsed());
                tracing::warn!("hook `{}` did not decide: {fault}", self.id);
            }
        }
        said
    }

    /// Takes note that the hook may not see a message that it was to be asked about.
    pub(crate) fn unable(&self) -> HookFault {
        let fault = HookFault::TooLarge;
        self.metrics.failed(&fault);
        fault
    }

    async fn asked(
        &self,
        question: Question,
        deadline: Instant,
    ) -> Result<SecurityDecision, HookFault> {
        if question.subject.size() > self.limits.max_body {
            return Err(HookFault::TooLarge);
        }
        if self.standing() == Standing::Open {
            return Err(HookFault::Resting);
        }
        if !self.is_due() {
            return Err(HookFault::Busy);
        }
        let slot = self.slot(deadline).await?;
        let attempt = self.circuit.attempt().ok_or(HookFault::Resting)?;
        let (hook, started) = (Arc::clone(&self.hook), Arc::clone(&self.started));
        let task = async move {
            // The slot is free once the hook is done, not once nobody waits for it any more.
            let _slot = slot;
            ready(&*hook, &started).await?;
            question.put_to(&*hook).await
        };
        let said = guarded(task, deadline).await;
        attempt.ended(&said);
        said
    }

    /// Says how the hook is doing.
    pub(crate) async fn health(&self) -> Result<HealthStatus, HookFault> {
        let hook = Arc::clone(&self.hook);
        let task = async move { hook.health_check().await };
        guarded(task, Instant::now() + self.limits.timeout).await
    }

    /// Returns how the hook is treated.
    pub(crate) fn standing(&self) -> Standing {
        self.circuit.standing()
    }

    /// Tells whether the hook could start.
    pub(crate) fn is_started(&self) -> bool {
        self.started.initialized()
    }

    fn is_due(&self) -> bool {
        let Some(bucket) = &self.bucket else {
            return true;
        };
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(self.clock.tick())
    }

    async fn slot(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, HookFault> {
        let slot = timeout_at(deadline, Arc::clone(&self.slots).acquire_owned()).await;
        slot.map_err(|_| HookFault::Busy)?
            .map_err(|_| HookFault::Busy)
    }
}

/// Gets a hook ready, once; what failed is tried again with the next question.
async fn ready(hook: &dyn SecurityHook, started: &OnceCell<()>) -> Result<(), HookFault> {
    let start = || async { hook.initialize().await };
    started.get_or_try_init(start).await.copied()
}
