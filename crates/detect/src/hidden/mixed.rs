//! Words that mix scripts so that they read as something else than they are.

use std::ops::Range;

use crate::confusable::latin_twin;

/// Finds the words of `text` that are spelled with look-alikes.
///
/// A word is suspect if Latin letters and look-alikes of another script share it. A Greek letter at
/// a word's edge is mathematics. A word of look-alikes only is suspect if nothing else in the text
/// shows that the other script is really in use.
pub(crate) fn words(text: &str) -> Vec<Range<usize>> {
    if text.is_ascii() || !text.bytes().any(|byte| (0xce..=0xd6).contains(&byte)) {
        return Vec::new();
    }
    let mut mixed = Vec::new();
    let mut disguised = Vec::new();
    let mut in_use = false;
    for (span, word) in alphabetic_runs(text) {
        let census = Census::of(word);
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
    mixed
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
                census.telling += usize::from(inside || !greek || letter == '\u{3bf}');
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

/// The maximal runs of letters of `text`, with their places.
fn alphabetic_runs(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.split(|letter: char| !letter.is_alphabetic())
        .filter(|word| !word.is_empty())
        .map(|word| {
            let start = word.as_ptr().addr() - text.as_ptr().addr();
            (start..start + word.len(), word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguised_words_are_told_from_other_scripts() {
        let check = |text: &str, expect: &[&str]| {
            let found: Vec<_> = words(text).into_iter().map(|span| &text[span]).collect();
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
    }
}
