//! What is remembered of a window of text, asked for once: the streams of one sending show the same
//! text in several ways, and a letter that is repeated is the same window again and again.

use crate::pool::Key;
use crate::state::{BATCH, State, spread};
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
        let [first, ..] = *self.salts else {
            return;
        };
        let mut keys = [Key::default(); BATCH];
        for batch in grams.chunks(BATCH) {
            let keys = spread(batch.iter().map(|gram| gram.tag ^ first), &mut keys);
            self.state.outside.warm(keys.iter().copied());
            self.state.text.warm(keys.iter().copied());
            for (gram, &key) in batch.iter().zip(keys) {
                if let Some(known) = self.known(gram.tag, key) {
                    each(gram, known);
                }
            }
        }
    }

    fn slot(&self, tag: u64) -> (u64, Known) {
        self.kept.get(place(tag)).copied().unwrap_or((NONE, None))
    }

    fn known(&mut self, tag: u64, first: Key) -> Known {
        let (last, known) = self.slot(tag);
        if last == tag {
            return known;
        }
        let known = self.look_up(tag, first);
        if let Some(slot) = self.kept.get_mut(place(tag)) {
            *slot = (tag, known);
        }
        known
    }

    /// Looks for a tag under every salt; under the first of them, which mostly is the only one, it is
    /// `first`.
    fn look_up(&self, tag: u64, first: Key) -> Known {
        let state = self.state;
        let alive = |seq| state.origins.is_alive(seq);
        if let Some(seen) = state.outside.get(first, alive) {
            return Some((seen.seq, true));
        }
        if self.salts.len() > 1 {
            return self.look_up_all(tag);
        }
        let inside = state.text.get(first, alive);
        inside.map(|seen| (seen.seq, false))
    }

    #[cold]
    fn look_up_all(&self, tag: u64) -> Known {
        let state = self.state;
        let alive = |seq| state.origins.is_alive(seq);
        let keys = || self.salts.iter().map(|salt| Key::from(tag ^ salt));
        let public = keys().find_map(|key| state.outside.get(key, alive));
        if let Some(seen) = public {
            return Some((seen.seq, true));
        }
        let inside = keys().find_map(|key| state.text.get(key, alive));
        inside.map(|seen| (seen.seq, false))
    }
}

fn place(tag: u64) -> usize {
    usize::try_from(tag).unwrap_or(0) & (KEPT - 1)
}
