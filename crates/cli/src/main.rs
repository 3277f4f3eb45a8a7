//! The program: arguments in, one command run, an exit code out.

mod age;
mod args;
mod commands;
mod daemon;
mod exit;
mod hook;
mod logging;
mod logins;
mod output;
mod places;
mod program;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory as _, Parser as _};

use crate::args::{Args, Command, Format};
use crate::exit::Exit;

/// The exit code that every agent takes for a denial.
const BLOCKS: u8 = 2;

fn main() -> ExitCode {
    // An agent waits for this one at every use of a tool, also where nothing stands in front.
    if let Some(code) = mcpproxy_front::evaluate::early(std::env::args_os()) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(fault) => return misused(&fault),
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

/// Says what is wrong with the arguments. Whoever starts `wrap` for its JSON reads nothing else.
fn misused(fault: &clap::Error) -> ExitCode {
    let words = std::env::args_os().skip(1);
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    let program = Args::command();
    let command = words.iter().find_map(|word| program.find_subcommand(word));
    match command {
        Some(command) if command.get_name() == "wrap" => assay::usage(fault, asks_json(&words)),
        _ if is_closed_hook(&words) => {
            let _shown = output::usage(fault);
            ExitCode::from(BLOCKS)
        }
        _ => output::usage(fault),
    }
}

/// Tells whether an agent waits for a hook that is to deny where it cannot ask: its command may have
/// been written by a newer version.
fn is_closed_hook(words: &[OsString]) -> bool {
    let mut pairs = words.iter().zip(words.iter().skip(1));
    pairs.any(|(one, two)| one == "hook" && two == "evaluate")
        && words.iter().any(|word| word == "--fail-closed")
}

/// Tells whether arguments that cannot be read as a whole ask for JSON.
fn asks_json(words: &[OsString]) -> bool {
    let form = |word: &OsString| word == "json" || word == "jsonl";
    let output = |word: &OsString| word == "-o" || word == "--output";
    let whole = [
        "--json",
        "-ojson",
        "-ojsonl",
        "--output=json",
        "--output=jsonl",
    ];
    let pairs = words.iter().zip(words.iter().skip(1));
    words.iter().any(|word| whole.iter().any(|one| word == one))
        || pairs
            .into_iter()
            .any(|(flag, value)| output(flag) && form(value))
}

fn ended(result: Result<Exit>) -> ExitCode {
    match result {
        Ok(code) => code.into(),
        Err(fault) => exit::report(&fault),
    }
}
