//! What is known of short texts: names and values repeat from record to record and from message to
//! message, and what was clean once is clean again.
//!
//! Only facts about a text are kept, never about its place, so a hit answers as a scan would.

use std::sync::Mutex;

/// How many entries there are of each sort; a newer one takes the place of an older.
const SLOTS: usize = 128;

/// How many memos are kept for later messages; more are in use only while more are scanned at once.
const KEPT: usize = 16;

/// Longest text that is kept: longer ones seldom repeat.
const LONGEST: usize = 16;

/// A short text, whole: its first and its last eight bytes, which may overlap, and its length.
type Short = (u64, u64, usize);

/// The memos that are not in use. All are of one detector and of one sort of text, so that what is
/// clean in one message is clean in the next.
#[derive(Default)]
pub(super) struct Memos(Mutex<Vec<Box<Memo>>>);

impl Memos {
    /// Takes a memo for one message; whoever would have to wait begins a new one.
    pub(super) fn take(&self) -> Box<Memo> {
        let known = self.0.try_lock().ok().and_then(|mut memos| memos.pop());
        known.unwrap_or_else(|| Box::new(Memo::new()))
    }

    /// Keeps a memo for a later message.
    pub(super) fn keep(&self, memo: Box<Memo>) {
        if let Ok(mut memos) = self.0.try_lock()
            && memos.len() < KEPT
        {
            memos.push(memo);
        }
    }
}

/// Names of fields and clean leaves.
pub(super) struct Memo {
    /// Leaves in which nothing was seen, each with the name of its field.
    clean: [(Short, Short); SLOTS],
    /// Names of fields, and whether any scanner heeds them.
    names: [(Short, bool); SLOTS],
}

/// The name and the text of a leaf that are short enough to be kept.
#[derive(Clone, Copy)]
pub(super) struct Known(Short, Short);

impl Memo {
    /// Knows that nothing is seen in nothing.
    pub(super) fn new() -> Self {
        let nothing = (0, 0, 0);
        Self {
            clean: [(nothing, nothing); SLOTS],
            names: [(nothing, false); SLOTS],
        }
    }

    /// Returns the leaf as it is kept, if it is short enough.
    pub(super) fn of(name: &str, text: &str) -> Option<Known> {
        Some(Known(short(name)?, short(text)?))
    }

    /// Tells whether nothing was seen in the same text under the same name.
    pub(super) fn is_clean(&self, Known(name, text): Known) -> bool {
        let slot = self.clean.get(slot(name, text));
        slot.is_some_and(|known| *known == (name, text))
    }

    /// Keeps that nothing was seen in a text under a name.
    pub(super) fn keep_clean(&mut self, Known(name, text): Known) {
        if let Some(known) = self.clean.get_mut(slot(name, text)) {
            *known = (name, text);
        }
    }

    /// Tells whether any scanner heeds a name, asking only if that is not known.
    pub(super) fn heeds(&mut self, name: &str, ask: impl FnOnce() -> bool) -> bool {
        let Some(name) = short(name) else {
            return ask();
        };
        let Some(known) = self.names.get_mut(slot(name, name)) else {
            return ask();
        };
        if known.0 != name {
            *known = (name, ask());
        }
        known.1
    }
}

/// Returns a short text whole.
fn short(text: &str) -> Option<Short> {
    let bytes = text.as_bytes();
    let half = |chunk: &[u8; 4]| u64::from(u32::from_le_bytes(*chunk));
    let (first, last) = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk())
    {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk().map(half), bytes.last_chunk()) {
        (first, half(last))
    } else {
        let push = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
        (bytes.iter().fold(0, push), 0)
    };
    (bytes.len() <= LONGEST).then_some((first, last, bytes.len()))
}

/// The slot of a name and a text.
fn slot(name: Short, text: Short) -> usize {
    let tail = |(first, last, length): Short| first ^ last.rotate_left(17) ^ length as u64;
    let both = tail(text) ^ tail(name).rotate_left(29);
    let hash = both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    usize::try_from(hash).unwrap_or(0) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_name_and_text_is_known() {
        let mut memo = Memo::new();
        memo.keep_clean(Memo::of("state", "open").unwrap());
        let long = "x".repeat(LONGEST + 1);
        for (name, text, expect) in [
            ("state", "open", Some(true)),
            ("state", "opens", Some(false)),
            ("status", "open", Some(false)),
            ("", "open", Some(false)),
            ("", "", Some(true)),
            ("state", &long, None),
            (&long, "open", None),
        ] {
            let known = Memo::of(name, text).map(|leaf| memo.is_clean(leaf));
            assert_eq!(known, expect, "{name} {text}");
        }
    }

    #[test]
    fn texts_that_differ_are_kept_apart() {
        let mut all: Vec<String> = (0..=LONGEST).map(|length| "a".repeat(length)).collect();
        for length in 1..=LONGEST {
            all.extend((0..length).map(|at| {
                let other = |place| if place == at { 'b' } else { 'a' };
                (0..length).map(other).collect::<String>()
            }));
        }
        let mut kept: Vec<Short> = all.iter().map(|text| short(text).unwrap()).collect();
        kept.sort_unstable();
        kept.dedup();
        assert_eq!(kept.len(), all.len());
    }

    #[test]
    fn a_name_is_asked_for_once_while_it_is_kept() {
        let mut memo = Memo::new();
        assert!(memo.heeds("password", || true));
        assert!(memo.heeds("password", || false));
        assert!(!memo.heeds("colour", || false));
        let long = "x".repeat(LONGEST + 1);
        assert!(memo.heeds(&long, || true));
        assert!(!memo.heeds(&long, || false));
    }
}
