//! What is told when something goes into quarantine or comes out: the record, the event, the line
//! in the log of the process.

use mcpproxy_core::{
    Action, CallId, Door, OfferKind, OfferState, QuarantineNote, Record, Severity, Status, Wall,
};
use mcpproxy_hooks::guards::{Turn, fingerprint};

use crate::events::{Event, QuarantineNews};
use crate::record::short;

/// Composes the record of a change.
pub(crate) fn record(turn: &Turn, door: Door, now: Wall) -> Record {
    let baseline = &turn.baseline;
    let kind = match baseline.kind {
        OfferKind::Server => "quarantine_change",
        OfferKind::Tool
        | OfferKind::Prompt
        | OfferKind::Resource
        | OfferKind::Template
        | OfferKind::Instructions => "tool_quarantine_change",
    };
    let (status, decision, severity) = match baseline.state {
        OfferState::Approved if is_odd(turn) => {
            (Status::Success, Action::Warn, Some(Severity::Low))
        }
        OfferState::Approved => (Status::Success, Action::Allow, None),
        OfferState::Quarantined | OfferState::Blocked => {
            (Status::Blocked, Action::Deny, Some(Severity::Medium))
        }
        OfferState::RugPull => (Status::Blocked, Action::Deny, Some(Severity::High)),
    };
    Record {
        server_name: baseline.upstream.to_string(),
        tool_name: short(&baseline.name),
        status,
        timestamp: now.rfc3339(),
        principal: short(&baseline.by),
        decision,
        effective: decision,
        max_severity: severity,
        quarantine: Some(Box::new(note(turn))),
        ..Record::new(id(turn, now), kind, door)
    }
}

/// Tells whether something was let in at first sight although there is something to say of it.
fn is_odd(turn: &Turn) -> bool {
    turn.before.is_none() && turn.notice.is_some()
}

fn note(turn: &Turn) -> QuarantineNote {
    let baseline = &turn.baseline;
    let reason = turn.notice.as_deref().unwrap_or(&baseline.reason);
    QuarantineNote {
        kind: baseline.kind,
        state: baseline.state,
        before: turn.before,
        by: short(&baseline.by),
        reason: short(reason),
    }
}

/// Composes the event of a change.
pub(crate) fn event(turn: &Turn, now: Wall) -> Event {
    let baseline = &turn.baseline;
    let news = QuarantineNews {
        activity_id: id(turn, now),
        server_name: baseline.upstream.to_string(),
        tool_name: short(&baseline.name),
        note: note(turn),
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

/// Puts a change into the log of the process.
pub(crate) fn log(turn: &Turn) {
    let note = note(turn);
    let (upstream, name) = (&turn.baseline.upstream, &turn.baseline.name);
    let (kind, state, reason) = (note.kind.name(), note.state.name(), note.reason);
    let line = format!(
        "{kind} `{upstream}:{}` is {state}: {reason}",
        name.escape_debug()
    );
    if turn.baseline.is_approved() && !is_odd(turn) {
        tracing::info!("{line}");
    } else {
        tracing::warn!("{line}");
    }
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
