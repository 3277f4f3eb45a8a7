//! Which answers of a policy service mean what.

use super::*;

fn check(outcome: Option<wire::Outcome>, phase: Phase, expect: &str) {
    let said = match answer(
        wire::Answer {
            outcome,
            ..wire::Answer::default()
        },
        phase,
    ) {
        Ok(SecurityDecision::Allow) => "allow".to_owned(),
        Ok(SecurityDecision::AllowWithModification(change)) => {
            format!(
                "{:?} {:?}",
                change.modified_request, change.modified_response
            )
        }
        Ok(SecurityDecision::Deny(found)) => {
            format!("{} {} {}", found.rule_id, found.description, found.evidence)
        }
        other => format!("{other:?}"),
    };
    assert_eq!(said, expect);
}

fn error(code: i32, reason: &str, mcp_error: Option<&[u8]>) -> wire::Outcome {
    wire::Outcome::Error(wire::AuthorizationError {
        code,
        reason: reason.to_owned(),
        mcp_error: mcp_error.map(<[u8]>::to_vec),
    })
}

#[test]
fn answers_decide_or_are_garbage() {
    let request = Phase::Request;
    check(None, request, r#"Err(Garbage("it decides nothing"))"#);
    check(Some(wire::Outcome::Pass(wire::Pass {})), request, "allow");
    let mutated = || Some(wire::Outcome::Mutated(Bytes::from_static(b"{}")));
    check(mutated(), request, r#"Some(b"{}") None"#);
    check(mutated(), Phase::Response, r#"None Some(b"{}")"#);
    // Not JSON: handed on as it is, for the registry to deny.
    let broken = wire::Outcome::Mutated(Bytes::from_static(b"{"));
    check(Some(broken), request, r#"Some(b"{") None"#);
    check(
        Some(error(1, "no", Some(br#"{"code":-1}"#))),
        request,
        r#"ext_mcp.permission_denied no {"code":-1}"#,
    );
    check(
        Some(error(2, "", Some(b"\xff"))),
        request,
        "ext_mcp.resource_exhausted the service gave no reason null",
    );
    check(
        Some(error(99, "odd", None)),
        request,
        "ext_mcp.unknown odd null",
    );
}

#[test]
fn headers_and_metadata_come_along() {
    let answer = answer(
        wire::Answer {
            outcome: Some(wire::Outcome::Pass(wire::Pass {})),
            header_mutation: Some(wire::HeaderMutation {
                set: vec![wire::McpHeader {
                    key: "x-team".to_owned(),
                    value: b"blue".to_vec(),
                }],
            }),
            metadata: Some(structure(json!({ "score": 1 }))),
        },
        Phase::Request,
    );
    let expect = SecurityModification {
        added_headers: vec![("x-team".to_owned(), "blue".to_owned())],
        audit_metadata: Some(r#"{"score":1.0}"#.into()),
        ..SecurityModification::default()
    };
    assert_eq!(answer, Ok(SecurityDecision::AllowWithModification(expect)));
}
