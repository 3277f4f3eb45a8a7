//! Letters moved along the alphabet, known by how often each occurs; ROT47 and XOR with one byte,
//! known by what comes out.
//!
//! ROT13 is no matter here: windows are the same under it.

use super::Made;
use super::natural::Look;

const ALPHABET: usize = 26;
/// How often each letter occurs in a thousand of English text; close enough for its relatives.
const OFTEN: [u32; ALPHABET] = [
    82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2,
    20, 1,
];
/// The same twice in a row, so that letters that are moved beyond the last need no other look.
const TWICE: [u32; 2 * ALPHABET] = twice();
/// Letters from which on frequencies mean something.
const LETTERS: usize = 24;
/// Letters of one kind that count: sums of them stay small.
const MOST: u32 = 4096;

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn twice() -> [u32; 2 * ALPHABET] {
    let mut table = [0; 2 * ALPHABET];
    let mut at = 0;
    while at < table.len() {
        table[at] = OFTEN[at % ALPHABET];
        at += 1;
    }
    table
}

/// Adds what `text` may say.
pub(super) fn find(text: &str, look: Look, made: &mut Vec<Made>) {
    if look.letters >= LETTERS {
        moved(text, letters(text), made);
    }
    rot47(text, look.signs, made);
}

/// Counts each letter, up to as many as matter.
fn letters(text: &str) -> [u32; ALPHABET] {
    let mut counts = [0_u32; ALPHABET];
    for byte in text.bytes().filter(u8::is_ascii_alphabetic) {
        let index = usize::from(byte.to_ascii_lowercase() - b'a');
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
    }
    counts.map(|count| count.min(MOST))
}

/// Scores how much the letters look like a language if they are moved by so many places.
fn score(counts: &[u32; ALPHABET], by: usize) -> u32 {
    let often = TWICE.get(by..).and_then(<[u32]>::first_chunk::<ALPHABET>);
    let pairs = often.into_iter().flatten().zip(counts);
    // INVARIANT: no count is above its bound, so nothing wraps; checked sums are slow here.
    pairs.fold(0, |sum, (often, count)| {
        sum.wrapping_add(often.wrapping_mul(*count))
    })
}

fn moved(text: &str, counts: [u32; ALPHABET], made: &mut Vec<Made>) {
    let mut turned = counts;
    turned.reverse();
    let plain = score(&counts, 0).max(score(&counts, 13));
    let caesar = (1..ALPHABET).map(|by| (score(&counts, by), by, false));
    let mirror = (0..ALPHABET).map(|by| (score(&turned, by), by, true));
    let best = caesar.chain(mirror).max_by_key(|(score, ..)| *score);
    let Some((best, by, mirrored)) = best else {
        return;
    };
    // Plain text of any language with these letters scores well as it is.
    if best * 4 < plain * 5 {
        return;
    }
    let map = |byte: u8, first: u8| {
        let from = usize::from(byte - first);
        let from = if mirrored { 25 - from } else { from };
        first + u8::try_from((from + by) % ALPHABET).unwrap_or(0)
    };
    let plain = replaced(text, |byte| match byte {
        b'a'..=b'z' => map(byte, b'a'),
        b'A'..=b'Z' => map(byte, b'A'),
        _ => byte,
    });
    made.push(Made::new(if mirrored { "atbash" } else { "caesar" }, plain));
}

/// Replaces bytes of ASCII by others of ASCII.
fn replaced(text: &str, map: impl Fn(u8) -> u8) -> String {
    let bytes = text.bytes().map(map).collect();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Turns printable ASCII by half its length, where that makes more letters than the `before` signs.
fn rot47(text: &str, before: usize, made: &mut Vec<Made>) {
    if before * 6 < text.len() {
        return;
    }
    let turned = replaced(text, |byte| match byte {
        b'!'..=b'~' => (byte - b'!' + 47) % 94 + b'!',
        _ => byte,
    });
    let signs = turned.bytes().filter(u8::is_ascii_punctuation).count();
    if signs * 3 <= before {
        made.push(Made::new("rot47", turned));
    }
}

/// Finds the byte that was mixed into every other, if one gives readable text.
pub(super) fn unmixed(bytes: &[u8]) -> Option<String> {
    let [first, ..] = bytes else {
        return None;
    };
    // What is readable has no high bit: with one key for all, all have it or none.
    let alike = bytes.iter().all(|byte| (byte ^ first) & 0x80 == 0);
    if !(12..=4096).contains(&bytes.len()) || !alike {
        return None;
    }
    (1..=255_u8).find_map(|key| {
        let fair = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
        let mut odd = 0;
        for byte in bytes.iter().map(|byte| byte ^ key) {
            let printable = byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
            odd += usize::from(!fair(byte));
            // Most keys fail at the first few bytes.
            if !printable {
                return None;
            }
        }
        let plain: Vec<u8> = bytes.iter().map(|byte| byte ^ key).collect();
        (odd * 4 <= bytes.len()).then(|| String::from_utf8(plain).ok())?
    })
}
