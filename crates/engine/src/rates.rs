//! Limits on calls, kept together with other gateways: a call is charged where live state is shared
//! before it is judged, in one round trip, and gives its places back before its caller goes on.
//!
//! Where the common store is lost, calls are charged here alone, beginning with what the store said
//! last, and the store is told when it is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcpproxy_core::{Call, Charged, Finding, LiveFault};
use mcpproxy_hooks::guards::abuse::{self, Abuse, Bill, LEASE};
use mcpproxy_hooks::guards::watch::On;

use crate::engine::Engine;
use crate::guarded::counts;
use crate::live::Live;
use crate::ready::Ready;

/// How often the places of calls under way are renewed: two renewals may be missed.
pub(crate) const RENEW: Duration = Duration::from_secs(10);

/// A call that was charged, or could not be.
#[derive(Debug)]
pub(crate) struct Billed {
    abuse: Arc<Abuse>,
    bill: Bill,
    said: Option<Charged>,
}

impl Billed {
    /// Takes note of what the store said; says why the call is too much, if it is.
    pub(crate) fn settle(&self, call: &Call) -> Option<Finding> {
        self.abuse.settle(call, &self.bill, self.said.as_ref())
    }
}

/// What is known of the store of limits.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    lost: AtomicBool,
    /// Whether the store may not know the places of calls under way.
    doubted: AtomicBool,
}

impl Rates {
    /// Tells whether the last call was charged here alone.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn heard<T>(&self, said: Result<T, LiveFault>) -> Option<T> {
        let lost = self.lost.swap(said.is_err(), Ordering::Relaxed);
        match said {
            Ok(said) => Some(said),
            Err(fault) => {
                self.doubted.store(true, Ordering::Relaxed);
                if !lost {
                    tracing::warn!("limits are those of this gateway alone: {fault}");
                }
                None
            }
        }
    }
}

impl Engine {
    /// Charges a call together with other gateways, if there are any and it counts.
    pub(crate) async fn billed(&self, call: &Call, ready: &Ready) -> Option<Billed> {
        let live = self.live()?;
        let abuse = Arc::clone(self.guarded().abuse()?);
        let watch = ready.guards.watches().of(abuse::ID)?;
        if !ready.settings.enabled || !counts(call) || !watch.runs_on(On::Request) {
            return None;
        }
        let bill = abuse.bill(call, self.now().0)?;
        let said = live.store().charge(bill.charge.clone()).await;
        let said = live.rates().heard(said);
        Some(Billed { abuse, bill, said })
    }

    /// Takes note that a call is over: what it has of limits is given back before its caller goes on.
    pub(crate) async fn released(&self, call: &Call) {
        let places = self.guarded().release(call);
        let Some(live) = self.live().filter(|_| !places.is_empty()) else {
            return;
        };
        let left = live.store().leave(abuse::seats(call.id, &places));
        if let Err(fault) = left.await {
            tracing::debug!("the places of a call end with their lease: {fault}");
        }
    }

    /// Says that calls are under way still.
    pub(crate) async fn renew_places(&self, live: &Live) {
        let abuse = self.guarded().abuse().map(Arc::clone);
        let seats = abuse.map(|abuse| abuse.seats()).unwrap_or_default();
        if seats.is_empty() {
            return;
        }
        let anew = live.rates().doubted.swap(false, Ordering::Relaxed);
        if live.store().stay(seats, LEASE, anew).await.is_err() {
            live.rates().doubted.store(true, Ordering::Relaxed);
        }
    }

    /// Says that the store may have forgotten what was charged.
    pub(crate) fn doubt_limits(&self, live: &Live) {
        live.rates().doubted.store(true, Ordering::Relaxed);
        if let Some(abuse) = self.guarded().abuse() {
            abuse.doubt();
        }
    }
}
