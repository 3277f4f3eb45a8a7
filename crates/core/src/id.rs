//! Newtypes for every identifier, so that one kind cannot stand in for another.
//!
//! Generating randomness is not done here: callers bring the bits.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A 128-bit identifier or digest, printed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id128(pub u128);

impl Id128 {
    /// Takes the first sixteen bytes of a digest or of random bits.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for Id128 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl fmt::Debug for Id128 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Identifies one call in the log: a ULID, so that ids sort by time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(u128);

/// Crockford's base 32, the alphabet of ULIDs.
const ULID_DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl CallId {
    /// Builds the id from wall-clock milliseconds and 80 random bits.
    pub fn new(millis: u64, random: u128) -> Self {
        let random = random & ((1 << 80) - 1);
        Self((u128::from(millis & 0xFFFF_FFFF_FFFF) << 80) | random)
    }

    /// Builds the id of something that was heard and not put on record.
    pub fn unrecorded(millis: u64) -> Self {
        Self::new(millis, 0)
    }

    /// Tells whether a record can have this id.
    pub fn is_recorded(self) -> bool {
        self != Self::unrecorded(self.millis())
    }

    /// Reads an id as it is printed; small letters pass.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 26 {
            return None;
        }
        let mut bits = 0_u128;
        for digit in text.bytes() {
            let digit = digit.to_ascii_uppercase();
            let value = ULID_DIGITS.iter().position(|one| *one == digit)?;
            // The first digit has only three bits to give.
            bits = bits.checked_mul(32)? | u128::try_from(value).ok()?;
        }
        Some(Self(bits))
    }

    /// Returns the wall-clock milliseconds it was made with.
    pub fn millis(self) -> u64 {
        u64::try_from(self.0 >> 80).unwrap_or(u64::MAX)
    }

    /// Returns the id as bytes that sort as it does.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Reads what [`CallId::to_bytes`] gave.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0_u8; 26];
        let mut rest = self.0;
        for digit in text.iter_mut().rev() {
            let index = usize::try_from(rest & 31).unwrap_or(0);
            *digit = ULID_DIGITS.get(index).copied().unwrap_or(b'0');
            rest >>= 5;
        }
        formatter.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for CallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for CallId {
    fn schema_name() -> Cow<'static, str> {
        "CallId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A ULID, so that ids sort by time.",
            "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$",
        })
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a name as it is spelled in the configuration or on the wire.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{:?}", &*self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// Names an upstream as the configuration does.
    UpstreamId
);
name!(
    /// Names a tool, prompt or resource as its upstream does.
    ToolName
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_in_their_public_form() {
        assert_eq!(CallId::new(0, 0).to_string(), "00000000000000000000000000");
        assert_eq!(CallId::new(1, 0).to_string(), "00000000010000000000000000");
        assert_eq!(
            CallId::new(u64::MAX, u128::MAX).to_string(),
            "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
        );
        assert_eq!(Id128(255).to_string(), "000000000000000000000000000000ff");
        assert!(CallId::new(2, 0) > CallId::new(1, u128::MAX));
    }

    #[test]
    fn an_id_is_read_as_it_is_printed() {
        let id = CallId::new(1_772_323_199_999, 0x1234_5678_9ABC_DEF0_1234);
        assert_eq!(CallId::parse(&id.to_string()), Some(id));
        assert_eq!(CallId::parse(&id.to_string().to_lowercase()), Some(id));
        assert_eq!(CallId::from_bytes(id.to_bytes()), id);
        assert_eq!(id.millis(), 1_772_323_199_999);
        for wrong in [
            "",
            "0",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "0000000000000000000000000U",
        ] {
            assert_eq!(CallId::parse(wrong), None, "{wrong}");
        }
    }
}
