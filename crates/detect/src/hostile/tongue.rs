//! Orders in other languages than English.
//!
//! An attack must do the same in every language: address the model, drop what it was told, keep
//! something from the user, order tools about, read what is secret, send it away. `hostile.tongues`
//! has what these are made of, once for all languages and in any order of words; each language has
//! a file of its words, with the English ones that everybody uses beside it. Which language a
//! sentence is in is told by its script or by words that English does not have.

mod negation;
mod script;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use crate::error::DetectError;
use crate::hostile::cue::{Cues, Spots};
use crate::hostile::grammar::Grammar;
use crate::hostile::hash::Quick;
use crate::hostile::ideas::Ideas;
use crate::hostile::lexicon::{Lexicon, lines};
use crate::hostile::token::Reader;
use crate::hostile::{Hit, MOST, letters, sentence};
use negation::Negation;
use script::Script;

/// What orders are made of.
pub(super) const PATTERNS: &str = include_str!("../../rules/hostile.tongues");

/// Words that every language borrows.
const SHARED: &str = include_str!("../../rules/tongues/en.words");

/// A language: its name, how it is written, and its list of words.
macro_rules! tongue {
    ($name:literal, $script:ident) => {
        (
            concat!($name, ".words"),
            Script::$script,
            include_str!(concat!("../../rules/tongues/", $name, ".words")),
        )
    };
}

/// All languages but English; a bit of 32 each tells them apart.
const TONGUES: &[(&str, Script, &str)] = &[
    tongue!("ar", Arabic),
    tongue!("cs", Latin),
    tongue!("da", Latin),
    tongue!("de", Latin),
    tongue!("el", Greek),
    tongue!("es", Latin),
    tongue!("fa", Arabic),
    tongue!("fr", Latin),
    tongue!("he", Hebrew),
    tongue!("hi", Devanagari),
    tongue!("id", Latin),
    tongue!("it", Latin),
    tongue!("ja", Kana),
    tongue!("ko", Hangul),
    tongue!("nl", Latin),
    tongue!("pl", Latin),
    tongue!("pt", Latin),
    tongue!("ro", Latin),
    tongue!("ru", Cyrillic),
    tongue!("sv", Latin),
    tongue!("tr", Latin),
    tongue!("uk", Cyrillic),
    tongue!("vi", Latin),
    tongue!("zh", Han),
];

/// How many different words of a language in Latin letters a sentence has that is read as one of it,
/// and how many if one of them is a small word without a meaning of its own.
const TELLING: usize = 3;
const TELLING_WITH_GLUE: usize = 2;

/// All languages.
#[derive(Debug)]
pub(crate) struct Tongues {
    grammar: Grammar,
    shared: Lexicon,
    spoken: Vec<Tongue>,
    /// Words that English lacks.
    telling: HashMap<String, Telling, Quick>,
    /// Where to look closer, for languages in Latin letters.
    pub(crate) cues: Cues,
    /// The same for other scripts, read when a text first has a letter of one: there are many more.
    foreign: OnceLock<Option<Cues>>,
    negation: Negation,
}

/// The languages, as bits in the order of the list, that have a word, and for which it is glue.
#[derive(Clone, Copy, Debug, Default)]
struct Telling {
    tongues: u32,
    glue: u32,
}

#[derive(Debug)]
struct Tongue {
    file: &'static str,
    script: Script,
    words: &'static str,
    /// Read when a sentence is first taken to be in this language.
    lexicon: OnceLock<Option<Lexicon>>,
}

impl Tongue {
    /// The words with those that everybody borrows; the tests see to it that they can be read.
    fn lexicon(&self, shared: &Lexicon) -> Option<&Lexicon> {
        let read = || {
            let mut lexicon = shared.clone();
            lexicon.read(self.file, self.words).ok()?;
            Some(lexicon)
        };
        self.lexicon.get_or_init(read).as_ref()
    }
}

impl Tongues {
    /// Reads the embedded languages; `paths` are parts of paths that are cues in all of them.
    pub(crate) fn load(paths: impl Iterator<Item = String>) -> Result<Self, DetectError> {
        let mut shared = Lexicon::new();
        shared.read("en.words", SHARED)?;
        let grammar = Grammar::parse("hostile.tongues", PATTERNS, &shared)?;
        let mut telling: HashMap<String, Telling, Quick> = HashMap::default();
        let mut spoken = Vec::new();
        for (at, &(file, script, words)) in TONGUES.iter().enumerate() {
            if script == Script::Latin {
                tell(words, at, &shared, &mut telling);
            }
            spoken.push(Tongue {
                file,
                script,
                words,
                lexicon: OnceLock::new(),
            });
        }
        let own = leading(&grammar, &shared, |script| script == Script::Latin);
        Ok(Self {
            negation: Negation::new(&shared),
            cues: Cues::new(paths.chain(own))?,
            foreign: OnceLock::new(),
            grammar,
            shared,
            spoken,
            telling,
        })
    }

    /// The cues of other scripts; the tests see to it that they can be read.
    fn foreign(&self) -> Option<&Cues> {
        let read = || {
            let own = leading(&self.grammar, &self.shared, |script| {
                script != Script::Latin
            });
            Cues::new(own.into_iter()).ok()
        };
        self.foreign.get_or_init(read).as_ref()
    }

    /// Adds the acts of a text that is short and read whole.
    pub(crate) fn read_all<'a>(
        &'a self,
        text: &str,
        side: usize,
        paths: &AhoCorasick,
        hits: &mut Vec<Hit<'a>>,
    ) {
        let mut at = 0;
        while at < text.len() && hits.len() < MOST {
            let sentence = sentence::around_wide(text, at, at);
            at = sentence.end.max(at + 1);
            self.judge(text, &sentence, side, paths, hits);
        }
    }

    /// Adds the acts of those sentences that have a cue, which in Latin letters begins at one of
    /// `spots`.
    pub(crate) fn read_cued<'a>(
        &'a self,
        text: &str,
        spots: &Spots,
        side: usize,
        paths: &AhoCorasick,
        hits: &mut Vec<Hit<'a>>,
    ) {
        let mut latin = self.cues.search(text, Some(spots));
        let foreign = script::is_foreign(text).then(|| self.foreign()).flatten();
        let mut foreign = foreign.map(|cues| cues.search(text, None));
        let mut next = |from| {
            let other = foreign.as_mut().and_then(|search| search.next(from));
            let both = latin.next(from).into_iter().chain(other);
            both.min_by_key(|found| found.start)
        };
        let mut read = 0;
        while let Some(found) = next(read) {
            let sentence = sentence::around_wide(text, found.start, read);
            read = sentence.end.max(found.end);
            self.judge(text, &sentence, side, paths, hits);
            if hits.len() > MOST {
                break;
            }
        }
    }

    /// Adds the acts of one sentence in each language that it may be in.
    fn judge<'a>(
        &'a self,
        text: &str,
        span: &Range<usize>,
        side: usize,
        paths: &AhoCorasick,
        hits: &mut Vec<Hit<'a>>,
    ) {
        let words = text.get(span.clone()).unwrap_or_default();
        let candidates = self.candidates(words);
        for lexicon in candidates.filter_map(|tongue| tongue.lexicon(&self.shared)) {
            let mut reader = Reader::new(lexicon, self.grammar.shapes, paths);
            reader.read(words);
            self.negation.apply(&mut reader.tokens);
            self.grammar.judge(&reader.tokens, span, side, hits);
        }
    }

    /// The languages that a sentence may be in.
    fn candidates(&self, words: &str) -> impl Iterator<Item = &Tongue> {
        let scripts = script::of(words);
        let telling = self.telling_words(words);
        let tongues = self.spoken.iter().enumerate();
        let spoken = tongues.filter(move |(at, tongue)| {
            if tongue.script != Script::Latin {
                return scripts.has(tongue.script);
            }
            let count = |own: fn(&Telling) -> u32| {
                telling.iter().filter(|one| own(one) >> at & 1 != 0).count()
            };
            let own = count(|one| one.tongues);
            own >= TELLING || (own >= TELLING_WITH_GLUE && count(|one| one.glue) > 0)
        });
        spoken.map(|(_, tongue)| tongue)
    }

    /// The different words of a sentence that English lacks.
    fn telling_words(&self, words: &str) -> Vec<&Telling> {
        let mut found: Vec<&Telling> = Vec::new();
        let mut lower = String::new();
        let pieces = words.split(|letter: char| !letters::is_letter(letter));
        for word in pieces.filter(|word| word.len() > 1) {
            lower.clear();
            if word.is_ascii() {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                lower.push_str(&letters::folded(word));
            }
            let telling = self.telling.get(&lower);
            let new = telling.filter(|one| !found.iter().any(|known| std::ptr::eq(*known, *one)));
            found.extend(new);
        }
        found
    }
}

/// Notes the words of a list that English lacks; `at` is the place of its language.
fn tell(words: &str, at: usize, shared: &Lexicon, telling: &mut HashMap<String, Telling, Quick>) {
    let own = |word: &String| word.len() > 1 && !shared.knows(word);
    for word in alone(words, |_| true).filter(own) {
        telling.entry(word).or_default().tongues |= 1 << at;
    }
    for word in alone(words, |idea| idea == "glue").filter(own) {
        telling.entry(word).or_default().glue |= 1 << at;
    }
}

/// The words by which sentences with an act are found, of languages in some scripts, as they are
/// spelled.
fn leading(grammar: &Grammar, shared: &Lexicon, wanted: fn(Script) -> bool) -> Vec<String> {
    let leading = grammar.cues();
    let leads = |name: &str| shared.idea(name).unwrap_or_default() & leading != Ideas::NONE;
    let borrowed = shared.sorted();
    let tongues = TONGUES.iter().filter(|(_, script, _)| wanted(*script));
    let words = tongues.flat_map(|(.., words)| entries(words, leads));
    // What English has too leads nowhere: most texts are full of it.
    let own = words.filter(|entry| is_own(entry, &borrowed));
    own.flat_map(spellings).collect()
}

/// Whether an entry of a list is nothing that English has, or begins with; `borrowed` is in order.
fn is_own(entry: &str, borrowed: &[&str]) -> bool {
    let stem = entry.strip_suffix('*');
    let word = letters::folded(stem.unwrap_or(entry));
    let at = borrowed.partition_point(|known| **known < *word);
    !borrowed.get(at).is_some_and(|known| match stem {
        Some(_) => known.starts_with(&word),
        None => **known == *word,
    })
}

/// The entries of a list of words whose idea is wanted.
fn entries(source: &str, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let lists = lines(source).filter_map(|line| line.split_once(':'));
    let lists = lists.filter(move |(idea, _)| wanted(idea));
    lists.flat_map(|(_, words)| words.split_whitespace())
}

/// The whole words of a list that stand alone, folded.
fn alone(source: &str, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
    let words = entries(source, wanted);
    let words = words.filter(|word| !word.contains(['+', '*']));
    words.map(letters::folded)
}

/// How a cue is found in text that is not folded: as it is listed, without accents, in capitals.
fn spellings(entry: &str) -> Vec<String> {
    let listed = entry.replace('+', " ");
    if listed.is_ascii() {
        return vec![listed];
    }
    let plain = letters::folded(&listed);
    let mut all: Vec<String> = letters::with_heads(&listed).collect();
    if plain != listed {
        all.extend(letters::with_heads(&plain));
    }
    let capitals = [listed.to_uppercase(), plain.to_uppercase()];
    all.extend(capitals.into_iter().filter(|capitals| *capitals != listed));
    all
}
