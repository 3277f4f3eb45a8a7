//! One record in every form.

use serde_json::{Value, json};

use super::*;

fn record() -> Value {
    json!({
        "id": "01K0000000000000000000000A", "type": "policy_decision", "source": "mcp",
        "server_name": "out|side", "tool_name": "=post", "method": "tools/call",
        "status": "blocked", "timestamp": "2026-03-04T05:06:07.008Z", "duration_ms": 1.5,
        "session_id": "s1", "correlation_id": "c1", "principal": "local", "request_bytes": 10,
        "response_bytes": 0, "decision": "deny", "effective": "deny",
        "flow_type": "internal→external", "risk_level": "critical", "risk_score": 90,
        "declared": { "operation": "write" }, "has_sensitive_data": true,
        "detection_types": ["a", "b"], "max_severity": "critical",
        "findings": [{
            "rule": "sensitive_data_external", "reason": "a=b, \"c\"\nd",
            "evidence": { "evidence": "exact", "origin": { "upstream": "in", "tool": "read" } },
        }],
    })
}

#[test]
fn a_row_cannot_break_out_and_computes_nothing() {
    let row = Form::Csv.print(&record(), true);
    assert_eq!(
        row,
        "01K0000000000000000000000A,policy_decision,2026-03-04T05:06:07.008Z,mcp,out|side,\
         \"'=post\",tools/call,blocked,deny,deny,internal→external,critical,90,s1,c1,local,1.5,10,0,\
         true,a; b,,\"a=b, \"\"c\"\"\nd\",in:read,exact\r\n"
    );
    for odd in [
        "\u{ff1d}1+1",
        "\n=1+1",
        "\u{ff0b}1",
        "\u{ff0d}1",
        "\u{ff20}SUM",
        " =1+1",
    ] {
        let row = Form::Csv.print(&json!({ "tool_name": odd }), false);
        assert!(row.contains(&format!("\"'{odd}\"")), "{row}");
    }
    let columns = csv::heading(true).matches(',').count();
    let plain = Form::Csv.print(&json!({}), true);
    assert_eq!(plain.matches(',').count(), columns);
    assert_eq!(csv::heading(false).matches(',').count() + 2, columns);
}

#[test]
fn an_event_says_what_was_done_as_far_as_it_is_known() {
    let check = |method: &str, declared: Value, expect: (u64, &str)| {
        let mut record = record();
        record["method"] = method.into();
        record["declared"]["operation"] = declared;
        let event: Value = serde_json::from_str(&Form::Ocsf.print(&record, false)).unwrap();
        assert_eq!(event["activity_id"], expect.0, "{method}");
        assert_eq!(event["activity_name"], expect.1, "{method}");
        assert_eq!(event["type_uid"], 600_300 + expect.0);
    };
    check("tools/call", json!("destructive"), (4, "Delete"));
    check("tools/call", Value::Null, (99, "tools/call"));
    check("resources/read", Value::Null, (2, "Read"));
    check("prompts/list", Value::Null, (2, "Read"));
    check("", Value::Null, (99, "policy_decision"));
}

#[test]
fn what_is_no_message_is_named_by_its_type() {
    let started = json!({ "type": "system_start", "method": "1.2.3", "tool_name": "" });
    let event: Value = serde_json::from_str(&Form::Ocsf.print(&started, false)).unwrap();
    assert_eq!(event["activity_name"], "system_start");
    assert_eq!(event["api"]["operation"], "system_start");
}

#[test]
fn nothing_ends_a_line_before_its_end() {
    let odd = json!({ "type": "tool_call", "tool_name": "a\u{2028}b\u{85}c\u{1b}[2Jd\ne" });
    let line = Form::Cef.print(&odd, false);
    assert!(line.contains("request=a b c [2Jd\\ne"), "{line}");
}

/// Regression for #8: what turns the writing stood in a line as it was.
#[test]
fn nothing_turns_the_writing_or_hides_in_it() {
    let odd = "a\u{202e}b\u{2066}c\u{200b}d\u{9b}e\u{e0041}f\u{feff}g";
    let odd = json!({ "type": "tool_call", "tool_name": odd, "server_name": "\u{200b}=1" });
    let line = Form::Cef.print(&odd, false);
    assert!(line.contains("request=a b c d e f g"), "{line}");
    let row = Form::Csv.print(&odd, false);
    assert!(row.contains(",\"' =1\",a b c d e f g,"), "{row}");
    // JSON has a way to write it that everybody reads the same.
    let line = Form::Ndjson.print(&odd, false);
    let escaped = "a\\u202eb\\u2066c\\u200bd\\u009be\\udb40\\udc41f\\ufeffg";
    assert!(line.contains(escaped), "{line}");
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), odd);
    let event = Form::Ocsf.print(&odd, false);
    assert!(event.contains(escaped), "{event}");
    assert!(event.ends_with("}\n") && line.ends_with("}\n"));
}

#[test]
fn an_event_has_what_its_class_requires() {
    let event: Value = serde_json::from_str(&Form::Ocsf.print(&record(), true)).unwrap();
    for (path, expect) in [
        ("/class_uid", json!(6003)),
        ("/category_uid", json!(6)),
        ("/activity_id", json!(3)),
        ("/activity_name", json!("Update")),
        ("/duration", json!(2)),
        ("/type_uid", json!(600_303)),
        ("/severity_id", json!(5)),
        ("/status_id", json!(2)),
        ("/time", json!(1_772_600_767_008_u64)),
        ("/api/operation", json!("=post")),
        ("/actor/user/name", json!("local")),
        ("/src_endpoint/name", json!("mcp")),
        ("/metadata/version", json!("1.3.0")),
        ("/metadata/uid", json!("01K0000000000000000000000A")),
        ("/unmapped/flow_type", json!("internal→external")),
    ] {
        assert_eq!(event.pointer(path), Some(&expect), "{path}");
    }
}

#[test]
fn a_line_of_cef_is_one_line_with_its_marks_escaped() {
    let line = Form::Cef.print(&record(), true);
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    let version = env!("CARGO_PKG_VERSION");
    let head =
        format!("CEF:0|mcpproxy|mcpproxy|{version}|policy_decision|policy_decision blocked|10|");
    assert!(line.starts_with(&head), "{line}");
    for part in [
        "request=\\=post",
        "destinationServiceName=out|side",
        "msg=a\\=b, \"c\"\\nd",
        "rt=1772600767008 ",
        "cs4Label=detectionTypes cs4=a,b",
        "cn1=90",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let mut plain = record();
    plain["detection_types"] = json!([]);
    let line = Form::Cef.print(&plain, true);
    assert!(!line.contains("cs4"), "a label of nothing: {line}");
}

#[test]
fn how_data_was_followed_is_left_out_unless_it_is_wanted() {
    let mut plain = record();
    without_flows(&mut plain);
    assert_eq!(plain.pointer("/findings/0/evidence"), None);
    assert_eq!(
        plain.pointer("/findings/0/rule"),
        record().pointer("/findings/0/rule")
    );
}
