//! All hooks of a configuration, in the order in which they are asked. A new configuration makes a
//! new registry; what is counted is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcpproxy_core::{Clock, HookFault, Phases, SecurityHook};
use schemars::JsonSchema;
use serde::Serialize;

use crate::background::Queue;
use crate::breaker::Standing;
use crate::chain::Chain;
use crate::decided::Ran;
use crate::error::Error;
use crate::limits::{FailureMode, Limits};
use crate::member::Member;
use crate::metrics::{Counts, Metrics};
use crate::question::{Around, Mask, Phase, Subject};

/// A hook and what it is held to.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The hook.
    pub hook: Arc<dyn SecurityHook>,
    /// What it is held to.
    pub limits: Limits,
}

/// All hooks, in the order in which they are asked.
#[derive(Debug)]
pub struct Registry {
    asked: Vec<Arc<Member>>,
    told: Vec<(Arc<Member>, Queue)>,
    metrics: Arc<Metrics>,
}

/// How one hook is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HookHealth")]
pub struct Health {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its place in the order.
    pub priority: u32,
    /// What it is asked about.
    pub runs_on: Phases,
    /// What it means that it does not decide.
    pub failure_mode: FailureMode,
    /// How long it has, in milliseconds.
    pub timeout_ms: u64,
    /// Whether it is told instead of asked.
    pub asynchronous: bool,
    /// Whether it could start.
    pub started: bool,
    /// Whether it works.
    pub healthy: bool,
    /// What it says about itself, or why it says nothing.
    pub message: String,
    /// How it is treated.
    pub circuit: Standing,
    /// Messages that wait to be told to it.
    pub waiting: usize,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Registry {
    /// Makes a pipeline without hooks.
    pub fn empty(metrics: Arc<Metrics>) -> Self {
        Self {
            asked: Vec::new(),
            told: Vec::new(),
            metrics,
        }
    }

    /// Puts a pipeline together and gets its hooks ready, all at once. A hook that cannot start
    /// fails the whole, unless it is fail-open: then it is tried again with each question.
    pub async fn start(
        entries: Vec<Entry>,
        metrics: Arc<Metrics>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let mut members = Vec::with_capacity(entries.len());
        for Entry { hook, limits } in ordered(entries)? {
            let counted = metrics.of(hook.id());
            members.push(Arc::new(Member::new(
                hook,
                limits,
                counted,
                Arc::clone(clock),
            )));
        }
        let starting = members.iter().map(|member| started(member));
        for result in futures_util::future::join_all(starting).await {
            result?;
        }
        let (told, asked): (Vec<_>, Vec<_>) = members
            .into_iter()
            .partition(|member| member.limits.asynchronous);
        let told = told.into_iter().map(|member| {
            let queue = Queue::start(Arc::clone(&member), Arc::clone(&metrics));
            (member, queue)
        });
        Ok(Self {
            asked,
            told: told.collect(),
            metrics,
        })
    }

    /// Tells whether any hook is asked or told in a phase.
    pub fn concerns(&self, phase: Phase) -> bool {
        let told = self.told.iter().map(|(member, _)| member);
        let mut all = self.asked.iter().chain(told);
        all.any(|member| phase.is_of(member.hook.runs_on()))
    }

    /// Returns what is counted.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Asks the hooks about a message, one after the other, until one denies it.
    pub async fn ask(&self, subject: Subject, around: &Around, mask: Mask<'_>) -> Ran {
        let phase = subject.phase();
        let mut chain = Chain::new(subject, around, mask, &self.metrics);
        for member in &self.asked {
            if phase.is_of(member.hook.runs_on()) && chain.ask(member).await.is_break() {
                break;
            }
        }
        chain.end()
    }

    /// Tells a message to the hooks that nobody waits for.
    pub fn tell(&self, subject: Subject, around: &Around, mask: Mask<'_>) {
        let phase = subject.phase();
        let mut chain = Chain::new(subject, around, mask, &self.metrics);
        for (member, queue) in &self.told {
            if !phase.is_of(member.hook.runs_on()) {
                continue;
            }
            if !chain.question(member).is_some_and(|one| queue.put(one)) {
                member.metrics.dropped();
            }
        }
    }

    /// Says how each hook is doing, in the order of the configuration's priorities.
    pub async fn health(&self) -> Vec<Health> {
        let asked = self.asked.iter().map(|member| health(member, 0));
        let told = self.told.iter();
        let told = told.map(|(member, queue)| health(member, queue.waiting()));
        let mut all: Vec<Health> = futures_util::future::join_all(asked).await;
        all.extend(futures_util::future::join_all(told).await);
        all.sort_by(|one, other| (one.priority, &one.id).cmp(&(other.priority, &other.id)));
        all
    }
}

/// Orders hooks by priority, then by id; two of one id are refused.
fn ordered(mut entries: Vec<Entry>) -> Result<Vec<Entry>, Error> {
    let mut seen = BTreeSet::new();
    for entry in &entries {
        let id = entry.hook.id();
        if id.is_empty() {
            return Err(Error::Unnamed);
        }
        if !seen.insert(id.to_owned()) {
            return Err(Error::Twice(id.to_owned()));
        }
    }
    entries.sort_by(|one, other| {
        let of = |entry: &Entry| (entry.hook.priority(), entry.hook.id().to_owned());
        of(one).cmp(&of(other))
    });
    Ok(entries)
}

async fn started(member: &Member) -> Result<(), Error> {
    let Err(fault) = member.start().await else {
        return Ok(());
    };
    let id = member.id.to_string();
    match member.limits.failure_mode {
        FailureMode::Closed => Err(Error::Start { id, fault }),
        FailureMode::Open => {
            tracing::warn!(
                "hook `{id}` cannot start and is fail_open, so that messages pass without it until it \
                 can: {fault}"
            );
            Ok(())
        }
    }
}

async fn health(member: &Member, waiting: usize) -> Health {
    let (healthy, message) = match member.health().await {
        Ok(status) => (status.healthy, status.message),
        Err(fault) => (false, fault.to_string()),
    };
    let circuit = member.standing();
    // Whatever it says of itself: its questions went wrong.
    let (healthy, message) = match circuit {
        Standing::Closed => (healthy, message),
        Standing::HalfOpen | Standing::Open => {
            let resting = HookFault::Resting;
            (false, format!("{resting}; asked how it is: {message}"))
        }
    };
    let (hook, limits) = (&member.hook, &member.limits);
    Health {
        id: member.id.to_string(),
        name: hook.name().to_owned(),
        description: hook.description().to_owned(),
        priority: hook.priority(),
        runs_on: hook.runs_on(),
        failure_mode: limits.failure_mode,
        timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
        asynchronous: limits.asynchronous,
        started: member.is_started(),
        healthy,
        message,
        circuit,
        waiting,
        counts: member.metrics.counts(),
    }
}

#[cfg(test)]
mod tests;
