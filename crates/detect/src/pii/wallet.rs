//! Addresses of crypto currencies: Bitcoin by its checksums, Ethereum by its shape.

use sha2::{Digest, Sha256};

use super::checksum::variety;

/// The length of the shortest address.
pub(super) const SHORTEST: usize = 26;

/// What kind of wallet a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wallet {
    /// Bitcoin, its checksum right.
    Bitcoin,
    /// The shape of Ethereum, which has no checksum in one case of letters.
    Ethereum,
}

/// The wallet that `word` names.
pub(super) fn of(word: &[u8]) -> Option<Wallet> {
    match (word.first(), word.len()) {
        (Some(b'0'), 42) => is_ethereum(word).then_some(Wallet::Ethereum),
        (Some(b'1' | b'3'), 26..=35) => is_base58(word).then_some(Wallet::Bitcoin),
        (Some(b'b' | b'B'), 42 | 62) => is_bech32(word).then_some(Wallet::Bitcoin),
        _ => None,
    }
}

/// `0x` and forty hexadecimal digits that are not all alike.
fn is_ethereum(word: &[u8]) -> bool {
    let Some(digits) = word.strip_prefix(b"0x") else {
        return false;
    };
    digits.iter().all(u8::is_ascii_hexdigit) && variety(digits) > 6
}

/// A version, twenty bytes and four of their double SHA-256, in base 58.
fn is_base58(word: &[u8]) -> bool {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut bytes = [0_u8; 25];
    for letter in word {
        let Some(value) = ALPHABET.iter().position(|known| known == letter) else {
            return false;
        };
        let mut carry = u32::try_from(value).unwrap_or(0);
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            *byte = u8::try_from(carry & 0xFF).unwrap_or(0);
            carry >>= 8;
        }
        if carry != 0 {
            return false;
        }
    }
    let Some((body, check)) = bytes.split_at_checked(21) else {
        return false;
    };
    let digest = Sha256::digest(Sha256::digest(body));
    digest.get(..4) == Some(check)
}

/// Segwit of the main network, BIP 173 and BIP 350.
fn is_bech32(word: &[u8]) -> bool {
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATORS: [u32; 5] = [
        0x3B6A_57B2,
        0x2650_8E6D,
        0x1EA1_19FA,
        0x3D42_33DD,
        0x2A14_62B3,
    ];
    let lower = word.to_ascii_lowercase();
    let Some(data) = lower.strip_prefix(b"bc1") else {
        return false;
    };
    // The prefix `bc`, expanded: high bits, a zero, low bits.
    let mut values = vec![3, 3, 0, 2, 3];
    for letter in data {
        match ALPHABET.iter().position(|known| known == letter) {
            Some(value) => values.push(u32::try_from(value).unwrap_or(0)),
            None => return false,
        }
    }
    let sum = values.iter().fold(1_u32, |sum, value| {
        let top = sum >> 25;
        let next = ((sum & 0x01FF_FFFF) << 5) ^ value;
        GENERATORS
            .iter()
            .enumerate()
            .filter(|(bit, _)| top >> bit & 1 == 1)
            .fold(next, |next, (_, generator)| next ^ generator)
    });
    matches!(sum, 1 | 0x2BC8_30A3)
}
