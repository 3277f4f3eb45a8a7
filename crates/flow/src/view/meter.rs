//! Adding up, along a text, what speaks for a run and what against it.

use std::ops::Range;

/// Runs of one text that are told apart.
const RUNS: usize = 32;

/// A run that may be growing.
#[derive(Debug)]
pub(super) struct Meter {
    enough: i32,
    over: i32,
    sum: i32,
    most: i32,
    run: Range<usize>,
}

impl Meter {
    /// Makes one that takes a run for found from `enough` on, and for over when it fell by `over`.
    pub(super) fn new(enough: i32, over: i32) -> Self {
        Self {
            enough,
            over,
            sum: 0,
            most: 0,
            run: 0..0,
        }
    }

    /// Counts a place of the text for a run, or against it.
    pub(super) fn add(&mut self, place: Range<usize>, more: i32, found: &mut Vec<Range<usize>>) {
        if self.sum == 0 {
            if more <= 0 {
                return;
            }
            self.run.start = place.start;
        }
        self.sum += more;
        if self.sum > self.most {
            (self.most, self.run.end) = (self.sum, place.end);
        }
        if self.sum <= 0 || self.sum + self.over < self.most {
            self.end(found);
        }
    }

    /// Ends the run, and adds it if it is one.
    pub(super) fn end(&mut self, found: &mut Vec<Range<usize>>) {
        let known = |one: &Range<usize>| one.start <= self.run.start && self.run.end <= one.end;
        if self.most >= self.enough && found.len() < RUNS && !found.iter().any(known) {
            found.push(self.run.clone());
        }
        (self.sum, self.most) = (0, 0);
    }
}
