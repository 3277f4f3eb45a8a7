//! The text as a model reads it: no characters without width, no look-alikes, no styled letters.
//!
//! Accents and other scripts stay, since their words are known too.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::confusable::latin_twin;
use crate::hidden::disguise;

/// A folded text and the way back to the places of the given one.
#[derive(Debug)]
pub(crate) struct Folded<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Pairs of a place in the folded text and in the given one, where the distance changes.
    turns: Vec<(usize, usize)>,
}

impl Folded<'_> {
    /// A text and the places where its distance to the given one changes.
    pub(crate) fn new(text: String, turns: Vec<(usize, usize)>) -> Folded<'static> {
        let text = Cow::Owned(text);
        Folded { text, turns }
    }

    /// Where a span of the folded text stands in the given one.
    pub(crate) fn origin(&self, span: Range<usize>, given: &str) -> Range<usize> {
        if self.turns.is_empty() {
            return span;
        }
        let start = floor(given, self.place(span.start));
        let end = ceil(given, self.place(span.end));
        start..end.max(start)
    }

    fn place(&self, at: usize) -> usize {
        let next = self.turns.partition_point(|&(folded, _)| folded <= at);
        match next.checked_sub(1).and_then(|turn| self.turns.get(turn)) {
            Some(&(folded, given)) => given + (at - folded),
            None => at,
        }
    }
}

/// Folds `text`; it stays borrowed if it is plain already.
pub(crate) fn fold(text: &str) -> Folded<'_> {
    let borrowed = Folded {
        text: Cow::Borrowed(text),
        turns: Vec::new(),
    };
    let mut letters = foreign(text);
    if !letters.any(|(_, letter)| is_odd(letter) || latin_twin(letter).is_some()) {
        return borrowed;
    }
    let disguise = disguise(text);
    // Where a text is in disguise, so are its words of one or two letters.
    let throughout = !disguise.in_use && !disguise.words.is_empty();
    let mut words = disguise.words.iter().peekable();
    let mut plain = String::with_capacity(text.len());
    let mut turns = Vec::new();
    let mut copied = 0;
    for (at, letter) in foreign(text) {
        while words.peek().is_some_and(|word| word.end <= at) {
            words.next();
        }
        let disguised = throughout || words.peek().is_some_and(|word| word.start <= at);
        plain.push_str(text.get(copied..at).unwrap_or_default());
        let before = plain.len();
        put(letter, disguised, &mut plain);
        copied = at + letter.len_utf8();
        if plain.len() - before != letter.len_utf8() {
            turns.push((plain.len(), copied));
        }
    }
    plain.push_str(text.get(copied..).unwrap_or_default());
    Folded {
        text: Cow::Owned(plain),
        turns,
    }
}

/// The letters of `text` that are not ASCII, with their places.
fn foreign(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.as_bytes().get(from..)?;
        let (blocks, _) = rest.as_chunks::<32>();
        let skipped = blocks.iter().take_while(|block| block.is_ascii()).count() * 32;
        let at = from
            + skipped
            + rest
                .get(skipped..)?
                .iter()
                .position(|byte| !byte.is_ascii())?;
        let letter = text.get(at..)?.chars().next()?;
        from = at + letter.len_utf8();
        Some((at, letter))
    })
}

/// Adds the plain form of one letter.
fn put(letter: char, disguised: bool, plain: &mut String) {
    match letter {
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => plain.push('\''),
        '\u{201c}' | '\u{201d}' | '\u{ab}' | '\u{bb}' => plain.push('"'),
        _ if is_nothing(letter) => {}
        // Turkish words are known without their dots too, and an English word has none to lose.
        '\u{131}' => plain.push('i'),
        _ if disguised => plain.push(latin_twin(letter).unwrap_or(letter)),
        _ if is_styled(letter) => plain.extend(letter.nfkc()),
        _ => plain.push(letter),
    }
}

fn is_odd(letter: char) -> bool {
    matches!(
        letter,
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' | '\u{ab}' | '\u{bb}'
    ) || is_nothing(letter)
        || is_styled(letter)
}

fn is_nothing(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// Whether a letter is a Latin one in costume: full width, circled, mathematical.
fn is_styled(letter: char) -> bool {
    matches!(letter,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' | '\u{2100}'..='\u{214f}'
        | '\u{2460}'..='\u{24ff}' | '\u{fb00}'..='\u{fb06}' | '\u{ff01}'..='\u{ff5e}'
        | '\u{1d400}'..='\u{1d7ff}' | '\u{1f130}'..='\u{1f189}')
}

fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..text.len())
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costumes_come_off_and_places_stay() {
        let check = |text: &str, expect: &str| {
            let folded = fold(text);
            assert_eq!(folded.text, expect);
            let at = folded.text.find("now").unwrap();
            let now = text.get(folded.origin(at..at + 3, text));
            assert_eq!(now, Some("now"), "{text}");
        };
        check("read now", "read now");
        check("r\u{200b}ead now", "read now");
        check("rе\u{430}d now", "read now");
        check("\u{131}gnore now", "ignore now");
        check("d\u{43e} r\u{435}\u{430}d it now", "do read it now");
        check("\u{ff52}\u{ff45}ad now \u{1d5d4}", "read now A");
        check("don’t “read” now", "don't \"read\" now");
        check("читай now", "читай now");
        check("lire l’été now", "lire l'été now");
    }
}
