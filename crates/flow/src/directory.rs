//! Which scope each session lives in, and which sessions are one conversation.

use std::collections::HashMap;

use mcpproxy_core::{FlowScope, SessionKey};

use crate::whose::Whose;

/// Sessions that can be one conversation.
const LINKED: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Directory {
    homes: HashMap<SessionKey, FlowScope>,
    groups: HashMap<SessionKey, Vec<SessionKey>>,
}

impl Directory {
    pub(crate) fn settle_in(&mut self, whose: Whose) {
        self.homes.insert(whose.session, whose.scope);
    }

    pub(crate) fn home(&self, session: SessionKey) -> Option<FlowScope> {
        self.homes.get(&session).copied()
    }

    /// Returns the other sessions of a conversation.
    pub(crate) fn linked(&self, session: SessionKey) -> &[SessionKey] {
        self.groups.get(&session).map_or(&[], Vec::as_slice)
    }

    /// Makes two sessions, and all that are linked with either, one conversation.
    pub(crate) fn link(&mut self, a: SessionKey, b: SessionKey) {
        let mut group: Vec<SessionKey> = Vec::new();
        for one in [a, b] {
            let others = self.linked(one).to_vec();
            for member in std::iter::once(one).chain(others) {
                if !group.contains(&member) && group.len() < LINKED {
                    group.push(member);
                }
            }
        }
        for &member in &group {
            let others = group.iter().copied().filter(|other| *other != member);
            self.groups.insert(member, others.collect());
        }
    }

    /// Forgets a session.
    pub(crate) fn leave(&mut self, session: SessionKey) {
        self.homes.remove(&session);
        for other in self.groups.remove(&session).unwrap_or_default() {
            if let Some(group) = self.groups.get_mut(&other) {
                group.retain(|member| *member != session);
            }
        }
    }

    /// Returns every scope that the conversation reaches into, with its sessions there; the one
    /// that asks is the first of the first.
    pub(crate) fn reach(&self, whose: Whose) -> Vec<(FlowScope, Vec<SessionKey>)> {
        let mut reach = vec![(whose.scope, vec![whose.session])];
        for &other in self.linked(whose.session) {
            let Some(home) = self.home(other) else {
                continue;
            };
            match reach.iter_mut().find(|(scope, _)| *scope == home) {
                Some((_, sessions)) => sessions.push(other),
                None => reach.push((home, vec![other])),
            }
        }
        reach
    }
}
