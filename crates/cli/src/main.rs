//! The program: arguments in, one command run, an exit code out.

mod args;
mod commands;
mod daemon;
mod exit;
mod hook;
mod output;
mod places;
mod program;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    // An agent waits for this one at every use of a tool, also where nothing stands in front.
    if let Some(code) = mcpproxy_front::evaluate::early(std::env::args_os()) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(fault) => return output::usage(&fault),
    };
    // The supervisor must stay small and start at once: no runtime, no logging.
    if let Command::Supervise(supervise) = &args.command {
        return commands::supervise::run(supervise);
    }
    match commands::run(args) {
        Ok(code) => code.into(),
        Err(fault) => exit::report(&fault),
    }
}
