//! Plain BM25 over names and descriptions, to compare with.

use std::collections::BTreeMap;

use super::measure::number;
use crate::{DEPTH, Tool};

/// Documents as bags of words.
#[derive(Debug)]
pub(crate) struct Baseline {
    documents: Vec<(String, Vec<String>)>,
    having: BTreeMap<String, usize>,
    average: f64,
}

const SATURATION: f64 = 1.2;
const LENGTH_PENALTY: f64 = 0.75;

impl Baseline {
    pub(crate) fn of(tools: &[Tool]) -> Self {
        let text = |tool: &Tool| format!("{} {}", tool.name, tool.description);
        let documents: Vec<_> = tools
            .iter()
            .map(|tool| (tool.id(), words(&text(tool))))
            .collect();
        let mut having = BTreeMap::new();
        for (_, words) in &documents {
            let mut words = words.clone();
            words.sort();
            words.dedup();
            for word in words {
                *having.entry(word).or_default() += 1;
            }
        }
        let all: usize = documents.iter().map(|(_, words)| words.len()).sum();
        let average = number(all) / number(documents.len());
        Self {
            documents,
            having,
            average,
        }
    }

    pub(crate) fn search(&self, query: &str) -> Vec<String> {
        let terms = words(query);
        let scored = self
            .documents
            .iter()
            .map(|(id, words)| (self.score(&terms, words), id));
        let mut scored: Vec<(f64, &String)> = scored.filter(|(score, _)| *score > 0.0).collect();
        scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
        scored
            .into_iter()
            .take(DEPTH)
            .map(|(_, id)| id.clone())
            .collect()
    }

    fn score(&self, terms: &[String], words: &[String]) -> f64 {
        let share = number(words.len()) / self.average;
        let norm = SATURATION * (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * share);
        let points = terms.iter().map(|term| {
            let count = number(words.iter().filter(|word| *word == term).count());
            let having = number(self.having.get(term).copied().unwrap_or_default());
            let all = number(self.documents.len());
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            rarity * count * (SATURATION + 1.0) / (count + norm)
        });
        points.sum()
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
