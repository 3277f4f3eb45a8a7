//! Upstream MCP servers: how they are started, spoken to, kept alive and catalogued.
//!
//! What a downstream wants an upstream to have arrives here as `Cleared<Call>` and in no other
//! form. Deliberately absent: any decision about a call, and any knowledge of downstreams.

pub mod catalogue;
pub mod child;
mod error;
pub mod fleet;
pub mod installed;
pub mod instance;
pub mod link;
pub mod oauth;
pub mod settings;
pub mod supervise;
pub mod switch;
pub mod upstream;

pub use catalogue::{Catalogue, Listed, ToolCard};
pub use error::Error;
pub use fleet::{Fleet, FleetSettings};
pub use instance::{Greeting, Instance};
pub use link::{FromUpstream, Listener};
pub use oauth::{Logins, OAuth, Standing};
pub use upstream::{Caller, State, Upstream, login_of};
