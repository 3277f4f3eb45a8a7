//! Runs that look like nothing that people or programs write: a coding that nobody knows by name
//! still has to look unlike language, code and data.
//!
//! How unusual a character is after another was counted over sources, documents and manuals in
//! twenty languages. Two bars are kept: a short run has to be very unusual, a long one less so.
//! What repeats itself is no news, nor is what holds code together, and hashes are the one kind of chance that everybody sends.

use std::ops::Range;
use std::sync::LazyLock;

use super::meter::Meter;
use super::structure::Structure;
use super::usual::{Read, path, usual};

/// Classes are blanks, the printable characters of ASCII, other letters, other signs, all else.
const ROW: usize = 128;
const LETTER: u8 = 95;
const SIGN: u8 = 96;
const OTHER: u8 = 97;

/// The classes of capital letters, and how far the small ones lie beyond.
const CAPITALS: Range<usize> = 33..59;
const SMALL: usize = 32;
/// What a word in capitals says more than in small letters.
const SHOUTED: u8 = 3;

/// Quarters of a bit that each character says after each other, row by row.
const PAIRS: &str = include_str!("pairs.txt");
/// What stands for no bits in there.
const ZERO: u8 = b'0';

/// The same as a table with rows of a round length.
static BITS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bits = vec![0; ROW * ROW];
    let lines: Vec<&[u8]> = PAIRS.lines().map(str::as_bytes).collect();
    for (before, line) in lines.iter().enumerate() {
        let small = lines.get(before + SMALL);
        for (class, &digit) in line.iter().enumerate() {
            let shouted = CAPITALS.contains(&before) && CAPITALS.contains(&class);
            let small = small.and_then(|line| line.get(class + SMALL).copied());
            let digit = match small.filter(|_| shouted) {
                Some(small) => digit.min(small + SHOUTED),
                None => digit,
            };
            if let Some(to) = bits.get_mut(before * ROW + class) {
                *to = digit.saturating_sub(ZERO);
            }
        }
    }
    bits
});

/// Quarters of a bit that a character may say at no charge, and what all of a run has to say
/// beyond that.
struct Bar {
    free: i32,
    enough: i32,
}

const BARS: [Bar; 2] = [
    Bar {
        free: 23,
        enough: 80,
    },
    Bar {
        free: 20,
        enough: 152,
    },
];

/// A run is over when so much was said that is usual.
const OVER: i32 = 160;
/// Quarters of a bit of what stood there just before.
const KNOWN: u8 = 16;
/// Bytes of a text for each of which one path is passed over: names that programs make up hide little
/// as long as they are few.
const PATH: usize = 75;
/// Groups of four characters that are remembered, as a power of two.
const RECENT: usize = 1 << 10;

/// Returns the strange runs of a text, but for what lies in `read`, which is sorted.
pub(super) fn find(text: &str, read: &[Range<usize>]) -> Vec<Range<usize>> {
    if text.is_ascii() && !may_be(text.as_bytes()) {
        return Vec::new();
    }
    // What holds code together only speaks against a run: where none is without it, none is with it.
    let found = runs(text, read, None);
    if found.is_empty() {
        return found;
    }
    runs(text, read, Some(Structure::of(text)))
}

/// Returns the strange runs of a text, passing over its structure where that is given.
fn runs(
    text: &str,
    read: &[Range<usize>],
    mut structure: Option<Structure<'_>>,
) -> Vec<Range<usize>> {
    let mut meters = BARS.map(|bar| (Meter::new(bar.enough, OVER), bar.free));
    let mut found = Vec::new();
    let mut read = Read::new(read);
    let mut recent = Recent::default();
    let bits: &[u8] = &BITS;
    let (mut last, mut before, mut until, mut paths) = (0_u8, '\0', 0, 0);
    for (at, char) in text.char_indices() {
        if char == before || at < until || is_joiner(char) {
            continue;
        }
        if char.is_ascii_alphanumeric() && !before.is_ascii_alphanumeric() {
            until = usual(text, at);
            if paths <= text.len() / PATH
                && let Some(end) = path(text, at)
            {
                (paths, until) = (paths + 1, end);
            }
        }
        until = until.max(read.until(at));
        before = char;
        let class = if at < until { 0 } else { class(char) };
        let index = usize::from(last) * ROW + usize::from(class);
        let mut bits = bits.get(index).copied().unwrap_or(0);
        if class == 0 && last == 0 {
            continue;
        }
        last = class;
        recent.push(char);
        if bits > KNOWN && recent.is_known() {
            bits = KNOWN;
        }
        // What holds code together speaks for nothing, but may speak against it, as `may_be` says.
        let held = structure
            .as_mut()
            .is_some_and(|structure| structure.has(at));
        let most = if held { 0 } else { i32::MAX };
        for (meter, free) in &mut meters {
            let more = (i32::from(bits) - *free).min(most);
            meter.add(at..at + char.len_utf8(), more, &mut found);
        }
    }
    for (meter, _) in &mut meters {
        meter.end(&mut found);
    }
    found
}

/// What each character of ASCII says after each other beyond what is free at either bar, by the two of
/// them. What stands there again, or is a blank behind a blank, says nothing.
static MORE: LazyLock<Vec<i8>> = LazyLock::new(|| {
    const FREE: i32 = least(BARS[0].free, BARS[1].free);
    let class = |byte: usize| u8::try_from(byte).map_or(0, |byte| class(char::from(byte)));
    let more = |index: usize| {
        let [last, next] = [index / ROW, index % ROW].map(|byte| usize::from(class(byte)));
        let bits = BITS.get(last * ROW + next).copied().unwrap_or(0);
        let more = if last == next {
            0
        } else {
            i32::from(bits) - FREE
        };
        i8::try_from(more).unwrap_or(i8::MAX)
    };
    (0..ROW * ROW).map(more).collect()
});

/// Tells whether there may be a strange run in ASCII: most text is told from it at a glance. What
/// one bar finds is more by the charge of the other, so that one sum is below only where both are.
fn may_be(text: &[u8]) -> bool {
    const ENOUGH: i32 = least(BARS[0].enough, BARS[1].enough);
    let Some(table) = MORE.first_chunk::<{ ROW * ROW }>() else {
        return true;
    };
    // A text begins as if behind a blank.
    let mut last = 0;
    let (mut sum, mut most) = (0_i32, 0);
    for &byte in text {
        let next = usize::from(byte);
        // What the mask takes off is never set: it spares a look at the length.
        let pair = (last << ROW.ilog2() | next) & (ROW * ROW - 1);
        last = next;
        let more = table.get(pair).copied().map_or(0, i32::from);
        // No text is so long that this wraps: a character says a few bits.
        sum = sum.wrapping_add(more).max(0);
        most = most.max(sum);
    }
    most >= ENOUGH
}

const fn least(one: i32, other: i32) -> i32 {
    if one < other { one } else { other }
}

/// Tells whether a character only holds pictures together.
fn is_joiner(char: char) -> bool {
    matches!(char, '\u{200d}' | '\u{fe0f}')
}

/// The last characters, and groups of them that were unusual before.
#[derive(Default)]
struct Recent {
    group: u64,
    groups: Vec<u64>,
}

impl Recent {
    fn push(&mut self, char: char) {
        self.group = self.group << 16 | u64::from(u32::from(char)) & 0xFFFF;
    }

    /// Tells whether the last four characters stood there just before, and remembers them.
    fn is_known(&mut self) -> bool {
        self.groups.resize(RECENT, 0);
        let spread = self.group.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - RECENT.ilog2());
        let slot = usize::try_from(spread).ok();
        let slot = slot.and_then(|at| self.groups.get_mut(at));
        slot.is_some_and(|old| std::mem::replace(old, self.group) == self.group)
    }
}

/// Tells whether a word is letters by chance: each says so much after the one before it.
pub(crate) fn is_chance(word: &str) -> bool {
    const EACH: u32 = 19;
    let (mut sum, mut count, mut last) = (0, 0, 0_u8);
    for byte in word.bytes().filter(u8::is_ascii_alphanumeric) {
        let class = byte.to_ascii_lowercase() - b' ';
        let index = usize::from(last) * ROW + usize::from(class);
        sum += BITS.get(index).copied().map_or(0, u32::from);
        count += 1;
        last = class;
    }
    count > 0 && sum >= EACH * count
}

/// Returns the class of a character.
fn class(char: char) -> u8 {
    match char {
        '!'..='~' => u8::try_from(char).map_or(OTHER, |byte| byte - b' '),
        '\0'..='\x7f' => 0,
        '\u{a1}'..='\u{bf}'
        | '×'
        | '÷'
        | '\u{2010}'..='\u{205e}'
        | '\u{20a0}'..='\u{20bf}'
        | '\u{2100}'..='\u{25ff}' => SIGN,
        // Latin to Cyrillic, Hebrew and Arabic, the scripts of India and Thailand, those of East
        // Asia with their signs: what people write to each other.
        'À'..='\u{24f}'
        | '\u{300}'..='\u{6ff}'
        | '\u{900}'..='\u{e7f}'
        | '\u{10a0}'..='\u{10ff}'
        | '\u{1e00}'..='\u{1eff}'
        | '\u{3000}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{ff00}'..='\u{ffef}' => LETTER,
        _ if char.is_whitespace() => 0,
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests;
