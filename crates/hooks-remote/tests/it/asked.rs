//! What the hooks are asked about.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::clock::{SystemClock, Wall};
use mcpproxy_core::security::{
    HookFault, Identity, McpRequest, McpResponse, McpSessionInfo, Phases, RequestMetadata,
    ResponseKind, SecurityContext, SecurityDecision, SecurityHook,
};
use mcpproxy_hooks_remote::{Method, Webhook, WebhookConfig, WebhookSettings};

/// Long enough for any answer that comes at all.
pub(crate) const PATIENT: Duration = Duration::from_secs(10);
/// For answers that do not come.
pub(crate) const SHORT: Duration = Duration::from_millis(150);

pub(crate) fn context(timeout: Duration, roles: &[&str]) -> SecurityContext {
    SecurityContext {
        correlation_id: "c-1".into(),
        session: Arc::new(McpSessionInfo {
            session_id: "s-1".to_owned(),
            server_id: "files".to_owned(),
            server_name: "Files".to_owned(),
            protocol_version: "2025-11-25".to_owned(),
            established_at: Wall(1_700_000_000_000),
        }),
        identity: Some(Arc::new(Identity {
            user_id: "ada".to_owned(),
            agent_id: Some("claude-code".to_owned()),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            scopes: vec!["files:read".to_owned()],
            attributes: vec![("team".to_owned(), "blue".to_owned())],
        })),
        request_metadata: Arc::new(RequestMetadata {
            method: "tools/call".to_owned(),
            path: "/mcp".to_owned(),
            headers: vec![("user-agent".to_owned(), "test".to_owned())],
            remote_addr: Some("127.0.0.1:5000".to_owned()),
            timestamp: Wall(1_700_000_000_123),
        }),
        security_metadata: Arc::from([]),
        timeout,
    }
}

pub(crate) fn call(tool: &str, arguments: &str) -> McpRequest {
    McpRequest {
        method: "tools/call".into(),
        name: tool.into(),
        params: Bytes::from(format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)),
        id: Some("7".into()),
    }
}

pub(crate) fn result(text: &str) -> McpResponse {
    McpResponse {
        kind: ResponseKind::Result,
        body: Bytes::from(format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
        )),
    }
}

pub(crate) const REQUESTS: Phases = Phases {
    request: true,
    response: false,
    listing: false,
    notification: false,
    reverse: false,
};

pub(crate) fn settings(url: String) -> WebhookSettings {
    WebhookSettings {
        url,
        method: Method::Post,
        headers: std::collections::BTreeMap::default(),
        config: WebhookConfig::default(),
    }
}

pub(crate) fn webhook(settings: &WebhookSettings) -> Webhook {
    let clock = Arc::new(SystemClock::start());
    Webhook::new("dlp", 300, REQUESTS, settings, clock).unwrap()
}

pub(crate) async fn ask(
    hook: &dyn SecurityHook,
    timeout: Duration,
) -> Result<SecurityDecision, HookFault> {
    let context = context(timeout, &["reader"]);
    hook.inspect_request(&context, &call("read", "{}")).await
}
