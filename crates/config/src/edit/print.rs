//! Values as text: JSON, which is YAML too, and maps in YAML's own way.

use serde_json::{Map, Value};

use crate::node;
use crate::scalar;

/// Keys that a reader wants to see first.
const FIRST: [&str; 6] = ["name", "command", "args", "env", "url", "headers"];

/// Prints `value` over several lines as JSON; the lines after the first begin with `indent`.
pub(super) fn json(value: &Value, indent: &str, unit: &str) -> String {
    let inner = format!("{indent}{unit}");
    match value {
        Value::Object(map) if !map.is_empty() => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{inner}{}: {}", quoted(key), json(value, &inner, unit))
            };
            let entries: Vec<_> = ordered(map).into_iter().map(entry).collect();
            format!("{{\n{}\n{indent}}}", entries.join(",\n"))
        }
        other => inline(other),
    }
}

/// Prints `value` on one line as JSON.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), inline(value));
            let entries: Vec<_> = ordered(map).into_iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(inline).collect::<Vec<_>>().join(", ")
            )
        }
        other => other.to_string(),
    }
}

/// Prints `key: value` as YAML, with maps over several lines, all of which begin with `indent`.
pub(super) fn yaml(key: &str, value: &Value, indent: &str, unit: &str) -> String {
    format!("{indent}{}:{}", word(key), behind(value, indent, unit))
}

/// Prints what stands behind `key:`.
pub(super) fn behind(value: &Value, indent: &str, unit: &str) -> String {
    let inner = format!("{indent}{unit}");
    match value {
        Value::Object(map) if !map.is_empty() => {
            let line =
                |(key, value): (&String, &Value)| format!("\n{}", yaml(key, value, &inner, unit));
            ordered(map).into_iter().map(line).collect()
        }
        Value::String(text) => format!(" {}", word(text)),
        other => format!(" {}", inline(other)),
    }
}

/// Prints a map as an item of a list; `indent` stands before the dash.
pub(super) fn item(value: &Value, indent: &str, unit: &str) -> String {
    let Value::Object(map) = value else {
        return format!("{indent}- {}", inline(value));
    };
    let inner = format!("{indent}  ");
    let lines: Vec<_> = ordered(map)
        .into_iter()
        .map(|(key, value)| yaml(key, value, &inner, unit))
        .collect();
    let lines = lines.join("\n");
    // The dash takes the place of the first line's inner indent.
    format!("{indent}- {}", lines.trim_start())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Prints a text without quotes where it cannot be taken for anything else.
fn word(text: &str) -> String {
    let starts =
        text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '.'));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-' | '@');
    let same = matches!(scalar::resolve(text), node::Value::Text(_));
    // Words that older readers of YAML take for `true` or `false` get quotes for their sake.
    let old = ["y", "n", "yes", "no", "on", "off"].contains(&text.to_ascii_lowercase().as_str());
    if starts && text.chars().all(plain) && same && !old {
        text.to_owned()
    } else {
        quoted(text)
    }
}

fn ordered(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let rank = |key: &str| {
        FIRST
            .iter()
            .position(|first| *first == key)
            .unwrap_or(FIRST.len())
    };
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| rank(key));
    entries
}
