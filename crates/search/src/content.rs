//! Reads the words of one tool, field by field, up to the bounds of each. Nothing is looked up.

use std::collections::BTreeMap;

use crate::document::{Document, Field, PerField};
use crate::split;

/// The words of one document with their counts.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) words: BTreeMap<String, PerField<u8>>,
    /// Words by field.
    pub(crate) lengths: PerField<u8>,
    /// Whether words past the bound of a field were left out.
    pub(crate) is_cut: bool,
}

impl Content {
    pub(crate) fn of(upstream: &str, document: &Document<'_>) -> Self {
        let mut content = Self::default();
        content.read(Field::Name, own_words(upstream, document.name));
        content.read(Field::Upstream, split::words(upstream));
        content.read(
            Field::Title,
            document.title.iter().flat_map(|text| split::words(text)),
        );
        let description = document.description.iter();
        content.read(
            Field::Description,
            description.flat_map(|text| split::words(text)),
        );
        let names = document.parameters.iter().map(|(name, _)| *name);
        content.read(Field::Parameter, names.flat_map(split::words));
        let texts = document
            .parameters
            .iter()
            .filter_map(|(_, description)| *description);
        content.read(Field::ParameterDescription, texts.flat_map(split::words));
        content
    }

    fn read(&mut self, field: Field, mut words: impl Iterator<Item = String>) {
        for word in words.by_ref().take(field.max_words()) {
            if let Some(length) = self.lengths.get_mut(field as usize) {
                *length = length.saturating_add(1);
            }
            let counts = self.words.entry(word).or_default();
            if let Some(count) = counts.get_mut(field as usize) {
                *count = count.saturating_add(1);
            }
        }
        self.is_cut |= words.next().is_some();
    }
}

/// Words of a name without those of the upstream at its beginning, which tell its tools apart from
/// others but not from each other: `slack_post_message` of `slack`.
fn own_words(upstream: &str, name: &str) -> impl Iterator<Item = String> {
    let mut own: Vec<String> = split::words(name)
        .take(Field::Name.max_words() + 1)
        .collect();
    let upstream: Vec<String> = split::words(upstream).collect();
    if own.len() > upstream.len() && own.starts_with(&upstream) {
        own.drain(..upstream.len());
    }
    own.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(upstream: &str, name: &str, expect: &[&str]) {
        assert_eq!(
            own_words(upstream, name).collect::<Vec<_>>(),
            expect,
            "{upstream} {name}"
        );
    }

    #[test]
    fn the_upstream_is_no_part_of_the_name() {
        check("slack", "slack_post_message", &["post", "message"]);
        check("google-drive", "googleDriveSearch", &["search"]);
        check("slack", "post_slack_message", &["post", "slack", "message"]);
        check("google-drive", "google_search", &["google", "search"]);
        check("query", "query", &["query"]);
        check("", "query", &["query"]);
    }
}
