//! What a shell command reads, where it sends, and which data reaches which place.
//!
//! A command is parsed, then walked as a shell would walk it, with nothing run: variables,
//! substitutions, redirections, functions and aliases are followed as far as they are fixed by the
//! text. Data carries where it came from, so `cat key | curl -d @- host` is one flow. These are
//! facts; what to think of them is decided by policy. What cannot be known is said in
//! [`Analysis::unknown`], what cannot be read in [`Analysis::unparsed`].
//!
//! The parser is our own. `brush-parser` 0.4 was tried: a word of `~` and a long number makes it
//! panic, ten thousand nested substitutions overflow the stack and abort the process, the time
//! for quoted words grows faster than their length, and tokens stay in a process-wide cache. Here
//! hostile input is the rule: a text is parsed in one pass without backtracking, and nesting,
//! words, steps and bytes are bounded.
//!
//! Deliberately absent: any look at the file system, the environment or the network. A glob stays
//! a glob, and a script on disk is named in [`Analysis::runs`], not read.

mod brace;
mod cmd;
mod decode;
mod effects;
mod escape;
mod expand;
mod facts;
mod host;
mod interp;
mod parse;
mod powershell;
mod programs;
mod syntax;
mod table;
mod value;
mod word;

#[cfg(test)]
mod tests;

use std::ops::Range;

use mcpproxy_core::Operation;

use self::interp::Interp;
use self::parse::{Fault, Parsed};
use self::syntax::Script;
use self::value::Value;

pub use self::facts::{
    Access, Analysis, Destruction, Dialect, Flow, Handed, Origin, Reason, Send, Told, Transfer,
    Unknown, UnknownKind, Unparsed,
};

/// The longest command that is read, in bytes; a longer one is [`Reason::TooLong`].
pub const MAX_LENGTH: usize = 128 * 1024;
/// How deep constructs may nest; a deeper one is [`Reason::TooDeep`].
pub const MAX_DEPTH: usize = 32;
/// How many commands are walked before the rest is given up with [`UnknownKind::Limit`].
pub const MAX_STEPS: usize = 6_000;

/// How many bytes of words and values are handled before the rest is given up.
const MAX_WORK: usize = 2 << 20;
/// How many words one command may have.
const MAX_WORDS: usize = 4096;

/// Reads a command of a POSIX shell.
pub fn read(command: &str) -> Analysis {
    read_as(command, Dialect::Posix)
}

/// Reads a command of the given language.
pub fn read_as(command: &str, dialect: Dialect) -> Analysis {
    read_in(command, dialect, None)
}

/// Reads a command that is run in a folder: its paths say the whole way then.
pub fn read_in(command: &str, dialect: Dialect, folder: Option<&str>) -> Analysis {
    let mut interp = Interp::new(Analysis::new(dialect));
    interp.folder = folder.map(str::to_owned);
    if command.len() > MAX_LENGTH {
        interp.facts.unparsed = Some(Unparsed {
            reason: Reason::TooLong,
            at: MAX_LENGTH,
        });
        return interp.finish();
    }
    match parse_as(dialect, command, 0, None) {
        Ok(script) => {
            interp.script(&script, &Value::default());
            if interp.fifo {
                interp.script(&script, &Value::default());
            }
        }
        Err(Fault { reason, at }) => {
            interp.facts.unparsed = Some(Unparsed { reason, at });
            interp.span = 0..command.len();
            programs::code::scan(&mut interp, command, "?", &Value::default());
        }
    }
    interp.finish()
}

fn parse_as(
    dialect: Dialect,
    text: &str,
    depth: usize,
    span: Option<Range<usize>>,
) -> Parsed<Script> {
    match dialect {
        Dialect::Posix => parse::parse(text, depth, span),
        Dialect::Cmd => cmd::parse(text, depth, span),
        Dialect::PowerShell => powershell::parse(text, depth, span),
    }
}

impl Analysis {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            unparsed: None,
            programs: Vec::new(),
            told: Vec::new(),
            handed: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            runs: Vec::new(),
            sends: Vec::new(),
            flows: Vec::new(),
            fetches_and_runs: false,
            destructive: Vec::new(),
            operation: Operation::Read,
            unknown: Vec::new(),
        }
    }
}

impl Interp {
    fn finish(self) -> Analysis {
        let mut facts = self.facts;
        let writes = !facts.writes.is_empty()
            || facts
                .sends
                .iter()
                .any(|send| send.transfer >= Transfer::Session);
        facts.operation = if !facts.destructive.is_empty() {
            Operation::Destructive
        } else if writes {
            Operation::Write
        } else {
            Operation::Read
        };
        facts
    }
}
