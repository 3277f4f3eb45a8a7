//! What a tool is, what a shell command reads and where it sends, and which hosts are outside.
//! Pure and synchronous; no I/O: a name is never resolved, a file never opened.
//!
//! A class is an opinion with a confidence and the method it came from. What follows from it is
//! decided by policy.

pub mod shell;
