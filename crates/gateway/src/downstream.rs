//! One message's sender, as its door verified it, and the way back to it.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::{Door, Principal, SessionKey, UpstreamId};
use mcpproxy_mcp::envelope::Envelope;
use mcpproxy_mcp::era::Era;
use mcpproxy_upstream::{Caller, Greeting, Listener};
use tokio::sync::{mpsc, watch};

use crate::arrived::Arrived;
use crate::session::{Ear, Session};
use crate::settings::RoutingMode;
use crate::shed::Place;
use crate::unjudged::Judged;

/// The sender of a message.
#[derive(Clone, Debug)]
pub struct Downstream {
    /// The verified caller.
    pub who: Principal,
    /// The door.
    pub door: Door,
    /// The era that the message was written in.
    pub era: Era,
    /// What the endpoint shows.
    pub mode: RoutingMode,
    /// The conversation, for attribution.
    pub key: SessionKey,
    /// What the sender says about itself.
    pub greeting: Arc<Greeting>,
    /// The legacy session, if there is one.
    pub session: Option<Arc<Session>>,
    /// The connection, where nothing else tells two downstreams apart.
    pub connection: Option<u64>,
    /// The conversation that an agent's hook has shown it to belong to, where that is another.
    pub linked: Option<SessionKey>,
    /// How the message came in, where its door says so.
    pub arrived: Option<Arc<Arrived>>,
    /// Whether the engine has taken it up.
    pub judged: Judged,
}

impl Downstream {
    /// Returns the conversation in which its data is followed.
    pub fn conversation(&self) -> SessionKey {
        self.linked.unwrap_or(self.key)
    }

    /// Returns the sender of a message that came with a session.
    pub fn of_session(session: &Arc<Session>, door: Door) -> Self {
        Self {
            who: session.holder(),
            door,
            era: Era::Legacy,
            mode: session.mode,
            key: session.key,
            greeting: Arc::clone(&session.greeting),
            session: Some(Arc::clone(session)),
            connection: None,
            linked: None,
            arrived: None,
            judged: Judged::default(),
        }
    }

    /// Returns the sender of a message that stands for itself.
    pub fn of_envelope(
        envelope: Envelope,
        who: Principal,
        mode: RoutingMode,
        key: SessionKey,
    ) -> Self {
        let greeting = Arc::new(Greeting {
            version: envelope.version,
            capabilities: envelope.capabilities,
            client_info: envelope
                .client_info
                .unwrap_or_else(|| Greeting::default().client_info),
        });
        Self {
            who,
            door: Door::Mcp,
            era: Era::Modern,
            mode,
            key,
            greeting,
            session: None,
            connection: None,
            linked: None,
            arrived: None,
            judged: Judged::default(),
        }
    }

    /// Introduces the sender to an upstream.
    pub fn caller(&self, upstream: &UpstreamId) -> Caller {
        let listener: Arc<dyn Listener> = match &self.session {
            Some(session) => Arc::new(Ear::of(session, upstream)),
            None => Arc::new(Deaf),
        };
        Caller {
            era: self.era,
            principal: Arc::clone(&self.who.name),
            session: self.key.id,
            greeting: Arc::clone(&self.greeting),
            listener,
        }
    }
}

/// Hears nothing: a stateless downstream has no channel for what belongs to no request.
#[derive(Debug)]
struct Deaf;

impl Listener for Deaf {
    fn heard(&self, frame: mcpproxy_mcp::Frame) -> bool {
        tracing::debug!("dropped `{}`: its downstream is stateless", frame.method());
        false
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn ended(&self, _: &str) {}
}

/// What goes back to the sender of a request.
#[derive(Debug)]
pub enum Reply {
    /// A notification or a request that belongs to the request.
    Message(Bytes),
    /// The upstream answers with a stream; the downstream's answer may be one too.
    Streaming,
    /// The upstream wants to be polled; a stream that can be resumed may be closed meanwhile.
    Polling {
        /// The delay to ask for, in milliseconds.
        retry: u64,
    },
    /// The answer, with the code if it is an error, and the request's place among those at once,
    /// which is given up when the door has passed the answer on: who does not read takes places.
    Final(Bytes, Option<i64>, Option<Place>),
}

/// The way back to the sender of one request.
#[derive(Clone, Debug)]
pub struct Way {
    replies: mpsc::Sender<Box<Reply>>,
    cancelled: watch::Receiver<Option<String>>,
}

/// The other end of a [`Way`].
#[derive(Debug)]
pub struct WayBack {
    /// What comes back.
    pub replies: Replies,
    /// Says that nobody waits any more, and why.
    pub cancel: watch::Sender<Option<String>>,
}

/// What comes back to the sender of one request. Boxed, because a channel reserves room for many
/// at once, and most requests get one reply.
#[derive(Debug)]
pub struct Replies(mpsc::Receiver<Box<Reply>>);

impl Replies {
    /// Waits for the next reply; nothing once there can be no more.
    pub async fn recv(&mut self) -> Option<Reply> {
        self.0.recv().await.map(|reply| *reply)
    }
}

/// Replies that may wait for a slow downstream.
const REPLIES: usize = 64;

impl Way {
    /// Makes a way and its other end.
    pub fn new() -> (Self, WayBack) {
        let (sender, replies) = mpsc::channel(REPLIES);
        let (cancel, cancelled) = watch::channel(None);
        (
            Self {
                replies: sender,
                cancelled,
            },
            WayBack {
                replies: Replies(replies),
                cancel,
            },
        )
    }

    /// Sends a message ahead of the answer. One that does not fit is dropped: a slow downstream
    /// never holds up an upstream.
    pub fn tell(&self, message: Bytes) -> bool {
        self.replies
            .try_send(Box::new(Reply::Message(message)))
            .is_ok()
    }

    /// Passes on that the upstream answers with a stream.
    pub fn streaming(&self) {
        drop(self.replies.try_send(Box::new(Reply::Streaming)));
    }

    /// Passes on that the upstream wants to be polled.
    pub fn polling(&self, retry: u64) {
        drop(self.replies.try_send(Box::new(Reply::Polling { retry })));
    }

    /// Sends the answer.
    pub async fn finish(&self, message: Bytes, code: Option<i64>, place: Option<Place>) {
        // The downstream may have gone; the answer was recorded all the same.
        let last = Box::new(Reply::Final(message, code, place));
        drop(self.replies.send(last).await);
    }

    /// Waits until nobody waits any more, and returns why.
    pub async fn cancelled(&self) -> String {
        let mut cancelled = self.cancelled.clone();
        let reason = cancelled
            .wait_for(Option::is_some)
            .await
            .map(|reason| reason.clone());
        match reason {
            Ok(reason) => reason.unwrap_or_default(),
            // The other end is gone without a word: a legacy downstream that disconnects has not
            // cancelled, so this waits for ever and the call goes on.
            Err(_) => std::future::pending().await,
        }
    }
}
