//! The pipeline of security hooks: who is asked about a message, in which order, for how long,
//! with which limits, and what follows when a hook does not decide.
//!
//! Deliberately absent: what a finding leads to, which `policy` decides; the rounds after a
//! modification, which the engine owns; and every transport, which stands behind the port in
//! `core`.

mod background;
pub mod breaker;
mod chain;
mod circuit;
mod decided;
pub mod error;
mod guarded;
pub mod guards;
pub mod limits;
mod member;
pub mod metrics;
mod modified;
mod question;
mod rate;
pub mod registry;
mod restored;
mod shown;

pub use breaker::{BreakerSettings, Standing};
pub use decided::{Noted, Ran};
pub use error::Error;
pub use limits::{FailureMode, Limits, Rate};
pub use metrics::Metrics;
pub use question::{Around, Mask, Phase, Subject};
pub use registry::{Entry, Health, Registry};
