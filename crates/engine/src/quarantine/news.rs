//! What is told when something goes into quarantine or comes out: the record, the event, the line
//! in the log of the process. Upstreams choose names, and a name may be an address with a password.

use mcpproxy_core::{
    Action, CallId, Detected, Door, OfferKind, OfferState, QuarantineNote, Record, Severity,
    Status, Wall,
};
use mcpproxy_detect::Detector;
use mcpproxy_hooks::guards::{Turn, fingerprint};

use crate::events::{Event, QuarantineNews};
use crate::record::{masked, note_detected, short, without_stumps};

/// A change, in words that may be shown.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    turn: &'a Turn,
    name: String,
    reason: String,
    detected: Detected,
}

impl<'a> Told<'a> {
    /// Masks what the name holds, and the reason, which may name other tools.
    pub(crate) fn new(detector: &Detector, turn: &'a Turn) -> Self {
        let baseline = &turn.baseline;
        let report = detector.text(&baseline.name);
        let mut detected = Detected::default();
        note_detected(&report, &mut detected);
        let name = masked(&baseline.name, report);
        let mut reason = without_stumps(turn.notice.as_deref().unwrap_or(&baseline.reason));
        if detected.worst.is_some() {
            reason = reason.replace(&*baseline.name, &name);
        }
        let report = detector.text(&reason);
        note_detected(&report, &mut detected);
        Self {
            turn,
            name,
            reason: masked(&reason, report),
            detected,
        }
    }

    /// Composes the record of it.
    pub(crate) fn record(&self, door: Door, now: Wall) -> Record {
        let baseline = &self.turn.baseline;
        let kind = match baseline.kind {
            OfferKind::Server => "quarantine_change",
            OfferKind::Tool
            | OfferKind::Prompt
            | OfferKind::Resource
            | OfferKind::Template
            | OfferKind::Instructions => "tool_quarantine_change",
        };
        let (status, decision) = match baseline.state {
            OfferState::Approved if is_odd(self.turn) => (Status::Success, Action::Warn),
            OfferState::Approved => (Status::Success, Action::Allow),
            OfferState::Quarantined | OfferState::Blocked | OfferState::RugPull => {
                (Status::Blocked, Action::Deny)
            }
        };
        Record {
            server_name: baseline.upstream.to_string(),
            tool_name: self.name.clone(),
            status,
            timestamp: now.rfc3339(),
            principal: short(&baseline.by),
            decision,
            effective: decision,
            has_sensitive_data: self.detected.worst.is_some(),
            detection_types: self.detected.types.iter().cloned().collect(),
            max_severity: self.severity(),
            quarantine: Some(Box::new(self.note())),
            ..Record::new(id(self.turn, now), kind, door)
        }
    }

    /// How bad it is; nothing where something was let pass that holds nothing.
    fn severity(&self) -> Option<Severity> {
        let severity = match self.turn.baseline.state {
            OfferState::Approved if is_odd(self.turn) => Some(Severity::Low),
            OfferState::Approved => None,
            OfferState::Quarantined | OfferState::Blocked => Some(Severity::Medium),
            OfferState::RugPull => Some(Severity::High),
        };
        severity.max(self.detected.worst)
    }

    fn note(&self) -> QuarantineNote {
        let baseline = &self.turn.baseline;
        QuarantineNote {
            kind: baseline.kind,
            state: baseline.state,
            before: self.turn.before,
            by: short(&baseline.by),
            reason: self.reason.clone(),
        }
    }

    /// Composes the event of it.
    pub(crate) fn event(&self, now: Wall) -> Event {
        let baseline = &self.turn.baseline;
        let news = QuarantineNews {
            activity_id: id(self.turn, now),
            server_name: baseline.upstream.to_string(),
            tool_name: self.name.clone(),
            max_severity: self.severity(),
            note: self.note(),
        };
        match baseline.kind {
            OfferKind::Server => Event::QuarantineChange(news),
            OfferKind::Tool
            | OfferKind::Prompt
            | OfferKind::Resource
            | OfferKind::Template
            | OfferKind::Instructions => Event::ToolQuarantineChange(news),
        }
    }

    /// Puts it into the log of the process.
    pub(crate) fn log(&self) {
        let baseline = &self.turn.baseline;
        let (kind, state) = (baseline.kind.name(), baseline.state.name());
        let (upstream, name) = (&baseline.upstream, self.name.escape_debug());
        let line = format!("{kind} `{upstream}:{name}` is {state}: {}", self.reason);
        if baseline.is_approved() && !is_odd(self.turn) {
            tracing::info!("{line}");
        } else {
            tracing::warn!("{line}");
        }
    }
}

/// Tells whether something was let in at first sight although there is something to say of it.
fn is_odd(turn: &Turn) -> bool {
    turn.before.is_none() && turn.notice.is_some()
}

/// The id of a change: it differs between two changes of one millisecond.
fn id(turn: &Turn, now: Wall) -> CallId {
    let baseline = &turn.baseline;
    let (kind, state) = (baseline.kind.name(), baseline.state.name());
    let what = format!(
        "{}\n{kind}\n{}\n{state}\n{}",
        baseline.upstream, baseline.name, baseline.current
    );
    let digest = fingerprint::digest(&what);
    let digits = digest.get(..20).unwrap_or_default();
    CallId::new(now.0, u128::from_str_radix(digits, 16).unwrap_or_default())
}
