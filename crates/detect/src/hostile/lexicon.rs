//! The words and what they mean: reads `hostile.words` and finds the ideas of a word.

use std::collections::HashMap;

use crate::error::DetectError;
use crate::hostile::hash::Quick;
use crate::hostile::ideas::Ideas;

/// The file the words are read from.
const FILE: &str = "hostile.words";

/// The most words that one entry has.
const LONGEST: usize = 4;

/// The words of all ideas.
#[derive(Debug)]
pub(crate) struct Lexicon {
    names: Vec<String>,
    /// Words and runs of words, joined by single blanks.
    entries: HashMap<String, Entry, Quick>,
    /// The longest entry of a script without spaces, in letters.
    pub(crate) unspaced: usize,
}

/// What is known of a word, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// What it means; nothing if it only begins a longer entry.
    pub(crate) ideas: Ideas,
    /// How many words the longest entry has that begins with it.
    pub(crate) reach: usize,
}

/// Ideas that tokens have by their shape, not by a word.
const SHAPES: &[&str] = &["<url>", "<email>", "<path>", "<name>"];

impl Lexicon {
    /// Reads the words.
    pub(crate) fn parse(source: &str) -> Result<Self, DetectError> {
        let mut lexicon = Self {
            names: SHAPES.iter().map(|&name| name.to_owned()).collect(),
            entries: HashMap::default(),
            unspaced: 0,
        };
        for line in source.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (names, words) = line
                .split_once(':')
                .ok_or_else(|| fault(line, "no colon"))?;
            let (orders, describes) = names.split_once('/').unwrap_or((names, names));
            let orders = lexicon.declare(orders)?;
            let describes = lexicon.declare(describes)?;
            for word in words.split_whitespace() {
                lexicon.enter(word, orders, describes);
            }
        }
        Ok(lexicon)
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

    /// What is known of a word or of words joined by single blanks.
    pub(crate) fn entry(&self, words: &str) -> Entry {
        self.entries.get(words).copied().unwrap_or_default()
    }

    /// The ideas of a word or of words joined by single blanks.
    pub(crate) fn ideas(&self, words: &str) -> Ideas {
        self.entry(words).ideas
    }

    fn declare(&mut self, name: &str) -> Result<Ideas, DetectError> {
        if let Some(known) = self.idea(name) {
            return Ok(known);
        }
        if self.names.len() == Ideas::MOST {
            return Err(fault(name, "more than 256 ideas"));
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
        } else {
            self.insert(&word.replace('+', " "), orders);
        }
    }

    fn insert(&mut self, words: &str, ideas: Ideas) {
        if !words.is_ascii() && !words.contains(' ') && is_unspaced(words) {
            self.unspaced = self.unspaced.max(words.chars().count());
        }
        let count = words.split(' ').count().min(LONGEST);
        if let (true, Some(head)) = (count > 1, words.split(' ').next()) {
            let head = self.entries.entry(head.to_owned()).or_default();
            head.reach = head.reach.max(count);
        }
        self.entries.entry(words.to_owned()).or_default().ideas |= ideas;
    }
}

/// Whether a word is written in a script without spaces.
pub(crate) fn is_unspaced(word: &str) -> bool {
    word.chars()
        .next()
        .is_some_and(|letter| matches!(letter, '\u{3040}'..='\u{9fff}'))
}

fn fault(rule: &str, reason: &str) -> DetectError {
    DetectError::Rule {
        file: FILE.to_owned(),
        rule: rule.chars().take(40).collect(),
        reason: reason.to_owned(),
    }
}
