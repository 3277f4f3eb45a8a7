//! What is remembered for one scope, and the fold of events into it: a reading adds origins, a
//! sending is compared and reserved, an outcome settles it.
//!
//! Nothing is fingerprinted here. A store that several processes share folds the same events in
//! the same order.

use std::sync::Arc;

use mcpproxy_core::{CallId, DataOrigin, SessionKey, Side, Sink, Tick};

use crate::digests::Digests;
use crate::event::Fate;
use crate::going::Going;
use crate::hash::KeyedMap;
use crate::hits::{Hits, Onward, SecretHit, compare};
use crate::origins::{Origin, Origins, Tally, Voice};
use crate::pool::{Added, Key, Pool, Seen};
use crate::reading::Reading;
use crate::secret::{Bits, Vault};
use crate::sending::Sending;
use crate::session::Session;
use crate::tail::{Across, Tail, Tails};
use crate::typed::Kind;
use crate::whose::salt;

/// Bytes of the pools of a scope.
const TEXT: usize = 4 << 20;
const OUTSIDE: usize = 1 << 19;
const TYPED: usize = 1 << 19;
const SUPPLIED: usize = 1 << 18;

/// Sessions of one principal that are followed at once; the one that rested longest goes.
const SESSIONS: usize = 4096;
/// Origins of a scope, unless one session alone may have more, and what their numbers allow.
const ORIGINS: usize = 1 << 14;
const MOST_ORIGINS: usize = 1 << 20;
/// Tags whose memory is read at once.
pub(crate) const BATCH: usize = 32;
/// Bytes that a session takes beside its origins, by estimate.
const SESSION: usize = 4 << 10;

/// What is remembered for one scope.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) sessions: KeyedMap<SessionKey, Session>,
    pub(crate) origins: Origins,
    pub(crate) text: Pool,
    pub(crate) outside: Pool,
    pub(crate) typed: Pool,
    /// What outside places supplied themselves.
    pub(crate) supplied: Pool,
    pub(crate) digests: Digests,
    pub(crate) vault: Vault,
    pub(crate) tails: Tails,
    /// What calls on their way say.
    pub(crate) going: Going,
    pub(crate) last: Tick,
    /// The bytes with which the process counts it.
    pub(crate) counted: usize,
    /// Sessions that had to make room, until their summaries are taken.
    pub(crate) ended: Vec<(SessionKey, Session)>,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) session: SessionKey,
    pub(crate) call: CallId,
    pub(crate) to: &'a Arc<str>,
    pub(crate) sink: Sink,
}

/// What came of a sending.
#[derive(Debug)]
pub(crate) struct Settled {
    /// Whether anything of it was reserved.
    pub(crate) reserved: bool,
    /// What the agent said with it.
    pub(crate) said: Option<(DataOrigin, Voice, Reading)>,
}

impl State {
    pub(crate) fn new(now: Tick) -> Self {
        Self {
            sessions: KeyedMap::default(),
            origins: Origins::default(),
            text: Pool::new(TEXT),
            outside: Pool::new(OUTSIDE),
            typed: Pool::new(TYPED),
            supplied: Pool::new(SUPPLIED),
            digests: Digests::default(),
            vault: Vault::default(),
            tails: Tails::default(),
            going: Going::default(),
            last: now,
            ended: Vec::new(),
            counted: 0,
        }
    }

    pub(crate) fn session(&mut self, key: SessionKey, now: Tick) -> &mut Session {
        // What another process did is folded when it is heard of.
        self.last = self.last.max(now);
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&key) {
            self.end_oldest();
        }
        let session = self
            .sessions
            .entry(key)
            .or_insert_with(|| Session::start(now));
        session.last = session.last.max(now);
        session
    }

    pub(crate) fn bytes(&self) -> usize {
        let pools = [&self.text, &self.outside, &self.typed, &self.supplied];
        pools.iter().map(|pool| pool.bytes()).sum::<usize>()
            + self.digests.bytes()
            + self.vault.bytes()
            + self.tails.bytes()
            + self.going.bytes()
            + self.origins.bytes()
            + self.sessions.len() * SESSION
    }

    /// Folds a reading in; returns whether older ones had to make room.
    pub(crate) fn read(
        &mut self,
        key: SessionKey,
        origin: DataOrigin,
        reading: &Reading,
        most: usize,
        now: Tick,
    ) -> bool {
        let side = origin.side;
        let session = self.session(key, now);
        match side {
            Side::Inside => session.taint.private = true,
            Side::Outside => session.taint.untrusted = true,
        }
        session.origin_count += 1;
        session.use_tool(&tool_name(&origin));
        if side == Side::Inside {
            self.vault.add(&reading.secrets, &origin);
        }
        if self.has_no_room(key, most, now) {
            return true;
        }
        let place = place_salt(origin.upstream.as_str());
        let seq = self.origins.add(Origin {
            data: origin,
            voice: Voice::Read,
            session: key,
            since: seconds(now),
            text: 0,
            typed: 0,
        });
        self.list(key, seq, now);
        let mut evicted = self.limit_origins(key, most);
        if self.origins.is_alive(seq) {
            evicted |= match side {
                Side::Inside => self.read_inside(key, seq, reading),
                Side::Outside => self.read_outside(key, seq, place, reading),
            };
        }
        if evicted && let Some(session) = self.sessions.get_mut(&key) {
            session.evicted = true;
        }
        evicted
    }

    fn read_inside(&mut self, key: SessionKey, seq: u32, reading: &Reading) -> bool {
        let salt = salt(key);
        let mut evicted = false;
        for &digest in &reading.digests {
            let origins = &self.origins;
            self.digests.add_if(digest, salt, seq, |first| {
                // What others wrote first, or somebody said here, is no secret of ours.
                let first = first.and_then(|seq| origins.get(seq));
                first.is_none_or(|one| one.voice == Voice::Read && one.data.side == Side::Inside)
            });
        }
        let most = self.text.room() / 2;
        evicted |= reading.grams.len() > most;
        let grams = reading.grams.get(..most).unwrap_or(&reading.grams);
        evicted |= self.add_text(grams, salt, seq);
        for token in &reading.tokens {
            let own = if token.kind.is_wide() { 0 } else { salt };
            evicted |= self.add_typed(token.hash ^ own, token.kind, seq);
        }
        evicted
    }

    fn read_outside(&mut self, key: SessionKey, seq: u32, place: u64, reading: &Reading) -> bool {
        let salt = salt(key);
        for &digest in &reading.digests {
            self.digests
                .add_if(digest, salt, seq, |known| known.is_none());
        }
        let most = self.outside.room() / 2;
        let seen = Seen { seq, note: 0 };
        for &tag in reading.grams.iter().take(most) {
            let key = Key::from(tag ^ salt);
            if self
                .text
                .get(key, |seq| self.origins.is_alive(seq))
                .is_none()
            {
                let origins = &self.origins;
                self.outside.add(key, seen, &|seq| origins.is_alive(seq));
            }
        }
        for token in &reading.tokens {
            let origins = &self.origins;
            let alive = |seq| origins.is_alive(seq);
            self.supplied.add(token.hash ^ place, seen, &alive);
            self.supplied.add(token.hash ^ salt, seen, &alive);
        }
        false
    }

    /// Remembers what the agent or the user said: what is read back later is no secret of ours.
    ///
    /// What was read inside before stays private, and so does every sensitive value; what others
    /// wrote first stays theirs.
    pub(crate) fn said(
        &mut self,
        key: SessionKey,
        (origin, voice): (DataOrigin, Voice),
        reading: &Reading,
        most: usize,
        now: Tick,
    ) {
        let session = self.session(key, now);
        session.use_tool(&tool_name(&origin));
        if self.has_no_room(key, most, now) {
            return;
        }
        let seq = self.origins.add(Origin {
            data: origin,
            voice,
            session: key,
            since: seconds(now),
            text: 0,
            typed: 0,
        });
        self.list(key, seq, now);
        self.limit_origins(key, most);
        if !self.origins.is_alive(seq) {
            return;
        }
        let salt = salt(key);
        let seen = Seen { seq, note: 0 };
        for &digest in &reading.digests {
            self.digests
                .add_if(digest, salt, seq, |known| known.is_none());
        }
        let most = self.outside.room() / 2;
        let grams = reading.grams.get(..most).unwrap_or(&reading.grams);
        let mut keys = [Key::default(); BATCH];
        for batch in grams.chunks(BATCH) {
            let keys = spread(batch.iter().map(|tag| tag ^ salt), &mut keys);
            self.outside.warm(keys.iter().copied());
            self.text.warm(keys.iter().copied());
            for &key in keys {
                let origins = &self.origins;
                let alive = |seq| origins.is_alive(seq);
                let text = &self.text;
                self.outside.add_if(key, seen, &alive, |known| {
                    let theirs = known.is_some_and(|seen| origins.is_of_others(seen.seq));
                    !theirs && text.get(key, alive).is_none()
                });
            }
        }
        for token in &reading.tokens {
            let origins = &self.origins;
            let alive = |seq| origins.is_alive(seq);
            let own = if token.kind.is_wide() { 0 } else { salt };
            let known = self.typed.get(token.hash ^ own, alive).is_some()
                || self.vault.find_whole(token.hash).is_some();
            if !known {
                self.supplied
                    .add(token.hash ^ said_salt(salt), seen, &alive);
            }
        }
    }

    /// Remembers windows of text that are not known from outside: what came from there first is no
    /// secret of ours. Tells whether older ones had to make room.
    fn add_text(&mut self, grams: &[u64], salt: u64, seq: u32) -> bool {
        let mut evicted = false;
        let mut tally = Tally::new(seq);
        let mut keys = [Key::default(); BATCH];
        let public = !self.outside.is_empty();
        for batch in grams.chunks(BATCH) {
            let keys = spread(batch.iter().map(|tag| tag ^ salt), &mut keys);
            self.outside.warm(keys.iter().copied());
            self.text.warm(keys.iter().copied());
            for &key in keys {
                let alive = |seq| self.origins.is_alive(seq);
                if public && self.outside.get(key, alive).is_some() {
                    continue;
                }
                if self.text.is_full() {
                    // Whoever dies takes along as many windows as are counted.
                    self.origins.count(&mut tally);
                    evicted |= self.make_room(seq);
                    // Nothing newer goes for it.
                    if self.text.is_full() && self.origins.len() > 1 {
                        return true;
                    }
                }
                let origins = &self.origins;
                let alive = |seq| tally.is_alive(seq) || origins.is_alive(seq);
                match self.text.add(key, Seen { seq, note: 0 }, &alive) {
                    Added::New => tally.add(),
                    Added::Renewed(old) => self.origins.take_over(old, &mut tally),
                    Added::Displaced(old) => {
                        self.origins.take_over(old, &mut tally);
                        evicted = true;
                    }
                }
            }
        }
        self.origins.count(&mut tally);
        evicted
    }

    /// Lets the oldest origins go until there is room for text; tells whether any had to.
    #[cold]
    fn make_room(&mut self, seq: u32) -> bool {
        let mut evicted = false;
        while self.text.is_full()
            && let Some(oldest) = self.origins.oldest().filter(|oldest| *oldest != seq)
        {
            self.kill(oldest);
            evicted = true;
        }
        evicted
    }

    fn add_typed(&mut self, hash: u64, kind: Kind, seq: u32) -> bool {
        let mut evicted = false;
        while self.typed.is_full()
            && let Some(oldest) = self.origins.oldest().filter(|oldest| *oldest != seq)
        {
            self.kill(oldest);
            evicted = true;
        }
        if self.typed.is_full() && self.origins.len() > 1 {
            return true;
        }
        let origins = &self.origins;
        let seen = Seen {
            seq,
            note: kind.note(),
        };
        let added = self.typed.add(hash, seen, &|seq| origins.is_alive(seq));
        if let Some(origin) = self.origins.get_mut(seq) {
            origin.typed += 1;
        }
        match added {
            Added::New => evicted,
            Added::Renewed(old) | Added::Displaced(old) => {
                if let Some(origin) = self.origins.get_mut(old) {
                    origin.typed = origin.typed.saturating_sub(1);
                }
                evicted || matches!(added, Added::Displaced(_))
            }
        }
    }

    /// Tells whether what was done then is not remembered any more, since the scope is full of newer
    /// things; takes note of it.
    fn has_no_room(&mut self, key: SessionKey, most: usize, then: Tick) -> bool {
        let full = self.origins.len() >= most.clamp(ORIGINS, MOST_ORIGINS);
        let gone = full && self.origins.is_late(seconds(then));
        if gone && let Some(session) = self.sessions.get_mut(&key) {
            session.evicted = true;
        }
        gone
    }

    /// Puts an origin in its place among those of its session.
    fn list(&mut self, key: SessionKey, seq: u32, now: Tick) {
        self.session(key, now);
        if let Some(session) = self.sessions.get_mut(&key) {
            let place = self.origins.place(&session.origins, seconds(now));
            session.origins.insert(place, seq);
        }
    }

    /// Lets the oldest origins go until the session, and the scope, have no more than allowed.
    fn limit_origins(&mut self, key: SessionKey, most: usize) -> bool {
        let mut evicted = false;
        let all = most.clamp(ORIGINS, MOST_ORIGINS);
        while self.origins.len() > all
            && let Some(oldest) = self.origins.oldest()
        {
            self.kill(oldest);
            evicted = true;
        }
        // Where old ones come in again and again, one that came before them holds up their numbers.
        while self.origins.span() > 2 * all
            && let Some(first) = self.origins.first()
        {
            self.kill(first);
            evicted = true;
        }
        while let Some(session) = self.sessions.get_mut(&key)
            && session.origins.len() > most.max(1)
            && let Some(oldest) = session.origins.pop_front()
        {
            self.bury(oldest);
            evicted = true;
        }
        evicted
    }

    /// Lets an origin die that its session still lists.
    fn kill(&mut self, seq: u32) {
        let session = self.origins.get(seq).map(|origin| origin.session);
        if let Some(session) = session.and_then(|key| self.sessions.get_mut(&key)) {
            // Origins of a session are in order, so the oldest of all is its first.
            let listed = session.origins.iter().position(|one| *one == seq);
            if let Some(place) = listed {
                session.origins.remove(place);
            }
            session.evicted = true;
        }
        self.bury(seq);
    }

    fn bury(&mut self, seq: u32) {
        if let Some(dead) = self.origins.kill(seq) {
            self.text.forget(dead.text);
            self.typed.forget(dead.typed);
        }
    }

    /// Tells whether a place showed a value by itself, by what that is known as a whole.
    pub(crate) fn is_handed_out(&self, place: &str, whole: u64) -> bool {
        let alive = |seq| self.origins.is_alive(seq);
        self.supplied
            .get(whole ^ place_salt(place), alive)
            .is_some()
    }

    /// Hands out what was sent before to where a call goes, field by field, and what it says across
    /// destinations; reserves the ends of all that unless it is known to stay: whoever comes next reads
    /// on from them.
    pub(crate) fn queue(
        &mut self,
        errand: Errand<'_>,
        sending: &Sending<'_>,
        now: Tick,
    ) -> (Vec<Arc<Tail>>, Across) {
        self.session(errand.session, now);
        if errand.sink.is_trusted() {
            return Default::default();
        }
        let fields = sending.fields();
        let before = fields.map(|field| self.tails.before(errand.to, field.path));
        let mut before: Vec<_> = before.collect();
        let across = Across::of(sending.fields().zip(&before));
        if across.field().is_some() {
            before.push(self.tails.before_all(errand.to));
        }
        let pieces = sending.pieces(&across);
        self.tails.reserve(errand.call, errand.to, pieces);
        (before, across)
    }

    /// Compares what is about to leave, and reserves what is sensitive unless it is known to stay.
    pub(crate) fn send(
        &mut self,
        errand: Errand<'_>,
        sessions: &[SessionKey],
        sending: &Sending<'_>,
        tails: &[Onward<'_>],
    ) -> Hits {
        let hits = compare(self, errand, sessions, sending, tails);
        if !errand.sink.is_trusted() {
            for hit in &hits.secrets {
                self.vault.reserve(errand.call, hit.number, hit.own.clone());
            }
        }
        hits
    }

    /// Names the values of which something is taken along, by their hashes.
    pub(crate) fn named(&self, hits: &Hits) -> Vec<(u64, Bits)> {
        let of = |hit: &SecretHit| {
            let entry = self.vault.entry(hit.number)?;
            Some((entry.whole, hit.own.clone()))
        };
        hits.secrets.iter().filter_map(of).collect()
    }

    /// Settles what a sending reserved; says what others must know of it.
    pub(crate) fn settle(
        &mut self,
        session: SessionKey,
        call: CallId,
        fate: Fate,
        most: usize,
        now: Tick,
    ) -> Settled {
        let left = fate == Fate::Left;
        let mut reserved = self.vault.settle(call, left);
        reserved |= self.tails.settle(call, fate);
        let said = self.going.end(call);
        // A session may have ended while somebody was asked.
        let lasts = self.sessions.contains_key(&session);
        let said = said.filter(|_| left && lasts).map(|words| {
            let voice = Voice::Agent(Some(words.to));
            let from = (words.by.clone(), voice.clone());
            self.said(session, from, &words.said, most, now);
            (words.by, voice, words.said)
        });
        if !left && let Some(session) = self.sessions.get_mut(&session) {
            session.unsend(call);
        }
        Settled { reserved, said }
    }

    /// Ends the session that rested longest, to make room for another.
    fn end_oldest(&mut self) {
        let oldest = self.sessions.iter().min_by_key(|(_, one)| one.last);
        if let Some(key) = oldest.map(|(key, _)| *key)
            && let Some(session) = self.end(key)
            && self.ended.len() < SESSIONS
        {
            self.ended.push((key, session));
        }
    }

    /// Ends a session and lets its origins die.
    pub(crate) fn end(&mut self, key: SessionKey) -> Option<Session> {
        let session = self.sessions.remove(&key)?;
        for &seq in &session.origins {
            self.bury(seq);
        }
        Some(session)
    }

    /// Drops the text of all sessions, not the secrets.
    pub(crate) fn shed(&mut self) {
        self.sessions
            .values_mut()
            .for_each(|session| session.evicted = true);
        self.origins.strip();
        self.text.clear();
        self.outside.clear();
        self.digests.clear();
    }
}

/// Spreads a batch of tags, in room that was used before.
pub(crate) fn spread(tags: impl Iterator<Item = u64>, room: &mut [Key; BATCH]) -> &[Key] {
    let mut count = 0;
    for (key, tag) in room.iter_mut().zip(tags) {
        *key = Key::from(tag);
        count += 1;
    }
    room.get(..count).unwrap_or_default()
}

/// Returns a time in seconds, to put origins in order. What happened before this process began has the
/// tick zero, whenever it was: it comes before everything that was read here.
fn seconds(at: Tick) -> u32 {
    if at.0.is_zero() {
        return 0;
    }
    u32::try_from(at.0.as_secs()).map_or(u32::MAX, |seconds| seconds.saturating_add(1))
}

/// Returns the tool of an origin, as summaries name it.
fn tool_name(origin: &DataOrigin) -> String {
    match (origin.upstream.as_str(), origin.tool.as_str()) {
        // One of the agent's own, or of an upstream that the agent does not name.
        (from, tool) if from == tool || from.is_empty() => tool.to_owned(),
        (from, tool) => [from, ":", tool].concat(),
    }
}

/// Stands for what the agent of a session said by itself.
pub(crate) fn said_salt(salt: u64) -> u64 {
    salt.rotate_left(17) ^ 0x5341_4944
}

/// Returns the number that keeps apart what each place supplied.
pub(crate) fn place_salt(place: &str) -> u64 {
    crate::roll::whole(place.as_bytes())
}
