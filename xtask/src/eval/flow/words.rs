//! Words, templates and names that conversations are made of: two tables that share nothing, so
//! that what is fitted to one is seen on the other.
//!
//! A place `‹name›` in a template is the same throughout one conversation; `‹h32›` is made anew
//! each time, with the classes of `Random::fill`.

mod first;
mod second;

use std::collections::BTreeMap;

use crate::eval::random::Random;

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Set {
    /// The one that rules may be developed against.
    Development,
    /// The one that no author of a rule looks at.
    HeldOut,
}

impl Set {
    /// Both, in the order of the report.
    pub(super) const ALL: [Self; 2] = [Self::Development, Self::HeldOut];

    /// Returns what the report calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::HeldOut => "held out",
        }
    }

    /// Returns its table.
    pub(super) fn words(self) -> &'static Words {
        match self {
            Self::Development => &first::WORDS,
            Self::HeldOut => &second::WORDS,
        }
    }
}

/// Where a text is read: upstream, tool, its arguments as a template.
pub(super) type Source = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Where a text can be sent: upstream, tool, its arguments, one of which is `{}`.
pub(super) type Sink = Source;

/// A labelled value: its label, its form, and lines or records that hold it at `{}`.
pub(super) type Form = (&'static str, &'static str);

/// One table.
#[derive(Debug)]
pub(super) struct Words {
    /// Places that stay the same in a conversation, and what they can be.
    pub(super) places: &'static [(&'static str, &'static [&'static str])],
    /// Sentences of private documents, mails and tickets.
    pub(super) sentences: &'static [&'static str],
    /// Sentences of one's own that say what a private document says; each holds facts.
    pub(super) summaries: &'static [&'static str],
    /// Private functions.
    pub(super) code: &'static [&'static str],
    /// Rows of private tables; the first line is the head.
    pub(super) tables: &'static [(&'static str, &'static str)],
    /// Secrets: the form of the value and the line that holds it.
    pub(super) secrets: &'static [Form],
    /// Short values with a type: the form of the value and the line that holds it.
    pub(super) typed: &'static [Form],
    /// Short values that are whole numbers, as `typed`.
    pub(super) numbers: &'static [Form],
    /// Lines around a value in the file or record that it was read from.
    pub(super) around: &'static [(&'static str, &'static str)],
    /// Where documents, files and records are read.
    pub(super) sources: &'static [Source],
    /// Where text can be sent.
    pub(super) sinks: &'static [Sink],
    /// Calls that fetch an address.
    pub(super) fetches: &'static [Source],
    /// Hosts that are nobody's friend, and on no list.
    pub(super) hosts: &'static [&'static str],
    /// What an agent writes by itself.
    pub(super) own: &'static [&'static str],
    /// What everybody writes around a text.
    pub(super) boilerplate: &'static [(&'static str, &'static str)],
    /// Public pages: an address and a text.
    pub(super) pages: &'static [(&'static str, &'static str)],
    /// Code that everybody writes.
    pub(super) idioms: &'static [&'static str],
    /// Public errors that people search for.
    pub(super) errors: &'static [&'static str],
    /// What a user asks an agent to say.
    pub(super) wishes: &'static [&'static str],
}

/// One conversation's choice of words.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) words: &'static Words,
    pub(super) random: Random,
    fixed: BTreeMap<&'static str, String>,
}

impl Scene {
    /// Chooses the words of the conversation of a name.
    pub(super) fn new(words: &'static Words, name: &str) -> Self {
        let mut scene = Self {
            words,
            random: Random::named(name),
            fixed: BTreeMap::new(),
        };
        for (place, choices) in words.places {
            let template = scene.random.pick(choices);
            let text = scene.fill(template);
            scene.fixed.insert(place, text);
        }
        scene
    }

    /// Fills the places of a template.
    pub(super) fn fill(&mut self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('‹') {
            out.push_str(before);
            let (place, tail) = after.split_once('›').unwrap_or((after, ""));
            match self.fixed.get(place) {
                Some(text) => out.push_str(text),
                None => out.push_str(&self.random.fill(&format!("{{{place}}}"))),
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    /// Chooses a template and fills it.
    pub(super) fn one(&mut self, templates: &[&'static str]) -> String {
        let template = self.random.pick(templates);
        self.fill(template)
    }

    /// Chooses so many different ones and fills them.
    pub(super) fn some(&mut self, templates: &[&'static str], count: usize) -> Vec<String> {
        let mut chosen: Vec<&str> = templates.to_vec();
        self.random.shuffle(&mut chosen);
        chosen.truncate(count);
        chosen.into_iter().map(|one| self.fill(one)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every template of a table.
    fn templates(words: &Words) -> Vec<&'static str> {
        let mut all = Vec::new();
        let lists = [
            words.sentences,
            words.summaries,
            words.code,
            words.own,
            words.idioms,
            words.errors,
            words.wishes,
            words.hosts,
        ];
        all.extend(lists.into_iter().flatten().copied());
        let pairs = [
            words.tables,
            words.secrets,
            words.typed,
            words.numbers,
            words.around,
            words.boilerplate,
            words.pages,
        ];
        all.extend(pairs.into_iter().flatten().flat_map(|(a, b)| [*a, *b]));
        let calls = [words.sources, words.sinks, words.fetches];
        let values = calls
            .into_iter()
            .flatten()
            .flat_map(|(_, _, arguments)| *arguments);
        all.extend(values.map(|(_, template)| *template));
        all
    }

    #[test]
    fn every_place_is_known() {
        for set in Set::ALL {
            let mut scene = Scene::new(set.words(), "places");
            for template in templates(set.words()) {
                let filled = scene.fill(template);
                assert!(!filled.contains(['‹', '›']), "{template}");
                let left = template
                    .split('‹')
                    .skip(1)
                    .filter_map(|part| part.split_once('›'));
                for (place, _) in left {
                    assert!(!filled.contains(&format!("{{{place}}}")), "{template}");
                }
            }
        }
    }

    #[test]
    fn the_tables_share_no_private_text() {
        let [first, second] = Set::ALL.map(|set| {
            let words = set.words();
            let lists = [
                words.sentences,
                words.summaries,
                words.code,
                words.own,
                words.wishes,
            ];
            lists
                .into_iter()
                .flatten()
                .copied()
                .collect::<BTreeSet<&str>>()
        });
        assert!(first.is_disjoint(&second));
    }
}
