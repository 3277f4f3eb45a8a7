//! What happened in a scope, so that several processes can fold the same: what each event says, and
//! what it does to a state. Its bytes are in `pack`; carrying them is for whoever shares.
//!
//! Values that were sent in pieces are named by their hashes, never by their numbers: each process
//! numbers what it holds for itself.

mod bytes;
mod pack;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use mcpproxy_core::{
    CallId, DataOrigin, FlowScope, FlowType, RiskLevel, SessionKey, Side, Taint, Tick,
};

use crate::origins::Voice;
use crate::reading::Reading;
use crate::secret::{Bits, SecretPrint};
use crate::session::Edge;
use crate::state::State;

/// One event of a scope.
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) session: SessionKey,
    pub(crate) what: What,
}

/// How long an event is worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// As long as its scope lasts: secrets, what left of them, what happened to a session.
    Kept,
    /// Until newer ones need its room: text, and what summaries count.
    Text,
}

impl Lane {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Kept, Self::Text];
}

/// What became of a call that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It left.
    Left,
    /// It was stopped. Nothing of it left, but the next one may go on from there.
    Stopped,
    /// It was not made at all, or in another form.
    Undone,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Something was read; its secrets are in an event of their own.
    Read(DataOrigin, Reading),
    /// Secrets were read.
    Secrets(DataOrigin, Vec<SecretPrint>),
    /// The agent said something by itself.
    Said(DataOrigin, Voice, Reading),
    /// Something is on its way outside.
    Sent(Sent),
    /// What became of it is known.
    Settled(CallId, Fate),
    /// The session stands on further legs.
    Marked(Taint),
    /// Something was read that nobody looked through to its end.
    Unread,
    /// A flow was denied.
    Denied,
    /// Something that was read gave orders to the model.
    Ordered,
    /// A justification was asked for at a destination, and came or did not come.
    Justified(Arc<str>, bool),
    /// What a call's flow was found to be.
    Flow(CallId, FlowType, RiskLevel),
    /// Data moved, or wanted to.
    Moved(Edge),
    /// The session is one conversation with another, which lives in a scope if that is known.
    Linked(SessionKey, Option<FlowScope>),
}

/// What a call takes along.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) call: CallId,
    pub(crate) to: Arc<str>,
    /// Which windows of which value.
    pub(crate) secrets: Vec<(u64, Bits)>,
    /// The ends of its fields.
    pub(crate) pieces: Vec<(u64, String)>,
    /// Its size, and whether there is personal data in it; nothing where another scope counts it.
    pub(crate) counted: Option<(u64, bool)>,
}

impl Event {
    /// Returns how long it is worth keeping.
    pub fn lane(&self) -> Lane {
        match &self.what {
            What::Read(..) | What::Said(..) | What::Flow(..) | What::Moved(_) => Lane::Text,
            What::Secrets(..)
            | What::Sent(_)
            | What::Settled(..)
            | What::Marked(_)
            | What::Unread
            | What::Denied
            | What::Ordered
            | What::Justified(..)
            | What::Linked(..) => Lane::Kept,
        }
    }

    /// Tells whether it may change what is said about a call.
    pub fn matters(&self) -> bool {
        match &self.what {
            What::Flow(..) | What::Moved(_) | What::Settled(..) => false,
            What::Read(..)
            | What::Secrets(..)
            | What::Said(..)
            | What::Sent(_)
            | What::Marked(_)
            | What::Unread
            | What::Denied
            | What::Ordered
            | What::Justified(..)
            | What::Linked(..) => true,
        }
    }

    /// Returns how many bytes it takes, by estimate.
    pub(crate) fn bytes(&self) -> usize {
        let reading = |reading: &Reading| {
            reading.grams.len() * 8 + reading.digests.len() * 16 + reading.tokens.len() * 16
        };
        let more = match &self.what {
            What::Read(_, read) | What::Said(_, _, read) => reading(read),
            What::Secrets(_, secrets) => {
                let windows = secrets.iter().map(|one| one.windows.len() * 4 + 64);
                windows.sum()
            }
            What::Sent(sent) => {
                let pieces = sent.pieces.iter().map(|(_, piece)| piece.len() + 8);
                let secrets = sent.secrets.iter().map(|(_, bits)| bits.0.len() * 8 + 8);
                pieces.chain(secrets).sum()
            }
            What::Settled(..)
            | What::Marked(_)
            | What::Unread
            | What::Denied
            | What::Ordered
            | What::Justified(..)
            | What::Flow(..)
            | What::Moved(_)
            | What::Linked(..) => 0,
        };
        more + size_of::<Self>()
    }
}

impl State {
    /// Folds what another process did.
    pub(crate) fn fold(&mut self, event: Event, most: usize, now: Tick) {
        let key = event.session;
        let session = self.session(key, now);
        match event.what {
            What::Read(origin, reading) => {
                self.read(key, origin, &reading, most, now);
            }
            What::Secrets(origin, secrets) => {
                if origin.side == Side::Inside {
                    self.vault.add(&secrets, &origin);
                }
            }
            What::Said(origin, voice, reading) => {
                self.said(key, (origin, voice), &reading, most, now);
            }
            What::Sent(sent) => self.reserve(key, sent, now),
            What::Settled(call, fate) => {
                self.settle(key, call, fate, most, now);
            }
            What::Marked(legs) => session.mark(legs),
            What::Unread => session.unread = true,
            What::Denied => session.deny(),
            What::Ordered => session.ordered = true,
            What::Justified(to, true) => session.justify(&to),
            What::Justified(to, false) => session.unjustify(&to),
            What::Flow(call, flow, risk) => session.judge(call, flow, risk),
            What::Moved(edge) => session.add_edge(edge),
            // Which sessions are one conversation is for the directory to know.
            What::Linked(..) => {}
        }
    }

    /// Takes note of what a call takes along that another process checked. A call may be checked
    /// again: what it took along before is given back.
    fn reserve(&mut self, key: SessionKey, sent: Sent, now: Tick) {
        self.vault.settle(sent.call, false);
        self.tails.take_back(sent.call);
        for (whole, bits) in sent.secrets {
            if let Some(number) = self.vault.find_whole(whole) {
                self.vault.reserve(sent.call, number, bits);
            }
        }
        self.tails.reserve(sent.call, &sent.to, sent.pieces);
        if let Some((bytes, personal)) = sent.counted {
            let session = self.session(key, now);
            session.unsend(sent.call);
            session.taint.outside = true;
            session.send(sent.call, now, bytes, personal);
        }
    }
}
