//! Where an issuer's keys come from: fetched when they are needed, kept for a while, and fetched
//! anew when a token names a key that nobody knows, but never more often than now and then, however
//! many such tokens come.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use mcpproxy_core::{Clock, Tick};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::Dialer;

use super::keys::{Algorithm, Key, KeySet};

/// How long keys are used without looking for new ones.
const FRESH: Duration = Duration::from_mins(5);
/// How long keys are used where none can be fetched.
const STALE: Duration = Duration::from_hours(1);
/// How long nothing is fetched after it was tried.
const REST: Duration = Duration::from_secs(10);
/// How long the issuer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that an issuer's keys may be, in bytes.
const LARGEST: usize = 256 * 1024;

/// Why there is no key for a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// The issuer has none by that name.
    Unknown,
    /// The issuer's keys cannot be had.
    Unreachable,
}

/// Where keys come from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// An address.
    Url(Uri),
    /// A file.
    File(PathBuf),
}

/// The keys of an issuer, as far as they are known.
#[derive(Debug)]
pub(crate) struct KeySource {
    origin: Origin,
    dialer: Dialer,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    /// Held by whoever fetches.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    keys: KeySet,
    fetched: Option<Tick>,
    tried: Option<Tick>,
}

/// How old keys are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    Fresh,
    Stale,
    Gone,
}

impl KeySource {
    pub(crate) fn new(origin: Origin, clock: Arc<dyn Clock>) -> Self {
        Self {
            origin,
            dialer: Dialer::default(),
            clock,
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        }
    }

    /// Finds the key of a token, and fetches keys where that may help.
    pub(crate) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Key, NoKey> {
        match self.look(id, algorithm) {
            (Some(key), Age::Fresh) => return Ok(key),
            (Some(key), Age::Stale) => {
                // Nobody waits for the issuer as long as there is a key.
                let source = Arc::clone(self);
                tokio::spawn(async move { source.refresh().await });
                return Ok(key);
            }
            (Some(_), Age::Gone) | (None, _) => {}
        }
        self.refresh().await;
        match self.look(id, algorithm) {
            (Some(key), Age::Fresh | Age::Stale) => Ok(key),
            (None, Age::Fresh | Age::Stale) => Err(NoKey::Unknown),
            (_, Age::Gone) => Err(NoKey::Unreachable),
        }
    }

    fn look(&self, id: Option<&str>, algorithm: Algorithm) -> (Option<Key>, Age) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.tick();
        let age = match known.fetched {
            Some(fetched) if now < fetched.after(FRESH) => Age::Fresh,
            Some(fetched) if now < fetched.after(STALE) => Age::Stale,
            Some(_) | None => Age::Gone,
        };
        (known.keys.find(id, algorithm).cloned(), age)
    }

    /// Fetches keys, one at a time and with rests between. Keys that cannot be fetched leave those
    /// that are known.
    async fn refresh(&self) {
        let _fetching = self.fetching.lock().await;
        if !self.begin() {
            return;
        }
        let read = match self.fetch().await {
            Ok(text) => KeySet::read(&text).map_err(str::to_owned),
            Err(why) => Err(why),
        };
        match read {
            Ok(keys) => {
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.keys = keys;
                known.fetched = Some(self.clock.tick());
            }
            Err(why) => tracing::warn!("the keys of the token issuer cannot be had: {why}"),
        }
    }

    /// Takes note that keys are fetched, unless they just were.
    fn begin(&self) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.tick();
        if known.tried.is_some_and(|tried| now < tried.after(REST)) {
            return false;
        }
        known.tried = Some(now);
        true
    }

    async fn fetch(&self) -> Result<Bytes, String> {
        match &self.origin {
            Origin::File(path) => {
                let file = path.clone();
                let read = tokio::task::spawn_blocking(move || read_file(&file)).await;
                let read = read.map_err(|fault| fault.to_string())?;
                read.map_err(|fault| format!("`{}`: {fault}", path.display()))
            }
            Origin::Url(uri) => {
                let fetched = tokio::time::timeout(PATIENCE, self.get(uri)).await;
                fetched.unwrap_or_else(|_| Err("it takes too long".to_owned()))
            }
        }
    }

    async fn get(&self, uri: &Uri) -> Result<Bytes, String> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let sent = self.dialer.send(Method::GET, uri, headers, Bytes::new());
        let answer = sent.await.map_err(|fault| fault.to_string())?;
        if answer.status() != StatusCode::OK {
            return Err(format!("it answers {}", answer.status()));
        }
        let read = read_bounded(answer.into_body(), LARGEST, PATIENCE).await;
        read.map_err(|fault| fault.to_string())
    }
}

fn read_file(path: &Path) -> std::io::Result<Bytes> {
    let largest = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    let file = mcpproxy_core::open_regular(path)?;
    // What is cut off here is no JSON any more.
    file.take(largest).read_to_end(&mut text)?;
    Ok(text.into())
}
