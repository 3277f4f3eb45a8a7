//! Turns each word of a query into a term: the words of the index that it may mean, in groups, each
//! with the trust it deserves. Counting them is left to `rank`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::found::Kind;
use crate::stem::stem;
use crate::vocabulary::{Vocabulary, WordId};
use crate::{synonyms, typo};

/// Trust in a word beside that in the word of the query itself.
const STEM: f64 = 0.7;
const SYNONYM: f64 = 0.8;
const SLIP: f64 = 0.7;
/// A completion is trusted by the share of the word that was given, up to this.
const PREFIX: f64 = 0.8;
/// Completions of a word that is known as it stands are unlikely to be meant.
const PREFIX_OF_KNOWN: f64 = 0.4;

/// Shortest beginning of a word that is completed, and shortest part of a compound.
const SHORTEST_PART: usize = 3;
/// Completions and corrections that are tried for one term.
const MAX_COMPLETIONS: usize = 16;
const MAX_CORRECTIONS: usize = 6;
/// Terms of one query that are corrected, because each is compared with all words.
const MAX_CORRECTED: usize = 16;

/// A word of the query and what it may mean.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) text: String,
    /// Meanings; the word itself comes first if the index has it.
    pub(crate) groups: Vec<Group>,
}

/// Words of the index that are forms of one word, and so one meaning of a term.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) words: Vec<Form>,
    pub(crate) weight: f64,
    /// Whether this is the word of the query itself.
    pub(crate) is_own: bool,
    /// How much the meaning tells tools apart; filled in when it is counted.
    pub(crate) rarity: f64,
}

/// A word of the index as a form of what was meant.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) id: WordId,
    pub(crate) kind: Kind,
    pub(crate) weight: f64,
}

/// Expands the words of a query.
pub(crate) fn expand(vocabulary: &Vocabulary, words: &[String]) -> Vec<Term> {
    let mut expander = Expander {
        vocabulary,
        corrected: 0,
    };
    let mut terms: Vec<Term> = words.iter().flat_map(|word| expander.terms(word)).collect();
    terms.extend(joined(vocabulary, words));
    terms
}

/// Returns terms for neighbours that the index knows as one word.
fn joined(vocabulary: &Vocabulary, words: &[String]) -> impl Iterator<Item = Term> {
    let neighbours = words.iter().zip(words.iter().skip(1));
    let joined = neighbours.map(|(left, right)| format!("{left}{right}"));
    joined
        .filter(|text| !words.contains(text))
        .filter_map(|text| {
            let id = vocabulary.find(&text)?;
            let kind = Kind::Compound;
            let words = vec![Form {
                id,
                kind,
                weight: 1.0,
            }];
            let group = Group {
                words,
                weight: 1.0,
                is_own: true,
                rarity: 0.0,
            };
            Some(Term {
                text,
                groups: vec![group],
            })
        })
}

#[derive(Debug)]
struct Expander<'a> {
    vocabulary: &'a Vocabulary,
    corrected: usize,
}

impl Expander<'_> {
    /// Returns the term of a word, or two if it is a compound that the index knows as two words.
    fn terms(&mut self, word: &str) -> Vec<Term> {
        if !self.is_known(word)
            && let Some((left, right)) = self.parts(word)
        {
            return vec![
                self.known(left, Kind::Compound),
                self.known(right, Kind::Compound),
            ];
        }
        let mut term = self.known(word, Kind::Exact);
        let is_known = self.is_known(word);
        let has_meaning = !term.groups.is_empty();
        self.complete(
            word,
            if is_known { PREFIX_OF_KNOWN } else { PREFIX },
            &mut term,
        );
        if !is_known {
            self.shorten(word, &mut term);
        }
        let slips = typo::tolerance(word.chars().count());
        if !has_meaning && slips > 0 && self.corrected < MAX_CORRECTED {
            self.corrected += 1;
            self.correct(word, slips, &mut term);
        }
        vec![term]
    }

    fn is_known(&self, word: &str) -> bool {
        !self.vocabulary.forms(&stem(word)).is_empty()
    }

    /// Returns a term with the forms and the synonyms of a word.
    fn known(&self, word: &str, kind: Kind) -> Term {
        let own = self.group(word, kind, 1.0);
        let mut groups: Vec<Group> = own
            .into_iter()
            .map(|own| Group {
                is_own: true,
                ..own
            })
            .collect();
        groups.extend(self.synonyms(word, Kind::Synonym, SYNONYM));
        Term {
            text: word.to_owned(),
            groups,
        }
    }

    fn synonyms(&self, word: &str, kind: Kind, weight: f64) -> impl Iterator<Item = Group> {
        let stems = synonyms::of(&stem(word)).iter();
        stems.filter_map(move |other| self.forms(other, word, kind, weight))
    }

    /// Returns all forms of a word as one meaning, if the index has any.
    fn group(&self, word: &str, kind: Kind, weight: f64) -> Option<Group> {
        self.forms(&stem(word), word, kind, weight)
    }

    fn forms(&self, stem: &str, word: &str, kind: Kind, weight: f64) -> Option<Group> {
        let texts = self.vocabulary.forms(stem).iter();
        let mut forms: Vec<(&str, WordId)> = texts
            .filter_map(|id| Some((self.vocabulary.word(*id)?.text.as_ref(), *id)))
            .collect();
        // The vocabulary keeps forms as they came, but the order of a sum must not depend on that.
        forms.sort_unstable();
        let as_form = |(text, id)| match kind {
            Kind::Exact if text != word => Form {
                id,
                kind: Kind::Stem,
                weight: STEM,
            },
            _ => Form {
                id,
                kind,
                weight: 1.0,
            },
        };
        let words: Vec<Form> = forms.into_iter().map(as_form).collect();
        (!words.is_empty()).then_some(Group {
            words,
            weight,
            is_own: false,
            rarity: 0.0,
        })
    }

    /// Splits an unknown word into two known ones; of several ways that of the commonest words.
    fn parts<'w>(&self, word: &'w str) -> Option<(&'w str, &'w str)> {
        let splits = word
            .char_indices()
            .filter_map(|(at, _)| word.split_at_checked(at));
        let usable = splits.filter(|(left, right)| {
            [left, right]
                .iter()
                .all(|part| part.chars().count() >= SHORTEST_PART)
        });
        usable
            .filter(|(left, right)| self.is_known(left) && self.is_known(right))
            .max_by_key(|(left, right)| self.spread(left).min(self.spread(right)))
    }

    /// Counts the places where forms of a word occur.
    fn spread(&self, word: &str) -> usize {
        let forms = self.vocabulary.forms(&stem(word)).iter();
        forms
            .filter_map(|id| self.vocabulary.word(*id))
            .map(|word| word.postings.len())
            .sum()
    }

    /// Adds words of the index that begin with the word.
    fn complete(&self, word: &str, trust: f64, term: &mut Term) {
        let given = word.chars().count();
        if given < SHORTEST_PART {
            return;
        }
        let mut seen = BTreeSet::from([stem(word)]);
        let longer = self.vocabulary.starting_with(word);
        for text in longer
            .filter(|text| seen.insert(stem(text)))
            .take(MAX_COMPLETIONS)
        {
            let weight = trust * share(given, text.chars().count());
            term.groups.extend(self.group(text, Kind::Prefix, weight));
        }
    }

    /// Adds the longest word of the index with which the word begins.
    fn shorten(&self, word: &str, term: &mut Term) {
        let given = word.chars().count();
        let ends = word
            .char_indices()
            .skip(SHORTEST_PART + 1)
            .map(|(at, _)| at);
        let beginnings = ends
            .filter_map(|at| word.split_at_checked(at))
            .map(|(head, _)| head);
        if let Some(head) = beginnings
            .filter(|head| self.vocabulary.find(head).is_some())
            .last()
        {
            let weight = PREFIX * share(head.chars().count(), given);
            term.groups.extend(self.group(head, Kind::Prefix, weight));
        }
    }

    /// Adds the nearest words, with their synonyms, to a word that means nothing as it stands.
    fn correct(&self, word: &str, most: usize, term: &mut Term) {
        let in_use = self.vocabulary.near(word, most);
        let known = in_use.chain(synonyms::words().iter().copied());
        let rated = known.filter_map(|other| {
            let slips = typo::slips(word, other, most)?;
            Some((slips, Reverse(self.spread(other)), other))
        });
        let mut near: Vec<_> = rated.collect();
        near.sort_unstable();
        near.dedup();
        let least = near.first().map_or(0, |(slips, ..)| *slips);
        let nearest = near.iter().take_while(|(slips, ..)| *slips == least);
        for (slips, _, other) in nearest.take(MAX_CORRECTIONS) {
            let weight = (0..*slips).fold(1.0, |weight, _| weight * SLIP);
            term.groups.extend(self.group(other, Kind::Typo, weight));
            let synonyms = self.synonyms(other, Kind::Typo, weight * SYNONYM);
            term.groups.extend(synonyms);
        }
    }
}

/// Returns which part of `whole` the `part` is.
fn share(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(part) / number(whole).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which words of the index the last word of a query may mean.
    fn check(query: &str, expect: &[(&str, Kind)]) {
        let mut vocabulary = Vocabulary::default();
        for word in [
            "issue",
            "issues",
            "config",
            "remove",
            "new",
            "pull",
            "request",
            "filesystem",
        ] {
            vocabulary.intern(word);
        }
        let words: Vec<String> = query.split(' ').map(str::to_owned).collect();
        let terms = expand(&vocabulary, &words);
        let forms = terms
            .last()
            .unwrap()
            .groups
            .iter()
            .flat_map(|group| &group.words);
        let text = |form: &Form| vocabulary.word(form.id).unwrap().text.to_string();
        let found: Vec<(String, Kind)> = forms.map(|form| (text(form), form.kind)).collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(word, kind)| ((*word).to_owned(), *kind))
            .collect();
        assert_eq!(found, expect, "{query}");
    }

    #[test]
    fn words_are_expanded() {
        check("issue", &[("issue", Kind::Exact), ("issues", Kind::Stem)]);
        check(
            "ticket",
            &[("issue", Kind::Synonym), ("issues", Kind::Synonym)],
        );
        check("isseu", &[("issue", Kind::Typo), ("issues", Kind::Typo)]);
        check("delette", &[("remove", Kind::Typo)]);
        check("configure", &[("config", Kind::Prefix)]);
        check("fil", &[("filesystem", Kind::Prefix)]);
        check("pullrequest", &[("request", Kind::Compound)]);
        check("file system", &[("filesystem", Kind::Compound)]);
        check("nwe", &[]);
        check("fi", &[]);
        check("know", &[]);
    }

    #[test]
    fn corrections_are_bounded() {
        let unknown = |count: usize| "zzzzzz ".repeat(count) + "isseu";
        check(
            &unknown(MAX_CORRECTED - 1),
            &[("issue", Kind::Typo), ("issues", Kind::Typo)],
        );
        check(&unknown(MAX_CORRECTED), &[]);
    }
}
