//! Commands of POSIX shell and bash: lists, pipelines, compound commands, redirections.
//!
//! One pass, no backtracking: substitutions are parsed in place as they are met. Words are in
//! `word`. What the grammar does not allow is a [`Fault`] with a place, never a guess.

mod compound;
mod simple;

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::MAX_DEPTH;
use super::facts::Reason;
use super::syntax::{Assign, Assigned, Command, Item, Kind, Piece, Script, Word};

/// Why a text is not a script, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) reason: Reason,
    pub(super) at: usize,
}

pub(super) type Parsed<T> = Result<T, Fault>;

/// A here-document whose body has not been reached yet.
pub(super) struct Pending {
    delimiter: String,
    literal: bool,
    tabs: bool,
    body: Rc<OnceCell<Word>>,
}

/// The place in a text that is being parsed.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// How deep constructs are nested here, counted from the outermost text.
    pub(super) depth: usize,
    pub(super) pending: Vec<Pending>,
    /// Where pieces of another text say that they stand.
    pub(super) span: Option<Range<usize>>,
}

/// Parses a whole text that stands `depth` levels inside another.
pub(super) fn parse(text: &str, depth: usize, span: Option<Range<usize>>) -> Parsed<Script> {
    let mut parser = Parser {
        text,
        at: 0,
        depth,
        pending: Vec::new(),
        span,
    };
    let script = parser.script()?;
    if parser.at < text.len() {
        return Err(parser.fault(Reason::Syntax));
    }
    Ok(script)
}

const OPERATORS: [&str; 12] = [
    "<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">|", ">&", ">",
];

const RESERVED_ENDS: &[&str] = &["then", "do", "done", "fi", "elif", "else", "esac", "}"];

impl<'a> Parser<'a> {
    pub(super) fn fault(&self, reason: Reason) -> Fault {
        Fault {
            reason,
            at: self.span.as_ref().map_or(self.at, |span| span.start),
        }
    }

    /// Runs `inner` one level deeper, or says that it is too deep.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fault(Reason::TooDeep));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips blanks and continued lines, but not newlines.
    pub(super) fn blanks(&mut self) {
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b' ' | b'\t' | b'\r'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(b'#'), _) => self.comment(),
                _ => return,
            }
        }
    }

    fn comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// Skips blanks, newlines and the bodies of here-documents that begin there.
    fn lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.byte(0) != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn newline(&mut self) -> Parsed<()> {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.here_document(&pending)?;
        }
        Ok(())
    }

    fn here_document(&mut self, pending: &Pending) -> Parsed<()> {
        let mut body = String::new();
        while self.at < self.text.len() {
            let rest = self.rest();
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            let mut line = rest.get(..end).unwrap_or_default();
            self.at += end;
            if pending.tabs {
                line = line.trim_start_matches('\t');
            }
            if line.trim_end_matches(['\n', '\r']) == pending.delimiter {
                break;
            }
            body.push_str(line);
        }
        let word = if pending.literal {
            Word::quoted(body)
        } else {
            let span = self.span.clone().unwrap_or(self.at..self.at);
            let mut inner = Parser {
                text: &body,
                at: 0,
                depth: self.depth,
                pending: Vec::new(),
                span: Some(span),
            };
            inner.nested(Parser::here_text)?
        };
        drop(pending.body.set(word));
        Ok(())
    }

    /// Gives the reserved word or bare name that stands here.
    fn keyword(&self) -> Option<&'a str> {
        const LONGEST: usize = 12;
        let rest = self.rest();
        let ends = |byte: u8| byte.is_ascii_whitespace() || b";&|()<>".contains(&byte);
        let end = match rest.bytes().take(LONGEST).position(ends) {
            Some(end) => end,
            None if rest.len() < LONGEST => rest.len(),
            // Longer than any reserved word.
            None => return None,
        };
        rest.get(..end).filter(|word| !word.is_empty())
    }

    fn eat_keyword(&mut self, word: &str) -> bool {
        let found = self.keyword() == Some(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect_keyword(&mut self, word: &str) -> Parsed<()> {
        self.lines()?;
        if self.eat_keyword(word) {
            return Ok(());
        }
        let reason = if self.at >= self.text.len() {
            Reason::Unclosed
        } else {
            Reason::Syntax
        };
        Err(self.fault(reason))
    }

    /// Parses items up to a closing bracket, a closing reserved word, `;;` or the end.
    pub(super) fn script(&mut self) -> Parsed<Script> {
        let mut items = Vec::new();
        loop {
            self.lines()?;
            if self.at_end_of_list() {
                return Ok(Script { items });
            }
            self.and_or(&mut items)?;
            self.blanks();
            match (self.byte(0), self.byte(1)) {
                (Some(b';'), Some(b';' | b'&')) | (None | Some(b')'), _) => {
                    return Ok(Script { items });
                }
                (Some(b';' | b'&'), _) => self.at += 1,
                (Some(b'\n'), _) => self.newline()?,
                _ if self.at_end_of_list() => return Ok(Script { items }),
                _ => return Err(self.fault(Reason::Syntax)),
            }
        }
    }

    fn at_end_of_list(&self) -> bool {
        match (self.byte(0), self.byte(1)) {
            (None | Some(b')'), _) | (Some(b';'), Some(b';' | b'&')) => true,
            _ => self
                .keyword()
                .is_some_and(|word| RESERVED_ENDS.contains(&word)),
        }
    }

    fn and_or(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let mut conditional = false;
        loop {
            self.lines()?;
            while self.eat_keyword("!") {
                self.blanks();
            }
            let commands = self.pipeline()?;
            items.push(Item {
                conditional,
                commands,
            });
            self.blanks();
            if !(self.eat("&&") || self.eat("||")) {
                return Ok(());
            }
            conditional = true;
        }
    }

    fn pipeline(&mut self) -> Parsed<Vec<Command>> {
        let mut commands = vec![self.command()?];
        loop {
            self.blanks();
            if self.byte(0) != Some(b'|') || self.byte(1) == Some(b'|') {
                return Ok(commands);
            }
            self.at += 1;
            self.eat("&");
            self.lines()?;
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        self.blanks();
        let start = self.at;
        let kind = self.nested(Self::kind)?;
        let mut command = Command {
            kind,
            redirects: Vec::new(),
            span: start..start,
        };
        if let Kind::Simple { .. } = command.kind {
            command = self.simple()?;
        } else {
            while let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
            }
        }
        command.span = self.span.clone().unwrap_or(start..self.at);
        Ok(command)
    }

    /// Parses a compound command; an empty simple one stands for "none here".
    fn kind(&mut self) -> Parsed<Kind> {
        if self.byte(0) == Some(b'(') {
            if self.byte(1) == Some(b'(')
                && let Some(end) = self.arithmetic_end(2)
            {
                self.at += 2;
                let word = self.quoted_to(end)?;
                self.at = end + 2;
                return Ok(Kind::Test(vec![word]));
            }
            self.at += 1;
            return Ok(Kind::Subshell(self.closed_script(")")?));
        }
        let Some(word) = self.keyword() else {
            return Ok(none());
        };
        match word {
            "{" => {
                self.at += 1;
                let script = self.script()?;
                self.expect_keyword("}")?;
                Ok(Kind::Group(script))
            }
            "if" => self.conditional(),
            "while" | "until" => self.while_loop(word),
            "for" | "select" => self.for_loop(word),
            "case" => self.case(),
            "[[" => self.test(),
            "function" => {
                self.at += word.len();
                self.blanks();
                let name = self.name();
                self.blanks();
                if self.eat("(") {
                    self.blanks();
                    self.expect(")")?;
                }
                self.function(name)
            }
            "coproc" => {
                self.at += word.len();
                self.blanks();
                self.coprocess()
            }
            _ => Ok(none()),
        }
    }

    /// `coproc [NAME] command`: the name is set to where its output is read and its input written.
    fn coprocess(&mut self) -> Parsed<Kind> {
        let rest = self.rest();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let (first, after) = rest
            .find(|letter| !plain(letter))
            .and_then(|end| rest.split_at_checked(end))
            .unwrap_or_default();
        // Only a command in brackets can have a name.
        let named = !first.is_empty()
            && after.starts_with([' ', '\t'])
            && after.trim_start().starts_with(['{', '(']);
        let name = if named { first } else { "COPROC" }.to_owned();
        if named {
            self.at += first.len();
            self.blanks();
        }
        let one = |command| Script {
            items: vec![Item {
                conditional: false,
                commands: vec![command],
            }],
        };
        let command = self.command()?;
        let span = command.span.clone();
        let script = Rc::new(one(command));
        let end = |output| Word {
            pieces: vec![Piece::Process {
                script: Rc::clone(&script),
                output,
            }],
        };
        let kind = Kind::Simple {
            assigns: vec![Assign {
                name,
                append: false,
                value: Assigned::List(vec![end(false), end(true)]),
            }],
            words: Vec::new(),
        };
        Ok(Kind::Group(one(Command {
            kind,
            redirects: Vec::new(),
            span,
        })))
    }

    pub(super) fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) {
            return Ok(());
        }
        let reason = if self.at >= self.text.len() {
            Reason::Unclosed
        } else {
            Reason::Syntax
        };
        Err(self.fault(reason))
    }

    /// Parses a script that ends with a bracket.
    pub(super) fn closed_script(&mut self, close: &str) -> Parsed<Script> {
        let script = self.script()?;
        self.expect(close)?;
        Ok(script)
    }

    fn name(&mut self) -> String {
        let rest = self.rest();
        let end = rest
            .find(|letter: char| letter.is_whitespace() || "();|&<>".contains(letter))
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default().to_owned()
    }
}

fn none() -> Kind {
    Kind::Simple {
        assigns: Vec::new(),
        words: Vec::new(),
    }
}
