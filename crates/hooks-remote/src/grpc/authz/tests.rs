//! Which answers of an authorization service mean what. What it is asked is checked by a service
//! that was written from the published interface, in `tests/it/examples.rs`.

use prost_types::Value;
use prost_types::value::Kind;

use super::*;

fn status(code: i32) -> wire::Status {
    let message = "from the status".to_owned();
    wire::Status { code, message }
}

fn denied(body: &str) -> wire::HttpResponse {
    wire::HttpResponse::Denied(wire::DeniedHttpResponse {
        status: Some(wire::HttpStatus { code: 403 }),
        body: body.to_owned(),
    })
}

fn allowed(key: &str, value: &str) -> wire::HttpResponse {
    let header = wire::HeaderValue {
        key: key.to_owned(),
        value: value.to_owned(),
        raw_value: Vec::new(),
    };
    wire::HttpResponse::Ok(wire::OkHttpResponse {
        headers: vec![wire::HeaderValueOption {
            header: Some(header),
        }],
    })
}

fn metadata(decision: &str) -> Struct {
    let kind = Some(Kind::StringValue(decision.to_owned()));
    let fields = BTreeMap::from([("decision".to_owned(), Value { kind })]);
    Struct { fields }
}

/// The outcome in short: its name and its reason.
fn check(
    status: Option<wire::Status>,
    http_response: Option<wire::HttpResponse>,
    dynamic_metadata: Option<Struct>,
    expect: &str,
) {
    let answer = answer(wire::CheckResponse {
        status,
        http_response,
        dynamic_metadata,
    });
    let said = match answer {
        Ok(SecurityDecision::Allow) => "allow".to_owned(),
        Ok(SecurityDecision::AllowWithModification(change)) => {
            format!("{:?} {:?}", change.added_headers, change.audit_metadata)
        }
        Ok(SecurityDecision::Ask(found)) => format!("ask: {}", found.description),
        Ok(SecurityDecision::AskOrDeny(found)) => format!("ask or deny: {}", found.description),
        Ok(SecurityDecision::RequireAdditionalAuth(what)) => format!("auth: {what}"),
        Ok(SecurityDecision::Deny(found)) => {
            format!("deny: {} {}", found.description, found.evidence)
        }
        Err(fault) => fault.to_string(),
    };
    assert_eq!(said, expect);
}

#[test]
fn status_zero_allows_and_everything_else_does_not() {
    check(Some(status(0)), None, None, "allow");
    check(
        Some(status(0)),
        Some(allowed("x-team", "blue")),
        None,
        r#"[("x-team", "blue")] None"#,
    );
    check(
        Some(status(0)),
        None,
        Some(metadata("logged")),
        r#"[] Some("{\"decision\":\"logged\"}")"#,
    );
    check(
        Some(status(7)),
        Some(denied("not yours")),
        None,
        r#"deny: not yours {"code":7,"http_status":403}"#,
    );
    check(
        Some(status(7)),
        Some(denied(" ")),
        None,
        r#"deny: from the status {"code":7,"http_status":403}"#,
    );
    check(
        Some(status(-3)),
        None,
        None,
        r#"deny: from the status {"code":-3,"http_status":null}"#,
    );
    check(Some(status(16)), None, None, "auth: from the status");
}

#[test]
fn approval_is_asked_for_whether_it_is_denied_meanwhile_or_not() {
    let approval = "require_approval";
    check(
        Some(status(0)),
        None,
        Some(metadata(approval)),
        "ask: the service gave no reason",
    );
    check(
        Some(status(7)),
        Some(denied("needs a second person")),
        Some(metadata(approval)),
        "ask or deny: needs a second person",
    );
    check(
        Some(status(16)),
        None,
        Some(metadata(approval)),
        "ask or deny: from the status",
    );
}

#[test]
fn answers_that_contradict_themselves_deny_and_those_that_say_nothing_are_garbage() {
    let check = |status, response, expect: &str| check(status, response, None, expect);
    check(
        None,
        None,
        "its answer is no decision: it has neither a status nor a response",
    );
    let denies = r#"deny: no {"code":0,"http_status":403}"#;
    check(Some(status(0)), Some(denied("no")), denies);
    check(None, Some(denied("no")), denies);
    check(
        Some(status(7)),
        Some(allowed("a", "b")),
        r#"deny: from the status {"code":7,"http_status":null}"#,
    );
    check(
        Some(status(0)),
        Some(allowed("a b", "c")),
        "its answer is no decision: a header of the modification is none",
    );
}
