//! Encryption for the holder of a key, in the format that `age` reads (age-encryption.org/v1): one
//! X25519 recipient, and a stream of sealed chunks.
//!
//! Deliberately absent: reading such files, which `age` does. The crate of that name brings well
//! over a hundred others, most of them for messages in many languages.

use std::fmt;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hmac::{Hmac, Mac as _};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::Sha256;

/// Plain bytes of one chunk.
const CHUNK: usize = 64 * 1024;
/// The letters of Bech32, by value.
const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Why something cannot be encrypted.
#[derive(Debug)]
pub(crate) enum AgeFault {
    /// The recipient is none.
    Recipient,
    /// The system gave no randomness, or the key cannot be used.
    Unusable,
    /// It cannot be written.
    Write(io::Error),
}

impl fmt::Display for AgeFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recipient => {
                formatter.write_str("the recipient is no X25519 recipient of age (`age1...`)")
            }
            Self::Unusable => formatter.write_str("the recipient's key cannot be used"),
            Self::Write(fault) => write!(formatter, "cannot write: {fault}"),
        }
    }
}

impl std::error::Error for AgeFault {}

/// What is written through this, only the holder of a key can read.
pub(crate) struct Encrypted<W> {
    inner: W,
    cipher: ChaCha20Poly1305,
    number: u64,
    waiting: Vec<u8>,
}

impl<W: Write> Encrypted<W> {
    /// Writes the header for a recipient.
    pub(crate) fn new(mut inner: W, recipient: &str) -> Result<Self, AgeFault> {
        let theirs = recipient_key(recipient).ok_or(AgeFault::Recipient)?;
        let file_key: [u8; 16] = random()?;
        let header = header(&file_key, &theirs)?;
        let nonce: [u8; 16] = random()?;
        let key = derive(&file_key, &nonce, b"payload").ok_or(AgeFault::Unusable)?;
        let written = inner.write_all(&header);
        let written = written.and_then(|()| inner.write_all(&nonce));
        written.map_err(AgeFault::Write)?;
        Ok(Self {
            inner,
            cipher: ChaCha20Poly1305::new(&key.into()),
            number: 0,
            waiting: Vec::with_capacity(CHUNK),
        })
    }

    /// Writes the last chunk, which says that it is the last.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.seal(true)?;
        self.inner.flush()?;
        Ok(self.inner)
    }

    /// Seals what waits, under a nonce that has the number of the chunk and whether it is the last.
    fn seal(&mut self, last: bool) -> io::Result<()> {
        let mut nonce = [0; 12];
        for (to, from) in nonce.iter_mut().skip(3).zip(self.number.to_be_bytes()) {
            *to = from;
        }
        if let Some(mark) = nonce.last_mut() {
            *mark = u8::from(last);
        }
        let sealed = self
            .cipher
            .encrypt(&Nonce::from(nonce), self.waiting.as_slice());
        let sealed = sealed.map_err(|_| io::Error::other("a chunk cannot be sealed"))?;
        self.waiting.clear();
        self.number += 1;
        self.inner.write_all(&sealed)
    }
}

impl<W: Write> Write for Encrypted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk waits for one more byte: the last chunk is never empty behind another.
        if self.waiting.len() == CHUNK && !bytes.is_empty() {
            self.seal(false)?;
        }
        let taken = bytes.len().min(CHUNK - self.waiting.len());
        self.waiting.extend(bytes.iter().take(taken));
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The header: the file's key, wrapped for the recipient, and a code over all of it.
fn header(file_key: &[u8; 16], theirs: &[u8; 32]) -> Result<Vec<u8>, AgeFault> {
    let unusable = |_| AgeFault::Unusable;
    let random = SystemRandom::new();
    let secret = EphemeralPrivateKey::generate(&X25519, &random).map_err(unusable)?;
    let ours = secret.compute_public_key().map_err(unusable)?;
    let peer = UnparsedPublicKey::new(&X25519, theirs);
    let salt = [ours.as_ref(), theirs].concat();
    let wrap = agree_ephemeral(secret, &peer, |shared| {
        derive(shared, &salt, b"age-encryption.org/v1/X25519")
    });
    let wrap = wrap.map_err(unusable)?.ok_or(AgeFault::Unusable)?;
    let cipher = ChaCha20Poly1305::new(&wrap.into());
    let body = cipher.encrypt(&Nonce::from([0; 12]), file_key.as_slice());
    let body = body.map_err(|_| AgeFault::Unusable)?;
    let (ours, body) = (STANDARD_NO_PAD.encode(ours), STANDARD_NO_PAD.encode(body));
    let mut header = format!("age-encryption.org/v1\n-> X25519 {ours}\n{body}\n---");
    let key = derive(file_key, &[], b"header").ok_or(AgeFault::Unusable)?;
    let code = code(&key, &[header.as_bytes()]).ok_or(AgeFault::Unusable)?;
    header.extend([" ", &STANDARD_NO_PAD.encode(code), "\n"]);
    Ok(header.into_bytes())
}

/// One block of HKDF with SHA-256 (RFC 5869).
fn derive(secret: &[u8], salt: &[u8], info: &[u8]) -> Option<[u8; 32]> {
    let extracted = code(salt, &[secret])?;
    code(&extracted, &[info, &[1]])
}

fn code(key: &[u8], parts: &[&[u8]]) -> Option<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    for part in parts {
        mac.update(part);
    }
    Some(mac.finalize().into_bytes().into())
}

fn random<const N: usize>() -> Result<[u8; N], AgeFault> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| AgeFault::Unusable)?;
    Ok(bytes)
}

/// Reads a recipient: Bech32 (BIP 173) of 32 bytes, under the name `age`.
fn recipient_key(text: &str) -> Option<[u8; 32]> {
    let text = text.strip_prefix("age1")?;
    let value = |letter: u8| LETTERS.iter().position(|one| *one == letter);
    let values: Option<Vec<_>> = text.bytes().map(value).collect();
    let values: Vec<u8> = values?
        .into_iter()
        .filter_map(|one| u8::try_from(one).ok())
        .collect();
    let name = b"age".map(|byte| byte >> 5).into_iter();
    let name = name.chain([0]).chain(b"age".map(|byte| byte & 31));
    if checksum(name.chain(values.iter().copied())) != 1 {
        return None;
    }
    let data = values.get(..values.len().checked_sub(6)?)?;
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    for value in data {
        held = (held << 5 | u32::from(*value)) & 0xFFF;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xFF).ok()?);
        }
    }
    bytes.try_into().ok()
}

fn checksum(values: impl Iterator<Item = u8>) -> u32 {
    const TERMS: [u32; 5] = [
        0x3b6a_57b2,
        0x2650_8e6d,
        0x1ea1_19fa,
        0x3d42_33dd,
        0x2a14_62b3,
    ];
    values.fold(1, |sum, value| {
        let top = sum >> 25;
        let sum = (sum & 0x01FF_FFFF) << 5 ^ u32::from(value);
        let terms = TERMS.iter().enumerate();
        let chosen = terms.filter(|(bit, _)| top >> bit & 1 == 1);
        chosen.fold(sum, |sum, (_, term)| sum ^ term)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_recipient_of_the_right_form_is_taken() {
        let good = "age1yl2lrcw0u4mqtlmqq30lpevkahc9xjkpukzc3844fqz2g3nefxsqs07m94";
        assert!(recipient_key(good).is_some());
        for odd in [
            "",
            "age1",
            "age1yl2lrcw0u4mqtlmqq30lpevkahc9xjkpukzc3844fqz2g3nefxsqs07m9k",
            "ssh-ed25519 AAAA",
            "AGE1YL2LRCW0U4MQTLMQQ30LPEVKAHC9XJKPUKZC3844FQZ2G3NEFXSQS07M94",
        ] {
            assert!(recipient_key(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn a_stream_has_a_header_and_chunks_with_their_tags() {
        let recipient = "age1yl2lrcw0u4mqtlmqq30lpevkahc9xjkpukzc3844fqz2g3nefxsqs07m94";
        let check = |plain: usize, chunks: usize| {
            let mut out = Encrypted::new(Vec::new(), recipient).unwrap();
            out.write_all(&vec![b'x'; plain]).unwrap();
            let sealed = out.finish().unwrap();
            assert!(sealed.starts_with(b"age-encryption.org/v1\n-> X25519 "));
            let end = sealed
                .windows(5)
                .position(|five| five == b"\n--- ")
                .unwrap();
            // The code is 43 letters, a line end stands behind it, and 16 bytes of nonce.
            let payload = sealed.len() - (end + 5 + 43 + 1 + 16);
            assert_eq!(payload, plain + 16 * chunks, "{plain}");
        };
        check(0, 1);
        check(1, 1);
        check(CHUNK, 1);
        check(CHUNK + 1, 2);
        check(2 * CHUNK, 2);
    }
}
