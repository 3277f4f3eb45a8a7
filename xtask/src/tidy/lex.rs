//! Just enough of Rust's lexical rules to tell code from comments and literals.
//!
//! Rules that look for a name in code would otherwise trip over the name in a comment, a message
//! or a test's input. Literals become one empty token; comments vanish. It does not parse.

/// A word or a single punctuation character, with its line; a literal has an empty text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// Splits a source file into tokens.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        rest: source,
        line: 1,
        found: Vec::new(),
    };
    while lexer.step() {}
    lexer.found
}

/// Returns where `pattern` begins in `tokens`, as often as it occurs.
pub(super) fn find<'t>(
    tokens: &'t [Token<'_>],
    pattern: &'t [&str],
) -> impl Iterator<Item = usize> + 't {
    tokens
        .windows(pattern.len())
        .enumerate()
        .filter(move |(_, window)| window.iter().map(|t| t.text).eq(pattern.iter().copied()))
        .map(|(index, _)| index)
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    found: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        if first.is_whitespace() {
            self.take(first.len_utf8());
        } else if self.rest.starts_with("//") {
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.take(block_comment(self.rest));
        } else if first.is_alphabetic() || first == '_' {
            self.word();
        } else if first == '"' {
            self.literal(quoted(self.rest, '"'));
        } else if first == '\'' {
            self.quote();
        } else {
            self.push(first.len_utf8());
        }
        true
    }

    /// Takes a word, or the raw string that it introduces.
    fn word(&mut self) {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let end = end.unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at(end);
        let raw = matches!(word, "r" | "br" | "cr")
            .then(|| raw_string(after))
            .flatten();
        match raw {
            Some(length) => self.literal(end + length),
            None => self.push(end),
        }
    }

    /// Takes a character literal, or the single quote of a lifetime.
    fn quote(&mut self) {
        let mut after = self.rest.chars().skip(1);
        let escaped = after.next() == Some('\\');
        if escaped || after.next() == Some('\'') {
            self.literal(quoted(self.rest, '\''));
        } else {
            self.push(1);
        }
    }

    fn literal(&mut self, length: usize) {
        self.found.push(Token {
            line: self.line,
            text: "",
        });
        self.take(length);
    }

    fn push(&mut self, length: usize) {
        let line = self.line;
        let text = self.take(length);
        self.found.push(Token { line, text });
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// Returns the length of a literal that starts and ends with `mark`, escapes skipped.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == mark {
            return index + c.len_utf8();
        }
    }
    text.len()
}

/// Returns the length of `#..."..."#...`, if that is what follows.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let body = text.trim_start_matches('#').strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close).map_or(body.len(), |at| at + close.len());
    Some(hashes + 1 + end)
}

/// Returns the length of a block comment with the comments inside it.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut skip = false;
    for ((index, a), b) in text.char_indices().zip(text.chars().skip(1)) {
        if std::mem::take(&mut skip) {
            continue;
        }
        match (a, b) {
            ('/', '*') => (depth, skip) = (depth + 1, true),
            ('*', '/') => (depth, skip) = (depth.saturating_sub(1), true),
            _ => continue,
        }
        if depth == 0 {
            return index + 2;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    fn check(source: &str, expect: &str) {
        let words: Vec<&str> = super::tokens(source)
            .iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(words.join(" "), expect, "{source}");
    }

    #[test]
    fn comments_vanish_and_literals_are_empty() {
        check("a::b(c)", "a : : b ( c )");
        check("x // todo!()\ny", "x y");
        check("x /* a /* b */ c */ y", "x y");
        check("f(\"todo!()\", y)", "f (  , y )");
        check(r#"f("a\"b", y)"#, "f (  , y )");
        check("f(r#\"a\"b\"#, y)", "f (  , y )");
        check("f(br\"a\", r#type)", "f (  , r # type )");
        check("f('\\'', 'x', '\"')", "f (  ,  ,  )");
        check("fn f<'a>(x: &'a str)", "fn f < ' a > ( x : & ' a str )");
        check("\"open", "");
        check("/* open", "");
    }

    #[test]
    fn lines_are_counted_through_literals() {
        let found = super::tokens("a\n\"x\ny\"\nb");
        let lines: Vec<usize> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }
}
