//! Where data was read, and whether it is about to leave: fingerprints, origins, edges, pieces.
//!
//! Text is fingerprinted outside of any lock into events (`reading`, `sending`), which are folded
//! into the state of a scope. Pure: no I/O, no clock, no runtime, and no plain text is kept but
//! the short ends of what was sent, and the last few of those together with what came after them.
//! What follows from a flow is for policy to say.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod settings;
pub mod whose;

mod fold;
mod hash;
mod number;
mod roll;
mod winnow;
mod words;

mod blob;
mod brief;
mod common;
pub mod content;
mod digest;
mod guarded;
mod plain;
mod secret;
mod stream;
mod typed;
mod view;

mod reading;
mod sending;

mod digests;
mod going;
mod hits;
mod known;
mod moving;
mod origins;
mod pool;
mod session;
mod state;
mod tail;

mod directory;
mod event;
mod evidence;
mod outbox;
pub mod summary;
mod tracker;

pub use content::{Content, Marked};
pub use digest::{digest, normalized};
pub use event::{Event, Fate, Lane};
pub use fold::folded;
pub use session::Edge;
pub use settings::{FlowTracking, Scope};
pub use summary::{SessionView, Summary, Usage};
pub use tracker::{Checked, Leaving, Recorded, Tracker};
pub use whose::Whose;
pub use winnow::RUN;
