//! The command interpreter of Windows, parsed into the same tree.
//!
//! `%NAME%` and `!NAME!` become parameters, `^` escapes, `&`, `&&`, `||` and `|` join commands.
//! Brackets group; blocks of `if` and `for` are walked as if they always ran.

use std::ops::Range;

use super::MAX_DEPTH;
use super::facts::Reason;
use super::parse::{Fault, Parsed};
use super::syntax::{Change, Command, Item, Kind, Piece, Redirect, RedirectKind, Script, Word};

/// Parses a whole text that stands `depth` levels inside another.
pub(super) fn parse(text: &str, depth: usize, span: Option<Range<usize>>) -> Parsed<Script> {
    let mut reader = Reader {
        text,
        at: 0,
        depth,
        span,
    };
    let script = reader.script(false)?;
    if reader.at < text.len() {
        return Err(reader.fault(Reason::Syntax));
    }
    Ok(script)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    span: Option<Range<usize>>,
}

impl Reader<'_> {
    fn fault(&self, reason: Reason) -> Fault {
        Fault {
            reason,
            at: self.span.as_ref().map_or(self.at, |span| span.start),
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn script(&mut self, bracketed: bool) -> Parsed<Script> {
        let mut items = Vec::new();
        let mut conditional = false;
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) if bracketed => return Err(self.fault(Reason::Unclosed)),
                (None, _) => return Ok(Script { items }),
                (Some(b')'), _) if bracketed => {
                    self.at += 1;
                    return Ok(Script { items });
                }
                (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => {
                    conditional = true;
                    self.at += 2;
                }
                (Some(b' ' | b'\t' | b'\r' | b'@' | b','), _) => self.at += 1,
                (Some(b'&' | b'\n' | b';' | b')' | b'|'), _) => {
                    conditional = false;
                    self.at += 1;
                }
                (Some(_), _) => {
                    let commands = self.pipeline()?;
                    items.push(Item {
                        conditional,
                        commands,
                    });
                }
            }
        }
    }

    fn pipeline(&mut self) -> Parsed<Vec<Command>> {
        let mut commands = Vec::new();
        loop {
            let start = self.at;
            let (kind, redirects) = self.command()?;
            let span = self.span.clone().unwrap_or(start..self.at);
            commands.push(Command {
                kind,
                redirects,
                span,
            });
            if self.byte(0) != Some(b'|') || self.byte(1) == Some(b'|') {
                return Ok(commands);
            }
            self.at += 1;
        }
    }

    fn command(&mut self) -> Parsed<(Kind, Vec<Redirect>)> {
        let (mut words, mut redirects) = (Vec::new(), Vec::new());
        loop {
            while matches!(self.byte(0), Some(b' ' | b'\t' | b'\r')) {
                self.at += 1;
            }
            match self.byte(0) {
                None | Some(b'&' | b'|' | b'\n' | b')') => break,
                Some(b'(') if words.is_empty() => {
                    if self.depth >= MAX_DEPTH {
                        return Err(self.fault(Reason::TooDeep));
                    }
                    self.at += 1;
                    self.depth += 1;
                    let script = self.script(true)?;
                    self.depth -= 1;
                    return Ok((Kind::Group(script), redirects));
                }
                Some(byte @ (b'<' | b'>')) => redirects.push(self.redirect(byte)),
                Some(b'1' | b'2') if self.byte(1) == Some(b'>') => {
                    let error = self.byte(0) == Some(b'2');
                    self.at += 1;
                    let mut redirect = self.redirect(b'>');
                    redirect.fd = error.then_some(2);
                    redirects.push(redirect);
                }
                Some(_) => {
                    let word = self.word();
                    // `do` and `if x` lead to the command that runs.
                    let leads = word.bare().is_some_and(|text| {
                        text.eq_ignore_ascii_case("do") || text.eq_ignore_ascii_case("else")
                    });
                    if leads {
                        words.clear();
                    } else {
                        words.push(word);
                    }
                }
            }
        }
        Ok((
            Kind::Simple {
                assigns: Vec::new(),
                words,
            },
            redirects,
        ))
    }

    fn redirect(&mut self, operator: u8) -> Redirect {
        while self.byte(0) == Some(operator) {
            self.at += 1;
        }
        if self.byte(0) == Some(b'&') {
            self.at += 1;
            self.at += usize::from(self.byte(0).is_some_and(|byte| byte.is_ascii_digit()));
            return Redirect {
                fd: Some(2),
                kind: RedirectKind::Copy(Word::quoted("1")),
            };
        }
        while self.byte(0) == Some(b' ') {
            self.at += 1;
        }
        let word = self.word();
        let kind = if operator == b'<' {
            RedirectKind::In(word)
        } else {
            RedirectKind::Out(word)
        };
        Redirect { fd: None, kind }
    }

    fn word(&mut self) -> Word {
        let mut pieces = Vec::new();
        let (mut quoted, start) = (false, self.at);
        while let Some(byte) = self.byte(0) {
            match byte {
                b'"' => {
                    quoted = !quoted;
                    self.at += 1;
                }
                b'^' if !quoted => {
                    self.at += 1;
                    self.letter(&mut pieces, true);
                }
                b'%' | b'!' if self.variable(byte, &mut pieces) => {}
                b' ' | b'\t' | b'\r' | b'\n' | b'&' | b'|' | b'<' | b'>' | b')' if !quoted => {
                    break;
                }
                b'(' if !quoted && self.at == start => {
                    self.at += 1;
                    break;
                }
                _ => self.letter(&mut pieces, quoted),
            }
        }
        Word { pieces }
    }

    fn letter(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        let Some(letter) = self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        else {
            return;
        };
        self.at += letter.len_utf8();
        if let Some(Piece::Literal { text, quoted: last }) = pieces.last_mut()
            && *last == quoted
        {
            text.push(letter);
        } else {
            pieces.push(Piece::Literal {
                text: letter.to_string(),
                quoted,
            });
        }
    }

    /// Reads `%NAME%`; says whether one stood here.
    fn variable(&mut self, mark: u8, pieces: &mut Vec<Piece>) -> bool {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let length = rest
            .bytes()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'(' | b')'))
            .count();
        if length == 0 || rest.as_bytes().get(length) != Some(&mark) {
            return false;
        }
        let name = rest.get(..length).unwrap_or_default().to_ascii_uppercase();
        pieces.push(Piece::Parameter {
            name,
            change: Change::None,
            quoted: true,
        });
        self.at += length + 2;
        true
    }
}
