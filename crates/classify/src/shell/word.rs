//! Words of POSIX shell and bash: quotes, escapes, parameters, substitutions.
//!
//! Brace expansion, tilde and splitting happen later, in `expand`; the pieces only remember
//! whether they were quoted.

use std::rc::Rc;

use super::facts::Reason;
use super::parse::{Parsed, Parser, parse};
use super::syntax::{Change, Piece, Word};

/// Where quoted text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// At the closing quote.
    Quote,
    /// At this byte.
    Byte(usize),
}

/// Makes the word `"$name"`.
pub(super) fn parameter(name: &str) -> Word {
    Word {
        pieces: vec![Piece::Parameter {
            name: name.into(),
            change: Change::None,
            quoted: true,
        }],
    }
}

/// Joins the literal pieces of a word.
pub(super) fn literal(word: &Word) -> String {
    let mut out = String::new();
    for piece in &word.pieces {
        if let Piece::Literal { text, .. } = piece {
            out.push_str(text);
        }
    }
    out
}

fn push(pieces: &mut Vec<Piece>, more: &str, quoted: bool) {
    if let Some(Piece::Literal { text, quoted: last }) = pieces.last_mut()
        && *last == quoted
    {
        text.push_str(more);
        return;
    }
    pieces.push(Piece::Literal {
        text: more.to_owned(),
        quoted,
    });
}

impl Parser<'_> {
    /// Parses the word that stands here, if one does.
    pub(super) fn word(&mut self) -> Parsed<Option<Word>> {
        let mut pieces = Vec::new();
        let start = self.at;
        self.bare_pieces(&mut pieces, false)?;
        Ok((self.at > start).then_some(Word { pieces }))
    }

    /// Parses unquoted text up to a metacharacter, or up to `}` inside a parameter.
    fn bare_pieces(&mut self, pieces: &mut Vec<Piece>, braced: bool) -> Parsed<()> {
        while let Some(byte) = self.byte(0) {
            match byte {
                b'}' if braced => return Ok(()),
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'(' | b')' if !braced => {
                    if !(byte == b'(' && self.extended_glob(pieces)) {
                        return Ok(());
                    }
                }
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    self.at += 2;
                    let script = Rc::new(self.nested(|parser| parser.closed_script(")"))?);
                    pieces.push(Piece::Process {
                        script,
                        output: byte == b'>',
                    });
                }
                b'<' | b'>' if !braced => return Ok(()),
                b'\\' => self.escape(pieces),
                b'\'' => self.single(pieces)?,
                b'"' => {
                    self.at += 1;
                    // An empty pair still makes a word.
                    push(pieces, "", true);
                    self.quoted(pieces, Until::Quote)?;
                }
                b'$' => self.dollar(pieces, false)?,
                b'`' => self.backticks(pieces, false)?,
                _ => self.plain(pieces, braced),
            }
        }
        if braced {
            Err(self.fault(Reason::Unclosed))
        } else {
            Ok(())
        }
    }

    fn plain(&mut self, pieces: &mut Vec<Piece>, braced: bool) {
        let rest = self.rest();
        let end = rest
            .bytes()
            .position(|byte| match byte {
                b'\\' | b'\'' | b'"' | b'$' | b'`' | b'<' | b'>' => true,
                b'}' => braced,
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'(' | b')' => !braced,
                _ => false,
            })
            .unwrap_or(rest.len())
            // A metacharacter that got here is text: inside braces almost everything is.
            .max(1);
        push(pieces, rest.get(..end).unwrap_or_default(), false);
        self.at += end;
    }

    /// Takes `(..)` after `?*+@!` as part of a pattern.
    fn extended_glob(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let Some(Piece::Literal {
            text,
            quoted: false,
        }) = pieces.last()
        else {
            return false;
        };
        if !text.ends_with(['?', '*', '+', '@', '!']) {
            return false;
        }
        let mut depth = 0_usize;
        // Bounded, so that many that never close do not add up.
        for (index, byte) in self.rest().bytes().take(256).enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'\n' | b'\'' | b'"' | b'$' | b'`' | b'\\' => return false,
                _ => {}
            }
            if depth == 0 {
                let text = self.rest().get(..=index).unwrap_or_default().to_owned();
                push(pieces, &text, false);
                self.at += index + 1;
                return true;
            }
        }
        false
    }

    fn escape(&mut self, pieces: &mut Vec<Piece>) {
        self.at += 1;
        let Some(letter) = self.rest().chars().next() else {
            return push(pieces, "\\", true);
        };
        self.at += letter.len_utf8();
        if letter != '\n' {
            push(pieces, letter.encode_utf8(&mut [0; 4]), true);
        }
    }

    fn single(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.at += 1;
        let rest = self.rest();
        let end = rest
            .find('\'')
            .ok_or_else(|| self.fault(Reason::Unclosed))?;
        push(pieces, rest.get(..end).unwrap_or_default(), true);
        self.at += end + 1;
        Ok(())
    }

    fn quoted(&mut self, pieces: &mut Vec<Piece>, until: Until) -> Parsed<()> {
        loop {
            if until == Until::Byte(self.at) {
                return Ok(());
            }
            match self.byte(0) {
                None => return Err(self.fault(Reason::Unclosed)),
                Some(b'"') if until == Until::Quote => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.quoted_escape(pieces),
                Some(b'$') => self.dollar(pieces, true)?,
                Some(b'`') => self.backticks(pieces, true)?,
                Some(_) => {
                    let rest = match until {
                        Until::Byte(end) => self.text.get(self.at..end).unwrap_or_default(),
                        Until::Quote => self.rest(),
                    };
                    let stop = |byte| {
                        matches!(byte, b'\\' | b'$' | b'`')
                            || (byte == b'"' && until == Until::Quote)
                    };
                    let end = rest.bytes().position(stop).unwrap_or(rest.len()).max(1);
                    push(pieces, rest.get(..end).unwrap_or_default(), true);
                    self.at += end;
                }
            }
            // A substitution that ran past the end was cut by it: the bounds disagree.
            if let Until::Byte(end) = until
                && self.at > end
            {
                return Err(self.fault(Reason::Syntax));
            }
        }
    }

    fn quoted_escape(&mut self, pieces: &mut Vec<Piece>) {
        match self.byte(1) {
            Some(b'\n') => self.at += 2,
            Some(byte @ (b'$' | b'`' | b'"' | b'\\')) => {
                push(pieces, char::from(byte).encode_utf8(&mut [0; 4]), true);
                self.at += 2;
            }
            _ => {
                push(pieces, "\\", true);
                self.at += 1;
            }
        }
    }

    /// Parses text as if it were quoted, up to a byte that is known to end it.
    pub(super) fn quoted_to(&mut self, end: usize) -> Parsed<Word> {
        let mut pieces = Vec::new();
        self.nested(|parser| parser.quoted(&mut pieces, Until::Byte(end)))?;
        Ok(Word { pieces })
    }

    /// Parses the whole text as the body of a here-document.
    pub(super) fn here_text(&mut self) -> Parsed<Word> {
        self.quoted_to(self.text.len())
    }

    /// Finds the `))` that ends an arithmetic expression opened `skip` bytes from here.
    pub(super) fn arithmetic_end(&self, skip: usize) -> Option<usize> {
        let start = self.at + skip;
        let mut depth = 0_usize;
        for (index, byte) in self.text.get(start..)?.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' if depth == 0 => {
                    let end = start + index;
                    return (self.text.as_bytes().get(end + 1) == Some(&b')')).then_some(end);
                }
                b')' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Parsed<()> {
        match self.byte(1) {
            Some(b'(') if self.byte(2) == Some(b'(') && self.arithmetic_end(3).is_some() => {
                let end = self.arithmetic_end(3).unwrap_or(self.at);
                self.at += 3;
                pieces.push(Piece::Arithmetic(self.quoted_to(end)?));
                self.at = end + 2;
            }
            Some(b'(') => {
                self.at += 2;
                let script = Rc::new(self.nested(|parser| parser.closed_script(")"))?);
                pieces.push(Piece::Command { script, quoted });
            }
            Some(b'{') => {
                self.at += 2;
                let piece = self.nested(|parser| parser.braced(quoted))?;
                pieces.push(piece);
            }
            Some(b'\'') if !quoted => {
                self.at += 2;
                let text = self.ansi_c()?;
                push(pieces, &text, true);
            }
            Some(b'"') if !quoted => {
                self.at += 2;
                push(pieces, "", true);
                self.quoted(pieces, Until::Quote)?;
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.at += 1;
                let name = self.variable_name();
                pieces.push(Piece::Parameter {
                    name,
                    change: Change::None,
                    quoted,
                });
            }
            Some(byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 2;
                let name = char::from(byte).to_string();
                pieces.push(Piece::Parameter {
                    name,
                    change: Change::None,
                    quoted,
                });
            }
            _ => {
                push(pieces, "$", true);
                self.at += 1;
            }
        }
        Ok(())
    }

    fn variable_name(&mut self) -> String {
        let rest = self.rest();
        let end = rest
            .bytes()
            .position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default().to_owned()
    }

    /// Parses `${..}` past its opening.
    fn braced(&mut self, quoted: bool) -> Parsed<Piece> {
        let indirect = self.byte(1) != Some(b'}') && self.eat("!");
        let length = !indirect && self.byte(1) != Some(b'}') && self.eat("#");
        let mut name = self.variable_name();
        if name.is_empty()
            && let Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) = self.byte(0)
        {
            name.push(char::from(byte));
            self.at += 1;
        }
        if self.byte(0) == Some(b'[') {
            let rest = self.rest();
            let end = rest.find(']').ok_or_else(|| self.fault(Reason::Unclosed))?;
            name.push_str(rest.get(..=end).unwrap_or_default());
            self.at += end + 1;
        }
        let mut change = self.change()?;
        self.expect("}")?;
        if length {
            change = Change::Length;
        } else if indirect {
            change = Change::Indirect;
        }
        Ok(Piece::Parameter {
            name,
            change,
            quoted,
        })
    }

    fn change(&mut self) -> Parsed<Change> {
        let word = |parser: &mut Self| -> Parsed<Word> {
            let mut pieces = Vec::new();
            parser.bare_pieces(&mut pieces, true)?;
            Ok(Word { pieces })
        };
        let rest = self.rest();
        if rest.starts_with('}') {
            return Ok(Change::None);
        }
        for (operator, assigns) in [
            (":-", false),
            ("-", false),
            (":=", true),
            ("=", true),
            (":?", false),
            ("?", false),
        ] {
            if self.eat(operator) {
                return Ok(Change::Default(word(self)?, assigns));
            }
        }
        if self.eat(":+") || self.eat("+") {
            return Ok(Change::Alternative(word(self)?));
        }
        if self.eat(":") {
            return Ok(Change::Slice(word(self)?));
        }
        for (operator, end, longest) in [
            ("##", false, true),
            ("#", false, false),
            ("%%", true, true),
            ("%", true, false),
        ] {
            if self.eat(operator) {
                return Ok(Change::Trim {
                    pattern: word(self)?,
                    end,
                    longest,
                });
            }
        }
        if self.eat("/") {
            let all = self.eat("/");
            let (pattern, with) = split_slash(word(self)?);
            return Ok(Change::Replace { pattern, with, all });
        }
        for (operator, upper, all) in [
            ("^^", true, true),
            ("^", true, false),
            (",,", false, true),
            (",", false, false),
        ] {
            if self.eat(operator) {
                word(self)?;
                return Ok(Change::Case { upper, all });
            }
        }
        word(self)?;
        Ok(Change::Other)
    }

    fn backticks(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        loop {
            let rest = self.rest();
            let end = rest
                .find(['`', '\\'])
                .ok_or_else(|| self.fault(Reason::Unclosed))?;
            inner.push_str(rest.get(..end).unwrap_or_default());
            self.at += end + 1;
            if rest.get(end..).is_some_and(|rest| rest.starts_with('`')) {
                break;
            }
            match self.byte(0) {
                Some(byte @ (b'`' | b'\\' | b'$')) => {
                    inner.push(char::from(byte));
                    self.at += 1;
                }
                _ => inner.push('\\'),
            }
        }
        let span = self.span.clone().unwrap_or(start..self.at);
        let script = self.nested(|parser| parse(&inner, parser.depth, Some(span)))?;
        pieces.push(Piece::Command {
            script: Rc::new(script),
            quoted,
        });
        Ok(())
    }

    /// Parses `$'..'` past its opening.
    fn ansi_c(&mut self) -> Parsed<String> {
        let mut bytes = Vec::new();
        loop {
            let rest = self.rest();
            let end = rest
                .find(['\'', '\\'])
                .ok_or_else(|| self.fault(Reason::Unclosed))?;
            bytes.extend_from_slice(rest.get(..end).unwrap_or_default().as_bytes());
            self.at += end + 1;
            if rest.get(end..).is_some_and(|rest| rest.starts_with('\'')) {
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            }
            let rest = self.rest();
            self.at += super::escape::unescape(rest, &mut bytes);
        }
    }
}

/// Splits the words of `${name/pattern/with}` at the first unquoted slash.
fn split_slash(word: Word) -> (Word, Word) {
    let (mut pattern, mut with, mut past) = (Word::default(), Word::default(), false);
    for piece in word.pieces {
        match piece {
            Piece::Literal {
                text,
                quoted: false,
            } if !past && text.contains('/') => {
                past = true;
                let (before, after) = text.split_once('/').unwrap_or_default();
                push(&mut pattern.pieces, before, false);
                push(&mut with.pieces, after, false);
            }
            piece if past => with.pieces.push(piece),
            piece => pattern.pieces.push(piece),
        }
    }
    (pattern, with)
}
