//! A JSON reader that keeps spans and accepts what VS Code does: comments and trailing commas.
//!
//! It is lenient where leniency cannot change the meaning, since agents wrote these files and the
//! text is never written back from the tree: a lone surrogate becomes U+FFFD. Changing the text is
//! in `jsonc/edit.rs` and `jsonc/slots.rs`.

pub(crate) mod edit;
pub(crate) mod slots;

use crate::tree::{MAX_DEPTH, Member, Node, Syntax, Value};

/// Parses a file. Blank text counts as an empty map, since agents leave empty files behind.
pub(crate) fn parse(text: &str) -> Result<Node, Syntax> {
    let mut scanner = Scanner { text, at: 0 };
    if text.starts_with('\u{feff}') {
        scanner.at = '\u{feff}'.len_utf8();
    }
    scanner.trivia()?;
    if scanner.at == text.len() {
        return Ok(Node {
            span: text.len()..text.len(),
            value: Value::Map(Vec::new()),
        });
    }
    let root = scanner.value(0)?;
    scanner.trivia()?;
    if scanner.at < text.len() {
        return Err(scanner.error("something follows the end of the value"));
    }
    Ok(root)
}

/// Returns the first byte at or after `at` that is neither whitespace nor part of a comment.
pub(crate) fn skip_trivia(text: &str, at: usize) -> usize {
    let mut scanner = Scanner { text, at };
    // An unterminated comment cannot occur in a text that was parsed before.
    scanner.trivia().map_or(at, |()| scanner.at)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn slice(&self, start: usize) -> &str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn error(&self, message: &str) -> Syntax {
        Syntax::at(self.text, self.at, message)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn trivia(&mut self) -> Result<(), Syntax> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            if self.rest().starts_with("//") {
                let line = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += line;
            } else if self.rest().starts_with("/*") {
                self.long_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn long_comment(&mut self) -> Result<(), Syntax> {
        // The search starts behind the opening: `/*/` opens a comment but does not close it.
        let body = self.rest().get(2..).unwrap_or_default();
        let Some(end) = body.find("*/") else {
            return Err(self.error("this comment is never closed"));
        };
        self.at += end + 4;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, Syntax> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
            None => return Err(self.error("expected a value, found the end of the file")),
        };
        Ok(Node {
            span: start..self.at,
            value,
        })
    }

    fn map(&mut self, depth: usize) -> Result<Value, Syntax> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.trivia()?;
            if self.take(b'}') {
                return Ok(Value::Map(members));
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes or `}`"));
            }
            let key = self.string()?;
            let key_span = start..self.at;
            self.trivia()?;
            if !self.take(b':') {
                return Err(self.error("expected `:` after the key"));
            }
            self.trivia()?;
            let value = self.value(depth + 1)?;
            members.push(Member {
                key,
                key_span,
                value,
            });
            self.separator(b'}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Syntax> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.trivia()?;
            if self.take(b']') {
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.separator(b']')?;
        }
    }

    /// Steps over a comma; without one, the closing bracket must come next.
    fn separator(&mut self, close: u8) -> Result<(), Syntax> {
        self.trivia()?;
        if self.take(b',') || self.peek() == Some(close) {
            return Ok(());
        }
        Err(self.error(&format!("expected `,` or `{}`", char::from(close))))
    }

    fn word(&mut self) -> Result<Value, Syntax> {
        let known = [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
        ];
        for (word, value) in known {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("expected a value"))
    }

    fn number(&mut self) -> Result<Value, Syntax> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let spelling = self.slice(start).to_owned();
        if spelling.parse::<f64>().is_err() {
            return Err(Syntax::at(
                self.text,
                start,
                format!("`{spelling}` is not a number"),
            ));
        }
        Ok(Value::Number(spelling))
    }

    fn string(&mut self) -> Result<String, Syntax> {
        let start = self.at;
        self.at += 1;
        let mut units = Vec::new();
        let mut out = String::new();
        loop {
            let Some(next) = self.rest().chars().next() else {
                return Err(Syntax::at(self.text, start, "this string is never closed"));
            };
            if next == '\\' {
                self.escape(&mut out, &mut units)?;
                continue;
            }
            flush(&mut out, &mut units);
            if u32::from(next) < 0x20 {
                return Err(self.error("a string cannot hold a control character"));
            }
            self.at += next.len_utf8();
            if next == '"' {
                return Ok(out);
            }
            out.push(next);
        }
    }

    /// Reads one escape. UTF-16 units are gathered, so that a pair becomes one character.
    fn escape(&mut self, out: &mut String, units: &mut Vec<u16>) -> Result<(), Syntax> {
        let escaped = self.text.as_bytes().get(self.at + 1).copied();
        if escaped == Some(b'u') {
            let digits = self.text.get(self.at + 2..self.at + 6).unwrap_or_default();
            let unit = u16::from_str_radix(digits, 16).ok();
            let unit = unit.filter(|_| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            units.push(unit.ok_or_else(|| self.error("expected four hexadecimal digits"))?);
            self.at += 6;
            return Ok(());
        }
        flush(out, units);
        out.push(match escaped {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.error("unknown escape in a string")),
        });
        self.at += 2;
        Ok(())
    }
}

fn flush(out: &mut String, units: &mut Vec<u16>) {
    out.push_str(&String::from_utf16_lossy(units));
    units.clear();
}

#[cfg(test)]
mod tests;
