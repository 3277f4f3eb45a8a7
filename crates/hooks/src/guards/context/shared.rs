//! What several gateways remember together: each tells what it saw first, and folds what others tell.
//!
//! Fingerprints have no key of their own, since all gateways must make the same: what is told leaves
//! the process sealed.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::reads::Resource;
use super::{Context, Given, Seen};

/// Facts that are read of what another gateway told at once.
const MOST: usize = 4096;

/// Stands for a text.
pub(super) type Print = [u8; 16];

/// Something that was seen.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// A secret of an upstream, and who was given it.
    Gave(Print, Print),
    /// A resource of an upstream, as somebody read it.
    Read(String, Resource),
}

/// What an answer shows that is remembered.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The resources in it.
    pub seen: Seen,
    /// The secrets in it.
    pub given: Given,
}

impl Look {
    /// Tells whether there is nothing that would be remembered or held to anything.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.given.is_empty()
    }
}

/// Puts facts into words for other gateways.
pub fn told(facts: &[Fact]) -> Vec<u8> {
    serde_json::to_vec(facts).unwrap_or_default()
}

impl Context {
    /// Returns what an answer shows that is not remembered yet.
    pub fn news(&self, look: &Look) -> Vec<Fact> {
        let mut news = self
            .memory
            .reads
            .news(&look.seen, self.settings.check_versions);
        news.extend(self.memory.leaks.news(&look.given));
        news
    }

    /// Remembers what another gateway told, in its order; what is not understood was told by a later
    /// version. What is told twice changes nothing.
    pub fn fold(&self, told: &[u8]) {
        let facts: Vec<Fact> = serde_json::from_slice(told).unwrap_or_default();
        for fact in facts.into_iter().take(MOST) {
            match fact {
                Fact::Gave(secret, caller) => self.memory.leaks.fold(secret, caller),
                Fact::Read(upstream, resource) => {
                    let versions = self.settings.check_versions;
                    self.memory.reads.fold(&upstream, &resource, versions);
                }
            }
        }
    }

    /// Returns everything that is remembered, for those who forgot it.
    pub fn all(&self) -> Vec<Fact> {
        let mut all = self.memory.reads.all();
        all.extend(self.memory.leaks.all());
        all
    }
}

/// Returns the fingerprint of texts, each with its length, so that two cannot be shifted into one
/// another.
pub(super) fn print(texts: &[&str]) -> Print {
    let mut digest = Sha256::new();
    super::reads::feed(&mut digest, texts);
    let digest: [u8; 32] = digest.finalize().into();
    let mut print = Print::default();
    print.copy_from_slice(digest.split_at(16).0);
    print
}
