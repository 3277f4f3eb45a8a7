//! Our own protocol, `mcpproxy.hook.v1`, which carries every message and every decision.

#[cfg(test)]
mod tests;
pub(super) mod wire;

use mcpproxy_core::finding::{Severity, Threat};
use mcpproxy_core::security::{
    HookFault, Identity, McpRequest, RequestMetadata, ResponseKind, SecurityContext,
    SecurityDecision, SecurityModification, SecurityViolation, Subject,
};

use super::unary::garbage;
use crate::decision;
use crate::subject::{Phase, Shown};

/// The method that decides.
pub(super) const INSPECT: &str = "/mcpproxy.hook.v1.Hook/Inspect";
/// The method that takes batches.
pub(super) const OBSERVE: &str = "/mcpproxy.hook.v1.Hook/Observe";

/// Writes a question.
pub(super) fn question(
    hook_id: &str,
    context: &SecurityContext,
    subject: Subject<'_>,
    shown: Shown,
) -> Result<wire::Inspection, HookFault> {
    let subject = match subject {
        Subject::Request(asked) => wire::Subject::Request(request(asked, shown)?),
        Subject::Response(asked, answered) => wire::Subject::Response(wire::Response {
            request: Some(request(asked, shown)?),
            kind: i32::from(match answered.kind {
                ResponseKind::Result => wire::Kind::Result,
                ResponseKind::Error => wire::Kind::Error,
                ResponseKind::Listing => wire::Kind::Listing,
            }),
            body: shown.response(&answered.body)?.cloned().unwrap_or_default(),
        }),
        Subject::Message(said) => wire::Subject::Message(wire::Said {
            to_upstream: said.to_upstream,
            wants_answer: said.wants_answer,
            method: said.method.to_string(),
            params: shown.request(&said.params)?.cloned().unwrap_or_default(),
        }),
    };
    Ok(wire::Inspection {
        context: Some(surroundings(hook_id, context)),
        subject: Some(subject),
    })
}

fn request(request: &McpRequest, shown: Shown) -> Result<wire::Request, HookFault> {
    Ok(wire::Request {
        method: request.method.to_string(),
        name: request.name.to_string(),
        params: shown.request(&request.params)?.cloned().unwrap_or_default(),
        id: request.id.as_deref().map(ToOwned::to_owned),
    })
}

fn surroundings(hook_id: &str, context: &SecurityContext) -> wire::Context {
    let session = &context.session;
    let earlier = context.security_metadata.iter();
    let earlier = earlier.map(|(hook_id, json)| wire::Metadata {
        hook_id: hook_id.to_string(),
        json: json.to_string(),
    });
    wire::Context {
        hook_id: hook_id.to_owned(),
        correlation_id: context.correlation_id.to_string(),
        session: Some(wire::Session {
            id: session.session_id.clone(),
            server_id: session.server_id.clone(),
            server_name: session.server_name.clone(),
            protocol_version: session.protocol_version.clone(),
            established_at_ms: session.established_at.0,
        }),
        identity: context.identity.as_deref().map(caller),
        arrival: Some(arrival(&context.request_metadata)),
        earlier: earlier.collect(),
        timeout_ms: u64::try_from(context.timeout.as_millis()).unwrap_or(u64::MAX),
    }
}

fn caller(identity: &Identity) -> wire::Identity {
    wire::Identity {
        user_id: identity.user_id.clone(),
        agent_id: identity.agent_id.clone(),
        roles: identity.roles.clone(),
        scopes: identity.scopes.clone(),
        attributes: pairs(&identity.attributes),
    }
}

fn arrival(metadata: &RequestMetadata) -> wire::Arrival {
    wire::Arrival {
        method: metadata.method.clone(),
        path: metadata.path.clone(),
        headers: pairs(&metadata.headers),
        remote_addr: metadata.remote_addr.clone(),
        at_ms: metadata.timestamp.0,
    }
}

fn pairs(pairs: &[(String, String)]) -> Vec<wire::Pair> {
    let pairs = pairs.iter().cloned();
    pairs
        .map(|(name, value)| wire::Pair { name, value })
        .collect()
}

/// Reads an answer to a question of this phase.
pub(super) fn answer(answer: wire::Answer, phase: Phase) -> Result<SecurityDecision, HookFault> {
    match answer.decision {
        None => Err(garbage("it decides nothing")),
        Some(wire::Decision::Allow(wire::Nothing {})) => Ok(SecurityDecision::Allow),
        Some(wire::Decision::Modify(change)) => modification(change, phase),
        Some(wire::Decision::Ask(found)) => Ok(SecurityDecision::Ask(violation(found))),
        Some(wire::Decision::RequireAuth(needed)) => {
            Ok(SecurityDecision::RequireAdditionalAuth(needed.what))
        }
        Some(wire::Decision::Deny(found)) => Ok(SecurityDecision::Deny(violation(found))),
    }
}

fn modification(change: wire::Modification, phase: Phase) -> Result<SecurityDecision, HookFault> {
    let headers = change.headers.into_iter();
    let change = SecurityModification {
        modified_request: change.params,
        modified_response: change.result,
        added_headers: headers.map(|pair| (pair.name, pair.value)).collect(),
        audit_metadata: decision::json(change.audit)?,
    };
    decision::modified(change, phase)
}

/// Reads what was found. Whoever objects means it: what is left out or unknown has a default, since
/// taken for a failure the call would pass with a hook that fails open.
fn violation(found: wire::Violation) -> SecurityViolation {
    let severity = wire::Severity::try_from(found.severity).ok();
    let severity = severity.and_then(self::severity);
    let threat = wire::Threat::try_from(found.threat_type).ok();
    let threat = threat.and_then(self::threat);
    let evidence = Some(found.evidence).filter(|text| !text.is_empty());
    let evidence = decision::json(evidence);
    if severity.is_none() || threat.is_none() || evidence.is_err() {
        let rule = &found.rule_id;
        tracing::warn!(
            "an objection of a gRPC hook (rule {rule:?}) has no known severity or threat, or evidence \
             that is no JSON; it is followed"
        );
    }
    let evidence = evidence.ok().flatten();
    SecurityViolation {
        rule_id: found.rule_id,
        severity: severity.unwrap_or(Severity::High),
        threat_type: threat.unwrap_or(Threat::UnauthorizedAccess),
        description: found.description,
        evidence: evidence.map_or_else(|| "null".to_owned(), Into::into),
        recommended_action: found.recommended_action,
    }
}

fn severity(severity: wire::Severity) -> Option<Severity> {
    match severity {
        wire::Severity::Unspecified => None,
        wire::Severity::Info => Some(Severity::Info),
        wire::Severity::Low => Some(Severity::Low),
        wire::Severity::Medium => Some(Severity::Medium),
        wire::Severity::High => Some(Severity::High),
        wire::Severity::Critical => Some(Severity::Critical),
    }
}

fn threat(threat: wire::Threat) -> Option<Threat> {
    match threat {
        wire::Threat::Unspecified => None,
        wire::Threat::ToolPoisoning => Some(Threat::ToolPoisoning),
        wire::Threat::RugPull => Some(Threat::RugPull),
        wire::Threat::ToolShadowing => Some(Threat::ToolShadowing),
        wire::Threat::ServerSpoofing => Some(Threat::ServerSpoofing),
        wire::Threat::UnauthorizedAccess => Some(Threat::UnauthorizedAccess),
        wire::Threat::PromptInjection => Some(Threat::PromptInjection),
        wire::Threat::CommandInjection => Some(Threat::CommandInjection),
        wire::Threat::DataExfiltration => Some(Threat::DataExfiltration),
        wire::Threat::SessionHijacking => Some(Threat::SessionHijacking),
        wire::Threat::ContextPoisoning => Some(Threat::ContextPoisoning),
        wire::Threat::RateLimitExceeded => Some(Threat::RateLimitExceeded),
        wire::Threat::AnomalousBehavior => Some(Threat::AnomalousBehavior),
    }
}
