//! Rules in, text in, detections out: secrets, personal data, credential files, hidden characters
//! and instructions that address the model. Pure and synchronous; no I/O, no clock, no randomness.
//!
//! A [`Detection`] says what was seen and where. What follows from it is decided by policy.

pub mod detection;
pub mod error;
pub mod files;
pub mod mask;
pub mod pii;

pub use detection::{Category, Detection, Level, Scan};
pub use error::DetectError;
pub use files::Files;
pub use pii::Pii;
