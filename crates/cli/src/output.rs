//! What the user sees: data on standard output, everything else on standard error.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use mcpproxy_text::decode::is_hidden;
use serde_json::Value;

use crate::args::Format;

/// Prints a line of data. A reader that has gone away is not an error.
pub(crate) fn line(text: &str) -> Result<()> {
    quiet(writeln!(io::stdout().lock(), "{text}"))
}

/// Prints data without a line end.
pub(crate) fn raw(bytes: &[u8]) -> Result<()> {
    quiet(io::stdout().lock().write_all(bytes))
}

fn quiet(written: io::Result<()>) -> Result<()> {
    match written {
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Prints a remark for the person at the terminal.
pub(crate) fn note(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Prints a question; the answer is typed on the same line.
pub(crate) fn question(text: &str) {
    let mut stderr = io::stderr().lock();
    drop(write!(stderr, "{text} ").and_then(|()| stderr.flush()));
}

/// Prints an error and its remedy.
pub(crate) fn error(message: &str, hint: Option<&str>) {
    let mut stderr = io::stderr().lock();
    let (red, cyan, plain) = if colour() {
        ("\x1b[31m", "\x1b[36m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    for line in message.lines() {
        // A line that is set in goes on with what is said above it.
        let mark = if line.starts_with(' ') { "" } else { "error: " };
        drop(writeln!(stderr, "{red}{mark}{plain}{line}"));
    }
    if let Some(hint) = hint {
        drop(writeln!(stderr, "{cyan}hint:{plain} {hint}"));
    }
}

fn colour() -> bool {
    let refused = std::env::var_os("NO_COLOR");
    is_coloured(refused.as_deref(), io::stderr().is_terminal())
}

/// Tells whether a person sees colours, and has not said that they want none.
fn is_coloured(refused: Option<&OsStr>, is_terminal: bool) -> bool {
    is_terminal && refused.is_none_or(OsStr::is_empty)
}

/// Prints what clap has to say: help on standard output, mistakes on standard error.
pub(crate) fn usage(fault: &clap::Error) -> ExitCode {
    drop(fault.print());
    if fault.use_stderr() {
        crate::exit::Exit::BadInput.into()
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints rows in the chosen form; a table has one column for each of `columns`.
pub(crate) fn rows(format: Format, columns: &[&str], rows: &[Value]) -> Result<()> {
    match format {
        Format::Table => table(columns, rows),
        Format::Json | Format::Sarif => line(&serde_json::to_string_pretty(rows)?),
        Format::Jsonl => rows.iter().try_for_each(|row| line(&row.to_string())),
        Format::Yaml => rows
            .iter()
            .try_for_each(|row| raw(format!("- {}", yaml(row, 1).trim_start()).as_bytes())),
    }
}

/// Prints one value in the chosen form; a table shows a name and a value on each line.
pub(crate) fn value(format: Format, value: &Value) -> Result<()> {
    // A map keeps the order of its making if any crate of the build asks for that.
    let mut value = value.clone();
    value.sort_all_objects();
    match (format, &value) {
        (Format::Table, Value::Object(members)) => {
            let width = members.keys().map(String::len).max().unwrap_or(0);
            members
                .iter()
                .try_for_each(|(name, value)| line(&format!("{name:width$}  {}", cell(value))))
        }
        (Format::Table | Format::Json | Format::Sarif, value) => {
            line(&serde_json::to_string_pretty(value)?)
        }
        (Format::Jsonl, value) => line(&value.to_string()),
        (Format::Yaml, value) => raw(yaml(value, 0).as_bytes()),
    }
}

fn table(columns: &[&str], rows: &[Value]) -> Result<()> {
    let texts: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns
                .iter()
                .map(|name| cell(row.get(*name).unwrap_or(&Value::Null)))
                .collect()
        })
        .collect();
    let width = |at: usize| {
        let longest = texts
            .iter()
            .filter_map(|row| row.get(at))
            .map(|text| text.chars().count())
            .max();
        longest
            .unwrap_or(0)
            .max(columns.get(at).map_or(0, |name| name.len()))
    };
    let widths: Vec<_> = (0..columns.len()).map(width).collect();
    let show = |cells: &mut dyn Iterator<Item = String>| {
        let padded: Vec<_> = cells
            .zip(&widths)
            .map(|(text, &width)| format!("{text:width$}"))
            .collect();
        line(padded.join("  ").trim_end())
    };
    show(&mut columns.iter().map(|name| name.to_uppercase()))?;
    texts
        .into_iter()
        .try_for_each(|row| show(&mut row.into_iter()))
}

/// Shows a value on one line, without characters of whoever wrote it that do more than stand there.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let flat = flat(&text);
    let mut short: String = flat.chars().take(100).collect();
    if short.len() < flat.len() {
        short.push('…');
    }
    short
}

/// Returns a text on one line, without characters that move the cursor, turn the writing or are not
/// seen.
pub(crate) fn flat(text: &str) -> String {
    let breaks = |char: char| matches!(char, '\u{2028}' | '\u{2029}');
    text.chars()
        .map(|char| {
            if char.is_control() || is_hidden(char) || breaks(char) {
                ' '
            } else {
                char
            }
        })
        .collect()
}

/// Prints a value as YAML, each line indented. Scalars are printed as JSON, which YAML understands.
fn yaml(value: &Value, indent: usize) -> String {
    let pad = "  ".repeat(indent);
    let mut text = String::new();
    let mut entry = |head: &str, value: &Value| {
        let nested = match value {
            Value::Object(members) => !members.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        };
        let rest = if nested {
            format!("\n{}", yaml(value, indent + 1))
        } else {
            format!(" {value}\n")
        };
        text.extend([pad.as_str(), head, rest.as_str()]);
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                entry(&format!("{}:", Value::from(name.as_str())), value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                entry("-", item);
            }
        }
        scalar => text = format!("{pad}{scalar}\n"),
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn colours_are_for_terminals_of_people_who_want_them() {
        let check = |refused: Option<&str>, is_terminal: bool, expect: bool| {
            let found = is_coloured(refused.map(OsStr::new), is_terminal);
            assert_eq!(found, expect, "{refused:?} {is_terminal}");
        };
        check(None, true, true);
        check(None, false, false);
        check(Some("1"), true, false);
        // Empty means not set.
        check(Some(""), true, true);
    }

    #[test]
    fn a_cell_turns_hides_and_breaks_nothing() {
        let check = |text: &str, expect: &str| assert_eq!(cell(&json!(text)), expect);
        check("post\u{202e}gnp.exe", "post gnp.exe");
        check("a\u{200f}b\u{2066}c\u{200b}d", "a b c d");
        check("a\nb\u{1b}[2Jc\u{2028}d", "a b [2Jc d");
        check("größer→", "größer→");
    }

    #[test]
    fn yaml_keeps_its_shape() {
        let value = json!({ "a": { "b": 1, "c": [] }, "d": ["x", { "e": null }] });
        let expect = "\"a\":\n  \"b\": 1\n  \"c\": []\n\"d\":\n  - \"x\"\n  -\n    \"e\": null\n";
        assert_eq!(yaml(&value, 0), expect);
    }
}
