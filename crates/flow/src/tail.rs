//! The ends of what was sent to each outside destination, field by field, so that pieces in
//! several calls are read as one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mcpproxy_core::CallId;

use crate::moving::{MOVING, Moving};
use crate::sending::TAIL;

/// Destinations whose tails are kept, and fields of each.
const PLACES: usize = 64;
const FIELDS: usize = 32;
/// Calls on their way whose pieces are kept apart.
const PENDING: usize = 256;

/// The tails of a scope.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    places: BTreeMap<Arc<str>, BTreeMap<u64, Tail>>,
    order: VecDeque<Arc<str>>,
    pending: VecDeque<Pending>,
}

/// What was sent in one field: the end of all of it, and of what moves in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    pub(crate) all: End,
    pub(crate) moving: Moving,
}

impl Tail {
    fn push(&mut self, piece: &str) {
        self.moving.push(self.all.last_piece(), piece);
        self.all.push(piece, TAIL);
    }
}

/// The end of a text that came piece by piece, and how many bytes of it are the last piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    pub(crate) text: String,
    pub(crate) last: usize,
}

impl End {
    /// Puts a piece behind, and keeps no more than `most` bytes.
    pub(crate) fn push(&mut self, piece: &str, most: usize) {
        self.text.push_str(piece);
        let over = self.text.len().saturating_sub(most);
        self.text.drain(..self.text.ceil_char_boundary(over));
        self.last = piece.len().min(self.text.len());
    }

    /// Returns what came before the last piece, and the last piece.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let at = self.text.len() - self.last;
        self.text.split_at_checked(at).unwrap_or((&self.text, ""))
    }

    /// Returns the last piece.
    pub(crate) fn last_piece(&self) -> &str {
        self.parts().1
    }
}

/// A call that is on its way, where to, and its pieces by field.
type Pending = (CallId, Arc<str>, Vec<(u64, String)>);

impl Tails {
    pub(crate) fn bytes(&self) -> usize {
        let fields: usize = self.places.values().map(BTreeMap::len).sum();
        fields * (TAIL + MOVING) + self.pending.len() * (TAIL + 64)
    }

    /// Returns what stands before a field at a destination, calls on their way included.
    pub(crate) fn before(&self, to: &str, path: u64) -> Tail {
        let mut tail = self
            .places
            .get(to)
            .and_then(|fields| fields.get(&path))
            .cloned();
        for (_, place, fields) in &self.pending {
            if **place == *to {
                for (_, piece) in fields.iter().filter(|(other, _)| *other == path) {
                    tail.get_or_insert_default().push(piece);
                }
            }
        }
        tail.unwrap_or_default()
    }

    /// Notes what a call takes along, by field.
    pub(crate) fn reserve(&mut self, call: CallId, to: &Arc<str>, pieces: Vec<(u64, String)>) {
        if self.pending.len() >= PENDING
            && let Some((call, _, _)) = self.pending.front()
        {
            self.settle(*call, true);
        }
        self.pending.push_back((call, Arc::clone(to), pieces));
    }

    /// Settles what a call took along; tells whether there was anything to settle.
    pub(crate) fn settle(&mut self, call: CallId, left: bool) -> bool {
        let Some(at) = self.pending.iter().position(|(other, _, _)| *other == call) else {
            return false;
        };
        let Some((_, to, pieces)) = self.pending.remove(at) else {
            return false;
        };
        if !left {
            return true;
        }
        if !self.places.contains_key(&to) {
            self.order.push_back(Arc::clone(&to));
        }
        let fields = self.places.entry(to).or_default();
        for (path, piece) in pieces {
            if fields.len() < FIELDS || fields.contains_key(&path) {
                fields.entry(path).or_default().push(&piece);
            }
        }
        if self.order.len() > PLACES
            && let Some(oldest) = self.order.pop_front()
        {
            self.places.remove(&oldest);
        }
        true
    }
}
