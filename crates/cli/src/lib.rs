//! What agents wait for: `hook evaluate`, apart from the rest of the program, so that the small
//! program in front can hold it alone.

pub mod evaluate;

/// The name of the socket in the data folder.
pub const SOCKET: &str = "mcpproxy.sock";
/// The name of the small program in front, and of the one beside it that does the rest.
pub const FRONT: &str = "mcpproxy";
/// The program that does the rest.
pub const REST: &str = "mcpproxy-rest";
