//! `assay`: a proxy that writes a receipt for every tool call that crosses it, and the commands
//! that verify, explain and compare what it wrote.
//!
//! A program of its own, since it stands in front of every start of a wrapped upstream: it knows
//! the notary and the wire, and nothing of the gateway. Evidence itself is made in `notary`.

mod args;
mod commands;
mod exit;
mod output;
mod proxy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Args;
pub use crate::args::Wrap;
use crate::output::Form;

/// Runs the program on its arguments, the first of which is its own name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // Where the arguments are wrong, nobody else has read this one.
    let json = args
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "--json");
    match Args::try_parse_from(args) {
        Ok(args) => commands::run(args),
        Err(fault) => output::usage(&fault, Form::of(json)),
    }
}

/// Runs `mcp-proxy` for a program that has it as a command of its own; that program must also
/// know the hidden command `watch`, see [`watch`].
pub fn wrap(wrap: Wrap, json: bool) -> ExitCode {
    proxy::run(wrap.proxy, &wrap.keys.folder(), Form::of(json))
}

/// Says what is wrong with the arguments of [`Wrap`], and returns the code to end with.
pub fn usage(fault: &clap::Error, json: bool) -> ExitCode {
    output::usage(fault, Form::of(json))
}

/// Ends a process group once standard input closes: what the proxy starts its own program with, as
/// `watch GROUP`, beside an upstream.
pub fn watch(group: i32) -> ExitCode {
    proxy::child::watch(group)
}
