//! Rules in, text in, detections out: secrets, personal data, credential files, hidden characters
//! and instructions that address the model. Pure and synchronous; no I/O, no clock, no randomness.
//!
//! A [`Detection`] says what was seen and where. What follows from it is decided by policy.

pub mod allow;
pub mod audience;
pub mod case;
mod custom;
pub mod detection;
mod detector;
pub mod error;
pub mod files;
pub mod hidden;
pub mod hostile;
pub mod makeup;
pub mod mask;
mod merge;
pub mod message;
pub mod pii;
pub mod report;
pub mod rules;
pub mod sanitize;
pub mod secrets;
pub mod settings;
mod shown;
pub mod tool;
pub mod verdict;

pub use audience::Audience;
pub use case::Judgement;
pub use detection::{Category, Detection, Level, Scan};
pub use detector::{Context, Detector, Direction};
pub use error::DetectError;
pub use files::Files;
pub use hidden::Hidden;
pub use hostile::Hostile;
pub use makeup::Makeup;
pub use mcpproxy_text::confusable;
pub use pii::Pii;
pub use report::{Coverage, Found, Reason, Report, Unread};
pub use rules::Rules;
pub use sanitize::{Sanitized, sanitize};
pub use secrets::Secrets;
pub use settings::Settings;
pub use tool::{Inspector, Peer};
pub use verdict::verdict;
