//! The adversary: a hostile MCP server, and a runner that plays its attacks, each beside a twin that
//! means no harm, through a real gateway with an agent that believes what it reads.
//!
//! What an attack came to is judged by what arrived at the upstreams and by what the gateway wrote
//! down, never by asking the gateway how it did. Deliberately absent: any knowledge of the rules by
//! which the gateway decides. Nothing here is used when the product runs.

mod agent;
mod disguise;
mod error;
mod gateway;
mod hook;
pub mod hostile;
mod metrics;
mod outcome;
mod play;
mod report;
mod run;
mod scenario;
pub mod standards;

pub use self::error::Error;
pub use self::metrics::{Category, Metrics};
pub use self::outcome::{Evidence, Finished, Outcome, TwinOutcome};
pub use self::report::{Replayed, Report};
pub use self::run::{Controlled, Extent, Orders, control, run};
pub use self::scenario::{
    Case, Control, Era, Incident, Library, Measures, Mode, Play, Role, Scenario, Trigger,
    TriggerKind, Verdict, Version, Versions, load,
};
