//! gRPC hooks against services on a loopback port: faults, bounds and batches.

mod service;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::clock::Wall;
use mcpproxy_core::security::{McpRequest, McpSessionInfo, RequestMetadata, SecurityHook as _};
use mcpproxy_core::{ByteSize, Secret, Span};
use tonic::Status;

use self::service::{Answers, Running};
use super::own::wire;
use super::*;
use crate::{BatchSettings, GrpcConfig};

const PATIENT: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(150);
const ALLOWED: wire::Answer = wire::Answer {
    decision: Some(wire::Decision::Allow(wire::Nothing {})),
};

fn context(timeout: Duration) -> SecurityContext {
    SecurityContext {
        correlation_id: "c-1".into(),
        session: Arc::new(McpSessionInfo {
            session_id: "s-1".to_owned(),
            server_id: "files".to_owned(),
            server_name: "Files".to_owned(),
            protocol_version: "2025-11-25".to_owned(),
            established_at: Wall(0),
        }),
        identity: None,
        request_metadata: Arc::new(RequestMetadata {
            method: "tools/call".to_owned(),
            path: "/mcp".to_owned(),
            headers: Vec::new(),
            remote_addr: None,
            timestamp: Wall(0),
        }),
        security_metadata: Arc::from([]),
        timeout,
    }
}

fn call() -> McpRequest {
    McpRequest {
        method: "tools/call".into(),
        name: "read".into(),
        params: Bytes::from_static(br#"{"name":"read"}"#),
        id: Some("7".into()),
    }
}

fn settings(endpoint: &str) -> GrpcSettings {
    GrpcSettings {
        endpoint: endpoint.to_owned(),
        protocol: Protocol::Mcpproxy,
        headers: BTreeMap::from([("authorization".to_owned(), Secret::new("Bearer k"))]),
        config: GrpcConfig::default(),
    }
}

fn hook(settings: &GrpcSettings) -> GrpcHook {
    GrpcHook::new("rbac", 200, Phases::default(), settings).unwrap()
}

async fn ask(hook: &GrpcHook, timeout: Duration) -> Result<SecurityDecision, HookFault> {
    hook.inspect_request(&context(timeout), &call()).await
}

async fn check(answers: Answers, expect: HookFault) {
    let patience = match expect {
        HookFault::Late => SHORT,
        _ => PATIENT,
    };
    let service = Running::start(answers).await;
    let answered = ask(&hook(&settings(&service.endpoint)), patience).await;
    assert_eq!(answered, Err(expect));
}

#[tokio::test]
async fn failures_of_the_service_are_told_apart() {
    let status = |status: Status| Answers::Inspect(Err(status));
    let reach = HookFault::Unreachable("it says so itself".to_owned());
    check(status(Status::unavailable("later")), reach).await;
    check(status(Status::deadline_exceeded("")), HookFault::Late).await;
    check(status(Status::resource_exhausted("")), HookFault::Busy).await;
    let unknown = HookFault::Garbage("it does not know the method".to_owned());
    check(status(Status::unimplemented("")), unknown).await;
    let crashed = HookFault::Crashed("gRPC status 13".to_owned());
    check(status(Status::internal("boom")), crashed).await;
    check(Answers::Never, HookFault::Late).await;
}

#[tokio::test]
async fn what_is_no_decision_is_garbage() {
    let raw =
        |kind: &'static str, body: &'static [u8], status: Option<&'static str>| Answers::Raw {
            kind,
            body: Bytes::from_static(body),
            status,
        };
    let grpc = "application/grpc";
    let garbage = |why: &str| HookFault::Garbage(why.to_owned());
    let nothing = wire::Answer { decision: None };
    check(Answers::Inspect(Ok(nothing)), garbage("it decides nothing")).await;
    check(raw(grpc, b"", Some("0")), garbage("it holds no message")).await;
    check(
        raw(grpc, b"\x01\0\0\0\0", Some("0")),
        garbage("it is compressed"),
    )
    .await;
    check(
        raw(grpc, b"\0\0\0\0\x02\x0a\0", None),
        garbage("it ended without a status"),
    )
    .await;
    check(
        raw(grpc, b"\0\0\0\0\x02\x0a\0", Some("ok")),
        garbage("it ended without a status"),
    )
    .await;
    check(
        raw("text/html", b"<html>", Some("0")),
        garbage("it is not gRPC"),
    )
    .await;
    let service = Running::start(raw(grpc, b"\0\0\0\0\x02\xff\xff", Some("0"))).await;
    let answered = ask(&hook(&settings(&service.endpoint)), PATIENT).await;
    assert!(
        matches!(answered, Err(HookFault::Garbage(_))),
        "{answered:?}"
    );
}

#[tokio::test]
async fn a_huge_answer_is_not_read() {
    let found = wire::Violation {
        description: "x".repeat(2 << 20),
        ..wire::Violation::default()
    };
    let huge = wire::Answer {
        decision: Some(wire::Decision::Deny(found)),
    };
    check(Answers::Inspect(Ok(huge)), HookFault::TooLarge).await;
}

#[tokio::test]
async fn a_huge_message_is_not_sent() {
    let service = Running::start(Answers::Inspect(Ok(ALLOWED))).await;
    let mut settings = settings(&service.endpoint);
    settings.config.max_body_size = ByteSize::new(10);
    assert_eq!(
        ask(&hook(&settings), PATIENT).await,
        Err(HookFault::TooLarge)
    );
    settings.config.check_request_body = false;
    let asked = ask(&hook(&settings), PATIENT).await;
    assert_eq!(asked, Ok(SecurityDecision::Allow));
    let seen = service.seen.lock().unwrap().pop().unwrap();
    let Some(wire::Subject::Request(request)) = seen.subject else {
        panic!("{seen:?}");
    };
    assert_eq!((request.name.as_str(), request.params.len()), ("read", 0));
}

#[tokio::test]
async fn one_connection_serves_many_questions_and_a_lost_one_is_replaced() {
    let service = Running::start(Answers::Inspect(Ok(ALLOWED))).await;
    let hook = hook(&settings(&service.endpoint));
    let context = context(PATIENT);
    let call = call();
    let asked = (0..20).map(|_| hook.inspect_request(&context, &call));
    for asked in asked {
        assert_eq!(asked.await, Ok(SecurityDecision::Allow));
    }
    assert_eq!(service.connections(), 1);
    let metadata = service.metadata.lock().unwrap().clone();
    assert_eq!(metadata["authorization"], "Bearer k");
    assert_eq!(metadata["grpc-timeout"], "10000m");

    service.hang_up().await;
    assert_eq!(ask(&hook, PATIENT).await, Ok(SecurityDecision::Allow));
    assert_eq!(service.connections(), 2);
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let service = Running::start(Answers::Never).await;
    let endpoint = service.endpoint.clone();
    drop(service);
    let hook = hook(&settings(&endpoint));
    assert!(matches!(
        hook.initialize().await,
        Err(HookFault::Unreachable(_) | HookFault::Crashed(_))
    ));
}

#[tokio::test]
async fn health_is_asked_as_grpc_has_it() {
    let check = async |answers, expect: Result<bool, HookFault>| {
        let service = Running::start(answers).await;
        let status = hook(&settings(&service.endpoint)).health_check().await;
        assert_eq!(status.map(|status| status.healthy), expect);
    };
    check(Answers::Health(Ok(SERVING)), Ok(true)).await;
    check(Answers::Health(Ok(2)), Ok(false)).await;
    check(Answers::Health(Err(Status::unimplemented(""))), Ok(true)).await;
    let crashed = HookFault::Crashed("gRPC status 13".to_owned());
    check(Answers::Health(Err(Status::internal(""))), Err(crashed)).await;
}

#[tokio::test]
async fn events_come_in_batches_and_what_is_lost_is_counted() {
    let service = Running::start(Answers::Observe).await;
    let mut settings = settings(&service.endpoint);
    settings.config.batch = Some(BatchSettings {
        max_events: 4,
        max_wait: Span::from_secs(60),
        max_waiting: 8,
        ..BatchSettings::default()
    });
    let hook = hook(&settings);
    // The sender does not run before this test waits, so that eight wait and the rest is lost.
    let told = (0..10).map(|_| {
        hook.batches
            .as_ref()
            .unwrap()
            .push(wire::Inspection::default())
    });
    let refused = told.filter(Result::is_err).count();
    assert_eq!(refused, 2);
    let first = service.batch().await;
    assert_eq!((first.inspections.len(), first.lost), (4, 2));
    let second = service.batch().await;
    assert_eq!((second.inspections.len(), second.lost), (4, 0));
    // A hook that only tells lets everything pass.
    assert_eq!(ask(&hook, PATIENT).await, Ok(SecurityDecision::Allow));
    drop(hook);
    let last = service.batch().await;
    assert_eq!(last.inspections.len(), 1);
}

#[tokio::test]
async fn bytes_that_wait_are_bounded_too() {
    let service = Running::start(Answers::Never).await;
    let mut settings = settings(&service.endpoint);
    settings.config.batch = Some(BatchSettings {
        max_waiting_size: ByteSize::new(150),
        ..BatchSettings::default()
    });
    let hook = hook(&settings);
    let answered = [ask(&hook, PATIENT).await, ask(&hook, PATIENT).await];
    assert_eq!(
        answered,
        [Ok(SecurityDecision::Allow), Err(HookFault::Busy)]
    );
    assert_eq!(hook.batches.as_ref().unwrap().lost(), 1);
}

fn check_settings(change: impl FnOnce(&mut GrpcSettings, &mut Phases), expect: &str) {
    let mut settings = settings("grpc://rbac.example:9000");
    let mut runs_on = Phases {
        request: true,
        ..Phases::default()
    };
    change(&mut settings, &mut runs_on);
    let made = GrpcHook::new("rbac", 200, runs_on, &settings);
    let said = made.map_or_else(|fault| fault.to_string(), |_| "made".to_owned());
    assert_eq!(said, expect);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    check_settings(|_, _| {}, "made");
    check_settings(
        |settings, _| settings.endpoint = "grpc://a:pw@b:1".to_owned(),
        "the address holds credentials, which do not belong there; give them in `headers`",
    );
    for endpoint in ["rbac:9000", "https://rbac:9000", "grpc://"] {
        check_settings(
            |settings, _| settings.endpoint = endpoint.to_owned(),
            &format!("`{endpoint}` is not an address that starts with `grpc://` or `grpcs://`"),
        );
    }
    check_settings(
        |settings, runs_on| {
            settings.protocol = Protocol::ExtAuthz;
            runs_on.response = true;
        },
        "protocol `ext_authz` cannot carry responses; leave it out of `runs_on`",
    );
    check_settings(
        |settings, runs_on| {
            settings.protocol = Protocol::ExtMcp;
            runs_on.response = true;
            runs_on.reverse = true;
        },
        "protocol `ext_mcp` cannot carry requests of upstreams; leave it out of `runs_on`",
    );
    check_settings(
        |settings, _| {
            settings.protocol = Protocol::ExtMcp;
            settings.config.batch = Some(BatchSettings::default());
        },
        "only protocol `mcpproxy` takes batches",
    );
    check_settings(
        |settings, _| {
            settings.config.batch = Some(BatchSettings {
                max_events: 0,
                ..BatchSettings::default()
            });
        },
        "a batch holds one event or more",
    );
}
