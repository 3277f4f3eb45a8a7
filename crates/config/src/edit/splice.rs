//! Where in a text a change goes, and what is put there.
//!
//! Nothing here is sure of itself: layouts differ more than any code foresees, so the caller reads
//! the result again.

use std::path::Path as FilePath;

use serde_json::Value as Json;

use super::lines::{after_comments, before, behind_colon, blanks, column, line_end, line_start};
use super::print;
use crate::node::{Entry, Node, Value};
use crate::path::Segment;

/// One change of a text.
pub(super) struct Splice {
    start: usize,
    end: usize,
    with: String,
}

impl Splice {
    fn put(at: usize, with: String) -> Self {
        Self {
            start: at,
            end: at,
            with,
        }
    }

    fn cut(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            with: String::new(),
        }
    }

    pub(super) fn apply(self, text: &str) -> Option<String> {
        let (before, after) = (text.get(..self.start)?, text.get(self.end..)?);
        // What is put in ends its lines as the text does.
        let crlf = text.contains("\r\n");
        let with = if crlf {
            self.with.replace('\n', "\r\n")
        } else {
            self.with
        };
        Some([before, &with, after].concat())
    }
}

/// How a text is laid out.
pub(super) struct Layout {
    json: bool,
    unit: String,
}

impl Layout {
    /// Takes the step of indentation from the first thing that is indented.
    pub(super) fn of(text: &str, root: &Node, path: &FilePath) -> Self {
        let json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let nested = |entry: &&Entry| !entry.node.flow && !entry.node.entries().is_empty();
        let inner = || root.entries().iter().find(nested).map(|entry| &entry.node);
        let indented = if root.flow { Some(root) } else { inner() };
        let first = indented.and_then(|node| node.entries().first());
        let indent = first
            .and_then(|entry| entry.key_place.start())
            .map(|at| before(text, at));
        let blank = |indent: &&str| !indent.is_empty() && indent.trim().is_empty();
        Self {
            json,
            unit: indent.filter(blank).unwrap_or("  ").to_owned(),
        }
    }
}

/// Adds a key at the end of a map.
pub(super) fn insert(
    text: &str,
    map: &Node,
    key: &str,
    value: &Json,
    layout: &Layout,
) -> Option<Splice> {
    if map.flow || (layout.json && map.place.start().is_none()) {
        return Some(insert_flow(text, map, key, value, layout));
    }
    let Some(first) = map.entries().first() else {
        // A text without any key: nothing, or comments only.
        let ended = text.is_empty() || text.ends_with('\n');
        let newline = if ended { "" } else { "\n" };
        let with = format!("{newline}{}\n", print::yaml(key, value, "", &layout.unit));
        return Some(Splice::put(text.len(), with));
    };
    let indent = " ".repeat(column(text, first.key_place.start()?));
    let lines = print::yaml(key, value, &indent, &layout.unit);
    let end = map.entries().last().and_then(entry_end)?;
    Some(insert_lines(text, end, indent.len(), &lines))
}

fn insert_flow(text: &str, map: &Node, key: &str, value: &Json, layout: &Layout) -> Splice {
    let print = |indent: Option<&str>| {
        let value = match indent {
            Some(indent) => print::json(value, indent, &layout.unit),
            None => print::inline(value),
        };
        format!("{}: {value}", Json::from(key))
    };
    let start = map
        .entries()
        .first()
        .and_then(|first| first.key_place.start());
    match start.zip(map.entries().last().and_then(entry_end)) {
        Some((start, end)) => insert_inside(text, start, end, print),
        None => fill(text, map, print, layout),
    }
}

/// Adds an item at the end of a list that has some.
pub(super) fn append(text: &str, list: &Node, value: &Json, layout: &Layout) -> Option<Splice> {
    let Value::List(items) = &list.value else {
        return None;
    };
    let (first, end) = (items.first()?.place.start()?, items.last()?.place.end()?);
    if list.flow {
        let print = |indent: Option<&str>| match indent {
            Some(indent) => print::json(value, indent, &layout.unit),
            None => print::inline(value),
        };
        return Some(insert_inside(text, first, end, print));
    }
    let dash = text.get(..first)?.rfind('-')?;
    let indent = " ".repeat(column(text, dash));
    let lines = print::item(value, &indent, &layout.unit);
    Some(insert_lines(text, end, indent.len(), &lines))
}

/// Gives a key another value.
pub(super) fn replace(
    text: &str,
    map: &Node,
    key: &str,
    value: &Json,
    layout: &Layout,
) -> Option<Splice> {
    let entry = map.entry(key)?;
    let start = behind_colon(text, entry.key_place.end()?)?;
    let end = entry_end(entry)?.max(start);
    let key_start = entry.key_place.start()?;
    if map.flow {
        let indent = Some(before(text, key_start)).filter(|before| before.trim().is_empty());
        let value = match indent {
            Some(indent) => print::json(value, indent, &layout.unit),
            // Where all is within brackets, lines may begin anywhere.
            None if text.trim_start().starts_with('{') => print::json(value, "", &layout.unit),
            None => print::inline(value),
        };
        return Some(Splice {
            start,
            end,
            with: format!(" {value}"),
        });
    }
    let indent = " ".repeat(column(text, key_start));
    let with = print::behind(value, &indent, &layout.unit);
    if !with.starts_with('\n') {
        return Some(Splice { start, end, with });
    }
    // A comment behind the old value stays on the line of the key.
    let line_end = line_end(text, end);
    let with = format!("{}{with}", text.get(end..line_end)?);
    Some(Splice {
        start,
        end: line_end,
        with,
    })
}

/// Takes out a key of a map or an item of a list.
pub(super) fn remove(text: &str, outer: &Node, inner: &Segment) -> Option<Splice> {
    let (at, spans) = match (inner, &outer.value) {
        (Segment::Key(key), Value::Map(entries)) => {
            let at = entries.iter().position(|entry| entry.key == *key)?;
            (
                at,
                entries.iter().map(entry_span).collect::<Option<Vec<_>>>()?,
            )
        }
        (Segment::Index(index), Value::List(items)) => {
            let span = |item: &Node| item.place.start().zip(item.place.end());
            (*index, items.iter().map(span).collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    };
    let (start, end) = *spans.get(at)?;
    let next = spans.get(at + 1).map(|(start, _)| *start);
    let previous = at
        .checked_sub(1)
        .and_then(|at| spans.get(at))
        .map(|(_, end)| *end);
    match (outer.flow, next, previous) {
        (true, Some(next), _) => Some(Splice::cut(start, next)),
        (true, None, Some(previous)) => Some(Splice::cut(previous, end)),
        // The blanks between the brackets go too.
        (true, None, None) => Some(Splice::cut(
            outer.place.start()? + 1,
            outer.place.end()?.checked_sub(1)?,
        )),
        (false, next, _) => remove_lines(text, outer, start, end, next),
    }
}

/// Takes out whole lines, with what is commented out inside the value.
fn remove_lines(
    text: &str,
    outer: &Node,
    start: usize,
    end: usize,
    next: Option<usize>,
) -> Option<Splice> {
    let before = before(text, start);
    let dash = matches!(outer.value, Value::List(_)) && before.trim() == "-";
    if !before.trim().is_empty() && !dash {
        // The first key behind a dash: the next one takes its place.
        return next.map(|next| Splice::cut(start, next));
    }
    let end = after_comments(text, end, blanks(before).len());
    Some(Splice::cut(line_start(text, start), end))
}

/// Puts lines behind the line in which a value ends.
fn insert_lines(text: &str, end: usize, depth: usize, lines: &str) -> Splice {
    let at = after_comments(text, end, depth);
    let ended = text.get(..at).is_some_and(|before| before.ends_with('\n'));
    Splice::put(
        at,
        if ended {
            format!("{lines}\n")
        } else {
            format!("\n{lines}")
        },
    )
}

/// Puts something behind the last value between brackets: on lines of its own if the first is.
fn insert_inside(
    text: &str,
    first: usize,
    last: usize,
    print: impl Fn(Option<&str>) -> String,
) -> Splice {
    let indent = before(text, first);
    let with = if indent.trim().is_empty() {
        format!(",\n{indent}{}", print(Some(indent)))
    } else {
        format!(", {}", print(None))
    };
    Splice::put(last, with)
}

/// Puts something between brackets that hold nothing, or makes them in a text without any.
fn fill(
    text: &str,
    outer: &Node,
    print: impl Fn(Option<&str>) -> String,
    layout: &Layout,
) -> Splice {
    let brackets = outer.place.start().zip(outer.place.end());
    let (start, end) = brackets.unwrap_or((0, text.len()));
    let indent = blanks(before(text, start));
    let inner = format!("{indent}{}", layout.unit);
    let newline = if brackets.is_none() { "\n" } else { "" };
    let with = format!("{{\n{inner}{}\n{indent}}}{newline}", print(Some(&inner)));
    Splice { start, end, with }
}

fn entry_end(entry: &Entry) -> Option<usize> {
    Some(entry.key_place.end()?.max(entry.node.place.end()?))
}

fn entry_span(entry: &Entry) -> Option<(usize, usize)> {
    entry.key_place.start().zip(entry_end(entry))
}
