//! Where findings become a verdict: the native rules, precedence, the degrading of questions nobody
//! can answer, the risk score, and the explanation of all of it. Also the policy sections of the
//! configuration.
//!
//! Pure: no clock, no I/O, no state. Same call, same facts, same findings: same verdict.

pub mod answer;
pub mod decide;
mod direction;
pub mod explain;
pub mod policy;
mod precedence;
pub mod risk;
mod rules;
#[cfg(test)]
mod samples;
pub mod scenario;
pub mod settings;
mod words;

pub use answer::{Answer, answer};
pub use decide::decide;
pub use explain::{Explanation, explain};
pub use policy::Policy;
pub use risk::{Band, Point};
pub use rules::{ALARMS, judge};
