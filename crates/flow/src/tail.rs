//! The ends of what was sent to each outside destination, field by field, so that pieces in
//! several calls are read as one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mcpproxy_core::CallId;

use crate::sending::{Field, TAIL};

/// Destinations whose tails are kept, and fields of each.
const PLACES: usize = 64;
const FIELDS: usize = 32;
/// Calls on their way whose pieces are kept apart.
const PENDING: usize = 256;

/// The tails of a scope.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    places: BTreeMap<Arc<str>, BTreeMap<u64, String>>,
    order: VecDeque<Arc<str>>,
    pending: VecDeque<Pending>,
}

/// A call that is on its way, where to, and its pieces by field.
type Pending = (CallId, Arc<str>, Vec<(u64, String)>);

impl Tails {
    pub(crate) fn bytes(&self) -> usize {
        let fields: usize = self.places.values().map(BTreeMap::len).sum();
        (fields + self.pending.len()) * (TAIL + 64)
    }

    /// Returns what stands before a field at a destination, calls on their way included.
    pub(crate) fn before(&self, to: &str, path: u64) -> String {
        let mut text = self
            .places
            .get(to)
            .and_then(|fields| fields.get(&path))
            .cloned();
        for (_, place, fields) in &self.pending {
            if **place == *to {
                for (_, piece) in fields.iter().filter(|(other, _)| *other == path) {
                    let text = text.get_or_insert_default();
                    text.push_str(piece);
                    cut(text);
                }
            }
        }
        text.unwrap_or_default()
    }

    /// Notes what a call takes along.
    pub(crate) fn reserve(&mut self, call: CallId, to: &Arc<str>, fields: &[Field]) {
        if self.pending.len() >= PENDING
            && let Some((call, _, _)) = self.pending.front()
        {
            self.settle(*call, true);
        }
        let pieces = fields.iter().map(|field| (field.path, field.tail.clone()));
        self.pending
            .push_back((call, Arc::clone(to), pieces.collect()));
    }

    /// Settles what a call took along.
    pub(crate) fn settle(&mut self, call: CallId, left: bool) {
        let Some(at) = self.pending.iter().position(|(other, _, _)| *other == call) else {
            return;
        };
        let Some((_, to, pieces)) = self.pending.remove(at) else {
            return;
        };
        if !left {
            return;
        }
        if !self.places.contains_key(&to) {
            self.order.push_back(Arc::clone(&to));
        }
        let fields = self.places.entry(to).or_default();
        for (path, piece) in pieces {
            if fields.len() < FIELDS || fields.contains_key(&path) {
                let text = fields.entry(path).or_default();
                text.push_str(&piece);
                cut(text);
            }
        }
        if self.order.len() > PLACES
            && let Some(oldest) = self.order.pop_front()
        {
            self.places.remove(&oldest);
        }
    }
}

/// Keeps the end of a text.
fn cut(text: &mut String) {
    let start = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
    text.drain(..start);
}
