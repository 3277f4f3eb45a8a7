//! Changing a text by replacing spans, so that everything else stays byte for byte.

use std::ops::Range;

/// A list of replacements over one text.
#[derive(Debug, Default)]
pub struct Splice {
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl Splice {
    /// Replaces the bytes of `span`; an empty span inserts.
    pub fn replace(&mut self, span: Range<usize>, with: impl Into<Vec<u8>>) {
        self.edits.push((span, with.into()));
    }

    /// Tells whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Applies the replacements; the later of two that overlap is left out.
    pub fn apply(mut self, text: &[u8]) -> Vec<u8> {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let grown: usize = self.edits.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(text.len() + grown);
        let mut at = 0;
        for (span, with) in self.edits {
            if span.start < at {
                continue;
            }
            out.extend_from_slice(text.get(at..span.start).unwrap_or_default());
            out.extend_from_slice(&with);
            at = span.end;
        }
        out.extend_from_slice(text.get(at..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_spans_change() {
        let mut splice = Splice::default();
        splice.replace(6..7, *b"99");
        splice.replace(0..0, *b"<");
        splice.replace(8..8, *b">");
        assert_eq!(splice.apply(br#"{"id":1}"#), br#"<{"id":99}>"#);
    }
}
