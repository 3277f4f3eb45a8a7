//! What the families of personal data report, before it is put into the common words.

use std::borrow::Cow;
use std::ops::Range;

use mcpproxy_core::{Masked, Severity};

use crate::mask;
use crate::{Category, Detection, Level};

/// One thing that was seen.
#[derive(Debug)]
pub(super) struct Found {
    /// The type in the words that filters use.
    pub(super) kind: &'static str,
    /// The type in the words that people use.
    pub(super) name: &'static str,
    pub(super) severity: Severity,
    pub(super) confidence: u8,
    pub(super) level: Level,
    pub(super) span: Range<usize>,
    /// What made it count.
    pub(super) why: &'static str,
}

impl Found {
    /// The detection, with a masked sample taken from `text`.
    pub(super) fn into_detection(self, text: &str) -> Detection {
        let value = text.get(self.span.clone()).unwrap_or_default();
        Detection {
            rule: Cow::Owned(super::rule_of(self.kind)),
            kind: Cow::Borrowed(self.kind),
            category: match self.kind {
                "credit_card" => Category::CreditCard,
                _ => Category::Pii,
            },
            severity: self.severity,
            confidence: self.confidence,
            level: self.level,
            span: self.span,
            via: Vec::new(),
            reason: Masked::from_safe(format!("{}: {}", self.name, self.why)),
            sample: mask::sample(self.kind, value),
            tags: &[],
        }
    }
}
