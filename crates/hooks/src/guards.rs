//! The native guards: one file each, under the id by which the configuration knows it. Those over
//! listings are pure: a listing goes in, baselines and reasons come out. Those over calls and
//! answers are switched on by the configuration and say findings.
//!
//! Keeping baselines, and withholding what is not approved, is for the engine and the gateway.

pub mod abuse;
pub mod access;
pub mod behaviour;
pub mod contents;
pub mod context;
pub mod dlp;
pub mod fingerprint;
mod likeness;
pub mod poisoning;
pub mod quarantine;
pub mod rug_pull;
pub mod shadowing;
mod show;
pub mod spoofing;
pub mod watch;

use std::sync::Arc;

use mcpproxy_core::{Clock, Trust};
use mcpproxy_detect::{Detector, Inspector};

use self::watch::{Places, Watches};
use crate::metrics::Metrics;
use crate::registry::Health;

pub use quarantine::{Ground, Offer, Turn};

/// What the guards are told by the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether there is a quarantine at all.
    pub enabled: bool,
    /// How much is taken on trust from an upstream that says nothing else.
    pub trust: Trust,
    /// What counts as poisoned; nothing where the guard is switched off.
    pub poisoning: Option<poisoning::Settings>,
    /// What happens to changes; nothing where the guard is switched off.
    pub rug_pull: Option<rug_pull::Settings>,
    /// What counts as standing in for another tool; nothing where the guard is switched off.
    pub shadowing: Option<shadowing::Settings>,
    /// Which upstreams are let in; nothing where the guard is switched off.
    pub spoofing: Option<spoofing::Settings>,
    /// How often and how much may be called; nothing unless the guard is switched on.
    pub abuse: Option<abuse::Settings>,
    /// What is said of those who behave unlike before; nothing unless the guard is switched on.
    pub behaviour: Option<behaviour::Settings>,
    /// Which form messages must have; nothing unless the guard is switched on.
    pub contents: Option<contents::Settings>,
    /// What is looked at in answers; nothing unless the guard is switched on.
    pub context: Option<context::Settings>,
    /// What is done with sensitive data; nothing unless the guard is switched on.
    pub dlp: Option<dlp::Settings>,
    /// Who may use what; nothing unless the guard is switched on.
    pub access: Option<access::Settings>,
    /// Where guards stand that the configuration has something to say about.
    pub places: Places,
}

impl Settings {
    /// Switches all guards off but one.
    #[must_use]
    pub fn only(self, id: &str) -> Self {
        fn keep<T>(one: Option<T>, is_kept: bool) -> Option<T> {
            one.filter(|_| is_kept)
        }
        Self {
            enabled: self.enabled,
            trust: self.trust,
            poisoning: keep(self.poisoning, id == poisoning::ID),
            rug_pull: keep(self.rug_pull, id == rug_pull::ID),
            shadowing: keep(self.shadowing, id == shadowing::ID),
            spoofing: keep(self.spoofing, id == spoofing::ID),
            abuse: keep(self.abuse, id == abuse::ID),
            behaviour: keep(self.behaviour, id == behaviour::ID),
            contents: keep(self.contents, id == contents::ID),
            context: keep(self.context, id == context::ID),
            dlp: keep(self.dlp, id == dlp::ID),
            access: keep(self.access, id == access::ID),
            places: self.places,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            trust: Trust::default(),
            poisoning: Some(poisoning::Settings::default()),
            rug_pull: Some(rug_pull::Settings::default()),
            shadowing: Some(shadowing::Settings::default()),
            spoofing: Some(spoofing::Settings::default()),
            abuse: None,
            behaviour: None,
            contents: None,
            context: None,
            dlp: None,
            access: None,
            places: Places::new(),
        }
    }
}

/// The guards, ready to judge.
#[derive(Debug)]
pub struct Guards {
    pub(crate) settings: Settings,
    pub(crate) inspector: Inspector,
    watches: Watches,
}

impl Guards {
    /// Puts the guards together.
    pub fn new(settings: Settings, detector: Arc<Detector>) -> Self {
        Self {
            watches: Watches::new(&settings, &Metrics::default(), None),
            settings,
            inspector: Inspector::over(detector),
        }
    }

    /// Has what they do counted and timed.
    #[must_use]
    pub fn counted(self, metrics: &Metrics, clock: &Arc<dyn Clock>) -> Self {
        Self {
            watches: Watches::new(&self.settings, metrics, Some(clock)),
            ..self
        }
    }

    /// Returns what they were told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns what they have in common with hooks.
    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Says how those are doing that are switched on.
    pub fn health(&self) -> Vec<Health> {
        self.watches.health(&self.settings)
    }
}
