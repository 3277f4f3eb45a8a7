//! Connections to the socket that have said nothing yet. Whoever only holds a place gives it up when places run
//! out: else any program of the user could keep its owner from stopping calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Those that have not finished the head of a request, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Silent(Mutex<BTreeMap<u64, Arc<Notify>>>);

impl Silent {
    /// Takes a connection in. It is to end when what is returned is notified.
    pub(crate) fn add(&self, number: u64) -> Arc<Notify> {
        let dismissed = Arc::new(Notify::new());
        self.held().insert(number, Arc::clone(&dismissed));
        dismissed
    }

    /// Lets a connection stay: it has spoken, or it has ended.
    pub(crate) fn forget(&self, number: u64) {
        self.held().remove(&number);
    }

    /// Has the oldest end, if there is one.
    pub(crate) fn dismiss(&self) {
        if let Some((_, oldest)) = self.held().pop_first() {
            oldest.notify_one();
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
