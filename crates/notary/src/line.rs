//! One line of a session: an object in canonical order, in one writing only.
//!
//! Values are rendered as they are added, and the keys are sorted when the line is printed, so
//! that a receipt is the same bytes wherever it stands.

use std::fmt::Display;

use mcpproxy_core::Wall;

use crate::hash::quote;

/// The members of a line that is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(&'static str, Vec<u8>)>);

impl Line {
    pub(crate) fn text(&mut self, key: &'static str, value: &str) -> &mut Self {
        let mut bytes = Vec::with_capacity(value.len() + 2);
        quote(value, &mut bytes);
        self.raw(key, bytes)
    }

    pub(crate) fn optional(&mut self, key: &'static str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.null(key),
        }
    }

    pub(crate) fn number(&mut self, key: &'static str, value: impl Display) -> &mut Self {
        self.raw(key, value.to_string().into_bytes())
    }

    pub(crate) fn flag(&mut self, key: &'static str, value: bool) -> &mut Self {
        self.number(key, value)
    }

    pub(crate) fn time(&mut self, key: &'static str, value: Option<Wall>) -> &mut Self {
        self.optional(key, value.map(Wall::rfc3339).as_deref())
    }

    pub(crate) fn null(&mut self, key: &'static str) -> &mut Self {
        self.raw(key, b"null".to_vec())
    }

    pub(crate) fn list<'a>(
        &mut self,
        key: &'static str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> &mut Self {
        let mut bytes = vec![b'['];
        for value in values {
            if bytes.len() > 1 {
                bytes.push(b',');
            }
            quote(value, &mut bytes);
        }
        bytes.push(b']');
        self.raw(key, bytes)
    }

    /// Adds a value that is already rendered.
    pub(crate) fn raw(&mut self, key: &'static str, value: Vec<u8>) -> &mut Self {
        self.0.push((key, value));
        self
    }

    /// Prints the line, without its line feed.
    pub(crate) fn print(&mut self) -> Vec<u8> {
        self.0.sort_by_key(|(key, _)| *key);
        let length: usize = self
            .0
            .iter()
            .map(|(key, value)| key.len() + value.len() + 4)
            .sum();
        let mut bytes = Vec::with_capacity(length + 2);
        let mut before: &[u8] = b"{\"";
        for (key, value) in &self.0 {
            bytes.extend_from_slice(before);
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(b"\":");
            bytes.extend_from_slice(value);
            before = b",\"";
        }
        bytes.push(b'}');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_canonical() {
        let mut line = Line::default();
        line.text("b", "x\u{2028}\n\"")
            .number("a", 7_u64)
            .null("d")
            .list("c", ["p", "q"]);
        line.time("e", Some(Wall(0))).flag("f", true);
        let text = String::from_utf8(line.print()).unwrap();
        let expect = r#"{"a":7,"b":"x\u2028\n\"","c":["p","q"],"d":null,"e":"1970-01-01T00:00:00.000Z","f":true}"#;
        assert_eq!(text, expect);
    }
}
