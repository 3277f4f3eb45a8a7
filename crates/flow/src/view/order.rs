//! Text whose order was changed: words the other way round, or other characters between its own.

use super::Made;
use super::natural::Look;
use crate::words::from_end;

const TURNED: &str = "word_order";
const APART: &str = "interleaved";
pub(super) const NUMBERED: &str = "numbered";
/// Numbered pieces that are put in order, and the longest of them.
const PIECES: usize = 512;
const PIECE: usize = 64;
/// Words in a row that are turned round, and the bytes of one that are copied at once.
const WORDS: usize = 4;
const WORD: usize = 16;
/// Longest text that is read with gaps, and the shortest.
const LONGEST: usize = 4096;
const SHORTEST: usize = 16;

/// Tells whether a view is the same text in another order.
pub(super) fn is_order(via: &str) -> bool {
    via == TURNED || via == APART || via == NUMBERED
}

/// Adds `text` with its words the other way round.
pub(super) fn turned(text: &str, look: Look, made: &mut Vec<Made>) {
    // So many words have a blank between each two.
    if text.len() > LONGEST || look.blanks < WORDS - 1 {
        return;
    }
    let mut turned = Vec::with_capacity(text.len() + WORD);
    let mut count = 0;
    from_end(text, |span| {
        let rest = text.as_bytes().get(span.start..).unwrap_or_default();
        let end = turned.len() + span.len();
        // As many bytes as nearly all words have are copied without a look at the length.
        match rest.first_chunk::<WORD>() {
            Some(word) if span.len() <= WORD => turned.extend_from_slice(word),
            _ => turned.extend_from_slice(rest.get(..span.len()).unwrap_or_default()),
        }
        turned.truncate(end);
        turned.push(b' ');
        count += 1;
    });
    if count >= WORDS {
        let turned = String::from_utf8(turned).unwrap_or_default();
        made.push(Made::new(TURNED, turned));
    }
}

/// Adds every second and every third character of `text`, from each start.
pub(super) fn apart(text: &str, made: &mut Vec<Made>) {
    if !(SHORTEST..=LONGEST).contains(&text.len()) {
        return;
    }
    for (step, from) in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)] {
        made.push(Made::new(APART, every(step, from, text)));
    }
}

/// Returns each character at so many steps from the first.
fn every(step: usize, from: usize, text: &str) -> String {
    if text.is_ascii() {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        let first = |group: &[u8]| group.first().copied().unwrap_or_default();
        let kept = rest.chunks(step).map(first).collect();
        return String::from_utf8(kept).unwrap_or_default();
    }
    text.chars().skip(from).step_by(step).collect()
}

/// Adds pieces that say themselves in which order they belong: a number in front of each line.
pub(super) fn numbered(text: &str, look: Look, made: &mut Vec<Made>) {
    // Two pieces have a digit each, and a line ends between them.
    if look.digits < 2 || look.blanks == 0 {
        return;
    }
    let mut pieces: Vec<(u32, &str)> = text.split('\n').filter_map(piece).take(PIECES).collect();
    if pieces.len() < 2 || pieces.is_sorted_by_key(|(number, _)| *number) {
        return;
    }
    pieces.sort_by_key(|(number, _)| *number);
    let plain: String = pieces.into_iter().map(|(_, piece)| piece).collect();
    made.push(Made::new(NUMBERED, plain));
}

/// Returns the number and the text of a numbered line.
fn piece(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start_matches([' ', '\t', '[', '(', '#', '>', '"', '\'']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at_checked(digits)?;
    let number: u32 = number.parse().ok()?;
    let rest = rest.strip_prefix([':', '.', ')', ']', '=', '-', '|', '/'])?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    (rest.len() <= PIECE).then(|| (number, rest.trim_end_matches('\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_pieces_are_put_in_order() {
        let check = |text: &str, expect: Option<&str>| {
            let mut made = Vec::new();
            numbered(text, Look::at(text), &mut made);
            assert_eq!(made.first().map(|one| &*one.text), expect, "{text}");
        };
        check("2: ght\n1: e ni\n0: th", Some("the night"));
        check("see:\n2) ght\n1) ni\nbye", Some("night"));
        check("1. one\n2. two", None);
        check("nothing", None);
    }
}
