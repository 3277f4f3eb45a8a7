//! The program as a process, between a client that is the test and upstreams that are small shell
//! scripts, so that every byte on both sides is under control.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its scene has failed"
)]

#[path = "../../../notary/src/timestamp/authority.rs"]
mod authority;
mod endings;
mod flags;
mod guard;
mod http;
mod odd;
mod receipts;
mod support;
mod table;
mod tools;
mod transparent;
