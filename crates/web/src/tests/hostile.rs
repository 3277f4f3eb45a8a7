//! An interface of which every text wants to be more than text.

use serde_json::{Value, json};

pub(super) const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202E}";

/// An interface whose every text is hostile.
pub(super) fn hostile(path: &str) -> Value {
    let record = json!({
        "id": "01", "type": HOSTILE, "server_name": HOSTILE, "tool_name": HOSTILE, "status": HOSTILE,
        "decision": "deny", "error_message": HOSTILE, "session_id": HOSTILE, "timestamp": HOSTILE,
        "risk_level": HOSTILE, "findings": [{ "reason": HOSTILE, "rule": HOSTILE, "wants": "deny",
            "place": HOSTILE, "severity": HOSTILE,
            "evidence": { "sample": HOSTILE, "origin": { "upstream": HOSTILE, "tool": HOSTILE } } }],
        "declared": { "a": HOSTILE }, "hook_metadata": [{ "hook": HOSTILE }],
        "detection_types": [HOSTILE],
    });
    match path.split('?').next().unwrap_or_default() {
        "/api/v1/activity" => json!({ "activities": [record], "next_cursor": HOSTILE }),
        "/api/v1/activity/01" => record,
        "/api/v1/activity/01/receipts" => json!({ "enabled": true, "receipts": [{
            "receipt": { "receipt_id": HOSTILE, "outcome": HOSTILE, "session_id": HOSTILE, "seq": HOSTILE },
            "pack": HOSTILE, "proof": { "receipt": HOSTILE } }] }),
        "/api/v1/activity/summary" => json!({
            "total": 7, "calls": 1, "blocked": 1, "by_status": { "blocked": 1 },
            "buckets": [{ "start": HOSTILE, "calls": 1 }],
            "flows": [{ "source": HOSTILE, "destination": HOSTILE, "risk_level": HOSTILE }],
        }),
        "/api/v1/status" => json!({
            "version": HOSTILE, "security_coverage": "proxy_only", "config_problem": HOSTILE,
            "stopped": [HOSTILE], "approvals": 1,
        }),
        "/api/v1/approvals" => json!({ "approvals": [{ "id": "7", "server_name": HOSTILE,
            "tool_name": HOSTILE, "reason": HOSTILE, "principal": HOSTILE, "session_id": HOSTILE,
            "arguments": HOSTILE, "arguments_truncated": true,
            "findings": [{ "evidence": { "place": HOSTILE, "sample": HOSTILE, "label": { "kind": HOSTILE },
                "origin": { "upstream": HOSTILE, "tool": HOSTILE, "call": HOSTILE } } }] }] }),
        "/api/v1/sessions" => json!({ "sessions": [{ "id": HOSTILE, "principal": HOSTILE,
            "client": { "name": HOSTILE } }] }),
        "/api/v1/sessions/9/flow" => json!({ "seen": { "private": true }, "edges": [{
            "activity_id": HOSTILE, "to": HOSTILE, "evidence": HOSTILE,
            "from": { "upstream": HOSTILE, "tool": HOSTILE } }] }),
        "/api/v1/servers/s" => json!({ "name": HOSTILE, "status": HOSTILE, "command": HOSTILE,
            "class": { "classification": HOSTILE, "reason": HOSTILE, "method": HOSTILE },
            "problems": [HOSTILE] }),
        "/api/v1/servers/s/logs" => json!({ "lines": [HOSTILE] }),
        "/api/v1/servers/s/tools/t/diff" => json!({ "server_name": HOSTILE, "name": HOSTILE,
            "state": HOSTILE, "reason": HOSTILE, "by": HOSTILE, "since": HOSTILE,
            "fingerprint": { "combined_hash": HOSTILE },
            "changes": [{ "path": HOSTILE, "before": HOSTILE, "after": HOSTILE }] }),
        "/api/v1/diagnostics" => json!({ "problems": [{ "area": HOSTILE, "problem": HOSTILE }] }),
        "/api/v1/config" => json!({ "files": [HOSTILE], "target": HOSTILE, "notices": [HOSTILE],
            "values": [{ "key": HOSTILE, "value": HOSTILE, "origin": HOSTILE }] }),
        "/api/v1/policy/explain" => json!({ "decision": HOSTILE, "why": HOSTILE, "tiers": [{
            "tier": HOSTILE, "findings": [{ "reason": HOSTILE, "rule": HOSTILE }] }] }),
        "/api/v1/policy/replay" => json!({ "unchanged": 3, "changed": [{
            "activity_id": HOSTILE, "tool_name": HOSTILE, "before": HOSTILE, "after": HOSTILE }],
            "skipped": 1, "skipped_because": { HOSTILE: 1 } }),
        "/api/v1/config/validate" => json!({ "valid": true }),
        "/api/v1/config/apply" => json!({ "backup": HOSTILE }),
        "/api/v1/approvals/7" => json!({ "outcome": "approved" }),
        "/api/v1/servers" => json!([{ "name": HOSTILE, "status": HOSTILE,
            "class": { "classification": HOSTILE } }]),
        "/api/v1/hooks" => {
            json!({ "hooks": [{ "name": HOSTILE, "description": HOSTILE, "message": HOSTILE }] })
        }
        "/api/v1/tools" => json!([{ "name": HOSTILE, "state": HOSTILE, "reason": HOSTILE,
            "description": HOSTILE },
            { "name": "s:t", "state": "approved", "description": format!("One line.\n{HOSTILE}") }]),
        path if path.starts_with("/api/v1/servers/s/") => json!({ "done": HOSTILE }),
        path if path.ends_with("/tools") => json!({ "quarantine": [{ "server_name": HOSTILE,
            "name": HOSTILE, "state": HOSTILE, "reason": HOSTILE, "by": HOSTILE, "since": HOSTILE }] }),
        _ => Value::Null,
    }
}
