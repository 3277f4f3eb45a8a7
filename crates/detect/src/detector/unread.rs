//! What is reported of data that was not read, or not wholly: bounds of decoding, opaque blobs.

use std::borrow::Cow;
use std::ops::Range;

use mcpproxy_core::{Masked, Severity};
use mcpproxy_text::decode::{Coding, Limit};

use crate::detection::{Category, Detection, Level};
use crate::report::Reason;

/// What is reported of data that was not read, one of each, for the list of rules.
pub(crate) fn rules() -> Vec<Detection> {
    let limits = [Limit::Bytes, Limit::Depth, Limit::Views, Limit::Bomb];
    let bounds = limits.map(|limit| bound(limit, 0..0, &[]).1);
    bounds.into_iter().chain([opaque(0, 0..0, &[])]).collect()
}

/// Makes a detection of a bound that decoding met.
pub(super) fn bound(limit: Limit, span: Range<usize>, via: &[Coding]) -> (Reason, Detection) {
    let (reason, rule, severity, level, text) = match limit {
        Limit::Bytes => (
            Reason::DecodedBytes,
            "decoded_size",
            Severity::Medium,
            Level::Warn,
            "encoded data is larger than what may be decoded",
        ),
        Limit::Depth => (
            Reason::DecodedDepth,
            "nested_encoding",
            Severity::Medium,
            Level::Warn,
            "data is encoded more often than honest data is",
        ),
        Limit::Views => (
            Reason::DecodedViews,
            "many_encodings",
            Severity::Low,
            Level::Note,
            "there are more encoded parts than may be decoded",
        ),
        Limit::Bomb => (
            Reason::Bomb,
            "decompression_bomb",
            Severity::High,
            Level::Block,
            "compressed data grows out of all proportion",
        ),
    };
    let mut detection = unread(rule, span, via, text);
    (detection.severity, detection.level) = (severity, level);
    (reason, detection)
}

pub(super) fn opaque(bytes: usize, span: Range<usize>, via: &[Coding]) -> Detection {
    let mut detection = unread("opaque_blob", span, via, "data in no coding that is known");
    detection.sample = Masked::from_safe(format!("*** ({bytes} bytes)"));
    detection
}

fn unread(
    rule: &'static str,
    span: Range<usize>,
    via: &[Coding],
    reason: &'static str,
) -> Detection {
    Detection {
        rule: Cow::Borrowed(rule),
        kind: Cow::Borrowed(rule),
        category: Category::Opaque,
        severity: Severity::Info,
        confidence: 90,
        level: Level::Note,
        sample: Masked::from_safe(format!("*** ({} bytes)", span.len())),
        span,
        via: names(via),
        reason: Masked::from_safe(reason),
        tags: &[],
    }
}

/// The codings as reports show them.
pub(super) fn names(via: &[Coding]) -> Vec<Cow<'static, str>> {
    via.iter()
        .map(|coding| Cow::Borrowed(coding.name()))
        .collect()
}
