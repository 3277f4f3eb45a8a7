//! The origins of a scope, numbered in the order they came, and the death of the oldest.
//!
//! What another process did may be heard long after it was done, and again when the store of all forgot:
//! the oldest is the one that was read first, not the one that was heard of first.

use std::collections::VecDeque;
use std::sync::Arc;

use mcpproxy_core::{DataOrigin, SessionKey, Side};

use crate::pool::SEQ_MASK;

/// Dead that the order may have beside as many as live.
const FEW_DEAD: usize = 64;

/// Whose words an origin has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// They were read.
    Read,
    /// The user wrote them.
    User,
    /// The agent said them, to a place, if that is known.
    Agent(Option<Arc<str>>),
}

/// One origin, and how much each pool holds of it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) data: DataOrigin,
    pub(crate) voice: Voice,
    pub(crate) session: SessionKey,
    /// When it was read, in seconds of the clock of this process.
    pub(crate) since: u32,
    pub(crate) text: usize,
    pub(crate) typed: usize,
}

impl Origin {
    /// Tells whether what looks like nothing at all is known to hide nothing at `to`: others wrote it,
    /// or it went to the same place before. What the agent said elsewhere could be its own cipher.
    pub(crate) fn is_open(&self, to: &str) -> bool {
        match &self.voice {
            Voice::Read => self.data.side == Side::Outside,
            Voice::User => true,
            Voice::Agent(place) => place.as_deref() == Some(to),
        }
    }
}

/// Windows of text that come to an origin, some of them from another one. Neighbours mostly come from
/// the same, and are counted together.
#[derive(Debug)]
pub(crate) struct Tally {
    seq: u32,
    more: usize,
    /// INVARIANT: lives, and so does what the windows come to.
    from: u32,
    fewer: usize,
}

impl Tally {
    /// Begins to count what comes to an origin.
    pub(crate) fn new(seq: u32) -> Self {
        Self {
            seq,
            more: 0,
            from: seq,
            fewer: 0,
        }
    }

    /// Counts a window that no other origin had.
    #[inline]
    pub(crate) fn add(&mut self) {
        self.more += 1;
    }

    /// Tells whether an origin is known to live; another one may.
    #[inline]
    pub(crate) fn is_alive(&self, seq: u32) -> bool {
        seq == self.from
    }
}

/// The origins of a scope.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    base: u32,
    list: VecDeque<Option<Origin>>,
    living: usize,
    /// Their numbers in the order of their times.
    ///
    /// INVARIANT: has all that live, and the first of it lives.
    order: VecDeque<u32>,
}

impl Origins {
    pub(crate) fn len(&self) -> usize {
        self.living
    }

    pub(crate) fn bytes(&self) -> usize {
        let order = self.order.capacity() * size_of::<u32>();
        self.list.capacity() * size_of::<Option<Origin>>() + order
    }

    /// Adds an origin and returns its number.
    pub(crate) fn add(&mut self, origin: Origin) -> u32 {
        let offset = u32::try_from(self.list.len()).unwrap_or(SEQ_MASK);
        let since = origin.since;
        self.list.push_back(Some(origin));
        self.living += 1;
        let seq = self.base.wrapping_add(offset) & SEQ_MASK;
        if self.order.len() > 2 * self.living + FEW_DEAD {
            let mut order = std::mem::take(&mut self.order);
            order.retain(|seq| self.is_alive(*seq));
            self.order = order;
        }
        let place = self.place(&self.order, since);
        self.order.insert(place, seq);
        seq
    }

    /// Returns where one of a time belongs in a list that is in the order of times: nearly always at its
    /// end.
    pub(crate) fn place(&self, list: &VecDeque<u32>, since: u32) -> usize {
        // Those that are dead say nothing.
        let later = |seq: &&u32| self.get(**seq).is_none_or(|one| one.since > since);
        list.len() - list.iter().rev().take_while(later).count()
    }

    /// Tells whether one of a time would be the first to go, although there are newer ones.
    pub(crate) fn is_late(&self, since: u32) -> bool {
        let at = |seq: Option<&u32>| seq.and_then(|seq| self.get(*seq)).map(|one| one.since);
        let newer = at(self.order.back()).is_some_and(|newest| newest > since);
        newer && at(self.order.front()).is_some_and(|oldest| oldest >= since)
    }

    /// Returns how many numbers there are from the first that lives to the last.
    pub(crate) fn span(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of the first that came and lives.
    pub(crate) fn first(&self) -> Option<u32> {
        (!self.list.is_empty()).then_some(self.base)
    }

    #[inline]
    fn index(&self, seq: u32) -> usize {
        usize::try_from(seq.wrapping_sub(self.base) & SEQ_MASK).unwrap_or(usize::MAX)
    }

    pub(crate) fn get(&self, seq: u32) -> Option<&Origin> {
        self.list.get(self.index(seq))?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, seq: u32) -> Option<&mut Origin> {
        let index = self.index(seq);
        self.list.get_mut(index)?.as_mut()
    }

    /// Tells whether an origin lives. Nearly always they die in the order they came: then none of the list
    /// is dead, and none is looked at.
    #[inline]
    pub(crate) fn is_alive(&self, seq: u32) -> bool {
        let index = self.index(seq);
        index < self.list.len()
            && (self.living == self.list.len() || self.list.get(index).is_some_and(Option::is_some))
    }

    /// Tells whether somebody else than the agent wrote what an origin has.
    pub(crate) fn is_of_others(&self, seq: u32) -> bool {
        let origin = self.get(seq);
        origin.is_some_and(|origin| !matches!(origin.voice, Voice::Agent(_)))
    }

    /// Counts a window that comes from another origin.
    #[inline]
    pub(crate) fn take_over(&mut self, from: u32, tally: &mut Tally) {
        if from != tally.from {
            self.count(tally);
            tally.from = from;
        }
        tally.more += 1;
        tally.fewer += 1;
    }

    /// Takes note of what was counted; the count begins anew.
    pub(crate) fn count(&mut self, tally: &mut Tally) {
        let Tally {
            seq,
            more,
            from,
            fewer,
        } = std::mem::replace(tally, Tally::new(tally.seq));
        if let Some(origin) = self.get_mut(seq) {
            origin.text += more;
        }
        if let Some(origin) = self.get_mut(from) {
            origin.text = origin.text.saturating_sub(fewer);
        }
    }

    /// Takes note that the text of all of them is gone.
    pub(crate) fn strip(&mut self) {
        for origin in self.list.iter_mut().flatten() {
            origin.text = 0;
        }
    }

    /// Returns the number of the oldest that lives.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.order.front().copied()
    }

    /// Lets an origin die.
    pub(crate) fn kill(&mut self, seq: u32) -> Option<Origin> {
        let index = self.index(seq);
        let dead = self.list.get_mut(index)?.take()?;
        self.living -= 1;
        while let Some(first) = self.order.front()
            && !self.is_alive(*first)
        {
            self.order.pop_front();
        }
        // INVARIANT: the first of the list lives, so that numbers do not run out.
        while let Some(None) = self.list.front() {
            self.list.pop_front();
            self.base = self.base.wrapping_add(1) & SEQ_MASK;
        }
        Some(dead)
    }
}
