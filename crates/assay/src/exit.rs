//! Exit codes, and errors that know theirs.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// As asked: a session with its pack, a pack that verifies.
    Fine,
    /// Honest failure: violations on record, a claim that fails, a signer that is not known.
    Failing,
    /// The evidence is damaged, incomplete or could not be made.
    Broken,
    /// What was given cannot be used.
    BadInput,
    /// Interrupted, after the pack was made.
    Interrupted,
    /// Terminated, after the pack was made.
    Terminated,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failing => 1,
            Exit::Broken => 2,
            Exit::BadInput => 3,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        })
    }
}

/// An error with the code to end with.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failed {}

/// Makes an error about what the user gave.
pub(crate) fn bad_input(message: impl Into<String>) -> anyhow::Error {
    let exit = Exit::BadInput;
    let message = message.into();
    Failed { exit, message }.into()
}

/// Returns the code that an error ends with.
pub(crate) fn code_of(fault: &anyhow::Error) -> Exit {
    let failed = fault.downcast_ref::<Failed>();
    failed.map_or(Exit::Broken, |failed| failed.exit)
}
