//! A signer of statements whose key is a word: no signature, but enough to see one changed.

use mcpproxy_core::{Signed, StatementCheck, StatementSigner};
use sha2::{Digest as _, Sha256};

/// A signer, and who trusts it alone.
#[derive(Clone, Copy, Debug)]
pub struct WordSigner(pub &'static str);

impl StatementSigner for WordSigner {
    fn key(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    fn sign(&self, statement: &[u8]) -> [u8; 64] {
        signature(&self.key(), statement)
    }
}

impl StatementCheck for WordSigner {
    fn check(&self, key: &[u8], statement: &[u8], given: &[u8]) -> Signed {
        if given != signature(key, statement) {
            Signed::Forged
        } else if key == self.key() {
            Signed::Trusted
        } else {
            Signed::Unknown
        }
    }

    fn vouches(&self, key: &[u8]) -> bool {
        key == StatementSigner::key(self)
    }
}

fn signature(key: &[u8], statement: &[u8]) -> [u8; 64] {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(statement);
    let hash = hash.finalize();
    let mut signature = [0; 64];
    let twice = hash.iter().chain(&hash);
    signature
        .iter_mut()
        .zip(twice)
        .for_each(|(to, from)| *to = *from);
    signature
}
