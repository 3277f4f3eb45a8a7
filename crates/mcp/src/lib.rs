//! JSON-RPC and the Model Context Protocol in both eras: strict frames over exact bytes, what the
//! headers must say, and the transports' framing.
//!
//! No other crate knows the protocol. Deliberately absent: typed models of requests and results.
//! A frame keeps the bytes it was read from, so that unknown fields, methods, result types and
//! number spellings survive.

pub mod body;
pub mod compose;
pub mod dial;
pub mod envelope;
pub mod era;
mod error;
pub mod frame;
pub mod header;
pub mod input;
pub mod line;
pub mod seal;
pub mod sse;
pub mod tap;
pub mod trace;

pub use error::Error;
pub use frame::{Frame, FrameKind, Refusal};
