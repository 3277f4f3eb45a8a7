//! Rules in, text in, detections out: secrets, personal data, credential files, hidden characters
//! and instructions that address the model. Pure and synchronous; no I/O, no clock, no randomness.
//!
//! A [`Detection`] says what was seen and where. What follows from it is decided by policy.

pub mod audience;
pub mod confusable;
pub mod detection;
pub mod error;
pub mod hidden;
pub mod hostile;
pub mod message;
pub mod sanitize;
mod shown;
pub mod tool;
pub mod verdict;

pub use audience::Audience;
pub use detection::{Category, Detection, Level, Scan};
pub use error::DetectError;
pub use hidden::Hidden;
pub use hostile::Hostile;
pub use sanitize::{Sanitized, sanitize};
pub use tool::{Peer, ToolScan};
pub use verdict::verdict;
