//! What is known about the things that upstreams offer since they were first seen, and about how
//! callers and upstreams usually behave, and the port behind which that knowledge is kept.
//!
//! How a baseline changes when a listing comes in or a call is over is for the guards to say.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Wall;
use crate::id::UpstreamId;

/// What kind of thing an upstream offers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OfferKind {
    /// The upstream itself.
    Server,
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A template of resources.
    Template,
    /// What the upstream says about itself when a session opens.
    Instructions,
}

impl OfferKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Server,
        Self::Tool,
        Self::Prompt,
        Self::Resource,
        Self::Template,
        Self::Instructions,
    ];

    /// Returns the name under which it is kept and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Instructions => "instructions",
        }
    }

    /// Finds a kind by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Whether something that an upstream offers may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OfferState {
    /// It waits for approval.
    Quarantined,
    /// It may be used as it was approved.
    Approved,
    /// It changed after approval, and not harmlessly.
    RugPull,
    /// A person does not want it.
    Blocked,
}

impl OfferState {
    /// Every state.
    pub const ALL: [Self; 4] = [
        Self::Quarantined,
        Self::Approved,
        Self::RugPull,
        Self::Blocked,
    ];

    /// Returns the name under which it is kept and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quarantined => "quarantined",
            Self::Approved => "approved",
            Self::RugPull => "rug_pull",
            Self::Blocked => "blocked",
        }
    }

    /// Finds a state by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// How much is taken on trust from an upstream, most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// What is new may be used unless it is poisoned.
    Auto,
    /// What is there at first may be used if it scans clean; what comes later waits.
    #[default]
    Scan,
    /// Everything waits for a person, and so does every change.
    Manual,
}

/// What is known about one thing that an upstream offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The upstream.
    pub upstream: UpstreamId,
    /// What it is.
    pub kind: OfferKind,
    /// Its name at the upstream; empty where there is only one.
    pub name: Box<str>,
    /// Whether it may be used.
    pub state: OfferState,
    /// What was approved, as canonical JSON.
    pub approved: Option<Box<str>>,
    /// What was seen last, as canonical JSON.
    pub current: Box<str>,
    /// Who put it in this state: a person, or the check that did.
    pub by: Box<str>,
    /// Why it is in this state, safe to show.
    pub reason: Box<str>,
    /// Since when it is in this state.
    pub since: Wall,
}

impl Baseline {
    /// Tells whether it may be used.
    pub fn is_approved(&self) -> bool {
        self.state == OfferState::Approved
    }
}

/// What is known about how somebody usually behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Whose they are: a caller or an upstream, as the guard names it.
    pub subject: Box<str>,
    /// The habits, as JSON that only the guard reads.
    pub learned: Box<str>,
    /// When they were written down.
    pub at: Wall,
}

/// What a resource that never changes was when it was first read: digests, and nothing of what it
/// says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRead {
    /// The upstream that gave it.
    pub upstream: UpstreamId,
    /// Stands for whose it is and where.
    pub key: Box<str>,
    /// Stands for what it was.
    pub digest: Box<str>,
    /// When it was first read.
    pub at: Wall,
}

/// Why baselines could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineFault(pub String);

impl fmt::Display for BaselineFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the baselines of tools are broken: {}", self.0)
    }
}

impl std::error::Error for BaselineFault {}

/// Where baselines are kept. Every method waits for the disk.
pub trait BaselineStore: Send + Sync + fmt::Debug {
    /// Returns all that are kept.
    fn load(&self) -> Result<Vec<Baseline>, BaselineFault>;

    /// Puts baselines in the place of those of the same upstream, kind and name: all of them, and
    /// durably once this returns.
    fn keep(&self, changed: &[Baseline]) -> Result<(), BaselineFault>;

    /// Returns the habits of everybody.
    fn habits(&self) -> Result<Vec<Habits>, BaselineFault>;

    /// Puts habits in the place of those of the same subject, durably once this returns.
    fn keep_habits(&self, changed: &[Habits]) -> Result<(), BaselineFault>;

    /// Returns what resources that never change were at first.
    fn first_reads(&self) -> Result<Vec<FirstRead>, BaselineFault>;

    /// Adds what resources were at first, durably once this returns. What is there already stays.
    fn keep_first_reads(&self, new: &[FirstRead]) -> Result<(), BaselineFault>;

    /// Forgets what all resources were at first.
    fn forget_first_reads(&self) -> Result<(), BaselineFault>;
}

/// Baselines that end with the process.
#[derive(Debug, Default)]
pub struct MemoryBaselines {
    offers: Mutex<Vec<Baseline>>,
    habits: Mutex<Vec<Habits>>,
    reads: Mutex<Vec<FirstRead>>,
}

impl BaselineStore for MemoryBaselines {
    fn load(&self) -> Result<Vec<Baseline>, BaselineFault> {
        Ok(lock(&self.offers).clone())
    }

    fn keep(&self, changed: &[Baseline]) -> Result<(), BaselineFault> {
        let mut kept = lock(&self.offers);
        kept.retain(|old| !changed.iter().any(|new| is_same(old, new)));
        kept.extend(changed.iter().cloned());
        Ok(())
    }

    fn habits(&self) -> Result<Vec<Habits>, BaselineFault> {
        Ok(lock(&self.habits).clone())
    }

    fn keep_habits(&self, changed: &[Habits]) -> Result<(), BaselineFault> {
        let mut kept = lock(&self.habits);
        kept.retain(|old| !changed.iter().any(|new| new.subject == old.subject));
        kept.extend(changed.iter().cloned());
        Ok(())
    }

    fn first_reads(&self) -> Result<Vec<FirstRead>, BaselineFault> {
        Ok(lock(&self.reads).clone())
    }

    fn keep_first_reads(&self, new: &[FirstRead]) -> Result<(), BaselineFault> {
        let mut kept = lock(&self.reads);
        for one in new {
            let is_same = |old: &FirstRead| (&old.upstream, &old.key) == (&one.upstream, &one.key);
            if !kept.iter().any(is_same) {
                kept.push(one.clone());
            }
        }
        Ok(())
    }

    fn forget_first_reads(&self) -> Result<(), BaselineFault> {
        lock(&self.reads).clear();
        Ok(())
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_same(one: &Baseline, other: &Baseline) -> bool {
    (one.kind, &one.upstream, &one.name) == (other.kind, &other.upstream, &other.name)
}
