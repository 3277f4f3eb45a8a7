//! Who may use what, by policies written in Cedar, behind the port in `core`.
//!
//! A synchronous decision over caller, upstream, tool, operation and argument values, for calls
//! and for what is listed. Reading files, where a caller comes from, and what a refusal looks like
//! to whoever asked are not here.

mod bounds;
mod named;
mod policies;
mod question;
mod remembered;

mod error;

pub use crate::error::Error;
pub use crate::policies::CedarRules;
