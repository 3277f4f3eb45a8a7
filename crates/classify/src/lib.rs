//! What a tool is, what a shell command reads and where it sends, and which hosts are outside.
//! Pure and synchronous; no I/O: a name is never resolved, a file never opened.
//!
//! A class is an opinion with a confidence and the method it came from. What follows from it is
//! decided by policy.

pub mod class;
pub mod host;
mod package;
pub mod settings;
pub mod upstreams;
pub mod words;

pub use class::{Class, Confidence, Kind, Method, Sink, World};
pub use settings::Classification;
pub use upstreams::{Upstream, upstream};
pub use words::Words;
