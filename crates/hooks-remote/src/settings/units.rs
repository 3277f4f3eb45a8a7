//! Sizes and durations as the configuration writes them: `512`, `64KiB`, `1MB`, `200ms`, `5s`.
//!
//! Read into plain numbers; whoever prints a configuration has the text it was read from.

use schemars::JsonSchema;
use serde::Deserialize;

/// What may stand for a size.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Size {
    /// In bytes.
    Bytes(u64),
    /// With a unit, such as `1MB`.
    Text(String),
}

/// What may stand for a duration: a number with a unit, such as `200ms`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Span(String);

/// Splits `64KiB` into its number and its factor among `units`.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let (_, factor) = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

pub(super) mod size {
    //! A size in bytes.

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::{Size, scaled};

    const UNITS: [(&str, u64); 6] = [
        ("", 1),
        ("B", 1),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
    ];

    pub(in crate::settings) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<usize, D::Error> {
        let bytes = match Size::deserialize(deserializer)? {
            Size::Bytes(bytes) => bytes,
            Size::Text(text) => scaled(&text, &UNITS).ok_or_else(|| {
                D::Error::custom(format!(
                    "`{text}` is not a size such as `512`, `64KiB` or `1MB`"
                ))
            })?,
        };
        usize::try_from(bytes).map_err(|_| D::Error::custom(format!("`{bytes}` is too large")))
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands out references"
    )]
    pub(in crate::settings) fn serialize<S: Serializer>(
        bytes: &usize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.serialize(serializer)
    }
}

pub(super) mod span {
    //! A duration.

    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::{Span, scaled};

    const UNITS: [(&str, u64); 3] = [("ms", 1), ("s", 1_000), ("m", 60_000)];

    pub(in crate::settings) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let Span(text) = Span::deserialize(deserializer)?;
        let millis = scaled(&text, &UNITS).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a duration such as `200ms` or `5s`"
            ))
        })?;
        Ok(Duration::from_millis(millis))
    }

    pub(in crate::settings) fn serialize<S: Serializer>(
        span: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}ms", span.as_millis()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{BatchSettings, GrpcConfig};

    fn check(text: &str, expect: Result<usize, &str>) {
        let read: Result<GrpcConfig, _> =
            serde_json::from_str(&format!(r#"{{"max_body_size":{text}}}"#));
        match (read, expect) {
            (Ok(read), Ok(bytes)) => assert_eq!(read.max_body_size, bytes, "{text}"),
            (Err(fault), Err(part)) => assert!(fault.to_string().contains(part), "{fault}"),
            (read, expect) => panic!("{text}: {read:?} is not {expect:?}"),
        }
    }

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        check("512", Ok(512));
        check(r#""1MB""#, Ok(1_000_000));
        check(r#""64 KiB""#, Ok(65_536));
        check(r#""7""#, Ok(7));
        check(r#""much""#, Err("`much` is not a size"));
        check(r#""18446744073709551615MB""#, Err("is not a size"));
        check("-1", Err("did not match"));
    }

    #[test]
    fn durations_are_read_and_printed() {
        let read: BatchSettings = serde_json::from_str(r#"{"max_wait":"2s"}"#).unwrap();
        assert_eq!(read.max_wait.as_millis(), 2000);
        let printed = serde_json::to_value(&read).unwrap();
        assert_eq!(printed["max_wait"], "2000ms");
        assert!(serde_json::from_str::<BatchSettings>(r#"{"max_wait":"2"}"#).is_err());
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        let read = serde_json::from_str::<GrpcConfig>(r#"{"max_bodysize":1}"#);
        assert!(read.unwrap_err().to_string().contains("max_bodysize"));
    }
}
