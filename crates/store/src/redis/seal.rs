//! What makes of Redis a place that need not be trusted with anything but to be there: names are
//! keyed hashes, and a value can be opened only by who has the key, and only under its own name.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use mcpproxy_core::LiveFault;
use sha2::{Digest as _, Sha256};

use crate::Error;

/// The length of a nonce.
const NONCE: usize = 24;
/// What every name begins with, so that others who use the same Redis can tell.
const PREFIX: &str = "mcpproxy:";

/// The key of an installation.
pub(super) struct Seal {
    cipher: XChaCha20Poly1305,
    names: Hmac<Sha256>,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Seal(***)")
    }
}

impl Seal {
    /// Takes what the gateways of an installation know.
    pub(super) fn new(key: &str) -> Result<Self, Error> {
        let derived = |purpose: &str| -> [u8; 32] {
            let hash = Sha256::new_with_prefix(purpose).chain_update([0]);
            hash.chain_update(key).finalize().into()
        };
        let names = Hmac::new_from_slice(&derived("mcpproxy live names"));
        let names = names.map_err(|fault| Error::Address {
            why: fault.to_string(),
        })?;
        Ok(Self {
            cipher: XChaCha20Poly1305::new(&Key::from(derived("mcpproxy live values"))),
            names,
        })
    }

    /// Returns the name under which something is kept.
    pub(super) fn name(&self, name: &str) -> String {
        let hash = self.names.clone().chain_update(name).finalize();
        let bytes: [u8; 32] = hash.into_bytes().into();
        let shown = bytes.iter().take(16).map(|byte| format!("{byte:02x}"));
        std::iter::once(PREFIX.to_owned()).chain(shown).collect()
    }

    /// Seals a value for a name.
    pub(super) fn seal(&self, value: &[u8], name: &str) -> Result<Vec<u8>, LiveFault> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|fault| LiveFault(fault.to_string()))?;
        let payload = Payload {
            msg: value,
            aad: name.as_bytes(),
        };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| LiveFault("a value cannot be sealed".to_owned()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed for a name; nothing where it was not.
    pub(super) fn open(&self, sealed: &[u8], name: &str) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload {
            msg: sealed,
            aad: name.as_bytes(),
        };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_opens_under_the_same_name() {
        let made = |key: &str| Seal::new(key).unwrap();
        let (ours, theirs) = (made("one key"), made("another key"));
        let sealed = ours.seal(b"value", "a").unwrap();
        assert!(!sealed.windows(5).any(|part| part == b"value"));
        let check = |seal: &Seal, sealed: &[u8], name: &str, expect: Option<&[u8]>| {
            assert_eq!(seal.open(sealed, name).as_deref(), expect, "{name}");
        };
        check(&ours, &sealed, "a", Some(b"value"));
        check(&ours, &sealed, "b", None);
        check(&theirs, &sealed, "a", None);
        check(&ours, &sealed[..20], "a", None);
        assert_eq!(ours.name("x"), made("one key").name("x"));
        assert_ne!(ours.name("x"), theirs.name("x"));
        assert_ne!(ours.name("x"), ours.name("y"));
    }
}
