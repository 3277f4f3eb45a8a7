//! What things were when they turned, so that it can be looked at after the upstream took it back.
//!
//! In memory, and the last ones only: baselines keep what was approved and what is offered, and a
//! restart forgets what lay between.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{Baseline, OfferState};
use mcpproxy_hooks::guards::Turn;

/// Descriptors that are kept.
const KEPT: usize = 64;

/// Baselines as they were when they turned, latest last.
#[derive(Debug, Default)]
pub(super) struct Alarms(Mutex<VecDeque<Baseline>>);

impl Alarms {
    /// Takes what has just turned.
    pub(super) fn keep(&self, turns: &[Turn]) {
        let turned = turns.iter().filter(|turn| {
            let now = turn.baseline.state;
            now == OfferState::RugPull && turn.before == Some(OfferState::Approved)
        });
        for turn in turned {
            let mut kept = self.lock();
            kept.retain(|one| !is_same(one, &turn.baseline));
            kept.push_back(turn.baseline.clone());
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
    }

    /// Returns what something was when it turned, where what is offered now is what was approved.
    pub(super) fn of(&self, now: &Baseline) -> Option<Box<str>> {
        if now.is_approved() || now.approved.as_ref() != Some(&now.current) {
            return None;
        }
        let kept = self.lock();
        let mut same = kept.iter().filter(|one| is_same(one, now));
        same.next().map(|one| one.current.clone())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Baseline>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(one: &Baseline, other: &Baseline) -> bool {
    (&one.upstream, one.kind, &one.name) == (&other.upstream, other.kind, &other.name)
}
