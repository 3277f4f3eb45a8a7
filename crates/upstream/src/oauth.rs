//! Logging in to upstreams (OAuth 2.1): which token a message shows, and when it is renewed.
//!
//! A token goes to the upstream it was issued for and to nobody else. One renewal is under way at
//! a time, however many calls wait for it, and it is finished even if those who wait go away:
//! servers end the token that fetches the next as soon as they hand out another.
//! Finding the authorization server is in `discover`, a person's login in `login`.

mod challenge;
mod discover;
mod grant;
mod kept;
mod login;
mod message;
mod register;
mod web;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Uri};
use mcpproxy_core::{Clock, Secret, Tick, UpstreamId, Wall};
use mcpproxy_mcp::dial::Dialer;
use schemars::JsonSchema;
use serde::Serialize;

use self::discover::{covers, discover};
use self::grant::{By, Refusal, ask};
use self::kept::{Client, Kept};
use self::web::Web;
use crate::Error;
use crate::settings::{Grant, OAuthSettings};

pub use self::login::Login;
pub(crate) use self::web::challenges;

/// How long after a failed renewal the next one is not tried: calls must not become a flood.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a refusal of a token that was just issued is remembered.
const REFUSED: Duration = Duration::from_mins(1);

/// Keeps logins between runs; a file in the data folder outside of tests.
pub trait Keep: Send + Sync + fmt::Debug {
    /// Returns what is kept under a name. It may wait for the disk.
    fn load(&self, name: &str) -> Result<Option<Secret>, String>;
    /// Keeps something under a name, in place of what was there; nothing removes it.
    fn save(&self, name: &str, secret: Option<&Secret>) -> Result<(), String>;
}

/// What logins of all upstreams share.
#[derive(Clone, Debug)]
pub struct Logins {
    keep: Arc<dyn Keep>,
    clock: Arc<dyn Clock>,
    turns: Arc<Mutex<HashMap<UpstreamId, Turn>>>,
}

/// Held by whoever renews. An upstream that was started anew shares it with the one before, which
/// may still have calls under way.
type Turn = Arc<tokio::sync::Mutex<()>>;

impl Logins {
    /// Says where logins are kept, and by which clock tokens end.
    pub fn new(keep: Arc<dyn Keep>, clock: Arc<dyn Clock>) -> Self {
        let turns = Arc::default();
        Self { keep, clock, turns }
    }

    fn turn(&self, name: &UpstreamId) -> Turn {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(name.clone()).or_default())
    }
}

/// How an upstream is logged in to right now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
#[schemars(rename = "Login")]
pub enum Standing {
    /// Nobody logged in, and nobody had to so far.
    None,
    /// A person has to log in.
    Needed {
        /// Why.
        why: String,
    },
    /// There is a token.
    In {
        /// When it ends, if that is known.
        expires: Option<String>,
        /// Whether it is renewed by itself.
        renews: bool,
        /// What it allows.
        scopes: Vec<String>,
        /// Who issued it.
        issuer: String,
    },
}

/// The login of one upstream.
#[derive(Debug)]
pub struct OAuth {
    name: UpstreamId,
    settings: OAuthSettings,
    web: Web,
    logins: Logins,
    held: Mutex<Held>,
    turn: Turn,
}

#[derive(Clone, Debug, Default)]
struct Held {
    loaded: bool,
    kept: Option<Arc<Kept>>,
    /// Why a person has to log in, and since when.
    needed: Option<(Tick, String)>,
    /// Why the last renewal failed, and when.
    failed: Option<(Tick, String)>,
    /// Whether what is held is newer than what is on disk, which could not be written.
    unsaved: bool,
}

impl OAuth {
    /// Makes the login of an upstream. Nothing is asked or read yet.
    pub fn new(
        name: UpstreamId,
        upstream: Uri,
        settings: OAuthSettings,
        logins: Logins,
        (own, others): (Dialer, Dialer),
    ) -> Arc<Self> {
        let turn = logins.turn(&name);
        Arc::new(Self {
            name,
            settings,
            web: Web {
                upstream,
                own,
                others,
            },
            logins,
            held: Mutex::default(),
            turn,
        })
    }

    /// Says how the upstream is logged in to, by what was read so far.
    pub fn standing(&self) -> Standing {
        let held = self.lock().clone();
        let now = self.logins.clock.wall();
        if let Some((_, why)) = held.needed {
            return Standing::Needed { why };
        }
        let Some(kept) = held.kept else {
            return Standing::None;
        };
        let renews = kept.refresh.is_some() || self.settings.grant == Grant::ClientCredentials;
        if kept.is_over(now) && !renews {
            let why = "its token has ended".to_owned();
            return Standing::Needed { why };
        }
        Standing::In {
            expires: kept.expires.map(|expires| Wall(expires).rfc3339()),
            renews,
            scopes: kept.scopes.clone(),
            issuer: kept.issuer.clone(),
        }
    }

    /// Reads what is kept, and says how the upstream is logged in to.
    pub async fn read_standing(self: &Arc<Self>) -> Result<Standing, Error> {
        self.kept().await?;
        Ok(self.standing())
    }

    /// Returns the header that the next message shows, renewing the token where it ends soon.
    async fn header(self: &Arc<Self>) -> Result<Option<HeaderValue>, Error> {
        let kept = self.kept().await?;
        self.not_needed()?;
        let now = self.logins.clock.wall();
        let due = match &kept {
            None => self.settings.grant == Grant::ClientCredentials,
            Some(kept) => kept.is_due(now),
        };
        if !due {
            return Ok(kept.and_then(|kept| kept.header()));
        }
        match (self.renewed(kept.clone()).await, kept) {
            (Ok(new), _) => Ok(new.header()),
            // There is time left: the next call tries again.
            (Err(_), Some(kept)) if !kept.is_over(now) => Ok(kept.header()),
            (Err(fault), _) => Err(self.noted(fault)),
        }
    }

    /// Takes the news that the upstream did not accept what it was shown, and returns what to show
    /// next.
    async fn rejected(self: &Arc<Self>, shown: Option<&HeaderValue>) -> Result<HeaderValue, Error> {
        let kept = self.kept().await?;
        let Some(kept) = kept.filter(|_| shown.is_some()) else {
            return Err(self.noted(self.needs_login("the upstream answered HTTP 401")));
        };
        let current = kept.header();
        let next = if current.as_ref() == shown {
            let renewed = self.renewed(Some(kept)).await;
            renewed.map_err(|fault| self.noted(fault))?.header()
        } else {
            current
        };
        next.ok_or_else(|| self.needs_login("its token cannot be sent"))
    }

    /// Renews a token unless somebody else has done so meanwhile. The caller may go away: a renewal
    /// that has begun is finished and kept.
    async fn renewed(self: &Arc<Self>, used: Option<Arc<Kept>>) -> Result<Arc<Kept>, Error> {
        let this = Arc::clone(self);
        let renewing = tokio::spawn(async move { this.renew(used).await });
        let broken = |_| Err(Error::Authority("the renewal broke off".to_owned()));
        renewing.await.unwrap_or_else(broken)
    }

    async fn renew(self: &Arc<Self>, used: Option<Arc<Kept>>) -> Result<Arc<Kept>, Error> {
        let _turn = self.turn.lock().await;
        // A person may have logged in anew, in another process.
        let current = self.load().await?;
        if let Some(current) = &current
            && used.as_ref().map(|used| &used.access) != Some(&current.access)
        {
            return Ok(Arc::clone(current));
        }
        self.not_just_failed()?;
        let renewed = match self.settings.grant {
            Grant::ClientCredentials => self.by_client(current.as_deref()).await,
            Grant::AuthorizationCode => self.by_refresh(current.as_deref()).await?,
        };
        let renewed = match renewed {
            Ok(renewed) => renewed,
            Err(refusal) => return Err(self.not_renewed(current.as_deref(), refusal).await),
        };
        tracing::debug!("renewed the token for `{}`", self.name);
        match self.load().await {
            // Somebody logged in meanwhile: that is newer.
            Ok(Some(newer)) if Some(&newer) != current.as_ref() => Ok(newer),
            Ok(_) | Err(_) => Ok(self.stored(renewed).await),
        }
    }

    async fn by_refresh(&self, kept: Option<&Kept>) -> Result<Result<Kept, Refusal>, Error> {
        let ended = || self.needs_login("its token has ended and cannot be renewed");
        let kept = kept.ok_or_else(ended)?;
        let refresh = kept.refresh.as_ref().ok_or_else(ended)?;
        let at = self.web.usable("token_endpoint", &kept.token_endpoint)?;
        let client = self.client(kept);
        let what = (kept.resource.as_str(), kept.scopes.as_slice());
        let granted = ask(&self.web, &at, &client, what, By::Refresh(refresh)).await;
        let now = self.logins.clock.wall();
        Ok(granted.map(|granted| granted.renew(kept, now)))
    }

    /// Who we are; the configuration may have another secret by now.
    fn client(&self, kept: &Kept) -> Client {
        let secret = match &self.settings.client_id {
            Some(_) => self.settings.client_secret.clone(),
            None => kept.client.secret.clone(),
        };
        Client {
            secret,
            ..kept.client.clone()
        }
    }

    async fn by_client(&self, kept: Option<&Kept>) -> Result<Kept, Refusal> {
        let known = match kept {
            Some(kept) => kept.clone(),
            None => self.unknown().await?,
        };
        let at = self.web.usable("token_endpoint", &known.token_endpoint)?;
        let what = (known.resource.as_str(), known.scopes.as_slice());
        let granted = ask(&self.web, &at, &known.client, what, By::Client).await?;
        Ok(granted.renew(&known, self.logins.clock.wall()))
    }

    /// Finds out where the gateway itself is let in.
    async fn unknown(&self) -> Result<Kept, Error> {
        let challenge = self.probe().await?;
        let believed = self.settings.issuer.as_deref();
        let found = discover(&self.web, &challenge, believed).await?;
        let client = register::configured(&self.settings, &found, None);
        let client = client.ok_or_else(|| Error::Authority("no `client_id`".to_owned()))?;
        Ok(login::unissued(&found, client, self.scopes(&found)))
    }

    /// Notes why a token was not renewed. One that the server has ended is forgotten; who we are
    /// there stays for the next login.
    async fn not_renewed(&self, kept: Option<&Kept>, refusal: Refusal) -> Error {
        let now = self.logins.clock.tick();
        match refusal {
            Refusal::Passing(why) => {
                self.lock().failed = Some((now, why.clone()));
                Error::Authority(why)
            }
            // What else the server says is for whoever reads the log: this goes to agents too.
            Refusal::Final { code, said } => {
                let why = format!("it answered `{code}`");
                let said = said.unwrap_or_default();
                tracing::info!("no token for `{}`: {why} {said}", self.name);
                if let Some(kept) = kept.filter(|_| code == "invalid_grant") {
                    let ended = Kept {
                        refresh: None,
                        expires: Some(0),
                        ..kept.clone()
                    };
                    self.stored(ended).await;
                }
                self.lock().failed = Some((now, why.clone()));
                self.needs_login(&why)
            }
        }
    }

    fn not_just_failed(&self) -> Result<(), Error> {
        let held = self.lock();
        let now = self.logins.clock.tick();
        match &held.failed {
            Some((at, why)) if now < at.after(PAUSE) => Err(Error::Authority(why.clone())),
            Some(_) | None => Ok(()),
        }
    }

    /// Notes that the upstream does not accept a token that was just issued: another one would
    /// fare no better.
    fn refuses(&self) -> Error {
        self.noted(self.needs_login("the upstream refuses a token that was just issued"))
    }

    fn noted(&self, fault: Error) -> Error {
        if let Error::NeedsLogin { why, .. } = &fault {
            let now = self.logins.clock.tick();
            self.lock().needed.get_or_insert((now, why.clone()));
        }
        fault
    }

    /// Says at once that a person has to log in. That is forgotten after a while, so that an
    /// upstream that changed its mind is heard.
    fn not_needed(&self) -> Result<(), Error> {
        let mut held = self.lock();
        let now = self.logins.clock.tick();
        match &held.needed {
            Some((since, why)) if now < since.after(REFUSED) => Err(self.needs_login(why)),
            Some(_) => {
                held.needed = None;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn needs_login(&self, why: &str) -> Error {
        Error::NeedsLogin {
            name: self.name.clone(),
            why: why.to_owned(),
        }
    }

    /// Returns the login that is held, reading it where that was not done or a person had to log
    /// in.
    async fn kept(self: &Arc<Self>) -> Result<Option<Arc<Kept>>, Error> {
        {
            let held = self.lock();
            if held.loaded && held.needed.is_none() {
                return Ok(held.kept.clone());
            }
        }
        self.load().await
    }

    /// Reads what is kept on disk. Tokens for another upstream, of another server or of another
    /// client than the configuration has now are left alone.
    async fn load(&self) -> Result<Option<Arc<Kept>>, Error> {
        {
            let mut held = self.lock();
            if held.unsaved || self.settings.grant == Grant::ClientCredentials {
                held.loaded = true;
                return Ok(held.kept.clone());
            }
        }
        let (keep, name) = (Arc::clone(&self.logins.keep), self.name.to_string());
        let read = tokio::task::spawn_blocking(move || keep.load(&name)).await;
        let read = read
            .map_err(|fault| fault.to_string())
            .and_then(|read| read);
        let read = read.map_err(|why| Error::Authority(format!("cannot read the login: {why}")))?;
        let kept = read.as_ref().and_then(Kept::open);
        let kept = kept.filter(|kept| self.is_for_us(kept)).map(Arc::new);
        let mut held = self.lock();
        if held.kept != kept || !held.loaded {
            held.kept.clone_from(&kept);
            held.loaded = true;
            held.needed = None;
            held.failed = None;
        }
        Ok(kept)
    }

    fn is_for_us(&self, kept: &Kept) -> bool {
        let fits = |told: &Option<String>, kept: &str| {
            let told = told.as_deref();
            told.is_none_or(|told| told == kept)
        };
        covers(&kept.resource, &self.web.upstream)
            && fits(&self.settings.issuer, &kept.issuer)
            && fits(&self.settings.client_id, &kept.client.id)
    }

    /// Keeps a login that is used even if it cannot be written: the one before has ended.
    async fn stored(&self, kept: Kept) -> Arc<Kept> {
        let kept = Arc::new(kept);
        if let Err(fault) = self.store(&kept).await {
            tracing::warn!(
                "the login to `{}` is lost with this process: {fault}",
                self.name
            );
        }
        kept
    }

    async fn store(&self, kept: &Arc<Kept>) -> Result<(), Error> {
        let is_kept = self.settings.grant == Grant::AuthorizationCode;
        *self.lock() = Held {
            loaded: true,
            kept: Some(Arc::clone(kept)),
            unsaved: is_kept,
            ..Held::default()
        };
        if is_kept {
            // CRASH: before this is on disk the server may have ended the token that is there, and
            // then a person has to log in again.
            self.save(Some(kept.seal())).await?;
            self.lock().unsaved = false;
        }
        Ok(())
    }

    async fn save(&self, secret: Option<Secret>) -> Result<(), Error> {
        let (keep, name) = (Arc::clone(&self.logins.keep), self.name.to_string());
        let saved = move || keep.save(&name, secret.as_ref());
        let saved = tokio::task::spawn_blocking(saved).await;
        let saved = saved
            .map_err(|fault| fault.to_string())
            .and_then(|saved| saved);
        saved.map_err(|why| Error::Authority(format!("cannot keep the login: {why}")))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
