//! The dashboard at `/ui/`: pages rendered here, in the one program.
//!
//! A page gets what it shows, and does what a person asks of it, only through the REST interface,
//! which is called in this process. So nothing can be done here that the interface does not allow,
//! and any router that answers like it will do for a test. Deliberately absent: every rule about
//! who may do what, every store, and every resource from elsewhere.

mod act;
mod activity;
mod api;
mod app;
mod approvals;
mod assets;
mod chart;
mod error;
mod filters;
mod flows;
mod login;
mod look;
mod overview;
mod page;
mod pieces;
mod policy;
mod record;
mod session;
mod shown;
mod tools;

#[cfg(test)]
mod tests;

pub use app::{Parts, app};
pub use session::Others;
