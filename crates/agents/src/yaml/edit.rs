//! Changes a YAML text line by line: entries of a block mapping out, one entry in.
//!
//! A mapping written in braces is refused, since lines cannot be taken out of it; agents do not
//! write such. Comments between entries stay. Whether the result means the right thing is checked
//! by the caller, which parses it again.

use crate::patch::Patches;
use crate::style::{json_inline, json_text, line_end, line_indent, line_start, newline, next_line};
use crate::tree::{Edit, Member, Node, Put, Value};

const UNIT: &str = "  ";

/// Returns the text after the edit.
pub(crate) fn apply(text: &str, root: &Node, edit: &Edit) -> Result<String, String> {
    let mut patches = Patches::default();
    let mut place = None;
    for path in &edit.remove {
        let Some((key, list)) = path.split_last() else {
            continue;
        };
        let members = root.at(list).and_then(Node::members).unwrap_or_default();
        for member in members.iter().filter(|member| member.key == *key) {
            let start = line_start(text, member.key_span.start);
            let indent = line_indent(text, member.key_span.start);
            if start + indent.len() != member.key_span.start {
                return Err(format!("`{}` is written in braces", list.join(".")));
            }
            if edit.put.as_ref().is_some_and(|put| put.list == list) {
                place = place.or(Some((start, indent)));
            }
            patches.delete(start..after(text, member));
        }
    }
    match (&edit.put, place) {
        (Some(put), Some((start, indent))) => {
            patches.replace(start..start, entry(text, put, indent));
        }
        (Some(put), None) => insert(text, root, put, &mut patches)?,
        (None, _) => {}
    }
    Ok(patches.apply(text))
}

/// Puts in an entry where none is taken out.
fn insert(text: &str, root: &Node, put: &Put, patches: &mut Patches) -> Result<(), String> {
    let [key] = put.list.as_slice() else {
        return Err("the list is nested".to_owned());
    };
    let members = root.members().unwrap_or_default();
    let Some(list) = members.iter().rfind(|member| member.key == *key) else {
        let whole = format!("{key}:{}{}", newline(text), entry(text, put, UNIT));
        insert_line(text, patches, text.len(), &whole);
        return Ok(());
    };
    let span = list.value.span.clone();
    match &list.value.value {
        Value::Map(_) if is_braced(text, &list.value) && span.len() > "{}".len() => {
            Err(format!("`{key}` is written in braces"))
        }
        Value::Map(members) if !members.is_empty() => {
            let ends = members.iter().map(|member| after(text, member));
            let sibling = members.last().map(|member| member.key_span.start);
            let indent = sibling.map_or(UNIT, |at| line_indent(text, at));
            let entry = entry(text, put, indent);
            insert_line(text, patches, ends.max().unwrap_or(text.len()), &entry);
            Ok(())
        }
        Value::Map(_) | Value::Null => {
            let indent = line_indent(text, list.key_span.start);
            let at = next_line(text, span.end.max(list.key_span.end));
            patches.delete(span);
            let entry = entry(text, put, &format!("{indent}{UNIT}"));
            insert_line(text, patches, at, &entry);
            Ok(())
        }
        _ => Err(format!("`{key}` is not a map")),
    }
}

fn is_braced(text: &str, node: &Node) -> bool {
    text.get(node.span.clone())
        .is_some_and(|written| written.starts_with('{'))
}

/// Returns where the line after the last one of a member begins.
fn after(text: &str, member: &Member) -> usize {
    next_line(
        text,
        content_end(text, &member.value).max(member.key_span.end),
    )
}

/// Returns where the last thing written in a node ends. The end of a block is of no use: it stands
/// where the next token does, behind comments that are not its own.
fn content_end(text: &str, node: &Node) -> usize {
    let written = text.get(node.span.clone()).unwrap_or_default();
    let inner = match &node.value {
        _ if written.starts_with(['{', '[']) => None,
        Value::Map(members) => members
            .iter()
            .map(|member| content_end(text, &member.value).max(member.key_span.end))
            .max(),
        Value::List(items) => items.iter().map(|item| content_end(text, item)).max(),
        _ => None,
    };
    inner.unwrap_or(node.span.end)
}

/// Writes the entry as lines of a block mapping.
fn entry(text: &str, put: &Put, indent: &str) -> String {
    let end = newline(text);
    let mut lines = vec![format!("{indent}{}:{end}", key(&put.name))];
    for member in put.entry.members().unwrap_or_default() {
        let value = scalar(&member.value);
        lines.push(format!("{indent}{UNIT}{}: {value}{end}", key(&member.key)));
    }
    lines.concat()
}

fn key(text: &str) -> String {
    if is_word(text) {
        text.to_owned()
    } else {
        json_text(text)
    }
}

/// Writes a value on one line; JSON is YAML, and a plain word needs no quotes.
fn scalar(node: &Node) -> String {
    match node.as_text() {
        Some(text) if is_word(text) => text.to_owned(),
        _ => json_inline(node),
    }
}

fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(plain)
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

/// Inserts at the start of a line, ending the last line of the file where it is open.
fn insert_line(text: &str, patches: &mut Patches, at: usize, with: &str) {
    let open = at == text.len() && line_end(text, at) != line_start(text, at);
    let gap = if open { newline(text) } else { "" };
    patches.replace(at..at, format!("{gap}{with}"));
}
