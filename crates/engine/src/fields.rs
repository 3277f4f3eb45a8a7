//! Whole fields that were read from an internal upstream, remembered by hash within a session.
//!
//! This is the data-flow specification's hashing taken literally: a text field sent on whole, or
//! with other case and outer space, is recognized. It sees no part of a field and no encoding.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Id128, SessionKey, Tick, UpstreamId};
use mcpproxy_text::{self as text, LeafKind};
use sha2::{Digest as _, Sha256};

/// The bounds of what is remembered.
#[derive(Clone, Copy, Debug)]
pub struct FieldLimits {
    /// The shortest field that counts, in characters.
    pub min_length: usize,
    /// Fields remembered for one session; the oldest go first.
    pub per_session: usize,
    /// Time without a call after which a session is forgotten.
    pub idle: Duration,
}

/// How many sessions are remembered; the one idle for longest goes first.
const SESSIONS: usize = 10_000;

/// What was read, by session.
#[derive(Debug, Default)]
pub struct Fields(Mutex<HashMap<SessionKey, Session>>);

#[derive(Debug)]
struct Session {
    origins: HashMap<Id128, UpstreamId>,
    order: VecDeque<Id128>,
    used: Tick,
}

impl Fields {
    /// Remembers the text fields of `body` as read from `upstream`.
    pub fn record(
        &self,
        session: SessionKey,
        upstream: &UpstreamId,
        body: &str,
        limits: FieldLimits,
        now: Tick,
    ) {
        let is_text = |kind| kind == LeafKind::Text;
        let hashes: Vec<_> = hashes(body, limits.min_length, is_text).collect();
        if hashes.is_empty() {
            return;
        }
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut sessions, session, limits, now);
        let session = sessions.entry(session).or_insert_with(|| Session {
            origins: HashMap::new(),
            order: VecDeque::new(),
            used: now,
        });
        session.used = now;
        for hash in hashes {
            if session.origins.insert(hash, upstream.clone()).is_none() {
                session.order.push_back(hash);
            }
            while session.order.len() > limits.per_session {
                if let Some(oldest) = session.order.pop_front() {
                    session.origins.remove(&oldest);
                }
            }
        }
    }

    /// Returns where a text field of `body` was read before, if it was.
    pub fn origin(
        &self,
        session: SessionKey,
        body: &str,
        limits: FieldLimits,
        now: Tick,
    ) -> Option<UpstreamId> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&session)?;
        if session.used.until(now) > limits.idle {
            return None;
        }
        session.used = now;
        // What was read as text may be sent as a key.
        let can_carry = |kind| matches!(kind, LeafKind::Text | LeafKind::Key);
        hashes(body, limits.min_length, can_carry)
            .find_map(|hash| session.origins.get(&hash).cloned())
    }
}

fn make_room(
    sessions: &mut HashMap<SessionKey, Session>,
    key: SessionKey,
    limits: FieldLimits,
    now: Tick,
) {
    if sessions
        .get(&key)
        .is_some_and(|session| session.used.until(now) > limits.idle)
    {
        sessions.remove(&key);
    }
    if sessions.contains_key(&key) || sessions.len() < SESSIONS {
        return;
    }
    sessions.retain(|_, session| session.used.until(now) <= limits.idle);
    if sessions.len() >= SESSIONS {
        let oldest = sessions
            .iter()
            .min_by_key(|(_, session)| session.used)
            .map(|(key, _)| *key);
        if let Some(oldest) = oldest {
            sessions.remove(&oldest);
        }
    }
}

/// Hashes each field of the chosen kinds that is long enough, as it is and normalized.
fn hashes(
    body: &str,
    min_length: usize,
    chosen: impl Fn(LeafKind) -> bool,
) -> impl Iterator<Item = Id128> {
    text::leaves(body)
        .into_iter()
        .filter(move |leaf| chosen(leaf.kind) && leaf.text.trim().chars().count() >= min_length)
        .flat_map(|leaf| [digest(&leaf.text), digest(&leaf.text.trim().to_lowercase())])
}

/// Cuts a SHA-256 to 128 bits, as the specification asks.
fn digest(text: &str) -> Id128 {
    let digest: [u8; 32] = Sha256::digest(text).into();
    let (head, _) = digest.split_at(16);
    Id128::from_bytes(head.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::SessionBasis;

    use super::*;

    const LIMITS: FieldLimits = FieldLimits {
        min_length: 20,
        per_session: 6,
        idle: Duration::from_mins(1),
    };

    fn session(id: u128) -> SessionKey {
        SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(id),
        }
    }

    fn at(seconds: u64) -> Tick {
        Tick(Duration::from_secs(seconds))
    }

    #[test]
    fn the_spec_s_example_has_the_spec_s_hash() {
        assert_eq!(
            digest("test").to_string(),
            "9f86d081884c7d659a2feaa0c55ad015"
        );
    }

    #[test]
    fn whole_fields_are_recognized_within_their_session() {
        let fields = Fields::default();
        let upstream = UpstreamId::new("github");
        let body = r#"{"content":[{"type":"text","text":"The quarterly figures are not public"}]}"#;
        fields.record(session(1), &upstream, body, LIMITS, at(0));
        let check = |id, body: &str, now, expect: bool| {
            let found = fields.origin(session(id), body, LIMITS, at(now));
            assert_eq!(found.is_some(), expect, "{body}");
        };
        check(
            1,
            r#"{"text":"The quarterly figures are not public"}"#,
            1,
            true,
        );
        check(
            1,
            r#"{"text":" the QUARTERLY figures are not public\n"}"#,
            1,
            true,
        );
        check(1, r#"{"The quarterly figures are not public":1}"#, 1, true);
        check(1, r#"{"text":"The quarterly figures"}"#, 1, false);
        check(
            2,
            r#"{"text":"The quarterly figures are not public"}"#,
            1,
            false,
        );
        check(
            1,
            r#"{"text":"The quarterly figures are not public"}"#,
            90,
            false,
        );
    }

    #[test]
    fn the_oldest_fields_make_room() {
        let fields = Fields::default();
        let upstream = UpstreamId::new("github");
        for number in 0..10 {
            let body = format!(r#"["a field that is long enough, number {number}"]"#);
            fields.record(session(1), &upstream, &body, LIMITS, at(0));
        }
        let seen = |number| {
            let body = format!(r#"["a field that is long enough, number {number}"]"#);
            fields.origin(session(1), &body, LIMITS, at(0)).is_some()
        };
        assert!(seen(9) && !seen(0));
    }
}
