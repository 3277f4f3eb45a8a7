//! From what a gateway knows of a call to what a receipt says of it.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{Action, Cause, Deed, Ended, Oddity, Passing, Verdict};

use super::Known;
use crate::content::Keep;
use crate::error::NotaryError;
use crate::hash::Pepper;
use crate::ledger::Transport;
use crate::receipt::{Call, Evidence, Mark, RequestId, Rule, Ruling, Via, invocation_id};

/// What stands in for arguments or a result that are not there.
const NOTHING: &[u8] = b"{}";

/// One side of a call: its bytes, or what was made of them when too many waited.
#[derive(Debug)]
pub(super) enum Load {
    /// As it came, and how many bytes of a message that holds on to.
    Raw(Bytes, usize),
    /// What a receipt holds of it.
    Made(Evidence, Vec<Mark>),
}

impl Load {
    /// Takes something that stands by itself.
    pub(super) fn raw(bytes: Bytes) -> Self {
        let size = bytes.len();
        Self::Raw(bytes, size)
    }

    /// Returns how many bytes it holds on to.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Raw(_, size) => *size,
            Self::Made(evidence, _) => evidence.size(),
        }
    }

    /// Makes what a receipt holds of it, with marks.
    pub(super) fn made(self, keep: &Keep, pepper: Option<&Pepper>) -> (Evidence, Vec<Mark>) {
        match self {
            Self::Raw(bytes, _) => {
                let mut marks = Vec::new();
                (keep.evidence(&bytes, pepper, &mut marks), marks)
            }
            Self::Made(evidence, marks) => (evidence, marks),
        }
    }
}

/// Takes the arguments out of a call, exact bytes. They hold on to the whole message.
pub(super) fn arguments(deed: &mut Deed) -> Load {
    let raw = std::mem::take(&mut deed.raw);
    if deed.arguments.is_empty() || deed.arguments.end > raw.len() {
        return Load::Raw(Bytes::from_static(NOTHING), 0);
    }
    Load::Raw(raw.slice(deed.arguments.clone()), raw.len())
}

/// Takes out what came back, if anything did.
pub(super) fn result(mut ended: Ended) -> (Ended, Option<Bytes>) {
    let body = match &mut ended {
        Ended::Answered { body, .. } | Ended::Unsent { body, .. } => Some(std::mem::take(body)),
        Ended::Unanswered { .. } => None,
        Ended::Reported { body, .. } => Some(body.take().unwrap_or(Bytes::from_static(b"null"))),
    };
    (ended, body)
}

/// Takes out what the caller got instead of what came back, if that is so.
pub(super) fn replacement(ended: &mut Ended) -> Option<Bytes> {
    match ended {
        Ended::Answered {
            passing: Passing::Changed(instead),
            ..
        } => Some(std::mem::take(&mut **instead)),
        _ => None,
    }
}

/// Makes the call of a receipt.
pub(super) fn call(
    deed: &Deed,
    known: &Known,
    (arguments, mut marks): (Evidence, Vec<Mark>),
) -> Result<Call, NotaryError> {
    marks.extend(deed.hook.is_some().then_some(Mark::Hook));
    marks.extend(deed.oddities.iter().copied().map(odd));
    let request_id = match (deed.ticket, &deed.hook) {
        (Some(ticket), _) => RequestId::from_json(Some(&ticket.to_string())),
        (None, Some(hook)) => hook
            .tool_use
            .as_deref()
            .map_or(RequestId::Absent, |id| RequestId::Text(id.to_owned())),
        (None, None) => RequestId::from_json(deed.asked_as.as_deref()),
    };
    Ok(Call {
        invocation_id: invocation_id()?,
        tool_name: deed.tool.tool.as_str().to_owned(),
        request_id,
        observed_at: deed.at,
        arguments,
        ruling: ruling(deed),
        marks,
        via: Some(Box::new(via(deed, known))),
    })
}

fn via(deed: &Deed, known: &Known) -> Via {
    let server_id = deed.tool.upstream.to_string();
    let transport = match (&deed.hook, known.transports.get(&server_id)) {
        (Some(_), _) => Transport::Hook,
        (None, Some(transport)) => *transport,
        (None, None) => Transport::Gateway,
    };
    let id = deed.id.to_string();
    let given = deed.correlation_id.as_deref().map(str::to_owned);
    Via {
        server_id,
        transport,
        policy_hash: known.policy_hash.clone(),
        correlation_id: given.unwrap_or_else(|| id.clone()),
        activity_id: id,
        downstream_session_id: deed.session.id.to_string(),
        principal: deed.principal.to_string(),
        door: deed.door.name().to_owned(),
    }
}

/// Returns the rule that decided; what nobody objected to passed by default.
pub(super) fn rule(deed: &Deed) -> Rule {
    let verdict: &Arc<Verdict> = &deed.verdict;
    let finding = verdict.decided_by.and_then(|at| verdict.findings.get(at));
    Rule {
        name: finding.map_or_else(|| "default".to_owned(), |finding| finding.rule.to_string()),
        reason: finding.map(|finding| finding.reason.as_str().to_owned()),
        decided_at: deed.decided_at,
    }
}

/// Returns what the policy said: a denial that is not enforced is a denial all the same.
fn ruling(deed: &Deed) -> Ruling {
    match deed.verdict.wanted {
        Action::Deny => Ruling::Denied(rule(deed)),
        Action::Allow | Action::Warn | Action::Ask => Ruling::Allowed(rule(deed)),
    }
}

/// Returns what a reader must know of how a message looked.
fn odd(oddity: Oddity) -> Mark {
    match oddity {
        Oddity::NoId => Mark::NoId,
        Oddity::DuplicateId => Mark::DuplicateId,
        Oddity::Batched => Mark::Batch,
        Oddity::Unread => Mark::Uninspected,
    }
}

/// Returns what a reader must know of why no answer came.
fn why(cause: Cause) -> Option<Mark> {
    match cause {
        Cause::TimedOut => None,
        Cause::Cancelled => Some(Mark::Cancelled),
        Cause::Failed => Some(Mark::UpstreamFailed),
        Cause::Stopped => Some(Mark::Stopped),
    }
}

/// Returns what a reader must know of how a call ended.
pub(super) fn mark(ended: &Ended) -> Option<Mark> {
    match ended {
        Ended::Answered { passing, .. } => match passing {
            Passing::Whole => None,
            Passing::Changed(_) => Some(Mark::AnswerChanged),
            Passing::Withheld => Some(Mark::AnswerWithheld),
        },
        Ended::Unanswered { cause, .. } => why(*cause),
        Ended::Unsent { cause, .. } => cause.and_then(why),
        Ended::Reported { .. } => None,
    }
}
