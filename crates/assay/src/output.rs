//! What the user sees: data on standard output, everything else on standard error.
//!
//! While a proxy runs, standard output belongs to the protocol and nothing here writes to it.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use mcpproxy_notary::tally::plain;
use serde_json::{Value, json};

use crate::exit::Exit;

/// How remarks are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Form {
    /// Reads the flag `--json`.
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }

    /// Prints a remark on standard error; `event` and `details` are for programs, `text` for people.
    pub(crate) fn note(self, event: &str, text: &str, details: Value) {
        let line = match self {
            Self::Text => format!("assay: {}", plain(text)),
            Self::Json => {
                let mut object = json!({ "event": event, "message": text });
                if let (Value::Object(object), Value::Object(details)) = (&mut object, details) {
                    object.extend(details);
                }
                object.to_string()
            }
        };
        drop(writeln!(io::stderr().lock(), "{line}"));
    }

    /// Prints an error.
    pub(crate) fn error(self, message: &str) {
        match self {
            Self::Text => drop(writeln!(io::stderr().lock(), "error: {}", plain(message))),
            Self::Json => self.note("error", message, Value::Null),
        }
    }
}

/// Prints data. A reader that has gone away is not an error.
pub(crate) fn data(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{end}") {
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Puts lines together, each of which may repeat what others wrote and stays one line.
pub(crate) fn lines(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    lines.join("\n")
}

/// Prints what clap has to say: help on standard output, mistakes on standard error.
pub(crate) fn usage(fault: &clap::Error, form: Form) -> ExitCode {
    if !fault.use_stderr() {
        drop(fault.print());
        return Exit::Fine.into();
    }
    match form {
        Form::Text => drop(fault.print()),
        Form::Json => {
            let text = fault.to_string();
            form.error(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
        }
    }
    Exit::BadInput.into()
}
