//! Private data of every kind, and the calls that read it.

use serde_json::{Value, json};

use super::session::Call;
use super::words::{Scene, Set};
use crate::eval::generate::pii;

/// What kind of data it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Secret,
    Personal,
    Typed,
    Prose,
    Code,
    Rows,
}

impl Kind {
    /// All, in the order of the report.
    pub(super) const ALL: [Self; 6] = [
        Self::Secret,
        Self::Personal,
        Self::Typed,
        Self::Prose,
        Self::Code,
        Self::Rows,
    ];

    /// Returns what the report calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Personal => "personal",
            Self::Typed => "typed",
            Self::Prose => "prose",
            Self::Code => "code",
            Self::Rows => "rows",
        }
    }

    fn is_value(self) -> bool {
        matches!(self, Self::Secret | Self::Personal | Self::Typed)
    }
}

/// What a transformation needs of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Anything.
    Any,
    /// At most 48 characters.
    Short,
    /// A whole number.
    Number,
    /// A document full of names and figures.
    Facts,
}

/// Private data.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) kind: Kind,
    /// What is to leave.
    pub(super) value: String,
    /// The line that it stands in.
    pub(super) line: String,
    /// The same facts in words of one's own.
    pub(super) summary: String,
    /// The call that read it.
    pub(super) read: Call,
}

const PERSONAL: [&[&str]; 2] = [
    &["card", "ssn", "iban_de", "us_international", "card_spaced"],
    &["amex", "iban_fr", "nino", "pesel", "german", "cpf", "dni"],
];

/// Makes private data of a kind.
pub(super) fn draw(scene: &mut Scene, set: Set, kind: Kind, need: Need) -> Private {
    let (value, line, document) = match kind {
        Kind::Secret | Kind::Personal | Kind::Typed => labelled(scene, set, kind, need),
        Kind::Prose => prose(scene, need),
        Kind::Code => code(scene),
        Kind::Rows => rows(scene),
    };
    let summaries = scene.words.summaries;
    let summary = scene.one(summaries);
    let read = read(scene, kind, &value, &line, &document);
    Private {
        kind,
        value,
        line,
        summary,
        read,
    }
}

/// A value in its line, in a file or record.
fn labelled(scene: &mut Scene, set: Set, kind: Kind, need: Need) -> (String, String, String) {
    let words = scene.words;
    let (mut value, mut line) = (String::new(), String::new());
    for _ in 0..50 {
        let forms = match kind {
            Kind::Secret => words.secrets,
            _ if need == Need::Number => words.numbers,
            _ => words.typed,
        };
        let (form, around) = scene.random.pick(forms);
        (value, line) = match kind {
            Kind::Personal => personal(scene, set),
            _ => (scene.fill(form), around.to_owned()),
        };
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        if (need != Need::Short || value.len() <= 48) && (need != Need::Number || digits) {
            break;
        }
    }
    let line = line.replace("{}", &value);
    let (before, after) = scene.random.pick(words.around);
    let document = format!("{}{line}{}", scene.fill(before), scene.fill(after));
    (value, line, document)
}

fn personal(scene: &mut Scene, set: Set) -> (String, String) {
    let [first, second] = PERSONAL;
    let names = if set == Set::Development {
        first
    } else {
        second
    };
    let name = scene.random.pick(names);
    let (label, value) = pii::draw(&mut scene.random, name).unwrap_or_default();
    (value, format!("{label}: {{}}"))
}

fn prose(scene: &mut Scene, need: Need) -> (String, String, String) {
    let words = scene.words;
    let count = match need {
        Need::Facts => words.sentences.len(),
        _ => 4 + scene.random.below(4),
    };
    let sentences = scene.some(words.sentences, count);
    let value = sentences
        .iter()
        .skip(1)
        .take(2)
        .cloned()
        .collect::<Vec<_>>()
        .join(" ");
    let line = sentences.get(1).cloned().unwrap_or_default();
    let head = scene.fill("‹project›, notes for ‹first2›\n\n");
    (value, line, head + &sentences.join(" "))
}

fn code(scene: &mut Scene) -> (String, String, String) {
    let words = scene.words;
    let functions = scene.some(words.code, 2);
    let idiom = scene.one(words.idioms);
    let value = functions.first().cloned().unwrap_or_default();
    let line = longest_line(&value);
    (value, line, format!("{idiom}\n{}", functions.join("\n")))
}

fn rows(scene: &mut Scene) -> (String, String, String) {
    let (head, body) = scene.random.pick(scene.words.tables);
    let value = scene.fill(body);
    let line = longest_line(&value);
    let document = format!("{head}\n{value}\n");
    (value, line, document)
}

fn longest_line(text: &str) -> String {
    text.lines()
        .max_by_key(|line| line.len())
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The call with one of the forms in which results come.
fn read(scene: &mut Scene, kind: Kind, value: &str, line: &str, document: &str) -> Call {
    let (server, tool, template) = scene.random.pick(scene.words.sources);
    let args = arguments(scene, template, "");
    let result = result(scene, kind, value, line, document);
    Call::new(server, tool, args, result)
}

fn result(scene: &mut Scene, kind: Kind, value: &str, line: &str, document: &str) -> Value {
    let block = |text: &str| json!({ "type": "text", "text": text });
    match scene.random.below(8) {
        0 => json!({ "content": [block(document)] }),
        1 if !kind.is_value() => {
            // The text that is to leave lies across the joint of two blocks.
            let middle = document.find(value).unwrap_or(0) + value.len() / 2;
            let (head, tail) = document.split_at(document.floor_char_boundary(middle));
            json!({ "content": [block(head), block(tail)] })
        }
        1 => {
            let label = line.split(value).next().unwrap_or_default();
            let label = label.trim_matches(|char: char| !char.is_alphanumeric());
            let id = scene.fill("‹d6›");
            let record = if label.contains("//") {
                json!({ "id": id, "line": line, "state": "open" })
            } else {
                json!({ "id": id, "state": "open", label: value })
            };
            json!({ "content": [block(&record.to_string())], "structuredContent": record })
        }
        2 => json!(json!({ "body": document, "id": 7, "updated": "2026-02-03" }).to_string()),
        3 => json!(large(scene, document)),
        4 => json!({ "content": [{
            "type": "resource",
            "resource": { "uri": "file:///srv/notes", "mimeType": "text/plain", "text": document },
        }] }),
        _ => json!(document),
    }
}

/// More than 64 KiB, with the document somewhere in it.
fn large(scene: &mut Scene, document: &str) -> String {
    let mut filler = |bytes: usize| {
        let mut out = String::new();
        while out.len() < bytes {
            out.push_str(
                &scene
                    .random
                    .fill("{d6};{a9};shelf {A3};{d3} pieces;checked {d2}\n"),
            );
        }
        out
    };
    let (before, after) = (filler(40_000), filler(30_000));
    format!("{before}{document}\n{after}")
}

/// The arguments of a call from their template.
pub(super) fn arguments(scene: &mut Scene, template: &[(&str, &str)], text: &str) -> Value {
    let field = |(name, value): &(&str, &str)| {
        let value = match *value {
            "{}" => text.to_owned(),
            value => scene.fill(value),
        };
        ((*name).to_owned(), Value::String(value))
    };
    Value::Object(template.iter().map(field).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_leave_was_read() {
        for set in Set::ALL {
            for kind in Kind::ALL {
                for number in 0..60 {
                    let mut scene = Scene::new(set.words(), &format!("{}{number}", kind.name()));
                    let private = draw(&mut scene, set, kind, Need::Any);
                    let read = text(&private.read.result);
                    let fold = |text: &str| text.replace(|c: char| !c.is_alphanumeric(), "");
                    assert!(fold(&read).contains(&fold(&private.value)), "{read}");
                    assert!(private.value.len() > 5, "{}", private.value);
                }
            }
        }
    }

    #[test]
    fn a_summary_carries_facts_that_were_read() {
        for set in Set::ALL {
            for number in 0..40 {
                let mut scene = Scene::new(set.words(), &number.to_string());
                let private = draw(&mut scene, set, Kind::Prose, Need::Facts);
                let read = text(&private.read.result);
                let words = private.summary.split(|char: char| !char.is_alphanumeric());
                let shared = words.filter(|word| word.len() > 4 && read.contains(*word));
                assert!(shared.count() >= 3, "{}", private.summary);
            }
        }
    }

    #[test]
    fn a_short_value_is_short_and_a_number_a_number() {
        for number in 0..40 {
            let mut scene = Scene::new(Set::HeldOut.words(), &number.to_string());
            let short = draw(&mut scene, Set::HeldOut, Kind::Secret, Need::Short);
            assert!(short.value.len() <= 48);
            let typed = draw(&mut scene, Set::HeldOut, Kind::Typed, Need::Number);
            assert!(typed.value.parse::<u64>().is_ok(), "{}", typed.value);
        }
    }

    /// All text of a result in order.
    fn text(value: &Value) -> String {
        match value {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner @ Value::Object(_)) => self::text(&inner),
                _ => text.clone(),
            },
            Value::Array(items) => items.iter().map(text).collect(),
            Value::Object(fields) => {
                let skip = |name: &str| matches!(name, "type" | "uri" | "mimeType");
                fields
                    .iter()
                    .filter(|(name, _)| !skip(name))
                    .map(|(_, one)| text(one))
                    .collect()
            }
            _ => String::new(),
        }
    }
}
