//! The reference services of `examples/`, and services in another language that were written from
//! published interfaces.

mod process;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::Secret;
use mcpproxy_core::security::{
    HookFault, McpResponse, Phases, ResponseKind, SecurityDecision, SecurityHook as _,
};
use mcpproxy_hooks_remote::{BatchSettings, GrpcConfig, GrpcHook, GrpcSettings, Protocol, Webhook};

use self::process::Process;
use crate::asked::{PATIENT, ask, call, context, result, settings, webhook};

const KEY: &str = "whsec_bV9s2kq0JY8dU4xH1rT6wZcN3pEaLgQf";
const BOTH_WAYS: Phases = Phases {
    request: true,
    response: true,
    listing: true,
    notification: false,
    reverse: false,
};

/// The decision in short: its name and what matters of it.
fn short(decision: Result<SecurityDecision, HookFault>) -> String {
    let text = |bytes: Option<Bytes>| {
        let bytes = bytes.unwrap_or_default();
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    match decision {
        Ok(SecurityDecision::Allow) => "allow".to_owned(),
        Ok(SecurityDecision::AllowWithModification(change)) => format!(
            "modify {}{} {:?} {}",
            text(change.modified_request),
            text(change.modified_response),
            change.added_headers,
            change.audit_metadata.unwrap_or_default()
        ),
        Ok(SecurityDecision::Ask(found)) => format!("ask {}", found.description),
        Ok(SecurityDecision::AskOrDeny(found)) => format!("ask or deny {}", found.description),
        Ok(SecurityDecision::RequireAdditionalAuth(what)) => format!("auth {what}"),
        Ok(SecurityDecision::Deny(found)) => format!("deny {}", found.description),
        Err(fault) => fault.to_string(),
    }
}

fn grpc(port: u16, id: &str, protocol: Protocol, runs_on: Phases) -> GrpcHook {
    let settings = GrpcSettings {
        endpoint: format!("grpc://127.0.0.1:{port}"),
        protocol,
        headers: BTreeMap::new(),
        config: GrpcConfig::default(),
    };
    GrpcHook::new(id, 200, runs_on, &settings).unwrap()
}

#[tokio::test]
async fn the_dlp_webhook_denies_masks_and_checks_signatures() {
    let environment = [("DLP_SIGNING_KEY", KEY)];
    let script = "examples/dlp-webhook/service.py";
    let Some(service) = Process::start(script, &["--port", "0"], &environment).await else {
        return;
    };
    let mut settings = settings(format!("http://127.0.0.1:{}/scan", service.port));
    settings.config.health_url = Some(format!("http://127.0.0.1:{}/healthz", service.port));
    settings.config.signing_keys = vec![Secret::new(KEY)];
    let hook = webhook(&settings);
    assert_eq!(hook.initialize().await, Ok(()));

    let context = context(PATIENT, &["reader"]);
    let check_call = async |arguments: &str, expect: &str| {
        let call = call("send", arguments);
        let decision = hook.inspect_request(&context, &call).await;
        assert_eq!(short(decision), expect, "{arguments}");
    };
    check_call(r#"{"text":"see you at 10"}"#, "allow").await;
    check_call(r#"{"text":"order 4929 7361 5083 2475"}"#, "allow").await;
    check_call(
        r#"{"to":["x",{"note":"pay with 4929 7361 5083 2474"}]}"#,
        "deny a payment card number is about to leave",
    )
    .await;
    let asked = call("read", "{}");
    let came = result("card 4929736150832474");
    let decision = hook.inspect_response(&context, &asked, &came).await;
    let expect = concat!(
        r#"modify {"content": [{"type": "text", "text": "card ************2474"}]} [] "#,
        r#"{"cards_masked": 1}"#
    );
    assert_eq!(short(decision), expect);

    settings.config.signing_keys = vec![Secret::new("another key of 24 bytes or more")];
    let stranger = ask(&webhook(&settings), PATIENT).await;
    assert_eq!(stranger, Err(HookFault::Garbage("status 401".to_owned())));
}

#[tokio::test]
async fn signatures_are_those_of_standard_webhooks() {
    let environment = [("SIGNING_KEY", KEY)];
    let script = "crates/hooks-remote/tests/peers/standard_webhook.py";
    let Some(service) = Process::start(script, &[], &environment).await else {
        return;
    };
    let mut settings = settings(format!("http://127.0.0.1:{}/", service.port));
    let unsigned = ask(&webhook(&settings), PATIENT).await;
    assert_eq!(unsigned, Err(HookFault::Garbage("status 401".to_owned())));
    // While a key is replaced, both sign.
    let new = Secret::new("the key that comes after it");
    settings.config.signing_keys = vec![new, Secret::new(KEY)];
    assert_eq!(
        ask(&webhook(&settings), PATIENT).await,
        Ok(SecurityDecision::Allow)
    );

    let hour = Duration::from_hours(1);
    let late = mcpproxy_testkit::FixedClock::at(mcpproxy_core::Wall(0).after(hour));
    let old = Webhook::new("dlp", 1, BOTH_WAYS, &settings, Arc::new(late)).unwrap();
    assert_eq!(
        ask(&old, PATIENT).await,
        Err(HookFault::Garbage("status 401".to_owned()))
    );
}

#[tokio::test]
async fn the_role_service_decides_by_role_and_filters_listings() {
    let script = "examples/rbac-grpc/service.py";
    let Some(service) = Process::start(script, &["--port", "0"], &[]).await else {
        return;
    };
    let hook = grpc(service.port, "rbac", Protocol::Mcpproxy, BOTH_WAYS);
    assert_eq!(hook.initialize().await, Ok(()));

    let check = async |roles: &[&str], tool: &str, expect: &str| {
        let context = context(PATIENT, roles);
        let decision = hook.inspect_request(&context, &call(tool, "{}")).await;
        assert_eq!(short(decision), expect, "{roles:?} {tool}");
    };
    check(&["reader"], "read_file", "allow").await;
    check(
        &["reader"],
        "write_file",
        "deny no role of the caller has tool write_file",
    )
    .await;
    check(&["reader", "writer"], "write_file", "allow").await;
    check(
        &["admin"],
        "delete_file",
        "ask tool delete_file needs a second look",
    )
    .await;
    let mut nobody = context(PATIENT, &[]);
    nobody.identity = None;
    let decision = hook
        .inspect_request(&nobody, &call("read_file", "{}"))
        .await;
    assert_eq!(short(decision), "auth a token that says who you are");

    let listing = McpResponse {
        kind: ResponseKind::Listing,
        body: Bytes::from_static(br#"{"tools":[{"name":"read_file"},{"name":"delete_file"}]}"#),
    };
    // The gateway lists for itself: nobody stands behind it.
    let asked = call("", "{}");
    let decision = hook.inspect_response(&nobody, &asked, &listing).await;
    assert_eq!(short(decision), "allow");
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.json");
    let readers = r#"{"roles":{"reader":["read_*"]},"confirm":[]}"#;
    std::fs::write(&policy, readers).unwrap();
    let arguments = ["--port", "0", "--policy", policy.to_str().unwrap()];
    let service = Process::start(script, &arguments, &[]).await.unwrap();
    let hook = grpc(service.port, "rbac", Protocol::Mcpproxy, BOTH_WAYS);
    let decision = hook.inspect_response(&nobody, &asked, &listing).await;
    let expect = r#"modify {"tools": [{"name": "read_file"}]} [] {"hidden": 1}"#;
    assert_eq!(short(decision), expect);
}

#[tokio::test]
async fn the_role_service_is_told_in_batches() {
    let script = "examples/rbac-grpc/service.py";
    let Some(mut service) = Process::start(script, &["--port", "0"], &[]).await else {
        return;
    };
    let settings = GrpcSettings {
        endpoint: format!("grpc://127.0.0.1:{}", service.port),
        protocol: Protocol::Mcpproxy,
        headers: BTreeMap::new(),
        config: GrpcConfig {
            batch: Some(BatchSettings {
                max_events: 3,
                ..BatchSettings::default()
            }),
            ..GrpcConfig::default()
        },
    };
    let hook = GrpcHook::new("audit", 900, BOTH_WAYS, &settings).unwrap();
    for _ in 0..3 {
        assert_eq!(ask(&hook, PATIENT).await, Ok(SecurityDecision::Allow));
    }
    assert_eq!(service.line().await, "observed 3, lost 0");
}

#[tokio::test]
async fn an_authorization_service_over_envoys_interface_sees_and_decides() {
    let script = "crates/hooks-remote/tests/peers/ext_authz.py";
    let Some(service) = Process::start(script, &[], &[]).await else {
        return;
    };
    let requests = Phases {
        request: true,
        ..Phases::default()
    };
    let hook = grpc(service.port, "authz", Protocol::ExtAuthz, requests);
    assert_eq!(hook.initialize().await, Ok(()));
    let context = context(PATIENT, &["reader"]);
    let check = async |tool: &str, expect: &str| {
        let call = call(tool, r#"{"path":"a","deep":[{"n":1.5}]}"#);
        let decision = hook.inspect_request(&context, &call).await;
        assert_eq!(short(decision), expect);
    };
    check("list", "allow").await;
    check("read", r#"modify  [("x-allowed-by", "authz")] "#).await;
    check("delete", "deny deletions are not for agents").await;
    check("deploy", "ask or deny deployments need a person").await;
}

#[tokio::test]
async fn a_policy_service_over_agentgateways_interface_sees_and_decides() {
    let script = "crates/hooks-remote/tests/peers/ext_mcp.py";
    let Some(service) = Process::start(script, &[], &[]).await else {
        return;
    };
    let hook = grpc(service.port, "policy", Protocol::ExtMcp, BOTH_WAYS);
    let context = context(PATIENT, &["reader"]);
    let check = async |tool: &str, expect: &str| {
        let decision = hook.inspect_request(&context, &call(tool, "{}")).await;
        assert_eq!(short(decision), expect);
    };
    check("read", "allow").await;
    check("delete", "deny not for agents").await;
    check(
        "search",
        concat!(
            r#"modify {"name": "search", "arguments": {"limit": 10}} "#,
            r#"[("x-limited", "yes")] {"limited":true}"#
        ),
    )
    .await;
    let asked = call("read", "{}");
    let came = result("internal");
    let decision = hook.inspect_response(&context, &asked, &came).await;
    let expect = r#"modify {"content":[{"type":"text","text":"********"}]} [] "#;
    assert_eq!(short(decision), expect);
}
