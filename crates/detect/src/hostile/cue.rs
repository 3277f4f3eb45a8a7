//! Where in a long text to look closer: finds the words of cues, quickly.
//!
//! An automaton over a thousand words walks deep into ordinary prose. Words are told apart by
//! length and first letters instead, and only what passes is compared.

mod stems;
mod words;

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input};

use crate::error::DetectError;
use crate::hostile::build;
use crate::hostile::hash::Quick;
use crate::hostile::letters::any_begins;
use crate::hostile::lexicon::is_unspaced;
use stems::Stems;
use words::is_letter;

/// How many words of 64 bits the sieve has; it stays in the nearest cache.
const SIEVE: usize = 1024;

/// The longest first word of a cue.
const LONGEST: usize = 32;

/// All cues.
#[derive(Debug)]
pub(crate) struct Cues {
    /// One bit for each length and first letters that some cue's first word has.
    sieve: Vec<u64>,
    /// The cues by their first word: where that word stands in the cue, and the cue.
    heads: HashMap<String, Vec<(usize, String)>, Quick>,
    /// Cues that words only begin with.
    stems: Stems,
    /// Cues of scripts without spaces, which have no words to tell apart.
    unspaced: AhoCorasick,
}

impl Cues {
    /// Takes literals in lower case; a blank in one stands for blanks, `_` or `-`, and a star at
    /// its end for the rest of a word.
    pub(crate) fn new(literals: impl Iterator<Item = String>) -> Result<Self, DetectError> {
        let (unspaced, plain): (Vec<_>, Vec<_>) = literals.partition(|word| is_unspaced(word));
        let mut cues = Self {
            sieve: vec![0; SIEVE],
            heads: HashMap::default(),
            stems: Stems::default(),
            unspaced: build(unspaced.into_iter())?,
        };
        for literal in plain {
            if !literal.is_ascii() {
                let capital = capitalized(&literal);
                if capital != literal {
                    cues.enter(capital);
                }
            }
            cues.enter(literal);
        }
        Ok(cues)
    }

    fn enter(&mut self, literal: String) {
        if let Some(stem) = literal.strip_suffix('*') {
            self.stems.enter(stem);
            return;
        }
        let Some(at) = literal.bytes().position(is_letter) else {
            return;
        };
        let rest = literal.get(at..).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| is_letter(*byte)).count();
        let head = rest.get(..length).unwrap_or_default().to_owned();
        let (slot, bit) = place(head.as_bytes(), &(0..head.len()));
        if let Some(slot) = self.sieve.get_mut(slot) {
            *slot |= bit;
        }
        self.heads.entry(head).or_default().push((at, literal));
    }

    /// Starts a search.
    pub(crate) fn search<'a>(&'a self, text: &'a str) -> Search<'a> {
        Search {
            cues: self,
            text,
            plain: Next::Unknown,
            unspaced: if has_unspaced(text) {
                Next::Unknown
            } else {
                Next::None
            },
        }
    }

    /// The place of the next cue that has words, at or after `from`.
    fn plain(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        words::each(bytes, from, |span| {
            let word = bytes.get(span.clone())?;
            let (slot, bit) = place(bytes, &span);
            let passes = self.sieve.get(slot).is_some_and(|bits| bits & bit != 0);
            passes
                .then(|| self.compare(text, span.start, word))
                .flatten()
                .or_else(|| self.stems.begin(word).then_some(span))
        })
    }

    /// The cue whose first word stands at `start`.
    fn compare(&self, text: &str, start: usize, word: &[u8]) -> Option<Range<usize>> {
        let mut buffer = [0; LONGEST];
        let lower = buffer.get_mut(..word.len())?;
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        let literals = self.heads.get(std::str::from_utf8(lower).ok()?)?;
        literals.iter().find_map(|(offset, literal)| {
            let begin = start.checked_sub(*offset)?;
            let length = reads(text.as_bytes().get(begin..)?, literal.as_bytes())?;
            Some(begin..begin + length)
        })
    }
}

/// A search through one text. What was found ahead is kept, so that no byte is searched twice.
pub(crate) struct Search<'a> {
    cues: &'a Cues,
    text: &'a str,
    plain: Next,
    unspaced: Next,
}

/// What is known of the next cue of a kind.
enum Next {
    Unknown,
    At(Range<usize>),
    None,
}

impl Next {
    /// Brings the next cue up to date with `from`.
    fn update(&mut self, from: usize, find: impl FnOnce() -> Option<Range<usize>>) {
        let stale = match self {
            Self::Unknown => true,
            Self::At(found) => found.start < from,
            Self::None => false,
        };
        if stale {
            *self = find().map_or(Self::None, Self::At);
        }
    }

    fn place(&self) -> Option<&Range<usize>> {
        match self {
            Self::At(found) => Some(found),
            Self::Unknown | Self::None => None,
        }
    }
}

impl Search<'_> {
    /// The place of the next cue at or after `from`.
    pub(crate) fn next(&mut self, from: usize) -> Option<Range<usize>> {
        let Self {
            cues,
            text,
            plain,
            unspaced,
        } = self;
        plain.update(from, || cues.plain(text, from));
        unspaced.update(from, || {
            let found = cues.unspaced.find(Input::new(*text).range(from..));
            found.map(|found| found.range())
        });
        let places = [plain.place(), unspaced.place()].into_iter().flatten();
        places.min_by_key(|found| found.start).cloned()
    }
}

/// Where in the sieve the word at `span` belongs: by its length and first four letters, case aside.
fn place(bytes: &[u8], span: &Range<usize>) -> (usize, u64) {
    let head = match bytes.get(span.start..) {
        Some([a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]),
        Some([a, b, c]) => u32::from_le_bytes([*a, *b, *c, 0]),
        Some([a, b]) => u32::from_le_bytes([*a, *b, 0, 0]),
        Some([a]) => u32::from(*a),
        _ => 0,
    };
    // What follows a short word was read with it.
    let head = head & u32::MAX >> (8 * (4 - span.len().clamp(1, 4)));
    let length = span.len().min(LONGEST) as u64;
    let key = u64::from(head | 0x2020_2020) << 6 | length;
    let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (
        usize::from(u16::try_from(hash >> 6).unwrap_or(0)),
        1 << (hash & 63),
    )
}

/// How many bytes of `text` spell `literal`, if they do and end where a word ends.
fn reads(text: &[u8], literal: &[u8]) -> Option<usize> {
    let mut at = 0;
    for &letter in literal {
        if letter == b' ' {
            let rest = text.get(at..)?;
            let blanks = rest
                .iter()
                .take(LONGEST)
                .take_while(|byte| is_joint(**byte))
                .count();
            if blanks == 0 {
                return None;
            }
            at += blanks;
        } else if text.get(at)?.eq_ignore_ascii_case(&letter) {
            at += 1;
        } else {
            return None;
        }
    }
    let open = literal.last().is_some_and(|last| is_letter(*last))
        && text.get(at).is_some_and(|next| is_letter(*next));
    (!open).then_some(at)
}

/// Whether a text has letters of a script without spaces.
fn has_unspaced(text: &str) -> bool {
    any_begins(text, |byte| matches!(byte, 0xe3..=0xe9))
}

/// A word with a capital first letter.
fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Whether a byte joins the words of a cue.
fn is_joint(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_are_whole_words_in_any_case() {
        let words = [
            "ignore",
            "other tool",
            ".env",
            "<|im_start|>",
            "don't show",
            "игнорируй",
            "忽略",
            "anweis*",
            "правил*",
        ];
        let cues = Cues::new(words.map(str::to_owned).into_iter()).unwrap();
        let check = |text: &str, expect: &[&str]| {
            let mut search = cues.search(text);
            let (mut from, mut found) = (0, Vec::new());
            while let Some(span) = search.next(from) {
                from = span.end;
                found.push(text.get(span).unwrap());
            }
            assert_eq!(found, expect, "{text}");
        };
        check("plain words, ignored and ignorer", &[]);
        check("IGNORE it, Ignore", &["IGNORE", "Ignore"]);
        check(
            "any other\n  tool, other_tool, another tools",
            &["other\n  tool", "other_tool"],
        );
        check("cat .env; env", &[".env"]);
        check("a <|im_start|>system", &["<|im_start|>"]);
        check("DON'T SHOW, don't", &["DON'T SHOW"]);
        check("Игнорируй, игнорируйте, ignore", &["Игнорируй", "ignore"]);
        check("请忽略 ignore", &["忽略", "ignore"]);
        check("Anweisungen, anwalt, ANWEIS", &["Anweisungen", "ANWEIS"]);
        check("правила, Правил, права", &["правила", "Правил"]);
    }
}
