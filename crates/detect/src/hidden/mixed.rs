//! Words that mix scripts so that they read as something else than they are.

use std::ops::Range;

use crate::confusable::latin_twin;

/// A letter of Turkish, which is written in Latin letters: it spells half of its words.
const DOTLESS: char = '\u{131}';

/// Finds the words of `text` that are spelled with look-alikes.
///
/// A word is suspect if Latin letters and look-alikes of another script share it. A Greek letter at
/// a word's edge is mathematics. A word of look-alikes only is suspect if nothing else in the text
/// shows that the other script is really in use.
pub(crate) fn words(text: &str) -> Vec<Range<usize>> {
    disguise(text).words
}

/// The words of a text that are spelled with look-alikes.
#[derive(Debug, Default)]
pub(crate) struct Disguise {
    pub(crate) words: Vec<Range<usize>>,
    /// Whether another script is really in use beside them, so that other words are what they seem.
    pub(crate) in_use: bool,
}

/// Finds the words of `text` that are spelled with look-alikes, and says what else is there.
pub(crate) fn disguise(text: &str) -> Disguise {
    if text.is_ascii() {
        return Disguise::default();
    }
    let mut mixed = Vec::new();
    let mut disguised = Vec::new();
    let mut in_use = false;
    for span in foreign_words(text) {
        let census = Census::of(text.get(span.clone()).unwrap_or_default());
        in_use |= census.foreign > 0;
        if census.is_mixed() {
            mixed.push(span);
        } else if census.is_disguised() {
            disguised.push(span);
        }
    }
    if !in_use {
        mixed.append(&mut disguised);
    }
    Disguise {
        words: mixed,
        in_use,
    }
}

/// How many letters of which sort a word has.
#[derive(Default)]
struct Census {
    latin: usize,
    twins: usize,
    /// Look-alikes that cannot be a mathematical symbol beside a word.
    telling: usize,
    foreign: usize,
}

impl Census {
    fn of(word: &str) -> Self {
        let mut census = Self::default();
        let last = word.chars().count().saturating_sub(1);
        for (at, letter) in word.chars().enumerate() {
            if letter.is_ascii() || (letter < '\u{250}' && latin_twin(letter).is_none()) {
                census.latin += 1;
            } else if latin_twin(letter).is_some() {
                census.twins += 1;
                let greek = ('\u{370}'..='\u{3ff}').contains(&letter);
                let inside = at > 0 && at < last;
                let spelled = inside || !greek || letter == '\u{3bf}';
                census.telling += usize::from(spelled && letter != DOTLESS);
            } else {
                census.foreign += 1;
            }
        }
        census
    }

    fn is_mixed(&self) -> bool {
        self.latin > 0 && self.telling > 0 && self.foreign == 0 && self.latin + self.twins >= 3
    }

    fn is_disguised(&self) -> bool {
        self.latin == 0 && self.foreign == 0 && self.twins >= 3
    }
}

/// The places of the words that have a letter of another alphabet, or one that looks so.
fn foreign_words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.as_bytes().get(from..)?;
        let (blocks, _) = rest.as_chunks::<64>();
        // Without an early exit within a block the compiler turns this into vector code.
        let plain = |block: &&[u8; 64]| block.iter().fold(0, |any, &byte| any | leads(byte)) == 0;
        let skipped = blocks.iter().take_while(plain).count() * 64;
        let mut rest = rest.get(skipped..)?.iter();
        let at = from + skipped + rest.position(|&byte| leads(byte) != 0)?;
        let before = text.get(from..at)?.char_indices().rev();
        let start = before
            .take_while(|(_, letter)| letter.is_alphabetic())
            .last();
        let start = start.map_or(at, |(start, _)| from + start);
        let after = text.get(at..)?.char_indices();
        let end = after
            .take_while(|(_, letter)| letter.is_alphabetic())
            .last();
        let end = end.map_or(at, |(last, letter)| at + last + letter.len_utf8());
        // A lead byte of something that is no letter is passed over.
        from = end.max(at + text.get(at..)?.chars().next()?.len_utf8());
        Some(start..end.max(start))
    })
}

/// One for the lead bytes of extended Latin, Greek, Cyrillic, Armenian and the phonetic letters.
fn leads(byte: u8) -> u8 {
    u8::from(byte.wrapping_sub(0xc4) < 0x13) | u8::from(byte == 0xe1) | u8::from(byte == 0xea)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguised_words_are_told_from_other_scripts() {
        let check = |text: &str, expect: &[&str]| {
            let found: Vec<_> = words(text)
                .into_iter()
                .map(|span| text.get(span).unwrap())
                .collect();
            assert_eq!(found, expect, "{text}");
        };
        check("ign\u{43e}re this", &["ign\u{43e}re"]);
        check(
            "the \u{440}\u{430}\u{443} button",
            &["\u{440}\u{430}\u{443}"],
        );
        check("Привет, как дела? Скоро сор", &[]);
        check("α-helix, cosα, 5 μs, Δt, sinθ", &[]);
        check("café naïve straße", &[]);
        check("καλημέρα world", &[]);
        check("Kullanıcı adı", &[]);
        check("ıgn\u{43e}re", &["ıgn\u{43e}re"]);
    }
}
