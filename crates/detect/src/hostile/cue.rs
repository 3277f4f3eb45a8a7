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

/// How many sorts of first words are told apart by what follows them.
const FOLLOWS: usize = 1 << 14;

/// All cues.
#[derive(Debug)]
pub(crate) struct Cues {
    /// One bit for each length and first letters that some cue's first word has.
    sieve: Vec<u64>,
    /// For each sort of first word one bit for each letter, five bits of it, with which its cues go
    /// on: many first words are words of every day, and few of them go on as a cue does.
    follows: Vec<u32>,
    /// The cues by their first word: where that word stands in the cue, and the cue.
    heads: HashMap<Vec<u8>, Vec<(usize, String)>, Quick>,
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
            follows: vec![0; FOLLOWS],
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
        let (head, rest) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let head = head.as_bytes().to_vec();
        let place = Place::of(&head, &(0..head.len()));
        if let Some(slot) = self.sieve.get_mut(place.slot()) {
            *slot |= place.bit();
        }
        if let Some(follows) = self.follows.get_mut(place.sort()) {
            let next = rest.bytes().find(|byte| !is_joint(*byte));
            *follows |= next.map_or(u32::MAX, letter_bit);
        }
        self.heads.entry(head).or_default().push((at, literal));
    }

    /// Starts a search; where the words are known at which a cue may begin, only those are looked at.
    pub(crate) fn search<'a>(&'a self, text: &'a str, spots: Option<&'a Spots>) -> Search<'a> {
        Search {
            cues: self,
            text,
            spots,
            plain: Next::Unknown,
            unspaced: if has_unspaced(text) {
                Next::Unknown
            } else {
                Next::None
            },
        }
    }

    /// The place of the next cue that has words, at or after `from`.
    fn plain(&self, text: &str, from: usize, spots: Option<&Spots>) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let look = |span: Range<usize>| self.look(text, span);
        let Some(spots) = spots else {
            return words::each(bytes, from, look);
        };
        // Of a word that `from` cuts, the rest is a word.
        let rest = words::cut(bytes, from);
        let cut = rest.and_then(look);
        cut.or_else(|| spots.after(from).iter().cloned().find_map(look))
    }

    /// The place of the cue that begins with the word at `span`.
    fn look(&self, text: &str, span: Range<usize>) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let word = bytes.get(span.clone())?;
        let place = Place::of(bytes, &span);
        place
            .may_lead(&self.sieve, &self.follows, bytes, span.end)
            .then(|| self.compare(text, span.start, word))
            .flatten()
            .or_else(|| self.stems.begin(word).then_some(span))
    }

    /// The cue whose first word stands at `start`.
    fn compare(&self, text: &str, start: usize, word: &[u8]) -> Option<Range<usize>> {
        let mut buffer = [0; LONGEST];
        let lower = buffer.get_mut(..word.len())?;
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        let literals = self.heads.get(&*lower)?;
        let bytes = text.as_bytes();
        let end = start + word.len();
        literals.iter().find_map(|(offset, literal)| {
            let (before, rest) = literal.as_bytes().split_at_checked(*offset)?;
            // The word itself was looked up, and what goes on otherwise is the most usual.
            let length = reads(bytes.get(end..)?, rest.get(word.len()..)?)?;
            let begin = start.checked_sub(*offset)?;
            leads(bytes.get(begin..start)?, before).then_some(begin..end + length)
        })
    }
}

/// Finds the words at which a cue of several lists may begin: most words lead to nothing in any
/// list, and one walk over them tells.
#[derive(Debug)]
pub(crate) struct Lookout {
    sieve: Vec<u64>,
    follows: Vec<u32>,
    stems: Vec<u64>,
}

impl Lookout {
    /// Looks out for the cues of all `lists`.
    pub(crate) fn new(lists: &[&Cues]) -> Self {
        let mut lookout = Self {
            sieve: vec![0; SIEVE],
            follows: vec![0; FOLLOWS],
            stems: vec![0; stems::SIEVE],
        };
        for list in lists {
            for (all, bits) in lookout.sieve.iter_mut().zip(&list.sieve) {
                *all |= bits;
            }
            for (all, bits) in lookout.follows.iter_mut().zip(&list.follows) {
                *all |= bits;
            }
            for (all, bits) in lookout.stems.iter_mut().zip(list.stems.sieve()) {
                *all |= bits;
            }
        }
        lookout
    }

    /// The words of a text at which a cue may begin.
    pub(crate) fn spots(&self, text: &str) -> Spots {
        let bytes = text.as_bytes();
        let mut spots = Vec::new();
        let none: Option<()> = words::each(bytes, 0, |span| {
            let place = Place::of(bytes, &span);
            if place.may_lead(&self.sieve, &self.follows, bytes, span.end)
                || stems::may_begin(&self.stems, place.head)
            {
                spots.push(span);
            }
            None
        });
        debug_assert!(none.is_none(), "nothing ends the walk");
        Spots(spots)
    }
}

/// The words of one text at which a cue may begin, in order.
#[derive(Debug)]
pub(crate) struct Spots(Vec<Range<usize>>);

impl Spots {
    /// Those at or after `from`.
    fn after(&self, from: usize) -> &[Range<usize>] {
        let first = self.0.partition_point(|word| word.start < from);
        self.0.get(first..).unwrap_or_default()
    }
}

/// A search through one text. What was found ahead is kept, so that no byte is searched twice.
pub(crate) struct Search<'a> {
    cues: &'a Cues,
    text: &'a str,
    spots: Option<&'a Spots>,
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
            spots,
            plain,
            unspaced,
        } = self;
        plain.update(from, || cues.plain(text, from, *spots));
        unspaced.update(from, || {
            let found = cues.unspaced.find(Input::new(*text).range(from..));
            found.map(|found| found.range())
        });
        let places = [plain.place(), unspaced.place()].into_iter().flatten();
        places.min_by_key(|found| found.start).cloned()
    }
}

/// Where in the sieves the word at a span belongs, case aside.
#[derive(Clone, Copy)]
struct Place {
    /// The first four letters.
    head: u32,
    /// Made of them and of the length.
    hash: u16,
}

/// Which of four bytes belong to a word of a length, where it has fewer.
const OWN: [u32; 4] = [0xFF, 0xFF, 0xFFFF, 0xFF_FFFF];

impl Place {
    fn of(bytes: &[u8], span: &Range<usize>) -> Self {
        let head = match bytes.get(span.start..) {
            Some([a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]),
            Some([a, b, c]) => u32::from_le_bytes([*a, *b, *c, 0]),
            Some([a, b]) => u32::from_le_bytes([*a, *b, 0, 0]),
            Some([a]) => u32::from(*a),
            _ => 0,
        };
        // What follows a short word was read with it.
        let own = OWN.get(span.len()).copied().unwrap_or(u32::MAX);
        let head = head & own | 0x2020_2020;
        let length = span.len().min(LONGEST) as u64;
        let key = u64::from(head) << 6 | length;
        let [.., low, high] = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        Self {
            head,
            hash: u16::from_le_bytes([low, high]),
        }
    }

    fn slot(self) -> usize {
        usize::from(self.hash >> 6)
    }

    fn bit(self) -> u64 {
        1 << (self.hash & 63)
    }

    /// Whether a word that ends at `end` may be the first of a cue, by itself and by what follows.
    fn may_lead(self, sieve: &[u64], follows: &[u32], bytes: &[u8], end: usize) -> bool {
        let bits = sieve.get(self.slot());
        if bits.is_none_or(|bits| bits & self.bit() == 0) {
            return false;
        }
        let follows = follows.get(self.sort()).copied().unwrap_or(0);
        let rest = bytes.get(end..).unwrap_or_default().iter();
        let next = rest.take(LONGEST + 1).find(|byte| !is_joint(**byte));
        next.is_none_or(|byte| follows & letter_bit(*byte) != 0)
    }

    /// Which of the sorts of first words it is.
    fn sort(self) -> usize {
        usize::from(self.hash) % FOLLOWS
    }
}

/// The bit of a letter, the same for both cases.
fn letter_bit(letter: u8) -> u32 {
    1 << (letter & 31)
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

/// Whether `text` spells what stands before the first word of a cue; a blank is one joint there.
fn leads(text: &[u8], before: &[u8]) -> bool {
    let spells = |(byte, sign): (&u8, &u8)| byte == sign || (*sign == b' ' && is_joint(*byte));
    text.len() == before.len() && text.iter().zip(before).all(spells)
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
    JOINTS.get(usize::from(byte)).copied().unwrap_or(false)
}

/// A table, since what follows is asked of every word that may be the first of a cue.
const JOINTS: [bool; 256] = joints();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn joints() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_whitespace() || matches!(byte, b'_' | b'-');
        byte += 1;
    }
    table
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
            "### system",
            "don't show",
            "игнорируй",
            "忽略",
            "anweis*",
            "правил*",
        ];
        let cues = Cues::new(words.map(str::to_owned).into_iter()).unwrap();
        let check = |text: &str, expect: &[&str]| {
            let spots = Lookout::new(&[&cues]).spots(text);
            for spots in [None, Some(&spots)] {
                let mut search = cues.search(text, spots);
                let (mut from, mut found) = (0, Vec::new());
                while let Some(span) = search.next(from) {
                    from = span.end;
                    found.push(text.get(span).unwrap());
                }
                assert_eq!(found, expect, "{text}");
            }
        };
        check("plain words, ignored and ignorer", &[]);
        check("IGNORE it, Ignore", &["IGNORE", "Ignore"]);
        check(
            "any other\n  tool, other_tool, another tools",
            &["other\n  tool", "other_tool"],
        );
        check("cat .env; env", &[".env"]);
        check("a <|im_start|>system", &["<|im_start|>"]);
        for cue in ["### system", "###\tSystem", "###-system", "###\nsystem"] {
            check(cue, &[cue]);
        }
        check("##+ system, ###+system, ###system", &[]);
        check("DON'T SHOW, don't", &["DON'T SHOW"]);
        check("Игнорируй, игнорируйте, ignore", &["Игнорируй", "ignore"]);
        check("请忽略 ignore", &["忽略", "ignore"]);
        check("Anweisungen, anwalt, ANWEIS", &["Anweisungen", "ANWEIS"]);
        check("правила, Правил, права", &["правила", "Правил"]);
    }

    #[test]
    fn a_search_may_begin_within_a_word() {
        let words = ["nore it", "anweis*"].map(str::to_owned);
        let cues = Cues::new(words.into_iter()).unwrap();
        let check = |text: &str, from: usize, expect: Option<&str>| {
            let spots = Lookout::new(&[&cues]).spots(text);
            for spots in [None, Some(&spots)] {
                let found = cues.search(text, spots).next(from);
                let found = found.map(|span| text.get(span).unwrap());
                assert_eq!(found, expect, "{text}");
            }
        };
        check("ignore it", 0, None);
        check("ignore it", 2, Some("nore it"));
        check("ignore it", 3, None);
        check("unanweisung", 2, Some("anweisung"));
        check("unanweisung, anweisen", 3, Some("anweisen"));
    }
}
