//! Lines of the Common Event Format.

use mcpproxy_core::Wall;
use serde_json::Value;

use super::{is_hidden, reasons, text};

/// The longest value of an extension, in characters: collectors cut lines.
const LONGEST: usize = 1023;

/// What stands in the extensions that have no meaning of their own.
const LABELS: [(&str, &str); 6] = [
    ("cs1", "flowType"),
    ("cs2", "riskLevel"),
    ("cs3", "sessionId"),
    ("cs4", "detectionTypes"),
    ("cs5", "decision"),
    ("cn1", "riskScore"),
];

/// A record as a line.
pub(super) fn line(record: &Value) -> String {
    let kind = text(record, "type");
    let name = format!("{kind} {}", text(record, "status"));
    let mut line = format!(
        "CEF:0|mcpproxy|mcpproxy|{}|{}|{}|{}|",
        header(env!("CARGO_PKG_VERSION")),
        header(kind),
        header(&name),
        severity(record)
    );
    let number = |name: &str| {
        record
            .get(name)
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    // The format knows milliseconds since 1970, and dates without a zone.
    let time = Wall::from_rfc3339(text(record, "timestamp"));
    let detections = record.get("detection_types").and_then(Value::as_array);
    let detections = detections.into_iter().flatten().filter_map(Value::as_str);
    let extensions = [
        ("externalId", text(record, "id").to_owned()),
        ("rt", time.map(|at| at.0.to_string()).unwrap_or_default()),
        ("act", text(record, "effective").to_owned()),
        ("outcome", text(record, "status").to_owned()),
        ("suser", text(record, "principal").to_owned()),
        (
            "destinationServiceName",
            text(record, "server_name").to_owned(),
        ),
        ("request", text(record, "tool_name").to_owned()),
        ("requestMethod", text(record, "method").to_owned()),
        ("out", number("request_bytes")),
        ("in", number("response_bytes")),
        ("cs1", text(record, "flow_type").to_owned()),
        ("cs2", text(record, "risk_level").to_owned()),
        ("cs3", text(record, "session_id").to_owned()),
        ("cs4", detections.collect::<Vec<_>>().join(",")),
        ("cs5", text(record, "decision").to_owned()),
        ("cn1", number("risk_score")),
        ("msg", reasons(record)),
    ];
    let extensions = extensions.iter().filter(|(_, value)| !value.is_empty());
    let extensions: Vec<_> = extensions
        .map(|(key, value)| {
            let label = LABELS.iter().find(|(labelled, _)| labelled == key);
            let label = label.map(|(key, label)| format!("{key}Label={label} "));
            format!("{}{key}={}", label.unwrap_or_default(), extension(value))
        })
        .collect();
    line.push_str(&extensions.join(" "));
    line.push('\n');
    line
}

/// A field of the header: the bar and the backslash are escaped, and lines do not end in it.
fn header(text: &str) -> String {
    flat(text).replace('\\', "\\\\").replace('|', "\\|")
}

/// A value of an extension: the equals sign, the backslash and line ends are escaped.
fn extension(text: &str) -> String {
    let short: String = text.chars().take(LONGEST).collect();
    let escaped = short.replace('\\', "\\\\").replace('=', "\\=");
    flat(&escaped.replace('\n', "\\n").replace('\r', "\\r"))
}

/// Takes out what ends a line for some reader, does something to a terminal or turns the writing.
fn flat(text: &str) -> String {
    let char = |char: char| if is_hidden(char) { ' ' } else { char };
    text.chars().map(char).collect()
}

/// From 0 to 10.
fn severity(record: &Value) -> u8 {
    let risk = match text(record, "risk_level") {
        "critical" => 10,
        "high" => 8,
        "medium" => 5,
        _ => 1,
    };
    let stopped = if text(record, "status") == "blocked" {
        7
    } else {
        1
    };
    risk.max(stopped)
}
