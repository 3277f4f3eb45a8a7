//! The gateway: listeners, sessions, routing, tool search, and the REST interface.
//!
//! Doors (`streamable`, `legacy_sse`, `lines`, `rest`) translate; `router` finds out what a
//! message is for; `forward` takes it through the engine to its upstream and back. Nothing here
//! decides about a call: that is the engine's.

pub mod access;
mod again;
mod aim;
mod arrived;
mod asides;
pub mod ask;
mod board;
mod changed;
mod clear;
pub mod downstream;
mod error;
pub mod forward;
pub mod gaps;
pub mod gateway;
pub mod handover;
mod heard;
pub mod hub;
pub mod legacy_sse;
mod line;
pub mod lines;
mod listed;
mod listen;
pub mod listing;
mod logouts;
pub mod management;
mod moved;
mod news;
mod notices;
pub mod oauth;
pub mod parked;
mod patience;
pub mod quarantine;
mod relay;
mod renewed;
pub mod reply;
pub mod rest;
mod retries;
pub mod router;
pub mod serve;
pub mod session;
pub mod settings;
pub mod shed;
mod silent;
pub mod standard;
pub mod streamable;
pub mod streams;
pub mod tls;
mod token_news;
pub mod toolbox;
pub mod translate;
mod unjudged;
mod watches;
mod withheld;

pub use error::Error;
pub use gateway::{Active, Gateway, GatewayParts};
pub use serve::{Listening, serve};
