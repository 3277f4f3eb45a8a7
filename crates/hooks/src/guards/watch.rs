//! What all native guards have in common with hooks: a place in the order, the phases they run on,
//! what their failure means, and what is counted about them.
//!
//! A guard fails only by breaking down. That is contained here, so that what it means is what the
//! configuration says and not that a call ends in the middle.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Action, Clock, Finding, HookFault, Masked, Phases, Severity, Tier};
use mcpproxy_detect::{DetectError, Hostile};

use super::poisoning::answers::{HIDDEN, ORDERS};
use super::{
    Settings, abuse, access, behaviour, contents, context, dlp, poisoning, rug_pull, shadowing,
    spoofing,
};
use crate::breaker::Standing;
use crate::limits::FailureMode;
use crate::metrics::{HookMetrics, Metrics};
use crate::registry::Health;

/// What there is to say about a native guard, whatever the configuration says.
#[derive(Debug)]
pub struct Kind {
    /// The id by which the configuration knows it.
    pub id: &'static str,
    name: &'static str,
    description: &'static str,
    priority: u32,
    /// The phases in which it has something to look at.
    pub phases: Phases,
    /// Tells whether these settings switch it on.
    pub is_on: fn(&Settings) -> bool,
}

const NONE: Phases = Phases {
    request: false,
    response: false,
    listing: false,
    notification: false,
    reverse: false,
};
const LISTING: Phases = Phases {
    listing: true,
    ..NONE
};
const BOTH: Phases = Phases {
    request: true,
    response: true,
    ..NONE
};

/// All native guards.
pub const KINDS: [Kind; 10] = [
    Kind {
        id: poisoning::ID,
        name: "Tool poisoning detection",
        description: "Finds orders and hidden text in what upstreams offer and answer",
        priority: 100,
        phases: Phases {
            response: true,
            ..LISTING
        },
        is_on: |told| told.enabled && told.poisoning.is_some(),
    },
    Kind {
        id: rug_pull::ID,
        name: "Rug pull detection",
        description: "Withholds tools that changed after they were approved",
        priority: 101,
        phases: LISTING,
        is_on: |told| told.enabled && told.rug_pull.is_some(),
    },
    Kind {
        id: shadowing::ID,
        name: "Tool shadowing prevention",
        description: "Withholds tools that stand in for others",
        priority: 102,
        phases: LISTING,
        is_on: |told| told.enabled && told.shadowing.is_some(),
    },
    Kind {
        id: spoofing::ID,
        name: "Server spoofing detection",
        description: "Withholds upstreams that are not who they were, or not on the list",
        priority: 103,
        phases: LISTING,
        is_on: |told| told.enabled && told.spoofing.is_some(),
    },
    Kind {
        id: access::ID,
        name: "Access control",
        description: "Refuses what no policy permits its caller; lists leave out the same",
        priority: 200,
        phases: Phases {
            request: true,
            ..NONE
        },
        is_on: |told| told.access.is_some(),
    },
    Kind {
        id: contents::ID,
        name: "Content filter",
        description: "Refuses messages that break the schema of their tool",
        priority: 201,
        phases: BOTH,
        is_on: |told| told.contents.is_some(),
    },
    Kind {
        id: abuse::ID,
        name: "Rate limiter",
        description: "Refuses what comes too often, or too much at once",
        priority: 202,
        phases: Phases {
            request: true,
            ..NONE
        },
        is_on: |told| told.abuse.is_some(),
    },
    Kind {
        id: context::ID,
        name: "Context integrity",
        description: "Catches answers that are not what they were, and marks what comes from outside",
        priority: 203,
        phases: Phases {
            response: true,
            ..NONE
        },
        is_on: |told| told.context.is_some(),
    },
    Kind {
        id: dlp::ID,
        name: "Data loss prevention",
        description: "Takes sensitive data out of messages, or stops them",
        priority: 300,
        phases: BOTH,
        is_on: |told| told.dlp.is_some(),
    },
    Kind {
        id: behaviour::ID,
        name: "Anomaly detection",
        description: "Says how callers and upstreams depart from what they usually do",
        priority: 301,
        phases: BOTH,
        is_on: |told| told.behaviour.is_some(),
    },
];

/// Where a guard stands, as the configuration has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its place in the order; nothing stands for the usual one.
    pub priority: Option<u32>,
    /// The phases it runs on, of those in which it has something to look at.
    pub runs_on: Phases,
    /// What it means that it breaks down.
    pub failure_mode: FailureMode,
}

/// Where guards stand that the configuration has something to say about.
pub type Places = BTreeMap<&'static str, Place>;

/// A guard at work.
#[derive(Debug)]
pub struct Watch {
    kind: &'static Kind,
    place: Place,
    counted: Arc<HookMetrics>,
    clock: Option<Arc<dyn Clock>>,
}

/// The phases that a guard can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Calls.
    Request,
    /// Answers.
    Response,
    /// What upstreams offer.
    Listing,
}

/// What a guard said, for the count.
pub trait Said {
    /// Returns the action that it wants, and whether it changed something.
    fn said(&self) -> (Action, bool);
}

impl Said for Option<Finding> {
    fn said(&self) -> (Action, bool) {
        let wants = self.as_ref().map_or(Action::Allow, |one| one.wants);
        (wants, false)
    }
}

/// What a guard makes of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Treated {
    /// The text in place of the message's own, where something was changed.
    pub text: Option<String>,
    /// What there is to say about it.
    pub finding: Option<Finding>,
}

impl Said for Treated {
    fn said(&self) -> (Action, bool) {
        let (wants, _) = self.finding.said();
        (wants, self.text.is_some())
    }
}

/// A reason to withhold something, or none.
impl Said for Option<String> {
    fn said(&self) -> (Action, bool) {
        let wants = if self.is_some() {
            Action::Deny
        } else {
            Action::Allow
        };
        (wants, false)
    }
}

impl Watch {
    pub(super) fn new(
        kind: &'static Kind,
        settings: &Settings,
        metrics: &Metrics,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        let usual = Place {
            priority: None,
            runs_on: kind.phases,
            failure_mode: FailureMode::Closed,
        };
        Self {
            kind,
            place: settings.places.get(kind.id).copied().unwrap_or(usual),
            counted: metrics.of(kind.id),
            clock,
        }
    }

    /// Returns its place in the order.
    pub fn priority(&self) -> u32 {
        self.place.priority.unwrap_or(self.kind.priority)
    }

    /// Tells whether it runs in a phase.
    pub fn runs_on(&self, phase: On) -> bool {
        let Phases {
            request,
            response,
            listing,
            ..
        } = self.phases();
        match phase {
            On::Request => request,
            On::Response => response,
            On::Listing => listing,
        }
    }

    fn phases(&self) -> Phases {
        let (can, may) = (self.kind.phases, self.place.runs_on);
        Phases {
            request: can.request && may.request,
            response: can.response && may.response,
            listing: can.listing && may.listing,
            notification: can.notification && may.notification,
            reverse: can.reverse && may.reverse,
        }
    }

    /// Runs the guard in a phase, if it runs there; where it breaks down, `open` or `closed` stands
    /// for what it would have said.
    pub fn run<T: Said>(
        &self,
        phase: On,
        guard: impl FnOnce() -> T,
        open: impl FnOnce() -> T,
        closed: impl FnOnce() -> T,
    ) -> T {
        if !self.runs_on(phase) {
            return open();
        }
        let tick = || self.clock.as_ref().map(|clock| clock.tick());
        let began = tick();
        let Ok(said) = catch_unwind(AssertUnwindSafe(guard)) else {
            self.counted.failed(&HookFault::Crashed(String::new()));
            let (id, mode) = (self.kind.id, self.place.failure_mode);
            tracing::error!("the guard `{id}` broke down and is {}", mode.name());
            return match mode {
                FailureMode::Open => open(),
                FailureMode::Closed => closed(),
            };
        };
        let took = began.zip(tick()).map(|(from, to)| from.until(to));
        let (wants, changed) = said.said();
        self.counted
            .said(wants, changed, took.unwrap_or(Duration::ZERO));
        said
    }

    /// Runs a guard that says at most one thing.
    pub fn find(&self, phase: On, guard: impl FnOnce() -> Option<Finding>) -> Option<Finding> {
        self.run(phase, guard, || None, || Some(self.broken()))
    }

    /// Runs a guard that may change a message.
    pub fn treat(&self, phase: On, guard: impl FnOnce() -> Treated) -> Treated {
        let broken = || Treated {
            text: None,
            finding: Some(self.broken()),
        };
        self.run(phase, guard, Treated::default, broken)
    }

    /// What is said for a guard that broke down and may not be passed over.
    pub fn broken(&self) -> Finding {
        let reason = format!(
            "The guard `{}` broke down and is `fail_closed`.",
            self.kind.id
        );
        Finding {
            severity: Severity::High,
            reason: Masked::from_safe(reason),
            ..Finding::new(self.kind.id, Tier::Guard, Action::Deny)
        }
    }

    /// Counts the patterns by which it goes; nothing where it goes by none.
    fn loaded(&self) -> Result<Option<usize>, DetectError> {
        if self.kind.id != poisoning::ID {
            return Ok(None);
        }
        Hostile::patterns().map(Some)
    }

    fn health(&self) -> Health {
        let counts = self.counted.counts();
        let loaded = self.loaded();
        let healthy = counts.errors.is_empty() && loaded.is_ok();
        Health {
            id: self.kind.id.to_owned(),
            name: self.kind.name.to_owned(),
            description: self.kind.description.to_owned(),
            priority: self.priority(),
            runs_on: self.phases(),
            failure_mode: self.place.failure_mode,
            timeout_ms: 0,
            asynchronous: false,
            started: true,
            healthy,
            message: match loaded {
                Err(why) => format!("native; {why}"),
                Ok(_) if !healthy => "native; it broke down before, see `errors`".to_owned(),
                Ok(Some(patterns)) => format!("native; {patterns} patterns are loaded"),
                Ok(None) => "native".to_owned(),
            },
            circuit: Standing::Closed,
            waiting: 0,
            counts,
        }
    }
}

/// All guards at work.
#[derive(Debug)]
pub struct Watches(Vec<Watch>);

impl Watches {
    pub(super) fn new(
        settings: &Settings,
        metrics: &Metrics,
        clock: Option<&Arc<dyn Clock>>,
    ) -> Self {
        let watch = |kind| Watch::new(kind, settings, metrics, clock.cloned());
        Self(KINDS.iter().map(watch).collect())
    }

    /// Runs a guard by its id; one that is not known does not run.
    pub fn find(
        &self,
        id: &str,
        phase: On,
        guard: impl FnOnce() -> Option<Finding>,
    ) -> Option<Finding> {
        self.of(id)?.find(phase, guard)
    }

    /// Returns a guard by its id.
    pub fn of(&self, id: &str) -> Option<&Watch> {
        self.0.iter().find(|watch| watch.kind.id == id)
    }

    /// Puts findings into the order of the guards that made them; those of others keep theirs,
    /// behind.
    pub fn order(&self, findings: &mut [Finding]) {
        findings.sort_by_key(|finding| {
            let watch = maker(finding).and_then(|id| self.of(id));
            watch.map_or(u32::MAX, Watch::priority)
        });
    }

    /// Says how those are doing that are switched on.
    pub fn health(&self, settings: &Settings) -> Vec<Health> {
        let on = self.0.iter().filter(|watch| (watch.kind.is_on)(settings));
        on.map(Watch::health).collect()
    }
}

/// Returns the id of the guard that made a finding, if one did.
pub fn maker(finding: &Finding) -> Option<&'static str> {
    let rule = match &*finding.rule {
        HIDDEN | ORDERS => poisoning::ID,
        // Its rules are named by policies.
        _ if finding.tier == Tier::Access => access::ID,
        rule => rule,
    };
    let mut kinds = KINDS.iter().map(|kind| kind.id);
    kinds.find(|id| *id == rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(place: Place) -> Watches {
        let settings = Settings {
            places: [(abuse::ID, place), (dlp::ID, place)].into(),
            abuse: Some(abuse::Settings::default()),
            ..Settings::default()
        };
        Watches::new(&settings, &Metrics::default(), None)
    }

    #[test]
    fn the_health_of_a_guard_that_goes_by_patterns_counts_them() {
        let watches = placed(PLACE);
        let message = |id| watches.of(id).unwrap().health().message;
        let poisoning = message(poisoning::ID);
        let count = poisoning.strip_prefix("native; ");
        let count = count.and_then(|rest| rest.strip_suffix(" patterns are loaded"));
        let count: usize = count.unwrap().parse().unwrap();
        assert_eq!(count, Hostile::patterns().unwrap());
        assert!(count > 100, "{poisoning}");
        assert_eq!(message(dlp::ID), "native");
    }

    const PLACE: Place = Place {
        priority: Some(7),
        runs_on: BOTH,
        failure_mode: FailureMode::Closed,
    };

    #[test]
    fn a_guard_that_breaks_down_is_contained_and_its_mode_decides() {
        let check = |failure_mode, expect: Option<Action>| {
            let watches = placed(Place {
                failure_mode,
                ..PLACE
            });
            let broken: fn() -> Option<Finding> = || panic!("out of order");
            let said = watches.find(abuse::ID, On::Request, broken);
            assert_eq!(said.map(|one| one.wants), expect, "{failure_mode:?}");
            let health = watches.of(abuse::ID).unwrap().health();
            assert!(!health.healthy);
            assert_eq!(health.counts.errors, [("crashed", 1)].into());
        };
        check(FailureMode::Open, None);
        check(FailureMode::Closed, Some(Action::Deny));
    }

    #[test]
    fn a_guard_runs_where_it_may_and_is_counted() {
        let deny = || Some(Finding::new(dlp::ID, Tier::Guard, Action::Deny));
        let check = |runs_on: Phases, phase, expect: bool| {
            let watches = placed(Place { runs_on, ..PLACE });
            let said = watches.find(dlp::ID, phase, deny);
            assert_eq!(said.is_some(), expect, "{runs_on:?} {phase:?}");
            let counts = watches.of(dlp::ID).unwrap().health().counts;
            assert_eq!(counts.decisions.get("deny"), expect.then_some(&1));
        };
        let request = Phases {
            request: true,
            ..NONE
        };
        check(BOTH, On::Request, true);
        check(BOTH, On::Response, true);
        check(request, On::Request, true);
        check(request, On::Response, false);
        // Where a guard has nothing to look at, it cannot be told to.
        check(BOTH, On::Listing, false);
    }

    #[test]
    fn findings_stand_in_the_order_of_their_guards() {
        let watches = placed(PLACE);
        let finding = |rule: &'static str| Finding::new(rule, Tier::Guard, Action::Deny);
        let mut findings = [behaviour::ID, HIDDEN, dlp::ID, "flow"].map(finding);
        watches.order(&mut findings);
        let order: Vec<_> = findings.iter().map(|one| &*one.rule).collect();
        assert_eq!(order, [dlp::ID, HIDDEN, behaviour::ID, "flow"]);
    }

    #[test]
    fn those_that_are_on_are_shown() {
        let settings = Settings {
            dlp: Some(dlp::Settings::default()),
            ..Settings::default()
        };
        let watches = Watches::new(&settings, &Metrics::default(), None);
        let shown = watches.health(&settings);
        let shown: Vec<_> = shown.iter().map(|one| (&*one.id, one.priority)).collect();
        let expect = [
            (poisoning::ID, 100),
            (rug_pull::ID, 101),
            (shadowing::ID, 102),
            (spoofing::ID, 103),
            (dlp::ID, 300),
        ];
        assert_eq!(shown, expect);
    }
}
