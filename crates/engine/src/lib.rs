//! The one way that every call takes, whatever door it came through: facts once, guards, a
//! verdict, clearance; and on the way back origins and the record.
//!
//! A door translates; it never decides. Only this crate issues `Cleared`.

mod access;
mod addressees;
pub mod approvals;
mod bodies;
pub mod calls;
mod changed;
mod chronicle;
pub mod classes;
mod commands;
mod contradictions;
pub mod correlate;
pub mod coverage;
pub mod engine;
pub mod events;
mod facts;
mod guarded;
pub mod hooks;
mod integrity;
mod known;
mod live;
mod marks;
mod nearby;
mod offers;
mod out_of_scope;
mod own;
mod pipeline;
mod quarantine;
mod rates;
mod reads;
mod ready;
mod record;
pub mod recorded;
pub mod replay;
mod runs;
pub mod stops;
mod witness;

pub use approvals::{Approval, Approvals, Kept, Names, Settled, Standing};
pub use changed::Changed;
pub use chronicle::Happening;
pub use classes::{Described, Profile};
pub use correlate::{Arrival, Fingerprint, Reach};
pub use coverage::{AgentHeard, HeardNews, Sight};
pub use engine::{After, Asked, Before, Denied, Engine, Recording, Said, Unasked};
pub use events::{Event, Events};
pub use hooks::{Attributed, Evaluation, HookSettings};
pub use live::OnLoss;
pub use mcpproxy_detect::DetectError;
pub use mcpproxy_flow::{Edge, SessionView};
pub use mcpproxy_hooks::guards::access::HIDDEN;
pub use mcpproxy_hooks::guards::{self, Settings as GuardSettings};
pub use mcpproxy_hooks::metrics;
pub use mcpproxy_hooks::{Health, Metrics, Registry};
pub use offers::{Diff, News};
pub use out_of_scope::SCOPE;
pub use own::paths::{MOST as MOST_PATHS, all as paths_given};
pub use pipeline::{HOOKED, Heard, Note, Tried, UnderWay};
pub use quarantine::{Extent, Held, Known, NotSet, Offered, UNLISTED, WITHHELD, Which};
pub use ready::EngineSettings;
pub use stops::{StopScope, Stops, is_named};
pub use witness::{refusal, unjudged};
