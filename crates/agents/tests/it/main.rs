//! The whole way of the agents' files: found, planned, written, put back.
//!
//! Each fixture is a file as its agent writes it; its name with `.after` is what it becomes.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like the tests do"
)]

mod discover;
mod home;
mod hooks;
mod plan;
mod round_trip;
