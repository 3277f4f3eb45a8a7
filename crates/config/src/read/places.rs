//! From the parser's spans to places in the file.
//!
//! The parser counts characters, and counts the blanks and comments behind a value to it; a place
//! counts bytes and ends with the value, since the editor puts text behind it.

use saphyr_parser::{ScalarStyle, Span};

use super::surrogates::Offsets;
use crate::node::Place;
use crate::source::Source;

/// The places of one text.
pub(super) struct Places<'a> {
    source: &'a Source,
    number: usize,
    offsets: Offsets,
}

impl<'a> Places<'a> {
    pub(super) fn new(source: &'a Source, number: usize, offsets: Offsets) -> Self {
        Self {
            source,
            number,
            offsets,
        }
    }

    /// Returns the byte at which the character of this number stands.
    pub(super) fn byte(&self, character: usize) -> usize {
        self.offsets.byte(character)
    }

    /// Returns the place of a span as it is.
    pub(super) fn of(&self, span: Span) -> Place {
        self.between(self.byte(span.start.index()), self.byte(span.end.index()))
    }

    /// Returns the place of a scalar.
    pub(super) fn scalar(&self, style: ScalarStyle, span: Span) -> Place {
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        let raw = self.source.text().get(start..end).unwrap_or_default();
        let length = match style {
            ScalarStyle::Plain => raw.len(),
            ScalarStyle::Literal | ScalarStyle::Folded => raw.trim_end().len(),
            ScalarStyle::SingleQuoted => quoted_length(raw, '\''),
            ScalarStyle::DoubleQuoted => quoted_length(raw, '"'),
        };
        self.between(start, start + length)
    }

    /// Returns the place of a list or map and whether it stands between brackets; one that does not
    /// ends with its last value.
    pub(super) fn collection(&self, open: Span, close: Span, last: Option<Place>) -> (Place, bool) {
        let (start, opened) = (self.byte(open.start.index()), self.byte(open.end.index()));
        // An anchor or tag may stand before the bracket, and a comment behind it.
        let opening = self.source.text().get(start..opened).unwrap_or_default();
        let opening = opening.split('#').next().unwrap_or_default();
        if opening.contains(['{', '[']) {
            return (
                self.between(start, self.byte(close.start.index() + 1)),
                true,
            );
        }
        (
            self.between(start, last.and_then(Place::end).unwrap_or(start)),
            false,
        )
    }

    fn between(&self, start: usize, end: usize) -> Place {
        Place::Text {
            text: self.number,
            start,
            end,
        }
    }
}

/// Returns the length of a quoted text up to its closing quote.
fn quoted_length(raw: &str, quote: char) -> usize {
    let Some(open) = raw.find(quote) else {
        return raw.len();
    };
    let mut characters = raw
        .char_indices()
        .skip_while(|(at, _)| *at <= open)
        .peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote == '"' {
            characters.next();
        } else if character == quote {
            // Two single quotes stand for one.
            let doubled = characters.next_if(|(_, next)| *next == quote && quote == '\'');
            if doubled.is_none() {
                return at + quote.len_utf8();
            }
        }
    }
    raw.len()
}
