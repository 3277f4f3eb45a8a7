//! Data about persons: what they are reached by, paid with, registered under and treated as.
//!
//! Two passes over the bytes. One goes from `@` to `@` and finds addresses of mail; the other goes
//! from digit to digit, since everything else here has one: a candidate's shape is judged first,
//! then its check digit, and the words around it only where shape and check say too little.
//!
//! Names of persons are not here, and neither are towns, professions or beliefs: no rule tells
//! `April Washington` from a month and a place, and a list of names would raise an alarm on every
//! credit in a source file. What stands beside a name (a number, an address) is found.

mod address;
mod bank;
mod birth;
mod card;
mod checksum;
mod context;
mod email;
mod found;
mod keyed;
mod labelled;
mod national;
mod network;
mod numbers;
mod phone;
mod stamp;
#[cfg(test)]
mod tests;
mod view;
mod wallet;

use std::collections::BTreeSet;

use mcpproxy_core::Severity;

use crate::{Detection, Level, Makeup, Scan};
use context::Vocabulary;
use found::Found;
use national::Kinds;
use view::View;

/// The name of the rule for a type.
pub(crate) fn rule_of(kind: &str) -> String {
    format!("pii-{}", kind.replace('_', "-"))
}

/// The type that a rule is named for.
pub(crate) fn kind_of(rule: &str) -> Option<String> {
    Some(rule.strip_prefix("pii-")?.replace('-', "_"))
}

/// The types that states, banks and clinics number, each once: code, name, severity.
pub(crate) fn kinds() -> impl Iterator<Item = (&'static str, &'static str, Severity)> {
    let states = national::all().map(|kind| (kind.code, kind.name, kind.severity));
    let labels = labelled::all().map(|label| (label.kind, label.name, label.severity));
    let own = [("bic", "bank identifier", Severity::Low)];
    let mut seen = BTreeSet::new();
    let all = states.chain(labels).chain(own);
    all.filter(move |(code, ..)| seen.insert(*code))
}

/// The scanner for personal data.
#[derive(Debug)]
pub struct Pii {
    vocabulary: Vocabulary,
    kinds: Kinds,
}

impl Pii {
    /// Builds the tables of words and shapes.
    pub fn new() -> Self {
        Self {
            vocabulary: Vocabulary::new(),
            kinds: Kinds::new(),
        }
    }

    /// Everything in a text.
    fn find(&self, text: &str) -> Vec<Found> {
        let view = View::new(text);
        let mut found = Vec::new();
        email::scan(view, &mut found);
        self.numbers(view, &mut found);
        bank::bics(view, |span| {
            found.push(Found {
                kind: "bic",
                name: "bank identifier",
                severity: Severity::Low,
                confidence: 70,
                level: Level::Warn,
                span,
                why: "named as such",
            });
        });
        found
    }
}

impl Default for Pii {
    fn default() -> Self {
        Self::new()
    }
}

impl Scan for Pii {
    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        let found = self.find(text);
        out.extend(found.into_iter().map(|found| found.into_detection(text)));
    }

    fn may_see(&self, makeup: Makeup) -> bool {
        // Of what has no digit, an address of mail has its sign and a bank identifier capitals.
        let named = makeup.has(Makeup::CAPITAL) && makeup.length() >= bank::SHORTEST_NAMED;
        named || makeup.has(Makeup::DIGIT | Makeup::AT)
    }

    fn heeds(&self, key: &str) -> bool {
        self.vocabulary.of_key(key).any()
    }

    fn scan_keyed(&self, key: &str, value: &str, out: &mut Vec<Detection>) {
        let found = self.find_keyed(key, value);
        out.extend(found.map(|found| found.into_detection(value)));
    }
}
