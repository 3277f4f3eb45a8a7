//! Replacements of byte ranges of a text, gathered first and applied in one pass.

use std::ops::Range;

/// Replacements of byte ranges.
#[derive(Default)]
pub(crate) struct Patches(Vec<(Range<usize>, String)>);

impl Patches {
    /// Replaces a range; an empty one is an insertion.
    pub(crate) fn replace(&mut self, span: Range<usize>, with: String) {
        self.0.push((span, with));
    }

    /// Deletes a range.
    pub(crate) fn delete(&mut self, span: Range<usize>) {
        self.replace(span, String::new());
    }

    /// Returns the text with all replacements made.
    ///
    /// Two deletions may overlap in the blanks between them; a replacement overlaps nothing.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (span, with) in &self.0 {
            out.push_str(text.get(at..span.start).unwrap_or_default());
            out.push_str(with);
            at = at.max(span.end);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}
