//! Hooks against services on a loopback port: sound ones, broken ones and hostile ones.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "helpers of tests"
)]

mod asked;
mod examples;
mod faults;
mod kept;
mod scripted;
mod secure;
