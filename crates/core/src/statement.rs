//! Signed statements about a log, behind a port: who keeps the log knows no keys, and who keeps
//! the keys knows no log.

use std::fmt;

/// Signs statements, with one key.
pub trait StatementSigner: Send + Sync + fmt::Debug {
    /// Returns the public key.
    fn key(&self) -> [u8; 32];

    /// Returns the signature of a statement.
    fn sign(&self, statement: &[u8]) -> [u8; 64];
}

/// What is to be thought of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    /// A trusted key made it.
    Trusted,
    /// The key made it, but nobody vouches for the key.
    Unknown,
    /// The key did not make it.
    Forged,
}

/// Judges signatures of statements.
pub trait StatementCheck: Send + Sync + fmt::Debug {
    /// Tells what is to be thought of a signature.
    fn check(&self, key: &[u8], statement: &[u8], signature: &[u8]) -> Signed;

    /// Tells whether somebody vouches for a key.
    fn vouches(&self, key: &[u8]) -> bool;
}
