//! What a scan gives: detections with their places, and what was not read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use crate::detection::{Category, Detection, Level};

/// All that was seen in one text or message, and how much of it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What was seen, in document order.
    pub detections: Vec<Found>,
    /// What was read, and what was not.
    pub coverage: Coverage,
}

/// A detection and where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The field, as `arguments.items[2].name`; empty for plain text.
    #[serde(rename = "field_path")]
    pub path: String,
    /// The leaf in the message, in bytes with its quotes; all of a plain text. The span of the
    /// detection counts from the start of the leaf's unescaped text.
    pub leaf: Range<usize>,
    /// What was seen.
    #[serde(flatten)]
    pub detection: Detection,
}

/// How much was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Bytes of plain text that were scanned.
    pub scanned: usize,
    /// Decoded views that were scanned.
    pub views: usize,
    /// Bytes of plain text that were not scanned.
    pub unscanned: usize,
    /// What was not read, the first of each reason in each field, up to a bound.
    pub unread: Vec<Unread>,
    /// The types and categories of what was seen and is not told, since there was too much of it.
    #[serde(skip)]
    pub untold: BTreeSet<(Cow<'static, str>, Category)>,
}

/// Something that was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The field; empty for plain text.
    #[serde(rename = "field_path", skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Why not.
    pub reason: Reason,
}

/// Why something was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The detector, or this direction, is switched off.
    Off,
    /// It is beyond `max_payload_size_kb`.
    PayloadSize,
    /// Decoding it would take more bytes than allowed.
    DecodedBytes,
    /// It is encoded more often than allowed.
    DecodedDepth,
    /// There are more encoded runs than allowed.
    DecodedViews,
    /// It is compressed data that grows beyond any use.
    Bomb,
    /// There were too many detections of its sort to tell them all.
    Detections,
}

impl Coverage {
    /// Entries of `unread` that are kept.
    const KEPT: usize = 32;

    /// Tells whether everything was read.
    pub fn is_complete(&self) -> bool {
        self.unscanned == 0 && self.unread.is_empty()
    }

    /// Notes what was not read.
    pub(crate) fn miss(&mut self, path: impl FnOnce() -> String, reason: Reason) {
        if self.unread.len() >= Self::KEPT {
            return;
        }
        let path = path();
        let known = self.unread.last();
        if !known.is_some_and(|known| known.reason == reason && known.path == path) {
            self.unread.push(Unread { path, reason });
        }
    }
}

impl Report {
    /// Returns the strongest level among the detections.
    pub fn level(&self) -> Option<Level> {
        self.detections
            .iter()
            .map(|found| found.detection.level)
            .max()
    }
}
