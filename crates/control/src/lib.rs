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
pub mod quarantine;
mod strict;
pub mod tokens;
pub mod vault;

pub use change::{Act, Change, Effect};
pub use configurer::{ChangeFault, Configurer, ReloadReport};
pub use control::{Control, NewToken, Reloaded};
pub use error::{Error, Kind, Refused};
pub use folder::prepare_data_dir;
pub use keys::{ApiKey, Created};
pub use orders::{Order, Orders};
pub use quarantine::Moved;
pub use tokens::{TokenInfo, TokenScope, Tokens};
pub use vault::Vault;
