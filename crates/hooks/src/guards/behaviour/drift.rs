//! How far a call is from what is usual: points for each kind of habit, and a sentence for each.

/// The kinds of habit, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Volume,
    Tools,
    Destinations,
    Sizes,
    Sequences,
    Errors,
    Hours,
}

const KINDS: usize = 7;
/// The most that all kinds together come to.
const MOST: f64 = 100.0;

/// How far a call is from what is usual.
#[derive(Clone, Debug, Default)]
pub(super) struct Drift([Option<(f64, String)>; KINDS]);

impl Drift {
    /// Notes a departure; of two of one kind the greater counts. Words are made only where they are
    /// needed.
    pub(super) fn note(&mut self, kind: Kind, points: f64, words: impl FnOnce() -> String) {
        let Some(slot) = self.0.get_mut(kind as usize) else {
            return;
        };
        let known = slot.as_ref().map_or(0.0, |(points, _)| *points);
        if points > known {
            *slot = Some((points, words()));
        }
    }

    /// Returns the score, from 0 to 100.
    pub(super) fn score(&self) -> u8 {
        let all = self.0.iter().flatten().map(|(points, _)| points);
        let sum = all.sum::<f64>().min(MOST);
        (0..=100)
            .rev()
            .find(|score| f64::from(*score) <= sum)
            .unwrap_or(0)
    }

    /// Says what departs, one thing after the other.
    pub(super) fn words(&self) -> String {
        let said: Vec<_> = self.0.iter().flatten().map(|(_, words)| &**words).collect();
        said.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_counts_and_all_add_up() {
        let mut drift = Drift::default();
        assert_eq!((drift.score(), &*drift.words()), (0, ""));
        drift.note(Kind::Tools, 20.0, || "a new tool".to_owned());
        drift.note(Kind::Tools, 10.0, || "less".to_owned());
        drift.note(Kind::Volume, 30.9, || "many calls".to_owned());
        assert_eq!(drift.score(), 50);
        assert_eq!(drift.words(), "many calls; a new tool");
        drift.note(Kind::Sizes, 1e9, || "much".to_owned());
        assert_eq!(drift.score(), 100);
    }
}
