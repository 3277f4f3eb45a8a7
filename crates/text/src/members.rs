//! Members of objects and elements of arrays, as spans into a text that passed `json::check`.
//!
//! Given a text that did not pass, these functions return fewer members; they do not fail.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::unescape;

/// Bytes of a string that are looked at one by one.
const SHORT: usize = 16;

/// One member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key, unescaped.
    pub key: Cow<'a, str>,
    /// Where the key stands, quotes included.
    pub key_span: Range<usize>,
    /// Where the value stands.
    pub value: Range<usize>,
}

/// Walks the members of the object that `text` is, in document order.
pub fn members(text: &str) -> Members<'_> {
    let mut walk = Walk { text, at: 0 };
    walk.space();
    let open = walk.eat(b'{');
    Members { walk, open }
}

/// Walks the values of the array that `text` is, in document order.
pub fn elements(text: &str) -> Elements<'_> {
    let mut walk = Walk { text, at: 0 };
    walk.space();
    let open = walk.eat(b'[');
    Elements { walk, open }
}

/// Finds the member of the object `text` whose key is `name`.
pub fn member<'a>(text: &'a str, name: &str) -> Option<Member<'a>> {
    members(text).find(|member| member.key == name)
}

/// Follows `path` through nested objects and returns the value's text and place.
pub fn get<'a>(text: &'a str, path: &[&str]) -> Option<(&'a str, Range<usize>)> {
    let mut span = 0..text.len();
    for name in path {
        let inner = text.get(span.clone())?;
        let value = member(inner, name)?.value;
        span = span.start + value.start..span.start + value.end;
    }
    Some((text.get(span.clone())?, span))
}

/// Reads a JSON string value; anything else is nothing.
pub fn string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(inner))
}

/// Iterator over the members of an object.
#[derive(Debug)]
pub struct Members<'a> {
    walk: Walk<'a>,
    open: bool,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        if !self.open {
            return None;
        }
        self.walk.space();
        let (key_span, escaped) = self.walk.string()?;
        let inner = self.walk.text.get(key_span.start + 1..key_span.end - 1)?;
        self.walk.space();
        self.walk.eat(b':');
        self.walk.space();
        let value = self.walk.value()?;
        self.walk.space();
        self.open = self.walk.eat(b',');
        Some(Member {
            key: if escaped {
                unescape(inner)
            } else {
                Cow::Borrowed(inner)
            },
            key_span,
            value,
        })
    }
}

/// Iterator over the values of an array.
#[derive(Debug)]
pub struct Elements<'a> {
    walk: Walk<'a>,
    open: bool,
}

impl Iterator for Elements<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if !self.open {
            return None;
        }
        self.walk.space();
        let value = self.walk.value()?;
        self.walk.space();
        self.open = self.walk.eat(b',');
        Some(value)
    }
}

#[derive(Debug)]
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl Walk<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes over a string; says whether anything in it is escaped.
    fn string(&mut self) -> Option<(Range<usize>, bool)> {
        let start = self.at;
        if !self.eat(b'"') {
            return None;
        }
        let mut escaped = false;
        loop {
            self.at += plain(self.text.as_bytes().get(self.at..)?)?;
            if self.eat(b'"') {
                return Some((start..self.at, escaped));
            }
            escaped = true;
            self.at += 2;
        }
    }

    /// Passes over one value of any kind.
    fn value(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        match self.peek()? {
            b'"' => return self.string().map(|(span, _)| span),
            b'{' | b'[' => self.nested()?,
            _ => {
                while let Some(byte) = self.peek() {
                    if matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                        break;
                    }
                    self.at += 1;
                }
            }
        }
        (self.at > start).then_some(start..self.at)
    }

    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

/// Returns how many bytes stand before a quote or a backslash.
fn plain(rest: &[u8]) -> Option<usize> {
    // Keys are short, and for those a search made for long texts takes longer to begin than to run.
    let near = rest.get(..SHORT).unwrap_or(rest);
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\');
    if let Some(found) = near.iter().position(ends) {
        return Some(found);
    }
    let far = rest.get(near.len()..)?;
    memchr::memchr2(b'"', b'\\', far).map(|found| near.len() + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_spans_of_the_text() {
        let text = r#" { "a" : 1.0e5 , "b\u0063":{"x":["}",2]}, "s":"q\"\\" } "#;
        let found: Vec<_> = members(text)
            .map(|member| (member.key.into_owned(), text.get(member.value).unwrap()))
            .collect();
        let expect = [
            ("a", "1.0e5"),
            ("bc", r#"{"x":["}",2]}"#),
            ("s", r#""q\"\\""#),
        ];
        assert_eq!(found, expect.map(|(key, value)| (key.to_owned(), value)));
    }

    #[test]
    fn paths_lead_to_values() {
        let text = r#"{"params":{"_meta":{"progressToken":"t"},"name":"x"}}"#;
        let (value, span) = get(text, &["params", "_meta", "progressToken"]).unwrap();
        assert_eq!((value, text.get(span).unwrap()), (r#""t""#, r#""t""#));
        assert_eq!(get(text, &["params", "none"]), None);
        assert_eq!(string(value).unwrap(), "t");
        assert_eq!(string("12"), None);
    }

    #[test]
    fn elements_of_arrays_and_nothing_else() {
        let text = "[1, [2,3] ,{}]";
        let found: Vec<_> = elements(text).map(|span| text.get(span).unwrap()).collect();
        assert_eq!(found, ["1", "[2,3]", "{}"]);
        assert_eq!(
            elements("{}").count() + elements("[]").count() + members("[]").count(),
            0
        );
    }
}
