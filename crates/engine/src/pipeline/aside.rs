//! What an upstream says beside its answers: notifications, questions to the agent. Hooks may stop
//! or change that too, before anybody hears it.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, CallId, McpMessage, McpSessionInfo, RequestMetadata, SessionKey, UpstreamId,
};
use mcpproxy_hooks::{Around, Phase, Registry, Subject};
use mcpproxy_policy::settings::Mode;

use super::{ROUNDS, masked};
use crate::engine::Engine;

/// How long hooks have for a message that belongs to no call.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// Where a message of an upstream comes from.
#[derive(Clone, Copy, Debug)]
pub enum Aside<'a> {
    /// It belongs to a call.
    Of(&'a Call),
    /// It belongs to a conversation, or to nobody in particular.
    From {
        /// The upstream.
        upstream: &'a UpstreamId,
        /// The conversation.
        session: Option<SessionKey>,
        /// Names the message.
        id: CallId,
    },
}

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

    /// Asks hooks about a message of an upstream that answers nothing.
    pub async fn overheard(&self, from: Aside<'_>, mut message: McpMessage) -> Heard {
        let Some(pipeline) = self.listeners(message.wants_answer) else {
            return Heard::Passed;
        };
        let around = match from {
            Aside::Of(call) => self.around(call),
            Aside::From {
                upstream,
                session,
                id,
            } => self.around_message(upstream, session, id.to_string().into(), &message.method),
        };
        let ready = self.ready();
        let mask = masked::mask(&ready);
        let shadow = ready.settings.policy.mode == Mode::Shadow;
        let before = message.params.clone();
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
                let changed = (message.params != before).then_some(message.params);
                return changed.map_or(Heard::Passed, Heard::Changed);
            };
            message.params = params;
        }
        Heard::Stopped("hooks do not agree on a form of this message".to_owned())
    }

    pub(super) fn around_message(
        &self,
        upstream: &UpstreamId,
        session: Option<SessionKey>,
        correlation_id: Arc<str>,
        method: &str,
    ) -> Around {
        let now = self.now().1;
        Around {
            correlation_id,
            session: Arc::new(McpSessionInfo {
                session_id: session.map_or_else(String::new, |key| key.id.to_string()),
                server_id: upstream.to_string(),
                server_name: upstream.to_string(),
                protocol_version: String::new(),
                established_at: now,
            }),
            identity: None,
            request: Arc::new(RequestMetadata {
                method: method.to_owned(),
                path: String::new(),
                headers: Vec::new(),
                remote_addr: None,
                timestamp: now,
            }),
            earlier: Vec::new(),
            left: PATIENCE,
        }
    }
}
