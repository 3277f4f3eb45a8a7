//! What is said about a command: facts with places, no opinion on them.

use std::ops::Range;

use mcpproxy_core::Operation;
use serde::Serialize;

/// The language a command is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// POSIX shell with the extensions of bash, zsh and ksh.
    #[default]
    Posix,
    /// The command interpreter of Windows.
    Cmd,
    /// `PowerShell`, both editions.
    PowerShell,
}

/// Everything known about one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Analysis {
    /// The language it was read in.
    pub dialect: Dialect,
    /// Why it could not be read; the other fields then hold only what a textual scan saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<Unparsed>,
    /// The programs and builtins it runs, each once, in order.
    pub programs: Vec<String>,
    /// What those of them were told that agents and their guard listen to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
    /// Which of them were handed files that decide about an agent, or about what guards it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<Handed>,
    /// The files whose contents it reads.
    pub reads: Vec<Access>,
    /// The files it writes.
    pub writes: Vec<Access>,
    /// The files it runs as programs or scripts.
    pub runs: Vec<Access>,
    /// Where it connects to.
    pub sends: Vec<Send>,
    /// Which data reaches which place outside.
    pub flows: Vec<Flow>,
    /// Whether something fetched is run.
    pub fetches_and_runs: bool,
    /// What it removes or cannot undo.
    pub destructive: Vec<Destruction>,
    /// The strongest thing it does.
    pub operation: Operation,
    /// What could not be known.
    pub unknown: Vec<Unknown>,
}

/// Why a command was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unparsed {
    /// What was wrong.
    pub reason: Reason,
    /// The byte at which it was seen.
    pub at: usize,
}

/// The ways in which a command cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Longer than [`MAX_LENGTH`](super::MAX_LENGTH).
    TooLong,
    /// Nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    TooDeep,
    /// A quote, bracket or construct is not closed.
    Unclosed,
    /// The grammar was broken.
    Syntax,
}

/// A program and the words it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The name of the program, without the folder it lies in.
    pub program: String,
    /// The words as far as they are known; unresolved parts stand as `$NAME` or `$()`.
    pub words: Vec<String>,
}

/// A program that is handed files which decide about an agent, or about what guards it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Handed {
    /// The name of the program, without the folder it lies in.
    pub program: String,
    /// All the words it is given, as far as they are known.
    pub words: Vec<String>,
    /// Those files, and patterns that may stand for one.
    pub paths: Vec<String>,
}

/// One file named by a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The path as far as it is known; unresolved parts stand as `$NAME` or `$()`.
    pub path: String,
    /// Who touches it; `<` and `>` for a redirection.
    pub program: String,
    /// False when it is only likely, from an argument of a program that is not known.
    pub certain: bool,
    /// The command it stands in.
    pub span: Range<usize>,
}

/// One connection to somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Send {
    /// Who connects.
    pub program: String,
    /// The host, lower case, if it is known.
    pub host: Option<String>,
    /// The URL or address as written, as far as it is known.
    pub url: Option<String>,
    /// What the connection is for.
    pub transfer: Transfer,
    /// False when it is only likely, from an argument of a program that is not known.
    pub certain: bool,
    /// The command it stands in.
    pub span: Range<usize>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    /// Asks a name server; the name itself may carry data.
    Lookup,
    /// Gets something; the address may carry data.
    Fetch,
    /// Waits for others to connect, or opens a tunnel to here.
    Listen,
    /// Both ways, for as long as it lasts.
    Session,
    /// Carries data out.
    Upload,
}

/// Where data comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum Origin {
    /// The contents of a file, or of a folder.
    File(String),
    /// A variable of the environment; `*` for all of them.
    Environment(String),
    /// What a program prints about the machine or its secrets.
    Program(String),
    /// Something fetched; `*` if the host is not known.
    Remote(String),
}

/// Data that goes from where it was read to where it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Where it comes from.
    pub from: Vec<Origin>,
    /// What of it stands in a body or an address, and not where services look for a login.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plain: Vec<Origin>,
    /// The host, if it is known.
    pub to: Option<String>,
    /// Who sends it.
    pub program: String,
    /// The command it leaves by.
    pub span: Range<usize>,
}

/// Something removed or beyond undoing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Destruction {
    /// Who does it.
    pub program: String,
    /// What it does it to, as far as it is known.
    pub target: String,
    /// The command it stands in.
    pub span: Range<usize>,
}

/// Something that could not be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// What it is.
    pub kind: UnknownKind,
    /// The text in question, as far as it is known.
    pub text: String,
    /// The command it stands in.
    pub span: Range<usize>,
}

/// What can be unknown about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownKind {
    /// Which program runs.
    Program,
    /// Which host is reached.
    Host,
    /// Which file is read or written.
    Path,
    /// What code is run by a shell or an interpreter.
    Code,
    /// Code inside could not be read.
    Unparsed,
    /// A bound on words, steps or values was met; facts past it are missing.
    Limit,
}
