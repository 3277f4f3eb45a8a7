//! How many bytes may wait for the writer: whoever brings more waits until there is room, as with a
//! queue that is full in number.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::Job;

/// Bytes that values in clear may take while they wait.
pub(super) const MOST: usize = 64 << 20;

/// The room, and what of it is taken.
#[derive(Debug, Default)]
pub(super) struct Room {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    closed: bool,
}

impl Room {
    /// Takes room for so many bytes, once there is some; what is larger than all of it waits until
    /// it is empty. Where nobody writes any more, nobody waits.
    pub(super) fn take(&self, size: usize) {
        let full = |state: &mut State| {
            let over = state.taken.saturating_add(size) > MOST;
            size > 0 && over && state.taken > 0 && !state.closed
        };
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_while(state, full);
        waited.unwrap_or_else(PoisonError::into_inner).taken += size;
    }

    /// Gives room back.
    pub(super) fn give(&self, size: usize) {
        if size > 0 {
            self.change(|state| state.taken = state.taken.saturating_sub(size));
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.freed.notify_all();
    }
}

/// The writer's side; when it is gone, so is the bound.
#[derive(Debug)]
pub(super) struct Freeing(pub(super) Arc<Room>);

impl Drop for Freeing {
    fn drop(&mut self) {
        self.0.change(|state| state.closed = true);
    }
}

/// Returns how many bytes a job keeps in clear.
pub(super) fn size(job: &Job) -> usize {
    match job {
        Job::Intent(call, _) => call.arguments.size(),
        Job::Outcome(receipt, _) => receipt.size(),
        Job::Commit(..) | Job::Lost(_) | Job::Flush(_) | Job::Pack(_) | Job::Finish(..) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_brings_too_much_waits_until_there_is_room() {
        let room = Arc::new(Room::default());
        // More than all of it, alone.
        room.take(MOST + 1);
        let (send, told) = channel();
        let other = Arc::clone(&room);
        let thread = std::thread::spawn(move || {
            other.take(0);
            send.send("nothing").unwrap();
            other.take(MOST);
            send.send("much").unwrap();
            other.take(1);
            send.send("more").unwrap();
        });
        let next = || told.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(next(), "nothing");
        let early = told.recv_timeout(Duration::from_millis(50));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        room.give(MOST + 1);
        assert_eq!(next(), "much");
        let early = told.recv_timeout(Duration::from_millis(50));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        // A writer that died holds up nobody.
        drop(Freeing(room));
        assert_eq!(next(), "more");
        thread.join().unwrap();
    }
}
