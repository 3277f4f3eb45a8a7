//! Sizes and durations as people write them: `64KiB`, `16MB`, `100ms`, `5m`.
//!
//! Both print back in the largest unit that is exact. Nothing here rounds.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Longest duration accepted, so that adding one to an instant cannot overflow.
const LONGEST: Duration = Duration::from_hours(366 * 24);

/// Units of a size, the largest first; the first one that divides a size is used to print it.
const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// Units of a duration in milliseconds, the largest first.
const TIMES: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A text that is no size or no duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidUnit {
    /// Not a size at all.
    Size(String),
    /// Not a duration at all.
    Duration(String),
    /// A size or duration beyond what can be used.
    TooLarge(String),
}

impl fmt::Display for InvalidUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(text) => {
                write!(f, "`{text}` is not a size such as `512`, `64KiB` or `16MB`")
            }
            Self::Duration(text) => write!(
                f,
                "`{text}` is not a duration such as `100ms`, `10s`, `5m` or `1h`"
            ),
            Self::TooLarge(text) => write!(f, "`{text}` is too large"),
        }
    }
}

impl std::error::Error for InvalidUnit {}

/// A number of bytes, written as an integer or with a unit such as `16MB` or `64KiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    /// Makes a size of so many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Makes a size of so many times 1024 bytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// Makes a size of so many times 1024 * 1024 bytes.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes, at most what a length can be here.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SIZES
            .iter()
            .find(|(_, unit)| self.0 != 0 && self.0.is_multiple_of(*unit))
        {
            Some((name, unit)) if *unit > 1 => write!(f, "{}{name}", self.0 / unit),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for ByteSize {
    type Err = InvalidUnit;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = split(text).ok_or_else(|| InvalidUnit::Size(text.to_owned()))?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" => 1,
            "k" => 1_000,
            "m" => 1_000_000,
            "g" => 1_000_000_000,
            name => SIZES
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, factor)| *factor)
                .ok_or_else(|| InvalidUnit::Size(text.to_owned()))?,
        };
        let bytes = number.checked_mul(factor);
        bytes
            .map(Self)
            .ok_or_else(|| InvalidUnit::TooLarge(text.to_owned()))
    }
}

/// A length of time, written as integer seconds or with a unit such as `100ms`, `10s`, `5m` or
/// `1h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(Duration);

impl Span {
    /// Makes a span of so many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Makes a span of so many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// Returns the span as the standard library's type.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// Tells whether the span has no length.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    fn bounded(millis: Option<u64>, text: &str) -> Result<Self, InvalidUnit> {
        millis
            .map(Duration::from_millis)
            .filter(|duration| *duration <= LONGEST)
            .map(Self)
            .ok_or_else(|| InvalidUnit::TooLarge(text.to_owned()))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return f.write_str("0s");
        }
        let unit = TIMES
            .iter()
            .find(|(_, unit)| millis.is_multiple_of(u128::from(*unit)));
        let (name, unit) = unit.unwrap_or(&("ms", 1));
        write!(f, "{}{name}", millis / u128::from(*unit))
    }
}

impl FromStr for Span {
    type Err = InvalidUnit;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidUnit::Duration(text.to_owned());
        let (number, unit) = split(text).ok_or_else(invalid)?;
        let unit = if unit.is_empty() { "s" } else { unit };
        let (_, factor) = TIMES
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(invalid)?;
        Self::bounded(number.checked_mul(*factor), text)
    }
}

/// Splits `16 MB` into number and unit, with one space between them at most; `None` where there is no
/// number or it does not fit.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = match unit.strip_prefix(' ') {
        Some("") => return None,
        Some(unit) => unit,
        None => unit,
    };
    Some((number.parse().ok()?, unit))
}

/// Reads an integer or a text; what each means is the type's own.
struct UnitVisitor<T> {
    expecting: &'static str,
    from_number: fn(u64) -> Result<T, InvalidUnit>,
}

impl<T: FromStr<Err = InvalidUnit>> Visitor<'_> for UnitVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.from_number)(number).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        match integer(number) {
            Some(number) => self.visit_u64(number),
            None => Err(E::invalid_value(de::Unexpected::Float(number), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Returns a number as an integer if it is one: `10.0` and `10` are the same number to JSON.
fn integer(number: f64) -> Option<u64> {
    // Adding nothing makes `-0.0` a plain zero. What is printed has no exponent.
    (number + 0.0).to_string().parse().ok()
}

/// Reads an integer that may be left out, however it is written.
pub fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    from.deserialize_option(Whole)
}

struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer from 0 on")
    }

    fn visit_none<E: de::Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<u64>, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u64>, E> {
        Ok(Some(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Option<u64>, E> {
        let odd = || E::invalid_value(de::Unexpected::Float(number), &self);
        integer(number).map(Some).ok_or_else(odd)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a size such as `512`, `64KiB` or `16MB`";
        deserializer.deserialize_any(UnitVisitor {
            expecting,
            from_number: |n| Ok(Self(n)),
        })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a duration such as `100ms`, `10s`, `5m` or `1h`";
        let from_number = |n: u64| Self::bounded(n.checked_mul(1_000), &n.to_string());
        deserializer.deserialize_any(UnitVisitor {
            expecting,
            from_number,
        })
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes, or a text with a unit such as `64KiB` or `16MB`.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+ ?([KkMmGgTt][Ii]?[Bb]|[KkMmGg]|[Bb])?$" },
            ],
        })
    }
}

/// What texts a span is read from, up to the longest.
fn spans() -> String {
    let longest = u64::try_from(LONGEST.as_millis()).unwrap_or(u64::MAX);
    let of = |(name, unit): &(&str, u64)| format!("{} ?{name}", up_to(longest / unit));
    let units: Vec<_> = TIMES.iter().map(of).collect();
    let seconds = up_to(LONGEST.as_secs());
    format!("^({}|{seconds})$", units.join("|"))
}

/// Returns an expression for the numbers up to this one.
fn up_to(most: u64) -> String {
    let digits = most.to_string();
    let fewer = digits.len() - 1;
    let mut less = vec![format!("[0-9]{{1,{}}}", fewer.max(1))];
    for (at, digit) in digits.char_indices().filter(|(_, digit)| *digit > '0') {
        let (same, rest) = (digits.get(..at).unwrap_or_default(), fewer - at);
        let below = char::from_digit(digit.to_digit(10).unwrap_or(1) - 1, 10).unwrap_or('0');
        less.push(format!("{same}[0-{below}][0-9]{{{rest}}}"));
    }
    format!("0*({}|{digits})", less.join("|"))
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Seconds, or a text with a unit such as `100ms`, `10s`, `5m` or `1h`.",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": LONGEST.as_secs() },
                { "type": "string", "pattern": spans() },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteSize, Span};

    #[test]
    fn one_space_may_stand_before_a_unit_and_none_elsewhere() {
        for text in ["1h", "1 h", "90", "100 ms", "0s"] {
            assert!(text.parse::<Span>().is_ok(), "{text}");
        }
        for text in [
            "", " ", "h", " 1h", "1h ", "1 ", "1  h", "1\th", "1\u{a0}h", "1 h h", "+1h",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
        for (text, bytes) in [("16 MB", 16_000_000), ("64KiB", 65_536), ("2k", 2_000)] {
            assert_eq!(text.parse(), Ok(ByteSize::new(bytes)), "{text}");
        }
        for text in [" 16MB", "16MB ", "16  MB", "16\u{a0}MB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text:?}");
        }
    }
}
