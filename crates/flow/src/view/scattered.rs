//! Something opaque in very small pieces: the elements of an array, or one field of many rows. No piece
//! says anything, and all of them in a row are judged like one text, unless they look like what lists
//! are made of: words, names, codes of one form, figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::content::Part;

/// Fewest pieces, and the longest of them.
const FEWEST: usize = 8;
const PIECE: usize = 8;
/// What pieces make together that are judged: in both cases, in one case, as hexadecimal digits and as
/// numbers of bytes. People make lists of colours and of commits.
const BOTH_CASES: usize = 48;
const ONE_CASE: usize = 64;
const HEX: usize = 96;
const BYTES: usize = 48;
/// Digits of a commit, and how many of them are a list that somebody reads.
const COMMIT: usize = 7;
const COMMITS: usize = 40;
/// Longest text that is put together, and how many are.
const LONGEST: usize = 1 << 16;
const NAMES: usize = 16;
/// Letters and digits that have to come, where each piece is one of them.
const KINDS: usize = 16;

/// Returns what the short values of each name make together, if they look like pieces of one thing, with
/// the leaf of the first.
pub(super) fn find(parts: &[Part<'_>]) -> Vec<(String, u32)> {
    let fits = |part: &&Part<'_>| !part.is_key() && (1..=PIECE).contains(&part.text.len());
    if parts.iter().filter(fits).take(FEWEST).count() < FEWEST {
        return Vec::new();
    }
    let mut names: BTreeMap<u64, Vec<&Part<'_>>> = BTreeMap::new();
    for part in parts.iter().filter(fits) {
        names.entry(part.name).or_default().push(part);
    }
    let several = names.into_values().filter(|group| group.len() >= FEWEST);
    let together = several.take(NAMES).filter_map(|group| {
        let pieces: Vec<&str> = group.iter().map(|part| &*part.text).collect();
        let leaf = group.first().map_or(0, |part| part.leaf);
        together(&pieces).map(|text| (text, leaf))
    });
    together.collect()
}

/// Puts pieces together that look like pieces of one thing.
fn together(pieces: &[&str]) -> Option<String> {
    let is_number = |piece: &&str| piece.parse::<i64>().is_ok();
    if pieces.iter().all(is_number) {
        return bytes(pieces);
    }
    let prefixed = pieces.iter().all(|piece| piece.starts_with("0x"));
    let bare = |piece: &&'_ str| piece.len() - if prefixed { 2 } else { 0 };
    let pieces: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| piece.get(piece.len() - bare(piece)..))
        .collect();
    let text = pieces.concat();
    let fits = text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic());
    (fits && is_long(&text, &pieces) && is_irregular(&text, &pieces)).then_some(text)
}

/// Tells whether a text has the letters and digits of some coding, and enough of them.
fn is_long(text: &str, pieces: &[&str]) -> bool {
    let count = |kind: fn(&u8) -> bool| text.bytes().filter(kind).count();
    let lower = count(u8::is_ascii_lowercase);
    let upper = count(u8::is_ascii_uppercase);
    let digits = count(u8::is_ascii_digit);
    let all = text.len();
    if lower > 0 && upper > 0 {
        return all >= BOTH_CASES && lower * 5 >= all && upper * 5 >= all && digits * 20 >= all;
    }
    if lower + upper + digits < all || digits * 12 < all || digits * 4 > all * 3 {
        return false;
    }
    if text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let commits = pieces.iter().all(|piece| piece.len() == COMMIT) && pieces.len() <= COMMITS;
        return all >= HEX && !commits;
    }
    all >= ONE_CASE
}

/// Tells whether letters and digits stand in the pieces as if by chance. Those of a list have one or a
/// few forms, as `A12`, `mp4` and `userId` have.
fn is_irregular(text: &str, pieces: &[&str]) -> bool {
    let several: Vec<&str> = pieces.iter().copied().filter(|one| one.len() > 1).collect();
    if several.len() * 2 < pieces.len() {
        let kinds: BTreeSet<u8> = text.bytes().collect();
        let changes = text.as_bytes().windows(2);
        let changes = changes.filter(|pair| matches!(pair, [a, b] if kind(*a) != kind(*b)));
        return kinds.len() >= KINDS.min(text.len() / 6) && changes.count() * 5 >= text.len();
    }
    let mut forms: BTreeMap<u32, usize> = BTreeMap::new();
    for form in several.iter().filter_map(|piece| form(piece)) {
        *forms.entry(form).or_default() += 1;
    }
    let mixed: usize = forms.values().sum();
    let most = forms.values().max().copied().unwrap_or(0);
    let short = text.len() <= 2 * pieces.len();
    let different: BTreeSet<&str> = several.iter().copied().collect();
    // Two or three characters of one case have few forms.
    let has = |kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    let both = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let (least, share) = match (short, both) {
        (true, _) => (2, 7),
        (false, false) => (3, 7),
        (false, true) => (4, 6),
    };
    mixed * 6 >= several.len()
        && most * 10 <= mixed * share
        && forms.len() >= least
        && (short || different.len() * 4 >= several.len() * 3)
}

/// The kinds of characters, from one on.
fn kind(byte: u8) -> u32 {
    match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 4,
    }
}

/// Returns the number of the form of a piece, unless it is all of one kind or a word with a capital.
fn form(piece: &str) -> Option<u32> {
    let mut kinds: Vec<u32> = piece.bytes().map(kind).collect();
    for at in 1..kinds.len() {
        // A capital belongs to the word that it begins, unless others stand before it.
        if let Some([before @ .., 2, 1]) = kinds.get(..=at)
            && before.last() != Some(&2)
            && let Some(capital) = kinds.get_mut(at - 1)
        {
            *capital = 1;
        }
    }
    kinds.dedup();
    (kinds.len() > 1).then(|| kinds.iter().fold(0, |sum: u32, kind| sum << 3 | kind))
}

/// Reads numbers of bytes that take turns as those of something packed or encrypted do, as hexadecimal
/// digits. Statistics have a middle, and series go up or down.
fn bytes(pieces: &[&str]) -> Option<String> {
    let byte = |piece: &&str| {
        let number: i16 = piece.parse().ok()?;
        let fits = (-128..=255).contains(&number);
        fits.then(|| u8::try_from(number.rem_euclid(256)).ok())?
    };
    let bytes: Vec<u8> = pieces.iter().map(byte).collect::<Option<_>>()?;
    let mut quarters = [0_usize; 4];
    for quarter in &bytes {
        if let Some(count) = quarters.get_mut(usize::from(quarter >> 6)) {
            *count += 1;
        }
    }
    let rises = bytes.windows(2).filter(|pair| pair.is_sorted()).count();
    let different: BTreeSet<u8> = bytes.iter().copied().collect();
    let even = quarters.iter().all(|count| count * 10 >= bytes.len());
    let turns = rises * 4 >= bytes.len() && rises * 4 <= bytes.len() * 3;
    let many = different.len() * 3 >= bytes.len().min(256);
    if bytes.len() < BYTES || bytes.len() > LONGEST / 2 || !even || !turns || !many {
        return None;
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").ok()?;
    }
    Some(text)
}
