//! What a sentence of a descriptor is made of, whatever its words: who is told, to do what, with
//! whose data, where to, and whether anybody may know.
//!
//! Wordings are without end, but an attack needs several of these in one sentence or in
//! neighbouring ones, and an honest descriptor has little use for more than one. `hostile.shape`
//! has the words, `sign` what they make together, `hostile.signs` what that is worth. Data is not
//! judged here: in results, orders to people are ordinary.

mod care;
mod fair;
mod family;
mod literal;
mod outright;
mod read;
mod sign;
mod weigh;

#[cfg(test)]
mod tests;

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::error::DetectError;
use crate::hostile::{Hit, sentence};
use family::{FAMILIES, Family as F, OWN};
pub(crate) use family::{Families, Family};
use sign::Sentence;
use weigh::Weights;

/// The file the families are read from.
const FILE: &str = "hostile.shape";

/// The most sentences that are read; whoever needs more has been read long enough.
const MOST: usize = 2000;

/// What the name of a parameter can make a tool's business.
const BY_PARAMETER: &[Family] = &[
    F::Credential,
    F::Address,
    F::Dest,
    F::Account,
    F::Pipeline,
    F::Destroy,
    F::Outside,
    F::Run,
];

/// Where in a descriptor a text stands, which decides what counts as an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// A text as a whole, or a part of one that came later.
    #[default]
    Whole,
    /// A description of a tool, which opens with what the tool is for.
    Opening,
    /// What a parameter is said to take: by itself a request for it.
    Parameter,
    /// The name of a parameter.
    Name,
    /// A value that is offered for a parameter, where nobody expects a sentence.
    Value,
}

/// The families, what finds their words, and what they are worth together.
#[derive(Debug)]
pub(crate) struct Shape {
    finder: AhoCorasick,
    /// The family of each literal.
    meant: Vec<Family>,
    weights: Weights,
}

/// A word of a family in a folded sentence.
#[derive(Clone, Copy, Debug)]
struct Seen {
    family: Family,
    at: usize,
}

impl Shape {
    /// Reads the families and the weights.
    pub(crate) fn parse(families: &str, weights: &str) -> Result<Self, DetectError> {
        let fail = |rule: &str, reason: &str| DetectError::Rule {
            file: FILE.to_owned(),
            rule: rule.chars().take(40).collect(),
            reason: reason.to_owned(),
        };
        let (mut literals, mut meant) = (Vec::new(), Vec::new());
        let lines = families.lines().map(str::trim);
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
        let weights = Weights::parse(weights)?;
        Ok(Self {
            finder,
            meant,
            weights,
        })
    }

    /// What a tool is about by its names, its parameters, and by its first sentence if that gives
    /// no orders.
    pub(crate) fn about(&self, names: &str, params: &str, first: &str) -> Families {
        let plain = self.topics(first);
        let orders = plain.any(&[F::Must, F::Model, F::You, F::Quiet, F::Consent])
            || plain.any(&[F::Pipeline, F::Number, F::Slot])
            || (plain.has(F::Rules) && plain.any(&[F::Off, F::Prior]) && !plain.has(F::Threat))
            || (plain.has(F::Trigger) && plain.any(&[F::Tools, F::Talk]));
        let first = if orders { "" } else { first };
        let title = format!("{names} {first}");
        let mut about = self.topics(names).and(self.topics(first));
        own(&title, &mut about);
        if about.has(F::Credential) {
            about.add(F::Vault);
        }
        if about.has(F::Model) {
            about.add(F::Talk);
        }
        // A parameter for somebody's keys or talk is no excuse for itself.
        let mut params_own = self.topics(params);
        own(params, &mut params_own);
        for family in BY_PARAMETER {
            if params_own.has(*family) {
                about.add(*family);
            }
        }
        about
    }

    /// Whether a first sentence says what a tool does and tells nobody anything.
    pub(crate) fn says_what(&self, words: &str) -> bool {
        let read = self.read(words, Sentence::default());
        read.describes && !read.families.any(&[F::Must, F::Model, F::You, F::Trigger])
    }

    /// Whether what a sentence keeps back is kept from nobody who should hear of it.
    pub(crate) fn is_fair(&self, words: &str) -> bool {
        self.read(words, Sentence::default()).fair
    }

    /// Adds what the sentences of a text amount to; `own` is what the tool is about,
    /// `later` whether the text was added to a tool that is known.
    pub(crate) fn find(
        &self,
        text: &str,
        (own, place, later): (Families, Place, bool),
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
            if words.trim().is_empty() {
                continue;
            }
            let mut read = Sentence {
                opens: place == Place::Opening && span.start == 0,
                later,
                own,
                place,
                ..Sentence::default()
            };
            if names_file(&span) {
                read.families.add(F::Vault);
            }
            let mut read = self.read(words, read);
            read.look(&before);
            if let Some((id, weight)) = self.weights.weigh(read.signs, later) {
                hits.push(Hit { id, weight, span });
            }
            before = read;
        }
    }

    /// The words of families, in order, without those of an idiom.
    fn seen(&self, folded: &str) -> Vec<Seen> {
        let (mut seen, mut idioms) = (Vec::new(), Vec::new());
        for found in self.finder.find_overlapping_iter(folded) {
            match self.meant.get(found.pattern().as_usize()) {
                Some(F::Idiom) => idioms.push(found.range()),
                Some(&family) => seen.push(Seen {
                    family,
                    at: found.start(),
                }),
                None => {}
            }
        }
        if !idioms.is_empty() {
            // The blank behind an idiom belongs to the next word.
            let within =
                |one: &Seen, idiom: &Range<usize>| one.at + 1 < idiom.end && one.at >= idiom.start;
            seen.retain(|one: &Seen| !idioms.iter().any(|idiom| within(one, idiom)));
        }
        seen.sort_by_key(|one| one.at);
        seen
    }
}

/// Adds what the words of a name or title make a tool's business.
fn own(title: &str, about: &mut Families) {
    let title = read::folded(title);
    for (family, words) in OWN {
        if words.iter().any(|word| title.contains(word)) {
            about.add(*family);
        }
    }
}

/// A literal as it stands in folded text.
fn literal_of(word: &str) -> String {
    let spaced = read::folded(&word.replace('+', " ").replace('*', ""));
    if word.ends_with('*') {
        spaced.trim_end().to_owned()
    } else {
        spaced
    }
}
