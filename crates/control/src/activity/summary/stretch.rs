//! The stretch of time that a summary is about.

use std::time::Duration;

use mcpproxy_core::{ActivityQuery, Wall};

/// Parts that a stretch is cut into whose start was given.
const PARTS: u64 = 24;

/// A stretch of time up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Hour,
    Day,
    Week,
    Month,
}

impl Period {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("1h", Self::Hour),
        ("24h", Self::Day),
        ("7d", Self::Week),
        ("30d", Self::Month),
    ];

    /// How long it is, and into how many buckets it is cut.
    fn cut(self) -> (Duration, u64) {
        match self {
            Self::Hour => (Duration::from_hours(1), 60),
            Self::Day => (Duration::from_hours(24), 24),
            Self::Week => (Duration::from_hours(24 * 7), 28),
            Self::Month => (Duration::from_hours(24 * 30), 30),
        }
    }
}

/// A stretch of time, with its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// What it goes by.
    pub(super) name: &'static str,
    pub(super) from: Wall,
    pub(super) to: Wall,
    /// How long each of its parts is, in milliseconds, and how many there are.
    pub(super) part: u64,
    parts: u64,
}

impl Stretch {
    /// Works out what is asked for: a period up to the end, a day if nothing is said, or from a start to
    /// the end, which is now if nothing is said. Of a period and a start, the later beginning counts, as
    /// with all filters; one after the end leaves nothing.
    pub(super) fn of(
        period: Option<(&'static str, Period)>,
        query: &ActivityQuery,
        now: Wall,
    ) -> Self {
        let to = query.to.unwrap_or(now);
        let up_to_end = |(name, period): (&'static str, Period)| {
            let (length, parts) = period.cut();
            let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
            Self::cut(name, (Wall(to.0.saturating_sub(length)), to), parts)
        };
        let Some(from) = query.from else {
            return up_to_end(period.unwrap_or(Period::ALL[1]));
        };
        let period = period.map(up_to_end);
        let longer = period.filter(|period| period.from >= from);
        longer.unwrap_or_else(|| Self::cut("custom", (from, to), PARTS))
    }

    fn cut(name: &'static str, (from, to): (Wall, Wall), parts: u64) -> Self {
        let length = to.0.saturating_sub(from.0);
        Self {
            name,
            from,
            to,
            // No part is left over: what is not divided without a rest makes all a little longer.
            part: length.div_ceil(parts).max(1),
            parts,
        }
    }

    /// Returns when each of its parts begins.
    pub(super) fn starts(self) -> impl Iterator<Item = Wall> {
        (0..self.parts).map(move |number| Wall(self.from.0 + number * self.part))
    }
}
