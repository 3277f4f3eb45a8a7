//! Sorting what comes from an upstream whose messages all share one channel: answers go to who
//! asked, progress to the call it belongs to, everything else to the listener.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use mcpproxy_mcp::era::{META_SUBSCRIPTION, METHOD_NOT_FOUND};
use mcpproxy_mcp::{Error, Frame, FrameKind, compose};
use mcpproxy_text::{self as text, Limits};
use tokio::sync::{mpsc, oneshot};

use crate::link::{FromUpstream, Listener};

/// Who waits for what on one channel.
#[derive(Debug)]
pub struct Switch {
    state: Mutex<State>,
    listener: Arc<dyn Listener>,
    limits: Limits,
}

#[derive(Debug, Default)]
struct State {
    pending: HashMap<u64, Pending>,
    /// Why the channel ended, once it has.
    ended: Option<String>,
}

#[derive(Debug)]
struct Pending {
    done: oneshot::Sender<Frame>,
    events: mpsc::Sender<FromUpstream>,
}

/// A place in the switch that is given up when dropped, so that an answer that comes after its
/// caller left finds nobody.
#[derive(Debug)]
pub struct Waiting<'a> {
    switch: &'a Switch,
    ticket: u64,
    done: oneshot::Receiver<Frame>,
}

impl Switch {
    /// Makes a switch that hands what belongs to no call to `listener`.
    pub fn new(listener: Arc<dyn Listener>, limits: Limits) -> Self {
        Self {
            state: Mutex::default(),
            listener,
            limits,
        }
    }

    /// Takes a place for the answer to `ticket`.
    pub fn wait(
        &self,
        ticket: u64,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Waiting<'_>, Error> {
        let mut state = self.lock();
        if let Some(why) = &state.ended {
            return Err(Error::Transport(why.clone()));
        }
        let (sender, done) = oneshot::channel();
        state.pending.insert(
            ticket,
            Pending {
                done: sender,
                events,
            },
        );
        Ok(Waiting {
            switch: self,
            ticket,
            done,
        })
    }

    /// Returns how many answers are waited for.
    pub fn waiting(&self) -> usize {
        self.lock().pending.len()
    }

    /// Returns why the channel ended, once it has.
    pub fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    /// Ends the channel: everybody who waits is told.
    pub fn end(&self, why: &str) {
        let mut state = self.lock();
        if state.ended.is_none() {
            state.ended = Some(why.to_owned());
            // Dropping the senders wakes those who wait.
            state.pending.clear();
            drop(state);
            self.listener.ended(why);
        }
    }

    /// Sorts one message. A message that is refused is dropped with a line in the log: nobody can
    /// be named whom it was for. Returns what the gateway itself has to answer.
    pub fn sort(&self, raw: Bytes) -> Option<Bytes> {
        match Frame::parse(raw, self.limits) {
            Ok(frame) => self.dispatch(frame),
            // The answer to a call may be malformed: its caller must not wait for the deadline.
            Err(refusal) => {
                tracing::warn!("dropped a malformed message from an upstream: {refusal}");
                let named = refusal.id.as_deref().and_then(as_ticket);
                let mut state = self.lock();
                let only = if state.pending.len() == 1 {
                    state.pending.keys().next()
                } else {
                    None
                };
                if let Some(ticket) = named.or(only.copied()) {
                    state.pending.remove(&ticket);
                }
                None
            }
        }
    }

    fn dispatch(&self, frame: Frame) -> Option<Bytes> {
        match frame.kind() {
            FrameKind::Result | FrameKind::Error => {
                let ticket = frame.id().map(str::as_bytes).and_then(as_ticket);
                let pending = ticket.and_then(|ticket| self.lock().pending.remove(&ticket));
                if let Some(pending) = pending {
                    // The caller may have left just now; then the answer is nobody's.
                    drop(pending.done.send(frame));
                } else {
                    tracing::debug!("dropped an answer that nobody waits for");
                }
                None
            }
            FrameKind::Notification => {
                let logs = &**frame.method() == "notifications/message";
                let only = || self.only_call().filter(|_| logs);
                match owner(&frame).or_else(only) {
                    Some(ticket) => self.tell(ticket, frame),
                    None => drop(self.listener.heard(frame)),
                }
                None
            }
            FrameKind::Request => match self.only_call() {
                Some(ticket) => {
                    self.tell(ticket, frame);
                    None
                }
                None => ask(&*self.listener, frame),
            },
        }
    }

    /// The call that a request or a log message must belong to: the only one, of a conversation with one caller.
    fn only_call(&self) -> Option<u64> {
        let state = self.lock();
        let mut tickets = state.pending.keys();
        match (tickets.next(), tickets.next()) {
            (Some(ticket), None) if !self.listener.is_shared() => Some(*ticket),
            _ => None,
        }
    }

    fn tell(&self, ticket: u64, frame: Frame) {
        let state = self.lock();
        if let Some(pending) = state.pending.get(&ticket)
            && pending
                .events
                .try_send(FromUpstream::Message(Box::new(frame)))
                .is_err()
        {
            // One slow caller never blocks the reader of all.
            tracing::debug!("dropped a notification for a caller that does not keep up");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting<'_> {
    /// Waits for the answer.
    pub async fn answer(mut self) -> Result<Frame, Error> {
        (&mut self.done).await.map_err(|_| {
            let why = self.switch.ended();
            Error::Transport(why.unwrap_or_else(|| "the answer was malformed".to_owned()))
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.switch.lock().pending.remove(&self.ticket);
    }
}

/// Hands a request that belongs to no call to the listener, and returns the gateway's own answer
/// where that can do nothing with it.
pub(crate) fn ask(listener: &dyn Listener, frame: Frame) -> Option<Bytes> {
    let id = frame.id().unwrap_or_default().to_owned();
    if &**frame.method() == "ping" {
        return Some(compose::result(&id, "{}"));
    }
    if frame.kind() != FrameKind::Request || listener.heard(frame) {
        return None;
    }
    let message = "no downstream can be named for this request; see `scope: session`";
    Some(compose::error(Some(&id), METHOD_NOT_FOUND, message, None))
}

fn as_ticket(id: &[u8]) -> Option<u64> {
    std::str::from_utf8(id).ok()?.parse().ok()
}

/// The call that a notification belongs to: by its progress token, or by its subscription.
fn owner(frame: &Frame) -> Option<u64> {
    let path: &[&str] = match frame.method().as_ref() {
        "notifications/progress" => &["progressToken"],
        _ => &["_meta", META_SUBSCRIPTION],
    };
    text::get(frame.params(), path)?.0.parse().ok()
}
