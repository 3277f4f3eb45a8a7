//! What questions look like, which answers count, and which settings are refused.

use std::time::Duration;

use mcpproxy_core::Secret;
use mcpproxy_core::clock::{SystemClock, Wall};
use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{
    Identity, McpMessage, McpRequest, McpResponse, McpSessionInfo, RequestMetadata, ResponseKind,
    SecurityModification, SecurityViolation,
};
use serde_json::{Value, json};

use super::*;
use crate::subject::Phase;
use crate::{TlsSettings, WebhookConfig};

fn context() -> SecurityContext {
    SecurityContext {
        correlation_id: "c-1".into(),
        session: Arc::new(McpSessionInfo {
            session_id: "s-1".to_owned(),
            server_id: "files".to_owned(),
            server_name: "Files".to_owned(),
            protocol_version: "2025-11-25".to_owned(),
            established_at: Wall(0),
        }),
        identity: Some(Arc::new(Identity {
            user_id: "ada".to_owned(),
            roles: vec!["reader".to_owned()],
            attributes: vec![("team".to_owned(), "blue".to_owned())],
            ..Identity::default()
        })),
        request_metadata: Arc::new(RequestMetadata {
            method: "tools/call".to_owned(),
            path: "/mcp".to_owned(),
            headers: vec![("accept".to_owned(), "*/*".to_owned())],
            remote_addr: None,
            timestamp: Wall(1000),
        }),
        security_metadata: Arc::from([("first".into(), r#"{"score":1}"#.into())]),
        timeout: Duration::from_millis(200),
    }
}

fn call() -> McpRequest {
    McpRequest {
        method: "tools/call".into(),
        name: "read".into(),
        params: Bytes::from_static(br#"{"name":"read",  "arguments":{"n":1.0}}"#),
        id: Some("7".into()),
    }
}

const ALL: Shown = Shown {
    requests: true,
    responses: true,
    limit: 100,
};

fn written(subject: Subject<'_>, shown: Shown) -> String {
    let context = context();
    let question = Question::of("dlp", Wall(2000), &context, subject, shown).unwrap();
    String::from_utf8(question.write().unwrap().to_vec()).unwrap()
}

#[test]
fn a_question_shows_the_exact_bytes() {
    let text = written(Subject::Request(&call()), ALL);
    assert!(text.contains(r#""params":{"name":"read",  "arguments":{"n":1.0}},"id":7"#));
    let question: Value = serde_json::from_str(&text).unwrap();
    let expect = json!({
        "version": "1",
        "hook_id": "dlp",
        "phase": "request",
        "correlation_id": "c-1",
        "sent_at": "1970-01-01T00:00:02.000Z",
        "timeout_ms": 200,
        "session": {
            "id": "s-1", "server_id": "files", "server_name": "Files",
            "protocol_version": "2025-11-25", "established_at": "1970-01-01T00:00:00.000Z",
        },
        "identity": {
            "user_id": "ada", "roles": ["reader"], "scopes": [],
            "attributes": [{"name": "team", "value": "blue"}],
        },
        "received": {
            "method": "tools/call", "path": "/mcp", "at": "1970-01-01T00:00:01.000Z",
            "headers": [{"name": "accept", "value": "*/*"}],
        },
        "earlier": [{"hook_id": "first", "metadata": {"score": 1}}],
        "request": {
            "method": "tools/call", "name": "read", "id": 7,
            "params": {"name": "read", "arguments": {"n": 1.0}},
        },
    });
    assert_eq!(question, expect);
}

#[test]
fn every_kind_of_message_has_its_phase() {
    let check = |subject: Subject<'_>, phase: &str, part: &str| {
        let question: Value = serde_json::from_str(&written(subject, ALL)).unwrap();
        assert_eq!(question["phase"], phase);
        assert!(question[part].is_object(), "{phase}");
        if part == "response" {
            // What is answered stands beside its answer, and has the id of both.
            assert_eq!(question["request"]["id"], 7, "{phase}");
        }
    };
    let call = call();
    for (kind, phase) in [
        (ResponseKind::Result, "response"),
        (ResponseKind::Error, "response"),
        (ResponseKind::Listing, "listing"),
    ] {
        let body = Bytes::from_static(b"{}");
        check(
            Subject::Response(&call, &McpResponse { kind, body }),
            phase,
            "response",
        );
    }
    for (wants_answer, phase) in [(true, "reverse"), (false, "notification")] {
        let message = McpMessage {
            to_upstream: false,
            wants_answer,
            method: "sampling/createMessage".into(),
            params: Bytes::new(),
        };
        check(Subject::Message(&message), phase, "message");
    }
}

#[test]
fn a_question_is_the_same_whenever_it_is_asked_and_only_then() {
    type Change = dyn Fn(&mut SecurityContext, &mut McpRequest);
    let key = |change: &Change, sent_at: u64| {
        let (mut context, mut call) = (context(), call());
        change(&mut context, &mut call);
        let subject = Subject::Request(&call);
        let question = Question::of("dlp", Wall(sent_at), &context, subject, ALL).unwrap();
        question.key().unwrap()
    };
    let first = key(&|_, _| {}, 2000);
    let later = key(
        &|context, call| {
            context.correlation_id = "c-2".into();
            context.timeout = Duration::from_millis(90);
            Arc::make_mut(&mut context.request_metadata).timestamp = Wall(9000);
            call.id = Some("8".into());
        },
        9000,
    );
    assert_eq!(first, later);
    let others: [&Change; 7] = [
        &|_, call| call.name = "write".into(),
        &|_, call| call.params = Bytes::from_static(br#"{"name":"read"}"#),
        &|context, _| context.identity = None,
        &|context, _| Arc::make_mut(&mut context.session).session_id = "s-2".to_owned(),
        &|context, _| Arc::make_mut(&mut context.session).server_id = "mail".to_owned(),
        &|context, _| Arc::make_mut(&mut context.request_metadata).headers.clear(),
        &|context, _| context.security_metadata = Arc::from([]),
    ];
    for (index, change) in others.iter().enumerate() {
        assert_ne!(first, key(change, 2000), "{index}");
    }
}

#[test]
fn what_is_hidden_or_too_large_is_not_sent() {
    let hidden = Shown {
        requests: false,
        responses: false,
        ..ALL
    };
    let response = McpResponse {
        kind: ResponseKind::Result,
        body: Bytes::from_static(br#"{"secret":1}"#),
    };
    let call = call();
    let text = written(Subject::Response(&call, &response), hidden);
    assert!(text.contains(r#""params":{},"#) && text.contains(r#""body":null"#));
    let small = Shown { limit: 10, ..ALL };
    let context = context();
    let refused = Question::of("dlp", Wall(0), &context, Subject::Request(&call), small);
    assert_eq!(refused.err(), Some(HookFault::TooLarge));
}

fn check_answer(phase: Phase, text: &str, expect: Result<SecurityDecision, &str>) {
    let read = answer::read(text.as_bytes(), phase).map(|(decision, _)| decision);
    let expect = expect.map_err(|why| HookFault::Garbage(why.to_owned()));
    assert_eq!(read, expect, "{text}");
}

#[test]
fn answers_decide() {
    let violation = SecurityViolation {
        rule_id: "R1".to_owned(),
        severity: Severity::High,
        threat_type: Threat::DataExfiltration,
        description: String::new(),
        evidence: r#"{"at": 1}"#.to_owned(),
        recommended_action: String::new(),
    };
    let found = r#""violation":{"rule_id":"R1","severity":"high","threat_type":"data_exfiltration","evidence":{"at": 1}}"#;
    check_answer(
        Phase::Request,
        r#"{"decision":"allow"}"#,
        Ok(SecurityDecision::Allow),
    );
    check_answer(
        Phase::Request,
        &format!(r#"{{"decision":"deny",{found}}}"#),
        Ok(SecurityDecision::Deny(violation.clone())),
    );
    check_answer(
        Phase::Listing,
        &format!(r#"{{"decision":"ask",{found}}}"#),
        Ok(SecurityDecision::Ask(violation)),
    );
    check_answer(
        Phase::Reverse,
        r#"{"decision":"require_auth","auth":"a second factor"}"#,
        Ok(SecurityDecision::RequireAdditionalAuth(
            "a second factor".to_owned(),
        )),
    );
    let change = SecurityModification {
        modified_request: Some(Bytes::from_static(br#"{ "a":1}"#)),
        added_headers: vec![("x-team".to_owned(), "blue".to_owned())],
        audit_metadata: Some("[1]".into()),
        ..SecurityModification::default()
    };
    check_answer(
        Phase::Request,
        r#"{"decision":"modify","modification":{"params":{ "a":1},"headers":{"x-team":"blue"},"audit":[1]}}"#,
        Ok(SecurityDecision::AllowWithModification(change)),
    );
    let change = SecurityModification {
        modified_response: Some(Bytes::from_static(b"{}")),
        ..SecurityModification::default()
    };
    check_answer(
        Phase::Response,
        r#"{"decision":"modify","modification":{"result":{}}}"#,
        Ok(SecurityDecision::AllowWithModification(change)),
    );
}

#[test]
fn a_hook_can_name_every_threat() {
    for threat in Threat::ALL {
        let violation = SecurityViolation {
            rule_id: "R1".to_owned(),
            severity: Severity::Critical,
            threat_type: threat,
            description: String::new(),
            evidence: "1".to_owned(),
            recommended_action: String::new(),
        };
        let name = threat.name();
        let text = format!(
            r#"{{"decision":"deny","violation":{{"rule_id":"R1","severity":"critical","threat_type":"{name}","evidence":1}}}}"#
        );
        let expect = Ok(SecurityDecision::Deny(violation));
        check_answer(Phase::Request, &text, expect);
    }
}

#[test]
fn answers_that_say_two_things_or_none_are_garbage() {
    for (text, why) in [
        ("", "cut short at line 1 column 0"),
        ("<html>", "not JSON at line 1 column 1"),
        ("{}", "not of the published form at line 1 column 2"),
        (r#"{"decision":"allow"} x"#, "not JSON at line 1 column 22"),
        (
            r#"{"decision":"maybe"}"#,
            "not of the published form at line 1 column 19",
        ),
        (
            r#"{"decision":"allow","decision":"deny"}"#,
            "not of the published form at line 1 column 30",
        ),
        (
            r#"{"decision":"allow","reason":"x"}"#,
            "not of the published form at line 1 column 28",
        ),
        (
            r#"{"decision":"allow","modification":{"params":{}}}"#,
            "`allow` stands alone",
        ),
        (
            r#"{"decision":"deny"}"#,
            "`deny` and `ask` need `violation` alone",
        ),
        (
            r#"{"decision":"require_auth"}"#,
            "`require_auth` needs `auth` alone",
        ),
        (
            r#"{"decision":"modify"}"#,
            "`modify` needs `modification` alone",
        ),
        (
            r#"{"decision":"modify","modification":{"params":{}},"valid_for":5}"#,
            "`valid_for` does not go with `modify`",
        ),
        (
            r#"{"decision":"allow","valid_for":-1}"#,
            "not of the published form at line 1 column 34",
        ),
        (
            r#"{"decision":"modify","modification":{}}"#,
            "the modification changes nothing",
        ),
        (
            r#"{"decision":"modify","modification":{"result":{}}}"#,
            "the modification does not fit the phase",
        ),
        (
            r#"{"decision":"modify","modification":{"headers":{"x y":"1"}}}"#,
            "a header of the modification is none",
        ),
    ] {
        check_answer(Phase::Request, text, Err(why));
    }
}

#[test]
fn an_objection_counts_however_it_is_spelled() {
    let check = |text: &str, expect: Option<(&str, Severity, Threat)>| {
        let read = flawed::objection(text.as_bytes());
        let read = read.map(|decision| match decision {
            SecurityDecision::Deny(found) => ("deny", found.severity, found.threat_type),
            SecurityDecision::Ask(found) => ("ask", found.severity, found.threat_type),
            other => panic!("{text}: {other:?}"),
        });
        assert_eq!(read, expect, "{text}");
        let strict = answer::read(text.as_bytes(), Phase::Request);
        assert!(strict.is_err(), "{text}");
    };
    let (high, outside) = (Severity::High, Threat::UnauthorizedAccess);
    let bare = Some(("deny", high, outside));
    check(r#"{"decision":"deny"}"#, bare);
    check(r#"{"decision":"Deny","violation":"no"}"#, bare);
    check(
        r#"{"decision":"deny","violation":{"rule_id":"X","severity":"worst","threat_type":7}}"#,
        bare,
    );
    let with = |severity: &str, threat: &str, more: &str| {
        format!(
            r#"{{"decision":"deny","violation":{{"rule_id":"X","severity":"{severity}","threat_type":"{threat}"}}{more}}}"#
        )
    };
    let pulled = |severity| Some(("deny", severity, Threat::RugPull));
    check(&with("Low", "rug_pull", ""), pulled(Severity::Low));
    check(&with("critical", "RugPull", ""), pulled(Severity::Critical));
    check(&with("high", "rug_pull", r#","trace":"x""#), pulled(high));
    check(&with("high", "rug_pull", r#","auth":"x""#), pulled(high));
    check(r#"{"decision":"ask"}"#, Some(("ask", high, outside)));
    for neither in [
        "deny",
        r#""deny""#,
        r#"{"decision":"allow","decision":"deny"}"#,
        r#"{"decision":"maybe"}"#,
        r#"{"decision":"allow","reason":"x"}"#,
        r#"{"decision":"require_auth"}"#,
    ] {
        check(neither, None);
    }
}

#[test]
fn the_published_schema_is_the_one_of_the_code() {
    let published: Value = serde_json::from_str(include_str!("../../webhook.schema.json")).unwrap();
    assert_eq!(published, schema());
}

fn check_settings(change: impl FnOnce(&mut WebhookSettings), expect: &str) {
    let mut settings = WebhookSettings {
        url: "https://dlp.example/scan".to_owned(),
        method: Method::Post,
        headers: [("Authorization".to_owned(), Secret::new("Bearer x"))].into(),
        config: WebhookConfig::default(),
    };
    change(&mut settings);
    let made = Webhook::new(
        "dlp",
        300,
        Phases::default(),
        &settings,
        Arc::new(SystemClock::start()),
    );
    let said = made.map_or_else(|fault| fault.to_string(), |_| "made".to_owned());
    assert_eq!(said, expect);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    check_settings(|_| {}, "made");
    for url in [
        "https://ada:pw@dlp.example",
        "https://ada@dlp.example/scan",
        "ada:pw@dlp.example",
        "https://ada:p w@dlp.example",
    ] {
        let expect =
            "the address holds credentials, which do not belong there; give them in `headers`";
        check_settings(|settings| settings.url = url.to_owned(), expect);
        check_settings(
            |settings| settings.config.health_url = Some(url.to_owned()),
            expect,
        );
    }
    check_settings(
        |settings| settings.url = "https://dlp.example/scan?by=ada@example".to_owned(),
        "made",
    );
    for url in ["dlp.example", "ftp://dlp.example", "https://"] {
        check_settings(
            |settings| settings.url = url.to_owned(),
            &format!("`{url}` is not an address that starts with `http://` or `https://`"),
        );
    }
    check_settings(
        |settings| {
            settings.headers.insert("Host".to_owned(), Secret::new("x"));
        },
        "header `Host` is written by mcpproxy and cannot be set",
    );
    check_settings(
        |settings| {
            settings.headers.insert("A".to_owned(), Secret::new("x\ny"));
        },
        "header `A` has a name or a value that HTTP does not know",
    );
    check_settings(
        |settings| settings.config.signing_keys = vec![Secret::new("short")],
        "a signing key needs 24 bytes or more, and after `whsec_` it is base64",
    );
    check_settings(
        |settings| {
            settings.config.tls = Some(TlsSettings {
                key: Some("key.pem".into()),
                ..TlsSettings::default()
            });
        },
        "`certificate` and `key` are given together or not at all",
    );
    check_settings(
        |settings| {
            settings.url = "http://dlp.example".to_owned();
            settings.config.tls = Some(TlsSettings::default());
        },
        "`tls` is set, but `http://dlp.example` does not use TLS",
    );
}
