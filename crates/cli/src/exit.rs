//! Exit codes, and errors that know theirs.

use std::process::ExitCode;

use crate::output;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// As asked.
    Fine,
    /// Something was found or denied.
    Findings,
    /// Something failed.
    Error,
    /// The input or the configuration is wrong.
    BadInput,
    /// A credential is needed.
    NeedsAuth,
    /// As the protocol of whoever runs the command wants it.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Findings => 1,
            Exit::Error => 2,
            Exit::BadInput => 3,
            Exit::NeedsAuth => 4,
            Exit::Code(code) => code,
        })
    }
}

/// An error with the code to end with and, where one is known, a remedy.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failed {}

/// Makes an error about what the user gave.
pub(crate) fn bad_input(message: impl Into<String>, hint: Option<&str>) -> anyhow::Error {
    let hint = hint.map(str::to_owned);
    Failed {
        exit: Exit::BadInput,
        message: message.into(),
        hint,
    }
    .into()
}

/// Makes an error about something that failed.
pub(crate) fn failed(message: impl Into<String>, hint: Option<&str>) -> anyhow::Error {
    let hint = hint.map(str::to_owned);
    Failed {
        exit: Exit::Error,
        message: message.into(),
        hint,
    }
    .into()
}

/// Prints an error with its remedy and returns its code.
pub(crate) fn report(fault: &anyhow::Error) -> ExitCode {
    if let Some(failed) = fault.downcast_ref::<Failed>() {
        output::error(&failed.message, failed.hint.as_deref());
        return failed.exit.into();
    }
    output::error(&format!("{fault:#}"), None);
    Exit::Error.into()
}
