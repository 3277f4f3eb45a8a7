//! Events for a service that is told and not asked: gathered into batches, sent behind the call.
//!
//! What waits is bounded in number and in bytes. What does not fit, and what was in a batch that
//! did not arrive, is lost and counted; the next batch says how much.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prost::Message as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};

use mcpproxy_core::security::HookFault;

use super::own::OBSERVE;
use super::own::wire::{Batch, Inspection, Nothing};
use super::unary::Service;
use crate::BatchSettings;

/// How long a batch may take to arrive.
const DELIVERY: Duration = Duration::from_secs(5);

/// One event with its share of the room.
struct Waiting {
    event: Inspection,
    size: usize,
    _room: OwnedSemaphorePermit,
}

/// The events of one hook on their way.
#[derive(Debug)]
pub(super) struct Batches {
    settings: BatchSettings,
    service: Service,
    room: Arc<Semaphore>,
    lost: Arc<AtomicU64>,
    /// Made with the first event, since only then a runtime is known to be there.
    queue: OnceLock<mpsc::Sender<Waiting>>,
}

impl Batches {
    pub(super) fn new(settings: BatchSettings, service: Service) -> Self {
        let room = settings
            .max_waiting_size
            .as_usize()
            .min(Semaphore::MAX_PERMITS);
        Self {
            settings,
            service,
            room: Arc::new(Semaphore::new(room)),
            lost: Arc::default(),
            queue: OnceLock::new(),
        }
    }

    /// Returns how many events were lost since the last batch that arrived.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Lets an event wait for its batch.
    pub(super) fn push(&self, event: Inspection) -> Result<(), HookFault> {
        let size = event.encoded_len();
        let share = u32::try_from(size).unwrap_or(u32::MAX);
        let queue = self.queue.get_or_init(|| self.start());
        let room = Arc::clone(&self.room).try_acquire_many_owned(share).ok();
        let sent = room.and_then(|room| {
            let waiting = Waiting {
                event,
                size,
                _room: room,
            };
            queue.try_send(waiting).ok()
        });
        if sent.is_none() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return Err(HookFault::Busy);
        }
        Ok(())
    }

    /// Starts the sender, which ends once the hook is gone and the rest is sent.
    fn start(&self) -> mpsc::Sender<Waiting> {
        let (sender, events) = mpsc::channel(self.settings.max_waiting);
        let sending = Sending {
            settings: self.settings.clone(),
            service: self.service.clone(),
            lost: Arc::clone(&self.lost),
            events,
        };
        tokio::spawn(sending.run());
        sender
    }
}

/// The sender behind the queue.
struct Sending {
    settings: BatchSettings,
    service: Service,
    lost: Arc<AtomicU64>,
    events: mpsc::Receiver<Waiting>,
}

impl Sending {
    async fn run(mut self) {
        while let Some(first) = self.events.recv().await {
            let gathered = self.gather(first).await;
            self.deliver(gathered).await;
        }
    }

    /// Waits for more until the batch is full in number, in bytes or in time.
    async fn gather(&mut self, first: Waiting) -> Vec<Waiting> {
        let until = Instant::now() + self.settings.max_wait.duration();
        let mut size = first.size;
        let mut gathered = vec![first];
        while gathered.len() < self.settings.max_events
            && size < self.settings.max_batch_size.as_usize()
        {
            let Ok(Some(next)) = timeout_at(until, self.events.recv()).await else {
                break;
            };
            size = size.saturating_add(next.size);
            gathered.push(next);
        }
        gathered
    }

    async fn deliver(&self, mut gathered: Vec<Waiting>) {
        let count = u64::try_from(gathered.len()).unwrap_or(u64::MAX);
        let lost = self.lost.load(Ordering::Relaxed);
        let events = gathered
            .iter_mut()
            .map(|waiting| std::mem::take(&mut waiting.event));
        let batch = Batch {
            inspections: events.collect(),
            lost,
        };
        // The shares of the room are given back once it is sent, not before.
        let sent = self
            .service
            .call::<Nothing>(OBSERVE, &batch, DELIVERY)
            .await;
        drop(gathered);
        match sent {
            Ok(Nothing {}) => {
                self.lost.fetch_sub(lost, Ordering::Relaxed);
            }
            Err(fault) => {
                self.lost.fetch_add(count, Ordering::Relaxed);
                tracing::warn!(events = count, "a batch of events was lost: {fault}");
            }
        }
    }
}
