//! The program as its users have it: real processes, real sockets, real upstreams.
//!
//! One target for all, a module a concern. Deliberately absent: anything that a crate's own tests
//! can show without a process.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that fails should fail at once and say where"
)]

mod support;

mod access;
mod activity;
mod adversary;
mod asides;
mod asking;
mod asks;
mod book;
mod capabilities;
mod changes;
mod dashboard;
mod deploy;
mod detect;
mod eras;
mod events;
mod guards;
mod hook_files;
mod hooks;
mod ids;
mod logins;
mod modes;
mod peers;
mod pins;
mod pipeline;
mod policy;
mod quarantine;
mod receipts;
mod reload;
mod replicas;
mod resilience;
mod rest;
mod scan;
mod scenarios;
mod screens;
mod services;
mod spine;
mod store;
mod telemetry;
mod wrap;
