//! One message's way through the hooks, first to last. A denial ends it; a change is what the
//! hooks behind see.

use std::ops::ControlFlow;

use bytes::Bytes;
use mcpproxy_core::{Action, SecurityDecision, SecurityModification};

use crate::decided::{Noted, Ran, note};
use crate::member::Member;
use crate::metrics::Metrics;
use crate::modified;
use crate::question::{Around, Mask, Question, Subject};
use crate::shown::{Shown, context};

/// The largest message that a hook may put in place of another.
const LARGEST: usize = 16 * 1024 * 1024;

/// A message on its way.
pub(crate) struct Chain<'a> {
    around: &'a Around,
    shown: Shown<'a>,
    metrics: &'a Metrics,
    ran: Ran,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(
        subject: Subject,
        around: &'a Around,
        mask: Mask<'a>,
        metrics: &'a Metrics,
    ) -> Self {
        Self {
            around,
            shown: Shown::new(subject, mask),
            metrics,
            ran: Ran::default(),
        }
    }

    /// Returns what one hook is asked; nothing if it cannot be shown the message.
    pub(crate) fn question(&mut self, member: &Member) -> Option<Question> {
        let (sight, timeout) = (member.limits.sight, member.limits.timeout);
        let subject = self.shown.to(sight)?;
        let told = (sight, self.shown.headers(self.around, sight));
        Some(Question {
            subject,
            context: context(self.around, told, &self.ran.metadata, timeout),
        })
    }

    /// Asks one hook; tells whether the next is to be asked as well.
    pub(crate) async fn ask(&mut self, member: &Member) -> ControlFlow<()> {
        let said = match self.question(member) {
            Some(question) => member.ask(question, self.around.left).await,
            None => Err(member.unable()),
        };
        match said {
            Ok(decision) => self.take(member, decision),
            Err(fault) => {
                let noted = Noted::fault(&member.id, &fault, member.limits.failure_mode);
                self.note(noted);
            }
        }
        match self.ran.wants() {
            Action::Deny => ControlFlow::Break(()),
            Action::Allow | Action::Warn | Action::Ask => ControlFlow::Continue(()),
        }
    }

    /// Returns what it came to.
    pub(crate) fn end(self) -> Ran {
        self.ran
    }

    fn take(&mut self, member: &Member, decision: SecurityDecision) {
        let id = &member.id;
        match decision {
            SecurityDecision::Allow => {}
            SecurityDecision::AllowWithModification(change) => self.modify(member, change),
            SecurityDecision::RequireAdditionalAuth(what) => self.note(Noted::auth(id, &what)),
            SecurityDecision::Ask(violation) => {
                self.keep(id, note(&violation));
                self.note(Noted::violation(id, Action::Ask, &violation));
            }
            SecurityDecision::AskOrDeny(violation) => {
                self.keep(id, note(&violation));
                let asks = Noted::violation(id, Action::Ask, &violation);
                self.note(asks.or_denies());
            }
            SecurityDecision::Deny(violation) => {
                self.keep(id, note(&violation));
                self.note(Noted::violation(id, Action::Deny, &violation));
            }
        }
    }

    /// Applies a change, or has the message denied where that is not possible.
    fn modify(&mut self, member: &Member, change: SecurityModification) {
        let id = &member.id;
        let (wanted, other) = match self.shown.exact() {
            Subject::Request(_) | Subject::Message(_) => {
                (&change.modified_request, &change.modified_response)
            }
            Subject::Response(..) => (&change.modified_response, &change.modified_request),
        };
        let body = if other.is_some() {
            Err("it changed what is not there to be changed")
        } else {
            let bodies = self.shown.bodies(member.limits.sight);
            modified::body(wanted.as_ref(), bodies, LARGEST)
        };
        match body.and_then(|body| modified::extras(&change).map(|()| body)) {
            Err(why) => self.note(Noted::unusable(id, why)),
            Ok(body) => {
                if let Some(body) = body {
                    self.changed(id, body);
                }
                self.ran.headers.extend(change.added_headers);
                self.keep(id, change.audit_metadata);
            }
        }
    }

    fn changed(&mut self, id: &str, body: Bytes) {
        self.shown.replace(body.clone());
        self.ran.changed = Some(body);
        self.ran.noted.push(Noted::modified(id));
    }

    fn keep(&mut self, id: &str, left: Option<Box<str>>) {
        if let Some(left) = left {
            self.ran.metadata.push((id.into(), left));
        }
    }

    fn note(&mut self, noted: Noted) {
        if noted.objects {
            self.metrics.violation(noted.threat, noted.severity);
        }
        self.ran.noted.push(noted);
    }
}
