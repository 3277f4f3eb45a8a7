//! The circuit breaker of one hook, as a value: what happened goes in with the time it happened,
//! whether to ask comes out.
//!
//! A hook that fails often in a row is asked how it is. One that is not well is left alone for a
//! while, then asked by way of trial. Each trial that fails doubles the rest, so that a hook that
//! flaps is asked less and less.

use std::time::Duration;

use mcpproxy_core::Tick;
use schemars::JsonSchema;
use serde::Serialize;

/// Doublings of the rest at most.
const DOUBLINGS: u32 = 5;

/// When a hook is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Failures in a row after which it is asked how it is, and left alone if it is not well.
    pub failures: u32,
    /// For how long at first.
    pub rest: Duration,
    /// Trials in a row that must succeed before it is asked as before.
    pub probes: u32,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures: 5,
            rest: Duration::from_secs(5),
            probes: 2,
        }
    }
}

/// How a hook is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Circuit")]
pub enum Standing {
    /// It is asked.
    Closed,
    /// It is asked one question at a time, by way of trial.
    HalfOpen,
    /// It is left alone.
    Open,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct Breaker {
    settings: BreakerSettings,
    state: State,
    /// Rests in a row.
    rests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `examined` while it is asked how it is.
    Closed {
        failures: u32,
        examined: bool,
    },
    Open {
        until: Tick,
    },
    /// `trying` until it is known what a trial came to.
    HalfOpen {
        succeeded: u32,
        trying: bool,
    },
}

/// The state of a hook of which nothing bad is known.
const WELL: State = State::Closed {
    failures: 0,
    examined: false,
};

impl Breaker {
    /// Makes a breaker for a hook that was not asked yet.
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            state: WELL,
            rests: 0,
        }
    }

    /// Returns how the hook is treated.
    pub fn standing(&self, now: Tick) -> Standing {
        match self.state {
            State::Closed { .. } => Standing::Closed,
            State::Open { until } if now < until => Standing::Open,
            State::Open { .. } | State::HalfOpen { .. } => Standing::HalfOpen,
        }
    }

    /// Tells whether the hook may be asked now. Who is told so says afterwards how it went.
    pub fn admits(&mut self, now: Tick) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until } if now < until => false,
            State::Open { .. } => {
                self.state = State::HalfOpen {
                    succeeded: 0,
                    trying: true,
                };
                true
            }
            State::HalfOpen { trying: true, .. } => false,
            State::HalfOpen { succeeded, .. } => {
                self.state = State::HalfOpen {
                    succeeded,
                    trying: true,
                };
                true
            }
        }
    }

    /// Takes note that the hook answered.
    pub fn succeeded(&mut self) {
        match self.state {
            State::Closed { .. } => self.state = WELL,
            State::HalfOpen { succeeded, .. } if succeeded + 1 < self.settings.probes => {
                self.state = State::HalfOpen {
                    succeeded: succeeded + 1,
                    trying: false,
                };
            }
            State::HalfOpen { .. } => {
                self.state = WELL;
                self.rests = 0;
            }
            // A question of before the rest: one answer is no recovery.
            State::Open { .. } => {}
        }
    }

    /// Takes note that the hook did not answer; tells whether it is to be asked how it is now. Who is
    /// told so says afterwards what came of it.
    pub fn failed(&mut self) -> bool {
        match self.state {
            State::Closed {
                failures,
                examined: false,
            } => {
                let failures = failures + 1;
                let examined = failures >= self.settings.failures;
                self.state = State::Closed { failures, examined };
                examined
            }
            State::HalfOpen { .. } => true,
            State::Closed { examined: true, .. } | State::Open { .. } => false,
        }
    }

    /// Takes note of how the hook is, apart from the questions that it did not answer. One that is
    /// well failed at those alone.
    pub fn examined(&mut self, well: bool, now: Tick) {
        match self.state {
            _ if well => self.succeeded(),
            State::Closed { examined: true, .. } | State::HalfOpen { .. } => self.rest(now),
            // It answered a question meanwhile, or rests already.
            State::Closed { .. } | State::Open { .. } => {}
        }
    }

    /// Takes note that nobody waited for an answer, so that it never waits for a trial that nobody
    /// follows.
    pub fn given_up(&mut self) {
        if let State::HalfOpen { trying, .. } = &mut self.state {
            *trying = false;
        }
    }

    fn rest(&mut self, now: Tick) {
        let doubled = 2u32.pow(self.rests.min(DOUBLINGS));
        let rest = self.settings.rest.saturating_mul(doubled);
        self.rests = self.rests.saturating_add(1);
        self.state = State::Open {
            until: now.after(rest),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps: `+` asked and answered, `-` asked and failed, and ill where it is asked how it is, `~`
    /// the same but well, `w` the same but not yet known, `c` asked and given up, `x` not admitted, a
    /// digit passes so many seconds, `?` asked and never heard of again.
    fn check(steps: &str, expect: Standing) {
        let mut breaker = Breaker::new(BreakerSettings {
            failures: 3,
            rest: Duration::from_secs(2),
            probes: 2,
        });
        let mut now = Tick(Duration::ZERO);
        for (at, step) in steps.chars().enumerate() {
            if let Some(seconds) = step.to_digit(10) {
                now = now.after(Duration::from_secs(seconds.into()));
                continue;
            }
            assert_eq!(breaker.admits(now), step != 'x', "step {at} of `{steps}`");
            match step {
                '+' => breaker.succeeded(),
                'c' => breaker.given_up(),
                '-' | '~' | 'w' => {
                    let examined = breaker.failed();
                    if examined && step != 'w' {
                        breaker.examined(step == '~', now);
                    }
                }
                _ => {}
            }
        }
        assert_eq!(breaker.standing(now), expect, "`{steps}`");
    }

    #[test]
    fn a_hook_that_fails_is_left_alone_and_tried_again() {
        use Standing::{Closed, HalfOpen, Open};
        check("", Closed);
        check("--", Closed);
        check("--+--", Closed);
        check("---", Open);
        check("---x1x", Open);
        check("---2", HalfOpen);
        check("---2?x", HalfOpen);
        check("---2+", HalfOpen);
        check("---2++", Closed);
        check("---2++--", Closed);
        // A failed trial rests twice as long.
        check("---2-x2x", Open);
        check("---2-4-", Open);
        check("---2-4-7x", Open);
        check("---2-4-8++", Closed);
        // After a recovery the rest is short again.
        check("---2-4++---2", HalfOpen);
    }

    #[test]
    fn a_hook_that_is_well_is_asked_on_whatever_it_failed_at() {
        use Standing::{Closed, HalfOpen, Open};
        check("~~~~~~~~~", Closed);
        // The row begins anew.
        check("--~--", Closed);
        check("--~---", Open);
        // Until it is known how it is, it is asked; it is examined once.
        check("wwwwww", Closed);
        check("www+--", Closed);
        // A trial at which it failed though it is well is one that went well.
        check("---2~", HalfOpen);
        check("---2~~", Closed);
        check("---2wx", HalfOpen);
        // Who does not wait for the answer says nothing about it.
        check("cccccc", Closed);
        check("--c-", Open);
        check("---2c++", Closed);
    }
}
