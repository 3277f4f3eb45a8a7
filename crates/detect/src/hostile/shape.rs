//! What a sentence of a descriptor is made of, whatever its words: who is told, to do what, with
//! whose data, where to, and whether anybody may know.
//!
//! Wordings are without end, but an attack needs several of these families in one sentence or in
//! neighbouring ones, and an honest descriptor has little use for more than one. Reads
//! `hostile.shape`. Data is not judged here: in results, orders to people are ordinary.

mod family;
mod judge;
mod literal;

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::error::DetectError;
use crate::hostile::{Hit, sentence};
use family::{FAMILIES, Family as F, OWN};
pub(crate) use family::{Families, Family};
use judge::Sentence;

/// The file the families are read from.
const FILE: &str = "hostile.shape";

/// The most sentences that are read; whoever needs more has been read long enough.
const MOST: usize = 2000;

/// How far, in bytes of folded text, a negation reaches.
const NEGATED: usize = 24;

/// How far a negation reaches to what somebody would notice.
const FAR: usize = 32;

/// Where in a descriptor a text stands, which decides what counts as an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// A description of the whole.
    #[default]
    Whole,
    /// What a parameter is said to take: by itself a request for it.
    Parameter,
    /// The name of a parameter.
    Name,
    /// A value that is offered for a parameter, where nobody expects a sentence.
    Value,
}

/// Families that a negation undoes.
const UNDONE: &[Family] = &[
    F::Act,
    F::Edit,
    F::Omit,
    F::Swap,
    F::Consent,
    F::Talk,
    F::Obey,
];

/// The families and what finds their words.
#[derive(Debug)]
pub(crate) struct Shape {
    finder: AhoCorasick,
    /// The family of each literal.
    meant: Vec<Family>,
}

/// A word of a family in a folded sentence.
#[derive(Clone, Copy, Debug)]
struct Seen {
    family: Family,
    at: usize,
}

impl Shape {
    /// Reads the families.
    pub(crate) fn parse(source: &str) -> Result<Self, DetectError> {
        let fail = |rule: &str, reason: &str| DetectError::Rule {
            file: FILE.to_owned(),
            rule: rule.chars().take(40).collect(),
            reason: reason.to_owned(),
        };
        let (mut literals, mut meant) = (Vec::new(), Vec::new());
        let lines = source.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, words) = line.split_once(':').ok_or_else(|| fail(line, "no colon"))?;
            let known = FAMILIES.iter().find(|(known, _)| *known == name);
            let (_, family) = known.ok_or_else(|| fail(name, "unknown family"))?;
            for word in words.split_whitespace() {
                literals.push(literal_of(word));
                meant.push(*family);
            }
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(literals)
            .map_err(|fault| fail("words", &fault.to_string()))?;
        Ok(Self { finder, meant })
    }

    /// What a tool is about by its names, its parameters, and by its first sentence if that gives
    /// no orders.
    pub(crate) fn about(&self, names: &str, params: &str, first: &str) -> Families {
        let plain = self.topics(first);
        let orders = plain.any(&[F::Mood, F::Model, F::You, F::Quiet, F::Consent]);
        let plain = if orders { Families::default() } else { plain };
        let mut about = self.topics(names).and(plain);
        if about.has(F::Credential) {
            about.add(F::Vault);
        }
        // A parameter for a key file is no excuse for itself.
        let vault = about.has(F::Vault);
        about = about.and(self.topics(params));
        if !vault {
            about.drop(F::Vault);
        }
        about
    }

    fn topics(&self, text: &str) -> Families {
        let mut topics = Families::default();
        for seen in self.seen(&folded(text)) {
            topics.add(seen.family);
        }
        literal::find(text, |family| topics.add(family));
        for (word, family) in OWN {
            if folded(text).contains(word) {
                topics.add(*family);
            }
        }
        topics
    }

    /// Adds what the sentences of a text amount to; `own` is what the tool is about by its name
    /// and parameters.
    pub(crate) fn find(
        &self,
        text: &str,
        own: Families,
        place: Place,
        names_file: impl Fn(&Range<usize>) -> bool,
        hits: &mut Vec<Hit<'static>>,
    ) {
        let mut before = Sentence::default();
        let mut at = 0;
        for _ in 0..MOST {
            if at >= text.len() {
                break;
            }
            let span = sentence::around(text, at, at);
            at = span.end.max(at + 1);
            let words = text.get(span.clone()).unwrap_or_default();
            let aside = is_aside(text, &span);
            let mut read = Sentence::new(own, place, aside);
            if names_file(&span) {
                read.families.add(F::Vault);
            }
            let read = self.read(words, read);
            judge::judge(&before, &read, &mut |id, weight| {
                let span = span.clone();
                hits.push(Hit { id, weight, span });
            });
            before = read;
        }
    }

    fn read(&self, words: &str, mut read: Sentence) -> Sentence {
        let folded = folded(words);
        let seen = self.seen(&folded);
        read.words = words.split_whitespace().count();
        literal::find(words, |family| read.families.add(family));
        let later = seen.iter().any(|one| one.family == F::Until);
        // `Do not send a, b or c, nor pass d`: what was forbidden first stays so up to a turn.
        let mut forbidden = false;
        for one in &seen {
            let close = |other: &Seen| other.at < one.at && one.at - other.at <= NEGATED;
            let before = |family| {
                seen.iter()
                    .any(|other| other.family == family && close(other))
            };
            let far = |other: &Seen| other.at < one.at && one.at - other.at <= FAR;
            let negated = match one.family {
                F::Sense => seen
                    .iter()
                    .any(|other| other.family == F::Not && far(other)),
                _ => before(F::Not),
            };
            forbidden = match one.family {
                F::But => false,
                F::Move => forbidden || negated,
                _ => forbidden,
            };
            match one.family {
                F::Tell if negated && !later => read.families.add(F::Quiet),
                F::Sense if negated && !later => read.families.add(F::Sense),
                F::Hush if !before(F::But) => {
                    read.families.add(F::Quiet);
                    read.families.add(F::Hush);
                }
                F::Tell | F::Sense | F::Hush => {}
                F::Move if forbidden => {}
                family if negated && UNDONE.contains(&family) => {}
                family => read.families.add(family),
            }
        }
        read.leads = seen.iter().any(|one| leads(&folded, one));
        read
    }

    fn seen(&self, folded: &str) -> Vec<Seen> {
        let found = self.finder.find_overlapping_iter(folded);
        let seen = found.filter_map(|found| {
            let family = *self.meant.get(found.pattern().as_usize())?;
            let at = found.start();
            Some(Seen { family, at })
        });
        let mut seen: Vec<Seen> = seen.collect();
        seen.sort_by_key(|one| one.at);
        seen
    }
}

/// Whether a word begins a clause as an order: `Send ...` is one, `Sends ...` says what a tool does.
fn leads(folded: &str, one: &Seen) -> bool {
    if !matches!(one.family, F::Move | F::Act | F::Edit | F::Swap) {
        return false;
    }
    let (before, rest) = folded.split_at_checked(one.at).unwrap_or((folded, ""));
    let word = rest.split_whitespace().next().unwrap_or_default();
    let bare = !word.ends_with("ed") && !word.ends_with("ing");
    let describes = word.ends_with('s') && !word.ends_with("ss");
    let opens = before.trim_end().rsplit(' ').next().unwrap_or_default();
    bare && !describes && matches!(opens, "" | ";" | "please" | "then" | "also")
}

/// Whether a sentence stands apart: in brackets that shout, or far below what came before.
fn is_aside(text: &str, span: &Range<usize>) -> bool {
    let head = text.get(..span.start).unwrap_or_default();
    let blank = head.len() - head.trim_end().len();
    let lines = head.bytes().rev().take(blank).filter(|byte| *byte == b'\n');
    let own = text.get(span.clone()).unwrap_or_default();
    lines.count() > 4
        || ["[[", "<!--", "!!!", "<hint", "{{"]
            .iter()
            .any(|mark| own.contains(mark))
}

/// A literal as it stands in folded text.
fn literal_of(word: &str) -> String {
    match word.strip_suffix('*') {
        Some(stem) => format!(" {}", stem.replace('+', " ")),
        None => format!(" {} ", word.replace('+', " ")),
    }
}

/// A text in lower case with single blanks between and around its words, without the `'s` of
/// owners, and with `;` where a clause ends.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 2);
    folded.push(' ');
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let owner = matches!(letter, '\'' | '\u{2019}') && letters.peek() == Some(&'s');
        if owner {
            letters.next();
        } else if letter.is_alphanumeric() || letter == '\'' {
            folded.extend(letter.to_lowercase());
        } else if letter == '\u{2019}' {
            folded.push('\'');
        } else if (matches!(letter, ':' | ';' | ',' | '(' | ')' | '!')
            || (letter == '.' && !letters.peek().is_some_and(|next| next.is_alphanumeric())))
            && !folded.ends_with("; ")
        {
            if !folded.ends_with(' ') {
                folded.push(' ');
            }
            folded.push_str("; ");
        } else if !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    if !folded.ends_with(' ') {
        folded.push(' ');
    }
    folded
}
