//! Letters moved along the alphabet, known by how often each occurs; ROT47 and XOR with one byte,
//! known by what comes out.
//!
//! ROT13 is no matter here: windows are the same under it.

use super::Made;

/// How often each letter occurs in a thousand of English text; close enough for its relatives.
const OFTEN: [u32; 26] = [
    82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2,
    20, 1,
];
/// Letters from which on frequencies mean something.
const LETTERS: u32 = 24;

/// Adds what `text` may say.
pub(super) fn find(text: &str, made: &mut Vec<Made>) {
    let counts = letters(text);
    if counts.iter().sum::<u32>() >= LETTERS {
        moved(text, &counts, made);
    }
    rot47(text, made);
}

fn letters(text: &str) -> [u32; 26] {
    let mut counts = [0; 26];
    for byte in text.bytes().filter(u8::is_ascii_alphabetic) {
        let index = usize::from(byte.to_ascii_lowercase() - b'a');
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
    }
    counts
}

/// Scores how much the letters look like a language after `map`.
fn score(counts: &[u32; 26], map: impl Fn(usize) -> usize) -> u32 {
    let one = |(from, count): (usize, &u32)| {
        let often = OFTEN.get(map(from) % 26).copied().unwrap_or(0);
        often * count.min(&4096)
    };
    counts.iter().enumerate().map(one).sum()
}

fn moved(text: &str, counts: &[u32; 26], made: &mut Vec<Made>) {
    let plain = score(counts, |from| from).max(score(counts, |from| from + 13));
    let caesar = (1..26).map(|by| (score(counts, |from| from + by), by, false));
    let mirror = (0..26).map(|by| (score(counts, |from| 25 - from + by), by, true));
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
        first + u8::try_from((from + by) % 26).unwrap_or(0)
    };
    let plain: String = text
        .chars()
        .map(|char| match u8::try_from(char) {
            Ok(byte @ b'a'..=b'z') => char::from(map(byte, b'a')),
            Ok(byte @ b'A'..=b'Z') => char::from(map(byte, b'A')),
            _ => char,
        })
        .collect();
    made.push(Made::new(if mirrored { "atbash" } else { "caesar" }, plain));
}

/// Turns printable ASCII by half its length, where that makes more letters than signs.
fn rot47(text: &str, made: &mut Vec<Made>) {
    let signs = |text: &str| text.bytes().filter(u8::is_ascii_punctuation).count();
    let before = signs(text);
    if before * 6 < text.len() {
        return;
    }
    let turned: String = text
        .chars()
        .map(|char| match u8::try_from(char) {
            Ok(byte @ b'!'..=b'~') => char::from((byte - b'!' + 47) % 94 + b'!'),
            _ => char,
        })
        .collect();
    if signs(&turned) * 3 <= before {
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
