//! The program: arguments in, one command run, an exit code out.

mod age;
mod args;
mod commands;
mod daemon;
mod exit;
mod hook;
mod logins;
mod output;
mod places;
mod program;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::args::{Args, Command, Format};
use crate::exit::Exit;

fn main() -> ExitCode {
    // An agent waits for this one at every use of a tool, also where nothing stands in front.
    if let Some(code) = mcpproxy_front::evaluate::early(std::env::args_os()) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(fault) => return output::usage(&fault),
    };
    let json = matches!(args.global.format(), Format::Json | Format::Jsonl);
    match args.command {
        // Those that watch over a child must stay small and start at once: no runtime, no logging.
        Command::Supervise(supervise) => commands::supervise::run(&supervise),
        Command::Watch { group } => assay::watch(group),
        // It has exit codes of its own.
        Command::Wrap(wrap) => assay::wrap(*wrap, json),
        command => ended(commands::run(&args.global, command)),
    }
}

fn ended(result: Result<Exit>) -> ExitCode {
    match result {
        Ok(code) => code.into(),
        Err(fault) => exit::report(&fault),
    }
}
