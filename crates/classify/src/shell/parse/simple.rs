//! Simple commands: assignments, words and redirections.

use std::cell::OnceCell;
use std::rc::Rc;

use super::super::facts::Reason;
use super::super::syntax::{Assign, Assigned, Command, Kind, Redirect, RedirectKind, Word};
use super::{OPERATORS, Parsed, Parser, Pending};

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Parsed<Command> {
        let (mut assigns, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
            } else if let Some(assign) = self.assign(words.is_empty())? {
                assigns.push(assign);
            } else if let Some(word) = self.word()? {
                words.push(word);
                if words.len() == 1 && assigns.is_empty() && self.function_brackets() {
                    let name = words
                        .first()
                        .and_then(Word::bare)
                        .unwrap_or_default()
                        .to_owned();
                    let kind = self.nested(|parser| parser.function(name))?;
                    return Ok(Command {
                        kind,
                        redirects,
                        span: 0..0,
                    });
                }
            } else {
                break;
            }
        }
        if words.is_empty() && assigns.is_empty() && redirects.is_empty() {
            return Err(self.fault(if self.at >= self.text.len() {
                Reason::Unclosed
            } else {
                Reason::Syntax
            }));
        }
        Ok(Command {
            kind: Kind::Simple { assigns, words },
            redirects,
            span: 0..0,
        })
    }

    /// Eats the `()` of a function definition.
    pub(super) fn function_brackets(&mut self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        let Some(inner) = rest.strip_prefix('(') else {
            return false;
        };
        let Some(after) = inner.trim_start_matches([' ', '\t']).strip_prefix(')') else {
            return false;
        };
        self.at = self.text.len() - after.len();
        true
    }

    /// Parses `NAME=value`; past the first word only the list form `NAME=(..)` is one.
    pub(super) fn assign(&mut self, leading: bool) -> Parsed<Option<Assign>> {
        let Some((name, append, length)) = assignment(self.rest()) else {
            return Ok(None);
        };
        let list = self.byte(length) == Some(b'(');
        if !leading && !list {
            return Ok(None);
        }
        let name = name.to_owned();
        self.at += length;
        let value = if list {
            self.at += 1;
            Assigned::List(self.nested(Self::list_words)?)
        } else {
            Assigned::Word(self.word()?.unwrap_or_default())
        };
        Ok(Some(Assign {
            name,
            append,
            value,
        }))
    }

    pub(super) fn list_words(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.lines()?;
            if self.eat(")") {
                return Ok(words);
            }
            let missing = if self.at >= self.text.len() {
                Reason::Unclosed
            } else {
                Reason::Syntax
            };
            words.push(self.word()?.ok_or_else(|| self.fault(missing))?);
        }
    }

    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        self.blanks();
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let fd = rest.get(..digits).and_then(|digits| digits.parse().ok());
        let operator = rest.get(digits..).unwrap_or_default();
        if operator.starts_with("<(") || operator.starts_with(">(") {
            return Ok(None);
        }
        let Some(found) = OPERATORS.iter().find(|&&known| operator.starts_with(known)) else {
            return Ok(None);
        };
        if digits > 0 && found.starts_with('&') {
            return Ok(None);
        }
        self.at += digits + found.len();
        self.blanks();
        if found.starts_with("<<") && *found != "<<<" {
            return self.here_operator(fd, *found == "<<-").map(Some);
        }
        let word = self.word()?.ok_or_else(|| self.fault(Reason::Syntax))?;
        let kind = match *found {
            "<<<" => RedirectKind::HereString(word),
            "<>" => RedirectKind::Both(word),
            "<" => RedirectKind::In(word),
            "<&" => RedirectKind::Copy(word),
            ">&" if is_fd(&word) => RedirectKind::Copy(word),
            _ => RedirectKind::Out(word),
        };
        let fd = fd.or(matches!(*found, "<&").then_some(0));
        Ok(Some(Redirect { fd, kind }))
    }

    pub(super) fn here_operator(&mut self, fd: Option<u32>, tabs: bool) -> Parsed<Redirect> {
        let start = self.at;
        let word = self.word()?.ok_or_else(|| self.fault(Reason::Syntax))?;
        let raw = self.text.get(start..self.at).unwrap_or_default();
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending {
            delimiter: super::super::word::literal(&word),
            literal: raw.contains(['\'', '"', '\\']),
            tabs,
            body: Rc::clone(&body),
        });
        Ok(Redirect {
            fd,
            kind: RedirectKind::HereDoc(body),
        })
    }
}

fn is_fd(word: &Word) -> bool {
    match word.bare() {
        Some(text) => {
            text == "-"
                || text
                    .trim_end_matches('-')
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
        }
        None => !word
            .pieces
            .iter()
            .any(|piece| matches!(piece, super::super::syntax::Piece::Literal { .. })),
    }
}

/// Recognizes `NAME=`, `NAME+=` and `NAME[..]=`; gives the name, whether it appends, the length.
fn assignment(text: &str) -> Option<(&str, bool, usize)> {
    let length = text
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    let name = text.get(..length)?;
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut at = length;
    if text.as_bytes().get(at) == Some(&b'[') {
        // A subscript long enough to need more is not worth the second scan.
        at += text
            .get(at..)?
            .bytes()
            .take(64)
            .position(|byte| byte == b']')?
            + 1;
    }
    let append = text.as_bytes().get(at) == Some(&b'+');
    at += usize::from(append);
    (text.as_bytes().get(at) == Some(&b'=')).then_some((name, append, at + 1))
}
