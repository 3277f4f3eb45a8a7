//! Counts the terms of a query for every tool at once. Which tools may be shown is not known here.

use std::collections::BTreeMap;

use super::Ranked;
use super::weights::{Weights, rarity, saturate};
use crate::expand::{Group, Term};
use crate::found::Mention;
use crate::index::{Index, Stored};
use crate::vocabulary::DocumentId;

/// Part of the score that a tool loses if it fits only one of many terms.
const COVERAGE: f64 = 0.3;
/// Part of the score that a tool loses if the query says nothing of its name.
const NAME_COVERAGE: f64 = 0.25;

/// What has been counted for one document.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Of the meaning that is being counted.
    frequency: f64,
    is_in_name: bool,
    /// Of the term that is being counted: the best of its meanings.
    best: f64,
    best_covered: f64,
    best_name: f64,
    /// Of all terms so far.
    points: f64,
    covered: f64,
    name: f64,
}

/// What has been counted for all documents.
#[derive(Debug)]
pub(super) struct Tallies<'a> {
    index: &'a Index,
    weights: Weights,
    by_document: Vec<Tally>,
    /// What a document would have that fits every term.
    worth: f64,
}

impl<'a> Tallies<'a> {
    pub(super) fn new(index: &'a Index, weights: Weights) -> Self {
        let by_document = vec![Tally::default(); index.documents.len()];
        Self {
            index,
            weights,
            by_document,
            worth: 0.0,
        }
    }

    pub(super) fn into_weights(self) -> Weights {
        self.weights
    }

    /// Counts a term: for each document the best of its meanings.
    pub(super) fn count(&mut self, term: &mut Term) {
        let mut most_rare = f64::INFINITY;
        let mut worth: f64 = 0.0;
        let mut counted = Vec::new();
        for group in &mut term.groups {
            let touched = self.collect(group);
            let rarity = rarity(touched.len(), self.index.len());
            // A guess is never worth more than the word itself.
            group.rarity = rarity.min(most_rare);
            if group.is_own {
                most_rare = rarity;
            }
            worth = worth.max(group.weight * group.rarity);
            self.settle_group(group, &touched, &mut counted);
        }
        self.worth += worth;
        self.settle_term(&counted);
    }

    /// Adds up the frequencies of one meaning and returns the documents that have it.
    fn collect(&mut self, group: &Group) -> Vec<DocumentId> {
        let mut touched = Vec::new();
        for form in &group.words {
            let Some(word) = self.index.vocabulary.word(form.id) else {
                continue;
            };
            for posting in &word.postings {
                let place = posting.document.place();
                let Some(tally) = self.by_document.get_mut(place) else {
                    continue;
                };
                let Some(stored) = self.index.stored(posting.document) else {
                    continue;
                };
                if tally.frequency <= 0.0 {
                    touched.push(posting.document);
                }
                tally.frequency += form.weight * self.weights.weigh(posting, stored).0;
                tally.is_in_name |= posting.counts.first().is_some_and(|count| *count > 0);
            }
        }
        touched
    }

    fn settle_group(
        &mut self,
        group: &Group,
        touched: &[DocumentId],
        counted: &mut Vec<DocumentId>,
    ) {
        let covered = group.weight * group.rarity;
        for document in touched {
            let Some(tally) = self.by_document.get_mut(document.place()) else {
                continue;
            };
            if tally.best <= 0.0 {
                counted.push(*document);
            }
            tally.best = tally.best.max(covered * saturate(tally.frequency));
            tally.best_covered = tally.best_covered.max(covered);
            if tally.is_in_name {
                tally.best_name = tally.best_name.max(group.weight);
            }
            tally.frequency = 0.0;
            tally.is_in_name = false;
        }
    }

    fn settle_term(&mut self, counted: &[DocumentId]) {
        for document in counted {
            let Some(tally) = self.by_document.get_mut(document.place()) else {
                continue;
            };
            *tally = Tally {
                points: tally.points + tally.best,
                covered: tally.covered + tally.best_covered,
                name: tally.name + tally.best_name,
                ..Tally::default()
            };
        }
    }

    /// Makes scores of what has been counted.
    pub(super) fn rank(&self, mentions: &BTreeMap<DocumentId, Mention>) -> Vec<Ranked<'a>> {
        let documents = (0..)
            .map(DocumentId)
            .zip(self.index.documents.iter().zip(&self.by_document));
        documents
            .filter_map(|(document, (stored, tally))| {
                let mention = mentions.get(&document).copied();
                let is_found = tally.points > 0.0 || mention.is_some();
                is_found.then_some(self.ranked(document, stored.as_ref()?, tally, mention))
            })
            .collect()
    }

    fn ranked(
        &self,
        document: DocumentId,
        stored: &'a Stored,
        tally: &Tally,
        mention: Option<Mention>,
    ) -> Ranked<'a> {
        let worth = self.worth.max(f64::MIN_POSITIVE);
        let coverage = tally.covered / worth;
        let [name_words, ..] = stored.lengths;
        let name_coverage = (tally.name / f64::from(name_words).max(1.0)).min(1.0);
        let factor = (1.0 - COVERAGE * (1.0 - coverage))
            * (1.0 - NAME_COVERAGE * (1.0 - name_coverage))
            / worth;
        let bonus = match mention {
            Some(Mention::Whole) => 2.0,
            Some(Mention::Part) => 1.0,
            None => 0.0,
        };
        Ranked {
            document,
            stored,
            score: tally.points * factor + bonus,
            mention,
            factor,
        }
    }
}
