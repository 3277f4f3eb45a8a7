//! Text whose order was changed: words the other way round, or other characters between its own.

use super::Made;

const TURNED: &str = "word_order";
const APART: &str = "interleaved";
/// Words in a row that are turned round.
const WORDS: usize = 4;
/// Longest text that is read with gaps, and the shortest.
const LONGEST: usize = 4096;
const SHORTEST: usize = 16;

/// Tells whether a view is the same text in another order.
pub(super) fn is_order(via: &str) -> bool {
    via == TURNED || via == APART
}

/// Adds `text` with its words the other way round.
pub(super) fn turned(text: &str, made: &mut Vec<Made>) {
    if text.len() <= LONGEST {
        let words: Vec<&str> = text.split_whitespace().rev().collect();
        if words.len() >= WORDS {
            made.push(Made::new(TURNED, words.join(" ")));
        }
    }
}

/// Adds every second and every third character of `text`, from each start.
pub(super) fn apart(text: &str, made: &mut Vec<Made>) {
    if !(SHORTEST..=LONGEST).contains(&text.len()) {
        return;
    }
    for (step, from) in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)] {
        let kept: String = text.chars().skip(from).step_by(step).collect();
        made.push(Made::new(APART, kept));
    }
}
