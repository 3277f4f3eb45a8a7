//! Calls that the scope of a caller's token leaves out. They are refused before anything is judged, and
//! are on record all the same: a token that is tried where it does not reach may have been stolen.

use mcpproxy_core::{Action, Deed, Finding, Record, SinkFault, Status, Threat};

use crate::engine::Engine;
use crate::engine::keeping::LEAST;
use crate::record::short;

/// What records and receipts name as the rule.
pub const SCOPE: &str = "scope";

impl Engine {
    /// Puts on record that a request was refused because of a token's scope.
    pub async fn record_out_of_scope(&self, deed: &Deed, method: &str) -> Result<(), SinkFault> {
        let ready = self.ready();
        let record = self.out_of_scope(deed, method);
        tracing::info!(
            "Deny {}:{} by `{}`: {}",
            record.server_name,
            record.tool_name.escape_debug(),
            record.principal,
            deed.verdict.reason().unwrap_or_default(),
        );
        self.events().recorded(&record);
        self.calls().count(&record);
        let kept = self.sink().append(record, ready.settings.durability);
        let kept = tokio::time::timeout(LEAST, kept).await;
        self.settle(kept.unwrap_or(Err(SinkFault::Late)), &ready.settings)
    }

    fn out_of_scope(&self, deed: &Deed, method: &str) -> Record {
        let safe = |words: &str| short(self.masked(words).as_str());
        let findings = deed.verdict.findings.iter().map(|finding| Finding {
            threat: Threat::UnauthorizedAccess,
            ..finding.clone()
        });
        Record {
            server_name: deed.tool.upstream.to_string(),
            tool_name: safe(deed.tool.tool.as_str()),
            method: short(method),
            status: Status::Blocked,
            error_message: deed.verdict.reason().map(short),
            timestamp: deed.at.rfc3339(),
            session_id: deed.session.id.to_string(),
            correlation_id: short(deed.correlation_id.as_deref().unwrap_or_default()),
            principal: deed.principal.to_string(),
            request_bytes: deed.raw.len(),
            decision: Action::Deny,
            effective: Action::Deny,
            findings: findings.collect(),
            ..Record::new(deed.id, "policy_decision", deed.door)
        }
    }
}
