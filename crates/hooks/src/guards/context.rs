//! `context-integrity`: whether what an agent is given to read is what it was, is its own, and can be
//! told from what its user says.
//!
//! Four things are looked at: resources that changed where they must not, answers that claim to be
//! unchanged and are not, secrets that an upstream gave to somebody else before, and, for agents that
//! want it, marks around text from outside. State that a downstream carries back is sealed by the
//! gateway and needs nothing here. What is known is kept in memory, with bounds, whatever becomes of
//! the settings; several gateways tell each other. Digests of what never changes are written down, so
//! that a restart does not forget them; it forgets versions, and who was given which secret.

mod leaks;
mod reads;
mod shared;
mod spotlight;

use std::sync::Arc;

use mcpproxy_classify::Kind;
use mcpproxy_core::{
    Action, Call, Finding, FirstRead, Masked, PrincipalKind, Severity, Threat, Tier, Wall,
};
use serde::{Deserialize, Serialize};

use self::leaks::Leaks;
use self::reads::{Changed, Reads};
use self::spotlight::{Marked, Marks, Trouble};
use super::show;
use super::watch::Treated;

pub use self::leaks::Given;
pub use self::reads::Seen;
pub use self::shared::{Fact, Look, told};
pub use self::spotlight::{Spotlighting, Style};

/// The id by which the configuration knows this guard.
pub const ID: &str = "context-integrity";

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Addresses of resources that never change, with `*` for any run of characters.
    pub immutable: Vec<String>,
    /// Whether one that names the same version as before must be the same.
    pub check_versions: bool,
    /// What happens to one that changed although it must not.
    pub on_change: Reaction,
    /// What happens to a secret that the upstream gave to another caller before.
    pub cross_session: Reaction,
    /// Which text is marked as coming from outside.
    pub spotlighting: Spotlighting,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            immutable: Vec::new(),
            check_versions: true,
            on_change: Reaction::Deny,
            cross_session: Reaction::Warn,
            spotlighting: Spotlighting::default(),
        }
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reaction {
    /// Nothing.
    Off,
    /// It is on record.
    Warn,
    /// The answer is withheld.
    Deny,
}

impl Reaction {
    fn action(self) -> Option<Action> {
        match self {
            Self::Off => None,
            Self::Warn => Some(Action::Warn),
            Self::Deny => Some(Action::Deny),
        }
    }
}

/// The guard at work.
#[derive(Debug)]
pub struct Context {
    settings: Settings,
    memory: Arc<Memory>,
    marks: Marks,
}

/// What was seen. It outlives the guard, which is made anew for other settings.
#[derive(Debug, Default)]
pub struct Memory {
    reads: Reads,
    leaks: Leaks,
}

impl Memory {
    /// Takes up what was written down; returns how much of it cannot be read.
    pub fn recall(&self, kept: &[FirstRead]) -> usize {
        let kept = kept.iter();
        kept.filter(|one| self.reads.recall(one).is_none()).count()
    }

    /// Tells whether there is anything to be written down.
    pub fn has_news(&self) -> bool {
        self.reads.has_news()
    }

    /// Takes what is to be written down.
    pub fn unkept(&self, now: Wall) -> Vec<FirstRead> {
        self.reads.unkept(now)
    }

    /// Takes back what could not be written down.
    pub fn give_back(&self, unkept: &[FirstRead]) {
        self.reads.give_back(unkept);
    }

    /// Forgets what resources that never change were; says whether there was anything.
    pub fn forget(&self) -> bool {
        self.reads.forget()
    }
}

impl Settings {
    /// Tells whether no resource is held to what it was at first: what they were is forgotten, so
    /// that an owner can have them change after all.
    pub fn forgets(&self) -> bool {
        self.immutable.is_empty()
    }
}

impl Context {
    /// Starts with what was seen before.
    pub fn new(settings: Settings, memory: Arc<Memory>) -> Self {
        Self {
            settings,
            memory,
            marks: Marks::default(),
        }
    }

    /// Tells whether it wants to know which secrets an answer has.
    pub fn wants_secrets(&self, call: &Call) -> bool {
        // The owner sees everything, and what the owner saw is nobody's alone.
        self.settings.cross_session != Reaction::Off && call.who.kind != PrincipalKind::Owner
    }

    /// Finds the resources of an answer, if it wants to know them.
    pub fn seen(&self, call: &Call, body: &str) -> Seen {
        if self.settings.on_change == Reaction::Off {
            return Seen::default();
        }
        Seen::new(&self.settings, call, body)
    }

    /// Says what changed in an answer that must not.
    pub fn changed(&self, seen: &Seen) -> Option<Finding> {
        let wants = self.settings.on_change.action()?;
        let changed = self
            .memory
            .reads
            .judge(seen, self.settings.check_versions)?;
        let why = match &changed {
            Changed::Immutable(uri) => {
                format!("`{}` never changes and is not what it was", show::name(uri))
            }
            Changed::Version(uri) => format!(
                "`{}` names the same version as before and is not what it was",
                show::name(uri)
            ),
            Changed::Crowded(uri) => format!(
                "`{}` is one too many to be held against what it was",
                show::name(uri)
            ),
        };
        Some(Finding {
            severity: Severity::High,
            threat: Threat::ContextPoisoning,
            reason: Masked::from_safe(format!("The resource {why}.")),
            ..Finding::new(ID, Tier::Guard, wants)
        })
    }

    /// Says whether an upstream gave a secret of an answer to another caller before.
    pub fn leaked(&self, given: &Given) -> Option<Finding> {
        let wants = self.settings.cross_session.action()?;
        let word = self.memory.leaks.judge(given)?;
        Some(Finding {
            severity: Severity::High,
            threat: Threat::DataExfiltration,
            reason: Masked::from_safe(format!(
                "The answer holds a secret ({word}) that this upstream gave to another caller before."
            )),
            ..Finding::new(ID, Tier::Guard, wants)
        })
    }

    /// Marks the text of an answer that comes from a place of this kind.
    pub fn marked(&self, call: &Call, body: &str, kind: Kind) -> Treated {
        if self.settings.spotlighting.style(kind) == Style::Off {
            return Treated::default();
        }
        let Marked { text, trouble } = self.marks.around(call, body);
        let finding = trouble.map(|trouble| {
            let (reason, wants) = match trouble {
                Trouble::Forged => (
                    "The answer holds the mark by which the agent tells text from outside; it was taken out.",
                    Action::Warn,
                ),
                Trouble::TooMany => (
                    "The answer has more blocks than can be marked as text from outside.",
                    Action::Deny,
                ),
            };
            Finding {
                severity: Severity::High,
                threat: Threat::PromptInjection,
                reason: Masked::from_safe(reason.to_owned()),
                ..Finding::new(ID, Tier::Guard, wants)
            }
        });
        Treated { text, finding }
    }
}

#[cfg(test)]
mod tests;
