//! Raw file to checked configuration.
//!
//! The way of a file: `source` holds its text, `read` makes a tree of nodes that know their place,
//! `variables` puts in the environment, `shape` brings older spellings to one form, `merge` lays
//! the layers over each other, `decode` turns the tree into the owners' settings and names every
//! mistake, `check` looks at what no single key can tell.
//!
//! Deliberately absent: what the settings mean (their owners know), the process environment (it is
//! handed in), and any watching of files (a [`Fingerprint`] is polled by whoever reloads).

mod check;
mod config;
mod decode;
mod document;
pub mod edit;
mod error;
mod fingerprint;
mod load;
mod merge;
mod node;
mod notice;
mod origin;
mod path;
mod read;
mod report;
mod scalar;
mod scenario;
mod security;
mod shape;
mod show;
mod source;
mod sources;
mod variables;

pub use self::config::{Config, schema};
pub use self::document::read_document;
pub use self::error::{Error, Problem, Problems};
pub use self::fingerprint::Fingerprint;
pub use self::load::{Loaded, check_upstream, data_dir, load, load_text, load_with, target};
pub use self::notice::{About, Notice};
pub use self::origin::{Origin, Origins, Position};
pub use self::scenario::read_scenario;
pub use self::security::{
    AgentHooks, ApprovalMode, Approvals, AuditLogging, BaselinePlace, CustomPattern, FailureMode,
    HookKind, HookMethod, HookPhase, HookProtocol, HookSettings, HookSight, PatternSeverity,
    PiiDetection, PiiPattern, SecuritySettings, ToolQuarantine, baseline_place,
};
pub use self::show::{Row, show};
pub use self::sources::{Flags, Sources};
