//! Orders in other languages than English.
//!
//! An attack must do the same in every language: address the model, drop what it was told, keep
//! something from the user, order tools about, read what is secret, send it away. `hostile.tongues`
//! has what these are made of, once for all languages and in any order of words; each language has
//! a file of its words, with the English ones that everybody uses beside it. Which language a
//! sentence is in is told by its script or by words that English does not have.

mod script;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;

use crate::error::DetectError;
use crate::hostile::cue::Cues;
use crate::hostile::grammar::Grammar;
use crate::hostile::hash::Quick;
use crate::hostile::ideas::Ideas;
use crate::hostile::lexicon::{Lexicon, lines};
use crate::hostile::token::{Reader, Token};
use crate::hostile::{Hit, MOST, letters, sentence};
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

/// How far a word that says no stands from the word for forgetting that it undoes.
const ADJACENT: usize = 2;

/// What can be done, and therefore forbidden, with one word.
const DEEDS: &[&str] = &[
    "ignore", "obey", "read", "give", "send", "delete", "show", "run", "approve",
];

/// What is not to be told, known, asked or used, if a no stands in the same clause.
const DENIED: &[(&str, &str)] = &[
    ("tell", "untold"),
    ("telling", "untelling"),
    ("know", "unknown"),
    ("ask", "unasked"),
    ("use", "unused"),
];

/// How far that no may stand, in words.
const DENIES: usize = 5;

/// What is said with several words that may begin with a no: `do not heed`, `no longer in force`.
const WHOLE: &[&str] = &["ignore", "ignoring", "unbound", "void", "worse"];

/// All languages.
#[derive(Debug)]
pub(crate) struct Tongues {
    grammar: Grammar,
    spoken: Vec<Tongue>,
    /// Words that English lacks.
    telling: HashMap<String, Telling, Quick>,
    cues: Cues,
    /// What it means to say no, wholly or by half, behind what is undone, and to forget.
    no: Ideas,
    not: Ideas,
    after: Ideas,
    forget: Ideas,
    /// What a word that says no undoes if it stands behind.
    deeds: Ideas,
    /// What means something else where a no stands beside it, and what it means then.
    denied: Vec<(Ideas, Ideas)>,
    /// What words mean together of which the first says no: it says no to nothing else.
    whole: Ideas,
}

/// The languages, as bits in the order of the list, that have a word, and for which it is glue.
#[derive(Clone, Copy, Debug, Default)]
struct Telling {
    tongues: u32,
    glue: u32,
}

#[derive(Debug)]
struct Tongue {
    script: Script,
    lexicon: Lexicon,
}

impl Tongues {
    /// Reads the embedded languages; `paths` are parts of paths that are cues in all of them.
    pub(crate) fn load(paths: impl Iterator<Item = String>) -> Result<Self, DetectError> {
        let mut shared = Lexicon::new();
        shared.read("en.words", SHARED)?;
        let grammar = Grammar::parse("hostile.tongues", PATTERNS, &shared)?;
        let leading = grammar.cues();
        let mut telling: HashMap<String, Telling, Quick> = HashMap::default();
        let mut spoken = Vec::new();
        let mut cues = Vec::new();
        for (at, &(name, script, words)) in TONGUES.iter().enumerate() {
            let mut lexicon = shared.clone();
            lexicon.read(name, words)?;
            if script == Script::Latin {
                let own = |word: &String| word.len() > 1 && !shared.knows(word);
                for word in alone(words, |_| true).filter(own) {
                    telling.entry(word).or_default().tongues |= 1 << at;
                }
                for word in alone(words, |idea| idea == "glue").filter(own) {
                    telling.entry(word).or_default().glue |= 1 << at;
                }
            }
            let leads =
                |name: &str| lexicon.idea(name).unwrap_or_default() & leading != Ideas::NONE;
            cues.extend(entries(words, leads).flat_map(spellings));
            spoken.push(Tongue { script, lexicon });
        }
        let idea = |name: &str| shared.idea(name).unwrap_or_default();
        Ok(Self {
            no: idea("not") | idea("after"),
            not: idea("not") | idea("half") | idea("after"),
            after: idea("after"),
            forget: idea("forget"),
            deeds: DEEDS.iter().fold(Ideas::NONE, |all, name| all | idea(name)),
            denied: DENIED
                .iter()
                .map(|(name, denied)| (idea(name), idea(denied)))
                .collect(),
            whole: WHOLE.iter().fold(Ideas::NONE, |all, name| all | idea(name)),
            grammar,
            spoken,
            telling,
            cues: Cues::new(paths.chain(cues))?,
        })
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

    /// Adds the acts of those sentences that have a cue.
    pub(crate) fn read_cued<'a>(
        &'a self,
        text: &str,
        side: usize,
        paths: &AhoCorasick,
        hits: &mut Vec<Hit<'a>>,
    ) {
        let mut search = self.cues.search(text);
        let mut read = 0;
        while let Some(found) = search.next(read) {
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
        for tongue in self.candidates(words) {
            let mut reader = Reader::new(&tongue.lexicon, self.grammar.shapes, paths);
            reader.read(words);
            self.settle(&mut reader.tokens);
            self.remind(&mut reader.tokens);
            self.deny(&mut reader.tokens);
            self.forbid(&mut reader.tokens);
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
        let pieces = words.split(|letter: char| !letters::is_letter(letter));
        for word in pieces.filter(|word| word.len() > 1) {
            let telling = self.telling.get(&letters::folded(word));
            let new = telling.filter(|one| !found.iter().any(|known| std::ptr::eq(*known, *one)));
            found.extend(new);
        }
        found
    }

    /// Takes words of which the first says no for what they mean together.
    fn settle(&self, tokens: &mut [Token]) {
        for token in tokens
            .iter_mut()
            .filter(|token| token.ideas & self.whole != Ideas::NONE)
        {
            token.ideas = token.ideas & !self.not;
        }
    }

    /// Takes both words of `do not forget` for what they mean together: nothing that counts here.
    fn remind(&self, tokens: &mut [Token]) {
        let forgets = |token: &Token| token.ideas & self.forget != Ideas::NONE;
        let places: Vec<usize> = (0..tokens.len())
            .filter(|&at| tokens.get(at).is_some_and(forgets))
            .collect();
        for at in places {
            let near = at.saturating_sub(ADJACENT)..(at + ADJACENT + 1).min(tokens.len());
            let Some(near) = tokens.get_mut(near) else {
                continue;
            };
            if near
                .iter()
                .any(|token| token.ideas & self.not != Ideas::NONE)
            {
                for token in near {
                    if token.ideas & (self.not | self.forget) != Ideas::NONE {
                        token.ideas = Ideas::NONE;
                    }
                }
            }
        }
    }

    /// Adds what words mean beside a no.
    fn deny(&self, tokens: &mut [Token]) {
        let no = |token: &Token| (token.ideas & self.no != Ideas::NONE).then_some(token.clause);
        let places: Vec<Option<u32>> = tokens.iter().map(no).collect();
        for (at, token) in tokens.iter_mut().enumerate() {
            let near = at.saturating_sub(DENIES)..(at + DENIES + 1).min(places.len());
            let near = places.get(near).unwrap_or_default();
            if !near.contains(&Some(token.clause)) {
                continue;
            }
            for &(plain, denied) in &self.denied {
                if token.ideas & plain != Ideas::NONE {
                    token.ideas |= denied;
                }
            }
        }
    }

    /// Takes what is forbidden by the next word for undone.
    fn forbid(&self, tokens: &mut [Token]) {
        let says_no = |token: &Token| token.ideas & self.after != Ideas::NONE;
        let places = (1..tokens.len()).filter(|&at| tokens.get(at).is_some_and(says_no));
        for at in places.collect::<Vec<_>>() {
            if let Some(token) = tokens.get_mut(at - 1) {
                token.ideas = token.ideas & !self.deeds;
            }
        }
    }
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
    let capitals = [listed.to_uppercase(), plain.to_uppercase()];
    let joined = letters::with_heads(&listed).chain(letters::with_heads(&plain));
    joined.chain(capitals).collect()
}
