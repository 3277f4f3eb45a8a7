//! What an upstream says beside its answers: notifications, questions to the agent. It is looked at
//! like an answer before anybody hears it; then hooks may stop or change it.
//!
//! Nobody asked for a notification, so that one with orders to the model in it is not passed on. A
//! question is passed on and told.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, CallId, Detected, McpMessage, MessageKind, Outcome, Record, Severity, Status,
    Wire,
};
use mcpproxy_detect::Audience;
use mcpproxy_hooks::{Phase, Registry, Subject};
use mcpproxy_policy::settings::Mode;

use super::{ROUNDS, masked};
use crate::engine::{After, Engine};
use crate::record::record;

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is passed on.
    Passed,
    /// It is passed on with these parameters.
    Changed(Bytes),
    /// It is not passed on; says why.
    Stopped(String),
}

/// What was found in a message and has yet to be put on record.
#[derive(Debug)]
#[must_use = "it is put on record by `Engine::note_aside`"]
pub struct Note(Box<(Call, Record)>);

impl Engine {
    /// Tells whether hooks are asked about what upstreams say beside their answers.
    pub fn overhears(&self, wants_answer: bool) -> bool {
        self.listeners(wants_answer).is_some()
    }

    fn listeners(&self, wants_answer: bool) -> Option<Arc<Registry>> {
        let phase = if wants_answer {
            Phase::Reverse
        } else {
            Phase::Notification
        };
        let enabled = self.ready().settings.enabled;
        self.hooks().filter(|one| enabled && one.concerns(phase))
    }

    /// Looks at a message of an upstream before anybody hears it, without the hooks: its data is
    /// remembered, what hides in it is taken out. `call` is the one that it belongs to, or one that
    /// stands for the conversation.
    pub fn hear(&self, call: &Call, message: &McpMessage) -> (Heard, Option<Note>) {
        let ready = self.ready();
        let body = std::str::from_utf8(&message.params).unwrap_or_default();
        if !ready.settings.enabled || matches!(body, "" | "{}") {
            return (Heard::Passed, None);
        }
        // A notification is the upstream's own word, and not the data of somebody else.
        let audience = if message.wants_answer {
            Audience::Prompt
        } else {
            Audience::Instructions
        };
        let mut detected = Detected::default();
        let mut answered = self.remember(call, body, Some(audience), &ready, &mut detected);
        for finding in &mut answered.findings {
            if !message.wants_answer && finding.wants == Action::Warn {
                finding.wants = Action::Deny;
            }
        }
        let said = self.as_call(call, message);
        let outcome = Outcome {
            body: message.params.clone(),
            status: Status::Success,
            took: Duration::ZERO,
        };
        let (findings, replaced) = self.guard_answer(&said, &outcome, answered, None, &ready);
        let grave = detected.worst >= Some(Severity::High);
        if findings.is_empty() && replaced.is_none() && !grave {
            return (Heard::Passed, None);
        }
        let reviewed = self.concluded(&said, findings, Vec::new(), replaced, &ready);
        let verdict = self.looked_back(&said, Vec::new(), &ready);
        let mut record = record(&ready.detector, &said, &verdict, &outcome, None, &detected);
        reviewed.note(&mut record);
        record.parent_id = matches!(call.kind, MessageKind::Request(_)).then_some(call.id);
        let heard = match reviewed.after {
            After::Passed => Heard::Passed,
            After::Replaced(params) => Heard::Changed(params),
            After::Withheld(denied) => Heard::Stopped(denied.answer.reason),
        };
        let now = self.now().0;
        let told = self.told().admits((call.session, &call.tool.upstream), now);
        (heard, told.then(|| Note(Box::new((said, record)))))
    }

    /// Puts on record what was found in a message.
    pub async fn note_aside(&self, note: Note) {
        let (call, record) = *note.0;
        let ready = self.ready();
        let kept = self.keep(&call, record, ready.settings.durability).await;
        // The message was passed on or stopped already: a record that is lost is counted.
        drop(self.settle(kept, &ready.settings));
    }

    /// Looks at a message of an upstream that answers nothing, and asks hooks about it.
    pub async fn overheard(&self, call: &Call, mut message: McpMessage) -> Heard {
        let (heard, note) = self.hear(call, &message);
        if let Some(note) = note {
            self.note_aside(note).await;
        }
        let Some(pipeline) = self.listeners(message.wants_answer) else {
            return heard;
        };
        let before = message.params.clone();
        match heard {
            Heard::Passed => {}
            Heard::Changed(params) => message.params = params,
            Heard::Stopped(_) => return heard,
        }
        self.agreed_upon(call, message, &before, &pipeline).await
    }

    async fn agreed_upon(
        &self,
        call: &Call,
        mut message: McpMessage,
        before: &Bytes,
        pipeline: &Registry,
    ) -> Heard {
        let around = self.around(call);
        let ready = self.ready();
        let mask = masked::mask(&ready);
        let shadow = ready.settings.policy.mode == Mode::Shadow;
        for _ in 0..ROUNDS {
            let subject = Subject::Message(message.clone());
            let ran = pipeline.ask(subject, &around, &mask).await;
            let objection = ran.noted.iter().find(|one| one.wants >= Action::Ask);
            if let Some(objection) = objection {
                let why = masked::words(&ready, &objection.reason);
                tracing::warn!("`{}` of an upstream: {why}", message.method);
                if !shadow {
                    return Heard::Stopped(why.to_string());
                }
            }
            let Some(params) = ran.changed else {
                pipeline.tell(Subject::Message(message.clone()), &around, &mask);
                let changed = (message.params != *before).then_some(message.params);
                return changed.map_or(Heard::Passed, Heard::Changed);
            };
            message.params = params;
        }
        Heard::Stopped("hooks do not agree on a form of this message".to_owned())
    }

    /// A message as a call of its own, which is part of the one that it belongs to.
    fn as_call(&self, call: &Call, message: &McpMessage) -> Call {
        let at = self.now().1;
        let method = Arc::clone(&message.method);
        let mut trace = call.trace.clone();
        if matches!(call.kind, MessageKind::Request(_)) {
            trace.correlation_id = Some(call.correlation_id());
        }
        Call {
            id: CallId::new(at.0, self.told().number(call.session)),
            at,
            kind: if message.wants_answer {
                MessageKind::Request(method)
            } else {
                MessageKind::Notification(method)
            },
            trace,
            wire: Wire {
                raw: Bytes::new(),
                ticket: None,
            },
            ..call.clone()
        }
    }
}
