//! Calls of stateless downstreams that a legacy upstream put a question to: the call waits here
//! while the downstream is given the question as a result and comes back with the answer.
//!
//! The state that the downstream carries is sealed for its principal; it names the parked call and
//! the arguments it was made with, so that an answer cannot be used for another call.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcpproxy_core::{Id128, Tick, Wall};
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
    resume: oneshot::Sender<Resume>,
    digest: [u8; 32],
    until: Tick,
}

/// All parked calls.
#[derive(Debug)]
pub struct Parked {
    sealer: Sealer,
    calls: Mutex<HashMap<Id128, Waiting>>,
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
        principal: &str,
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
        let mut calls = lock(&self.calls);
        if calls.len() >= MOST {
            return Err(Failure::overloaded());
        }
        calls.insert(
            id,
            Waiting {
                resume,
                digest: digest(params),
                until,
            },
        );
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
            .get(&id)
            .is_some_and(|waiting| waiting.digest == digest(params));
        let waiting = if fits { calls.remove(&id) } else { None };
        let waiting = waiting.ok_or_else(refusal)?;
        waiting.resume.send(resume).map_err(|_| refusal())
    }

    /// Forgets calls that waited too long.
    pub fn sweep(&self, now: Tick) {
        lock(&self.calls).retain(|_, waiting| waiting.until > now && !waiting.resume.is_closed());
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
