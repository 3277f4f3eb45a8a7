//! What a tool is, what a shell command reads and where it sends, and which hosts are outside.
//! Pure and synchronous; no I/O: a name is never resolved, a file never opened.
//!
//! A class is an opinion with a confidence and the method it came from. What follows from it is
//! decided by policy.

pub mod agents;
pub mod arguments;
pub mod class;
pub mod host;
pub mod operation;
mod package;
pub mod purpose;
pub mod reach;
mod rules;
pub mod settings;
pub mod shell;
pub mod signal;
mod statement;
pub mod tool;
pub mod tools;
pub mod upstreams;
pub mod words;

pub use agents::spelling::{Meaning, Names, meaning};
pub use agents::{Role, role};
pub use arguments::{Arguments, arguments, arguments_with};
pub use class::{Class, Confidence, Kind, Method, World};
pub use operation::Does;
pub use package::{bridged, package, source};
pub use reach::{Endpoints, Sort, Suspicion};
pub use settings::Classification;
pub use signal::{Says, Signal, SignalSource};
pub use tool::{Annotations, Parameter, Tool};
pub use tools::{ToolClass, tool};
pub use upstreams::{Upstream, is_browser, upstream};
pub use words::Words;
