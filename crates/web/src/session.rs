//! Who is logged in: sessions, one-time links, and the count of failed attempts.
//!
//! A session lives on this side only; the browser holds a random id. It is looked up by its digest,
//! so that the time of a look-up says nothing about the ids there are.
//!
//! Alone, a gateway has all of it in memory (`table`). Where several act as one, the store that they
//! share says who is logged in (`shared`), and memory is what is left while that store is away: then
//! only what began at this gateway is known here.

mod shared;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpproxy_core::{Clock, Secret};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

pub use self::shared::Others;
use self::shared::{Attempt, Shared};
use self::table::Table;
use crate::error::Error;

/// How long a session lasts at most.
pub(crate) const LONGEST: Duration = Duration::from_hours(12);
/// How long a session lasts without a page.
const IDLE: Duration = Duration::from_hours(2);
/// How long a link can be used.
pub(crate) const LINK: Duration = Duration::from_mins(2);
/// Wrong keys within [`WINDOW`]; past that no key is looked at.
const ATTEMPTS: u32 = 10;
/// How long a wrong key counts.
const WINDOW: Duration = Duration::from_mins(1);

type Hash = [u8; 32];

/// Something to say on the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It was done.
    Done(String),
    /// It was not.
    Failed(Error),
}

/// A login, as a request sees it.
#[derive(Clone)]
pub(crate) struct Viewer {
    key: Option<Secret>,
    token: Arc<str>,
    hash: Hash,
}

impl fmt::Debug for Viewer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Viewer(***)")
    }
}

impl Viewer {
    /// The API key, where it was shown at the login.
    pub(crate) fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// What every form of this session must carry.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Tells whether a form carries the token, in a time that does not depend on where it differs.
    pub(crate) fn is_token(&self, presented: &str) -> bool {
        self.token.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

/// A link that was used up.
struct Followed {
    /// The key, where its maker showed it.
    key: Option<Secret>,
}

/// The sessions.
pub(crate) struct Sessions {
    table: Arc<Table>,
    shared: Option<Arc<Shared>>,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions(***)")
    }
}

impl Sessions {
    /// Begins with nobody logged in, or with those who are at other gateways.
    pub(crate) fn new(clock: Arc<dyn Clock>, others: Option<Others>) -> Self {
        Self {
            table: Arc::new(Table::new(Arc::clone(&clock))),
            shared: others.map(|others| Arc::new(Shared::new(others, clock))),
        }
    }

    /// Begins a session and returns the id that the browser is to hold.
    pub(crate) async fn begin(&self, key: Option<Secret>) -> Result<Secret, Error> {
        let (id, token) = (random()?, random()?);
        let viewer = Viewer {
            key,
            token: token.expose().into(),
            hash: digest(id.expose()),
        };
        if let Some(shared) = &self.shared {
            // What was missed until now is no doubt about this one.
            self.hear(shared);
        }
        let evicted = self.table.begin(&viewer);
        if let Some(shared) = &self.shared {
            if let Some(evicted) = evicted {
                self.end_everywhere(shared, evicted).await;
            }
            self.share(shared, &viewer).await;
        }
        Ok(id)
    }

    /// Lets other gateways know of a session that began here; one that cannot be told is told when it
    /// is used again.
    async fn share(&self, shared: &Arc<Shared>, viewer: &Viewer) {
        let Some(began) = self.table.began(&viewer.hash) else {
            return;
        };
        let told = shared.begin(viewer, began).await.is_ok();
        if self.table.began(&viewer.hash).is_none() {
            // It ended meanwhile, and this may have brought it back.
            self.end_everywhere(shared, viewer.hash).await;
        } else if told {
            self.table.told(&viewer.hash);
        }
    }

    /// Finds the session of an id and counts it as used.
    pub(crate) async fn find(&self, id: &str) -> Option<Viewer> {
        let hash = digest(id);
        let Some(shared) = &self.shared else {
            return self.table.find(&hash);
        };
        self.hear(shared);
        if self.table.has_ended(&hash) {
            return None;
        }
        match shared.find(&hash).await {
            Ok(Some(viewer)) => {
                // It counts as used here as well, for the time when the store is away; and the store has
                // it, although it may not have said so when it was told.
                self.table.told(&hash);
                self.table.find(&hash);
                Some(viewer)
            }
            // What the store was told of and does not know has ended.
            Ok(None) if self.table.is_told(&hash) => {
                self.table.end(&hash);
                None
            }
            Ok(None) => {
                let viewer = self.table.find(&hash)?;
                self.share(shared, &viewer).await;
                self.table.find(&hash)
            }
            Err(_) => self.table.find(&hash),
        }
    }

    /// Forgets what ended at other gateways.
    fn hear(&self, shared: &Shared) {
        let heard = shared.ended_elsewhere();
        if heard.missed {
            self.table.doubt_told();
        }
        for hash in heard.ended {
            self.table.end(&hash);
        }
    }

    /// Gives a session the key that its holder showed later; tells whether that is kept.
    pub(crate) async fn unlock(&self, viewer: &Viewer, key: Secret) -> bool {
        let here = self.table.unlock(&viewer.hash, key);
        match &self.shared {
            Some(shared) => shared.unlock(&viewer.hash).await.is_ok() || here,
            None => here,
        }
    }

    /// Ends a session, at every gateway.
    pub(crate) async fn end(&self, viewer: &Viewer) {
        self.table.end(&viewer.hash);
        if let Some(shared) = &self.shared {
            self.end_everywhere(shared, viewer.hash).await;
        }
    }

    /// Ends a session where others would find it. While the store is away, it is over here at once
    /// and elsewhere when the store is back. It is done to the end, also where who asked for it has
    /// closed the connection and nobody waits for an answer.
    async fn end_everywhere(&self, shared: &Arc<Shared>, hash: Hash) {
        let (table, shared) = (Arc::clone(&self.table), Arc::clone(shared));
        let ending = tokio::spawn(async move {
            if shared.end(&hash).await.is_err() {
                table.note_ended(hash);
                shared.end_later(hash);
            }
        });
        // One that panicked has said so.
        drop(ending.await);
    }

    /// Leaves word for the next page.
    pub(crate) async fn tell(&self, viewer: &Viewer, notice: Notice) {
        if let Some(shared) = &self.shared
            && shared.tell(&viewer.hash, &notice).await.is_ok()
        {
            return;
        }
        self.table.tell(&viewer.hash, notice);
    }

    /// Takes the word that was left.
    pub(crate) async fn notice(&self, viewer: &Viewer) -> Option<Notice> {
        let here = self.table.notice(&viewer.hash);
        match &self.shared {
            Some(shared) if here.is_none() => shared.notice(&viewer.hash).await,
            Some(_) | None => here,
        }
    }

    /// Makes a link that begins one session, soon, at any gateway.
    pub(crate) async fn link(&self, key: Option<Secret>) -> Result<Secret, Error> {
        if let Some(shared) = &self.shared {
            let id = random()?;
            if shared
                .link(&digest(id.expose()), key.is_some())
                .await
                .is_ok()
            {
                return Ok(id);
            }
        }
        // Another id: the store may have kept the first one although it did not say so, and a link
        // that is known in two places could be used twice.
        let id = random()?;
        self.table.link(digest(id.expose()), key);
        Ok(id)
    }

    /// Uses a link up; nothing if it was used before or its time is over.
    pub(crate) async fn follow(&self, id: &str) -> Option<Result<Secret, Error>> {
        let hash = digest(id);
        let followed = match (self.table.follow(&hash), &self.shared) {
            (Some(followed), _) => followed,
            (None, Some(shared)) => shared.follow(&hash).await?,
            (None, None) => return None,
        };
        Some(self.begin(followed.key).await)
    }

    /// Returns leave to try a key, if there is any; it counts as a wrong one until
    /// [`Self::forgive`]. Gateways count together; while the store is away, each for itself.
    pub(crate) async fn may_try(&self) -> Option<Attempt> {
        if !self.table.may_try() {
            return None;
        }
        let Some(shared) = &self.shared else {
            return Some(Attempt::default());
        };
        let attempt = shared.may_try().await;
        if attempt.is_none() {
            // No key is looked at, so that none was wrong.
            self.table.forgive();
        }
        attempt
    }

    /// Takes an attempt off the count: it was right.
    pub(crate) async fn forgive(&self, attempt: Attempt) {
        self.table.forgive();
        if let Some(shared) = &self.shared {
            shared.forgive(attempt).await;
        }
    }
}

fn digest(id: &str) -> Hash {
    Sha256::digest(id.as_bytes()).into()
}

/// Makes 256 random bits.
fn random() -> Result<Secret, Error> {
    let bytes = mcpproxy_mcp::seal::random::<32>();
    let bytes = bytes.map_err(|fault| Error::Random(fault.to_string()))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}
