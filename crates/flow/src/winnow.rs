//! Winnowing: keeps so few windows of a text that remembering them is cheap, and so many that no
//! shared run of [`RUN`] symbols is missed.
//!
//! Of every [`WINDOW`] windows in a row the one with the smallest hash is kept (Schleimer, Wilkerson
//! and Aiken, 2003). Both sides keep the same one where their texts agree.
//!
//! The upper bits of hashes tell nearly always which is the smallest, and fit numbers so small that the
//! compiler compares eight pairs of them at once. Only where these are the same all bits are looked at.

use mcpproxy_text::bits::{self, BLOCK};

use crate::roll::{Roll, SPARE};

/// Symbols in a window of text.
pub(crate) const GRAM: usize = 20;
/// Windows in a row of which one is kept.
pub(crate) const WINDOW: usize = 13;
/// Shared symbols that are always found.
pub const RUN: usize = GRAM + WINDOW - 1;

/// A window that was kept: its tag, and where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gram {
    pub(crate) tag: u64,
    pub(crate) at: u32,
}

/// Longest text that is winnowed at once.
const CHUNK: usize = 1 << SPARE;

/// Hands the windows of `symbols` that are kept to `each`, in order.
///
/// A text with fewer windows than one choice needs keeps its smallest.
pub(crate) fn winnow(symbols: &[u8], room: &mut Room, mut each: impl FnMut(Gram)) {
    let mut start = 0;
    while let Some(rest) = symbols.get(start..) {
        let chunk = rest.get(..rest.len().min(CHUNK)).unwrap_or_default();
        one(chunk, start, room, &mut each);
        if chunk.len() == rest.len() {
            return;
        }
        // The next chunk overlaps, so that a run across the border lies in one of them.
        start += CHUNK - RUN;
    }
}

fn one(symbols: &[u8], start: usize, room: &mut Room, each: &mut impl FnMut(Gram)) {
    let count = (symbols.len() + 1).saturating_sub(GRAM);
    let mut roll = Roll::<GRAM>::new(symbols);
    let mut hand_out = |hash: u64, place: usize| {
        each(Gram {
            tag: hash >> SPARE,
            at: u32::try_from(start + place).unwrap_or(u32::MAX),
        });
    };
    if count < WINDOW {
        let mut hashes = [0; WINDOW];
        let filled = roll.fill(&mut hashes);
        // The first of equals.
        let all = hashes.iter().take(filled).enumerate();
        if let Some((place, hash)) = all.min_by_key(|(_, hash)| *hash >> SPARE) {
            hand_out(*hash, place);
        }
        return;
    }
    let mut segment = Segment {
        room,
        start: 0,
        count,
    };
    let mut last: Option<Candidate> = None;
    loop {
        segment.fill(&mut roll);
        for block in segment.blocks() {
            let mut left = segment.candidates(block);
            while left != 0 {
                let next = segment.candidate(block + left.trailing_zeros() as usize);
                left &= left - 1;
                let tied = last.is_some_and(|last| last.ties(next));
                if let Some(one) = last.replace(Candidate { tied, ..next })
                    && (!(one.tied | tied) || segment.keeps(one))
                {
                    hand_out(one.hash, one.place);
                }
            }
        }
        // What comes later is too far away to be in a row with this one.
        let over = segment.is_last();
        if let Some(one) = last.take_if(|one| over || segment.reaches(one.place))
            && (!one.tied || segment.keeps(one))
        {
            hand_out(one.hash, one.place);
        }
        if over {
            return;
        }
        segment.move_on();
    }
}

/// How far the others of a row can be from one of it.
const REACH: usize = WINDOW - 1;
/// Hashes before those of a segment that are looked at with it, and those that stay for the next: behind
/// it are some, too.
const BEFORE: usize = 2 * REACH;
const STAY: usize = BEFORE + REACH;
/// Windows of a segment. Numbers that were just written one by one are slow to read in groups: there are
/// enough others to begin with.
const SEGMENT: usize = 4 * BLOCK;

/// A window that is the smallest of a row, as far as the upper bits of its hash tell.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    hash: u64,
    place: usize,
    /// Whether they do not tell it from the candidate before.
    tied: bool,
}

impl Candidate {
    /// Tells whether the next one may be in the same row, and looks as small.
    fn ties(self, next: Self) -> bool {
        upper(self.hash) == upper(next.hash) && next.place - self.place <= REACH
    }
}

/// The upper bits of hashes that are compared first.
type Upper = i16;

#[inline]
fn upper(hash: u64) -> Upper {
    (hash >> (u64::BITS - (Upper::BITS - 1))) as Upper
}

/// Room for the hashes of a segment and of those around it, which is used again for the next text.
#[derive(Debug)]
pub(crate) struct Room([u64; STAY + SEGMENT]);

impl Default for Room {
    fn default() -> Self {
        Self([0; STAY + SEGMENT])
    }
}

/// Some windows in a row, with those around that are in a row with them.
struct Segment<'r> {
    room: &'r mut Room,
    /// The place of the first window of the segment, and how many the text has.
    start: usize,
    count: usize,
}

impl Segment<'_> {
    /// Takes the hashes that follow.
    fn fill(&mut self, roll: &mut Roll<'_, GRAM>) {
        let have = if self.start == 0 { BEFORE } else { STAY };
        roll.fill(self.room.0.get_mut(have..).unwrap_or_default());
    }

    /// Returns where the blocks begin that have any windows.
    fn blocks(&self) -> impl Iterator<Item = usize> + use<> {
        (0..SEGMENT.min(self.count - self.start)).step_by(BLOCK)
    }

    fn is_last(&self) -> bool {
        self.start + SEGMENT >= self.count
    }

    /// Tells whether no window behind the segment is in a row with this one.
    fn reaches(&self, place: usize) -> bool {
        place + REACH < self.start + SEGMENT
    }

    fn move_on(&mut self) {
        self.room.0.copy_within(SEGMENT.., 0);
        self.start += SEGMENT;
    }

    /// Returns one of the segment.
    #[inline]
    fn candidate(&self, at: usize) -> Candidate {
        Candidate {
            hash: self.room.0.get(BEFORE + at).copied().unwrap_or(0),
            place: self.start + at,
            tied: false,
        }
    }

    /// Returns which of a block are as small as the smallest of a row that has them, as bits.
    fn candidates(&self, block: usize) -> u64 {
        let mut uppers = [0; ROWS];
        let hashes = self.room.0.get(block + REACH..);
        if let Some(hashes) = hashes.and_then(<[u64]>::first_chunk::<SLID>) {
            for (to, hash) in uppers.iter_mut().zip(hashes) {
                *to = upper(*hash);
            }
        }
        let mut least = slide(&uppers, Upper::min);
        // There is no row that begins before the text, or that ends behind it.
        if self.start + block == 0 {
            least
                .iter_mut()
                .take(REACH)
                .for_each(|one| *one = Upper::MIN);
        }
        if let Some(behind) = least.get_mut(self.count - self.start - block..) {
            behind.fill(Upper::MIN);
        }
        let most = slide(&least, Upper::max);
        let mut flags = [0; BLOCK];
        if let Some(own) = uppers
            .get(REACH..)
            .and_then(<[Upper]>::first_chunk::<BLOCK>)
        {
            for ((to, own), most) in flags.iter_mut().zip(own).zip(&most) {
                *to = u8::from(own == most);
            }
        }
        bits::mask(&flags, |flag| flag)
    }

    /// Tells whether a window is the smallest of a row, by all bits of its tag.
    #[cold]
    fn keeps(&self, one: Candidate) -> bool {
        let tag = one.hash >> SPARE;
        // INVARIANT: all that can be in a row with it is here.
        let at = one.place + BEFORE - self.start;
        let (before, behind) = self.room.0.split_at_checked(at).unwrap_or_default();
        let later = self.count - one.place - 1;
        let mut before = before.iter().rev().take(REACH.min(one.place));
        let mut behind = behind.iter().skip(1).take(REACH.min(later));
        // Of equals, the first is kept.
        let before = before.position(|hash| hash >> SPARE <= tag);
        let behind = behind.position(|hash| hash >> SPARE < tag);
        let [before, behind] = [before, behind].map(|steps| steps.unwrap_or(REACH));
        let first = one.place.saturating_sub(before);
        let last = (one.place + behind).checked_sub(REACH);
        last.is_some_and(|last| first <= last.min(self.count - WINDOW))
    }
}

/// Places of rows that are looked at together: those of a block and before it, and a few more, so that
/// they are done in whole groups.
const ROWS: usize = 104;
const SLID: usize = 88;

/// Returns what `pick` leaves of the number at each place and those of the row that begins there.
#[inline]
fn slide(row: &[Upper; ROWS], pick: impl Fn(Upper, Upper) -> Upper + Copy) -> [Upper; ROWS] {
    // Of four, and of thirteen.
    let four = joined([0, 1, 2, 3], row, pick);
    joined([0, 4, 8, REACH - 3], &four, pick)
}

/// Returns what `pick` leaves of the numbers that stand so far behind each place.
#[inline]
fn joined(
    on: [usize; 4],
    row: &[Upper; ROWS],
    pick: impl Fn(Upper, Upper) -> Upper,
) -> [Upper; ROWS] {
    let mut found = [0; ROWS];
    let behind = on.map(|on| row.get(on..).and_then(<[Upper]>::first_chunk::<SLID>));
    if let [Some(one), Some(two), Some(three), Some(four)] = behind {
        let numbers = one.iter().zip(two).zip(three.iter().zip(four));
        for (to, ((one, two), (three, four))) in found.iter_mut().zip(numbers) {
            *to = pick(pick(*one, *two), pick(*three, *four));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::roll::roll;

    fn kept(symbols: &[u8]) -> Vec<Gram> {
        let mut found = Vec::new();
        winnow(symbols, &mut Room::default(), |gram| found.push(gram));
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
        fn windows_that_are_kept_are_the_minima(text in "[a-d]{32,400}|[a-z]{32,400}|(a{1,40}[a-z]{1,9}){2,20}") {
            // A shorter text keeps its smallest window, whatever rows it has.
            prop_assume!(text.len() >= RUN);
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

    fn mixed(count: u64) -> String {
        let letter = |n| char::from(b'a' + u8::try_from(crate::roll::scramble(n) % 26).unwrap());
        (0..count).map(letter).collect()
    }

    #[test]
    fn what_upper_bits_do_not_tell_apart_is_told_by_the_others() {
        // Of so many, some look as small as another of their row.
        for text in [mixed(200_000), "a".repeat(500), "ab".repeat(400)] {
            assert_eq!(kept(text.as_bytes()), naive(text.as_bytes()));
        }
    }

    #[test]
    fn about_one_window_in_seven_is_kept() {
        let text = mixed(20_000);
        let share = text.len() / kept(text.as_bytes()).len();
        assert!((6..=7).contains(&share), "{share}");
        assert!(kept(b"short").is_empty());
        assert_eq!(kept(b"exactlytwentysymbols").len(), 1);
    }
}
