//! Any folder of labelled cases: one JSON object a line, with `kind`, `label` and a payload.
//!
//! What a label means for a detector is decided here, from the fields of the case alone. Malice
//! that no descriptor shows is not counted, nor is a kind that nobody knows; both are told.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::case::{Case, Detector, Expect, Mark, Set};

/// Kinds whose malice is in the code or in the world, not in what a gateway sees.
const UNSEEN: &[&str] = &[
    "tool_code_mismatch",
    "tool_semantic",
    "code_rugpull",
    "runtime",
];
/// Words of categories whose attack is a matter of characters and codings.
const HIDDEN: &[&str] = &[
    "unicode", "ansi", "hidden", "decoded", "encoded", "zero", "bidi",
];
/// Types of personal data with a form of their own: a check digit, or a shape nothing else has.
const STRUCTURED: &[&str] = &[
    "amex",
    "credit_card",
    "email",
    "email_address",
    "iban",
    "iban_code",
    "ip_address",
    "ipv4",
    "ipv4_public",
    "mac",
    "us_ssn",
    "ssn",
    "uk_nino",
    "us_passport",
    "date_of_birth",
    "au_acn",
    "au_medicare",
    "de_tax_id",
    "es_nie",
    "in_gstin",
    "in_pan",
    "kr_brn",
    "kr_rrn",
    "ng_nin",
    "pl_pesel",
    "sg_fin",
    "za_id_number",
];
/// The members of a case that make its question.
const PAYLOAD: &[&str] = &[
    "kind", "text", "tool", "server", "peers", "before", "after", "args", "frame",
];

/// The cases of a folder, and how many of which kind were left out.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    pub(super) cases: Vec<Case>,
    pub(super) left_out: BTreeMap<String, usize>,
}

/// Reads every `*.jsonl` file of a folder.
pub(super) fn read(folder: &Path) -> Result<Corpus> {
    let fault = || format!("cannot read {}", folder.display());
    let entries = fs::read_dir(folder).with_context(fault)?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let mut corpus = Corpus::default();
    for file in files {
        let text = fs::read_to_string(&file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let case: Map<String, Value> = serde_json::from_str(line)
                .with_context(|| format!("{}:{}", file.display(), index + 1))?;
            corpus.add(case);
        }
    }
    Ok(corpus)
}

impl Corpus {
    fn add(&mut self, mut fields: Map<String, Value>) {
        let marks = marks(&fields);
        if marks.is_empty() {
            let kind = word(&fields, "kind").to_owned();
            *self.left_out.entry(kind).or_default() += 1;
            return;
        }
        let (id, source) = (
            word(&fields, "id").to_owned(),
            word(&fields, "source").to_owned(),
        );
        fields.retain(|name, _| PAYLOAD.contains(&name.as_str()));
        self.cases.push(Case {
            set: Set::Corpus,
            id,
            source,
            question: Value::Object(fields),
            marks,
        });
    }
}

fn word<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What the detectors should make of a case; nothing if it cannot be judged.
fn marks(fields: &Map<String, Value>) -> Vec<Mark> {
    let (kind, label) = (word(fields, "kind"), word(fields, "label"));
    let category = word(fields, "category").to_lowercase();
    let is_clean = label == "benign";
    if UNSEEN.contains(&kind) {
        return Vec::new();
    }
    let hidden = HIDDEN.iter().any(|word| category.contains(word));
    let detectors: &[Detector] = match kind {
        "text" => return data(fields, label),
        "tool" | "instructions" if is_clean && category.contains("hard_negative") => {
            &[Detector::HardNegatives, Detector::Hidden]
        }
        "tool" | "instructions" if is_clean => &[Detector::Poisoning, Detector::Hidden],
        "tool" | "instructions" if hidden => &[Detector::Hidden],
        "tool" | "instructions" => &[Detector::Poisoning],
        "result" if is_clean => &[Detector::Results, Detector::Hidden],
        "result" => &[Detector::Results],
        "tool_pair" => &[Detector::RugPull],
        "args" => &[Detector::Paths],
        "frame" => &[Detector::Frames],
        _ => &[],
    };
    let expect = if is_clean {
        Expect::Clean
    } else {
        Expect::Flagged(None)
    };
    let mark = |&detector: &Detector| Mark {
        detector,
        expect: expect.clone(),
    };
    detectors.iter().map(mark).collect()
}

/// The marks of secrets and personal data.
fn data(fields: &Map<String, Value>, label: &str) -> Vec<Mark> {
    let text = word(fields, "text");
    let known = |name: &str| fields.get(name).and_then(Value::as_str);
    let place = |value: &str| text.find(value).map(|at| at..at + value.len());
    let one = |detector, expect| vec![Mark { detector, expect }];
    match label {
        "secret" => match known("secret") {
            Some(secret) => one(Detector::Secrets, Expect::Flagged(place(secret))),
            None => one(Detector::SecretExamples, Expect::Flagged(None)),
        },
        "pii" if fields.contains_key("spans") => spans(fields, text),
        "pii" => {
            let kind = known("pii_type").unwrap_or_else(|| word(fields, "category"));
            let at = known("value").and_then(place).unwrap_or(0..text.len());
            one(detector_of(kind), Expect::Flagged(Some(at)))
        }
        // The negative example of one rule may well be another's positive one.
        "benign" if fields.contains_key("secret_type") => {
            one(Detector::SecretExamples, Expect::Clean)
        }
        "benign" => one(Detector::OtherPii, Expect::Clean),
        _ => Vec::new(),
    }
}

/// Every labelled place is a case of its own.
fn spans(fields: &Map<String, Value>, text: &str) -> Vec<Mark> {
    let spans = fields.get("spans").and_then(Value::as_array);
    let mark = |span: &Value| {
        let number = |name| usize::try_from(span.get(name)?.as_u64()?).ok();
        let at = in_bytes(text, number("start")?..number("end")?);
        Some(Mark {
            detector: detector_of(span.get("type")?.as_str()?),
            expect: Expect::Flagged(Some(at)),
        })
    };
    spans.into_iter().flatten().filter_map(mark).collect()
}

/// Labels count characters.
fn in_bytes(text: &str, span: Range<usize>) -> Range<usize> {
    let place = |index| {
        text.char_indices()
            .nth(index)
            .map_or(text.len(), |(at, _)| at)
    };
    place(span.start)..place(span.end)
}

fn detector_of(kind: &str) -> Detector {
    let kind = kind.to_lowercase();
    if kind.contains("phone") || kind.contains("mobile") {
        Detector::Phones
    } else if STRUCTURED.contains(&kind.as_str()) {
        Detector::Pii
    } else {
        Detector::OtherPii
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_label_says_which_detector_is_asked() {
        let check = |case: Value, expect: &[(Detector, Expect)]| {
            let marks = marks(case.as_object().unwrap());
            let marks: Vec<_> = marks
                .into_iter()
                .map(|mark| (mark.detector, mark.expect))
                .collect();
            assert_eq!(marks, expect, "{case}");
        };
        let flagged = |place| Expect::Flagged(place);
        check(json!({ "kind": "session", "label": "malicious" }), &[]);
        check(json!({ "kind": "runtime", "label": "malicious" }), &[]);
        check(
            json!({ "kind": "tool", "label": "malicious", "category": "Unicode tags" }),
            &[(Detector::Hidden, flagged(None))],
        );
        check(
            json!({ "kind": "tool", "label": "benign", "category": "x hard_negative" }),
            &[
                (Detector::HardNegatives, Expect::Clean),
                (Detector::Hidden, Expect::Clean),
            ],
        );
        check(
            json!({ "kind": "text", "label": "secret", "text": "k=abc", "secret": "abc" }),
            &[(Detector::Secrets, flagged(Some(2..5)))],
        );
        let spans = json!([{ "type": "PHONE_NUMBER", "start": 1, "end": 3 }]);
        check(
            json!({ "kind": "text", "label": "pii", "text": "é12", "spans": spans }),
            &[(Detector::Phones, flagged(Some(2..4)))],
        );
    }
}
