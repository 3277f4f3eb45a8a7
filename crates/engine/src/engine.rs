//! `before` and `after`: what happens to every call on its way out and on its way back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use mcpproxy_classify::{Classification, Kind};
use mcpproxy_core::{
    Action, ActivitySink, Call, Cleared, Clock, Declared, Durability, Finding, FlowType, Masked,
    MessageKind, Outcome, Record, Severity, SinkFault, Source, Status, Threat, Tier, UpstreamId,
    Verdict,
};
use mcpproxy_flow::FlowTracking;
use mcpproxy_policy::decide;
use mcpproxy_policy::settings::FlowPolicy;

use crate::fields::{FieldLimits, Fields};
use crate::stops::Stops;

/// The least time that a record is given to reach the disk: a call whose deadline has passed is
/// put on record too.
const LEAST: Duration = Duration::from_secs(5);

/// What the engine is told by the configuration.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Which upstreams are inside and which outside.
    pub classification: Classification,
    /// What happens to data on its way out.
    pub flow_policy: FlowPolicy,
    /// How data is followed.
    pub flow_tracking: FlowTracking,
    /// Whether a record must be on disk before the answer leaves.
    pub durability: Durability,
    /// Whether calls are refused while they cannot be recorded; strict durability always does.
    pub refuse_unrecorded: bool,
}

/// What `before` came to.
#[derive(Debug)]
pub enum Before {
    /// The call may leave.
    Cleared(Box<Cleared<Call>>),
    /// The call may not leave; the verdict says why, and it is on record.
    Denied(Arc<Verdict>),
    /// The call may not leave because that it was denied could not be recorded.
    Unrecorded(SinkFault),
}

/// The engine.
#[derive(Debug)]
pub struct Engine {
    settings: ArcSwap<EngineSettings>,
    fields: Fields,
    stops: Stops,
    sink: Arc<dyn ActivitySink>,
    lost: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl Engine {
    /// Makes an engine.
    pub fn new(
        settings: EngineSettings,
        sink: Arc<dyn ActivitySink>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let settings = ArcSwap::from_pointee(settings);
        Self {
            settings,
            fields: Fields::default(),
            stops: Stops::default(),
            sink,
            lost: AtomicU64::new(0),
            clock,
        }
    }

    /// Puts new settings in force; calls under way end under those they began with.
    pub fn reload(&self, settings: EngineSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// Returns the kill switch.
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Judges a call before it leaves.
    pub async fn before(&self, call: Call) -> Before {
        let settings = self.settings.load_full();
        let mut findings = Vec::new();
        findings.extend(self.stops.judge(&call));
        let flow = self.flow(&call, &settings, &mut findings);
        let verdict = Arc::new(decide(findings, call.askable, flow));
        match verdict.action {
            Action::Allow | Action::Warn | Action::Ask => {
                // Evidence before the act: what cannot be written down does not leave.
                if let Err(fault) = self.recordable(&call, &verdict, &settings).await {
                    return Before::Unrecorded(fault);
                }
                let until = call.deadline;
                Before::Cleared(Box::new(Cleared::issue(call, verdict, until)))
            }
            Action::Deny => self.denied(&call, verdict, &settings).await,
        }
    }

    /// Judges and records what came back, before the caller sees it.
    ///
    /// An origin is remembered before this returns, so that the agent's next call cannot race it.
    pub async fn after(
        &self,
        cleared: &Cleared<Call>,
        outcome: &Outcome,
        problem: Option<&str>,
    ) -> Result<(), SinkFault> {
        let call = cleared.value();
        let settings = self.settings.load_full();
        if settings.flow_tracking.enabled && class(&settings, &call.tool.upstream) == Kind::Internal
        {
            let body = std::str::from_utf8(&outcome.body).unwrap_or_default();
            let limits = field_limits(&settings);
            let now = self.clock.tick();
            self.fields
                .record(call.session, &call.tool.upstream, body, limits, now);
        }
        let record = record(call, cleared.verdict(), outcome, problem);
        let kept = self.keep(call, record, settings.durability).await;
        self.settle(kept, &settings)
    }

    /// Finds out whether a call can be written down, before it leaves.
    async fn recordable(
        &self,
        call: &Call,
        verdict: &Verdict,
        settings: &EngineSettings,
    ) -> Result<(), SinkFault> {
        match settings.durability {
            Durability::Strict => self.intent(call, verdict).await,
            Durability::Relaxed => match self.sink.problem() {
                Some(why) if settings.refuse_unrecorded => Err(SinkFault::Broken(why)),
                Some(_) | None => Ok(()),
            },
        }
    }

    /// Lets a call go on whose record was not taken, where the configuration says so; that it is
    /// lost is counted.
    fn settle(
        &self,
        kept: Result<(), SinkFault>,
        settings: &EngineSettings,
    ) -> Result<(), SinkFault> {
        let closed = settings.durability == Durability::Strict || settings.refuse_unrecorded;
        match kept {
            Err(_) if !closed => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            kept => kept,
        }
    }

    /// Writes down, durably, that a call is about to leave.
    async fn intent(&self, call: &Call, verdict: &Verdict) -> Result<(), SinkFault> {
        let mut record = record(call, verdict, &nothing(Status::Pending), None);
        record.kind = "intent";
        self.keep(call, record, Durability::Strict).await
    }

    /// Hands a record to the log and waits for it, but no longer than the call may take: a disk
    /// that hangs must not hold its callers for ever.
    async fn keep(&self, call: &Call, record: Record, how: Durability) -> Result<(), SinkFault> {
        let left = call.deadline.0.saturating_sub(self.clock.tick().0);
        let kept = self.sink.append(record, how);
        let kept = tokio::time::timeout(left.max(LEAST), kept).await;
        kept.unwrap_or(Err(SinkFault::Late))
    }

    /// Resolves once everything that was recorded before is on disk.
    pub async fn flush(&self) -> Result<(), SinkFault> {
        self.sink.flush().await
    }

    /// Says why records are being lost, while they are.
    pub fn record_problem(&self) -> Option<String> {
        let lost = self.lost.load(Ordering::Relaxed);
        let lost = (lost > 0).then(|| format!("{lost} records were lost: the queue was full"));
        self.sink.problem().or(lost)
    }

    async fn denied(
        &self,
        call: &Call,
        verdict: Arc<Verdict>,
        settings: &EngineSettings,
    ) -> Before {
        let mut record = record(call, &verdict, &nothing(Status::Blocked), verdict.reason());
        record.kind = "policy_decision";
        let kept = self.keep(call, record, settings.durability).await;
        match self.settle(kept, settings) {
            Ok(()) => Before::Denied(verdict),
            Err(fault) => Before::Unrecorded(fault),
        }
    }

    /// Looks for data that was read inside in what is about to go outside.
    fn flow(&self, call: &Call, settings: &EngineSettings, found: &mut Vec<Finding>) -> FlowType {
        if !settings.flow_tracking.enabled || class(settings, &call.tool.upstream) != Kind::External
        {
            return FlowType::None;
        }
        // The whole message leaves, with members of the envelope that nobody knows.
        let body = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let limits = field_limits(settings);
        let Some(origin) = self
            .fields
            .origin(call.session, body, limits, self.clock.tick())
        else {
            return FlowType::None;
        };
        let to = &call.tool.upstream;
        let reason =
            format!("data flowing from internal source ({origin}) to external destination ({to})");
        found.push(Finding {
            rule: "whole-field-flow",
            source: Source::Flow,
            tier: Tier::Flow,
            wants: settings.flow_policy.internal_to_external,
            severity: Severity::High,
            confidence: 100,
            threat: Threat::DataExfiltration,
            place: None,
            evidence: None,
            reason: Masked::from_safe(reason),
        });
        FlowType::InternalToExternal
    }
}

fn nothing(status: Status) -> Outcome {
    Outcome {
        body: bytes::Bytes::new(),
        status,
        took: Duration::ZERO,
    }
}

/// The longest text of one field of a record, in characters. Names and addresses are whatever the
/// agent wrote: without a bound, a few calls would push everything else out of the log.
const RECORDED: usize = 256;

/// What an agent declares, with its own words cut like any text of a record.
fn shortened(declared: &Declared) -> Declared {
    let cut = |text: &Option<Box<str>>| text.as_deref().map(|text| short(text).into());
    Declared {
        operation: declared.operation,
        sensitivity: cut(&declared.sensitivity),
        reason: cut(&declared.reason),
        flow_justification: cut(&declared.flow_justification),
        flow_destination_type: cut(&declared.flow_destination_type),
    }
}

fn short(text: &str) -> String {
    if text.len() <= RECORDED {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(RECORDED).collect();
    if shown.len() < text.len() {
        shown.extend(["… (", &text.len().to_string(), " bytes)"]);
    }
    shown
}

fn class(settings: &EngineSettings, upstream: &UpstreamId) -> Kind {
    let overrides: &BTreeMap<_, _> = &settings.classification.server_overrides;
    overrides
        .get(upstream.as_str())
        .copied()
        .unwrap_or(Kind::Unknown)
}

fn field_limits(settings: &EngineSettings) -> FieldLimits {
    let tracking = &settings.flow_tracking;
    FieldLimits {
        min_length: tracking.hash_min_length,
        per_session: tracking.max_origins_per_session,
        idle: Duration::from_secs(u64::from(tracking.session_timeout_minutes) * 60),
    }
}

fn record(call: &Call, verdict: &Verdict, outcome: &Outcome, problem: Option<&str>) -> Record {
    let kind = match &call.kind {
        MessageKind::Request(method) if &**method == "tools/call" => "tool_call",
        MessageKind::Request(_) | MessageKind::Notification(_) | MessageKind::Answer(_) => {
            "message"
        }
    };
    Record {
        id: call.id,
        kind,
        source: call.door,
        server_name: call.tool.upstream.to_string(),
        tool_name: short(call.tool.tool.as_str()),
        method: short(call.kind.method()),
        status: outcome.status,
        error_message: problem.map(short),
        duration_ms: outcome.took.as_secs_f64() * 1000.0,
        timestamp: call.at.rfc3339(),
        session_id: call.session.id.to_string(),
        principal: call.who.name.to_string(),
        request_bytes: call.wire.raw.len(),
        response_bytes: outcome.body.len(),
        decision: verdict.action,
        flow_type: verdict.flow,
        risk: verdict.risk,
        declared: shortened(&call.declared),
        findings: verdict.findings.to_vec(),
    }
}
