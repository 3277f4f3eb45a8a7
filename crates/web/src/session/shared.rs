//! Who is logged in at any of several gateways: kept where live state is shared, for as long as it
//! lasts, and asked for with every page.
//!
//! What is kept of a session never changes; that it was used, and that the key was shown later, stand
//! beside it. So a page that is being answered while its session ends brings nothing back.
//! INVARIANT: a session counts only while its first entry is there, and ending it removes that one.
//!
//! The API key is not kept. Of which key a session or a link is, and that the key was shown, is, as
//! digests of the key and the session: who can write there without knowing the key can claim neither.
//! INVARIANT: a session or a link is good only at gateways with the key of the one where it began,
//! whether or not that was shown: who changes the key ends all.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use mcpproxy_core::{
    Charge, Charged, Clock, Later, Limit, LiveFault, LiveStore, Seat, Secret, Wall,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use super::{ATTEMPTS, Followed, Hash, IDLE, LINK, LONGEST, Notice, Viewer, WINDOW, random};
use crate::error::Error;

/// The limit that wrong keys are charged to.
const WRONG: &str = "login/wrong";
/// What marks are of: which key a gateway has, and that it was shown.
const OF: &str = "mcpproxy login of\0";
const SHOWN: &str = "mcpproxy login shown\0";
/// How soon the store is told again what it could not be told.
const AGAIN: Duration = Duration::from_secs(1);

/// Tells other gateways that a login ended.
type Tell = Arc<dyn Fn(String) -> Later<'static, ()> + Send + Sync>;

/// What makes the logins of several gateways one.
pub struct Others {
    /// Where live state is shared.
    pub store: Arc<dyn LiveStore>,
    /// The API key of this gateway.
    pub key: Secret,
    /// Tells other gateways that a login ended.
    pub tell: Tell,
    /// The logins that ended at other gateways; nothing where some may have been missed.
    pub ended: Receiver<Option<String>>,
}

impl std::fmt::Debug for Others {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Others")
    }
}

/// What is kept of a session.
#[derive(Deserialize, Serialize)]
struct Kept {
    token: String,
    /// When it began, in milliseconds since 1970.
    began: u64,
    /// Shows which key the gateway has where it began.
    of: String,
    /// Shows that the key was shown when it began.
    shown: Option<String>,
}

/// What is kept of a link.
#[derive(Deserialize, Serialize)]
struct KeptLink {
    /// Until when it is good, in milliseconds since 1970.
    until: u64,
    of: String,
    shown: Option<String>,
}

/// What is kept of word for the next page.
#[derive(Deserialize, Serialize)]
struct KeptNotice {
    /// The status of what failed; nothing of what was done.
    status: Option<u16>,
    message: String,
    hint: Option<String>,
}

/// Leave to try a key.
#[derive(Debug, Default)]
pub(crate) struct Attempt(Option<Seat>);

/// What other gateways ended.
pub(super) struct HeardEnded {
    pub(super) ended: Vec<Hash>,
    /// Whether some of it was missed.
    pub(super) missed: bool,
}

/// The store, as logins use it.
pub(super) struct Shared {
    store: Arc<dyn LiveStore>,
    key: Secret,
    tell: Tell,
    ended: Mutex<Receiver<Option<String>>>,
    clock: Arc<dyn Clock>,
}

impl Shared {
    pub(super) fn new(others: Others, clock: Arc<dyn Clock>) -> Self {
        Self {
            store: others.store,
            key: others.key,
            tell: others.tell,
            ended: Mutex::new(others.ended),
            clock,
        }
    }

    /// Keeps a session for the rest of its time.
    pub(super) async fn begin(&self, viewer: &Viewer, began: Wall) -> Result<(), LiveFault> {
        let kept = Kept {
            token: viewer.token().to_owned(),
            began: began.0,
            of: self.mark(OF, &viewer.hash),
            shown: viewer.key().map(|_| self.mark(SHOWN, &viewer.hash)),
        };
        let left = left(began, LONGEST, self.clock.wall());
        self.used(&viewer.hash).await?;
        self.put(&session_name(&viewer.hash), &kept, left).await
    }

    /// Finds a session that is not over, and counts it as used.
    pub(super) async fn find(&self, hash: &Hash) -> Result<Option<Viewer>, LiveFault> {
        let names = [session_name(hash), used_name(hash), shown_name(hash)];
        let [session, used, shown] = &names;
        let (session, used, shown) = tokio::join!(
            self.store.get(session),
            self.store.get(used),
            self.store.get(shown)
        );
        let (session, used, shown) = (session?, used?, shown?);
        let now = self.clock.wall();
        let used: Option<u64> = read(used.as_deref());
        let kept: Option<Kept> = read(session.as_deref());
        let (Some(kept), Some(used)) = (kept, used) else {
            return Ok(None);
        };
        let own = is_same(&kept.of, &self.mark(OF, hash));
        if !own || is_over(Wall(kept.began), Wall(used), now) {
            return Ok(None);
        }
        let later: Option<String> = read(shown.as_deref());
        let mark = self.mark(SHOWN, hash);
        let mut told = [kept.shown, later].into_iter().flatten();
        let key = told.any(|told| is_same(&told, &mark));
        // One that cannot be counted as used ends the sooner.
        drop(self.used(hash).await);
        Ok(Some(Viewer {
            key: key.then(|| self.key.clone()),
            token: kept.token.into(),
            hash: *hash,
        }))
    }

    async fn used(&self, hash: &Hash) -> Result<(), LiveFault> {
        self.put(&used_name(hash), &self.clock.wall().0, IDLE).await
    }

    /// Notes that the key was shown.
    pub(super) async fn unlock(&self, hash: &Hash) -> Result<(), LiveFault> {
        let mark = self.mark(SHOWN, hash);
        self.put(&shown_name(hash), &mark, LONGEST).await
    }

    /// Ends a session at every gateway.
    pub(super) async fn end(&self, hash: &Hash) -> Result<(), LiveFault> {
        self.store.remove(&session_name(hash)).await?;
        (self.tell)(written(hash)).await;
        Ok(())
    }

    /// Ends a session once the store is back, unless its time is over before.
    pub(super) fn end_later(&self, hash: Hash) {
        let (store, tell) = (Arc::clone(&self.store), Arc::clone(&self.tell));
        let (name, clock) = (session_name(&hash), Arc::clone(&self.clock));
        let until = clock.tick().after(LONGEST);
        tokio::spawn(async move {
            while clock.tick() < until {
                tokio::time::sleep(AGAIN).await;
                if store.remove(&name).await.is_ok() {
                    return tell(written(&hash)).await;
                }
            }
        });
    }

    /// Returns what ended at other gateways since this was asked last.
    pub(super) fn ended_elsewhere(&self) -> HeardEnded {
        let mut heard = HeardEnded {
            ended: Vec::new(),
            missed: false,
        };
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match ended.try_recv() {
                Ok(Some(hash)) => heard.ended.extend(hash_of(&hash)),
                Ok(None) | Err(TryRecvError::Lagged(_)) => heard.missed = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return heard,
            }
        }
    }

    /// Leaves word for the next page, wherever that is asked for.
    pub(super) async fn tell(&self, hash: &Hash, notice: &Notice) -> Result<(), LiveFault> {
        let kept = match notice {
            Notice::Done(message) => KeptNotice {
                status: None,
                message: message.clone(),
                hint: None,
            },
            Notice::Failed(fault) => KeptNotice {
                status: Some(fault.status().as_u16()),
                message: fault.to_string(),
                hint: fault.hint().map(str::to_owned),
            },
        };
        self.put(&notice_name(hash), &kept, IDLE).await
    }

    /// Takes the word that was left; of two pages that ask at once, one has it.
    pub(super) async fn notice(&self, hash: &Hash) -> Option<Notice> {
        let kept = self.take::<KeptNotice>(&notice_name(hash)).await?;
        let KeptNotice {
            status,
            message,
            hint,
        } = kept;
        let Some(status) = status else {
            return Some(Notice::Done(message));
        };
        Some(Notice::Failed(Error::Refused {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            message,
            hint,
        }))
    }

    /// Keeps a link, and whether its maker showed the key.
    pub(super) async fn link(&self, hash: &Hash, shown: bool) -> Result<(), LiveFault> {
        let kept = KeptLink {
            until: self.clock.wall().after(LINK).0,
            of: self.mark(OF, hash),
            shown: shown.then(|| self.mark(SHOWN, hash)),
        };
        self.put(&link_name(hash), &kept, LINK).await
    }

    /// Uses a link up, where there is such a link. A store that does not say whether it was still
    /// there has perhaps used it up: it is not good then.
    pub(super) async fn follow(&self, hash: &Hash) -> Option<Followed> {
        let name = link_name(hash);
        let kept: KeptLink = read(self.store.get(&name).await.ok()?.as_deref())?;
        // One of another key is left for its own gateways.
        if !is_same(&kept.of, &self.mark(OF, hash)) || !self.is_taken(&name).await {
            return None;
        }
        if self.clock.wall().0 >= kept.until {
            return None;
        }
        let mark = self.mark(SHOWN, hash);
        let shown = kept.shown.is_some_and(|told| is_same(&told, &mark));
        let key = shown.then(|| self.key.clone());
        Some(Followed { key })
    }

    /// Returns leave to try a key, unless too many were wrong at all gateways together. Where nobody
    /// can be asked, this gateway has counted by itself.
    pub(super) async fn may_try(&self) -> Option<Attempt> {
        let Ok(call) = random() else { return None };
        let call = call.expose().to_owned();
        let charge = Charge {
            call: call.clone(),
            limits: vec![(WRONG.to_owned(), Limit::Places(ATTEMPTS))],
            lease: WINDOW,
        };
        let limit = WRONG.to_owned();
        match self.store.charge(charge).await {
            Ok(Charged::Taken(_)) => Some(Attempt(Some(Seat { limit, call }))),
            Ok(Charged::Full { .. }) => None,
            Err(_) => Some(Attempt::default()),
        }
    }

    /// Takes an attempt off the count.
    pub(super) async fn forgive(&self, Attempt(seat): Attempt) {
        let seats: Vec<_> = seat.into_iter().collect();
        if !seats.is_empty() {
            // One that cannot be given back ends with its minute.
            drop(self.store.leave(seats).await);
        }
    }

    /// Shows something of a session that needs the key of this gateway, to whoever has the same key.
    fn mark(&self, what: &str, hash: &Hash) -> String {
        let mark = Sha256::new_with_prefix(what);
        let mark = mark.chain_update(hash).chain_update(self.key.expose());
        URL_SAFE_NO_PAD.encode(mark.finalize())
    }

    async fn put(
        &self,
        name: &str,
        value: &impl Serialize,
        span: Duration,
    ) -> Result<(), LiveFault> {
        let value = serde_json::to_vec(value).map_err(|fault| LiveFault(fault.to_string()))?;
        self.store.put(name, value, span).await
    }

    /// Takes a value; nothing where there is none, or where somebody else took it.
    async fn take<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Option<T> {
        let value = self.store.get(name).await.ok()??;
        self.is_taken(name).await.then(|| read(Some(&value)))?
    }

    /// Takes a value away, and tells whether it was there until then.
    async fn is_taken(&self, name: &str) -> bool {
        self.store.remove(name).await.unwrap_or(false)
    }
}

/// Compares marks, in a time that does not depend on where they differ.
fn is_same(told: &str, mark: &str) -> bool {
    told.as_bytes().ct_eq(mark.as_bytes()).into()
}

/// Reads what is kept; what is not understood was written by a later version.
fn read<T: for<'a> Deserialize<'a>>(kept: Option<&[u8]>) -> Option<T> {
    serde_json::from_slice(kept?).ok()
}

/// Returns what is left of a span. Clocks differ: what has not begun yet here has all of it left.
fn left(began: Wall, span: Duration, now: Wall) -> Duration {
    let gone = Duration::from_millis(now.0.saturating_sub(began.0));
    span.saturating_sub(gone)
}

fn is_over(began: Wall, used: Wall, now: Wall) -> bool {
    left(began, LONGEST, now).is_zero() || left(used, IDLE, now).is_zero()
}

fn written(hash: &Hash) -> String {
    URL_SAFE_NO_PAD.encode(hash)
}

fn hash_of(written: &str) -> Option<Hash> {
    let bytes = URL_SAFE_NO_PAD.decode(written).ok()?;
    bytes.try_into().ok()
}

fn session_name(hash: &Hash) -> String {
    format!("login/{}", written(hash))
}

fn used_name(hash: &Hash) -> String {
    format!("login/{}/used", written(hash))
}

fn shown_name(hash: &Hash) -> String {
    format!("login/{}/shown", written(hash))
}

fn notice_name(hash: &Hash) -> String {
    format!("login/{}/notice", written(hash))
}

fn link_name(hash: &Hash) -> String {
    format!("link/{}", written(hash))
}
