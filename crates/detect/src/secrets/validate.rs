//! What else has to hold of a secret once its pattern fits: checksums and inner structure.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::{Serialize, Serializer};

use super::url::is_common;
use super::value::{Shape, entropy, is_hex, is_password, is_placeholder, is_reference};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

/// The most runs between joints of a generated value.
const RUNS: usize = 4;
/// The fewest characters of a generated value whose letters are all of one case.
const UNCASED: usize = 32;
/// The fewest digits that are a password by themselves where a password has to stand; fewer are
/// ports and numbers of lines.
const DIGITS: usize = 8;

/// A named check of the secret that a pattern captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validator {
    /// Nothing further.
    None,
    /// The last six characters are the base-62 CRC-32 of those after the prefix (GitHub, npm).
    Crc32Base62,
    /// A header that decodes to JSON and names an algorithm.
    Jwt,
    /// Base64 of `user:password`.
    BasicAuth,
    /// Base64 of a JSON object.
    Base64Json,
    /// Base64 of an armoured private key.
    Base64Pem,
    /// Base58 with a double SHA-256 checksum (Bitcoin keys).
    Base58Check,
    /// Letters and digits that mix.
    Mixed,
    /// A run behind a prefix that a generator made, and no name, slug or UUID.
    Generated,
    /// Hexadecimal digits of both kinds.
    Hex,
    /// What a person chooses for a password.
    Password,
    /// The same, of three kinds of characters.
    StrongPassword,
    /// Anything that is not known to be no password: its place says that it is one.
    WeakPassword,
    /// A token without a form of its own.
    Opaque,
    /// Digits that do not count up.
    Code,
    /// Letters or digits, but no plain word.
    RecoveryCode,
    /// Words that do not make a sentence.
    SeedPhrase,
    /// So many tenths of a bit of entropy a character.
    Entropy(u8),
}

impl Validator {
    /// Returns the validator of that name; `entropy:35` asks for 3.5 bits a character.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "crc32_base62" => Self::Crc32Base62,
            "jwt" => Self::Jwt,
            "basic_auth" => Self::BasicAuth,
            "base64_json" => Self::Base64Json,
            "base64_pem" => Self::Base64Pem,
            "base58check" => Self::Base58Check,
            "mixed" => Self::Mixed,
            "generated" => Self::Generated,
            "hex" => Self::Hex,
            "password" => Self::Password,
            "strong_password" => Self::StrongPassword,
            "weak_password" => Self::WeakPassword,
            "opaque" => Self::Opaque,
            "code" => Self::Code,
            "recovery_code" => Self::RecoveryCode,
            "seed_phrase" => Self::SeedPhrase,
            _ => Self::Entropy(name.strip_prefix("entropy:")?.parse().ok()?),
        })
    }

    /// Tells whether the check holds of `secret`.
    pub(super) fn holds(self, secret: &str) -> bool {
        match self {
            Self::None => true,
            Self::Crc32Base62 => crc32_base62(secret),
            Self::Jwt => is_jwt(secret),
            Self::BasicAuth => is_basic_auth(secret),
            Self::Base64Json => decode(secret).is_some_and(|bytes| is_object(&bytes)),
            Self::Base64Pem => is_base64_pem(secret),
            Self::Base58Check => base58check(secret),
            Self::Mixed => Shape::of(secret.as_bytes()).is_mixed(secret.len()),
            Self::Generated => is_generated(secret),
            Self::Hex => is_mixed_hex(secret),
            Self::Password => is_password(secret),
            Self::StrongPassword => {
                is_password(secret) && Shape::of(secret.as_bytes()).classes() > 2
            }
            Self::WeakPassword => is_weak_password(secret),
            Self::Opaque => is_opaque(secret),
            Self::Code => !is_placeholder(secret),
            Self::RecoveryCode => secret.bytes().filter(u8::is_ascii_digit).count() > 1,
            Self::SeedPhrase => is_seed_phrase(secret),
            Self::Entropy(tenths) => entropy(secret.as_bytes()) * 10.0 >= f64::from(tenths),
        }
    }

    /// Tells whether a change of one character is bound to be noticed.
    pub fn is_checksum(self) -> bool {
        matches!(self, Self::Crc32Base62 | Self::Base58Check)
    }
}

impl Serialize for Validator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = match self {
            Self::None => "none",
            Self::Crc32Base62 => "crc32_base62",
            Self::Jwt => "jwt",
            Self::BasicAuth => "basic_auth",
            Self::Base64Json => "base64_json",
            Self::Base64Pem => "base64_pem",
            Self::Base58Check => "base58check",
            Self::Mixed => "mixed",
            Self::Generated => "generated",
            Self::Hex => "hex",
            Self::Password => "password",
            Self::StrongPassword => "strong_password",
            Self::WeakPassword => "weak_password",
            Self::Opaque => "opaque",
            Self::Code => "code",
            Self::RecoveryCode => "recovery_code",
            Self::SeedPhrase => "seed_phrase",
            Self::Entropy(tenths) => {
                return serializer.collect_str(&format_args!("entropy:{tenths}"));
            }
        };
        serializer.serialize_str(name)
    }
}

/// Decodes base64 of either alphabet, padded or not.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) {
        URL_SAFE
    } else {
        STANDARD
    };
    engine.decode(text).ok()
}

fn crc32_base62(token: &str) -> bool {
    let body = token.rsplit_once('_').map_or(token, |(_, body)| body);
    let Some((body, sum)) = body
        .len()
        .checked_sub(6)
        .and_then(|at| body.split_at_checked(at))
    else {
        return false;
    };
    let mut left = crc32(body.as_bytes());
    let right = sum.bytes().rev().all(|byte| {
        let digit = left % 62;
        left /= 62;
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
            .get(usize::try_from(digit).unwrap_or(0))
            == Some(&byte)
    });
    right && left == 0
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 }
        })
    })
}

fn is_object(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(bytes).is_ok()
}

/// Reads the header; the payload must be an object too unless it is encrypted.
fn is_jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let header = parts.next().and_then(decode);
    let Some(header) = header.and_then(|bytes| {
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes).ok()
    }) else {
        return false;
    };
    if header.contains_key("enc") {
        return header.contains_key("alg");
    }
    let Some(payload) = parts.next().and_then(decode) else {
        return false;
    };
    // The claims of the page that introduces everybody to these tokens.
    let known = memchr::memmem::find(&payload, b"1234567890").is_some()
        && memchr::memmem::find(&payload, b"John Doe").is_some();
    header.contains_key("alg") && is_object(&payload) && !known
}

fn is_basic_auth(text: &str) -> bool {
    let Some(bytes) = decode(text) else {
        return false;
    };
    let Ok(pair) = std::str::from_utf8(&bytes) else {
        return false;
    };
    let Some((user, password)) = pair.split_once(':') else {
        return false;
    };
    let printable = |c: char| !c.is_control();
    // The pairs of RFC 7617 and of every tutorial.
    let known = password.eq_ignore_ascii_case("password")
        || password.eq_ignore_ascii_case("open sesame")
        || password.eq_ignore_ascii_case("opensesame")
        || password == "pass"
        || password == user;
    user.len() + password.len() >= 6 && pair.chars().all(printable) && !known
}

fn is_base64_pem(text: &str) -> bool {
    // A cut run may end within a group of four.
    let whole = text.len() - text.len() % 4;
    let head = text.get(..whole.min(64)).and_then(decode);
    head.is_some_and(|bytes| memchr::memmem::find(&bytes, b"PRIVATE KEY").is_some())
}

fn is_weak_password(text: &str) -> bool {
    let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    (letters || text.len() >= DIGITS)
        && !is_common(text)
        && !is_reference(text)
        && !text.starts_with(['$', '%', '<', '*', '-'])
}

/// Numbers with letters between them; words, however joined, are a description of a token.
fn is_opaque(text: &str) -> bool {
    let shape = Shape::of(text.as_bytes());
    let letters = shape.lower + shape.upper;
    let cased = shape.lower > 3 && shape.upper > 3 && shape.changes * 5 >= text.len() * 2;
    letters > 1
        && (shape.digits > 1 && shape.changes * 8 >= text.len() || cased)
        && entropy(text.as_bytes()) >= 2.8
        && !is_reference(text)
}

/// A sentence has small words; the words of a seed phrase are all of some length.
fn is_seed_phrase(text: &str) -> bool {
    const SMALL: &[&str] = &[
        "the", "and", "for", "you", "are", "this", "that", "with", "from", "not", "can", "your",
        "will",
    ];
    let words: Vec<&str> = text
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let mut distinct = words.clone();
    distinct.sort_unstable();
    distinct.dedup();
    [12, 15, 18, 21, 24].contains(&words.len())
        && distinct.len() + 2 >= words.len()
        && !words.iter().any(|word| SMALL.contains(word))
}

/// Names, slugs and classes are words between joints, perhaps with a hash at the end. A key is one
/// run of letters of both cases that changes at every turn, seldom broken by a joint of its
/// alphabet; or a long one of small letters and digits.
fn is_generated(secret: &str) -> bool {
    let body = secret.split_once('-').map_or(secret, |(_, body)| body);
    let runs = || body.split(['-', '_']).filter(|run| !run.is_empty());
    let is_word = |run: &str| run.len() > 3 && run.bytes().all(|byte| byte.is_ascii_lowercase());
    let whole: String = runs().collect();
    let shape = Shape::of(whole.as_bytes());
    let cased = shape.lower > 1 && shape.upper > 1;
    let fits = if cased {
        shape.changes * 5 >= whole.len() * 2 && runs().count() <= RUNS
    } else {
        shape.is_mixed(whole.len()) && runs().count() == 1 && whole.len() >= UNCASED
    };
    fits && !runs().any(is_word) && entropy(whole.as_bytes()) >= 3.0
}

fn is_mixed_hex(text: &str) -> bool {
    let shape = Shape::of(text.as_bytes());
    let letters = shape.lower + shape.upper;
    is_hex(text.as_bytes()) && letters > 1 && shape.digits > 1
}

fn base58check(text: &str) -> bool {
    use sha2::{Digest, Sha256};
    let Some(bytes) = base58(text) else {
        return false;
    };
    let Some((body, sum)) = bytes
        .len()
        .checked_sub(4)
        .and_then(|at| bytes.split_at_checked(at))
    else {
        return false;
    };
    let hash = Sha256::digest(Sha256::digest(body));
    hash.get(..4) == Some(sum)
}

fn base58(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut number: Vec<u8> = Vec::new();
    for byte in text.bytes() {
        let mut carry = u32::try_from(ALPHABET.iter().position(|one| *one == byte)?).ok()?;
        for digit in &mut number {
            carry += u32::from(*digit) * 58;
            *digit = u8::try_from(carry & 0xFF).ok()?;
            carry >>= 8;
        }
        while carry > 0 {
            number.push(u8::try_from(carry & 0xFF).ok()?);
            carry >>= 8;
        }
    }
    number.extend(text.bytes().take_while(|byte| *byte == b'1').map(|_| 0));
    number.reverse();
    Some(number)
}
