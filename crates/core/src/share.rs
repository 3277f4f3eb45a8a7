//! Fair shares of what there is a bounded number of: while there is plenty everybody takes what
//! they want, and when it gets scarce whoever has more than an equal share makes room first.

use std::collections::HashMap;
use std::sync::Arc;

/// How many a principal has, for each that has any.
#[derive(Debug, Default)]
pub struct Shares(HashMap<Arc<str>, usize>);

/// Where room for one more is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is some.
    Free,
    /// This principal has most and has to give one up first: whoever wants one more, or another
    /// who has more than an equal share.
    Of(Arc<str>),
}

impl Shares {
    /// Finds room for one more of `who`, where there are at most `most` in all.
    pub fn room(&self, who: &Arc<str>, most: usize) -> Room {
        let total: usize = self.0.values().sum();
        let mine = self.0.get(who).copied().unwrap_or(0);
        let share = (most / self.holders(who)).max(1);
        if total < most / 2 || (total < most && mine < share) {
            return Room::Free;
        }
        if mine >= share {
            return Room::Of(Arc::clone(who));
        }
        let largest = self.0.iter().max_by_key(|(name, count)| (**count, *name));
        largest.map_or(Room::Free, |(name, _)| Room::Of(Arc::clone(name)))
    }

    fn holders(&self, who: &Arc<str>) -> usize {
        self.0.len() + usize::from(!self.0.contains_key(who))
    }

    /// Counts one more.
    pub fn add(&mut self, who: &Arc<str>) {
        *self.0.entry(Arc::clone(who)).or_default() += 1;
    }

    /// Counts one less.
    pub fn remove(&mut self, who: &str) {
        if let Some(count) = self.0.get_mut(who) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_most_makes_room_first() {
        let check = |held: &[(&str, usize)], who: &str, expect: Option<&str>| {
            let shares = Shares(
                held.iter()
                    .map(|(who, count)| ((*who).into(), *count))
                    .collect(),
            );
            let expect = expect.map_or(Room::Free, |who| Room::Of(who.into()));
            assert_eq!(shares.room(&who.into(), 8), expect, "{held:?} {who}");
        };
        check(&[], "a", None);
        // Alone, one may have all.
        check(&[("a", 7)], "a", None);
        check(&[("a", 8)], "a", Some("a"));
        // A newcomer is let in, at the cost of who has most.
        check(&[("a", 7)], "b", None);
        check(&[("a", 8)], "b", Some("a"));
        check(&[("a", 5), ("b", 3)], "b", Some("a"));
        check(&[("a", 5), ("b", 3)], "c", Some("a"));
        // Past half, nobody grows beyond an equal share.
        check(&[("a", 4), ("b", 1)], "a", Some("a"));
        check(&[("a", 4), ("b", 1)], "b", None);
        check(&[("a", 4), ("b", 4)], "b", Some("b"));
        // Below half, nobody is counted.
        check(&[("a", 3)], "a", None);
        check(&[("a", 2), ("b", 1)], "a", None);
    }

    #[test]
    fn who_gives_all_back_is_no_longer_counted() {
        let mut shares = Shares::default();
        shares.add(&"a".into());
        shares.remove("a");
        shares.remove("a");
        assert!(shares.0.is_empty());
    }
}
