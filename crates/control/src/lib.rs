//! The authorized operations behind every administrative surface: REST, dashboard, command line
//! and management tools all come through [`Control`].
//!
//! Deliberately absent: a runtime, HTTP, and the configuration file, which stands behind the port
//! [`Configurer`]. Operations that write wait for the disk, so an asynchronous caller runs them
//! where blocking is allowed.

pub mod activity;
pub mod change;
pub mod configurer;
pub mod control;
mod credential;
pub mod error;
mod file;
pub mod folder;
pub mod keys;
pub mod orders;
mod policy;
pub mod quarantine;
mod strict;
pub mod tokens;
pub mod vault;

pub use activity::export::Export;
pub use activity::summary::Summary;
pub use change::{Act, Change, Effect, may_audit};
pub use configurer::{
    Applied, ChangeFault, ConfigChange, Configurer, ReloadReport, Shown, ShownValue,
};
pub use control::{Control, NewToken, Reconfigured, Reloaded};
pub use error::{Error, Kind, Refused};
pub use folder::prepare_data_dir;
pub use keys::{ApiKey, Created};
pub use orders::{Order, Orders};
pub use policy::Replayed;
pub use quarantine::Moved;
pub use tokens::{Adopted, TokenInfo, TokenNews, TokenScope, Tokens};
pub use vault::Vault;
