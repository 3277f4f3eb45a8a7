//! The words and what they mean: reads lists of words and finds the ideas of a word.

mod plain;

use std::collections::HashMap;

use crate::error::DetectError;
use crate::hostile::hash::Quick;
use crate::hostile::ideas::Ideas;
use crate::hostile::letters;
use plain::{Key, Plain};

/// How many words of 64 bits tell the heads of stems apart.
const HEADS: usize = 64;

/// The longest stem, in bytes.
const LONGEST_STEM: usize = 64;

/// The most words that one entry has.
const LONGEST: usize = 4;

/// The words of all ideas.
#[derive(Clone, Debug)]
pub(crate) struct Lexicon {
    names: Vec<String>,
    /// Words and runs of words, joined by single blanks, their letters folded.
    entries: HashMap<String, Entry, Quick>,
    /// Those of the entries that are short words of plain letters, as most words of a text are.
    ///
    /// INVARIANT: made anew whenever a file was read.
    plain: Plain,
    /// Beginnings of words, for languages that bend the end.
    stems: HashMap<String, Ideas, Quick>,
    /// One bit for the first two letters of each stem, so that most words are not looked up.
    heads: Vec<u64>,
    /// The longest entry of a script without spaces, in letters.
    pub(crate) unspaced: usize,
}

/// What is known of a word, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// What it means; nothing if it only begins a longer entry.
    pub(crate) ideas: Ideas,
    /// Where it leads.
    pub(crate) lead: Lead,
}

/// Which entries of several words may begin with a word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lead {
    /// How many words the longest entry has that begins with it.
    pub(crate) reach: usize,
    /// One bit for each first letter, five bits of it, of a second word of such an entry.
    seconds: u32,
}

impl Entry {
    /// What a token means that no list of words knows by itself.
    pub(crate) fn with(self, ideas: Ideas) -> Self {
        Self { ideas, ..self }
    }
}

impl Lead {
    /// Whether an entry of several words may begin with it and go on with `second`.
    pub(crate) fn goes_on(self, second: &str) -> bool {
        let letter = second.bytes().next();
        letter.is_none_or(|letter| self.seconds & letter_bit(letter) != 0)
    }
}

fn letter_bit(letter: u8) -> u32 {
    1 << (letter & 31)
}

/// Ideas that tokens have by their shape, not by a word.
const SHAPES: &[&str] = &["<url>", "<email>", "<path>", "<name>"];

impl Lexicon {
    /// Knows no words yet, and only the ideas that tokens have by their shape.
    pub(crate) fn new() -> Self {
        Self {
            names: SHAPES.iter().map(|&name| name.to_owned()).collect(),
            entries: HashMap::default(),
            plain: Plain::default(),
            stems: HashMap::default(),
            heads: vec![0; HEADS],
            unspaced: 0,
        }
    }

    /// Adds the words of a file; ideas that are new get a number.
    pub(crate) fn read(&mut self, file: &str, source: &str) -> Result<(), DetectError> {
        for line in lines(source) {
            let (names, words) = line
                .split_once(':')
                .ok_or_else(|| fault(file, line, "no colon"))?;
            let (orders, describes) = names.split_once('/').unwrap_or((names, names));
            let unknown = |()| fault(file, line, "more than 256 ideas");
            let orders = self.declare(orders).map_err(unknown)?;
            let describes = self.declare(describes).map_err(unknown)?;
            for word in words.split_whitespace() {
                self.enter(word, orders, describes);
            }
        }
        let entries = self.entries.iter();
        let plain = Plain::new(entries.map(|(word, entry)| (word.as_str(), *entry)));
        self.plain = plain.ok_or_else(|| fault(file, "all", "more words than can be filed"))?;
        Ok(())
    }

    /// The bit of an idea.
    pub(crate) fn idea(&self, name: &str) -> Option<Ideas> {
        let at = self.names.iter().position(|known| known == name)?;
        Some(Ideas::one(at))
    }

    /// The words that mean any of `ideas`.
    pub(crate) fn words(&self, ideas: Ideas) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter(move |(_, own)| own.ideas & ideas != Ideas::NONE)
            .map(|(word, _)| word.as_str())
    }

    /// Whether a word is listed as it stands, or begins what is.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.entries.contains_key(word)
    }

    /// What is known of a word or of words joined by single blanks.
    pub(crate) fn entry(&self, words: &str) -> Entry {
        let mut entry = self.leading(words);
        entry.ideas |= self.stemmed(words);
        entry
    }

    /// The same of one word of letters of ASCII in any case, in fewer steps.
    pub(crate) fn plain(&self, word: &str) -> Entry {
        let Some(key) = Key::of(word) else {
            return self.entry(&word.to_ascii_lowercase());
        };
        let mut entry = self.plain.get(key);
        if !self.stems.is_empty() {
            entry.ideas |= self.stemmed(&word.to_ascii_lowercase());
        }
        entry
    }

    /// What is known of the entries that begin with a word, whatever it means by itself.
    pub(crate) fn leading(&self, word: &str) -> Entry {
        self.entries.get(word).copied().unwrap_or_default()
    }

    /// All words and runs of words, in order.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        words.sort_unstable();
        words
    }

    /// The ideas of all stems that a word begins with.
    fn stemmed(&self, word: &str) -> Ideas {
        if self.stems.is_empty() {
            return Ideas::NONE;
        }
        let (slot, bit) = head_of(word);
        if self.heads.get(slot).is_none_or(|bits| bits & bit == 0) {
            return Ideas::NONE;
        }
        let ends = word.char_indices().map(|(at, _)| at).skip(1);
        let ends = ends.chain([word.len()]);
        let ends = ends.take_while(|&end| end <= LONGEST_STEM);
        let stems = ends.filter_map(|end| self.stems.get(word.get(..end)?));
        stems.fold(Ideas::NONE, |all, &ideas| all | ideas)
    }

    /// The ideas of a word or of words joined by single blanks.
    pub(crate) fn ideas(&self, words: &str) -> Ideas {
        self.entry(words).ideas
    }

    /// The bit of an idea, which gets one if it is new and there is room.
    fn declare(&mut self, name: &str) -> Result<Ideas, ()> {
        if let Some(known) = self.idea(name) {
            return Ok(known);
        }
        if self.names.len() == Ideas::MOST {
            return Err(());
        }
        self.names.push(name.to_owned());
        Ok(Ideas::one(self.names.len() - 1))
    }

    fn enter(&mut self, word: &str, orders: Ideas, describes: Ideas) {
        if let Some(verb) = word.strip_suffix('~') {
            let stem = verb.strip_suffix('e').unwrap_or(verb);
            let s = if verb.ends_with("ss") || verb.ends_with("sh") || verb.ends_with("ch") {
                "es"
            } else {
                "s"
            };
            self.insert(verb, orders);
            self.insert(&format!("{stem}ing"), orders);
            self.insert(&format!("{verb}{s}"), describes);
            self.insert(&format!("{stem}ed"), describes);
        } else if let Some(stem) = word.strip_suffix('*') {
            let stem = letters::folded(&stem.replace('+', " "));
            self.note_reach(&stem);
            let (slot, bit) = head_of(&stem);
            if let Some(slot) = self.heads.get_mut(slot) {
                *slot |= bit;
            }
            *self.stems.entry(stem).or_default() |= orders;
        } else {
            self.insert(&word.replace('+', " "), orders);
        }
    }

    fn insert(&mut self, words: &str, ideas: Ideas) {
        let words = &letters::folded(words);
        if !words.is_ascii() && !words.contains(' ') && is_unspaced(words) {
            self.unspaced = self.unspaced.max(words.chars().count());
        }
        self.note_reach(words);
        self.entries.entry(words.to_owned()).or_default().ideas |= ideas;
    }

    /// Notes at the first of several words how many there are.
    fn note_reach(&mut self, words: &str) {
        let Some((head, rest)) = words.split_once(' ') else {
            return;
        };
        let count = words.split(' ').count().min(LONGEST);
        let head = self.entries.entry(head.to_owned()).or_default();
        let head = &mut head.lead;
        head.reach = head.reach.max(count);
        head.seconds |= rest.bytes().next().map_or(u32::MAX, letter_bit);
    }
}

/// Where the first two letters of a word are noted.
fn head_of(word: &str) -> (usize, u64) {
    let mut letters = word.chars().map(u32::from);
    let (first, second) = (letters.next().unwrap_or(0), letters.next().unwrap_or(0));
    let hash = (first << 16 ^ second).wrapping_mul(0x9e37_79b9) >> 20;
    (hash as usize >> 6, 1 << (hash & 63))
}

/// Whether a word is written in a script without spaces.
pub(crate) fn is_unspaced(word: &str) -> bool {
    word.chars()
        .next()
        .is_some_and(|letter| matches!(letter, '\u{3040}'..='\u{9fff}'))
}

/// The lines of a list of words that are neither empty, nor a remark, nor an example.
pub(crate) fn lines(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '+', '-']))
}

fn fault(file: &str, rule: &str, reason: &str) -> DetectError {
    DetectError::Rule {
        file: file.to_owned(),
        rule: rule.chars().take(40).collect(),
        reason: reason.to_owned(),
    }
}
