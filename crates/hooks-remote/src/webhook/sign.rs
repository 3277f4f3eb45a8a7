//! Signatures of questions, as Standard Webhooks describes them: HMAC-SHA-256 over id, time and
//! body. The service checks them; how long it takes an old one is its own decision.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use mcpproxy_core::Secret;

use crate::Error;

/// What a key in base64 starts with.
const ENCODED: &str = "whsec_";
/// Bytes at least in a key.
const SHORTEST: usize = 24;

/// The keys of one hook, ready to use.
#[derive(Debug)]
pub struct Signer(Vec<Hmac<Sha256>>);

impl Signer {
    /// Reads keys: bytes as they are, or base64 after `whsec_`.
    pub fn new(keys: &[Secret]) -> Result<Self, Error> {
        let keys = keys.iter().map(|key| {
            let bytes = match key.expose().strip_prefix(ENCODED) {
                Some(text) => STANDARD.decode(text).map_err(|_| Error::SigningKey)?,
                None => key.expose().as_bytes().to_vec(),
            };
            if bytes.len() < SHORTEST {
                return Err(Error::SigningKey);
            }
            Hmac::new_from_slice(&bytes).map_err(|_| Error::SigningKey)
        });
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    /// Returns the header's value, one signature for each key; nothing without a key.
    pub fn sign(&self, id: &str, seconds: u64, body: &[u8]) -> Option<String> {
        let signed = self.0.iter().map(|key| {
            let mut mac = key.clone();
            mac.update(format!("{id}.{seconds}.").as_bytes());
            mac.update(body);
            let signature = STANDARD.encode(mac.finalize().into_bytes());
            format!("v1,{signature}")
        });
        let signed: Vec<String> = signed.collect();
        (!signed.is_empty()).then(|| signed.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_signs_and_a_weak_one_is_refused() {
        let encoded = "whsec_3mJ0yq7uVx2bZlKcR5tHn8wQpA1sGfEd";
        let plain = "a plain key of thirty-two bytes.";
        let signer = Signer::new(&[Secret::new(encoded), Secret::new(plain)]).unwrap();
        let header = signer.sign("msg_1", 1_700_000_000, b"{}").unwrap();
        // Made with `hmac` and `base64` of Python's standard library.
        let expect = concat!(
            "v1,3EvuvVrML5gAU9AjOUyHR1yegYadsysR5rHo99y5oQk= ",
            "v1,0sAYpMJZkLhjvWCmNp2f2M1G1VA8LvjeF4ilcY5pQqI="
        );
        assert_eq!(header, expect);
        assert_eq!(Signer::new(&[]).unwrap().sign("a", 1, b""), None);
        for weak in ["short", "whsec_!!!!", "whsec_c2hvcnQ="] {
            assert!(Signer::new(&[Secret::new(weak)]).is_err(), "{weak}");
        }
    }
}
