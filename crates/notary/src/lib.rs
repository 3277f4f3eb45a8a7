//! Evidence of what crossed the proxy: receipts, proof packs, and their verification.
//!
//! A [`ledger::Ledger`] writes one session's receipts, each chained to the one before it and all
//! of them leaves of a Merkle tree; [`pack`] makes a folder of them that stands on its own, and
//! [`verify`] judges such a folder without trusting who made it.
//!
//! Deliberately absent: the wire. Nothing here reads JSON-RPC or knows a process; the relay
//! brings calls and outcomes. Nothing here is asynchronous.

pub mod receipt;

pub mod content;
pub mod desk;
pub mod guard;
pub mod hash;
pub mod keys;
pub mod ledger;
pub mod note;
pub mod pack;
pub mod rolling;
pub mod tree;

pub mod claims;
pub mod timestamp;
pub mod verify;

pub mod analyze;
pub mod diff;
pub mod disclose;
pub mod explain;
pub mod export;
pub mod file;
pub mod find;
pub mod prove;
pub mod spill;
pub mod tally;
pub mod view;

mod chain;
mod error;
mod json;
mod kept;
mod layout;
mod line;
mod read;
mod session;

#[cfg(test)]
mod sample;

pub use error::NotaryError;
pub use json::Json;
pub use layout::{Last, Layout};
