//! Digests of JSON values: SHA-256 over RFC 8785, keyed where a pepper is set.
//!
//! A value that has no canonical form (not strict JSON, nested too deep, too wide) is hashed as
//! the bytes it came in, and its digest says so by its name: nothing is left without a digest.

mod canon;
mod number;
mod rope;
mod string;

use std::fmt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

pub use canon::{Canon, Fault, Limits};
pub use number::Numbers;

/// What a digest is of, and under what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SHA-256 of the canonical form.
    Canonical,
    /// HMAC-SHA-256 of the canonical form.
    Keyed,
    /// SHA-256 of the bytes as they came.
    Raw,
    /// HMAC-SHA-256 of the bytes as they came.
    RawKeyed,
}

impl Kind {
    /// Returns the name that stands before the hexadecimal digits.
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical => "sha256",
            Self::Keyed => "hmac-sha256",
            Self::Raw => "raw-sha256",
            Self::RawKeyed => "raw-hmac-sha256",
        }
    }
}

/// A digest with its kind, printed as `sha256:<hex>`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// What it is of.
    pub kind: Kind,
    /// The digest.
    pub bytes: [u8; 32],
}

impl Digest {
    /// Reads a digest as it is printed.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, digits) = text.split_once(':')?;
        let kinds = [Kind::Canonical, Kind::Keyed, Kind::Raw, Kind::RawKeyed];
        let kind = kinds.into_iter().find(|kind| kind.name() == name)?;
        Some(Self {
            kind,
            bytes: unhex(digits)?,
        })
    }

    /// Tells whether the value could be read; if not, the digest is of its raw bytes.
    pub fn is_canonical(&self) -> bool {
        matches!(self.kind, Kind::Canonical | Kind::Keyed)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.kind.name(), hex(&self.bytes))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// An organisation's key for digests, against guessing what has few values.
#[derive(Clone)]
pub struct Pepper(Vec<u8>);

impl Pepper {
    /// Takes the key as it is configured.
    pub fn new(key: impl Into<Vec<u8>>) -> Self {
        Self(key.into())
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pepper")
    }
}

/// Computes the digest of one value whose text arrives in chunks.
#[derive(Debug)]
pub struct Hasher {
    canon: Result<Canon, Fault>,
    raw: Sum,
    pepper: Option<Pepper>,
}

impl Hasher {
    /// Starts a digest; strings too long for memory are set aside in `folder`.
    pub fn new(pepper: Option<&Pepper>, limits: Limits, folder: Option<&Path>) -> Self {
        Self {
            canon: Ok(Canon::new(Numbers::Rfc8785, limits, folder)),
            raw: Sum::new(pepper),
            pepper: pepper.cloned(),
        }
    }

    /// Starts a digest of bytes as they are, whatever they say.
    pub fn raw(pepper: Option<&Pepper>) -> Self {
        Self {
            canon: Err(Fault::Syntax("it is not read")),
            raw: Sum::new(pepper),
            pepper: pepper.cloned(),
        }
    }

    /// Takes the next bytes of the value.
    pub fn push(&mut self, bytes: &[u8]) {
        self.raw.update(bytes);
        if let Ok(canon) = &mut self.canon
            && let Err(fault) = canon.push(bytes)
        {
            self.canon = Err(fault);
        }
    }

    /// Returns the digest, and why it is not of the canonical form if it is not.
    pub fn finish(self) -> (Digest, Option<Fault>) {
        let keyed = self.pepper.is_some();
        let mut sum = Sum::new(self.pepper.as_ref());
        let canonical = self
            .canon
            .and_then(|canon| canon.finish(&mut |part| sum.update(part)));
        let kind = match (&canonical, keyed) {
            (Ok(()), false) => Kind::Canonical,
            (Ok(()), true) => Kind::Keyed,
            (Err(_), false) => Kind::Raw,
            (Err(_), true) => Kind::RawKeyed,
        };
        let bytes = if canonical.is_ok() { sum } else { self.raw }.finish();
        (Digest { kind, bytes }, canonical.err())
    }
}

/// Computes the digest of a value that is in memory.
pub fn digest(text: &[u8], pepper: Option<&Pepper>) -> Digest {
    let limits = Limits {
        memory: text
            .len()
            .saturating_mul(64)
            .saturating_add(Limits::default().memory),
        ..Limits::default()
    };
    let mut hasher = Hasher::new(pepper, limits, None);
    hasher.push(text);
    hasher.finish().0
}

/// Returns the canonical form of a text that is in memory.
pub fn canonical(text: &[u8], numbers: Numbers) -> Result<Vec<u8>, Fault> {
    let limits = Limits {
        memory: text
            .len()
            .saturating_mul(64)
            .saturating_add(Limits::default().memory),
        ..Limits::default()
    };
    let mut canon = Canon::new(numbers, limits, None);
    canon.push(text)?;
    let mut bytes = Vec::with_capacity(text.len());
    canon.finish(&mut |part| bytes.extend_from_slice(part))?;
    Ok(bytes)
}

/// Appends `text` to `out` as a JSON string, escaped as RFC 8785 has it.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for char in text.chars() {
        match char {
            // Readers that split lines as Python does would cut a receipt in two here.
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(char)).as_bytes());
            }
            _ => string::set(char, out),
        }
    }
    out.push(b'"');
}

/// Returns the SHA-256 of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Prints bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS.get(usize::from(value)).copied().unwrap_or(b'0'));
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Reads 64 lower-case hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = pairs
        .iter()
        .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .collect();
    bytes?.try_into().ok()
}

/// Either hash, so that the two kinds share their path.
#[derive(Clone)]
enum Sum {
    Plain(Box<Sha256>),
    Keyed(Box<Hmac<Sha256>>),
}

impl fmt::Debug for Sum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sum")
    }
}

impl Sum {
    fn new(pepper: Option<&Pepper>) -> Self {
        // HMAC takes keys of any length, so the fallback never comes to pass.
        pepper
            .and_then(|Pepper(key)| Hmac::new_from_slice(key).ok())
            .map_or_else(
                || Self::Plain(Box::default()),
                |mac| Self::Keyed(Box::new(mac)),
            )
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Plain(hash) => hash.update(bytes),
            Self::Keyed(mac) => Mac::update(mac.as_mut(), bytes),
        }
    }

    fn finish(self) -> [u8; 32] {
        match self {
            Self::Plain(hash) => hash.finalize().into(),
            Self::Keyed(mac) => mac.finalize().into_bytes().into(),
        }
    }
}

#[cfg(test)]
mod tests;
