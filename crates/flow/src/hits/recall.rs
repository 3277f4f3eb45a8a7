//! What is remembered of a window of text, asked for once: the streams of one sending show the same
//! text in several ways, and a letter that is repeated is the same window again and again.

use crate::state::{BATCH, State};
use crate::winnow::Gram;

/// Answers that are kept, a power of two.
const KEPT: usize = 256;
/// No tag has that many bits.
const NONE: u64 = u64::MAX;

/// The origin that a window was seen in last, and whether that is public.
pub(super) type Known = Option<(u32, bool)>;

/// The answers for the windows that were asked for last.
pub(super) struct Recall<'a> {
    state: &'a State,
    salts: &'a [u64],
    /// INVARIANT: nothing is remembered or forgotten while the answers are kept.
    kept: [(u64, Known); KEPT],
}

impl<'a> Recall<'a> {
    pub(super) fn new(state: &'a State, salts: &'a [u64]) -> Self {
        Self {
            state,
            salts,
            kept: [(NONE, None); KEPT],
        }
    }

    /// Hands the windows that are known to `each`, in order.
    pub(super) fn find(&mut self, grams: &[Gram], mut each: impl FnMut(&Gram, (u32, bool))) {
        for batch in grams.chunks(BATCH) {
            if let [salt] = *self.salts {
                let new = batch
                    .iter()
                    .filter(|gram| self.slot(gram.tag).0 != gram.tag);
                self.state.text.warm(new.map(|gram| gram.tag ^ salt));
            }
            for gram in batch {
                if let Some(known) = self.known(gram.tag) {
                    each(gram, known);
                }
            }
        }
    }

    fn slot(&self, tag: u64) -> (u64, Known) {
        self.kept.get(place(tag)).copied().unwrap_or((NONE, None))
    }

    fn known(&mut self, tag: u64) -> Known {
        let (last, known) = self.slot(tag);
        if last == tag {
            return known;
        }
        let known = self.look_up(tag);
        if let Some(slot) = self.kept.get_mut(place(tag)) {
            *slot = (tag, known);
        }
        known
    }

    fn look_up(&self, tag: u64) -> Known {
        let state = self.state;
        let alive = |seq| state.origins.is_alive(seq);
        let mut salts = self.salts.iter();
        let public = salts.find_map(|salt| state.outside.get(tag ^ salt, alive));
        if let Some(seen) = public {
            return Some((seen.seq, true));
        }
        let mut salts = self.salts.iter();
        let inside = salts.find_map(|salt| state.text.get(tag ^ salt, alive));
        inside.map(|seen| (seen.seq, false))
    }
}

fn place(tag: u64) -> usize {
    usize::try_from(tag).unwrap_or(0) & (KEPT - 1)
}
