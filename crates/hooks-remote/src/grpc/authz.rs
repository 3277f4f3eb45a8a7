//! Envoy's external authorization, version 3: a request of MCP is shown as the HTTP request it
//! would be, so that authorization services that exist decide about it as they are.
//!
//! Only requests. Of an answer, headers to be removed or added on the way back are not followed.

#[cfg(test)]
mod tests;
pub(super) mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use prost_types::{Struct, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use mcpproxy_core::Wall;
use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{
    HookFault, Identity, McpRequest, SecurityContext, SecurityDecision, SecurityModification,
    SecurityViolation,
};

use super::json::{structure, text};
use super::unary::garbage;
use crate::decision;
use crate::subject::{Phase, Shown};

/// The method that decides.
pub(super) const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
/// Where policies look for what was said in MCP.
const MCP: &str = "envoy.filters.http.mcp";
/// Where policies look for what is known of the caller.
const CLAIMS: &str = "envoy.filters.http.jwt_authn";
/// Codes of `google.rpc.Code` that mean something of their own.
const RESOURCE_EXHAUSTED: i32 = 8;
const UNAUTHENTICATED: i32 = 16;

/// A whole message of JSON-RPC.
#[derive(Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

/// Writes a question.
pub(super) fn question(
    hook_id: &str,
    context: &SecurityContext,
    request: &McpRequest,
    shown: Shown,
) -> Result<wire::CheckRequest, HookFault> {
    let body = envelope(request, shown)?;
    let seen: Json = serde_json::from_str(&body).map_err(|_| unfit())?;
    let server = &context.session.server_id;
    let http = wire::HttpRequest {
        id: context.correlation_id.to_string(),
        method: "POST".to_owned(),
        headers: headers(context, request, body.len()),
        path: format!("/mcp/{server}"),
        host: server.clone(),
        scheme: "http".to_owned(),
        size: i64::try_from(body.len()).unwrap_or(i64::MAX),
        protocol: "HTTP/1.1".to_owned(),
        body,
    };
    let extensions = [
        ("hook_id", hook_id),
        ("server_id", server),
        ("correlation_id", &context.correlation_id),
    ];
    let extensions = extensions.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(wire::CheckRequest {
        attributes: Some(wire::AttributeContext {
            source: Some(source(context)),
            request: Some(wire::Request {
                time: Some(timestamp(context.request_metadata.timestamp)),
                http: Some(http),
            }),
            context_extensions: BTreeMap::from(extensions),
            metadata_context: Some(metadata(seen, context.identity.as_deref())),
        }),
    })
}

fn envelope(request: &McpRequest, shown: Shown) -> Result<String, HookFault> {
    let params = shown.request(&request.params)?;
    let params = params.map(|params| serde_json::from_slice(params));
    let id = request.id.as_deref().map(serde_json::from_str);
    let envelope = Envelope {
        jsonrpc: "2.0",
        id: id.transpose().map_err(|_| unfit())?,
        method: &request.method,
        params: params.transpose().map_err(|_| unfit())?,
    };
    serde_json::to_string(&envelope).map_err(|_| unfit())
}

fn unfit() -> HookFault {
    HookFault::Crashed("the message to show is not JSON".to_owned())
}

/// Ours come last, so that no header of a downstream can pass for one of them.
fn headers(
    context: &SecurityContext,
    request: &McpRequest,
    length: usize,
) -> BTreeMap<String, String> {
    let received = context.request_metadata.headers.iter().cloned();
    let mut headers: BTreeMap<String, String> = received.collect();
    let ours = [
        ("content-type", "application/json".to_owned()),
        ("content-length", length.to_string()),
        ("mcp-method", request.method.to_string()),
        ("mcp-name", request.name.to_string()),
        ("mcp-session-id", context.session.session_id.clone()),
        ("x-envoy-auth-partial-body", "false".to_owned()),
    ];
    headers.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    headers
}

fn source(context: &SecurityContext) -> wire::Peer {
    let address = context.request_metadata.remote_addr.as_deref();
    let address = address.and_then(|address| address.parse::<SocketAddr>().ok());
    let principal = context.identity.as_deref().map(|who| who.user_id.clone());
    wire::Peer {
        address: address.map(|address| wire::Address {
            socket_address: Some(wire::SocketAddress {
                address: address.ip().to_string(),
                port_value: u32::from(address.port()),
            }),
        }),
        principal: principal.unwrap_or_default(),
    }
}

fn timestamp(wall: Wall) -> Timestamp {
    let nanos = i32::try_from(wall.0 % 1000).unwrap_or_default();
    Timestamp {
        seconds: i64::try_from(wall.0 / 1000).unwrap_or(i64::MAX),
        nanos: nanos.saturating_mul(1_000_000),
    }
}

fn metadata(message: Json, identity: Option<&Identity>) -> wire::Metadata {
    let mut filters = BTreeMap::from([(MCP.to_owned(), structure(message))]);
    if let Some(identity) = identity {
        let claims = json!({ "jwt_payload": claims(identity) });
        filters.insert(CLAIMS.to_owned(), structure(claims));
    }
    wire::Metadata {
        filter_metadata: filters,
    }
}

/// What is known of the caller under the names that tokens have for it.
fn claims(identity: &Identity) -> Json {
    let attributes = identity.attributes.iter().cloned();
    let mut claims: serde_json::Map<String, Json> = attributes
        .map(|(name, value)| (name, Json::String(value)))
        .collect();
    claims.insert("sub".to_owned(), json!(identity.user_id));
    claims.insert("roles".to_owned(), json!(identity.roles));
    claims.insert("scope".to_owned(), json!(identity.scopes.join(" ")));
    if let Some(agent) = &identity.agent_id {
        claims.insert("client_id".to_owned(), json!(agent));
    }
    Json::Object(claims)
}

/// Reads an answer. Status 0 allows, unless the response denies; one that says neither yes nor no is no
/// answer. One that says both denies: a failure would let the call pass with a hook that fails open.
pub(super) fn answer(answer: wire::CheckResponse) -> Result<SecurityDecision, HookFault> {
    let metadata = answer.dynamic_metadata.filter(|it| !it.fields.is_empty());
    let metadata = metadata.map(|metadata: Struct| text(metadata));
    let approval = metadata
        .as_ref()
        .and_then(|it| it.get("decision")?.as_str());
    let approval = approval == Some("require_approval");
    let code = answer.status.as_ref().map(|status| status.code);
    match (code, answer.http_response) {
        (None, None) => Err(garbage("it has neither a status nor a response")),
        (None | Some(0), Some(wire::HttpResponse::Denied(denied))) => {
            tracing::warn!(
                "an authorization service denies with the status of success; it is denied"
            );
            let found = violation(code.unwrap_or_default(), Some(&denied), "");
            Ok(SecurityDecision::Deny(found))
        }
        (None | Some(0), _) if approval => Ok(SecurityDecision::Ask(violation(0, None, ""))),
        (None | Some(0), allowed) => allow(allowed, metadata),
        (Some(code), denied) => {
            let said = answer.status.map(|status| status.message);
            let said = said.unwrap_or_default();
            let denied = match denied {
                Some(wire::HttpResponse::Denied(denied)) => Some(denied),
                Some(wire::HttpResponse::Ok(_)) | None => None,
            };
            let found = violation(code, denied.as_ref(), &said);
            Ok(match code {
                // It denied: only a person makes that anything else.
                _ if approval => SecurityDecision::AskOrDeny(found),
                UNAUTHENTICATED => SecurityDecision::RequireAdditionalAuth(found.description),
                _ => SecurityDecision::Deny(found),
            })
        }
    }
}

fn allow(
    allowed: Option<wire::HttpResponse>,
    metadata: Option<Json>,
) -> Result<SecurityDecision, HookFault> {
    let headers = match allowed {
        Some(wire::HttpResponse::Ok(allowed)) => allowed.headers,
        Some(wire::HttpResponse::Denied(_)) | None => Vec::new(),
    };
    let headers = headers.into_iter().filter_map(|option| option.header);
    let added_headers: Result<Vec<_>, _> = headers.map(header).collect();
    let change = SecurityModification {
        added_headers: added_headers?,
        audit_metadata: metadata.map(|metadata| metadata.to_string().into()),
        ..SecurityModification::default()
    };
    if change == SecurityModification::default() {
        return Ok(SecurityDecision::Allow);
    }
    decision::modified(change, Phase::Request)
}

fn header(header: wire::HeaderValue) -> Result<(String, String), HookFault> {
    if header.raw_value.is_empty() {
        return Ok((header.key, header.value));
    }
    let value = String::from_utf8(header.raw_value);
    let value = value.map_err(|_| garbage("the value of a header is not text"))?;
    Ok((header.key, value))
}

fn violation(
    code: i32,
    denied: Option<&wire::DeniedHttpResponse>,
    said: &str,
) -> SecurityViolation {
    let reasons = [denied.map_or("", |denied| denied.body.as_str()), said];
    let reason = reasons.into_iter().find(|reason| !reason.trim().is_empty());
    let status = denied.and_then(|denied| denied.status.as_ref());
    let evidence = json!({ "code": code, "http_status": status.map(|status| status.code) });
    SecurityViolation {
        rule_id: "ext_authz".to_owned(),
        severity: Severity::High,
        threat_type: match code {
            RESOURCE_EXHAUSTED => Threat::RateLimitExceeded,
            _ => Threat::UnauthorizedAccess,
        },
        description: reason.unwrap_or("the service gave no reason").to_owned(),
        evidence: evidence.to_string(),
        recommended_action: String::new(),
    }
}
