//! `PowerShell`, parsed into the same tree: statements, pipelines, arguments, script blocks.
//!
//! Expressions (`[Type]::Method(..)`, `(..).Member`) are kept as text beside the commands found in
//! their brackets; `programs::windows` reads both. The grammar is looser than the real one: what
//! would be an error there may be read here, which only adds facts.

use std::ops::Range;
use std::rc::Rc;

use super::MAX_DEPTH;
use super::facts::Reason;
use super::parse::{Fault, Parsed};
use super::syntax::{
    Assign, Assigned, Change, Command, Item, Kind, Piece, Redirect, RedirectKind, Script, Word,
};

/// The name under which an expression is run.
pub(super) const EXPRESSION: &str = "\0expression";

/// Parses a whole text that stands `depth` levels inside another.
pub(super) fn parse(text: &str, depth: usize, span: Option<Range<usize>>) -> Parsed<Script> {
    let mut reader = Reader {
        text,
        at: 0,
        depth,
        span,
    };
    let script = reader.script(None)?;
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

impl<'a> Reader<'a> {
    fn fault(&self, reason: Reason) -> Fault {
        Fault {
            reason,
            at: self.span.as_ref().map_or(self.at, |span| span.start),
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fault(Reason::TooDeep));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn blanks(&mut self) {
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b' ' | b'\t' | b'\r'), _) => self.at += 1,
                (Some(b'`'), Some(b'\n')) => self.at += 2,
                (Some(b'<'), Some(b'#')) => {
                    let rest = self.rest();
                    self.at += rest.find("#>").map_or(rest.len(), |end| end + 2);
                }
                (Some(b'#'), _) => {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Parses statements up to `close`, or to the end.
    fn script(&mut self, close: Option<u8>) -> Parsed<Script> {
        let mut items = Vec::new();
        loop {
            self.blanks();
            match self.byte(0) {
                None if close.is_some() => return Err(self.fault(Reason::Unclosed)),
                None => return Ok(Script { items }),
                byte if byte == close => {
                    self.at += 1;
                    return Ok(Script { items });
                }
                Some(b';' | b'\n' | b'&' | b'|' | b',') => self.at += 1,
                Some(b')' | b'}' | b']') => return Err(self.fault(Reason::Syntax)),
                Some(_) => {
                    let commands = self.pipeline()?;
                    items.push(Item {
                        conditional: false,
                        commands,
                    });
                }
            }
        }
    }

    fn pipeline(&mut self) -> Parsed<Vec<Command>> {
        let mut commands = Vec::new();
        loop {
            self.blanks();
            let start = self.at;
            let (kind, redirects) = self.command()?;
            let span = self.span.clone().unwrap_or(start..self.at);
            commands.push(Command {
                kind,
                redirects,
                span,
            });
            self.blanks();
            if self.byte(0) != Some(b'|') || self.byte(1) == Some(b'|') {
                return Ok(commands);
            }
            self.at += 1;
            while matches!(self.byte(0), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            }
        }
    }

    fn command(&mut self) -> Parsed<(Kind, Vec<Redirect>)> {
        if let Some((name, length)) = assignment(self.rest()) {
            let name = name.to_ascii_lowercase();
            self.at += length;
            let commands = self.nested(Self::pipeline)?;
            let script = Rc::new(Script {
                items: vec![Item {
                    conditional: false,
                    commands,
                }],
            });
            let value = Word {
                pieces: vec![Piece::Command {
                    script,
                    quoted: true,
                }],
            };
            let assign = Assign {
                name,
                append: false,
                value: Assigned::Word(value),
            };
            return Ok((
                Kind::Simple {
                    assigns: vec![assign],
                    words: Vec::new(),
                },
                Vec::new(),
            ));
        }
        if let Some(keyword) = self.keyword() {
            self.at += keyword.len();
            return Ok((self.control()?, Vec::new()));
        }
        // The operators that call or source what follows.
        if matches!(
            (self.byte(0), self.byte(1)),
            (
                Some(b'&' | b'.'),
                Some(b' ' | b'\'' | b'"' | b'(' | b'{' | b'$')
            )
        ) {
            self.at += 1;
        }
        self.blanks();
        if matches!(
            self.byte(0),
            Some(b'[' | b'(' | b'\'' | b'"' | b'@' | b'$' | b'-' | b'!')
        ) && !self.calls()
        {
            return Ok((self.expression()?, Vec::new()));
        }
        let (mut words, mut redirects) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            match self.byte(0) {
                None | Some(b';' | b'\n' | b'|' | b')' | b'}' | b'&') => break,
                Some(b'>') => redirects.push(self.redirect()?),
                Some(b'1'..=b'6') if self.byte(1) == Some(b'>') => {
                    self.at += 1;
                    redirects.push(self.redirect()?);
                }
                Some(b',') => self.at += 1,
                Some(_) => {
                    let start = self.at;
                    words.push(self.word()?);
                    // A bracket that belongs to nobody.
                    if self.at == start {
                        self.at += 1;
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

    /// Says whether a quoted string or variable here is the name of a command: `& 'x' args`.
    fn calls(&self) -> bool {
        let before = self
            .text
            .get(..self.at)
            .unwrap_or_default()
            .trim_end_matches([' ', '\t']);
        before.ends_with(['&', '.']) && !before.ends_with("&&")
    }

    fn keyword(&self) -> Option<&'static str> {
        const KEYWORDS: &[&str] = &[
            "if", "elseif", "else", "foreach", "for", "while", "do", "try", "catch", "finally",
            "function", "switch", "param", "return", "throw",
        ];
        let rest = self.rest();
        let length = rest
            .bytes()
            .take(10)
            .take_while(u8::is_ascii_alphabetic)
            .count();
        let word = rest.get(..length)?.to_ascii_lowercase();
        let follows = rest.as_bytes().get(length);
        let ends = matches!(follows, None | Some(b' ' | b'(' | b'{' | b'\n' | b'\t'));
        KEYWORDS
            .iter()
            .copied()
            .find(|keyword| *keyword == word && ends)
    }

    /// Parses the brackets and blocks that follow a keyword; any of them may run.
    fn control(&mut self) -> Parsed<Kind> {
        let mut scripts = Vec::new();
        loop {
            self.blanks();
            let close = match self.byte(0) {
                Some(b'(') => b')',
                Some(b'{') => b'}',
                _ => break,
            };
            self.at += 1;
            scripts.push(self.nested(|reader| reader.script(Some(close)))?);
        }
        Ok(Kind::Branches(scripts))
    }

    /// Keeps an expression as text, with the commands in its brackets.
    fn expression(&mut self) -> Parsed<Kind> {
        let start = self.at;
        let mut pieces = Vec::new();
        loop {
            match self.byte(0) {
                None | Some(b';' | b'\n' | b'|' | b')' | b'}') => break,
                Some(b'&') if self.byte(1) == Some(b'&') => break,
                Some(_) => {
                    let at = self.at;
                    let word = self.nested(Self::word)?;
                    pieces.extend(
                        word.pieces
                            .into_iter()
                            .filter(|piece| !matches!(piece, Piece::Literal { .. })),
                    );
                    if self.at == at {
                        self.at += 1;
                    }
                }
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        let words = vec![Word::quoted(EXPRESSION), Word::quoted(raw), Word { pieces }];
        Ok(Kind::Simple {
            assigns: Vec::new(),
            words,
        })
    }

    fn redirect(&mut self) -> Parsed<Redirect> {
        while self.byte(0) == Some(b'>') {
            self.at += 1;
        }
        if self.byte(0) == Some(b'&') {
            self.at += 1;
            self.at += usize::from(self.byte(0).is_some_and(|byte| byte.is_ascii_digit()));
            return Ok(Redirect {
                fd: Some(2),
                kind: RedirectKind::Copy(Word::quoted("1")),
            });
        }
        self.blanks();
        Ok(Redirect {
            fd: None,
            kind: RedirectKind::Out(self.word()?),
        })
    }

    fn word(&mut self) -> Parsed<Word> {
        let mut pieces = Vec::new();
        loop {
            match (self.byte(0), self.byte(1)) {
                (
                    None
                    | Some(
                        b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b')' | b'}' | b',' | b'&'
                        | b'>',
                    ),
                    _,
                ) => break,
                (Some(b'\''), _) => self.single(&mut pieces)?,
                (Some(b'"'), _) => self.double(&mut pieces)?,
                (Some(b'@'), Some(b'\'' | b'"')) => self.here_string(&mut pieces)?,
                (Some(b'$'), Some(b'(')) | (Some(b'@'), Some(b'(' | b'{')) => {
                    self.at += 1;
                    self.bracket(&mut pieces)?;
                }
                (Some(b'(' | b'{'), _) => self.bracket(&mut pieces)?,
                (Some(b'$'), _) => self.variable(&mut pieces, false),
                (Some(b'`'), _) => {
                    self.at += 1;
                    self.letter(&mut pieces, true);
                }
                (Some(_), _) => self.letter(&mut pieces, false),
            }
        }
        Ok(Word { pieces })
    }

    fn letter(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        if let Some(letter) = self.rest().chars().next() {
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
    }

    fn bracket(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let close = if self.byte(0) == Some(b'{') {
            b'}'
        } else {
            b')'
        };
        let start = self.at;
        self.at += 1;
        let script = Rc::new(self.nested(|reader| reader.script(Some(close)))?);
        if close == b'}' {
            // A block is a value; the command that takes it runs it.
            let inner = self
                .text
                .get(start + 1..self.at.saturating_sub(1))
                .unwrap_or_default();
            pieces.push(Piece::Literal {
                text: format!("{{{inner}}}"),
                quoted: true,
            });
        } else {
            pieces.push(Piece::Command {
                script,
                quoted: true,
            });
        }
        Ok(())
    }

    fn single(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.at += 1;
        loop {
            let rest = self.rest();
            let end = rest
                .find('\'')
                .ok_or_else(|| self.fault(Reason::Unclosed))?;
            pieces.push(Piece::Literal {
                text: rest.get(..end).unwrap_or_default().to_owned(),
                quoted: true,
            });
            self.at += end + 1;
            if self.byte(0) != Some(b'\'') {
                return Ok(());
            }
        }
    }

    fn double(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.at += 1;
        pieces.push(Piece::Literal {
            text: String::new(),
            quoted: true,
        });
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) => return Err(self.fault(Reason::Unclosed)),
                (Some(b'"'), Some(b'"')) | (Some(b'`'), Some(_)) => {
                    self.at += 1;
                    self.letter(pieces, true);
                }
                (Some(b'"'), _) => {
                    self.at += 1;
                    return Ok(());
                }
                (Some(b'$'), Some(b'(')) => {
                    self.at += 1;
                    self.bracket(pieces)?;
                }
                (Some(b'$'), _) => self.variable(pieces, true),
                (Some(_), _) => self.letter(pieces, true),
            }
        }
    }

    fn here_string(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let close = if self.byte(1) == Some(b'"') {
            "\"@"
        } else {
            "'@"
        };
        self.at += 2;
        let rest = self.rest();
        let end = rest
            .find(close)
            .ok_or_else(|| self.fault(Reason::Unclosed))?;
        pieces.push(Piece::Literal {
            text: rest.get(..end).unwrap_or_default().to_owned(),
            quoted: true,
        });
        self.at += end + 2;
        Ok(())
    }

    fn variable(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        let rest = self.rest();
        let name: String = rest
            .chars()
            .skip(1)
            .take_while(|letter| {
                letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':' | '{' | '}')
            })
            .take(128)
            .collect();
        // `$x:` in a string is the variable and a colon.
        let name = name.trim_end_matches(':');
        if name.is_empty() {
            return self.letter(pieces, quoted);
        }
        self.at += 1 + name.len();
        let bare = name.trim_matches(['{', '}']);
        let lower = bare.to_ascii_lowercase();
        let name = match lower.strip_prefix("env:") {
            Some(_) => bare.get(4..).unwrap_or_default().to_ascii_uppercase(),
            None if lower == "home" => "HOME".to_owned(),
            None => lower,
        };
        pieces.push(Piece::Parameter {
            name,
            change: Change::None,
            quoted: true,
        });
    }
}

/// Recognizes `$name =` and `$name +=`.
fn assignment(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('$')?;
    let length = rest
        .bytes()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'))
        .count();
    let name = rest.get(..length).filter(|name| !name.is_empty())?;
    let after = rest.get(length..)?;
    let trimmed = after.trim_start_matches([' ', '\t']);
    let value = trimmed
        .strip_prefix("+=")
        .or_else(|| trimmed.strip_prefix('='))?;
    Some((name, text.len() - value.len()))
}
