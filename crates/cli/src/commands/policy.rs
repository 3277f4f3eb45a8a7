//! `policy`: what the policy in force is, what it would do, and why.
//!
//! Nothing here talks to a gateway or an upstream: calls go through an engine of their own.

mod replay;
mod test;

use std::path::Path;

use anyhow::{Context as _, Result};
use mcpproxy_config::Loaded;
use mcpproxy_core::Askable;
use mcpproxy_engine::replay::{Replay, Session};
use mcpproxy_engine::{DetectError, EngineSettings};
use serde_json::Value;

use crate::args::{Global, Policy};
use crate::daemon::{access, configuration, engine_settings, flags};
use crate::exit::{Exit, bad_input};
use crate::output;

/// Runs one of the commands.
pub(crate) fn run(global: &Global, command: &Policy) -> Result<Exit> {
    match command {
        Policy::Check => check(global),
        Policy::Test { files } => test::run(global, files),
        Policy::Explain { file } => explain(global, file),
        Policy::Replay { jsonl } => replay::run(global, jsonl),
    }
}

/// Puts an engine together that touches nothing, with guards and access policies as configured.
pub(super) fn engine(loaded: &Loaded) -> Result<Replay> {
    engine_of(loaded, engine_settings(loaded))
}

/// The same with settings of its own.
pub(super) fn engine_of(loaded: &Loaded, settings: EngineSettings) -> Result<Replay> {
    let made = Replay::new(settings, Askable::AgentPrompt);
    let made = made.map_err(|fault: DetectError| bad_input(fault.to_string(), None))?;
    let rules = access::rules(loaded).map_err(|why| bad_input(why, None))?;
    made.engine().set_access(rules);
    Ok(made)
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    Ok(runtime.block_on(work))
}

fn check(global: &Global) -> Result<Exit> {
    let loaded = configuration(&flags(global, None))?;
    let policy = serde_json::to_value(loaded.config.security.policy())?;
    drop(engine(&loaded)?);
    match (&policy, global.format()) {
        (Value::Object(sections), crate::args::Format::Table) => {
            for (name, section) in sections {
                output::line(&format!("{name}:"))?;
                output::value(global.format(), section)?;
                output::line("")?;
            }
        }
        (policy, format) => output::value(format, policy)?,
    }
    output::note("the policy is valid");
    Ok(Exit::Fine)
}

/// Reads a file, or standard input for `-`.
pub(super) fn read(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        return Ok(std::io::read_to_string(std::io::stdin())?);
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

fn explain(global: &Global, file: &Path) -> Result<Exit> {
    let text = read(file)?;
    let session = Session::read(&text).map_err(|fault| {
        let hint = "give one call {server, tool, args}, or {calls: [...]}, whose last is explained";
        bad_input(format!("`{}`: {fault}", file.display()), Some(hint))
    })?;
    let replay = engine(&configuration(&flags(global, None))?)?;
    let explained = block_on(replay.explain(&session))??;
    let Some(explained) = explained else {
        return Err(bad_input("there is no call to explain", None));
    };
    match global.format() {
        crate::args::Format::Table => output::line(&explained.to_string())?,
        format => output::value(format, &serde_json::to_value(&explained)?)?,
    }
    Ok(Exit::Fine)
}
