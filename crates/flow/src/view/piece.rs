//! Pieces of encoded text that stand in different fields, or in the labels and segments of a URL.

use std::collections::BTreeMap;

use mcpproxy_text::LeafKind;
use mcpproxy_text::url::urls;

use crate::content::Part;
use crate::moving::{are_rows, columns, periods};
use crate::stream::{Family, Stream};
use crate::winnow::RUN;

/// Shortest piece that is put together with others.
const PIECE: usize = 4;
/// Fewest numbers in a row that are read as characters.
const CODES: usize = 12;
/// Longest piece that is put in its place by a number.
const PLACED: usize = 16;
/// Longest text that is put together.
const LONGEST: usize = 1 << 16;
/// Names whose values are put together.
const NAMES: usize = 16;
/// Longest text whose rows are read by columns, and how many columns of one message are.
const LONGEST_ROWS: usize = 1 << 14;
const ALIGNED: usize = 32;
/// Values that are read from the last to the first.
const FIELDS: usize = 64;

/// Returns the texts that pieces make together, with the leaf of the first.
pub(super) fn joined(parts: &[Part<'_>]) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for keys in [false, true] {
        let pieces = parts
            .iter()
            .filter(|part| part.is_key() == keys && is_piece(&part.text));
        found.extend(together(pieces.map(|part| (&*part.text, part.leaf))));
    }
    found.extend(of_one_name(parts));
    for part in parts.iter().filter(|part| part.text.contains(":/")) {
        for url in urls(&part.text) {
            let labels = url.host.below().unwrap_or_default();
            let query = url.query.unwrap_or_default().split('&');
            let query = query.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
            found.extend(together(labels.split('.').map(|piece| (piece, part.leaf))));
            let path = url.path.split('/').filter(|segment| is_piece(segment));
            found.extend(together(path.map(|piece| (piece, part.leaf))));
            found.extend(together(query.map(|piece| (piece, part.leaf))));
        }
    }
    found
}

/// Returns what the values of each name make together: objects in a row have other values that stand
/// between the pieces.
fn of_one_name(parts: &[Part<'_>]) -> impl Iterator<Item = (String, u32)> {
    let mut names: BTreeMap<u64, Vec<&Part<'_>>> = BTreeMap::new();
    let pieces = parts
        .iter()
        .filter(|part| !part.is_key() && is_piece(&part.text));
    for part in pieces {
        names.entry(part.name).or_default().push(part);
    }
    let several = names.len() > 1;
    let groups = names.into_values().filter(move |_| several).take(NAMES);
    groups.filter_map(|group| together(group.iter().map(|part| (&*part.text, part.leaf))))
}

/// Returns what moves in rows that say the same otherwise: the lines of a text, words between which
/// another comes again, the values of one name.
pub(super) fn aligned(parts: &[Part<'_>]) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut add = |columns: Vec<String>, leaf: u32| {
        let room = ALIGNED - found.len();
        found.extend(columns.into_iter().take(room).map(|text| (text, leaf)));
    };
    let mut names: BTreeMap<u64, Vec<&Part<'_>>> = BTreeMap::new();
    let values = parts.iter().filter(|part| !part.is_key());
    for part in values.filter(|part| part.text.len() <= LONGEST_ROWS) {
        if part.text.contains('\n') {
            add(columns(part.text.lines()), part.leaf);
        }
        add(periods(&part.text), part.leaf);
        names.entry(part.name).or_default().push(part);
    }
    for group in names.into_values().filter(|group| are_rows(group.len())) {
        let leaf = group.first().map_or(0, |part| part.leaf);
        add(columns(group.iter().map(|part| &*part.text)), leaf);
    }
    found
}

/// Returns the texts that numbers beside each other spell, as bytes are written in JSON: one number
/// for each, or one for each bit.
pub(super) fn codes(parts: &[Part<'_>]) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let (mut run, mut first) = (String::new(), 0);
    let values = parts.iter().filter(|part| !part.is_key());
    let mut end = |run: &mut String, first: u32| {
        found.extend(spelled(run).map(|text| (text, first)));
        run.clear();
    };
    for part in values {
        let number = Some(part).filter(|part| part.kind == LeafKind::Number);
        let code = number.and_then(|part| part.text.parse().ok().and_then(char::from_u32));
        match code {
            Some(char) => {
                first = if run.is_empty() { part.leaf } else { first };
                run.push(char);
            }
            None => end(&mut run, first),
        }
    }
    end(&mut run, first);
    found
}

/// Reads numbers as characters or as bits, if they look like either.
fn spelled(run: &str) -> Option<String> {
    let count = run.chars().count();
    let fair = |char: &char| !char.is_control() || matches!(char, '\n' | '\r' | '\t');
    if count >= CODES && run.chars().filter(fair).count() * 4 >= count * 3 {
        return Some(run.to_owned());
    }
    let bits = count >= CODES * 8 && run.bytes().all(|byte| byte <= 1);
    let (bytes, _) = run.as_bytes().as_chunks::<8>();
    let value = |byte: &[u8; 8]| byte.iter().fold(0, |sum, bit| sum << 1 | bit);
    bits.then(|| String::from_utf8(bytes.iter().map(value).collect()).ok())?
}

/// Returns the text that pieces make which stand beside the numbers of their places, as in
/// `[[1, "b"], [0, "a"]]` or in rows of both.
pub(super) fn numbered(parts: &[Part<'_>]) -> Vec<(String, u32)> {
    let values: Vec<&Part<'_>> = parts.iter().filter(|part| !part.is_key()).collect();
    let is_number = |part: &Part<'_>| part.kind == LeafKind::Number;
    let fits = |part: &Part<'_>| is_number(part) || part.text.len() <= PLACED;
    let takes_turns = |one: &&Part<'_>, two: &&Part<'_>| {
        is_number(one) != is_number(two) && fits(one) && fits(two)
    };
    let runs = values.chunk_by(takes_turns);
    let runs = runs.filter(|run| run.len() >= 2 * CODES);
    let text = |run: &[&Part<'_>]| {
        let leaf = run.first().map_or(0, |part| part.leaf);
        let mut pieces: Vec<(u64, &str)> = Vec::with_capacity(run.len() / 2);
        let (pairs, _) = run.as_chunks::<2>();
        for [one, two] in pairs {
            let (number, piece) = if is_number(one) {
                (one, two)
            } else {
                (two, one)
            };
            pieces.push((number.text.parse().ok()?, &*piece.text));
        }
        pieces.sort_by_key(|(number, _)| *number);
        let different = pieces.is_sorted_by(|(one, _), (other, _)| one < other);
        let text: String = pieces.into_iter().map(|(_, piece)| piece).collect();
        different.then_some((text, leaf))
    };
    runs.filter_map(text).collect()
}

/// Returns the values with the last first, as somebody would put them who swaps two halves; of a
/// long one the ends are enough.
pub(super) fn backwards(parts: &[Part<'_>]) -> Option<Stream> {
    let mut text = String::new();
    let values = parts.iter().filter(|part| !part.is_key());
    for value in values.rev().take(FIELDS) {
        let ends = [
            0..2 * RUN,
            value.text.len().saturating_sub(2 * RUN)..value.text.len(),
        ];
        if value.text.len() <= 4 * RUN {
            text.push_str(&value.text);
        } else {
            for end in ends {
                let start = value.text.floor_char_boundary(end.start);
                let end = value.text.floor_char_boundary(end.end);
                text.push_str(value.text.get(start..end).unwrap_or_default());
                text.push(' ');
            }
        }
    }
    let leaf = parts.first().map_or(0, |part| part.leaf);
    let several = parts.iter().filter(|part| !part.is_key()).count() > 1;
    several.then(|| Stream::of(Family::Decoded, &text, leaf, vec!["fields_swapped"]))
}

/// Tells whether a text can be a piece of encoded text: one token.
fn is_piece(text: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    text.len() >= PIECE && text.bytes().all(fits)
}

fn together<'a>(pieces: impl Iterator<Item = (&'a str, u32)>) -> Option<(String, u32)> {
    let mut text = String::new();
    let mut first = None;
    let mut count = 0;
    for (piece, leaf) in pieces {
        if text.len() + piece.len() <= LONGEST {
            text.push_str(piece);
            first.get_or_insert(leaf);
            count += usize::from(!piece.is_empty());
        }
    }
    first.filter(|_| count > 1).map(|leaf| (text, leaf))
}
