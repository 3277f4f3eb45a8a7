//! The conversations of one upstream, by who they belong to: how many there may be, and which one
//! goes when there are too many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{Id128, Room, Shares};
use tokio::sync::OnceCell;

use crate::instance::Instance;

/// Which conversation a caller belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The gateway's own, for the catalogue; shared upstreams serve everybody with it.
    Own,
    /// A stateless conversation, which needs no owner.
    Stateless,
    /// Of one principal's clients that can be asked the same things.
    Principal(Arc<str>, String),
    /// Of one session.
    Session(Id128),
}

/// A conversation that is open or being opened.
pub(super) type Cell = Arc<OnceCell<Arc<Instance>>>;

/// Which conversations count against a bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// How many there may be.
    pub(super) limit: usize,
    /// Whether those of sessions count too: each is a process then. Over HTTP they are bounded by
    /// the number of sessions.
    pub(super) sessions: bool,
}

impl Most {
    fn counts(self, key: &Key) -> bool {
        match key {
            Key::Own | Key::Stateless => false,
            Key::Principal(..) => true,
            Key::Session(_) => self.sessions,
        }
    }
}

/// The conversations of one upstream.
#[derive(Debug, Default)]
pub(super) struct Slots {
    open: HashMap<Key, Slot>,
    uses: u64,
}

#[derive(Debug, Default)]
struct Slot {
    cell: Cell,
    /// Whose it is, where it is anybody's.
    principal: Option<Arc<str>>,
    /// When it was used last, counted in uses.
    used: u64,
}

impl Slot {
    /// Returns the conversation if nobody has it in hands: neither a call nor who opens it.
    fn idle(&self) -> Option<&Arc<Instance>> {
        let alone = Arc::strong_count(&self.cell) == 1;
        let instance = self.cell.get().filter(|_| alone)?;
        (Arc::strong_count(instance) == 1 && instance.in_flight() == 0).then_some(instance)
    }
}

/// The place of a conversation, held while it is opened: whether that fails or is given up, the
/// place is not left empty.
#[derive(Debug)]
pub(super) struct Place<'a> {
    slots: &'a Mutex<Slots>,
    key: Key,
    cell: Cell,
}

impl<'a> Place<'a> {
    pub(super) fn new(slots: &'a Mutex<Slots>, key: &Key, cell: Cell) -> Self {
        let key = key.clone();
        Self { slots, key, cell }
    }

    pub(super) fn cell(&self) -> &OnceCell<Arc<Instance>> {
        &self.cell
    }

    /// Tells whether the conversation is still wanted.
    pub(super) fn is_kept(&self) -> bool {
        self.lock().holds(&self.key, &self.cell)
    }

    fn lock(&self) -> MutexGuard<'a, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        self.lock().release(&self.key, cell);
    }
}

/// A place that was found for a conversation.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) cell: Cell,
    /// The conversation that made room for it.
    pub(super) evicted: Option<Arc<Instance>>,
}

impl Slots {
    /// Returns a conversation that is open.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Instance>> {
        let instance = self.open.get(key)?.cell.get();
        instance.filter(|one| one.ended().is_none()).cloned()
    }

    /// Returns the gateway's own conversation.
    pub(super) fn own(&mut self) -> Cell {
        Arc::clone(&self.open.entry(Key::Own).or_default().cell)
    }

    /// Forgets a conversation.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Cell> {
        self.open.remove(key).map(|slot| slot.cell)
    }

    /// Takes back a place. One in which nothing was opened, and in which nobody else is about to
    /// open anything, is free again.
    fn release(&mut self, key: &Key, cell: Cell) {
        // Cells are cloned and dropped under the lock only: one here, one in the table.
        let last = !cell.initialized() && Arc::strong_count(&cell) == 2;
        if last && self.holds(key, &cell) {
            self.open.remove(key);
        }
        drop(cell);
    }

    fn holds(&self, key: &Key, cell: &Cell) -> bool {
        let slot = self.open.get(key);
        slot.is_some_and(|slot| Arc::ptr_eq(&slot.cell, cell))
    }

    /// Forgets all conversations and returns those that are open.
    pub(super) fn drain(&mut self) -> Vec<Arc<Instance>> {
        let slots = self.open.drain();
        slots
            .filter_map(|(_, slot)| slot.cell.get().cloned())
            .collect()
    }

    /// Returns how many conversations are open.
    pub(super) fn len(&self) -> usize {
        let open = self.open.values();
        open.filter(|slot| slot.cell.initialized()).count()
    }

    /// Finds the place of a caller's conversation, or makes one. Where there are too many, the one
    /// of a principal's that was idle for longest goes; where there is none, nothing is returned.
    pub(super) fn claim(&mut self, key: &Key, who: &Arc<str>, most: Most) -> Option<Claimed> {
        self.uses += 1;
        let used = self.uses;
        let ended = |slot: &Slot| slot.cell.get().is_some_and(|one| one.ended().is_some());
        if self.open.get(key).is_some_and(ended) {
            self.open.remove(key);
        }
        if let Some(slot) = self.open.get_mut(key) {
            slot.used = used;
            let cell = Arc::clone(&slot.cell);
            return Some(Claimed {
                cell,
                evicted: None,
            });
        }
        let room = if most.counts(key) {
            self.shares(most).room(who, most.limit)
        } else {
            Room::Free
        };
        let evicted = match room {
            Room::Free => None,
            Room::Of(whose) => Some(self.evict(&whose)?),
        };
        let cell = Cell::default();
        let slot = Slot {
            cell: Arc::clone(&cell),
            principal: Some(Arc::clone(who)),
            used,
        };
        self.open.insert(key.clone(), slot);
        Some(Claimed { cell, evicted })
    }

    fn shares(&self, most: Most) -> Shares {
        let mut shares = Shares::default();
        let counted = self.open.iter().filter(|(key, _)| most.counts(key));
        for who in counted.filter_map(|(_, slot)| slot.principal.as_ref()) {
            shares.add(who);
        }
        shares
    }

    /// Takes the conversation of a principal's that was idle for longest. Those of sessions stay:
    /// what an upstream remembers of a session is not the gateway's to throw away.
    fn evict(&mut self, whose: &str) -> Option<Arc<Instance>> {
        let own = self.open.iter().filter(|(key, slot)| {
            matches!(key, Key::Principal(who, _) if **who == *whose) && slot.idle().is_some()
        });
        let (oldest, _) = own.min_by_key(|(_, slot)| slot.used)?;
        let oldest = oldest.clone();
        self.remove(&oldest)?.get().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim<'a>(slots: &'a Mutex<Slots>, key: &Key) -> Place<'a> {
        let most = Most {
            limit: 1,
            sessions: true,
        };
        let claimed = slots.lock().unwrap().claim(key, &"one".into(), most);
        Place::new(slots, key, claimed.unwrap().cell)
    }

    #[test]
    fn a_place_is_free_once_the_last_who_would_open_it_has_given_up() {
        let slots = Mutex::<Slots>::default();
        let key = Key::Session(Id128::from_bytes([1; 16]));
        let (first, second) = (claim(&slots, &key), claim(&slots, &key));
        drop(first);
        assert!(second.is_kept(), "another failed");
        drop(second);
        assert!(slots.lock().unwrap().open.is_empty());
    }

    #[test]
    fn who_fails_leaves_the_place_of_a_successor_alone() {
        let slots = Mutex::<Slots>::default();
        let key = Key::Session(Id128::from_bytes([1; 16]));
        let failing = claim(&slots, &key);
        drop(slots.lock().unwrap().remove(&key));
        assert!(!failing.is_kept());
        let successor = claim(&slots, &key);
        drop(failing);
        assert!(successor.is_kept());
    }
}
