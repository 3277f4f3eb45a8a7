//! Reads YAML into the tree, by way of a parser that says where each event stands.
//!
//! Only what an agent's own writer produces is accepted: one document, no aliases. A file that
//! uses more is reported and left alone. Changing the text is in `yaml/edit.rs`.

pub(crate) mod edit;

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::tree::{MAX_DEPTH, Member, Node, Syntax, Value};

/// Parses a file. A file without a document counts as null.
pub(crate) fn parse(text: &str) -> Result<Node, Syntax> {
    let offsets = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let mut reader = Reader {
        text,
        offsets,
        parser: Parser::new_from_str(text),
    };
    let mut root = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => {
                let end = text.len()..text.len();
                return Ok(root.unwrap_or(Node {
                    span: end,
                    value: Value::Null,
                }));
            }
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            _ if root.is_some() => return Err(reader.error(span, "only one document is supported")),
            event => root = Some(reader.node(event, span, 0)?),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Byte of each character, since the parser counts characters.
    offsets: Vec<usize>,
    parser: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Syntax> {
        let next = self.parser.next_event();
        // The stream end was returned before, so that there is always a next event.
        let end = || (Event::StreamEnd, Span::default());
        next.map_or_else(|| Ok(end()), |event| event.map_err(|error| syntax(&error)))
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        let byte = |index: usize| self.offsets.get(index).copied().unwrap_or(self.text.len());
        byte(span.start.index())..byte(span.end.index())
    }

    /// Returns the bytes of a scalar without what the parser counts to it besides: blanks and
    /// comments behind a quote, blank lines below a block.
    fn written(&self, span: Span, style: ScalarStyle) -> Range<usize> {
        let span = self.bytes(span);
        let text = self.text.get(span.clone()).unwrap_or_default();
        let len = match style {
            ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => {
                text.trim_end().len()
            }
            ScalarStyle::SingleQuoted => quoted_len(text, '\''),
            ScalarStyle::DoubleQuoted => quoted_len(text, '"'),
        };
        span.start..span.start + len
    }

    /// Returns where a collection ends. One in brackets ends with the closing one, behind which
    /// the parser counts blanks and comments to it.
    fn end_of(&self, start: usize, end: Span) -> usize {
        let end = self.bytes(end);
        let opened = self.text.as_bytes().get(start);
        if matches!(opened, Some(b'{' | b'[')) && !end.is_empty() {
            end.start + 1
        } else {
            end.end
        }
    }

    fn error(&self, span: Span, message: &str) -> Syntax {
        Syntax::at(self.text, self.bytes(span).start, message)
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Syntax> {
        if depth > MAX_DEPTH {
            return Err(self.error(span, "nested too deeply"));
        }
        let start = self.bytes(span).start;
        match event {
            Event::Scalar(text, style, _, tag) => {
                let quoted = style != ScalarStyle::Plain || tag.is_some();
                let value = if quoted {
                    Value::Text(text.into_owned())
                } else {
                    plain(&text)
                };
                let span = self.written(span, style);
                Ok(Node { span, value })
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            let span = start..self.end_of(start, end);
                            return Ok(Node {
                                span,
                                value: Value::List(items),
                            });
                        }
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => self.map(start, depth),
            Event::Alias(_) => Err(self.error(span, "aliases are not supported")),
            _ => Err(self.error(span, "expected a value")),
        }
    }

    fn map(&mut self, start: usize, depth: usize) -> Result<Node, Syntax> {
        let mut members = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let span = start..self.end_of(start, span);
                return Ok(Node {
                    span,
                    value: Value::Map(members),
                });
            }
            let Event::Scalar(key, ..) = event else {
                return Err(self.error(span, "expected a plain key"));
            };
            let key_span = self.bytes(span);
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            members.push(Member {
                key: key.into_owned(),
                key_span,
                value,
            });
        }
    }
}

/// Returns the length of a scalar with its quotes.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, found)) = chars.next() {
        let doubled = quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote);
        if (found == '\\' && quote == '"') || (found == quote && doubled) {
            chars.next();
        } else if found == quote {
            return at + 1;
        }
    }
    text.len()
}

fn syntax(error: &ScanError) -> Syntax {
    Syntax {
        line: error.marker().line(),
        column: error.marker().col() + 1,
        message: error.info().to_owned(),
    }
}

/// Reads an unquoted scalar by the core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let digits = text.trim_start_matches(['-', '+']);
            let number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
            if number && text.parse::<f64>().is_ok() {
                Value::Number(text.to_owned())
            } else {
                Value::Text(text.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests;
