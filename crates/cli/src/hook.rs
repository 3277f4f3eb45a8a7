//! `hook`: what agents run before and after they use a tool, and how that gets into their files.
//!
//! `evaluate` itself is in the library, since the program in front answers it alone; here it is run
//! where something stands before it on the command line.

pub(crate) mod canary;
mod install;
pub(crate) mod missed;
mod status;

pub(crate) use status::Reached;

use anyhow::Result;
use clap::Subcommand;
use mcpproxy_agents::hook::HookAgent;
use mcpproxy_front::evaluate;

use crate::args::Global;
use crate::exit::{Exit, bad_input};

const EVALUATE_HELP: &str = "\
An explicit allow makes most agents skip their own question to the user; with `--quiet-allow`, which
`hook install` writes, nothing is said where there is nothing against the use of the tool.

If the gateway cannot be asked within 2 seconds the tool may be used (`--fail-open`), or may not
(`--fail-closed`); either way word of it is left for the gateway and for `doctor`. What is too large
to be looked at, or of 64 KiB and more and not looked at in time, may not be used in either case.";

/// What to do with agents' hooks.
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Answer a hook: the agent's payload on standard input, its own protocol on standard output.
    #[command(after_help = EVALUATE_HELP)]
    Evaluate(evaluate::Options),
    /// Put our hook into an agent's files.
    Install(install::Install),
    /// Take our hook out of agents' files.
    Uninstall(install::Uninstall),
    /// Show which hooks are installed, what is wrong with them, and whether the gateway answers.
    Status(status::Status),
}

/// Runs one command.
pub(crate) fn run(global: &Global, command: HookCommand) -> Result<Exit> {
    match command {
        HookCommand::Evaluate(mut options) => {
            if let Some(name) = options.agent.as_deref()
                && HookAgent::from_name(name).is_none()
            {
                let known = HookAgent::ALL.map(HookAgent::name).join(", ");
                let hint = format!("known are {known}");
                return Err(bad_input(format!("unknown agent `{name}`"), Some(&hint)));
            }
            options.data_dir = options.data_dir.or_else(|| global.data_dir.clone());
            Ok(Exit::Code(evaluate::run(&options)))
        }
        HookCommand::Install(args) => install::install(global, &args),
        HookCommand::Uninstall(args) => install::uninstall(global, &args),
        HookCommand::Status(args) => status::run(global, &args),
    }
}
