//! The ends of what was sent to each outside destination, field by field, so that pieces in
//! several calls are read as one. What is short is read so over all fields and destinations, too:
//! whoever goes from one to another with each piece goes nowhere by that.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mcpproxy_core::CallId;

use crate::event::Fate;
use crate::hash::KeyedMap;
use crate::moving::{MOVING, Moving};
use crate::sending::{Field, TAIL};

/// Fields whose tails are kept, those of all destinations together.
const FIELDS: usize = 2048;
/// Calls on their way whose pieces are kept apart.
const PENDING: usize = 256;
/// Longest piece that somebody may go on from after it was stopped, without what stands around it as
/// around the one before. What is longer is known by itself: it would only have everything that follows
/// it stopped, too.
const TRIED: usize = 8;

/// The field that stands for those of all destinations together, and the one for the names of the fields
/// at a destination, which an agent may choose as well.
const ACROSS: u64 = u64::MAX;
pub(crate) const KEYS: u64 = u64::MAX - 1;
/// Longest value that is read there: what is longer is known by itself, and is no piece.
pub(crate) const SHORT: usize = 32;

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
    /// Pieces of all calls on their way, and fields of which something was stopped.
    pieces: usize,
    tried: usize,
}

/// What was sent in one field: the end of all of it, and of what moves in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    pub(crate) all: End,
    pub(crate) moving: Moving,
    /// The same with what did not leave, where there is any: who goes on after a denial goes on from
    /// there, and who says it again from what left.
    pub(crate) tried: Option<Box<Tail>>,
}

impl Tail {
    fn push(&mut self, piece: &str) {
        self.moving.push(self.all.last_piece(), piece);
        self.all.push(piece, TAIL);
        if let Some(tried) = &mut self.tried {
            tried.push(piece);
        }
        self.tried.take_if(|tried| tried.all.text == self.all.text);
    }

    /// Takes note of a piece that did not leave.
    fn push_tried(&mut self, piece: &str) {
        let mut tried = self.tried.take().unwrap_or_else(|| {
            Box::new(Self {
                all: self.all.clone(),
                moving: self.moving.clone(),
                tried: None,
            })
        });
        tried.push(piece);
        self.tried = Some(tried);
    }

    /// Returns what a next piece may go on from.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.tried.as_deref())
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
        self.open(piece);
        self.text.push_str(piece);
        let over = self.text.len().saturating_sub(most);
        self.text.drain(..self.text.ceil_char_boundary(over));
        self.last = piece.len().min(self.text.len());
    }

    /// Gets ready for a piece that is put behind. Two lists of numbers are one, in which the last number of
    /// the first is not the beginning of the first of the last.
    pub(crate) fn open(&mut self, piece: &str) {
        let (list, other) = (is_list(self.last_piece()), is_list(piece));
        if self.last > 0 && list.is_some() && other.is_some() && list.max(other) == Some(true) {
            self.text.push(' ');
        }
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

/// What stands between the numbers of a list.
fn divides(char: char) -> bool {
    char.is_ascii_whitespace() || matches!(char, ',' | ';')
}

/// Tells of numbers, decimal or hexadecimal, whether something stands between them.
fn is_list(text: &str) -> Option<bool> {
    let fits = |char: char| char.is_ascii_hexdigit() || divides(char);
    let numbers = text.chars().all(fits) && text.bytes().any(|byte| byte.is_ascii_digit());
    numbers.then(|| text.contains(divides))
}

/// A call that is on its way, where to, and its pieces by field.
pub(crate) type Pending = (CallId, Arc<str>, Vec<(u64, String)>);

fn place_of(to: &Arc<str>, path: u64) -> Place {
    if path == ACROSS {
        (Arc::from(""), path)
    } else {
        (Arc::clone(to), path)
    }
}

/// What a call says in fields where something else was said last, as far as it is short: one behind
/// the other, and the leaf of the first. A channel that all messages go to parts no pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Across {
    text: String,
    leaf: u32,
}

impl Across {
    pub(crate) fn of<'f, 't>(fields: impl Iterator<Item = (Field<'f>, &'t Arc<Tail>)>) -> Self {
        let mut across = Self::default();
        for (field, tail) in fields {
            let piece = field.tail;
            let fits = piece.len() <= SHORT && across.text.len() + piece.len() <= TAIL;
            if fits && field.path != KEYS && piece != tail.all.last_piece() {
                if across.text.is_empty() {
                    across.leaf = field.leaf;
                }
                across.text.push_str(piece);
            }
        }
        across
    }

    /// Returns it as a field, if there is any.
    pub(crate) fn field(&self) -> Option<Field<'_>> {
        (!self.text.is_empty()).then_some(Field {
            path: ACROSS,
            leaf: self.leaf,
            head: &self.text,
            tail: &self.text,
        })
    }
}

impl Tails {
    pub(crate) fn bytes(&self) -> usize {
        (self.fields.len() + self.tried) * (TAIL + MOVING) + self.pieces * (TAIL + 64)
    }

    /// Returns what stands before what goes to all destinations.
    pub(crate) fn before_all(&self, to: &Arc<str>) -> Arc<Tail> {
        self.before(to, ACROSS)
    }

    /// Returns what stands before a field at a destination, calls on their way included.
    pub(crate) fn before(&self, to: &Arc<str>, path: u64) -> Arc<Tail> {
        let known = self.fields.get(&place_of(to, path));
        let mut tail = known.map(|(tail, _)| Arc::clone(tail)).unwrap_or_default();
        for (_, place, fields) in &self.pending {
            if path == ACROSS || *place == *to {
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
            self.settle(*call, Fate::Left);
        }
        self.pieces += pieces.len();
        self.pending.push_back((call, Arc::clone(to), pieces));
    }

    /// Settles what a call took along; tells whether there was anything to settle.
    pub(crate) fn settle(&mut self, call: CallId, fate: Fate) -> bool {
        let Some((_, to, pieces)) = self.take_back(call) else {
            return false;
        };
        for (path, piece) in pieces {
            let place = place_of(&to, path);
            let counts = match fate {
                Fate::Left => true,
                Fate::Stopped => self.moved(&place, &piece) <= TRIED,
                Fate::Undone => false,
            };
            if counts {
                self.write(place, &piece, fate);
            }
        }
        true
    }

    /// Returns how many bytes of a piece are not as in the one before it.
    fn moved(&self, place: &Place, piece: &str) -> usize {
        let tail = self.fields.get(place).map(|(tail, _)| tail);
        let last = tail.and_then(|tail| tail.each().last());
        let last = last.map_or("", |tail| tail.all.last_piece());
        let alike = |pair: &(u8, u8)| pair.0 == pair.1;
        let before = piece.bytes().zip(last.bytes()).take_while(alike).count();
        let rest = piece.len() - before;
        let behind = piece.bytes().rev().zip(last.bytes().rev());
        rest - behind.take(rest).take_while(alike).count()
    }

    /// Gives back what a call would take along, as if it had not been made.
    pub(crate) fn take_back(&mut self, call: CallId) -> Option<Pending> {
        let mut pending = self.pending.iter();
        let at = pending.position(|(other, _, _)| *other == call)?;
        let taken = self.pending.remove(at)?;
        self.pieces -= taken.2.len();
        Some(taken)
    }

    /// Puts a piece behind what was sent in a field, or only tried; the field that rested longest makes
    /// room.
    fn write(&mut self, place: Place, piece: &str, fate: Fate) {
        let (tail, at) = self.fields.entry(place.clone()).or_default();
        let tail = Arc::make_mut(tail);
        self.tried -= usize::from(tail.tried.is_some());
        if fate == Fate::Left {
            tail.push(piece);
        } else {
            tail.push_tried(piece);
        }
        self.tried += usize::from(tail.tried.is_some());
        // No field was written at time zero.
        self.order.remove(at);
        self.last += 1;
        *at = self.last;
        self.order.insert(self.last, place);
        if self.fields.len() > FIELDS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            let gone = self.fields.remove(&oldest);
            self.tried -= usize::from(gone.is_some_and(|(tail, _)| tail.tried.is_some()));
        }
    }
}
