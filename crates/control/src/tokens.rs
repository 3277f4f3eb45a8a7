//! Agent tokens: made and revoked by the owner, verified at each request.
//!
//! Only hashes are kept, so a token is shown once. Another process may change the file at any
//! time; [`Tokens::refresh`] sees it. What a scope means for a call is for the gateway to apply.

mod scope;
mod shared;
mod stored;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_core::{Secret, Tick, Wall};
use schemars::JsonSchema;
use serde::Serialize;
use subtle::{Choice, ConditionallySelectable};

use crate::credential::{self, Digest};
use crate::error::{Error, shown};
use crate::file::{PrivateFile, Stamp};
use shared::Shared;

pub(crate) use scope::AUDIT;
pub use scope::TokenScope;
pub use shared::{Adopted, TokenNews};

/// The file in the data folder.
const FILE: &str = "tokens.json";
const FILE_LIMIT: usize = 1024 * 1024;
/// By this, scanners and the REST interface know a token of ours.
const PREFIX: &str = "mcp_agt_";
/// The most tokens that are kept, since each is compared at each request.
const MOST_TOKENS: usize = 1000;
/// How long a change by another process may stay unseen.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is known about a token. The token itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TokenInfo {
    /// Names the token.
    pub name: String,
    /// What its holder may call, and until when.
    pub scope: TokenScope,
    /// When it was made.
    pub created: Wall,
}

/// A token as it is compared.
#[derive(Clone)]
struct Entry {
    digest: Digest,
    info: Arc<TokenInfo>,
}

/// The agent tokens of this installation.
pub struct Tokens {
    file: PrivateFile,
    known: Mutex<Known>,
    shared: Mutex<Shared>,
}

/// What the file said when it was last read.
struct Known {
    entries: Arc<[Entry]>,
    stamp: Option<Stamp>,
    /// Why the file cannot be used. Then no token is good, since one may have been revoked.
    problem: Option<String>,
    looked: Option<Tick>,
}

impl Tokens {
    /// Reads the tokens; a folder without the file has none.
    pub fn open(data_dir: &Path) -> Result<Self, Error> {
        let file = PrivateFile::new(data_dir, FILE, FILE_LIMIT);
        let (entries, stamp) = read(&file)?;
        let known = Known {
            entries: entries.into(),
            stamp,
            problem: None,
            looked: None,
        };
        Ok(Self {
            file,
            known: Mutex::new(known),
            shared: Mutex::default(),
        })
    }

    /// Makes a token, which is shown here and never again.
    pub fn create(
        &self,
        name: &str,
        scope: TokenScope,
        now: Wall,
    ) -> Result<(Secret, TokenInfo), Error> {
        check_name(name)?;
        let owned = || name.to_owned();
        scope.check().map_err(|reason| Error::TokenScope {
            name: owned(),
            reason,
        })?;
        scope.check_end(now).map_err(|reason| Error::TokenEnded {
            name: owned(),
            reason,
        })?;
        let secret = credential::make(PREFIX)?;
        let digest = Digest::of(secret.expose().as_bytes());
        let info = TokenInfo {
            name: name.to_owned(),
            scope,
            created: now,
        };
        let entry = Entry {
            digest,
            info: Arc::new(info.clone()),
        };
        self.edit(|entries| {
            if entries.iter().any(|entry| entry.info.name == name) {
                return Err(Error::TokenTaken {
                    name: name.to_owned(),
                });
            }
            if entries.len() >= MOST_TOKENS {
                return Err(Error::TooManyTokens { limit: MOST_TOKENS });
            }
            entries.push(entry.clone());
            Ok(())
        })?;
        self.shared().made(&entry);
        Ok((secret, info))
    }

    /// Returns what the file says now, in the order in which tokens were made.
    pub fn list(&self) -> Result<Vec<TokenInfo>, Error> {
        let (entries, _) = read(&self.file)?;
        Ok(entries
            .into_iter()
            .map(|entry| Arc::unwrap_or_clone(entry.info))
            .collect())
    }

    /// Makes a token worthless, at once in this process and within a second in others with this folder.
    pub fn revoke(&self, name: &str) -> Result<TokenInfo, Error> {
        let entry = self.edit(|entries| {
            let index = entries.iter().position(|entry| entry.info.name == name);
            let index = index.ok_or_else(|| Error::TokenUnknown { name: shown(name) })?;
            Ok(entries.remove(index))
        })?;
        self.shared().revoked(&entry);
        Ok(Arc::unwrap_or_clone(entry.info))
    }

    /// Looks whether another process changed the file, at most once a second.
    pub fn refresh(&self, at: Tick) {
        let mut known = self.known();
        if known
            .looked
            .is_some_and(|looked| at < looked.after(LOOK_EVERY))
        {
            return;
        }
        known.looked = Some(at);
        // What could not be read is tried again even if it looks the same: the disk may be back.
        if known.problem.is_none() && self.file.stamp() == known.stamp {
            return;
        }
        match read(&self.file) {
            Ok((entries, stamp)) => {
                known.entries = entries.into();
                known.stamp = stamp;
                known.problem = None;
            }
            Err(error) => {
                known.entries = Arc::default();
                known.problem = Some(error.with_remedy());
            }
        }
    }

    /// Returns what a presented token opens, unless it is unknown or expired.
    ///
    /// Every token is compared, so the time tells neither which one it is nor how nearly.
    pub fn verify(&self, presented: &str, now: Wall) -> Option<Arc<TokenInfo>> {
        let digest = Digest::of(presented.as_bytes());
        let entries = Arc::clone(&self.known().entries);
        let (mut found, mut at) = (Choice::from(0), 0_u32);
        for (index, entry) in (0_u32..).zip(entries.iter()) {
            let same = digest.equals(&entry.digest);
            at.conditional_assign(&index, same);
            found |= same;
        }
        let entry = entries
            .get(usize::try_from(at).ok()?)
            .filter(|_| found.into())?;
        (!entry.info.scope.expired(now)).then(|| Arc::clone(&entry.info))
    }

    /// Returns what is known about a token by its name, unless it expired.
    pub fn find(&self, name: &str, now: Wall) -> Option<Arc<TokenInfo>> {
        let entries = Arc::clone(&self.known().entries);
        let entry = entries.iter().find(|entry| entry.info.name == name)?;
        (!entry.info.scope.expired(now)).then(|| Arc::clone(&entry.info))
    }

    /// Returns why no token is accepted at present, if that is so.
    pub fn problem(&self) -> Option<String> {
        self.known().problem.clone()
    }

    /// Changes what the file says, not what this process last read, and then what it knows.
    fn edit<T>(
        &self,
        change: impl FnOnce(&mut Vec<Entry>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let writing = self.file.lock()?;
        let (mut entries, _) = read(&self.file)?;
        let result = change(&mut entries)?;
        let text = stored::print(&entries).map_err(|reason| self.file.broken(reason))?;
        writing.replace(&text)?;
        let mut known = self.known();
        known.stamp = self.file.stamp();
        known.entries = entries.into();
        known.problem = None;
        Ok(result)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.known().entries.len();
        formatter
            .debug_struct("Tokens")
            .field("count", &count)
            .finish_non_exhaustive()
    }
}

fn read(file: &PrivateFile) -> Result<(Vec<Entry>, Option<Stamp>), Error> {
    let content = file.read()?;
    let Some(bytes) = content.bytes else {
        return Ok((Vec::new(), None));
    };
    let entries = stored::parse(&bytes).map_err(|reason| file.broken(reason))?;
    Ok((entries, content.stamp))
}

fn check_name(name: &str) -> Result<(), Error> {
    if scope::is_name(name) {
        Ok(())
    } else {
        Err(Error::TokenName { name: shown(name) })
    }
}
