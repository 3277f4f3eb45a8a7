//! Real MCP upstreams, written small, and the ports that tests fix by hand.
//!
//! [`sample`] is also what `mcpproxy demo` runs, so it is held to the product's rules: bounded,
//! and without a panic. [`http`] serves the same samples in process, with faults to order,
//! and [`authority`] hands out tokens for them.
//! [`suite`] has what every implementation of a port must do.
//! Deliberately absent: anything of the gateway. A test that wants one brings its own.

pub mod authority;
pub mod clock;
pub mod http;
pub mod live;
pub mod postgres;
pub mod redis;
pub mod sample;
pub mod samples;
pub mod signer;
pub mod sink;
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a check that cannot go on fails"
)]
pub mod suite;

pub use authority::{Authority, AuthorityOrders};
pub use clock::FixedClock;
pub use http::{Broken, HttpUpstream, Received};
pub use live::{MemoryLive, Slow};
pub use postgres::Postgres;
pub use redis::RedisServer;
pub use sample::{EraSupport, Options, Sample};
pub use signer::WordSigner;
pub use sink::{FailingSink, HangingSink, MemorySink};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose holder may have panicked: what it guards is whole after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
