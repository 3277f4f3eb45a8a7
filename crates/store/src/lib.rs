//! Where activity records are kept: for now one file, a JSON object a line.
//!
//! One writer thread takes records from a bounded queue and writes them in groups, so that the
//! commit in progress does the batching. Queries are for a later version.

mod error;
pub mod file;

pub use error::Error;
pub use file::{FileSink, NoSink};
