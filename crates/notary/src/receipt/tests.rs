//! The matrix of null fields, ids and cuts.

use serde_json::Value;

use super::*;
use crate::hash::digest;

fn common() -> Common {
    Common {
        session_id: "mcp_0123456789abcdef".to_owned(),
        server_id: "s".to_owned(),
        transport: "stdio",
        policy_hash: Some("ab".repeat(32)),
        version: "0.1.0".to_owned(),
    }
}

fn call(ruling: Ruling) -> Call {
    Call {
        invocation_id: "inv_1".to_owned(),
        tool_name: "echo".to_owned(),
        request_id: RequestId::Number(7),
        observed_at: Wall(1000),
        arguments: Evidence::hashed(digest(b"{}", None)),
        ruling,
        marks: vec![],
        via: None,
    }
}

fn rule() -> Rule {
    Rule {
        name: "denylist".to_owned(),
        reason: None,
        decided_at: Wall(1001),
    }
}

fn answer() -> Answer {
    Answer {
        result: Evidence {
            digest: digest(b"{\"r\":1}", None),
            content: Content::all(b"{\"r\":1}"),
        },
        replaced_by: None,
        observed_at: Wall(1234),
        duration: Duration::from_millis(234),
    }
}

fn line(ruling: Ruling, outcome: Outcome) -> Value {
    let receipt = CallReceipt {
        call: call(ruling),
        outcome,
    };
    serde_json::from_slice(&receipt.line(&common(), "mtc_1", Wall(2000)).print()).unwrap()
}

/// The fields that the matrix speaks of, in its order, as `s` for set and `0` for null.
fn row(line: &Value) -> String {
    let fields = [
        "result_hash",
        "result_content",
        "result_is_error",
        "duration_ms",
        "response_observed_at",
        "policy_decided_at",
    ];
    fields
        .iter()
        .map(|field| if line[field].is_null() { '0' } else { 's' })
        .collect()
}

#[test]
fn the_matrix_of_null_fields_holds() {
    let check = |ruling: Ruling, outcome: Outcome, expect: &str| {
        let line = line(ruling, outcome);
        assert_eq!(row(&line), expect, "{line}");
    };
    check(Ruling::NoPolicy, Outcome::Forwarded(answer()), "sssss0");
    check(
        Ruling::Allowed(rule()),
        Outcome::Forwarded(answer()),
        "ssssss",
    );
    check(
        Ruling::Denied(rule()),
        Outcome::Forwarded(answer()),
        "ssssss",
    );
    check(Ruling::NoPolicy, Outcome::Denied(rule()), "00000s");
    check(Ruling::NoPolicy, Outcome::Error(answer()), "sssss0");
    let timeout = || Outcome::Timeout {
        after: Duration::from_secs(1),
    };
    check(Ruling::NoPolicy, timeout(), "000s00");
    check(Ruling::Allowed(rule()), timeout(), "000s0s");
}

#[test]
fn every_field_of_the_schema_is_always_present() {
    let fields = [
        "type",
        "receipt_id",
        "timestamp",
        "schema_version",
        "invocation_id",
        "session_id",
        "parent_receipt_id",
        "server_id",
        "server_transport",
        "tool_name",
        "mcp_request_id",
        "request_observed_at",
        "policy_decided_at",
        "response_observed_at",
        "arguments_hash",
        "arguments_content",
        "result_hash",
        "result_content",
        "result_is_error",
        "outcome",
        "duration_ms",
        "policy_verdict",
        "policy_ref",
        "policy_hash",
        "proxy_version",
        "integration_source",
    ];
    for outcome in [
        Outcome::Forwarded(answer()),
        Outcome::Denied(rule()),
        Outcome::Error(answer()),
        Outcome::Timeout {
            after: Duration::ZERO,
        },
    ] {
        let line = line(Ruling::NoPolicy, outcome);
        for field in fields {
            assert!(line.get(field).is_some(), "{field} in {line}");
        }
    }
}

#[test]
fn an_advisory_denial_is_not_an_outcome() {
    let line = line(Ruling::Denied(rule()), Outcome::Forwarded(answer()));
    assert_eq!(
        (&line["outcome"], &line["policy_verdict"]),
        (&"forwarded".into(), &"denied".into())
    );
    assert_eq!(line["policy_ref"], "denylist");
    assert_eq!(line["result_is_error"], false);
}

#[test]
fn ids_are_repeated_where_readers_agree_on_them() {
    let check = |raw: Option<&str>, expect: RequestId| {
        assert_eq!(RequestId::from_json(raw), expect, "{raw:?}");
    };
    check(None, RequestId::Absent);
    check(Some("null"), RequestId::Absent);
    check(Some("7"), RequestId::Number(7));
    check(Some("-3"), RequestId::Number(-3));
    check(Some("\"a\\u0062\""), RequestId::Text("ab".to_owned()));
    for raw in ["7.0", "1e3", "9007199254740993", "-0", "{\"a\":1}"] {
        check(Some(raw), RequestId::Text(raw.to_owned()));
    }
}

#[test]
fn long_names_are_cut_and_marked() {
    let mut call = call(Ruling::NoPolicy);
    call.tool_name = "é".repeat(NAME);
    call.marks = vec![Mark::Batch];
    let receipt = CallReceipt {
        call,
        outcome: Outcome::Timeout {
            after: Duration::ZERO,
        },
    };
    let line: Value =
        serde_json::from_slice(&receipt.line(&common(), "mtc_1", Wall(0)).print()).unwrap();
    assert_eq!(line["tool_name"].as_str().unwrap().len(), NAME);
    assert_eq!(line["marks"], serde_json::json!(["batch", "cut"]));
}
