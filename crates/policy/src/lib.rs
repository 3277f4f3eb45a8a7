//! Where findings become a verdict: precedence, the degrading of questions nobody can answer, and
//! the risk score. Also the policy sections of the configuration.
//!
//! Pure: no clock, no I/O, no state. Same findings, same verdict.

pub mod decide;
pub mod settings;

pub use decide::decide;
