//! The stretch of time that a summary is about.

use std::time::Duration;

use mcpproxy_core::{ActivityQuery, Wall};

use crate::activity::wrong;
use crate::error::Error;

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
    /// the end, which is now if nothing is said.
    pub(super) fn of(
        period: Option<(&'static str, Period)>,
        query: &ActivityQuery,
        now: Wall,
    ) -> Result<Self, Error> {
        let to = query.to.unwrap_or(now);
        let Some(from) = query.from else {
            let (name, period) = period.unwrap_or(Period::ALL[1]);
            let (length, parts) = period.cut();
            let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
            let from = Wall(to.0.saturating_sub(length));
            return Ok(Self::cut(name, (from, to), parts));
        };
        if let Some((name, _)) = period {
            let why = "`start_time` says when the stretch begins; give one of the two";
            return Err(wrong("period", name, why));
        }
        if from > to {
            let why = "it is after the end of the stretch";
            return Err(wrong("start_time", &from.rfc3339(), why));
        }
        Ok(Self::cut("custom", (from, to), PARTS))
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
