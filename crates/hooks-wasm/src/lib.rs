//! Security hooks that are WebAssembly components, of the world in `wit/hook.wit`.
//!
//! A component is given no imports at all: no files, no network, no clock, no environment. Every
//! question gets an instance of its own out of a pool, so nothing is left over from one message to
//! the next, and bounds on work, memory, time and the size of what it answers. Order, failure
//! modes and breakers are not here: the registry has them for all hooks alike.

mod answer;
mod hook;
mod loaded;
mod question;
mod sandbox;
mod settings;

mod error;

pub use crate::error::Error;
pub use crate::hook::{Reload, WasmHook};
pub use crate::settings::{WasmConfig, WasmSettings};
