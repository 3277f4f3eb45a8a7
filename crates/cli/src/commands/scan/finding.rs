//! One finding of a scan: what was seen, in what, and where in a file if it was one.

use std::cmp::{Ordering, Reverse};

use mcpproxy_core::{Masked, Severity};
use mcpproxy_detect::tool::Placed;
use mcpproxy_detect::{Detection, Level};
use serde_json::{Value, json};

use super::file::{Region, Source};
use crate::output::flat;

/// One finding.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// What all that was seen in the same thing amounts to.
    pub(super) verdict: Level,
    /// The thing, as `upstream:tool` or `upstream`.
    pub(super) subject: String,
    /// What kind of thing it is, in SARIF's words.
    pub(super) part: &'static str,
    /// The field of the thing.
    pub(super) field: String,
    /// The path in the file, where there is one.
    pub(super) path: String,
    /// The file and the place in it.
    pub(super) file: Option<(String, Option<Region>)>,
    pub(super) rule: String,
    pub(super) kind: String,
    pub(super) category: String,
    pub(super) severity: Severity,
    pub(super) confidence: u8,
    pub(super) reason: Masked,
    pub(super) sample: Masked,
    pub(super) tags: Vec<&'static str>,
}

impl Finding {
    /// Makes a finding of a detection in a field of `subject`.
    pub(super) fn new(subject: &str, part: &'static str, verdict: Level, placed: Placed) -> Self {
        let Placed { path, detection } = placed;
        let Detection {
            rule,
            kind,
            category,
            severity,
            confidence,
            reason,
            sample,
            tags,
            ..
        } = detection;
        let category = serde_json::to_value(category).unwrap_or_default();
        Self {
            verdict,
            subject: subject.to_owned(),
            part,
            path: path.clone(),
            field: path,
            file: None,
            rule: rule.into_owned(),
            kind: kind.into_owned(),
            category: category.as_str().unwrap_or_default().to_owned(),
            severity,
            confidence,
            reason,
            sample,
            tags: tags.to_vec(),
        }
    }

    /// Says where it stands in a file: at its path, or at the part around it that has a place.
    pub(super) fn in_file(mut self, source: &Source) -> Self {
        let region = source.region(&self.path);
        self.file = Some((source.name.clone(), region));
        self
    }

    /// The worst first, then by place.
    pub(super) fn order(one: &Self, other: &Self) -> Ordering {
        let key = |it: &Self| (Reverse(it.verdict), Reverse(it.severity));
        let place = |it: &Self| (it.file.clone(), it.subject.clone(), it.field.clone());
        key(one)
            .cmp(&key(other))
            .then_with(|| place(one).cmp(&place(other)))
    }

    /// Returns it for programs.
    pub(super) fn row(&self) -> Value {
        let region = self.file.as_ref().and_then(|(_, region)| *region);
        json!({
            "verdict": self.verdict,
            "severity": self.severity,
            "subject": self.subject,
            "field_path": self.field,
            "file": self.file.as_ref().map(|(file, _)| file),
            "line": region.map(|region| region.line),
            "column": region.map(|region| region.column),
            "rule": self.rule,
            "type": self.kind,
            "category": self.category,
            "confidence": f64::from(self.confidence) / 100.0,
            "reason": self.reason,
            "sample": self.sample,
            "tags": self.tags,
        })
    }

    /// Returns it for people.
    pub(super) fn line(&self) -> Value {
        let file = self.file.as_ref().map(|(file, region)| match region {
            Some(region) => format!("{file}:{}", region.line),
            None => file.clone(),
        });
        let named = self
            .file
            .as_ref()
            .is_some_and(|(file, _)| *file == self.subject);
        let place = match file {
            Some(file) if named => file,
            Some(file) => format!("{file} {}", self.subject),
            None => self.subject.clone(),
        };
        json!({
            "verdict": self.verdict,
            "severity": self.severity,
            "where": flat(&place),
            "field": flat(&self.field),
            "rule": self.rule,
            "reason": self.reason,
            "sample": self.sample,
        })
    }
}
