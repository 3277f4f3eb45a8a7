//! Where each agent keeps its MCP configuration, and how to change it.
//!
//! The way of a file: `discover` reads it, `plan` decides what it will say, `apply` backs it up and
//! writes it, `undo` puts the original back. Only `apply` and `undo` write, and only files that say
//! what they said when they were read. Nothing here reads the environment or the clock, and nothing
//! knows mcpproxy's own configuration: the caller adds the imported upstreams to it.

pub mod hook;

mod agent;
mod discover;
mod document;
mod endpoint;
mod error;
mod imported;
mod note;
mod places;
mod plan;
mod problem;

mod apply;
mod files;
mod manifest;
mod merge;
mod undo;

mod claude_code;
mod claude_desktop;
mod codex;
mod cursor;
mod gemini;
mod goose;
mod vscode;
mod windsurf;

mod entry;
mod names;
mod secrets;
mod shown;
mod vars;

mod format;
mod jsonc;
mod patch;
mod style;
mod toml;
mod tree;
mod yaml;

pub use agent::AgentKind;
pub use apply::{Applied, MissingFolder, apply};
pub use discover::{Found, blank, discover};
pub use document::Document;
pub use endpoint::{ENTRY_NAME, Endpoint, Launch};
pub use error::Error;
pub use imported::{Imported, Transport};
pub use note::{Note, Origin};
pub use places::{Os, Places, Scope};
pub use plan::{Plan, PlannedFile, PlannedUpstream, plan};
pub use problem::Problem;
pub use secrets::{is_reference, mask_args, mask_url};
pub use undo::{Conflict, OnConflict, Undone, undo};
