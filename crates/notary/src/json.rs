//! JSON that this crate writes itself: manifests, reports and proofs, in one layout only.
//!
//! The layout is that of `json.dumps(indent=2)`, which the peer's packs have too, so that one
//! check of a manifest's bytes serves both.

use crate::hash::quote;

/// A value to be printed.
#[derive(Clone, Debug)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Number(u64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, in the order in which it is printed.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// Makes a string.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a string or `null`.
    pub fn optional(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    /// Makes an array of strings.
    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// Prints the value on several lines.
    pub fn pretty(&self) -> String {
        let mut out = Vec::new();
        self.print(0, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    fn print(&self, depth: usize, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Flag(flag) => out.extend_from_slice(flag.to_string().as_bytes()),
            Self::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Text(text) => quote(text, out),
            Self::List(items) => block(out, depth, *b"[]", items, |item, out| {
                item.print(depth + 1, out);
            }),
            Self::Object(members) => block(out, depth, *b"{}", members, |(key, value), out| {
                quote(key, out);
                out.extend_from_slice(b": ");
                value.print(depth + 1, out);
            }),
        }
    }
}

fn block<T>(
    out: &mut Vec<u8>,
    depth: usize,
    [open, close]: [u8; 2],
    items: &[T],
    each: impl Fn(&T, &mut Vec<u8>),
) {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        indent(out, depth + 1);
        each(item, out);
    }
    if !items.is_empty() {
        indent(out, depth);
    }
    out.push(close);
}

fn indent(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}
