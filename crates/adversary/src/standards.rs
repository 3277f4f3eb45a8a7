//! Which ids of standards are covered, by what: the table that ships, and the tags of scenarios.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::error::Error;
use crate::scenario::Library;

const FILE: &str = include_str!("../standards.yaml");

/// Every standard.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Standards {
    /// The standards, in order.
    pub standards: Vec<Standard>,
}

/// One standard.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standard {
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub entries: Vec<Entry>,
}

/// One thing that a standard asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// What it is about, in our words.
    pub title: String,
    /// How far it is covered.
    pub status: Status,
    /// What is missing.
    #[serde(default)]
    pub remark: String,
    /// Tests beside the scenarios that carry the id.
    #[serde(default)]
    pub tests: Vec<String>,
}

/// How far something is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As far as a gateway can.
    Covered,
    /// In part; the remark says what is missing.
    Partly,
    /// Not at all.
    Not,
}

impl Standards {
    /// Reads the table that ships.
    pub fn embedded() -> Result<Self, Error> {
        Ok(mcpproxy_config::read_document(
            Path::new("standards.yaml"),
            FILE,
        )?)
    }
}

/// Returns the scenarios and incidents that carry each id.
pub fn tags(library: &Library) -> BTreeMap<String, BTreeSet<String>> {
    let mut tags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (scenario, case) in library.cases() {
        for id in &scenario.standards {
            tags.entry(id.clone())
                .or_default()
                .insert(scenario.name.clone());
        }
        for id in &case.standards {
            let name = format!("{}/{}", scenario.name, case.id);
            tags.entry(id.clone()).or_default().insert(name);
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_be_covered_has_a_test_and_every_tag_is_known() {
        let standards = Standards::embedded().unwrap();
        let tags = tags(&Library::embedded().unwrap());
        let entries: Vec<&Entry> = standards
            .standards
            .iter()
            .flat_map(|one| &one.entries)
            .collect();
        for entry in &entries {
            let shown = !entry.tests.is_empty() || tags.contains_key(&entry.id);
            assert_eq!(shown, entry.status != Status::Not, "{}", entry.id);
            let says = !entry.remark.is_empty();
            assert_eq!(says, entry.status != Status::Covered, "{}", entry.id);
        }
        for id in tags.keys() {
            assert!(
                entries.iter().any(|entry| entry.id == *id),
                "{id} is unknown"
            );
        }
    }
}
