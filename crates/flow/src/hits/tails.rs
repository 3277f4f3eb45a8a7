//! What several calls say together: the end of what was sent to a place before, read on into what
//! goes there now.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::reads::{Found, Read, Reads};
use crate::fold::folded;
use crate::sending::Field;
use crate::stream::Stream;
use crate::tail::{End, KEYS, Tail};
use crate::winnow::RUN;

/// One field, read on from what was sent in it before.
#[derive(Debug)]
pub(crate) struct Onward<'t> {
    pub(super) read: Found,
    pub(super) before: Before<'t>,
}

/// What was sent before what comes now.
#[derive(Debug)]
pub(super) struct Before<'t> {
    end: Cow<'t, End>,
    leaf: u32,
    reads: &'t Reads,
    judged: OnceLock<Arc<Read>>,
    all: OnceLock<Arc<Read>>,
}

impl<'t> Before<'t> {
    fn new(end: Cow<'t, End>, leaf: u32, reads: &'t Reads) -> Self {
        Self {
            end,
            leaf,
            reads,
            judged: OnceLock::new(),
            all: OnceLock::new(),
        }
    }

    /// Returns the symbols at the beginning of a stream that have left already and were judged: what
    /// lies in them alone is no news. What was sent before is read again only for a stream that holds
    /// something known.
    pub(super) fn gone(&self, stream: &Stream) -> u32 {
        let old = self.judged.get_or_init(|| {
            // A piece that is shorter than a run could not be judged when it came: it counts again.
            let (older, piece) = self.end.parts();
            let judged = if folded(piece).len() < RUN {
                older
            } else {
                &self.end.text
            };
            self.reads.read(judged, self.leaf)
        });
        u32::try_from(begins_with(stream, old)).unwrap_or(u32::MAX)
    }

    /// Returns the symbols at the beginning of a stream that have left already, judged or not: of a
    /// sensitive value that lies in them alone, this call takes nothing along.
    pub(super) fn sent(&self, stream: &Stream) -> usize {
        let read = || self.reads.read(&self.end.text, self.leaf);
        let old = self.all.get_or_init(read);
        begins_with(stream, old)
    }
}

fn begins_with(stream: &Stream, old: &Read) -> usize {
    let known = old.streams.iter();
    let known = known.filter(|known| stream.symbols.starts_with(&known.symbols));
    known.map(|known| known.symbols.len()).max().unwrap_or(0)
}

/// Puts what was sent before in front of what comes now, field by field, and so what moves in each.
/// Undoing encodings takes longest of all that is done for a call, so this is done before anything is
/// locked.
pub(crate) fn tails<'t, 'f>(
    fields: impl Iterator<Item = Field<'f>>,
    before: &'t [Arc<Tail>],
    reads: &'t Reads,
) -> Vec<Onward<'t>> {
    let mut onward = Vec::new();
    let mut room = End::default();
    let each =
        |(field, tail): (Field<'f>, &'t Arc<Tail>)| tail.each().map(move |tail| (field, tail));
    for (field, tail) in fields.zip(before).flat_map(each) {
        let Tail { all, moving, .. } = tail;
        // Nearly all calls of a tool have the same names.
        let same = field.path == KEYS && field.tail == all.last_piece();
        if all.text.is_empty() || same {
            continue;
        }
        let leaf = field.leaf;
        moving.each(all.last_piece(), field.tail, |end, next| {
            joined(&mut room, &end, next);
            let read = reads.read_if_strange(&room.text, leaf);
            let before = Before::new(end, leaf, reads);
            onward.push(Onward { read, before });
        });
        joined(&mut room, all, field.head);
        let read = Found::Kept(reads.read(&room.text, leaf));
        let before = Before::new(Cow::Borrowed(all), leaf, reads);
        onward.push(Onward { read, before });
    }
    onward
}

/// Puts a text behind what was sent before.
fn joined(room: &mut End, end: &End, next: &str) {
    room.clone_from(end);
    room.open(next);
    room.text.push_str(next);
}
