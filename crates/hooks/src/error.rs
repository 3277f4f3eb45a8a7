//! Why a pipeline was not put together.

use mcpproxy_core::HookFault;

/// Why a pipeline was not put together.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Two hooks have one id.
    #[error("two hooks have the id `{0}`")]
    Twice(String),
    /// A hook has no id.
    #[error("a hook has no id")]
    Unnamed,
    /// A hook could not start and is fail-closed.
    #[error("hook `{id}` cannot start: {fault}")]
    Start {
        /// The hook.
        id: String,
        /// Why.
        fault: HookFault,
    },
}
