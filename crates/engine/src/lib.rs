//! The one way that every call takes, whatever door it came through: facts once, guards, a
//! verdict, clearance; and on the way back origins and the record.
//!
//! A door translates; it never decides. Only this crate issues `Cleared`.

pub mod engine;
pub mod fields;
pub mod stops;

pub use engine::{Before, Engine, EngineSettings};
pub use stops::{StopScope, Stops, is_named};
