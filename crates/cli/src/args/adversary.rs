//! The arguments of `mcpproxy adversary`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Adversary {
    /// Be a hostile MCP server that plays an attack.
    Serve(AdversaryServe),
    /// Play attacks and their harmless twins through a gateway, and count what came of them.
    Run(AdversaryRun),
    /// List scenarios and their cases.
    List,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AdversaryServe {
    /// What to play: `NAME`, `NAME/CASE`, or a file of your own. Of several cases, the first.
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: String,
    /// How to be reached: over stdio one upstream of the case, over HTTP all of them.
    #[arg(long, value_enum, default_value = "stdio")]
    pub(crate) transport: AdversaryTransport,
    /// Over stdio, which upstream of the case; the one that attacks if not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) upstream: Option<String>,
    /// Which eras of the protocol to speak, where the scenario does not say.
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) era: AdversaryEra,
    /// Play the harmless twin instead.
    #[arg(long)]
    pub(crate) twin: bool,
    /// Over stdio, a file to which every line received is appended. Connections that are in it count
    /// for an upstream that turns when it is connected to anew.
    #[arg(long)]
    pub(crate) record: Option<PathBuf>,
}

/// How a hostile server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryTransport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP on a free port of this machine.
    Http,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub(crate) struct AdversaryRun {
    /// What to play: `NAME`, `NAME/CASE`, or a file of your own.
    #[arg(conflicts_with = "all", group = "what")]
    pub(crate) name: Option<String>,
    /// Play everything.
    #[arg(long, group = "what")]
    pub(crate) all: bool,
    /// Print SARIF 2.1.0; the same as `--output sarif`.
    #[arg(long)]
    pub(crate) sarif: bool,
    /// Also write a report to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Whether the agent's hook tells the gateway what the agent is about to do.
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) mode: AdversaryMode,
    /// In which era of the protocol agent and upstreams speak.
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) era: AdversaryEra,
    /// Switch the defence off instead: every attack must do its harm, or the test proves nothing.
    #[arg(long, conflicts_with_all = ["sarif", "html"])]
    pub(crate) control: bool,
}

/// The eras of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryEra {
    /// Versions up to 2025-11-25, which open with `initialize`.
    Legacy,
    /// 2026-07-28, stateless.
    Modern,
    /// Each of them.
    Both,
}

/// How agent and gateway work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryMode {
    /// The gateway sees what passes through it.
    Proxy,
    /// The hook tells it more.
    Hooks,
    /// Each way once.
    Both,
}
