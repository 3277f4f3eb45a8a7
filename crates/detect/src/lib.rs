//! Rules in, text in, detections out: secrets, personal data, credential files, hidden characters
//! and instructions that address the model. Pure and synchronous; no I/O, no clock, no randomness.
//!
//! A [`Detection`] says what was seen and where. What follows from it is decided by policy.

pub mod allow;
mod custom;
pub mod detection;
mod detector;
pub mod error;
pub mod files;
pub mod mask;
mod merge;
pub mod pii;
pub mod report;
pub mod secrets;
pub mod settings;

pub use detection::{Category, Detection, Level, Scan};
pub use detector::{Context, Detector, Direction};
pub use error::DetectError;
pub use files::Files;
pub use pii::Pii;
pub use report::{Coverage, Found, Reason, Report, Unread};
pub use secrets::Secrets;
pub use settings::Settings;
