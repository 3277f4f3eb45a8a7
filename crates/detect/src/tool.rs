//! A whole tool descriptor: every text in it, its parameters, its neighbours, and what changed.
//!
//! Findings carry the path of the field. Whether a tool may be used is for policy to say.

pub(crate) mod fields;
mod pair;
mod params;
mod peers;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use mcpproxy_core::{Masked, Severity};
use serde::Serialize;
use serde_json::Value;

use crate::audience::Audience;
use crate::detection::{Category, Detection, Level, Scan};
use crate::error::DetectError;
use crate::hidden::{self, Hidden};
use crate::hostile::Hostile;
use crate::sanitize::sanitize;
use crate::verdict::verdict;
pub use peers::Peer;

/// A detection and the field it was made in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The field, as `inputSchema.properties.path.description`.
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
}

/// The scanner for descriptors and messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolScan {
    hostile: Hostile,
}

impl ToolScan {
    /// Builds the scanner from the embedded rules.
    pub fn new() -> Result<Self, DetectError> {
        let hostile = Hostile::new(Audience::Descriptor)?;
        Ok(Self { hostile })
    }

    /// Scans a descriptor as `tools/list` gives it.
    pub fn tool(&self, tool: &Value) -> Appraisal {
        self.tool_among(tool, &[])
    }

    /// Scans a descriptor beside the tools of other upstreams.
    pub fn tool_among(&self, tool: &Value, peers: &[Peer<'_>]) -> Appraisal {
        let mut sheet = Sheet::default();
        for field in fields::of(tool) {
            self.text(Audience::Descriptor, &field.path, &field.text, &mut sheet);
        }
        params::judge(tool, &mut sheet);
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

    /// Adds what one text holds: as it stands, and as the texts hidden in it.
    pub(crate) fn text(&self, audience: Audience, path: &str, text: &str, sheet: &mut Sheet) {
        let hostile = self.hostile.for_audience(audience);
        let mut found = Vec::new();
        Hidden::new(audience).scan(text, &mut found);
        hostile.scan(text, &mut found);
        if text.contains('\u{1b}') {
            // Escapes between words hide nothing from `hostile`, escapes inside them do.
            let clean = sanitize(text);
            through(
                "escapes",
                &(0..text.len()),
                &clean.text,
                &hostile,
                &mut found,
            );
        }
        for view in hidden::views(text) {
            through(&view.via, &view.span, &view.text, &hostile, &mut found);
        }
        sheet.add(path, text.len(), found);
    }
}

/// Adds what a hidden text says, at the place of what carries it.
fn through(
    via: &str,
    span: &Range<usize>,
    text: &str,
    hostile: &Hostile,
    out: &mut Vec<Detection>,
) {
    let mut found = Vec::new();
    hostile.scan(text, &mut found);
    out.extend(found.into_iter().map(|one| Detection {
        span: span.clone(),
        via: vec![Cow::Owned(via.to_owned())],
        ..one
    }));
}

/// What was seen so far, field after field.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    findings: Vec<Placed>,
    /// The same detections as if the fields were one text, so that acts in neighbouring fields
    /// count as near.
    joined: Vec<Detection>,
    length: usize,
}

impl Sheet {
    /// Adds the detections of a field that is `length` bytes long.
    pub(crate) fn add(&mut self, path: &str, length: usize, found: Vec<Detection>) {
        for detection in found {
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

    pub(crate) fn report(self) -> Appraisal {
        Appraisal {
            level: verdict(&self.joined),
            findings: self.findings,
        }
    }
}

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
