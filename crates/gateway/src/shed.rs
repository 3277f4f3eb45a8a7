//! Fair shedding: when the gateway is busy, who has much in flight waits behind who has little.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcpproxy_core::Id128;

use crate::session::lock;

/// Counts calls in flight, in all and by caller.
#[derive(Debug, Default)]
pub struct Shed(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    by_caller: HashMap<Id128, usize>,
}

/// A place that is given back when dropped.
#[derive(Debug)]
pub struct Place {
    shed: Arc<Shed>,
    caller: Id128,
}

impl Shed {
    /// Takes a place for a call of `caller`, if there is one: at most `each` for one caller, at
    /// most `total` for all, and past half of that only for who has no more than an equal share.
    pub fn admit(self: &Arc<Self>, caller: Id128, total: usize, each: usize) -> Option<Place> {
        let mut counts = lock(&self.0);
        let mine = counts.by_caller.get(&caller).copied().unwrap_or(0);
        let callers = counts.by_caller.len() + usize::from(mine == 0);
        let share = if counts.total < total / 2 {
            each
        } else {
            (total / callers.max(1)).max(1)
        };
        if counts.total >= total || mine >= each.min(share) {
            return None;
        }
        counts.total += 1;
        counts.by_caller.insert(caller, mine + 1);
        Some(Place {
            shed: Arc::clone(self),
            caller,
        })
    }

    /// Returns how many calls are in flight.
    pub fn in_flight(&self) -> usize {
        lock(&self.0).total
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = lock(&self.shed.0);
        counts.total = counts.total.saturating_sub(1);
        let left = counts
            .by_caller
            .get(&self.caller)
            .map_or(0, |count| count - 1);
        if left == 0 {
            counts.by_caller.remove(&self.caller);
        } else {
            counts.by_caller.insert(self.caller, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greedy_caller_leaves_room_for_others() {
        let shed = Arc::new(Shed::default());
        let greedy: Vec<_> = (0..10).map_while(|_| shed.admit(Id128(1), 8, 6)).collect();
        assert_eq!(greedy.len(), 6, "its own bound");
        let modest = shed.admit(Id128(2), 8, 6);
        assert!(modest.is_some(), "another caller is still served");
        assert!(shed.admit(Id128(1), 8, 6).is_none());
        drop(greedy);
        assert_eq!(shed.in_flight(), 1);
        assert!(shed.admit(Id128(1), 8, 6).is_some());
    }

    #[test]
    fn nobody_passes_the_bound_of_all() {
        let shed = Arc::new(Shed::default());
        let places: Vec<_> = (0..9).map_while(|n| shed.admit(Id128(n), 8, 6)).collect();
        assert_eq!(places.len(), 8);
    }
}
