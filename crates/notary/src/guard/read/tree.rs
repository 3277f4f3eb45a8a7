//! YAML as a small tree that knows its lines. Tags, anchors and aliases are refused: a pattern
//! such as `!**/.env` without quotes is a tag to YAML, and would silently vanish.

use saphyr_parser::{Event, Parser, ScanError, Span, StrInput};

use super::Problem;

/// Deepest nesting; a policy needs four.
const DEPTH: usize = 8;

/// One value and the line it starts on.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value. Scalars stay text: each key says itself what it takes.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<Node>),
    /// Line of the key, key, value.
    Map(Vec<(usize, String, Node)>),
}

type Next<'a> = (Event<'a>, Span);

/// Parses a file of exactly one document.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let mut reader = Reader(Parser::new_from_str(text));
    let mut root = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => {
                return root.ok_or_else(|| Problem::at(1, "the policy is empty"));
            }
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            _ if root.is_some() => {
                return Err(Problem::at(span.start.line(), "a policy is one document"));
            }
            event => root = Some(reader.node((event, span), 0)?),
        }
    }
}

struct Reader<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Next<'a>, Problem> {
        let syntax = |error: ScanError| {
            Problem::at(error.marker().line(), format!("bad YAML: {}", error.info()))
        };
        match self.0.next_event() {
            Some(event) => event.map_err(syntax),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, (event, span): Next<'a>, depth: usize) -> Result<Node, Problem> {
        let line = span.start.line();
        if depth > DEPTH {
            return Err(Problem::at(line, "nested too deeply"));
        }
        let value = match event {
            Event::Scalar(text, _, 0, None) => Value::Text(text.into_owned()),
            Event::SequenceStart(0, None) => Value::List(self.list(depth)?),
            Event::MappingStart(0, None) => Value::Map(self.map(depth)?),
            Event::Scalar(_, _, 0, Some(_)) => {
                return Err(Problem::at(
                    line,
                    "put a value that starts with `!` in quotes",
                ));
            }
            Event::Alias(_) => {
                return Err(Problem::at(
                    line,
                    "put a value that starts with `*` in quotes",
                ));
            }
            _ => {
                return Err(Problem::at(
                    line,
                    "tags and anchors are not understood here",
                ));
            }
        };
        Ok(Node { line, value })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Problem> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                next => items.push(self.node(next, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(usize, String, Node)>, Problem> {
        let mut members = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let line = span.start.line();
            let key = match event {
                Event::MappingEnd => return Ok(members),
                Event::Scalar(key, _, 0, None) => key.into_owned(),
                _ => return Err(Problem::at(line, "expected a plain key")),
            };
            let next = self.next()?;
            members.push((line, key, self.node(next, depth + 1)?));
        }
    }
}
