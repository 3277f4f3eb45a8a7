//! Time behind a port: a monotonic tick for deadlines and a wall clock for records.
//!
//! Only [`SystemClock`] reads the machine's clocks; everything else is handed a [`Clock`].

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Serialize;

/// A point on the monotonic clock, as the time since the clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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

impl Wall {
    /// Reads a time as RFC 3339 has it, or a date alone, which stands for its first moment in UTC.
    /// What is finer than a millisecond is cut.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let mut digits = Digits(text.as_bytes());
        let (year, month, day) = (digits.take(4)?, digits.after(b'-')?, digits.after(b'-')?);
        let days = days_of(year, month, day)?;
        if digits.0.is_empty() {
            return Some(Self(days * 86_400_000));
        }
        digits.one_of(b"Tt ")?;
        let (hour, minute) = (digits.take(2)?, digits.after(b':')?);
        let second = digits.after(b':').unwrap_or(0);
        let millis = digits.fraction()?;
        let (ahead, offset) = digits.zone()?;
        if hour > 23 || minute > 59 || second > 60 || !digits.0.is_empty() {
            return None;
        }
        let local = days * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1000 + millis;
        Some(Self(if ahead {
            // The first hours of 1970 are before it in UTC.
            local.saturating_sub(offset)
        } else {
            local + offset
        }))
    }
}

/// What is left to read of a time.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn one_of(&mut self, marks: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !marks.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, count: usize) -> Option<u64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut number = 0;
        for digit in digits {
            let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
            number = number * 10 + u64::from(digit);
        }
        self.0 = rest;
        Some(number)
    }

    /// Reads a mark and two digits.
    fn after(&mut self, mark: u8) -> Option<u64> {
        self.one_of(&[mark])?;
        self.take(2)
    }

    fn fraction(&mut self) -> Option<u64> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let (mut millis, mut weight) = (self.take(1)? * 100, 10);
        while let Some(digit) = self.take(1) {
            millis += digit * weight;
            weight /= 10;
        }
        Some(millis)
    }

    /// Reads how far a time is from UTC: whether ahead, and by how many milliseconds.
    fn zone(&mut self) -> Option<(bool, u64)> {
        match self.one_of(b"Zz+-")? {
            b'Z' | b'z' => Some((true, 0)),
            sign => {
                let (hours, minutes) = (self.take(2)?, self.after(b':')?);
                let sound = hours < 24 && minutes < 60;
                sound.then_some((sign == b'+', (hours * 60 + minutes) * 60_000))
            }
        }
    }
}

/// Turns a civil date from 1970 on into days since then.
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    // A day that the month does not have would become one of the next.
    (civil(days).2 == day).then_some(days)
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
    fn a_time_is_read_as_people_write_it() {
        let check = |text: &str, expect: Option<&str>| {
            let read = Wall::from_rfc3339(text).map(Wall::rfc3339);
            assert_eq!(read.as_deref(), expect, "{text}");
        };
        for same in ["1970-01-01T00:00:00.000Z", "2026-02-28T23:59:59.999Z"] {
            check(same, Some(same));
        }
        check("2000-02-29", Some("2000-02-29T00:00:00.000Z"));
        check("2026-01-01t02:03z", Some("2026-01-01T02:03:00.000Z"));
        check(
            "2026-01-01 02:03:04.5678Z",
            Some("2026-01-01T02:03:04.567Z"),
        );
        check(
            "2026-01-01T00:30:00+01:30",
            Some("2025-12-31T23:00:00.000Z"),
        );
        check(
            "1970-01-01T00:30:00+01:00",
            Some("1970-01-01T00:00:00.000Z"),
        );
        check(
            "2026-01-01T00:30:00-01:00",
            Some("2026-01-01T01:30:00.000Z"),
        );
        for wrong in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-29",
            "1969-12-31",
            "2026-01-01T",
            "2026-01-01T24:00Z",
            "2026-01-01T00:00",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00.Z",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_passed_deadline_leaves_nothing() {
        let late = Tick(Duration::from_secs(5));
        assert_eq!(late.until(Tick(Duration::from_secs(3))), Duration::ZERO);
    }
}
