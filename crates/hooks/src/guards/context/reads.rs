//! What resources were when they were read before.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{Call, FirstRead, UpstreamId, Wall};
use mcpproxy_detect::allow::glob;
use mcpproxy_text as text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::super::fingerprint::canonical;
use super::Settings;
use super::shared::{Fact, Print, print};

/// Resources of one upstream that are remembered; the one that was first read goes first.
const MOST: usize = 1024;
/// Resources of one upstream that never change and are remembered for good, over restarts and changes
/// of the settings. None of them goes: who reads one more cannot know that it is what it was.
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
    known: Mutex<BTreeMap<String, Known>>,
    /// Whether a resource that never changes was read for the first time and is to be written down.
    news: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    /// Resources that never change, as they were first.
    immutable: BTreeMap<Print, [u8; 32]>,
    /// Those of them that are not written down.
    unkept: Vec<Print>,
    /// What resources were, each version of one by itself, and each under the key of its slot.
    read: HashMap<Print, Resource>,
    order: VecDeque<Print>,
}

/// What a resource was when it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Read {
    digest: [u8; 32],
    version: Option<[u8; 32]>,
}

/// A resource as somebody read it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Resource {
    /// Whose it is, and where: what one caller may read another may read differently.
    key: Print,
    immutable: bool,
    read: Read,
}

/// The resources of an answer.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    upstream: String,
    /// Each with its address.
    resources: Vec<(String, Resource)>,
    /// One that is too many to be looked at.
    crowded: Option<String>,
}

impl Seen {
    /// Finds the resources of an answer.
    pub(super) fn new(settings: &Settings, call: &Call, body: &str) -> Self {
        let mut found: Vec<Found> = match call.kind.method() {
            "resources/read" => whole(settings, call, body).into_iter().collect(),
            "tools/call" => embedded(settings, body),
            _ => return Self::default(),
        };
        let crowded = (found.len() > MOST_EMBEDDED).then(|| found.pop()).flatten();
        let resources = found.into_iter().map(|one| {
            let resource = Resource {
                key: print(&[&call.who.name, &one.uri]),
                immutable: one.immutable,
                read: one.read,
            };
            (one.uri, resource)
        });
        Self {
            upstream: call.tool.upstream.to_string(),
            resources: resources.collect(),
            crowded: crowded.map(|one| one.uri),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }
}

/// A resource in an answer.
struct Found {
    uri: String,
    immutable: bool,
    read: Read,
}

impl Reads {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what a resource that never changes was at first, as it was written down.
    pub(super) fn recall(&self, kept: &FirstRead) -> Option<()> {
        let (key, digest) = (read_back(&kept.key)?, read_back(&kept.digest)?);
        let mut known = self.known();
        let upstream = known.entry(kept.upstream.to_string()).or_default();
        if upstream.immutable.len() < MOST_IMMUTABLE {
            upstream.immutable.entry(key).or_insert(digest);
        }
        Some(())
    }

    /// Tells whether there is anything to be written down.
    pub(super) fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed)
    }

    /// Takes what is to be written down, once.
    pub(super) fn unkept(&self, now: Wall) -> Vec<FirstRead> {
        if !self.news.swap(false, Ordering::Relaxed) {
            return Vec::new();
        }
        let mut unkept = Vec::new();
        for (name, known) in self.known().iter_mut() {
            for key in std::mem::take(&mut known.unkept) {
                let digest = known.immutable.get(&key);
                unkept.extend(digest.map(|digest| FirstRead {
                    upstream: UpstreamId::new(name.as_str()),
                    key: written(&key),
                    digest: written(digest),
                    at: now,
                }));
            }
        }
        unkept
    }

    /// Takes back what could not be written down; it is tried again with the next.
    pub(super) fn give_back(&self, unkept: &[FirstRead]) {
        let mut known = self.known();
        for one in unkept {
            if let Some(upstream) = known.get_mut(one.upstream.as_str()) {
                upstream.unkept.extend(read_back(&one.key));
            }
        }
    }

    /// Forgets what never changes; says whether there was anything.
    pub(super) fn forget(&self) -> bool {
        let mut any = false;
        for known in self.known().values_mut() {
            any |= !known.immutable.is_empty();
            known.immutable.clear();
            known.unkept.clear();
        }
        any
    }

    /// Says what changed in an answer that must not, and remembers the rest.
    pub(super) fn judge(&self, seen: &Seen, versions: bool) -> Option<Changed> {
        if let Some(crowded) = &seen.crowded {
            return Some(Changed::Crowded(crowded.clone()));
        }
        if seen.resources.is_empty() {
            return None;
        }
        let mut known = self.known();
        let upstream = known.entry(seen.upstream.clone()).or_default();
        let mut worst = None;
        for (uri, resource) in &seen.resources {
            let changed = upstream.judge(resource, versions).err();
            self.note(upstream);
            worst = worst.or(changed.map(|how| how(uri.clone())));
        }
        worst
    }

    /// Remembers a resource as another gateway saw it.
    pub(super) fn fold(&self, upstream: &str, resource: &Resource, versions: bool) {
        let mut known = self.known();
        let upstream = known.entry(upstream.to_owned()).or_default();
        // What there is to say of it was said where it was read.
        upstream.judge(resource, versions).unwrap_or_default();
        self.note(upstream);
    }

    fn note(&self, upstream: &Known) {
        if !upstream.unkept.is_empty() {
            self.news.store(true, Ordering::Relaxed);
        }
    }

    /// Returns what would be remembered of an answer.
    pub(super) fn news(&self, seen: &Seen, versions: bool) -> Vec<Fact> {
        if seen.crowded.is_some() {
            return Vec::new();
        }
        let known = self.known();
        let upstream = known.get(&seen.upstream);
        let resources = seen.resources.iter().map(|(_, resource)| resource);
        let new =
            resources.filter(|one| upstream.is_none_or(|upstream| upstream.is_news(one, versions)));
        new.map(|one| Fact::Read(seen.upstream.clone(), *one))
            .collect()
    }

    /// Returns everything that is remembered.
    pub(super) fn all(&self) -> Vec<Fact> {
        let mut all = Vec::new();
        for (name, known) in self.known().iter() {
            let mut add = |key: &Print, immutable, read| {
                let resource = Resource {
                    key: *key,
                    immutable,
                    read,
                };
                all.push(Fact::Read(name.clone(), resource));
            };
            // As it was first, and then as it was last.
            for (key, digest) in &known.immutable {
                let read = Read {
                    digest: *digest,
                    version: None,
                };
                add(key, true, read);
            }
            for key in &known.order {
                if let Some(one) = known.read.get(key) {
                    add(&one.key, false, one.read);
                }
            }
        }
        all
    }
}

impl Known {
    /// Says how a resource changed that must not, or remembers it.
    fn judge(&mut self, seen: &Resource, versions: bool) -> Result<(), fn(String) -> Changed> {
        if seen.immutable {
            let crowded = self.immutable.len() >= MOST_IMMUTABLE;
            match self.immutable.get(&seen.key) {
                Some(first) if *first != seen.read.digest => return Err(Changed::Immutable),
                None if crowded => return Err(Changed::Crowded),
                Some(_) => {}
                None => {
                    self.immutable.insert(seen.key, seen.read.digest);
                    self.unkept.push(seen.key);
                }
            }
        }
        let Some(before) = self.read.get_mut(&seen.slot()) else {
            self.remember(seen);
            return Ok(());
        };
        if versions && before.read.contradicts(&seen.read) {
            return Err(Changed::Version);
        }
        before.read = seen.read;
        Ok(())
    }

    /// Tells whether a resource would be remembered, and is not already.
    fn is_news(&self, seen: &Resource, versions: bool) -> bool {
        let first = self.immutable.get(&seen.key);
        if seen.immutable && first.is_none_or(|first| *first != seen.read.digest) {
            return first.is_none() && self.immutable.len() < MOST_IMMUTABLE;
        }
        let before = self.read.get(&seen.slot()).map(|before| before.read);
        before.is_none_or(|before| {
            before != seen.read && !(versions && before.contradicts(&seen.read))
        })
    }

    fn remember(&mut self, seen: &Resource) {
        while self.order.len() >= MOST {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.read.remove(&oldest);
        }
        self.order.push_back(seen.slot());
        self.read.insert(seen.slot(), *seen);
    }
}

impl Resource {
    /// Where it is remembered: each version for itself, so that one read without a version, or with
    /// another, does not make us forget what was read.
    fn slot(&self) -> Print {
        let Some(version) = &self.read.version else {
            return self.key;
        };
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update(version);
        let digest: [u8; 32] = digest.finalize().into();
        let mut slot = Print::default();
        slot.iter_mut()
            .zip(digest)
            .for_each(|(to, from)| *to = from);
        slot
    }
}

impl Read {
    /// Tells whether another reading names the same version and is not the same.
    fn contradicts(&self, other: &Self) -> bool {
        other.version.is_some() && other.version == self.version && other.digest != self.digest
    }
}

/// The answer to a read is one resource, under the address that was asked for: an upstream that
/// names its parts otherwise each time is not thereby another.
fn whole(settings: &Settings, call: &Call, body: &str) -> Option<Found> {
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
fn embedded(settings: &Settings, body: &str) -> Vec<Found> {
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
    /// What else it says: title, annotations, members that nobody knows.
    rest: Sha256,
    version: Sha256,
    has_version: bool,
}

impl Sight {
    /// Adds a part, and returns its address.
    fn add(&mut self, part: &str) -> String {
        let mut uri = String::new();
        let mut rest = Map::new();
        for member in text::members(part) {
            let value = part.get(member.value).unwrap_or_default();
            match &*member.key {
                "uri" => uri = text::string(value).unwrap_or_default().into_owned(),
                "text" | "blob" | "mimeType" => {
                    let content = text::string(value).unwrap_or_default();
                    feed(&mut self.content, &[&member.key, &content]);
                }
                "_meta" => self.versions(value),
                "annotations" => {
                    self.versions(value);
                    rest.insert("annotations".to_owned(), versionless(value));
                }
                key => {
                    rest.insert(key.to_owned(), parsed(value));
                }
            }
        }
        rest.retain(|_, value| *value != Value::Null);
        feed(&mut self.rest, &[&canonical(&Value::Object(rest))]);
        uri
    }

    fn versions(&mut self, members: &str) {
        for member in text::members(members) {
            if let Some(name) = version(&member.key) {
                self.has_version = true;
                let value = members.get(member.value).unwrap_or_default();
                feed(&mut self.version, &[&name, value]);
            }
        }
    }

    fn of(mut self, uri: String, immutable: bool) -> Found {
        if immutable {
            // What never changes does not do so in its title either.
            self.content.update(self.rest.finalize());
        }
        let read = Read {
            digest: self.content.finalize().into(),
            version: self.has_version.then(|| self.version.finalize().into()),
        };
        Found {
            uri,
            immutable,
            read,
        }
    }
}

fn parsed(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| value.into())
}

/// Returns annotations without those that name a version, if there are any.
fn versionless(annotations: &str) -> Value {
    let mut annotations = parsed(annotations);
    if let Value::Object(members) = &mut annotations {
        members.retain(|key, _| version(key).is_none());
        if members.is_empty() {
            return Value::Null;
        }
    }
    annotations
}

/// Returns the name of a version that a member is, if it is one.
fn version(key: &str) -> Option<String> {
    let name = key.rsplit(['/', '.']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    VERSIONS.contains(&name.as_str()).then_some(name)
}

/// Adds texts with their lengths, so that two cannot be shifted into one another.
pub(super) fn feed(digest: &mut Sha256, texts: &[&str]) {
    for text in texts {
        digest.update(text.len().to_le_bytes());
        digest.update(text.as_bytes());
    }
}

/// A fingerprint as it is written down.
fn written(print: &[u8]) -> Box<str> {
    let nibbles = print.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = nibbles.filter_map(|nibble| char::from_digit(u32::from(nibble), 16));
    digits.collect::<String>().into()
}

/// A fingerprint that was written down.
fn read_back<const LONG: usize>(text: &str) -> Option<[u8; LONG]> {
    let mut print = [0; LONG];
    for (at, byte) in print.iter_mut().enumerate() {
        let digits = text.get(2 * at..2 * at + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    (text.len() == 2 * LONG).then_some(print)
}
