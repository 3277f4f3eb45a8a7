//! Patterns over ideas and what undoes them, whatever the language: judges one sentence.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::DetectError;
use crate::hostile::Hit;
use crate::hostile::ideas::Ideas;
use crate::hostile::index::Index;
use crate::hostile::lexicon::Lexicon;
use crate::hostile::rule::{self, Brakes, Rule};
use crate::hostile::token::{Shapes, Token};

/// Patterns, and the ideas that they and their brakes speak of.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(crate) shapes: Shapes,
    brakes: Brakes,
    acts: Vec<Rule>,
    index: Index,
}

impl Grammar {
    /// Reads patterns over the ideas of a lexicon; an idea that it lacks is never seen.
    pub(crate) fn parse(
        file: &'static str,
        source: &str,
        lexicon: &Lexicon,
    ) -> Result<Self, DetectError> {
        let idea = |name: &str| lexicon.idea(name).unwrap_or_default();
        let brakes = Brakes {
            not: idea("not") | idea("half"),
            donot: [
                "donot",
                "untold",
                "untelling",
                "unknown",
                "unasked",
                "unused",
            ]
            .into_iter()
            .fold(Ideas::NONE, |all, name| all | idea(name)),
            without: idea("without"),
            guard: idea("guard"),
            guards: idea("guards"),
            threat: idea("threat"),
            example: idea("example"),
            specimen: idea("specimen"),
            utterance: idea("utterance"),
            passive: idea("passive"),
            before: idea("before"),
            instead: idea("instead"),
            your: idea("your"),
            tell: idea("tell"),
            form: idea("form"),
            whenever: idea("whenever"),
            lists: idea("lists"),
            user: idea("user"),
            roster: idea("roster"),
            picked: idea("picked"),
            order: idea("must") | idea("also") | idea("your"),
        };
        let shapes = Shapes {
            url: idea("<url>"),
            email: idea("<email>"),
            path: idea("<path>"),
            name: idea("<name>"),
            variable: idea("cred"),
        };
        let acts = rule::parse(file, source, lexicon, &brakes)?;
        let index = Index::new(&acts).ok_or_else(|| DetectError::Rule {
            file: file.to_owned(),
            rule: "all".to_owned(),
            reason: "more patterns than can be filed".to_owned(),
        })?;
        Ok(Self {
            shapes,
            brakes,
            acts,
            index,
        })
    }

    /// The ideas that lead to a pattern.
    pub(crate) fn cues(&self) -> Ideas {
        let cues = self.acts.iter().map(|rule| rule.cue);
        cues.fold(self.shapes.path, |all, cue| all | cue)
    }

    /// Adds the acts of one sentence, given as tokens: for each act the heaviest way of doing it.
    pub(crate) fn judge<'a>(
        &'a self,
        tokens: &[Token],
        sentence: &Range<usize>,
        side: usize,
        hits: &mut Vec<Hit<'a>>,
    ) {
        let ideas = tokens.iter().map(|token| token.ideas);
        let all = ideas.fold(Ideas::NONE, |all, ideas| all | ideas);
        let mut best: BTreeMap<&str, Hit<'a>> = BTreeMap::new();
        let candidates = self.index.candidates(all);
        let candidates = candidates.filter_map(|place| self.acts.get(place));
        for rule in candidates.filter(|rule| rule.fits(all)) {
            let weight = rule.weights.get(side).copied().unwrap_or(0);
            let known = best.get(rule.act.as_str());
            if known.is_some_and(|hit| hit.weight >= weight) {
                continue;
            }
            let Some((first, last)) = rule.find(tokens, all, &self.brakes) else {
                continue;
            };
            let start = tokens.get(first).map_or(0, |token| token.span.start);
            let end = tokens.get(last).map_or(start, |token| token.span.end);
            let span = sentence.start + start..sentence.start + end;
            let hit = Hit {
                id: &rule.id,
                weight,
                span,
            };
            best.insert(rule.act.as_str(), hit);
        }
        hits.extend(best.into_values());
    }
}
