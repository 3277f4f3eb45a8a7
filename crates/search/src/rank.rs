//! Ranks tools by BM25F: the fields of a tool are weighed into one frequency before it saturates,
//! so that repeating a word, in one field or in all, gains little. What the terms of a query may
//! mean is decided in `expand`.

mod tally;
mod weights;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::expand::{Group, Term, expand};
use crate::found::{Explanation, Found, Hit, Match, Mention};
use crate::index::{Index, Stored};
use crate::query::Query;
use crate::vocabulary::DocumentId;

use tally::Tallies;
use weights::{Weights, saturate};

impl Index {
    /// Returns the tools that fit a query best.
    pub fn search(&self, query: &str, limit: usize) -> Found<'_> {
        self.search_where(query, limit, |_, _| true)
    }

    /// Returns the tools that fit a query best among those that may be shown, which are told by
    /// upstream and name.
    pub fn search_where(
        &self,
        query: &str,
        limit: usize,
        mut may_show: impl FnMut(&str, &str) -> bool,
    ) -> Found<'_> {
        let query = Query::read(query);
        let mut ranking = Ranking::of(self, &query);
        ranking
            .ranked
            .retain(|ranked| may_show(&ranked.stored.upstream, &ranked.stored.name));
        let total = ranking.ranked.len();
        if limit < total {
            ranking.ranked.select_nth_unstable_by(limit, Ranked::order);
            ranking.ranked.truncate(limit);
        }
        ranking.ranked.sort_unstable_by(Ranked::order);
        let hits = ranking
            .ranked
            .iter()
            .map(|ranked| ranking.hit(ranked))
            .collect();
        Found {
            hits,
            total,
            ignored: query.ignored,
        }
    }

    /// Tells why a tool ranks where it does among those that may be shown, which are told by
    /// upstream and name, or nothing if there is no such tool.
    pub fn explain_where(
        &self,
        query: &str,
        upstream: &str,
        name: &str,
        mut may_show: impl FnMut(&str, &str) -> bool,
    ) -> Option<Explanation<'_>> {
        let document = self.locate(upstream, name)?;
        if !may_show(upstream, name) {
            return None;
        }
        let query = Query::read(query);
        let mut ranking = Ranking::of(self, &query);
        ranking
            .ranked
            .retain(|ranked| may_show(&ranked.stored.upstream, &ranked.stored.name));
        let absent = Ranked::absent(document, self.stored(document)?);
        let own = ranking
            .ranked
            .iter()
            .find(|ranked| ranked.document == document);
        let better = |own: &Ranked<'_>| {
            let ranked = ranking.ranked.iter();
            ranked
                .filter(|other| other.order(own) == Ordering::Less)
                .count()
        };
        let hit = ranking.hit(own.unwrap_or(&absent));
        let is_missed = |term: &&Term| !hit.matched.iter().any(|it| it.term == term.text);
        let missed = ranking
            .terms
            .iter()
            .filter(is_missed)
            .map(|term| term.text.clone())
            .collect();
        Some(Explanation {
            rank: own.map(|own| better(own) + 1),
            total: ranking.ranked.len(),
            missed,
            ignored: query.ignored,
            hit,
        })
    }
}

/// A document with its score.
#[derive(Debug, Clone, Copy)]
struct Ranked<'a> {
    document: DocumentId,
    stored: &'a Stored,
    score: f64,
    mention: Option<Mention>,
    /// What the points of its terms are multiplied by to make the score.
    factor: f64,
}

impl<'a> Ranked<'a> {
    fn absent(document: DocumentId, stored: &'a Stored) -> Self {
        Self {
            document,
            stored,
            score: 0.0,
            mention: None,
            factor: 0.0,
        }
    }

    /// Puts the better first, and equals in order of their names.
    fn order(&self, other: &Self) -> Ordering {
        let names = |it: &Self| (it.stored.name.as_ref(), it.stored.upstream.as_ref());
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| names(self).cmp(&names(other)))
    }
}

/// All documents that have anything to do with a query.
#[derive(Debug)]
struct Ranking<'a> {
    index: &'a Index,
    weights: Weights,
    terms: Vec<Term>,
    ranked: Vec<Ranked<'a>>,
}

impl<'a> Ranking<'a> {
    fn of(index: &'a Index, query: &Query) -> Self {
        let mut terms = expand(&index.vocabulary, &query.terms);
        let mut tallies = Tallies::new(index, Weights::of(index));
        for term in &mut terms {
            tallies.count(term);
        }
        let ranked = tallies.rank(&mentions(index, query));
        Self {
            index,
            weights: tallies.into_weights(),
            terms,
            ranked,
        }
    }

    fn hit(&self, ranked: &Ranked<'a>) -> Hit<'a> {
        let terms = self.terms.iter();
        Hit {
            upstream: &ranked.stored.upstream,
            name: &ranked.stored.name,
            score: ranked.score,
            mention: ranked.mention,
            matched: terms
                .filter_map(|term| self.matched(term, ranked))
                .collect(),
        }
    }

    /// Finds the meaning of a term that counted for a document.
    fn matched(&self, term: &Term, ranked: &Ranked<'a>) -> Option<Match<'a>> {
        let best = |left: &(f64, Match<'a>), right: &(f64, Match<'a>)| left.0.total_cmp(&right.0);
        let groups = term.groups.iter();
        // The first of equals counted, and `max_by` returns the last.
        let (points, mut found) = groups
            .rev()
            .filter_map(|group| self.meaning(group, ranked))
            .max_by(best)?;
        found.term.clone_from(&term.text);
        found.points = points * ranked.factor;
        Some(found)
    }

    fn meaning(&self, group: &Group, ranked: &Ranked<'a>) -> Option<(f64, Match<'a>)> {
        let mut frequency = 0.0;
        let mut best: Option<(f64, Match<'a>)> = None;
        for form in &group.words {
            let word = self.index.vocabulary.word(form.id)?;
            let postings = &word.postings;
            let at = postings.binary_search_by_key(&ranked.document, |posting| posting.document);
            let Some(posting) = at.ok().and_then(|at| postings.get(at)) else {
                continue;
            };
            let (all, field) = self.weights.weigh(posting, ranked.stored);
            frequency += form.weight * all;
            if best
                .as_ref()
                .is_none_or(|(most, _)| form.weight * all > *most)
            {
                let (term, kind) = (String::new(), form.kind);
                let found = Match {
                    term,
                    word: &word.text,
                    field,
                    kind,
                    points: 0.0,
                };
                best = Some((form.weight * all, found));
            }
        }
        best.map(|(_, found)| (group.weight * group.rarity * saturate(frequency), found))
    }
}

/// Finds the documents that a query calls by their names.
fn mentions(index: &Index, query: &Query) -> BTreeMap<DocumentId, Mention> {
    let mut mentions = BTreeMap::new();
    for part in &query.parts {
        // Agents put their own prefixes before names, so the longest ending that is one counts.
        let endings = part
            .match_indices('_')
            .filter_map(|(at, _)| part.get(at + 1..));
        let named = std::iter::once(part.as_str())
            .chain(endings.filter(|ending| ending.contains('_')))
            .map(|key| index.names.find(key))
            .find(|named| !named.is_empty());
        mentions.extend(named.into_iter().flatten().map(|id| (*id, Mention::Part)));
    }
    let whole = index.names.find(&query.whole);
    mentions.extend(whole.iter().map(|id| (*id, Mention::Whole)));
    mentions
}

#[cfg(test)]
mod tests;
