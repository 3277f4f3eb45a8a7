//! The ends of what was sent to each outside destination, field by field, so that pieces in
//! several calls are read as one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mcpproxy_core::CallId;

use crate::hash::KeyedMap;
use crate::moving::{MOVING, Moving};
use crate::sending::TAIL;

/// Fields whose tails are kept, those of all destinations together.
const FIELDS: usize = 2048;
/// Calls on their way whose pieces are kept apart.
const PENDING: usize = 256;

/// A field of what is sent to a destination.
type Place = (Arc<str>, u64);

/// The tails of a scope.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    /// Whoever reads on from a tail holds it until then, which takes no copy.
    fields: KeyedMap<Place, (Arc<Tail>, u64)>,
    /// The fields by when they were written, and the last time.
    order: BTreeMap<u64, Place>,
    last: u64,
    pending: VecDeque<Pending>,
    /// Pieces of all calls on their way.
    pieces: usize,
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
        self.fields.len() * (TAIL + MOVING) + self.pieces * (TAIL + 64)
    }

    /// Returns what stands before a field at a destination, calls on their way included.
    pub(crate) fn before(&self, to: &Arc<str>, path: u64) -> Arc<Tail> {
        let known = self.fields.get(&(Arc::clone(to), path));
        let mut tail = known.map(|(tail, _)| Arc::clone(tail)).unwrap_or_default();
        for (_, place, fields) in &self.pending {
            if *place == *to {
                for (_, piece) in fields.iter().filter(|(other, _)| *other == path) {
                    Arc::make_mut(&mut tail).push(piece);
                }
            }
        }
        tail
    }

    /// Notes what a call takes along, by field.
    pub(crate) fn reserve(&mut self, call: CallId, to: &Arc<str>, pieces: Vec<(u64, String)>) {
        if self.pending.len() >= PENDING
            && let Some((call, _, _)) = self.pending.front()
        {
            self.settle(*call, true);
        }
        self.pieces += pieces.len();
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
        self.pieces -= pieces.len();
        for (path, piece) in pieces.into_iter().filter(|_| left) {
            self.write((Arc::clone(&to), path), &piece);
        }
        true
    }

    /// Puts a piece behind what was sent in a field; the field that rested longest makes room.
    fn write(&mut self, place: Place, piece: &str) {
        let (tail, at) = self.fields.entry(place.clone()).or_default();
        Arc::make_mut(tail).push(piece);
        // No field was written at time zero.
        self.order.remove(at);
        self.last += 1;
        *at = self.last;
        self.order.insert(self.last, place);
        if self.fields.len() > FIELDS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.fields.remove(&oldest);
        }
    }
}
