//! What the hooks are asked about, and their answers in short.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::clock::Wall;
use mcpproxy_core::security::{
    HookFault, Identity, McpRequest, McpSessionInfo, Phases, RequestMetadata, SecurityContext,
    SecurityDecision, SecurityHook as _,
};
use mcpproxy_hooks_wasm::{WasmConfig, WasmHook, WasmSettings};

/// Long enough for any answer that comes at all.
pub(crate) const PATIENT: Duration = Duration::from_mins(1);
pub(crate) const EVERYTHING: Phases = Phases {
    request: true,
    response: true,
    listing: true,
    notification: true,
    reverse: true,
};

pub(crate) fn settings(path: PathBuf, config: &str) -> WasmSettings {
    let config: WasmConfig = serde_json::from_str(config).unwrap();
    WasmSettings { path, config }
}

pub(crate) fn hook(path: PathBuf, config: &str) -> WasmHook {
    WasmHook::new("guard", 300, EVERYTHING, &settings(path, config)).unwrap()
}

pub(crate) fn context(timeout: Duration) -> SecurityContext {
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
            agent_id: None,
            roles: vec!["reader".to_owned()],
            scopes: vec!["files:read".to_owned()],
            attributes: vec![("team".to_owned(), "blue".to_owned())],
        })),
        request_metadata: Arc::new(RequestMetadata {
            method: "tools/call".to_owned(),
            path: "/mcp".to_owned(),
            headers: vec![("user-agent".to_owned(), "test".to_owned())],
            remote_addr: None,
            timestamp: Wall(1_700_000_000_123),
        }),
        security_metadata: Arc::from([("before".into(), "{}".into())]),
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

/// Asks about a call of `tool` and returns the answer in short.
pub(crate) async fn ask(hook: &WasmHook, tool: &str, timeout: Duration) -> String {
    let context = context(timeout);
    short(hook.inspect_request(&context, &call(tool, "{}")).await)
}

/// Returns an answer's name and what matters of it.
pub(crate) fn short(decision: Result<SecurityDecision, HookFault>) -> String {
    let text = |bytes: Option<Bytes>| {
        let bytes = bytes.unwrap_or_default();
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    match decision {
        Ok(SecurityDecision::Allow) => "allow".to_owned(),
        Ok(SecurityDecision::AllowWithModification(change)) => format!(
            "modify {}{} {}",
            text(change.modified_request),
            text(change.modified_response),
            change.audit_metadata.unwrap_or_default()
        ),
        Ok(SecurityDecision::Ask(found)) => format!("ask {}", found.description),
        Ok(SecurityDecision::AskOrDeny(found)) => format!("ask or deny {}", found.description),
        Ok(SecurityDecision::RequireAdditionalAuth(what)) => format!("auth {what}"),
        Ok(SecurityDecision::Deny(found)) => {
            format!(
                "deny {}: {} {}",
                found.rule_id, found.description, found.evidence
            )
        }
        Err(fault) => fault.to_string(),
    }
}
