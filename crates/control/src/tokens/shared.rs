//! Tokens of several gateways: what one made or revoked is told to the others, who write it into their
//! own file. A token that was revoked anywhere never comes back, whatever else is told of it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::stored::{self, Token};
use super::{Entry, MOST_TOKENS, Tokens};
use crate::error::Error;

/// News that wait to be told; past that the oldest go.
const MOST_NEWS: usize = 4096;

/// What one gateway tells the others about a token. It holds a digest, never the token.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenNews(News);

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum News {
    Made(Token),
    Revoked { sha256: String },
}

impl fmt::Debug for TokenNews {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            News::Made(_) => "TokenNews(made)",
            News::Revoked { .. } => "TokenNews(revoked)",
        })
    }
}

/// What came of news.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Whether a token that was good here is worthless now.
    pub revoked: bool,
    /// Why tokens of others are not good here.
    pub problems: Vec<String>,
}

/// What is told and what was heard.
#[derive(Default)]
pub(super) struct Shared {
    waiting: Vec<TokenNews>,
    /// Digests of tokens that were revoked, here or elsewhere.
    revoked: BTreeSet<String>,
}

impl Shared {
    pub(super) fn made(&mut self, entry: &Entry) {
        self.tell(News::Made(stored::token(entry)));
    }

    pub(super) fn revoked(&mut self, entry: &Entry) {
        let sha256 = entry.digest.to_hex();
        self.revoked.insert(sha256.clone());
        self.tell(News::Revoked { sha256 });
    }

    fn tell(&mut self, news: News) {
        if self.waiting.len() >= MOST_NEWS {
            self.waiting.remove(0);
        }
        self.waiting.push(TokenNews(news));
    }
}

impl Tokens {
    /// Returns what was made and revoked here since the last time.
    pub fn news(&self) -> Vec<TokenNews> {
        std::mem::take(&mut self.shared().waiting)
    }

    /// Takes over what other gateways made and revoked. A name that is taken here stays with the token
    /// that has it.
    pub fn adopt(&self, news: Vec<TokenNews>) -> Result<Adopted, Error> {
        let mut made = Vec::new();
        let mut shared = self.shared();
        for TokenNews(news) in news {
            match news {
                News::Made(token) => made.push(token),
                News::Revoked { sha256 } => {
                    shared.revoked.insert(sha256);
                }
            }
        }
        made.retain(|token| !shared.revoked.contains(&token.sha256));
        let revoked = shared.revoked.clone();
        drop(shared);
        let entries = self.known().entries.clone();
        let known: BTreeSet<_> = entries.iter().map(|one| one.digest.to_hex()).collect();
        let stale = known.intersection(&revoked).next().is_some();
        made.retain(|token| !known.contains(&token.sha256));
        if made.is_empty() && !stale {
            return Ok(Adopted::default());
        }
        self.edit(|entries| {
            let before = entries.len();
            entries.retain(|entry| !revoked.contains(&entry.digest.to_hex()));
            let mut adopted = Adopted {
                revoked: entries.len() < before,
                problems: Vec::new(),
            };
            for token in made {
                let taken = stored::entry(token).and_then(|entry| take(entries, entry));
                adopted.problems.extend(taken.err());
            }
            Ok(adopted)
        })
    }
}

fn take(entries: &mut Vec<Entry>, entry: Entry) -> Result<(), String> {
    let name = &entry.info.name;
    if entries.iter().any(|one| one.info.name == *name) {
        return Err(format!("the name `{name}` is taken here by another token"));
    }
    if entries.len() >= MOST_TOKENS {
        return Err(format!("there is no room for the token `{name}`"));
    }
    entries.push(entry);
    Ok(())
}
