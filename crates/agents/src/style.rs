//! How a file is laid out, and how a new entry is written to look like it.
//!
//! Only writing lives here; the formats decide where an entry goes.

use crate::tree::{Member, Node, Value};

/// The habits of one file.
pub(crate) struct Style {
    /// What ends a line.
    pub(crate) newline: &'static str,
    /// What one step of indentation looks like.
    pub(crate) unit: String,
}

impl Style {
    /// Reads the habits of a JSON text from its first line end and its first indented key.
    pub(crate) fn of(text: &str, root: &Node) -> Self {
        let first = root.members().and_then(<[_]>::first);
        let indent = first.map(|member| member.key_span.start).map(|at| {
            let before = text.get(line_start(text, at)..at).unwrap_or_default();
            before.to_owned()
        });
        let unit = indent.filter(|indent| !indent.is_empty() && is_blank(indent));
        Self {
            newline: newline(text),
            unit: unit.unwrap_or_else(|| "  ".to_owned()),
        }
    }

    /// Writes a value over several lines; `indent` is that of the line it starts on. A list
    /// stays on one line unless it holds maps.
    pub(crate) fn json(&self, node: &Node, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let (open, lines, close): (_, Vec<String>, _) = match &node.value {
            Value::Map(members) if !members.is_empty() => {
                let line = |member: &Member| {
                    let value = self.json(&member.value, &inner);
                    format!("{inner}{}: {value}", json_text(&member.key))
                };
                ('{', members.iter().map(line).collect(), '}')
            }
            Value::List(items) if items.iter().any(|item| item.members().is_some()) => {
                let line = |item| format!("{inner}{}", self.json(item, &inner));
                ('[', items.iter().map(line).collect(), ']')
            }
            _ => return json_inline(node),
        };
        let newline = self.newline;
        let lines = lines.join(&format!(",{newline}"));
        format!("{open}{newline}{lines}{newline}{indent}{close}")
    }
}

/// Writes a value on one line.
pub(crate) fn json_inline(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(spelling) => spelling.clone(),
        Value::Text(text) => json_text(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(json_inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(members) if members.is_empty() => "{}".to_owned(),
        Value::Map(members) => {
            let pairs: Vec<String> = members
                .iter()
                .map(|member| format!("{}: {}", json_text(&member.key), json_inline(&member.value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

/// Writes a text in double quotes, in a way that JSON and YAML both read.
pub(crate) fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the blanks that open the line on which `at` stands.
pub(crate) fn line_indent(text: &str, at: usize) -> &str {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blanks).unwrap_or_default()
}

/// Returns what ends the first line of a text.
pub(crate) fn newline(text: &str) -> &'static str {
    let first = text.find('\n').and_then(|at| at.checked_sub(1));
    let returns = first.and_then(|at| text.as_bytes().get(at)) == Some(&b'\r');
    if returns { "\r\n" } else { "\n" }
}

/// Returns where the line on which `at` stands begins.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns where the line on which `at` stands ends, before its line end.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    let after = text.get(at..).unwrap_or_default();
    let end = after.find('\n').unwrap_or(after.len());
    let end = if after.get(..end).is_some_and(|line| line.ends_with('\r')) {
        end - 1
    } else {
        end
    };
    at + end
}

/// Returns where the line after the one on which `at` stands begins.
pub(crate) fn next_line(text: &str, at: usize) -> usize {
    let after = text.get(at..).unwrap_or_default();
    at + after.find('\n').map_or(after.len(), |newline| newline + 1)
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}
