//! Winnowing: keeps so few windows of a text that remembering them is cheap, and so many that no
//! shared run of [`RUN`] symbols is missed.
//!
//! Of every [`WINDOW`] windows in a row the one with the smallest hash is kept (Schleimer, Wilkerson
//! and Aiken, 2003). Both sides keep the same one where their texts agree. Minima are taken over
//! blocks, forwards and backwards, which needs no queue.

use crate::roll::{Roll, SPARE};

/// Symbols in a window of text.
pub(crate) const GRAM: usize = 20;
/// Windows in a row of which one is kept.
pub(crate) const WINDOW: usize = 13;
/// The same, as places are counted.
const STEP: u64 = WINDOW as u64;
/// Shared symbols that are always found.
pub const RUN: usize = GRAM + WINDOW - 1;

/// A window that was kept: its tag, and where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gram {
    pub(crate) tag: u64,
    pub(crate) at: u32,
}

/// Longest text that is winnowed at once; positions have to fit below the tag.
const CHUNK: usize = 1 << SPARE;

/// Hands the windows of `symbols` that are kept to `each`, in order.
///
/// A text with fewer windows than one choice needs keeps its smallest.
pub(crate) fn winnow(symbols: &[u8], mut each: impl FnMut(Gram)) {
    let mut start = 0;
    while let Some(rest) = symbols.get(start..) {
        let chunk = rest.get(..rest.len().min(CHUNK)).unwrap_or_default();
        one(chunk, start, &mut each);
        if chunk.len() == rest.len() {
            return;
        }
        // The next chunk overlaps, so that a run across the border lies in one of them.
        start += CHUNK - RUN;
    }
}

fn one(symbols: &[u8], start: usize, each: &mut impl FnMut(Gram)) {
    let mut kept = Kept::default();
    let mut roll = Roll::<GRAM>::new(symbols);
    let mut block = [u64::MAX; WINDOW];
    let filled = fill(&mut block, &mut roll, 0);
    if filled < WINDOW {
        kept.add(block.iter().take(filled).min().copied());
        return kept.hand_out(start, each);
    }
    let mut at = STEP;
    loop {
        let tails = tails(&block);
        if roll.block(&mut block) {
            kept.add_between(&tails, &mut block, at);
            // INVARIANT: a chunk has fewer windows than the bits of a position can tell.
            at = at.wrapping_add(STEP);
            if kept.is_full() {
                kept.hand_out(start, each);
            }
            continue;
        }
        let filled = fill(&mut block, &mut roll, at);
        let least = between(&tails, &block);
        kept.add(least.into_iter().take(filled + 1));
        return kept.hand_out(start, each);
    }
}

/// Windows that were kept, until they are handed out together. Which of them are the same as the one
/// before is as good as chance, so that they are sorted out without a jump.
struct Kept {
    list: [u64; KEPT],
    count: usize,
    last: u64,
}

/// Windows that wait at most, a power of two.
const KEPT: usize = 128;

impl Default for Kept {
    fn default() -> Self {
        Self {
            list: [0; KEPT],
            count: 0,
            last: u64::MAX,
        }
    }
}

impl Kept {
    /// Tells whether there may be no room for those of another block.
    fn is_full(&self) -> bool {
        self.count > KEPT - WINDOW
    }

    #[inline]
    fn add(&mut self, least: impl IntoIterator<Item = u64>) {
        for one in least {
            self.push(one);
        }
    }

    #[inline]
    fn push(&mut self, one: u64) {
        // What the mask takes off is never set: it spares a look at the length.
        if let Some(slot) = self.list.get_mut(self.count & (KEPT - 1)) {
            *slot = one;
        }
        self.count = self.count.wrapping_add(usize::from(one != self.last));
        self.last = one;
    }

    /// Adds what [`between`] gives for a block of hashes that begins at a place, and packs them on the
    /// way: each is looked at once.
    #[inline]
    fn add_between(&mut self, tails: &[u64; WINDOW], hashes: &mut [u64; WINDOW], at: u64) {
        let mut head = u64::MAX;
        let mut place = at;
        for (slot, tail) in hashes.iter_mut().zip(tails) {
            let new = pack(*slot, place);
            place = place.wrapping_add(1);
            self.push(head.min(*tail));
            head = head.min(new);
            *slot = new;
        }
    }

    fn hand_out(&mut self, start: usize, each: &mut impl FnMut(Gram)) {
        for one in self.list.iter().take(self.count) {
            let within = usize::try_from(one & ((1 << SPARE) - 1)).unwrap_or(0);
            each(Gram {
                tag: one >> SPARE,
                at: u32::try_from(start + within).unwrap_or(u32::MAX),
            });
        }
        self.count = 0;
    }
}

/// Puts the tag above and the position below: the smallest number is the smallest tag, the first of
/// equals.
#[inline]
fn pack(hash: u64, at: u64) -> u64 {
    hash >> SPARE << SPARE | at
}

/// Fills a block with what is left; returns how much that was.
fn fill(block: &mut [u64; WINDOW], roll: &mut Roll<'_, GRAM>, at: u64) -> usize {
    let mut filled = 0;
    for ((slot, hash), place) in block.iter_mut().zip(roll).zip(at..) {
        *slot = pack(hash, place);
        filled += 1;
    }
    filled
}

/// Returns the least of every row of windows that begins in one block, and ends in the next before
/// the place where it began.
#[inline]
fn between(tails: &[u64; WINDOW], next: &[u64; WINDOW]) -> [u64; WINDOW] {
    let mut least = *tails;
    let mut head = u64::MAX;
    for (slot, &new) in least.iter_mut().zip(next) {
        *slot = head.min(*slot);
        head = head.min(new);
    }
    least
}

/// Returns the minima of a block from each place to its end.
#[inline]
fn tails(block: &[u64; WINDOW]) -> [u64; WINDOW] {
    let mut tails = *block;
    let mut least = u64::MAX;
    for tail in tails.iter_mut().rev() {
        least = least.min(*tail);
        *tail = least;
    }
    tails
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::roll::roll;

    fn kept(symbols: &[u8]) -> Vec<Gram> {
        let mut found = Vec::new();
        winnow(symbols, |gram| found.push(gram));
        found
    }

    fn naive(symbols: &[u8]) -> Vec<Gram> {
        let mut all = Vec::new();
        roll::<GRAM>(symbols, |hash| all.push(hash >> SPARE));
        let mut found: Vec<Gram> = Vec::new();
        for (start, window) in all.windows(WINDOW).enumerate() {
            let least = (0..WINDOW).min_by_key(|&at| window[at]).unwrap();
            let gram = Gram {
                tag: window[least],
                at: u32::try_from(start + least).unwrap(),
            };
            if found.last() != Some(&gram) {
                found.push(gram);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn block_minima_are_the_minima(text in "[a-d]{32,400}") {
            prop_assert_eq!(kept(text.as_bytes()), naive(text.as_bytes()));
        }

        #[test]
        fn a_shared_run_shares_a_window(
            run in "[a-z0-9]{32}", a in "[a-z]{0,60}", b in "[a-z]{0,60}", c in "[a-z]{0,60}",
        ) {
            let one = kept(format!("{a}{run}{b}").as_bytes());
            let other = kept(format!("{c}{run}{a}").as_bytes());
            prop_assert!(one.iter().any(|x| other.iter().any(|y| x.tag == y.tag)));
        }
    }

    #[test]
    fn about_one_window_in_seven_is_kept() {
        let text: String = (0..20_000_u64)
            .map(|n| char::from(b'a' + u8::try_from(crate::roll::scramble(n) % 26).unwrap()))
            .collect();
        let share = text.len() / kept(text.as_bytes()).len();
        assert!((6..=7).contains(&share), "{share}");
        assert!(kept(b"short").is_empty());
        assert_eq!(kept(b"exactlytwentysymbols").len(), 1);
    }
}
