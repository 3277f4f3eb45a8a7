//! Sizes as the configuration writes them: `512`, `64KiB`, `1MB`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

const UNITS: [(&str, u64); 6] = [
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
];

/// What may stand for a size.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Size {
    /// In bytes.
    Bytes(u64),
    /// With a unit, such as `1MB`.
    Text(String),
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => Ok(bytes),
        Size::Text(text) => scaled(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a size such as `512`, `64KiB` or `1MB`"
            ))
        }),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
pub(super) fn serialize<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.serialize(serializer)
}

fn scaled(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let mut units = UNITS.iter();
    let (_, factor) = units.find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use crate::WasmConfig;

    fn check(text: &str, expect: Result<u64, &str>) {
        let read: Result<WasmConfig, _> =
            serde_json::from_str(&format!(r#"{{"max_memory":{text}}}"#));
        match (read, expect) {
            (Ok(read), Ok(bytes)) => assert_eq!(read.max_memory, bytes, "{text}"),
            (Err(fault), Err(part)) => assert!(fault.to_string().contains(part), "{fault}"),
            (read, expect) => panic!("{text}: {read:?} is not {expect:?}"),
        }
    }

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        check("65536", Ok(65_536));
        check(r#""16MB""#, Ok(16_000_000));
        check(r#""64 KiB""#, Ok(65_536));
        check(r#""much""#, Err("`much` is not a size"));
        check(r#""18446744073709551615MB""#, Err("is not a size"));
        check("-1", Err("did not match"));
    }

    #[test]
    fn bounds_that_bound_nothing_are_refused() {
        let refused = |text: &str| {
            let config: WasmConfig = serde_json::from_str(text).unwrap();
            config.check().err().map(|why| why.to_string())
        };
        assert_eq!(refused("{}"), None);
        let expect = "`max_fuel` has to be from 1 to 9223372036854775807";
        assert_eq!(refused(r#"{"max_fuel":0}"#).as_deref(), Some(expect));
        let expect = "`max_memory` has to be from 65536 to 1073741824";
        assert_eq!(
            refused(r#"{"max_memory":"9000MB"}"#).as_deref(),
            Some(expect)
        );
        let expect = "`ab` is not a SHA-256 digest of 64 hexadecimal digits";
        assert_eq!(refused(r#"{"sha256":"ab"}"#).as_deref(), Some(expect));
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        let read = serde_json::from_str::<WasmConfig>(r#"{"max_fule":1}"#);
        assert!(read.unwrap_err().to_string().contains("max_fule"));
    }
}
