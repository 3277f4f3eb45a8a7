//! A whole tool descriptor: every text in it, its parameters, its neighbours, and what changed.
//!
//! Findings carry the path of the field. Whether a tool may be used is for policy to say.

pub(crate) mod fields;
mod pair;
mod params;
mod peers;
mod purpose;
mod reach;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_core::{Masked, Severity};
use serde::Serialize;
use serde_json::Value;

use crate::audience::Audience;
use crate::detection::{Category, Detection, Level};
use crate::detector::{Context, Detector, Direction};
use crate::error::DetectError;
use crate::hostile::{About, Hostile};
use crate::report::Unread;
use crate::sanitize::sanitize;
use crate::settings::Settings;
use crate::verdict::verdict;
pub use peers::Peer;

/// The weight from which an order that was encoded is stopped.
const ENCODED: u8 = 40;

/// A detection and the field it was made in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The field, as `inputSchema.properties.path.description`; empty for a bare text.
    #[serde(rename = "field_path", skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What was seen there; its span is within the field's text.
    #[serde(flatten)]
    pub detection: Detection,
}

/// What a descriptor, a message or a change amounts to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Appraisal {
    /// The level of everything together; `Note` is clean.
    pub level: Level,
    /// What was seen, in the order of the fields.
    pub findings: Vec<Placed>,
    /// What was not read, so that no one takes silence for a clean bill.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// The detector for whole things of the protocol: descriptors, changes of descriptors, results,
/// instructions, messages.
#[derive(Debug)]
pub struct Inspector {
    detector: Arc<Detector>,
}

impl Inspector {
    /// Puts the scanners together.
    pub fn new(settings: &Settings) -> Result<Self, DetectError> {
        // Every text for an inspector is one that a model reads, so a fault in the rules shows here.
        Hostile::new(Audience::Descriptor)?;
        Ok(Self::over(Arc::new(Detector::new(settings)?)))
    }

    /// Takes a detector that others use too.
    pub fn over(detector: Arc<Detector>) -> Self {
        Self { detector }
    }

    /// Returns the detector for texts that no model reads.
    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Scans a descriptor as `tools/list` gives it.
    pub fn tool(&self, tool: &Value) -> Appraisal {
        self.tool_among(tool, &[])
    }

    /// Scans a descriptor beside the tools of other upstreams.
    pub fn tool_among(&self, tool: &Value, peers: &[Peer<'_>]) -> Appraisal {
        let mut sheet = Sheet::new(purpose::of(tool, &self.detector));
        for field in fields::of(tool) {
            self.text(Audience::Descriptor, &field.path, &field.text, &mut sheet);
        }
        params::judge(tool, &mut sheet);
        peers::judge(tool, peers, &mut sheet);
        sheet.report()
    }

    /// Judges a descriptor beside the tools of other upstreams, and nothing else about it.
    pub fn beside(&self, tool: &Value, peers: &[Peer<'_>]) -> Appraisal {
        let mut sheet = Sheet::default();
        peers::judge(tool, peers, &mut sheet);
        sheet.report()
    }

    /// Judges how a descriptor changed: the added text, the schema and the annotations. Every
    /// change is at least noted.
    pub fn tool_pair(&self, before: &Value, after: &Value) -> Appraisal {
        pair::judge(self, before, after)
    }

    /// Scans one text of an audience.
    pub fn text_for(&self, audience: Audience, path: &str, text: &str) -> Appraisal {
        let mut sheet = Sheet::default();
        self.text(audience, path, text, &mut sheet);
        sheet.report()
    }

    /// Adds what one text holds: as it stands, as what is encoded in it, and without the escapes
    /// that tear its words apart.
    pub(crate) fn text(&self, audience: Audience, path: &str, text: &str, sheet: &mut Sheet) {
        let context = Context {
            audience: Some(audience),
            about: sheet.about.at(path, text),
            ..Context::default()
        };
        let report = self.detector.text_in(text, context);
        sheet.miss(path, report.coverage.unread);
        let mut found: Vec<_> = report
            .detections
            .into_iter()
            .map(|one| one.detection)
            .collect();
        for detection in &mut found {
            place(audience, detection);
        }
        if text.contains('\u{1b}') {
            let clean = self.detector.text_in(&sanitize(text).text, context);
            found.extend(clean.detections.into_iter().map(|one| Detection {
                span: 0..text.len(),
                via: vec![Cow::Borrowed("escapes")],
                ..one.detection
            }));
        }
        sheet.add(path, text.len(), found);
    }

    /// Scans the arguments of a call.
    pub fn arguments(&self, arguments: &Value) -> Appraisal {
        let context = Context {
            audience: Some(Audience::Arguments),
            direction: Direction::Request,
            ..Context::default()
        };
        let report = self.detector.json(&arguments.to_string(), context);
        let mut sheet = Sheet::default();
        sheet.miss("", report.coverage.unread);
        for found in report.detections {
            let length = found.leaf.len();
            sheet.add(&found.path, length, vec![found.detection]);
        }
        sheet.report()
    }
}

/// Weighs a detection by its place.
///
/// A text may name a file that holds credentials; what it wants done with it is weighed with its
/// orders. Nobody encodes an order in a descriptor for an honest reason.
fn place(audience: Audience, detection: &mut Detection) {
    let decoded = !detection.via.is_empty() && detection.category == Category::HostileText;
    if detection.category == Category::SensitiveFile && audience != Audience::Arguments {
        detection.level = Level::Note;
    } else if decoded && audience.is_authored() {
        let strong = detection.confidence >= ENCODED;
        let level = if strong { Level::Block } else { Level::Warn };
        detection.level = detection.level.max(level);
    }
}

/// What was seen so far, field after field.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    findings: Vec<Placed>,
    /// The same detections as if the fields were one text, so that acts in neighbouring fields
    /// count as near.
    joined: Vec<Detection>,
    length: usize,
    unread: Vec<Unread>,
    /// What the tool is about, of which its texts may speak.
    about: About,
}

impl Sheet {
    /// Parts that were not read and are told apart; more than these say nothing new.
    const UNREAD: usize = 32;

    pub(crate) fn new(about: About) -> Self {
        Self {
            about,
            ..Self::default()
        }
    }

    /// Adds the detections of a field that is `length` bytes long.
    pub(crate) fn add(&mut self, path: &str, length: usize, found: Vec<Detection>) {
        for mut detection in found {
            // Whose data it is says nothing about what a text wants: it is told, not warned of.
            if matches!(detection.category, Category::Pii | Category::CreditCard) {
                detection.level = Level::Note;
            }
            let span = self.length + detection.span.start..self.length + detection.span.end;
            self.joined.push(Detection {
                span,
                ..detection.clone()
            });
            let path = path.to_owned();
            self.findings.push(Placed { path, detection });
        }
        self.length += length;
    }

    /// Notes what was not read of a field.
    pub(crate) fn miss(&mut self, field: &str, unread: Vec<Unread>) {
        let room = Self::UNREAD.saturating_sub(self.unread.len());
        self.unread
            .extend(unread.into_iter().take(room).map(|part| {
                let path = if part.path.is_empty() {
                    field.to_owned()
                } else {
                    part.path
                };
                Unread { path, ..part }
            }));
    }

    pub(crate) fn report(self) -> Appraisal {
        Appraisal {
            level: verdict(&self.joined),
            findings: self.findings,
            unread: self.unread,
        }
    }
}

/// The rules about a descriptor's shape, for the list of rules: id, severity at worst, and why.
/// Not `shadow`, which is listed among the acts.
pub(crate) const RULES: &[(&str, Severity, &str)] = &[
    (
        "parameter",
        Severity::High,
        "a parameter takes what is not part of the task",
    ),
    ("changed", Severity::Low, "the descriptor changed"),
    (
        "new_reach",
        Severity::High,
        "the tool now does more than it promised",
    ),
    (
        "new_demand",
        Severity::High,
        "a credential is asked for that was not needed before",
    ),
    (
        "new_way_out",
        Severity::High,
        "a parameter was added that names where to send something",
    ),
    (
        "promise",
        Severity::High,
        "the tool now promises less danger",
    ),
    ("elicitation", Severity::Low, "asks the user directly"),
];

/// A detection about a descriptor's shape rather than its words.
pub(crate) fn structural(
    rule: &'static str,
    level: Level,
    weight: u8,
    reason: String,
    tags: &'static [&'static str],
) -> Detection {
    let severity = match level {
        Level::Note => Severity::Low,
        Level::Warn => Severity::High,
        Level::Block => Severity::Critical,
    };
    Detection {
        rule: Cow::Borrowed(rule),
        kind: Cow::Borrowed(rule),
        category: Category::HostileText,
        severity,
        confidence: weight,
        level,
        span: 0..0,
        via: Vec::new(),
        reason: Masked::from_safe(reason),
        sample: Masked::from_safe(""),
        tags,
    }
}
