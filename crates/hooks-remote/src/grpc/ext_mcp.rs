//! Policy services as agentgateway speaks with them: requests and results, which may be changed.
//!
//! The interface has no form for errors, so those pass unseen; headers to be removed are not
//! followed, since no header of a downstream reaches an upstream.

#[cfg(test)]
mod tests;
pub(super) mod wire;

use bytes::Bytes;
use prost_types::Struct;
use serde_json::json;

use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{
    HookFault, McpRequest, McpResponse, SecurityContext, SecurityDecision, SecurityModification,
    SecurityViolation,
};

use super::json::{structure, text};
use super::unary::garbage;
use crate::decision;
use crate::subject::{Phase, Shown};

/// The method that decides about requests.
pub(super) const REQUEST: &str = "/agentgateway.dev.ext_mcp.ExtMcp/CheckRequest";
/// The method that decides about results.
pub(super) const RESPONSE: &str = "/agentgateway.dev.ext_mcp.ExtMcp/CheckResponse";

/// Writes a question about a request.
pub(super) fn request(
    context: &SecurityContext,
    request: &McpRequest,
    shown: Shown,
) -> Result<wire::McpRequest, HookFault> {
    let headers = context.request_metadata.headers.iter();
    let headers = headers.map(|(key, value)| wire::McpHeader {
        key: key.clone(),
        value: value.clone().into_bytes(),
    });
    Ok(wire::McpRequest {
        service_names: vec![context.session.server_id.clone()],
        method: request.method.to_string(),
        metadata_context: Some(surroundings(context)),
        params: shown.request(&request.params)?.cloned(),
        headers: headers.collect(),
    })
}

/// Writes a question about a result.
pub(super) fn response(
    context: &SecurityContext,
    request: &McpRequest,
    response: &McpResponse,
    shown: Shown,
) -> Result<wire::McpResponse, HookFault> {
    Ok(wire::McpResponse {
        service_names: vec![context.session.server_id.clone()],
        method: request.method.to_string(),
        metadata_context: Some(surroundings(context)),
        result: shown.response(&response.body)?.cloned().unwrap_or_default(),
    })
}

fn surroundings(context: &SecurityContext) -> Struct {
    let session = &context.session;
    let mut seen = json!({
        "correlation_id": &*context.correlation_id,
        "session": {
            "id": session.session_id,
            "server_id": session.server_id,
            "server_name": session.server_name,
            "protocol_version": session.protocol_version,
        },
    });
    if let (Some(identity), Some(seen)) = (context.identity.as_deref(), seen.as_object_mut()) {
        let identity = json!({
            "user_id": identity.user_id,
            "agent_id": identity.agent_id,
            "roles": identity.roles,
            "scopes": identity.scopes,
        });
        seen.insert("identity".to_owned(), identity);
    }
    structure(seen)
}

/// Reads an answer to a question of this phase.
pub(super) fn answer(answer: wire::Answer, phase: Phase) -> Result<SecurityDecision, HookFault> {
    let mutated = match answer.outcome {
        None => return Err(garbage("it decides nothing")),
        Some(wire::Outcome::Error(error)) => return Ok(SecurityDecision::Deny(violation(error))),
        Some(wire::Outcome::Mutated(bytes)) => Some(bytes),
        Some(wire::Outcome::Pass(wire::Pass {})) => None,
    };
    let set = answer.header_mutation.unwrap_or_default().set;
    let added_headers: Result<Vec<_>, _> = set.into_iter().map(header).collect();
    let metadata = answer.metadata.filter(|it| !it.fields.is_empty());
    let change = placed(mutated, phase);
    let change = SecurityModification {
        added_headers: added_headers?,
        audit_metadata: metadata.map(|metadata| text(metadata).to_string().into()),
        ..change
    };
    if change == SecurityModification::default() {
        return Ok(SecurityDecision::Allow);
    }
    decision::modified(change, phase)
}

fn placed(mutated: Option<Bytes>, phase: Phase) -> SecurityModification {
    let mut change = SecurityModification::default();
    match phase {
        Phase::Request | Phase::Notification | Phase::Reverse => change.modified_request = mutated,
        Phase::Response | Phase::Listing => change.modified_response = mutated,
    }
    change
}

fn header(header: wire::McpHeader) -> Result<(String, String), HookFault> {
    let value = String::from_utf8(header.value);
    let value = value.map_err(|_| garbage("the value of a header is not text"))?;
    Ok((header.key, value))
}

fn violation(error: wire::AuthorizationError) -> SecurityViolation {
    let code = wire::Code::try_from(error.code).unwrap_or(wire::Code::Unknown);
    let (rule, threat_type) = match code {
        wire::Code::Unknown => ("unknown", Threat::UnauthorizedAccess),
        wire::Code::PermissionDenied => ("permission_denied", Threat::UnauthorizedAccess),
        wire::Code::ResourceExhausted => ("resource_exhausted", Threat::RateLimitExceeded),
        wire::Code::Invalid => ("invalid", Threat::AnomalousBehavior),
    };
    let evidence = error
        .mcp_error
        .and_then(|text| String::from_utf8(text).ok());
    let evidence = decision::json(evidence).ok().flatten();
    let reason = Some(error.reason).filter(|reason| !reason.trim().is_empty());
    SecurityViolation {
        rule_id: format!("ext_mcp.{rule}"),
        severity: Severity::High,
        threat_type,
        description: reason.unwrap_or_else(|| "the service gave no reason".to_owned()),
        evidence: evidence.map_or_else(|| "null".to_owned(), Into::into),
        recommended_action: String::new(),
    }
}
