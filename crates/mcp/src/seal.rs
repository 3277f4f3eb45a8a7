//! Sealing the gateway's own state into an opaque string that a downstream carries back.
//!
//! XChaCha20-Poly1305 with a random nonce: what comes back was written here, under this key, for
//! this principal, and has not expired. Replay within that time is for the holder of the state to
//! stop: a parked call can be resumed once.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use mcpproxy_core::Wall;

use crate::Error;

/// The length of a nonce.
const NONCE: usize = 24;

/// A key that seals and opens.
pub struct Sealer(XChaCha20Poly1305);

impl std::fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Sealer(***)")
    }
}

impl Sealer {
    /// Makes a sealer from a key.
    pub fn new(key: [u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&Key::from(key)))
    }

    /// Makes a sealer with a key that lives as long as the process.
    pub fn ephemeral() -> Result<Self, Error> {
        Ok(Self::new(random()?))
    }

    /// Seals `content` for `owner` until `expires`.
    pub fn seal(&self, content: &[u8], owner: &str, expires: Wall) -> Result<String, Error> {
        let nonce: [u8; NONCE] = random()?;
        let mut message = expires.0.to_be_bytes().to_vec();
        message.extend_from_slice(content);
        let payload = Payload {
            msg: &message,
            aad: owner.as_bytes(),
        };
        let sealed = self
            .0
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| Error::Unsealed)?;
        Ok(BASE64.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Opens what was sealed for `owner` and has not expired at `now`.
    pub fn open(&self, sealed: &str, owner: &str, now: Wall) -> Result<Vec<u8>, Error> {
        let bytes = BASE64.decode(sealed).map_err(|_| Error::Unsealed)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or(Error::Unsealed)?;
        let payload = Payload {
            msg: sealed,
            aad: owner.as_bytes(),
        };
        let message = self
            .0
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| Error::Unsealed)?;
        let (expires, content) = message.split_first_chunk::<8>().ok_or(Error::Unsealed)?;
        if u64::from_be_bytes(*expires) < now.0 {
            return Err(Error::Unsealed);
        }
        Ok(content.to_vec())
    }
}

/// Draws random bytes from the operating system.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|fault| Error::Transport(fault.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_opens_in_time_and_unchanged() {
        let key = Sealer::new([7; 32]);
        let sealed = key.seal(b"state", "alice", Wall(100)).unwrap();
        assert_eq!(key.open(&sealed, "alice", Wall(100)).unwrap(), b"state");
        assert!(key.open(&sealed, "bob", Wall(50)).is_err());
        assert!(key.open(&sealed, "alice", Wall(101)).is_err());
        assert!(
            Sealer::new([8; 32])
                .open(&sealed, "alice", Wall(50))
                .is_err()
        );
        for at in 0..sealed.len() {
            let mut changed: Vec<u8> = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(key.open(&changed, "alice", Wall(50)).is_err(), "byte {at}");
        }
    }
}
