//! Events of the Open Cybersecurity Schema Framework: class API Activity, with everything that the
//! class has no place for under `unmapped`.

use std::time::Duration;

use mcpproxy_core::Wall;
use serde_json::{Value, json};

use super::{reasons, text};

/// The version of the schema.
const VERSION: &str = "1.3.0";
/// API Activity, in the category Application Activity.
const CLASS: u64 = 6003;
const CATEGORY: u64 = 6;
/// Activities of the class.
const READ: u64 = 2;
const UPDATE: u64 = 3;
const DELETE: u64 = 4;
const OTHER: u64 = 99;

/// A record as an event.
pub(super) fn event(record: &Value) -> Value {
    let activity = activity(record);
    let at = Wall::from_rfc3339(text(record, "timestamp")).map_or(0, |at| at.0);
    let (status, status_id) = status(record);
    let rest = [
        "decision",
        "effective",
        "flow_type",
        "risk_level",
        "risk_score",
        "detection_types",
    ];
    let rest = rest
        .iter()
        .chain(&["findings", "summary", "hook", "quarantine", "source"]);
    let unmapped: serde_json::Map<_, _> = rest
        .filter_map(|name| Some(((*name).to_owned(), record.get(*name)?.clone())))
        .collect();
    json!({
        "activity_id": activity,
        "activity_name": named(record, activity),
        "category_uid": CATEGORY,
        "class_uid": CLASS,
        "type_uid": CLASS * 100 + activity,
        "severity_id": severity(record),
        "status": status,
        "status_id": status_id,
        "time": at,
        "duration": record.get("duration_ms").and_then(Value::as_f64).map(milliseconds),
        "message": reasons(record),
        "metadata": {
            "version": VERSION,
            "uid": record.get("id"),
            "correlation_uid": record.get("correlation_id"),
            "log_name": record.get("type"),
            "product": {
                "name": "mcpproxy",
                "vendor_name": "mcpproxy",
                "version": env!("CARGO_PKG_VERSION"),
            },
        },
        "actor": {
            "user": { "name": record.get("principal") },
            "session": { "uid": record.get("session_id") },
        },
        "api": {
            "operation": match text(record, "tool_name") {
                "" => operation(record),
                tool => tool,
            },
            "service": { "name": record.get("server_name") },
            "request": { "uid": record.get("id") },
        },
        "src_endpoint": { "name": record.get("source") },
        "unmapped": unmapped,
    })
}

/// Create, read, update or delete, as it is declared or as the method says by itself; other where
/// nobody knows.
fn activity(record: &Value) -> u64 {
    let declared = record
        .pointer("/declared/operation")
        .and_then(Value::as_str);
    let method = text(record, "method");
    let reads = ["resources/read", "prompts/get", "completion/complete"].contains(&method);
    match declared {
        Some("write") => UPDATE,
        Some("destructive") => DELETE,
        declared if declared == Some("read") || reads || method.ends_with("/list") => READ,
        Some(_) | None => OTHER,
    }
}

/// The name of an activity; of one that the schema has no name for, what the log calls it.
fn named(record: &Value, activity: u64) -> &str {
    match activity {
        READ => "Read",
        UPDATE => "Update",
        DELETE => "Delete",
        _ => operation(record),
    }
}

/// What was done: a method of the protocol, and for what is no message the type of the record.
fn operation(record: &Value) -> &str {
    let kind = text(record, "type");
    match text(record, "method") {
        // Where the gateway starts and stops the version stands there.
        "" => kind,
        _ if kind.starts_with("system_") => kind,
        method => method,
    }
}

/// A number of milliseconds as the schema has it, without a fraction.
fn milliseconds(duration: f64) -> u64 {
    let duration = Duration::try_from_secs_f64(duration.round() / 1000.0);
    u64::try_from(duration.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn severity(record: &Value) -> u64 {
    let risk = match text(record, "risk_level") {
        "critical" => 5,
        "high" => 4,
        "medium" => 3,
        _ => 1,
    };
    let found = match text(record, "max_severity") {
        "critical" => 5,
        "high" => 4,
        "medium" => 3,
        "low" => 2,
        _ => 1,
    };
    let stopped = if text(record, "status") == "blocked" {
        3
    } else {
        1
    };
    risk.max(found).max(stopped)
}

fn status(record: &Value) -> (&str, u64) {
    match text(record, "status") {
        "success" => ("Success", 1),
        "error" | "blocked" | "rejected" => ("Failure", 2),
        other => (other, 99),
    }
}
