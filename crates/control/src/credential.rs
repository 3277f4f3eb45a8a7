//! Random credentials and their digests. What they open is for `keys` and `tokens` to know.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpproxy_core::Secret;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::error::Error;

/// How many random bytes a credential has.
const RANDOM_BYTES: usize = 32;

/// The SHA-256 of a credential.
///
/// The credentials we make have 256 random bits, so a plain hash cannot be searched.
#[derive(Clone, Copy)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Takes the digest of what a caller presents.
    pub(crate) fn of(presented: &[u8]) -> Self {
        Self(Sha256::digest(presented).into())
    }

    /// Compares in a time that does not depend on where the two differ.
    pub(crate) fn equals(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }

    /// Prints the digest as 64 hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        let nibbles = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        nibbles
            .filter_map(|nibble| char::from_digit(u32::from(nibble), 16))
            .collect()
    }

    /// Reads 64 lower-case hexadecimal digits, and nothing else.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0_u8; 32];
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (nibble(*high)? << 4) | nibble(*low)?;
        }
        Some(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Makes a credential that nobody can guess, with a prefix by which scanners know it.
pub(crate) fn make(prefix: &str) -> Result<Secret, Error> {
    let mut random = [0_u8; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(Error::Random)?;
    Ok(Secret::new(format!(
        "{prefix}{}",
        URL_SAFE_NO_PAD.encode(random)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_are_printed() {
        let digest = Digest::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_hex(), hex);
        assert!(bool::from(Digest::from_hex(hex).unwrap().equals(&digest)));
        let check = |text: &str| assert!(Digest::from_hex(text).is_none(), "{text}");
        check("");
        check(hex.trim_start_matches('b'));
        check(&hex.to_uppercase());
        check(&format!("{hex}00"));
        check(&hex.replace("ba", "é"));
    }

    #[test]
    fn a_credential_is_long_and_new() {
        let (one, two) = (make("mcp_key_").unwrap(), make("mcp_key_").unwrap());
        assert_ne!(one.expose(), two.expose());
        let random = one.expose().strip_prefix("mcp_key_").unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(random).unwrap().len(), RANDOM_BYTES);
    }
}
