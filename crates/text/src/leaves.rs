//! The leaves of a JSON text: its strings, numbers and keys, unescaped, each with its path.
//!
//! Whoever looks for data looks at leaves, so that neither nesting nor escapes hide anything.

use std::borrow::Cow;
use std::fmt;
use std::ops::{ControlFlow, Range};

use crate::json::unescape;

/// One leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What it is.
    pub kind: LeafKind,
    /// Where it stands, as `arguments.items[2].name`.
    pub path: String,
    /// The unescaped text.
    pub text: String,
}

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// An object's key.
    Key,
    /// A string.
    Text,
    /// A number, as it is spelled.
    Number,
}

/// One leaf on the way through a text; its path is spelled only when it is shown.
#[derive(Debug)]
pub struct Visit<'a, 'w> {
    /// What it is.
    pub kind: LeafKind,
    /// Where it stands in the text, with its quotes.
    pub span: Range<usize>,
    /// The unescaped text.
    pub text: Cow<'a, str>,
    /// The way to it.
    pub path: Trail<'a, 'w>,
}

/// The way to a leaf, shown as `arguments.items[2].name`.
#[derive(Clone, Copy, Debug)]
pub struct Trail<'a, 'w> {
    text: &'a str,
    steps: &'w [Step],
}

/// One open array or object.
#[derive(Debug)]
enum Step {
    /// The number of the element.
    Array(usize),
    /// The key, once it was read.
    Object(Option<Key>),
}

/// A key of an object: where its inside stands, and whether it has escapes.
#[derive(Clone, Debug)]
struct Key {
    span: Range<usize>,
    escaped: bool,
}

/// One step of the way to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// An object's key, as it is spelled.
    Key(&'a str),
    /// The number of an element.
    Index(usize),
}

impl<'a> Trail<'a, '_> {
    /// Returns the steps of the way, from the outermost.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> {
        self.steps.iter().map(|step| match step {
            Step::Array(index) => Segment::Index(*index),
            Step::Object(key) => {
                let key = key.as_ref().and_then(|key| self.text.get(key.span.clone()));
                Segment::Key(key.unwrap_or_default())
            }
        })
    }

    /// Returns the name of the field that the leaf is the value of; elements of an array go by the
    /// name of the array.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        let named = self.steps.iter().rev().find_map(|step| match step {
            Step::Object(key) => Some(key.as_ref()),
            Step::Array(_) => None,
        })?;
        self.plain(named?)
    }

    fn plain(&self, key: &Key) -> Option<Cow<'a, str>> {
        let inner = self.text.get(key.span.clone())?;
        Some(if key.escaped {
            unescape(inner)
        } else {
            Cow::Borrowed(inner)
        })
    }
}

impl fmt::Display for Trail<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for step in self.steps {
            match step {
                Step::Array(index) => write!(formatter, "[{index}]")?,
                Step::Object(key) => {
                    let key = key.as_ref().and_then(|key| self.plain(key));
                    let dot = if first { "" } else { "." };
                    write!(formatter, "{dot}{}", key.unwrap_or_default())?;
                }
            }
            first = false;
        }
        Ok(())
    }
}

/// Collects the leaves of a text that passed `json::check`, in document order.
pub fn leaves(text: &str) -> Vec<Leaf> {
    let mut found = Vec::new();
    visit(text, |leaf| {
        found.push(Leaf {
            kind: leaf.kind,
            path: leaf.path.to_string(),
            text: leaf.text.into_owned(),
        });
        ControlFlow::Continue(())
    });
    found
}

/// Open arrays and objects for which there is room from the start.
const USUAL: usize = 8;

/// Shows the leaves of a text that passed `json::check` to `each`, in document order, until it
/// breaks off.
///
/// One pass whose stack is as deep as `check` allowed; only strings with escapes are copied.
pub fn visit<'a>(text: &'a str, mut each: impl FnMut(Visit<'a, '_>) -> ControlFlow<()>) {
    let bytes = text.as_bytes();
    let mut steps: Vec<Step> = Vec::with_capacity(USUAL);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        let mut escaped = false;
        let kind = match byte {
            b'{' => {
                steps.push(Step::Object(None));
                continue;
            }
            b'[' => {
                steps.push(Step::Array(0));
                continue;
            }
            b'}' | b']' => {
                steps.pop();
                continue;
            }
            b',' => {
                match steps.last_mut() {
                    Some(Step::Array(index)) => *index += 1,
                    Some(Step::Object(key)) => *key = None,
                    None => {}
                }
                continue;
            }
            b'"' => {
                (at, escaped) = string_end(bytes, at);
                match steps.last_mut() {
                    Some(Step::Object(key @ None)) => {
                        let span = start + 1..at.saturating_sub(1);
                        *key = Some(Key { span, escaped });
                        LeafKind::Key
                    }
                    _ => LeafKind::Text,
                }
            }
            b'-' | b'0'..=b'9' => {
                at = number_end(bytes, at);
                LeafKind::Number
            }
            _ => continue,
        };
        let inner = match kind {
            LeafKind::Number => start..at,
            LeafKind::Key | LeafKind::Text => start + 1..at.saturating_sub(1),
        };
        let plain = text.get(inner).unwrap_or_default();
        let leaf = Visit {
            kind,
            span: start..at,
            text: if escaped {
                unescape(plain)
            } else {
                Cow::Borrowed(plain)
            },
            path: Trail {
                text,
                steps: &steps,
            },
        };
        if each(leaf).is_break() {
            return;
        }
    }
}

/// Returns the place behind the closing quote of a string whose inside starts at `at`, and whether
/// it has escapes.
fn string_end(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut escaped = false;
    while let Some(rest) = bytes.get(at..) {
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(step) if rest.get(step) == Some(&b'"') => return (at + step + 1, escaped),
            Some(step) => {
                escaped = true;
                at += step + 2;
            }
            None => break,
        }
    }
    (bytes.len(), escaped)
}

fn number_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    at + rest.iter().take_while(|byte| number(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_carry_paths_and_plain_text() {
        let found = leaves(r#"{"a":["x\n",{"b":1.50}, [[2]]],"c":true,"d\u002e" : "y\""}"#);
        let shown: Vec<_> = found
            .iter()
            .map(|leaf| format!("{:?} {} {:?}", leaf.kind, leaf.path, leaf.text))
            .collect();
        assert_eq!(
            shown,
            [
                "Key a \"a\"",
                "Text a[0] \"x\\n\"",
                "Key a[1].b \"b\"",
                "Number a[1].b \"1.50\"",
                "Number a[2][0][0] \"2\"",
                "Key c \"c\"",
                "Key d. \"d.\"",
                "Text d. \"y\\\"\"",
            ]
        );
    }

    #[test]
    fn a_visit_breaks_off_and_survives_what_is_no_json() {
        let mut count = 0;
        visit("[1,2,3]", |_| {
            count += 1;
            if count == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(count, 2);
        for text in [
            "",
            "\"",
            "{\"a",
            "]]]}",
            "{\"a\\",
            "[\"é\\u00e9\"",
            "{,,\"a\":\"b\",}",
        ] {
            drop(leaves(text));
        }
    }
}
