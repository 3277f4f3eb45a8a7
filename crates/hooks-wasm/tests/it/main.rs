//! Components of `examples/`, and hostile ones, asked through the port.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod asked;
mod examples;
mod faults;
mod guest;
mod swap;
