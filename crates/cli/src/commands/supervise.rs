//! `supervise`: watches over a child of the gateway. See `mcpproxy_upstream::supervise`.

use std::process::ExitCode;
use std::time::Duration;

use crate::args::Supervise;
use crate::exit::Exit;

/// Watches over a child until it has ended.
pub(crate) fn run(supervise: &Supervise) -> ExitCode {
    let Some((program, args)) = supervise.command.split_first() else {
        return Exit::BadInput.into();
    };
    mcpproxy_upstream::supervise::supervise(program, args, Duration::from_millis(supervise.grace))
}
