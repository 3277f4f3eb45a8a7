//! Text to nodes. YAML 1.2 and, as a part of it, JSON; every bound on what a file may ask of us is
//! here.
//!
//! Types are not looked at: a node is what the text says, and `decode` knows what was wanted.

mod places;
mod surrogates;

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use self::places::Places;
use crate::error::Problem;
use crate::node::{Entry, Node, Place, Value};
use crate::path::Path;
use crate::report::Report;
use crate::scalar;
use crate::source::{Source, Texts};

/// Largest file.
pub(crate) const LARGEST_FILE: usize = 1 << 20;
/// Deepest nesting of lists and maps.
const DEEPEST: usize = 64;
/// Values at most, after aliases are expanded.
const MOST_VALUES: usize = 100_000;
/// Bytes of text at most, after aliases are expanded.
const MOST_TEXT: usize = 4 << 20;

/// Reads a text; `None` where it is no document, with the reason in the report.
pub(crate) fn read(texts: &Texts, number: usize, report: &mut Report) -> Option<Node> {
    let source = texts.get(number)?;
    let (text, offsets) = surrogates::prepare(source.text(), source.is_json());
    let mut reader = Reader {
        texts,
        source,
        places: Places::new(source, number, offsets),
        report,
        parser: Parser::new_from_str(&text),
        anchors: BTreeMap::new(),
        values: 0,
        bytes: 0,
        depth: 0,
    };
    let document = reader.document();
    document
        .map_err(|stop| report.add_problem(stop.problem(source)))
        .ok()
}

/// Why reading ends before the end of the text.
struct Stop {
    offset: usize,
    message: String,
}

impl Stop {
    fn problem(self, source: &Source) -> Problem {
        let origin = source.origin(self.offset);
        Problem {
            origin,
            path: String::new(),
            message: self.message,
            hint: None,
        }
    }
}

/// What an anchor holds and how much it counts where it is repeated.
struct Anchor {
    node: Node,
    values: usize,
    bytes: usize,
    depth: usize,
}

struct Reader<'a, 'text> {
    texts: &'a Texts,
    source: &'a Source,
    places: Places<'a>,
    report: &'a mut Report,
    parser: Parser<'text, StrInput<'text>>,
    anchors: BTreeMap<usize, Anchor>,
    values: usize,
    bytes: usize,
    /// Values that are open; a path tells less, since what stands for a key has that of its map.
    depth: usize,
}

impl<'text> Reader<'_, 'text> {
    fn document(&mut self) -> Result<Node, Stop> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(document.unwrap_or_else(Node::empty_map)),
                Event::DocumentStart(_) if document.is_some() => {
                    return Err(self.stop(span, "a second document starts here; one is read"));
                }
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                other => document = Some(self.node(other, span, &Path::default())?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'text>, Span), Stop> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Err(Stop {
                offset: 0,
                message: "the text ends too early".to_owned(),
            }),
        }
    }

    fn syntax(&self, error: &ScanError) -> Stop {
        let kind = if self.source.is_json() {
            "JSON"
        } else {
            "YAML"
        };
        let message = format!("this is no valid {kind}: {}", error.info());
        Stop {
            offset: self.places.byte(error.marker().index()),
            message,
        }
    }

    fn stop(&self, span: Span, message: impl Into<String>) -> Stop {
        Stop {
            offset: self.places.byte(span.start.index()),
            message: message.into(),
        }
    }

    fn node(&mut self, event: Event<'text>, span: Span, path: &Path) -> Result<Node, Stop> {
        if self.depth > DEEPEST {
            return Err(self.too_deep(span));
        }
        self.depth += 1;
        let read = self.opened(event, span, path);
        self.depth -= 1;
        read
    }

    fn opened(&mut self, event: Event<'text>, span: Span, path: &Path) -> Result<Node, Stop> {
        let before = (self.values, self.bytes);
        self.count(1, 0, span)?;
        let (node, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                self.count(0, text.len(), span)?;
                (
                    self.scalar(&text, style, tag.as_deref(), span, path),
                    anchor,
                )
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), "seq", span, path);
                (self.list(span, path)?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), "map", span, path);
                (self.map(span, path)?, anchor)
            }
            _ => return Err(self.stop(span, "a value was expected here")),
        };
        if anchor > 0 {
            let (values, bytes) = (self.values - before.0, self.bytes - before.1);
            // What is kept for an alias is there twice, whether or not one comes.
            self.count(values, bytes, span)?;
            let depth = depth(&node);
            self.anchors.insert(
                anchor,
                Anchor {
                    node: node.clone(),
                    values,
                    bytes,
                    depth,
                },
            );
        }
        Ok(node)
    }

    fn too_deep(&self, span: Span) -> Stop {
        self.stop(
            span,
            format!("lists and maps nest deeper than {DEEPEST} levels"),
        )
    }

    /// Counts towards the bounds, so that a small text with aliases of aliases cannot become a
    /// large tree.
    fn count(&mut self, values: usize, bytes: usize, span: Span) -> Result<(), Stop> {
        self.values += values;
        self.bytes += bytes;
        if self.values > MOST_VALUES {
            return Err(self.stop(span, format!("the file has more than {MOST_VALUES} values")));
        }
        if self.bytes > MOST_TEXT {
            return Err(self.stop(
                span,
                format!("the file expands to more than {MOST_TEXT} bytes"),
            ));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Stop> {
        let Some(known) = self.anchors.get(&anchor) else {
            return Err(self.stop(span, "this alias stands inside what it refers to"));
        };
        let (values, bytes, depth) = (known.values, known.bytes, known.depth);
        if self.depth - 1 + depth > DEEPEST {
            return Err(self.too_deep(span));
        }
        let mut node = known.node.clone();
        self.count(values, bytes, span)?;
        node.each_mut(&mut |node| node.aliased = true);
        node.place = self.places.of(span);
        Ok(node)
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
        path: &Path,
    ) -> Node {
        let text_tag = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
        if !text_tag {
            self.refuse_tag(tag, "str", span, path);
        }
        let value = if style == ScalarStyle::Plain && !text_tag {
            scalar::resolve(text)
        } else {
            Value::Text(text.to_owned())
        };
        Node::new(value, self.places.scalar(style, span))
    }

    /// A tag asks for a type of its own, and there is none that a configuration needs.
    fn refuse_tag(&mut self, tag: Option<&Tag>, usual: &str, span: Span, path: &Path) {
        let usual = |tag: &&Tag| !(tag.is_yaml_core_schema() && tag.suffix == usual);
        if let Some(tag) = tag.filter(usual) {
            let message = format!("the tag `{tag}` is not supported");
            self.report
                .add(self.texts, path, self.places.of(span), message, None);
        }
    }

    fn list(&mut self, span: Span, path: &Path) -> Result<Node, Stop> {
        let mut items = Vec::new();
        loop {
            let (event, inner) = self.next()?;
            if event == Event::SequenceEnd {
                let last = items.last().map(|item: &Node| item.place);
                let (place, flow) = self.places.collection(span, inner, last);
                return Ok(Node {
                    flow,
                    ..Node::new(Value::List(items), place)
                });
            }
            items.push(self.node(event, inner, &path.index(items.len()))?);
        }
    }

    fn map(&mut self, span: Span, path: &Path) -> Result<Node, Stop> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeMap::new();
        let mut last = None;
        loop {
            let (event, inner) = self.next()?;
            if event == Event::MappingEnd {
                let (place, flow) = self.places.collection(span, inner, last);
                return Ok(Node {
                    flow,
                    ..Node::new(Value::Map(entries), place)
                });
            }
            let key = self.key(event, inner, path)?;
            let key_place = self.places.of(inner);
            let (event, inner) = self.next()?;
            let inner_path = key
                .as_ref()
                .map_or_else(|| path.clone(), |key| path.key(key));
            let node = self.node(event, inner, &inner_path)?;
            last = Some(node.place);
            let Some(key) = key else { continue };
            if let Some(first) = seen.get(&key) {
                self.duplicate(&inner_path, *first, key_place);
                continue;
            }
            seen.insert(key.clone(), key_place);
            entries.push(Entry {
                key,
                key_place,
                node,
            });
        }
    }

    /// Returns the text of a key, as it is written; nothing where a list or map stands for a key.
    fn key(
        &mut self,
        event: Event<'text>,
        span: Span,
        path: &Path,
    ) -> Result<Option<String>, Stop> {
        if let Event::Scalar(text, _, 0, None) = &event {
            self.count(1, text.len(), span)?;
            return Ok(Some(text.clone().into_owned()));
        }
        let node = self.node(event, span, path)?;
        if let Value::Text(text) = node.value {
            return Ok(Some(text));
        }
        let message = "a key must be text";
        self.report.add(self.texts, path, node.place, message, None);
        Ok(None)
    }

    fn duplicate(&mut self, path: &Path, first: Place, second: Place) {
        let line = first
            .start()
            .map_or(0, |start| self.source.position(start).line);
        let message = format!("duplicate key; it is given on line {line} already");
        self.report.add(self.texts, path, second, message, None);
    }
}

/// Returns how many lists and maps nest in a value.
fn depth(node: &Node) -> usize {
    let mut deepest = 0;
    node.walk(&Path::default(), node.place, &mut |path, _, _| {
        deepest = deepest.max(path.segments().len());
    });
    deepest
}

#[cfg(test)]
mod tests;
