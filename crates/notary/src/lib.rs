//! Evidence of what crossed the proxy: receipts, proof packs, and their verification.
//!
//! A [`ledger::Ledger`] writes one session's receipts, each chained to the one before it and all
//! of them leaves of a Merkle tree; [`pack`] makes a folder of them that stands on its own, and
//! [`verify`] judges such a folder without trusting who made it.
//!
//! Deliberately absent: the wire. Nothing here reads JSON-RPC or knows a process; the relay
//! brings calls and outcomes. Nothing here is asynchronous.

pub mod content;
mod error;
pub mod hash;
pub mod keys;
mod line;
pub mod note;
pub mod receipt;
pub mod tree;

pub use error::NotaryError;
