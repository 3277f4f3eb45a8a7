//! The command line, as clap reads it. What the arguments lead to is in `commands`.

mod activity;
mod adversary;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use mcpproxy_upstream::settings::Span;
use serde::Serialize;

pub(crate) use self::activity::{
    ActivityExport, ActivityFilter, ActivityList, ActivitySummary, ActivityWatch, ExportFormat,
    Rollup,
};
pub(crate) use self::adversary::{
    Adversary, AdversaryEra, AdversaryMode, AdversaryRun, AdversaryServe, AdversaryTransport,
};

/// Firewall and flight recorder for agents that use the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(
    name = "mcpproxy",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Global {
    /// The only configuration file that is read.
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder for state, socket and user configuration.
    #[arg(short, long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Form of the output.
    #[arg(
        short,
        long,
        global = true,
        value_name = "OUTPUT",
        default_value = "table"
    )]
    #[arg(value_parser = OutputParser)]
    pub(crate) output: Output,
    /// The same as `--output json`.
    #[arg(long, global = true, conflicts_with = "output")]
    pub(crate) json: bool,
    /// Least weight of an event that is logged: error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
}

impl Global {
    /// Returns the form of the output.
    pub(crate) fn format(&self) -> Format {
        match &self.output {
            _ if self.json => Format::Json,
            Output::Form(form) => *form,
            Output::File(_) => Format::Table,
        }
    }

    /// Returns the file that is to be written, where one was named.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.output {
            Output::File(file) => Some(file),
            Output::Form(_) => None,
        }
    }
}

/// What `--output` says: a form, or for an export the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A form.
    Form(Format),
    /// A file.
    File(PathBuf),
}

/// Reads `--output`: what is no form is a file.
#[derive(Clone, Debug)]
pub(crate) struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = Output;

    fn parse_ref(
        &self,
        _: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Output, clap::Error> {
        let form = value
            .to_str()
            .and_then(|text| Format::from_str(text, true).ok());
        Ok(form.map_or_else(|| Output::File(value.into()), Output::Form))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let forms = Format::value_variants().iter();
        Some(Box::new(forms.filter_map(ValueEnum::to_possible_value)))
    }
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One JSON value.
    Json,
    /// YAML.
    Yaml,
    /// One JSON value a line.
    Jsonl,
    /// SARIF 2.1.0, of `scan` and `adversary run` only.
    Sarif,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway.
    Serve(Serve),
    /// Connect an agent that knows only stdio to the running gateway.
    Stdio(Stdio),
    /// Record the calls to one upstream, without a gateway; the same as `assay mcp-proxy`.
    Wrap(Box<assay::Wrap>),
    /// Find the MCP configurations of agents, import their servers, point them here.
    Init(Init),
    /// Show what works, what does not, and what to do about it.
    Doctor,
    /// Show how the running gateway is doing.
    Status,
    /// Print a link that opens the dashboard once.
    Ui,
    /// Manage upstream MCP servers.
    #[command(subcommand)]
    Upstream(Upstream),
    /// Look at tools.
    #[command(subcommand)]
    Tools(Tools),
    /// Look at what is on record about calls.
    #[command(subcommand)]
    Activity(Activity),
    /// Call a tool through the running gateway.
    #[command(subcommand)]
    Call(Call),
    /// Stop calls at once: all of them, or those of one upstream, session or principal.
    StopCalls(Stop),
    /// Let stopped calls pass again.
    ResumeCalls(Stop),
    /// Answer for calls that wait for a person.
    #[command(subcommand)]
    Approvals(Approvals),
    /// Check, test and explain the policy.
    #[command(subcommand)]
    Policy(Policy),
    /// Manage the tokens that agents authenticate with.
    #[command(subcommand)]
    Token(Token),
    /// Check and show the configuration.
    #[command(subcommand)]
    Config(Config),
    /// Judge JSON lines on standard input: texts, tools, results, arguments and messages.
    #[command(after_help = DETECT_HELP)]
    Detect,
    /// Look at the rules of the detectors.
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Look for attacks and exposed secrets in tools, configurations and upstreams.
    #[command(after_help = SCAN_HELP)]
    Scan(Scan),
    /// Answer agents' hooks, install them, and look at them.
    #[command(subcommand)]
    Hook(crate::hook::HookCommand),
    /// Look at the security hooks that every call passes, and try them out.
    #[command(subcommand)]
    Hooks(Hooks),
    /// Start sample servers and show a call going through, with nothing installed.
    Demo,
    /// Play attacks on a gateway of their own, or be a hostile server.
    #[command(subcommand)]
    Adversary(Adversary),
    /// Print a completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
    /// Watch over a child of the gateway.
    #[command(hide = true)]
    Supervise(Supervise),
    /// End a process group once standard input closes; `wrap` runs this beside its upstream.
    #[command(hide = true)]
    Watch {
        /// The number of the group.
        group: i32,
    },
    /// Run a sample MCP server on standard input and output.
    #[command(hide = true)]
    Sample(Sample),
}

/// What to do with calls that wait for a person.
#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// Show what waits, oldest first.
    List,
    /// Show one question whole: what the call would send, masked, and where to.
    Show {
        /// The question, as `approvals list` shows it.
        id: String,
    },
    /// Let a call leave. Needs the API key, in `MCPPROXY_API_KEY` or typed.
    Approve {
        /// The question, as `approvals list` shows it.
        id: String,
    },
    /// Do not let a call leave. Needs the API key, in `MCPPROXY_API_KEY` or typed.
    Deny {
        /// The question, as `approvals list` shows it.
        id: String,
    },
}

/// What to do with the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Check the policy in force and show it.
    Check,
    /// Run scenario files: calls with their results, and the verdicts that are expected.
    Test {
        /// The scenario files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Explain what would happen to a call, tier by tier and point by point.
    Explain {
        /// One call {server, tool, args}, or {calls: [...]} whose last call is explained; `-` reads
        /// standard input.
        file: PathBuf,
    },
    /// Take sessions that went by through the engine, without touching any server.
    Replay {
        /// Sessions {id, calls: [{server, tool, args, result}]}, one a line; `-` reads standard
        /// input.
        #[arg(long, value_name = "FILE")]
        jsonl: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hooks {
    /// Show how the hooks of the running gateway are doing.
    List,
    /// Ask a hook about calls that are not sent.
    Test {
        /// The hook's id.
        id: String,
        /// One call {server, tool, args, result}, {calls: [...]}, or a record as `activity show ID
        /// --json` prints it; `-` reads standard input.
        file: PathBuf,
    },
    /// Measure how long a hook takes.
    Bench {
        /// The hook's id.
        id: String,
        /// The calls, as for `test`; without them one of a kilobyte.
        file: Option<PathBuf>,
        /// How often it is asked.
        #[arg(short = 'n', long, value_name = "TIMES", default_value_t = 200)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        times: u32,
    },
}

const DETECT_HELP: &str = "\
Each line is an object with `id`, `kind` and what the kind needs:
  text, result, instructions   `text`
  args                         `args`, the arguments of a call
  tool                         `tool`, a descriptor; `peers`, tools of other upstreams
  tool_pair                    `before` and `after`, two descriptors
  frame                        `frame`, a JSON-RPC message

Each answer is a line {id, verdict: block|warn|clean, findings}, or {id, error}
for a line that cannot be judged; then the exit code is 3.";

const SCAN_HELP: &str = "\
Without a target the whole configuration is looked at: its files, and every upstream, which is
started for it and ended afterwards. A file is never started from.

Exit codes: 0 nothing to look at, 1 findings, 2 something could not be scanned, 3 bad input.";

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List all rules.
    List,
    /// Show all that is known about a rule.
    Show {
        /// Its id.
        id: String,
    },
    /// Run the examples of all rules.
    Check,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Scan {
    /// A saved `tools/list`, a configuration file of an agent or of mcpproxy, or the name of an
    /// upstream.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// The address of an upstream that already runs.
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// Also show what is only worth a note.
    #[arg(long)]
    pub(crate) notes: bool,
    /// The program of an upstream and its arguments, after `--`.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stdio {
    /// Run a gateway of its own instead of using a running one.
    #[arg(long)]
    pub(crate) standalone: bool,
    /// What the agent is shown: the configured mode if not given.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
}

/// What an agent is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Tools to search tools and to call what was found.
    Call,
    /// Every tool of every upstream.
    All,
}

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct Init {
    /// Show what would be done and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take back what the last `init` did.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) undo: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only these agents.
    #[arg(long = "agent", value_name = "NAME")]
    pub(crate) agents: Vec<String>,
    /// With `--yes`, also import from the project's files of the agents that `--agent` names.
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Upstream {
    /// List upstreams and how they are doing.
    List,
    /// Add an upstream to the configuration.
    Add(AddUpstream),
    /// Remove an upstream from the configuration.
    Remove {
        /// Its name.
        name: String,
    },
    /// Switch an upstream on.
    Enable {
        /// Its name.
        name: String,
    },
    /// Switch an upstream off.
    Disable {
        /// Its name.
        name: String,
    },
    /// Start an upstream anew.
    Restart {
        /// Its name.
        name: String,
    },
    /// Withhold everything that an upstream offers.
    Quarantine {
        /// Its name.
        name: String,
    },
    /// Let an upstream out of quarantine. Needs the API key, in `MCPPROXY_API_KEY` or typed.
    Unquarantine {
        /// Its name.
        name: String,
    },
    /// Show what an upstream wrote to standard error.
    Logs {
        /// Its name.
        name: String,
    },
    /// Log in to an upstream that wants it. Prints the address to open.
    Login {
        /// Its name.
        name: String,
        /// Leave it to you to open the address.
        #[arg(long)]
        no_browser: bool,
    },
    /// Forget the login to an upstream, and tell who issued it.
    Logout {
        /// Its name.
        name: String,
    },
    /// Import the servers of an agent's configuration without changing the agent.
    Import {
        /// The agent, as `claude-code` or `cursor`; all that are found if not given.
        agent: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddUpstream {
    /// Its name.
    pub(crate) name: String,
    /// The address of a server that already runs.
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A header for the address, as `Name: value`.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// A variable for the program, as `NAME=value`.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// The program and its arguments, after `--`.
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools of all upstreams.
    List {
        /// Only those that match.
        query: Option<String>,
    },
    /// Let tools pass that are withheld, as they are now. Needs the API key, in
    /// `MCPPROXY_API_KEY` or typed.
    Approve(ChosenTools),
    /// Withhold tools until they are approved by name.
    Block(ChosenTools),
    /// Show what changed in a tool since it was approved.
    Diff {
        /// The upstream, or both as `UPSTREAM:TOOL`.
        upstream: String,
        /// The tool, prompt or resource.
        tool: Option<String>,
    },
    /// Look for attacks in what upstreams offer; the same as `mcpproxy scan` with their names.
    Scan {
        /// Their names; the whole configuration if none is given.
        #[arg(value_name = "UPSTREAM")]
        upstreams: Vec<String>,
    },
}

/// Tools of one upstream.
#[derive(Debug, clap::Args)]
pub(crate) struct ChosenTools {
    /// The upstream, or it and one tool as `UPSTREAM:TOOL`.
    pub(crate) upstream: String,
    /// The tools, prompts or resources.
    #[arg(conflicts_with = "all", value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
    /// Everything of the upstream that this could mean.
    #[arg(long)]
    pub(crate) all: bool,
    /// The hash of the one tool, as `tools diff --json` shows it: another version is left as it is.
    #[arg(long, conflicts_with = "all")]
    pub(crate) hash: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Activity {
    /// List records, newest first; those of one session in the order of time.
    List(Box<ActivityList>),
    /// Show what was last recorded about a call.
    Show {
        /// The id of the call.
        id: String,
    },
    /// Print what happens, as it happens.
    Watch(Box<ActivityWatch>),
    /// Count what a stretch of time came to.
    Summary(Box<ActivitySummary>),
    /// Write records to a file or to standard output.
    Export(Box<ActivityExport>),
    /// Look for records that were changed, taken out or put in behind the log's back.
    Verify(ActivityVerify),
    /// Make what records are found by anew from the records.
    Reindex,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ActivityVerify {
    /// The public key of another gateway that wrote; may be given more than once.
    #[arg(long = "key", value_name = "FILE")]
    pub(crate) keys: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
#[expect(
    clippy::enum_variant_names,
    reason = "the variants are the names of the subcommands"
)]
pub(crate) enum Call {
    /// Call a tool that only reads.
    ToolRead(CallTool),
    /// Call a tool that creates or changes something.
    ToolWrite(CallTool),
    /// Call a tool that deletes or cannot be undone.
    ToolDestructive(CallTool),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CallTool {
    /// The tool, as `server:tool`.
    pub(crate) name: String,
    /// The arguments as a JSON object; `-` reads them from standard input.
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stop {
    /// `all`, `upstream:NAME`, `session:ID` or `principal:NAME`.
    #[arg(default_value = "all")]
    pub(crate) scope: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and print it once.
    Create {
        /// A name for it.
        name: String,
        /// Only for these upstreams.
        #[arg(long = "upstream", value_name = "NAME")]
        upstreams: Vec<String>,
        /// Only for these operations.
        #[arg(long = "operation", value_enum, value_name = "OPERATION")]
        operations: Vec<TokenOperation>,
        /// For looking at activity, events and metrics, and for nothing else.
        #[arg(long, conflicts_with_all = ["upstreams", "operations"])]
        audit: bool,
        /// How long it is valid, as in `12h` or `30d`; for ever where nothing is said.
        #[arg(long, value_name = "TIME")]
        expires_in: Option<Span>,
    },
    /// List tokens.
    List,
    /// Make a token useless.
    Revoke {
        /// Its name.
        name: String,
    },
}

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TokenOperation {
    /// Calls that only look.
    Read,
    /// Calls that add or change.
    Write,
    /// Calls that remove, and those that do not say what they do.
    Destructive,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check the configuration and say what is wrong with it.
    Check,
    /// Show the configuration in force, without secrets.
    Show {
        /// Also say where each value comes from.
        #[arg(long)]
        origin: bool,
    },
    /// Print the JSON Schema of a configuration file.
    Schema,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Supervise {
    /// Milliseconds for each step of ending the child.
    pub(crate) grace: u64,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Sample {
    /// Which one.
    pub(crate) name: String,
    /// The eras it speaks: both, legacy or modern.
    #[arg(long, default_value = "both")]
    pub(crate) era: String,
    /// A file to which every line received is appended.
    #[arg(long)]
    pub(crate) record: Option<PathBuf>,
    /// How many tools to list beside its own.
    #[arg(long, default_value = "0")]
    pub(crate) many: usize,
    /// The file that `script` plays.
    #[arg(long)]
    pub(crate) script: Option<PathBuf>,
}
