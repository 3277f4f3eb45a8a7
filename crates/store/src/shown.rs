//! Columns as the JSON object that is shown.

use std::borrow::Cow;

use mcpproxy_core::ShownRecord;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::columns::Columns;

/// What stands in the columns `rest` and `words`; an earlier version had all of it in `rest`.
#[derive(Default, Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    effective: Option<Cow<'a, str>>,
    #[serde(borrow)]
    enforcement: Option<Cow<'a, str>>,
    #[serde(borrow)]
    mcp_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    security_coverage: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hook: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hook_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    quarantine: Option<&'a RawValue>,
    #[serde(borrow)]
    change: Option<&'a RawValue>,
    approval: Option<&'a RawValue>,
    #[serde(borrow)]
    error_message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    declared: Option<&'a RawValue>,
    #[serde(borrow)]
    findings: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    response_truncated: Option<bool>,
}

/// What of it records are found by.
#[derive(Default, Deserialize)]
struct Found<'a> {
    #[serde(borrow)]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    mcp_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    hook: Option<Hooked<'a>>,
}

#[derive(Deserialize)]
struct Hooked<'a> {
    #[serde(borrow)]
    agent: Cow<'a, str>,
    #[serde(borrow, default)]
    phase: Cow<'a, str>,
    #[serde(borrow, default)]
    owner: Cow<'a, str>,
}

/// Whether what a record said in words is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Kept,
    Redacted,
}

/// Returns columns as a JSON object.
pub(crate) fn show(columns: &Columns<'_>, words: Words) -> Result<String, serde_json::Error> {
    let raw = |text| serde_json::from_str::<&RawValue>(text).ok();
    let (kept, said): (Kept<'_>, Kept<'_>) = (
        read(columns.rest.as_deref()),
        read(columns.words.as_deref()),
    );
    let id = columns.call();
    let request = kept.correlation_id.unwrap_or(Cow::Owned(id.to_string()));
    let declared = said.declared.or(kept.declared);
    let hook = said.hook.or(kept.hook);
    serde_json::to_string(&ShownRecord {
        id,
        kind: columns.kind,
        source: columns.source,
        server_name: &columns.server_name,
        tool_name: &columns.tool_name,
        method: &columns.method,
        status: columns.status,
        error_message: said.error_message.or(kept.error_message),
        duration_ms: columns.duration_ms,
        timestamp: columns.wall().rfc3339(),
        session_id: &columns.session_id,
        correlation_id: &request,
        request_id: &request,
        parent_id: kept.parent_id,
        principal: &columns.principal,
        request_bytes: columns.request_bytes,
        response_bytes: columns.response_bytes,
        decision: columns.decision,
        effective: kept.effective.unwrap_or(Cow::Borrowed(columns.decision)),
        enforcement: kept.enforcement.unwrap_or(Cow::Borrowed("enforced")),
        flow_type: columns.flow_type,
        risk_level: columns.risk_level,
        risk_score: columns.risk_score,
        has_sensitive_data: columns.has_sensitive_data,
        detection_types: columns.detection_types.as_deref().and_then(raw),
        max_severity: columns.max_severity,
        declared: declared.or(raw("{}")),
        findings: said.findings.or(kept.findings).or(raw("[]")),
        mcp_session_id: kept.mcp_session_id,
        security_coverage: kept.security_coverage,
        hook,
        hook_metadata: said.hook_metadata.or(kept.hook_metadata),
        summary: kept.summary,
        quarantine: kept.quarantine,
        change: kept.change,
        approval: kept.approval,
        arguments: said.arguments,
        response: said.response,
        response_truncated: said.response_truncated,
        metadata: {
            let own = kept.summary.or(kept.quarantine).or(kept.change);
            let told = own.or(hook).or(declared).or(kept.approval);
            told.or(raw("{}"))
        },
        redacted: words == Words::Redacted,
    })
}

/// Returns the request of a record.
pub(crate) fn request<'a>(columns: &'a Columns<'_>) -> Cow<'a, str> {
    let named = read::<Found<'_>>(columns.rest.as_deref()).correlation_id;
    named.unwrap_or_else(|| Cow::Owned(columns.call().to_string()))
}

/// Returns the session of the protocol, where a record is under that of a hook.
pub(crate) fn mcp_session<'a>(columns: &'a Columns<'_>) -> Option<Cow<'a, str>> {
    read::<Found<'_>>(columns.rest.as_deref()).mcp_session_id
}

/// Returns the call that a record is part of.
pub(crate) fn parent<'a>(columns: &'a Columns<'_>) -> Option<Cow<'a, str>> {
    read::<Found<'_>>(columns.rest.as_deref()).parent_id
}

/// Returns the agent whose hook told of a record.
pub(crate) fn agent<'a>(columns: &'a Columns<'_>) -> Option<Cow<'a, str>> {
    hooked(columns).map(|hook| hook.agent)
}

/// Returns the phase that a hook told of, and who owns the tool.
pub(crate) fn phase<'a>(columns: &'a Columns<'_>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    hooked(columns).map(|hook| (hook.phase, hook.owner))
}

fn hooked<'a>(columns: &'a Columns<'_>) -> Option<Hooked<'a>> {
    let told = |object| read::<Found<'_>>(object).hook;
    told(columns.words.as_deref()).or_else(|| told(columns.rest.as_deref()))
}

fn read<'a, T: Default + Deserialize<'a>>(object: Option<&'a str>) -> T {
    let kept = object.and_then(|object| serde_json::from_str(object).ok());
    kept.unwrap_or_default()
}

#[cfg(test)]
mod tests;
