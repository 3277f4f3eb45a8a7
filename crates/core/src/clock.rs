//! Time behind a port: a monotonic tick for deadlines and a wall clock for records.
//!
//! Only [`SystemClock`] reads the machine's clocks; everything else is handed a [`Clock`].

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// A point on the monotonic clock, as the time since the clock was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(pub Duration);

impl Tick {
    /// Returns the tick that lies `span` later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// Returns what is left until `deadline`, or nothing once it has passed.
    pub fn until(self, deadline: Self) -> Duration {
        deadline.0.saturating_sub(self.0)
    }
}

/// A wall-clock time in milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Wall(pub u64);

impl Wall {
    /// Returns the time that lies `span` later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// Prints the time as RFC 3339 with milliseconds, in UTC.
    pub fn rfc3339(self) -> String {
        let (days, millis) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let (year, month, day) = civil(days);
        let (hour, rest) = (millis / 3_600_000, millis % 3_600_000);
        let (minute, rest) = (rest / 60_000, rest % 60_000);
        let (second, milli) = (rest / 1000, rest % 1000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// Turns days since 1970 into a civil date, by eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// The two clocks that the product reads.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Reads the monotonic clock.
    fn tick(&self) -> Tick;
    /// Reads the wall clock.
    fn wall(&self) -> Wall;
}

/// The machine's own clocks.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// Starts a monotonic clock at zero.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn tick(&self) -> Tick {
        Tick(self.0.elapsed())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    fn wall(&self) -> Wall {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Wall(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_prints_known_dates() {
        let check = |millis, expect: &str| assert_eq!(Wall(millis).rfc3339(), expect);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_772_323_199_999, "2026-02-28T23:59:59.999Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_passed_deadline_leaves_nothing() {
        let late = Tick(Duration::from_secs(5));
        assert_eq!(late.until(Tick(Duration::from_secs(3))), Duration::ZERO);
    }
}
