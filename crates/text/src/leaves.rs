//! The leaves of a JSON text: its strings, numbers and keys, unescaped, each with its path.
//!
//! Whoever looks for data looks at leaves, so that neither nesting nor escapes hide anything.

use std::ops::Range;

use crate::members::{elements, members, string};

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

/// Something still to be walked.
enum Step {
    Key(String, String),
    Value(Range<usize>, String),
}

/// Collects the leaves of a text that passed `json::check`, in document order.
///
/// The walk keeps its own stack: the depth that `check` allowed is the depth it can meet.
pub fn leaves(text: &str) -> Vec<Leaf> {
    let mut found = Vec::new();
    let mut stack = vec![Step::Value(0..text.len(), String::new())];
    while let Some(step) = stack.pop() {
        let (span, path) = match step {
            Step::Key(path, text) => {
                found.push(Leaf {
                    kind: LeafKind::Key,
                    path,
                    text,
                });
                continue;
            }
            Step::Value(span, path) => (span, path),
        };
        let value = text.get(span.clone()).unwrap_or_default().trim_end();
        let trimmed = value.trim_start();
        let start = span.start + (value.len() - trimmed.len());
        match trimmed.as_bytes().first() {
            Some(b'{' | b'[') => push_children(trimmed, start, &path, &mut stack),
            Some(b'"') => {
                let text = string(trimmed).unwrap_or_default().into_owned();
                found.push(Leaf {
                    kind: LeafKind::Text,
                    path,
                    text,
                });
            }
            Some(b'-' | b'0'..=b'9') => {
                found.push(Leaf {
                    kind: LeafKind::Number,
                    path,
                    text: trimmed.to_owned(),
                });
            }
            _ => {}
        }
    }
    found
}

/// Pushes what is inside an object or array, so that the first child is popped first.
fn push_children(text: &str, start: usize, path: &str, stack: &mut Vec<Step>) {
    let shift = |inner: Range<usize>| start + inner.start..start + inner.end;
    let first = stack.len();
    for member in members(text) {
        let path = join(path, &member.key);
        stack.push(Step::Key(path.clone(), member.key.into_owned()));
        stack.push(Step::Value(shift(member.value), path));
    }
    for (index, element) in elements(text).enumerate() {
        stack.push(Step::Value(shift(element), format!("{path}[{index}]")));
    }
    if let Some(children) = stack.get_mut(first..) {
        children.reverse();
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_carry_paths_and_plain_text() {
        let found = leaves(r#"{"a":["x\n",{"b":1.50}],"c":true,"d":"y"}"#);
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
                "Key c \"c\"",
                "Key d \"d\"",
                "Text d \"y\"",
            ]
        );
    }
}
