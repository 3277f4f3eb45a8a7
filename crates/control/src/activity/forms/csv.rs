//! Rows for a spreadsheet (RFC 4180), in which nothing is taken for a formula.

use serde_json::Value;

use super::{is_hidden, reasons, text};

/// The columns, which are also the names of the fields.
const COLUMNS: [&str; 22] = [
    "id",
    "type",
    "timestamp",
    "source",
    "server_name",
    "tool_name",
    "method",
    "status",
    "decision",
    "effective",
    "flow_type",
    "risk_level",
    "risk_score",
    "session_id",
    "correlation_id",
    "principal",
    "duration_ms",
    "request_bytes",
    "response_bytes",
    "has_sensitive_data",
    "detection_types",
    "error_message",
];

/// The line that names the columns.
pub(in crate::activity) fn heading(flows: bool) -> String {
    let mut names = COLUMNS.join(",");
    names.push_str(",reasons");
    if flows {
        names.push_str(",flow_sources,flow_evidence");
    }
    names.push_str("\r\n");
    names
}

/// A record as a line.
pub(super) fn row(record: &Value, flows: bool) -> String {
    let mut cells: Vec<_> = COLUMNS
        .iter()
        .map(|name| plain(record.get(*name)))
        .collect();
    cells.push(reasons(record));
    if flows {
        cells.extend(followed(record));
    }
    let cells: Vec<_> = cells.iter().map(|cell| quoted(cell)).collect();
    format!("{}\r\n", cells.join(","))
}

/// Where data was read, and how it was recognized.
fn followed(record: &Value) -> [String; 2] {
    let findings = record.get("findings").and_then(Value::as_array);
    let findings = findings.into_iter().flatten();
    let evidence: Vec<_> = findings.filter_map(|one| one.get("evidence")).collect();
    let source = |one: &&Value| {
        let origin = one.get("origin").unwrap_or(&Value::Null);
        format!("{}:{}", text(origin, "upstream"), text(origin, "tool"))
    };
    let sources: Vec<_> = evidence.iter().map(source).collect();
    let how: Vec<_> = evidence.iter().map(|one| text(one, "evidence")).collect();
    [sources.join("; "), how.join("; ")]
}

fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let items = items.iter().map(|item| plain(Some(item)));
            items.collect::<Vec<_>>().join("; ")
        }
        Some(other) => other.to_string(),
    }
}

/// A cell, without what turns the writing or is not seen; what a spreadsheet would compute stands behind
/// an apostrophe.
fn quoted(cell: &str) -> String {
    let hides = |char: &char| is_hidden(*char) && !matches!(char, '\t' | '\r' | '\n');
    let cell = cell
        .chars()
        .map(|char| if hides(&char) { ' ' } else { char });
    let cell: String = cell.collect();
    // Some also compute behind blanks, and what stands there in full width.
    let signs = [
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ];
    let computes = cell.starts_with(['\t', '\r', '\n']) || cell.trim_start().starts_with(signs);
    let mark = if computes { "'" } else { "" };
    if computes || cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{mark}{}\"", cell.replace('"', "\"\""));
    }
    cell
}
