//! What is written down about a call. Names and words of agents are cut, so that a few calls cannot
//! push everything else out of the log.

use mcpproxy_core::{
    Call, CallId, Classified, Coverage, Declared, Detected, Door, FlowScope, FlowSummary, FlowType,
    Gap, HookNote, Label, MessageKind, Outcome, Owner, Record, Risk, RiskLevel, Severity, Status,
    Verdict, Wall,
};
use mcpproxy_detect::mask::mask_in;
use mcpproxy_detect::{Category, Detector, Report};
use mcpproxy_flow::Summary;

use crate::known::WITHHELD;
use crate::marks::{has_secret, tells_secret};

/// The longest text of one field of a record, in characters.
const RECORDED: usize = 256;
/// Types of detections that one record lists.
const MOST_TYPES: usize = 32;

/// Adds what was detected in one message of a call.
pub(crate) fn note_detected(report: &Report, detected: &mut Detected) {
    for found in &report.detections {
        let detection = &found.detection;
        // What hides or orders is no data that somebody would miss: a finding tells of it.
        if matches!(
            detection.category,
            Category::Opaque | Category::HiddenText | Category::HostileText
        ) {
            continue;
        }
        add(detected, &detection.kind, detection.severity);
    }
}

/// Adds a value that was known again.
pub(crate) fn note_label(label: &Label, detected: &mut Detected) {
    add(detected, &label.kind, label.severity);
}

/// Adds such a value to a record that is composed already.
pub(crate) fn note(record: &mut Record, label: &Label) {
    let mut detected = Detected {
        types: record.detection_types.drain(..).collect(),
        worst: record.max_severity,
    };
    note_label(label, &mut detected);
    record.has_sensitive_data = true;
    record.detection_types = detected.types.into_iter().collect();
    record.max_severity = detected.worst;
}

fn add(detected: &mut Detected, kind: &str, severity: Severity) {
    detected.worst = detected.worst.max(Some(severity));
    if detected.types.len() < MOST_TYPES {
        detected.types.insert(kind.into());
    }
}

/// Composes the record of a call. What an agent wrote about it is left out if it holds a secret, and
/// masked where it holds personal data; both count as detected.
pub(crate) fn record(
    detector: &Detector,
    call: &Call,
    verdict: &Verdict,
    outcome: &Outcome,
    problem: Option<&str>,
    detected: &Detected,
) -> Record {
    let mut detected = detected.clone();
    let declared = declared(detector, &call.declared, &mut detected);
    let kind = match &call.kind {
        MessageKind::Request(method) if &**method == "tools/call" => "tool_call",
        MessageKind::Request(_) | MessageKind::Notification(_) | MessageKind::Answer(_) => {
            "message"
        }
    };
    Record {
        server_name: call.tool.upstream.to_string(),
        tool_name: short(call.shown_tool()),
        method: short(call.kind.method()),
        status: outcome.status,
        error_message: problem.map(short),
        duration_ms: outcome.took.as_secs_f64() * 1000.0,
        timestamp: call.at.rfc3339(),
        session_id: call.session.id.to_string(),
        correlation_id: short(call.trace.correlation_id.as_deref().unwrap_or_default()),
        principal: call.who.name.to_string(),
        request_bytes: call.wire.raw.len(),
        response_bytes: outcome.body.len(),
        decision: verdict.wanted,
        effective: verdict.action,
        enforcement: verdict.enforced,
        flow_type: verdict.flow,
        risk: verdict.risk,
        declared,
        findings: verdict.findings.to_vec(),
        has_sensitive_data: detected.worst.is_some(),
        detection_types: detected.types.iter().cloned().collect(),
        max_severity: detected.worst,
        hook_metadata: call.trace.hook_metadata.clone(),
        approval: call.trace.approval.clone(),
        ..Record::new(call.id, kind, call.door)
    }
}

/// Composes the record that closes a session.
pub(crate) fn closing(summary: &Summary, coverage: Coverage, now: Wall) -> Record {
    let flows = summary
        .flows
        .iter()
        .map(|(flow, times)| (flow.name(), *times));
    let risks = summary
        .risks
        .iter()
        .map(|(risk, times)| (risk.name(), *times));
    let worst = summary.risks.iter().map(|(risk, _)| *risk).max();
    let gravest = summary.flows.iter().map(|(flow, _)| *flow).max();
    let FlowScope(scope) = summary.whose.scope;
    let session = summary.whose.session.id;
    Record {
        duration_ms: summary.duration.as_secs_f64() * 1000.0,
        timestamp: now.rfc3339(),
        session_id: session.to_string(),
        flow_type: gravest.unwrap_or(FlowType::None),
        risk: Risk {
            level: worst.unwrap_or(RiskLevel::None),
            score: 0,
        },
        has_sensitive_data: worst == Some(RiskLevel::Critical),
        security_coverage: Some(coverage),
        summary: Some(Box::new(FlowSummary {
            duration_ms: u64::try_from(summary.duration.as_millis()).unwrap_or(u64::MAX),
            origins: summary.origins,
            edges: summary.edges,
            flow_types: flows.collect(),
            risk_levels: risks.collect(),
            linked_sessions: summary
                .linked
                .iter()
                .map(|key| key.id.to_string())
                .collect(),
            tools: summary.tools.iter().cloned().collect(),
        })),
        ..Record::new(
            CallId::new(now.0, scope.0 ^ session.0),
            "flow_summary",
            Door::Internal,
        )
    }
}

/// Composes the record of a use of a tool about which a hook could not ask.
pub(crate) fn missed(detector: &Detector, id: CallId, gap: &Gap, class: Classified) -> Record {
    let shown = |words: &str| {
        if has_secret(detector, words) {
            return WITHHELD.to_owned();
        }
        short(words)
    };
    let at = Wall(gap.at);
    Record {
        server_name: shown(&gap.agent),
        tool_name: shown(&gap.tool),
        method: "tools/call".to_owned(),
        status: Status::Error,
        error_message: Some(gap.cause.sentence().to_owned()),
        timestamp: at.rfc3339(),
        principal: "local".to_owned(),
        decision: gap.decision,
        effective: gap.decision,
        // Nobody saw it.
        security_coverage: Some(Coverage::ProxyOnly),
        hook: Some(Box::new(HookNote {
            agent: shown(&gap.agent),
            event: shown(&gap.event),
            phase: gap.phase,
            session: shown(&gap.session),
            tool_use_id: None,
            owner: Owner::Agent,
            classification: class,
        })),
        ..Record::new(id, "hook_evaluation", Door::Hook)
    }
}

/// What an agent declares, with its own words masked and cut like any text of a record.
fn declared(detector: &Detector, said: &Declared, detected: &mut Detected) -> Declared {
    let mut shown = |text: &Option<Box<str>>| {
        let text = text.as_deref()?;
        let report = detector.text(text);
        note_detected(&report, detected);
        Some(if tells_secret(&report) {
            WITHHELD.into()
        } else {
            masked(text, report).into()
        })
    };
    Declared {
        operation: said.operation,
        sensitivity: shown(&said.sensitivity),
        reason: shown(&said.reason),
        flow_justification: shown(&said.flow_justification),
        flow_destination_type: shown(&said.flow_destination_type),
    }
}

/// Masks and cuts a text in which something was found; what was not read to its end is not shown.
pub(crate) fn masked(text: &str, report: Report) -> String {
    if !report.coverage.is_complete() {
        return WITHHELD.to_owned();
    }
    let found = report.detections.into_iter();
    let found: Vec<_> = found.map(|found| found.detection).collect();
    short(&mask_in(text, &found))
}

/// Leaves out of a reason the end of every word that was cut: nobody can tell whether the half of a
/// name is the half of a secret.
pub(crate) fn without_stumps(reason: &str) -> String {
    let mut parts = reason.split('…').peekable();
    let mut kept = String::with_capacity(reason.len());
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            kept.push_str(part);
        } else {
            let goes_on = |letter: char| !letter.is_whitespace() && !"`/?&=,".contains(letter);
            kept.extend([part.trim_end_matches(goes_on), "…"]);
        }
    }
    kept
}

pub(crate) fn short(text: &str) -> String {
    if text.len() <= RECORDED {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(RECORDED).collect();
    if shown.len() < text.len() {
        shown.extend(["… (", &text.len().to_string(), " bytes)"]);
    }
    shown
}
