//! Calls of stateless downstreams that a legacy upstream put a question to: the call waits here
//! while the downstream is given the question as a result and comes back with the answer.
//!
//! The state that the downstream carries is sealed for its principal; it names the parked call and
//! the arguments it was made with, so that an answer cannot be used for another call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_core::{Id128, Room, Shares, Tick, Wall};
use mcpproxy_mcp::seal::{self, Sealer};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::error::Failure;
use crate::forward::Origin;
use crate::session::lock;

/// Parked calls at most; past that a question is refused.
const MOST: usize = 1024;
/// Marks the states that were sealed here, so that an upstream's own are told apart.
const MARK: &str = "mcpproxy1.";

/// What a downstream comes back with.
#[derive(Debug)]
pub struct Resume {
    /// The new request that waits for an answer.
    pub origin: Origin,
    /// The raw answers, by key.
    pub answers: String,
}

#[derive(Debug)]
struct Waiting {
    principal: Arc<str>,
    resume: oneshot::Sender<Resume>,
    digest: [u8; 32],
    until: Tick,
}

/// All parked calls.
#[derive(Debug)]
pub struct Parked {
    sealer: Sealer,
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    waiting: HashMap<Id128, Waiting>,
    shares: Shares,
}

impl Calls {
    fn remove(&mut self, id: &Id128) -> Option<Waiting> {
        let waiting = self.waiting.remove(id)?;
        self.shares.remove(&waiting.principal);
        Some(waiting)
    }

    /// Makes room for one more call of a principal, if need be at the cost of the oldest of who has
    /// more than an equal share.
    fn make_room(&mut self, principal: &Arc<str>) -> bool {
        match self.shares.room(principal, MOST) {
            Room::Free => true,
            Room::Of(who) if who == *principal => false,
            Room::Of(who) => {
                let own = self.waiting.iter().filter(|(_, one)| one.principal == who);
                let oldest = own.min_by_key(|(_, one)| one.until).map(|(id, _)| *id);
                // Its question is refused, and its state is good for nothing any more.
                oldest.is_some_and(|oldest| self.remove(&oldest).is_some())
            }
        }
    }
}

impl Parked {
    /// Makes an empty place whose states `sealer` protects.
    pub fn new(sealer: Sealer) -> Self {
        Self {
            sealer,
            calls: Mutex::default(),
        }
    }

    /// Parks a call and returns the state for the downstream and the way to be resumed.
    pub fn park(
        &self,
        principal: &Arc<str>,
        params: &str,
        now: (Tick, Wall),
        patience: Duration,
    ) -> Result<(String, oneshot::Receiver<Resume>), Failure> {
        let nonce: [u8; 16] = seal::random()?;
        let id = Id128::from_bytes(nonce);
        let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let expires = Wall(now.1.0.saturating_add(millis));
        let state = self.sealer.seal(&nonce, principal, expires)?;
        let (resume, resumed) = oneshot::channel();
        let until = now.0.after(patience);
        let waiting = Waiting {
            principal: Arc::clone(principal),
            resume,
            digest: digest(params),
            until,
        };
        let mut calls = lock(&self.calls);
        if !calls.make_room(principal) {
            return Err(Failure::too_many("calls that wait for input"));
        }
        calls.shares.add(principal);
        calls.waiting.insert(id, waiting);
        Ok((format!("{MARK}{state}"), resumed))
    }

    /// Tells whether a state was sealed here.
    pub fn is_ours(state: &str) -> bool {
        state.starts_with(MARK)
    }

    /// Resumes a parked call, once.
    pub fn resume(
        &self,
        state: &str,
        principal: &str,
        params: &str,
        now: Wall,
        resume: Resume,
    ) -> Result<(), Failure> {
        let refusal = || Failure::params("this request state is not valid here");
        let sealed = state.strip_prefix(MARK).ok_or_else(refusal)?;
        let nonce = self
            .sealer
            .open(sealed, principal, now)
            .map_err(|_| refusal())?;
        let id = Id128::from_bytes(nonce.try_into().unwrap_or_default());
        let mut calls = lock(&self.calls);
        let fits = calls
            .waiting
            .get(&id)
            .is_some_and(|waiting| waiting.digest == digest(params));
        let waiting = if fits { calls.remove(&id) } else { None };
        let waiting = waiting.ok_or_else(refusal)?;
        waiting.resume.send(resume).map_err(|_| refusal())
    }

    /// Forgets calls that waited too long.
    pub fn sweep(&self, now: Tick) {
        let mut calls = lock(&self.calls);
        let over = |one: &Waiting| one.until <= now || one.resume.is_closed();
        let stale = calls.waiting.iter().filter(|(_, one)| over(one));
        let stale: Vec<_> = stale.map(|(id, _)| *id).collect();
        for id in stale {
            calls.remove(&id);
        }
    }
}

/// Binds a state to what the call is and does: name, address and arguments, not the envelope,
/// which changes from try to try.
fn digest(params: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for name in ["name", "uri", "arguments"] {
        let value = mcpproxy_text::get(params, &[name]).map_or("", |(raw, _)| raw);
        hash.update(value.len().to_be_bytes());
        hash.update(value);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn park(parked: &Parked, who: &str, at: u64) -> Option<oneshot::Receiver<Resume>> {
        let now = (Tick(Duration::from_secs(at)), Wall(0));
        let parked = parked.park(&who.into(), "{}", now, Duration::from_mins(10));
        parked.ok().map(|(_, resumed)| resumed)
    }

    #[test]
    fn a_token_with_many_parked_calls_makes_room_for_others() {
        let parked = Parked::new(Sealer::ephemeral().unwrap());
        let mut greedy = Vec::new();
        for at in 0..2000 {
            greedy.extend(park(&parked, "greedy", at));
        }
        assert_eq!(greedy.len(), MOST, "alone it may have all");
        let modest: Vec<_> = (0..2000)
            .map_while(|at| park(&parked, "modest", at))
            .collect();
        assert_eq!(modest.len(), MOST / 2, "and then an equal share");
        let lost = |one: &mut oneshot::Receiver<Resume>| {
            one.try_recv()
                .is_err_and(|why| why == oneshot::error::TryRecvError::Closed)
        };
        let lost: Vec<_> = greedy.iter_mut().map(lost).collect();
        let expect: Vec<_> = (0..MOST).map(|at| at < MOST / 2).collect();
        assert_eq!(lost, expect, "the oldest went");
        assert!(park(&parked, "greedy", 3000).is_none());
        parked.sweep(Tick(Duration::from_hours(1)));
        assert!(park(&parked, "greedy", 4000).is_some());
    }
}
