//! From detections to labelled values: what the tracker remembers of an answer and looks for in a
//! call, and what policy reads of a call by itself.
//!
//! A value is taken from the message again, since detections carry none.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use mcpproxy_core::{Call, Facts, Finding, Label, Masked, Nature, Sensitive, Severity};
use mcpproxy_detect::{Category, Detection, Detector, Found, Level, Report};
use mcpproxy_flow::Marked;
use mcpproxy_text::{decode, unescape, visit};

use crate::own::Credential;

/// The word for what a program logs in with at a database.
pub(crate) const DATABASE: &str = "database_credential";
/// Confidence from which a value is taken for real: a checksum or a structure was seen.
const VALIDATED: u8 = 90;
/// Confidence below which a value is no evidence: it only looks random, or like a number.
const GUESSED: u8 = 50;
/// Lengths of a word that can be a secret in a file that holds them.
const VALUE: usize = 12;
const LONG: usize = 512;
/// Values of one message that are followed; the rest is seen as text.
const MOST: usize = 1024;

/// Returns the labelled values of a message, in plain; those that weigh most come first, so that
/// many of the others cannot push them out.
pub(crate) fn marked<'a>(detector: &Detector, raw: &'a str, report: &'a Report) -> Vec<Marked<'a>> {
    let mut marks = Vec::new();
    let mut values = Values::of(raw);
    for found in &report.detections {
        let Some(label) = label(&found.detection) else {
            continue;
        };
        let Some(value) = values.next(found) else {
            continue;
        };
        if !found.detection.via.is_empty() {
            inner(detector, &value, &found.path, &mut marks);
        }
        marks.push(Marked {
            value,
            label,
            place: Cow::Borrowed(found.path.as_str()),
        });
    }
    marks.sort_by_key(|mark| Reverse(gravity(&mark.label)));
    marks.truncate(MOST);
    marks
}

/// How much a value weighs beside others of its message.
fn gravity(label: &Label) -> (Nature, Severity, bool) {
    (label.nature, label.severity, label.validated)
}

/// Adds what looks like a value in a file that is kept for its secrets: there, what no rule knows is
/// one too.
pub(crate) fn credential(raw: &str, file: &Credential, marks: &mut Vec<Marked<'_>>) {
    let label = Label {
        kind: Arc::clone(&file.kind),
        word: "sensitive_file",
        severity: file.severity,
        validated: false,
        nature: Nature::Secret,
    };
    let mut known: BTreeSet<String> = marks.iter().map(|mark| mark.value.to_string()).collect();
    let between = |char: char| char.is_whitespace() || "\"'=:,;<>()".contains(char);
    // Every leaf is looked at; what is found is bounded.
    visit(raw, |leaf| {
        let values = leaf.text.split(between).filter(|word| is_value(word));
        for word in values {
            if marks.len() < MOST && known.insert(word.to_owned()) {
                marks.push(Marked {
                    value: Cow::Owned(word.to_owned()),
                    label: label.clone(),
                    place: Cow::Borrowed(""),
                });
            }
        }
        ControlFlow::Continue(())
    });
}

/// Tells whether a word can be a secret by its looks: long enough, with letters and digits.
fn is_value(word: &str) -> bool {
    let has = |kind: fn(&char) -> bool| word.chars().any(|char| kind(&char));
    (VALUE..=LONG).contains(&word.len())
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !word.contains('/')
}

/// Adds the values that stand encoded in a text.
fn inner<'a>(detector: &Detector, text: &str, place: &'a str, marks: &mut Vec<Marked<'a>>) {
    for view in decode::views(text, &mut decode::Budget::default()).views {
        for found in detector.text(&view.text).detections {
            let plain = found.detection.via.is_empty();
            let value = view.text.get(found.detection.span.clone());
            let label = label(&found.detection).filter(|_| plain);
            if let (Some(value), Some(label)) = (value, label) {
                marks.push(Marked {
                    value: Cow::Owned(value.to_owned()),
                    label,
                    place: Cow::Borrowed(place),
                });
            }
        }
    }
}

/// Tells whether a text holds a secret.
pub(crate) fn has_secret(detector: &Detector, text: &str) -> bool {
    tells_secret(&detector.text(text))
}

/// Tells whether what was found in a text is a secret.
pub(crate) fn tells_secret(report: &Report) -> bool {
    let labels = report.detections.iter();
    let mut labels = labels.filter_map(|found| label(&found.detection));
    labels.any(|label| label.nature == Nature::Secret)
}

/// Places of a message in which an agent names what it uses.
const NAMES: [&str; 4] = [
    "params.uri",
    "params.name",
    "params.ref.uri",
    "params.ref.name",
];

/// Tells whether what a call uses is named by something sensitive: a secret by its looks, or something
/// that was read before.
pub(crate) fn is_unnamed(detector: &Detector, call: &Call, facts: &Facts) -> bool {
    let known = facts
        .flow
        .matches
        .iter()
        .any(|one| one.label.is_some() && NAMES.contains(&&*one.place));
    let name = call.tool.tool.as_str();
    // Nearly all calls are of tools, and hardly any name of one could be a secret.
    let is_tool = call.kind.method() == "tools/call";
    known || ((!is_tool || may_be_secret(name)) && has_secret(detector, name))
}

/// Tells whether a name could hold a secret at all: keys have digits, and addresses colons.
fn may_be_secret(name: &str) -> bool {
    let telling = |byte: u8| byte.is_ascii_digit() || byte == b':' || !byte.is_ascii();
    name.len() >= VALUE && name.bytes().any(telling)
}

/// Takes the words out of a finding that name a secret: agents choose the keys of their objects.
pub(crate) fn quiet(detector: &Detector, finding: &mut Finding) {
    if has_secret(detector, finding.reason.as_str()) {
        finding.reason = Masked::from_safe(format!("The rule `{}` is broken.", finding.rule));
    }
}

/// Returns what is sensitive in a message, safe to show, in document order. Where there is too much of
/// it those that weigh most are kept, so that many of the others cannot push them out.
pub(crate) fn sensitive(report: &Report) -> Vec<Sensitive> {
    let seen = report.detections.iter().filter_map(|found| {
        Some(Sensitive {
            label: label(&found.detection)?,
            confidence: found.detection.confidence,
            place: found.path.as_str().into(),
            sample: found.detection.sample.clone(),
        })
    });
    let mut seen: Vec<_> = seen.enumerate().collect();
    if seen.len() > MOST {
        seen.sort_by_key(|(_, one)| Reverse(gravity(&one.label)));
        seen.truncate(MOST);
        seen.sort_by_key(|(at, _)| *at);
    }
    seen.into_iter().map(|(_, one)| one).collect()
}

/// Takes what was detected out of a message, as it stands there but for its escapes.
///
/// One leaf may hold thousands of detections, which come in document order: its escapes are undone
/// once for all of them, or the work would grow with the square of what an upstream answers.
pub(crate) struct Values<'a> {
    raw: &'a str,
    /// The leaf of the last detection.
    leaf: Range<usize>,
    /// INVARIANT: what `leaf` spans, escapes undone.
    text: Cow<'a, str>,
}

impl<'a> Values<'a> {
    /// Begins with no leaf of a message.
    pub(crate) fn of(raw: &'a str) -> Self {
        Self {
            raw,
            leaf: 0..0,
            text: Cow::Borrowed(""),
        }
    }

    /// Returns what was detected.
    pub(crate) fn next(&mut self, found: &Found) -> Option<Cow<'a, str>> {
        if self.leaf != found.leaf {
            self.leaf = found.leaf.clone();
            self.text = plain(self.raw.get(found.leaf.clone()).unwrap_or_default());
        }
        let span = found.detection.span.clone();
        match &self.text {
            Cow::Borrowed(text) => text.get(span).map(Cow::Borrowed),
            Cow::Owned(text) => text.get(span).map(|part| Cow::Owned(part.to_owned())),
        }
    }
}

/// Returns a leaf without its quotes and escapes.
fn plain(leaf: &str) -> Cow<'_, str> {
    let inner = leaf
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.map_or(Cow::Borrowed(leaf), unescape)
}

/// Returns the label of a value, if it is one that should not leave.
fn label(detection: &Detection) -> Option<Label> {
    if detection.confidence < GUESSED {
        return None;
    }
    let (word, nature) = match detection.category {
        Category::CloudCredentials | Category::ApiToken => ("api_token", Nature::Secret),
        Category::PrivateKey => ("private_key", Nature::Secret),
        Category::AuthToken => ("auth_token", Nature::Secret),
        Category::DatabaseCredential => (DATABASE, Nature::Secret),
        Category::HighEntropy => ("high_entropy", Nature::Secret),
        Category::CreditCard => ("credit_card", Nature::Personal),
        // The address of a machine, an author's credit: nobody is bothered with it.
        Category::Pii if detection.level == Level::Note => return None,
        Category::Pii => ("pii", personal(detection.severity)),
        Category::Custom => ("custom", Nature::Secret),
        Category::SensitiveFile
        | Category::HiddenText
        | Category::HostileText
        | Category::Opaque => return None,
    };
    Some(Label {
        kind: Arc::from(&*detection.kind),
        word,
        severity: detection.severity,
        validated: detection.confidence >= VALIDATED,
        nature,
    })
}

/// A mail address or a telephone number alone says little: it is also how one reaches somebody.
fn personal(severity: Severity) -> Nature {
    match severity {
        Severity::Critical | Severity::High => Nature::Personal,
        Severity::Medium | Severity::Low | Severity::Info => Nature::Typed,
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_detect::{Context, Settings};

    use super::*;

    fn check(raw: &str, expect: &[(&str, &str)]) {
        let detector = Detector::new(&Settings::default()).unwrap();
        let report = detector.json(raw, Context::default());
        let marks = marked(&detector, raw, &report);
        let found: Vec<_> = marks
            .iter()
            .map(|mark| (mark.label.word, &*mark.value))
            .collect();
        assert_eq!(found, expect, "{raw}");
    }

    #[test]
    fn values_are_taken_in_plain() {
        let key = "AKIAQ3EGRTLZ7VHWN2KM";
        check(
            &format!(r#"{{"note":"the key\n is {key}, keep it"}}"#),
            &[("api_token", key)],
        );
        check(r#"{"note":"nothing to see"}"#, &[]);
        // A file that came encoded is no secret for the one that stands in it.
        let coded = "IyBob3cgdG8gYnVpbGQKbnBtIGluc3RhbGwgd2lkZ2V0LXBhcnNlcgpBV1NfS0VZPUFLSUFRM0VHUlRMWjdWSFdOMktNCg==";
        check(
            &format!(r#"{{"content":"{coded}"}}"#),
            &[("api_token", key), ("api_token", coded)],
        );
    }

    #[test]
    fn many_addresses_do_not_push_a_secret_out() {
        let detector = Detector::new(&Settings::default()).unwrap();
        let people: String = (0..1200)
            .map(|number| ["person", &number.to_string(), "@corvane-freight.com "].concat())
            .collect();
        let raw = format!(r#"{{"text":"{people}and AKIAQ3EGRTLZ7VHWN2KM"}}"#);
        let report = detector.json(&raw, Context::default());
        assert!(report.detections.len() > MOST);
        let marks = marked(&detector, &raw, &report);
        assert_eq!(marks.len(), MOST);
        assert_eq!(marks[0].label.nature, Nature::Secret);
        let seen = sensitive(&report);
        assert_eq!(seen.len(), MOST);
        let places = seen.iter().map(|one| one.label.nature);
        let secrets: Vec<_> = places.filter(|one| *one == Nature::Secret).collect();
        assert_eq!(secrets.len(), 1, "what policy reads of the call");
    }

    #[test]
    fn the_escapes_of_a_leaf_are_undone_once_for_all_its_values() {
        let detector = Detector::new(&Settings::default()).unwrap();
        let people: Vec<String> = (0..40)
            .map(|number| format!("person{number}@corvane-freight.com"))
            .collect();
        let raw = format!(
            r#"{{"to":"{}","text":"{}"}}"#,
            people[..20].join(r"\n"),
            people[20..].join(r"\n")
        );
        let report = detector.json(&raw, Context::default());
        let mut values = Values::of(&raw);
        let (mut found, mut undone, mut last) = (Vec::new(), 0, std::ptr::null());
        for one in &report.detections {
            found.extend(values.next(one));
            undone += usize::from(values.text.as_ptr() != last);
            last = values.text.as_ptr();
        }
        assert_eq!(found, people);
        assert_eq!(undone, 2, "one for each leaf");
    }
}
