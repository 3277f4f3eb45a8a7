//! What an upstream says while a call of it is under way: notifications, questions, and word of how
//! the answer will come.

use mcpproxy_core::Call;
use mcpproxy_mcp::era::{self, Era, META_LOG_LEVEL, META_SUBSCRIPTION};
use mcpproxy_mcp::{Frame, FrameKind};
use mcpproxy_text as text;
use mcpproxy_upstream::FromUpstream;
use tokio::sync::mpsc;

use super::{Origin, Passage};
use crate::asides::{is_meant, overheard};
use crate::ask;
use crate::error::Failure;
use crate::news::List;
use crate::session::{is_log_message, reaches};
use crate::translate;

impl Passage<'_> {
    /// Has the engine and hooks look at what an upstream says before anybody hears it. Returns what
    /// is passed on of it.
    pub(super) async fn note(
        &self,
        call: &Call,
        event: FromUpstream,
        of: (u64, Option<&str>),
    ) -> Option<FromUpstream> {
        let FromUpstream::Message(frame) = event else {
            return Some(event);
        };
        if frame.kind() == FrameKind::Notification && !is_meant(&frame, Some(of)) {
            tracing::debug!("dropped `{}`: it is not of this call", frame.method());
            return None;
        }
        match overheard(self.gateway, call, &frame).await {
            Ok(frame) => Some(FromUpstream::Message(Box::new(frame))),
            Err(why) => {
                if frame.kind() == FrameKind::Request {
                    let id = frame.id().unwrap_or_default();
                    self.instance.refuse(id, era::DENIED, why).await;
                }
                None
            }
        }
    }

    /// Passes on what came ahead of the answer and was not yet looked at.
    pub(super) async fn drained(
        &self,
        call: &Call,
        answer: Frame,
        events: &mut mpsc::Receiver<FromUpstream>,
        (ticket, token): (u64, Option<&str>),
        origin: &Origin,
    ) -> Result<Frame, Failure> {
        while let Ok(event) = events.try_recv() {
            if let Some(FromUpstream::Message(frame)) =
                Box::pin(self.note(call, event, (ticket, token))).await
                && frame.kind() == FrameKind::Notification
            {
                self.tell(&frame, ticket, token, origin)?;
            }
        }
        Ok(answer)
    }

    /// Takes what an upstream says during a call; returns a question of it with the downstream's
    /// answer, which has yet to be sent.
    pub(super) async fn heard(
        &self,
        event: FromUpstream,
        ticket: u64,
        token: Option<&str>,
        origin: &mut Origin,
    ) -> Result<Option<(Frame, Frame)>, Failure> {
        match event {
            FromUpstream::Streaming => origin.way.streaming(),
            FromUpstream::Polling { retry } => origin.way.polling(retry),
            FromUpstream::Message(frame) => match frame.kind() {
                FrameKind::Notification => self.tell(&frame, ticket, token, origin)?,
                FrameKind::Request => {
                    let said = ask::put_to(self, &frame, origin).await?;
                    return Ok(said.map(|said| (*frame, said)));
                }
                FrameKind::Result | FrameKind::Error => {
                    tracing::debug!("dropped an answer to another request");
                }
            },
        }
        Ok(None)
    }

    fn tell(
        &self,
        frame: &Frame,
        ticket: u64,
        token: Option<&str>,
        origin: &Origin,
    ) -> Result<(), Failure> {
        if !self.wants(frame, origin) {
            return Ok(());
        }
        if let Some(list) = List::of(frame) {
            if let Some(session) = &self.downstream.session {
                session.changed(self.target.upstream.name(), list, frame.method());
                return Ok(());
            }
            // Who has no session hears of lists where it subscribed to that.
            if text::get(frame.params(), &["_meta", META_SUBSCRIPTION]).is_none() {
                return Ok(());
            }
        }
        let limits = self.gateway.limits();
        let frame = translate::notification(frame, ticket, token, &origin.id, limits)?;
        if !origin.way.tell(frame.raw().clone()) {
            tracing::debug!("dropped a notification for a downstream that does not keep up");
        }
        Ok(())
    }

    /// Tells whether the downstream asked for a notification. Log messages of a legacy upstream
    /// come at a level that a modern downstream names with each request, if it wants any.
    fn wants(&self, frame: &Frame, origin: &Origin) -> bool {
        if let Some(session) = &self.downstream.session {
            return session.wants(frame);
        }
        let translated = (self.downstream.era, self.instance.era()) == (Era::Modern, Era::Legacy);
        if !translated || !is_log_message(frame) {
            return true;
        }
        let least = origin.frame.parameter(&["_meta", META_LOG_LEVEL]);
        least.is_some_and(|least| reaches(frame, &least))
    }
}
