//! What happens to the gateway itself, put on record beside the calls: starts and stops, another
//! configuration, upstreams that come and go, what a person changes, questions to a person and their
//! answers.

use std::sync::atomic::Ordering;

use mcpproxy_core::{
    Action, ApprovalNote, Call, CallId, Door, Durability, Id128, Record, SessionBasis, SessionKey,
    Status,
};

use crate::approvals::Approval;
use crate::changed::Changed;
use crate::engine::Engine;
use crate::record::short;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The gateway serves.
    Started,
    /// It stops.
    Stopped,
    /// Another configuration is in force.
    Configured,
    /// An upstream was added, changed or removed.
    Upstream {
        /// The upstream.
        name: String,
        /// What became of it.
        change: &'static str,
    },
    /// Somebody changed something.
    Changed(Box<Changed>),
    /// A person was asked about a call.
    Asked(Box<Call>),
    /// The user of an agent answered what they were asked through it.
    Elicited {
        /// The call.
        call: Box<Call>,
        /// Whether it may leave, or that nobody said.
        outcome: &'static str,
    },
    /// A person answered, or nobody did in time.
    Answered {
        /// What was asked.
        about: Box<Approval>,
        /// What was said.
        outcome: &'static str,
        /// Who said so; the caller where nobody did.
        by: String,
        /// For what a yes counts.
        note: Option<Box<ApprovalNote>>,
    },
}

impl Engine {
    /// Puts on record that something happened to the gateway.
    pub async fn chronicle(&self, what: Happening) {
        let record = self.told_of(what);
        let kept = self.sink().append(record, Durability::Relaxed).await;
        if kept.is_err() {
            self.lost().fetch_add(1, Ordering::Relaxed);
        }
    }

    fn told_of(&self, what: Happening) -> Record {
        let now = self.now().1;
        // It belongs to no conversation.
        let nobody = SessionKey {
            basis: SessionBasis::Connection,
            id: Id128(0),
        };
        let id = CallId::new(now.0, self.told().number(nobody));
        let record = |kind, method: &str| Record {
            method: method.to_owned(),
            timestamp: now.rfc3339(),
            ..Record::new(id, kind, Door::Internal)
        };
        match what {
            Happening::Started => record("system_start", env!("CARGO_PKG_VERSION")),
            Happening::Stopped => record("system_stop", env!("CARGO_PKG_VERSION")),
            Happening::Configured => record("config_change", "reloaded"),
            Happening::Upstream { name, change } => Record {
                server_name: name,
                ..record("server_change", change)
            },
            Happening::Changed(change) => {
                let record = record(change.kind, change.act);
                change.record(self, record)
            }
            // That it was asked is over and done with; what waits is told of by the queue.
            Happening::Asked(call) => Record {
                decision: Action::Ask,
                effective: Action::Ask,
                ..self.about(&call, record("approval", "requested"))
            },
            Happening::Elicited { call, outcome } => {
                let (status, decision) = answer(outcome);
                let once = || Box::new(ApprovalNote::once(&call.who.name));
                Record {
                    status,
                    decision,
                    effective: decision,
                    approval: (decision == Action::Allow).then(once),
                    ..self.about(&call, record("approval", outcome))
                }
            }
            Happening::Answered {
                about,
                outcome,
                by,
                note,
            } => {
                let (status, decision) = answer(outcome);
                let record = Record {
                    server_name: about.server_name.clone(),
                    tool_name: short(&about.tool_name),
                    session_id: about.session_id.clone(),
                    principal: by,
                    status,
                    decision,
                    effective: decision,
                    parent_id: Some(about.id),
                    approval: note,
                    ..record("approval", outcome)
                };
                self.conversing(about.session, record)
            }
        }
    }

    /// Adds the call that a question is about.
    fn about(&self, call: &Call, record: Record) -> Record {
        let record = Record {
            server_name: call.tool.upstream.to_string(),
            tool_name: short(call.shown_tool()),
            session_id: call.session.id.to_string(),
            principal: call.who.name.to_string(),
            parent_id: Some(call.id),
            ..record
        };
        self.conversing(call.session, record)
    }
}

fn answer(outcome: &str) -> (Status, Action) {
    if outcome == "approved" {
        (Status::Success, Action::Allow)
    } else {
        (Status::Blocked, Action::Deny)
    }
}
