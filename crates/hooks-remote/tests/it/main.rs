//! Hooks against services on a loopback port: sound ones, broken ones and hostile ones.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod asked;
mod faults;
mod scripted;
mod secure;
