//! What resources were when they were read before.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use mcpproxy_core::{Call, UpstreamId};
use mcpproxy_detect::allow::glob;
use mcpproxy_text as text;
use sha2::{Digest as _, Sha256};

use super::Settings;

/// Resources of one upstream that are remembered; the one that was first read goes first.
const MOST: usize = 1024;
/// Resources of one upstream that never change and are remembered for good. None of them goes: who
/// reads one more cannot know that it is what it was.
pub(super) const MOST_IMMUTABLE: usize = 4096;
/// Resources within one result that are looked at.
const MOST_EMBEDDED: usize = 4096;
/// Members that name a version, in small letters and without what stands before them.
const VERSIONS: [&str; 4] = ["etag", "lastmodified", "last_modified", "version"];

/// How a resource changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// It is one that never does.
    Immutable(String),
    /// It names the version that it had before.
    Version(String),
    /// It never does, but too many do not for it to be held against what it was.
    Crowded(String),
}

/// What is known, by upstream: one of them cannot make us forget what another said.
#[derive(Debug, Default)]
pub(super) struct Reads {
    keys: RandomState,
    known: Mutex<HashMap<UpstreamId, Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// Resources that never change, as they were first.
    immutable: HashMap<u64, [u8; 32]>,
    read: HashMap<u64, Read>,
    order: VecDeque<u64>,
}

/// What a resource was when it was last read.
#[derive(Clone, Copy, Debug)]
struct Read {
    digest: [u8; 32],
    version: Option<[u8; 32]>,
}

/// A resource in an answer.
struct Seen {
    uri: String,
    immutable: bool,
    digest: [u8; 32],
    version: Option<[u8; 32]>,
}

impl Reads {
    /// Says what changed in an answer that must not, and remembers the rest.
    pub(super) fn judge(&self, settings: &Settings, call: &Call, body: &str) -> Option<Changed> {
        let mut seen: Vec<Seen> = match call.kind.method() {
            "resources/read" => whole(settings, call, body).into_iter().collect(),
            "tools/call" => embedded(settings, body),
            _ => return None,
        };
        if seen.len() > MOST_EMBEDDED {
            let last = seen.pop().map(|one| one.uri).unwrap_or_default();
            return Some(Changed::Crowded(last));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut worst = None;
        for one in seen {
            // What one caller may read another may read differently.
            let key = self.keys.hash_one((&call.who.name, &one.uri));
            let upstream = known.entry(call.tool.upstream.clone()).or_default();
            worst = worst.or(upstream.judge(key, one, settings.check_versions));
        }
        worst
    }
}

impl Known {
    fn judge(&mut self, key: u64, seen: Seen, versions: bool) -> Option<Changed> {
        if seen.immutable {
            let crowded = self.immutable.len() >= MOST_IMMUTABLE;
            match self.immutable.get(&key) {
                Some(first) if *first != seen.digest => return Some(Changed::Immutable(seen.uri)),
                None if crowded => return Some(Changed::Crowded(seen.uri)),
                Some(_) => {}
                None => drop(self.immutable.insert(key, seen.digest)),
            }
        }
        let Some(before) = self.read.get_mut(&key) else {
            self.remember(key, &seen);
            return None;
        };
        let same_version = seen.version.is_some() && seen.version == before.version;
        if versions && same_version && seen.digest != before.digest {
            return Some(Changed::Version(seen.uri));
        }
        before.digest = seen.digest;
        before.version = seen.version;
        None
    }

    fn remember(&mut self, key: u64, seen: &Seen) {
        while self.order.len() >= MOST {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.read.remove(&oldest);
        }
        let read = Read {
            digest: seen.digest,
            version: seen.version,
        };
        self.order.push_back(key);
        self.read.insert(key, read);
    }
}

/// The answer to a read is one resource, under the address that was asked for: an upstream that
/// names its parts otherwise each time is not thereby another.
fn whole(settings: &Settings, call: &Call, body: &str) -> Option<Seen> {
    let (contents, _) = text::get(body, &["contents"])?;
    let asked = call.tool.tool.as_str().to_owned();
    let mut seen = Sight::default();
    let mut immutable = is_immutable(settings, &asked);
    for part in text::elements(contents) {
        let part = contents.get(part).unwrap_or_default();
        immutable |= is_immutable(settings, &seen.add(part));
    }
    Some(seen.of(asked, immutable))
}

/// Resources that a tool hands out within its result.
fn embedded(settings: &Settings, body: &str) -> Vec<Seen> {
    let Some((content, _)) = text::get(body, &["content"]) else {
        return Vec::new();
    };
    let found = text::elements(content).filter_map(|part| {
        let (resource, _) = text::get(content.get(part)?, &["resource"])?;
        let mut seen = Sight::default();
        let uri = seen.add(resource);
        let immutable = is_immutable(settings, &uri);
        (!uri.is_empty()).then(|| seen.of(uri, immutable))
    });
    found.take(MOST_EMBEDDED + 1).collect()
}

fn is_immutable(settings: &Settings, uri: &str) -> bool {
    let mut patterns = settings.immutable.iter();
    patterns.any(|pattern| glob(pattern, uri))
}

/// What is being looked at.
#[derive(Default)]
struct Sight {
    content: Sha256,
    version: Sha256,
    has_version: bool,
}

impl Sight {
    /// Adds a part, and returns its address.
    fn add(&mut self, part: &str) -> String {
        let mut uri = String::new();
        for member in text::members(part) {
            let value = part.get(member.value).unwrap_or_default();
            match &*member.key {
                "uri" => uri = text::string(value).unwrap_or_default().into_owned(),
                "text" | "blob" | "mimeType" => {
                    let content = text::string(value).unwrap_or_default();
                    feed(&mut self.content, &[&member.key, &content]);
                }
                "_meta" | "annotations" => self.versions(value),
                _ => {}
            }
        }
        uri
    }

    fn versions(&mut self, members: &str) {
        for member in text::members(members) {
            let name = member.key.rsplit(['/', '.']).next().unwrap_or_default();
            let name = name.to_ascii_lowercase();
            if VERSIONS.contains(&name.as_str()) {
                self.has_version = true;
                let value = members.get(member.value).unwrap_or_default();
                feed(&mut self.version, &[&name, value]);
            }
        }
    }

    fn of(self, uri: String, immutable: bool) -> Seen {
        Seen {
            uri,
            immutable,
            digest: self.content.finalize().into(),
            version: self.has_version.then(|| self.version.finalize().into()),
        }
    }
}

/// Adds texts with their lengths, so that two cannot be shifted into one another.
fn feed(digest: &mut Sha256, texts: &[&str]) {
    for text in texts {
        digest.update(text.len().to_le_bytes());
        digest.update(text.as_bytes());
    }
}
