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
            Self::Json => json(record),
            Self::Ndjson => format!("{}\n", json(record)),
            Self::Csv => csv::row(record, flows),
            Self::Ocsf => format!("{}\n", json(&ocsf::event(record))),
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

/// Prints a value. What would not be seen, or would turn the writing, is escaped: a reader of JSON gets
/// the same, and a person at a terminal sees what is there.
fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(is_hidden) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if is_hidden(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                out.extend(["\\u", &*format!("{unit:04x}")]);
            }
        } else {
            out.push(char);
        }
    }
    out
}

/// Tells whether a reader does not see a character, or it changes what they see of others.
fn is_hidden(char: char) -> bool {
    let formats = matches!(char,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}');
    char.is_control() || formats
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
