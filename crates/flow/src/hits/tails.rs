//! What several calls say together: the end of what was sent to a place before, read on into what
//! goes there now.

use std::sync::Arc;

use crate::fold::folded;
use crate::sending::Field;
use crate::stream::{Before, Family, Stream};
use crate::tail::Tail;
use crate::view::{Decoded, budget, one};
use crate::winnow::RUN;

/// Puts what was sent before in front of what comes now, field by field. Undoing encodings takes
/// longest of all that is done for a call, so this is done before anything is locked.
pub(crate) fn tails(fields: &[Field], before: Vec<Tail>) -> Decoded {
    let mut decoded = Decoded::default();
    for (field, tail) in fields.iter().zip(before) {
        if tail.text.is_empty() {
            continue;
        }
        let mut new = read_on(&[&*tail.text, &field.head].concat(), field.leaf);
        let before = Arc::new(Before::new(tail, field.leaf));
        for stream in &mut new.streams {
            stream.choose();
            stream.before = Some(Arc::clone(&before));
        }
        decoded.streams.append(&mut new.streams);
        decoded.cut |= new.cut;
    }
    decoded
}

/// Returns the symbols at the beginning of a stream that have left already and were judged: what lies
/// in them alone is no news. What was sent before is read again only for a stream that holds
/// something known.
pub(super) fn gone(stream: &Stream) -> u32 {
    let Some(before) = &stream.before else {
        return 0;
    };
    let old = before.judged(|Tail { text, last }, leaf| {
        // A piece that is shorter than a run could not be judged when it came: it counts again.
        let (older, piece) = text
            .split_at_checked(text.len() - last)
            .unwrap_or((text, ""));
        let judged = if folded(piece).len() < RUN {
            older
        } else {
            text
        };
        read_on(judged, leaf).streams
    });
    u32::try_from(begins_with(stream, old)).unwrap_or(u32::MAX)
}

/// Returns the symbols at the beginning of a stream that have left already, judged or not: of a
/// sensitive value that lies in them alone, this call takes nothing along.
pub(super) fn sent(stream: &Stream) -> usize {
    let before = stream.before.as_ref();
    before.map_or(0, |before| {
        let old = before.all(|tail, leaf| read_on(&tail.text, leaf).streams);
        begins_with(stream, old)
    })
}

fn begins_with(stream: &Stream, old: &[Stream]) -> usize {
    let known = old.iter();
    let known = known.filter(|known| stream.symbols.starts_with(&known.symbols));
    known.map(|known| known.symbols.len()).max().unwrap_or(0)
}

/// Reads a text that was put together, as it is and with its encodings undone.
fn read_on(text: &str, leaf: u32) -> Decoded {
    let mut decoded = Decoded::default();
    let stream = Stream::of(Family::Tail, text, leaf, Vec::new());
    decoded.streams.push(stream);
    let mut budget = budget(0);
    one(text, leaf, Family::Tail, &mut budget, &mut decoded);
    decoded
}
