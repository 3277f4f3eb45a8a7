//! The forms in which records are carried away.

mod cef;
pub(super) mod csv;
mod ocsf;

use serde_json::Value;

use super::wrong;
use crate::error::Error;

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One JSON document.
    Json,
    /// A JSON object a line.
    Ndjson,
    /// A row a line.
    Csv,
    /// The Open Cybersecurity Schema Framework, a JSON object a line.
    Ocsf,
    /// The Common Event Format, an event a line.
    Cef,
}

impl Form {
    const ALL: [(&'static str, Self); 5] = [
        ("json", Self::Json),
        ("ndjson", Self::Ndjson),
        ("csv", Self::Csv),
        ("ocsf", Self::Ocsf),
        ("cef", Self::Cef),
    ];

    /// Finds the form of a name.
    pub(super) fn named(name: &str, value: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(known, _)| *known == value);
        found.map(|(_, form)| *form).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(known, _)| *known).collect();
            wrong(name, value, &format!("known are {}", known.join(", ")))
        })
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson | Self::Ocsf => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Cef => "text/plain; charset=utf-8",
        }
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Ocsf => "ocsf.ndjson",
            Self::Cef => "cef",
        }
    }

    /// Prints one record.
    pub(super) fn print(self, record: &Value, flows: bool) -> String {
        match self {
            Self::Json => record.to_string(),
            Self::Ndjson => format!("{record}\n"),
            Self::Csv => csv::row(record, flows),
            Self::Ocsf => format!("{}\n", ocsf::event(record)),
            Self::Cef => cef::line(record),
        }
    }
}

/// Leaves out how data was followed: where it was read, and how it was recognized.
pub(super) fn without_flows(record: &mut Value) {
    let findings = record.get_mut("findings").and_then(Value::as_array_mut);
    for finding in findings.into_iter().flatten() {
        if let Some(finding) = finding.as_object_mut() {
            finding.remove("evidence");
        }
    }
}

/// Leaves out what was sent and what came back.
pub(super) fn without_bodies(record: &mut Value) {
    if let Some(record) = record.as_object_mut() {
        for name in ["arguments", "response", "response_truncated"] {
            record.remove(name);
        }
    }
}

/// Returns a text of a record.
fn text<'a>(record: &'a Value, name: &str) -> &'a str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the reasons of what was found, in one line.
fn reasons(record: &Value) -> String {
    let findings = record.get("findings").and_then(Value::as_array);
    let reasons = findings.into_iter().flatten();
    let reasons: Vec<_> = reasons.map(|finding| text(finding, "reason")).collect();
    reasons.join("; ")
}

#[cfg(test)]
mod tests;
