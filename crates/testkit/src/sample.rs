//! Small MCP upstreams that are real: they speak both eras over lines, as child processes do.
//!
//! One file a concern: `conversation` keeps what one downstream said, `dispatch` knows the
//! methods, and each sample has a file for its tools. Deliberately absent: a runtime. Blocking
//! input starts in a millisecond, and only calls that take time get a thread.

mod args;
mod conversation;
mod dispatch;
mod echo;
mod exchange;
mod github;
mod listeners;
mod outlet;
mod script;
mod service;
mod slack;
mod tool;

use std::io::{self, BufRead, Read as _, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_mcp::{Frame, compose};
use mcpproxy_text::Limits;

pub use self::args::parse_arguments;
pub(crate) use self::conversation::{Conversation, Step};
use self::outlet::Lines;
pub(crate) use self::outlet::Outlet;
pub(crate) use self::service::Service;
pub(crate) use self::tool::Card;

/// The largest message that a sample takes.
pub(crate) const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The status with which a sample that was told to crash ends.
const CRASHED: i32 = 3;

/// One of the built-in upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A private code host: files, one of which has credentials in it, and issues.
    Github,
    /// A chat that others read.
    Slack,
    /// Everything that the protocol can do, one tool each.
    Echo,
    /// What a file says.
    Script,
}

impl Sample {
    /// Every sample.
    pub const ALL: [Self; 4] = [Self::Github, Self::Slack, Self::Echo, Self::Script];

    /// Returns the name under which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Slack => "slack",
            Self::Echo => "echo",
            Self::Script => "script",
        }
    }

    /// Finds a sample by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sample| sample.name() == name)
    }
}

/// The eras that a sample speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraSupport {
    /// Each request says which one it is of.
    #[default]
    Both,
    /// Only the era that opens with `initialize`; `server/discover` is unknown.
    LegacyOnly,
    /// Only the stateless era; `initialize` is refused.
    ModernOnly,
}

/// How a sample is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The eras that it speaks.
    pub era: EraSupport,
    /// A file to which every message received is appended as it came, a line each.
    pub record: Option<PathBuf>,
    /// How many tools [`Sample::Echo`] lists beside its own, for tests of size.
    pub many: usize,
    /// The file that [`Sample::Script`] plays.
    pub script: Option<PathBuf>,
}

/// How a conversation over lines ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The input ended, or nobody reads the output any more.
    Quietly,
    /// The sample was told to crash.
    Crashed,
}

/// Runs a sample on standard input and output until the input ends.
///
/// The `crash` tool ends the process with status 3.
#[expect(
    clippy::exit,
    reason = "a process that ends without a word is what `crash` is for"
)]
pub fn run(sample: Sample, options: Options) -> io::Result<()> {
    match serve(sample, options, io::stdin().lock(), io::stdout())? {
        Ended::Quietly => Ok(()),
        Ended::Crashed => std::process::exit(CRASHED),
    }
}

/// Runs a sample on any input and output until the input ends.
pub fn serve(
    sample: Sample,
    options: Options,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> io::Result<Ended> {
    let service = Arc::new(Service::start(sample, options)?);
    let outlet: Arc<dyn Outlet> = Arc::new(Lines::new(output));
    let conversation = Conversation::open(&service, Arc::clone(&outlet));
    let ended = converse(&service, &conversation, &outlet, &mut input);
    conversation.close();
    ended
}

fn converse(
    service: &Service,
    conversation: &Arc<Conversation>,
    outlet: &Arc<dyn Outlet>,
    input: &mut impl BufRead,
) -> io::Result<Ended> {
    while let Some(line) = next_line(input)? {
        service.record(&line)?;
        let step = match Frame::parse(line, Limits::default()) {
            Ok(frame) => conversation.take(frame, outlet),
            Err(refusal) => {
                let id = refusal
                    .id
                    .as_deref()
                    .and_then(|id| std::str::from_utf8(id).ok());
                outlet.finish(compose::error(id, refusal.code, &refusal.message, None));
                Step::Continue
            }
        };
        if step == Step::Crash {
            return Ok(Ended::Crashed);
        }
        if !outlet.is_open() {
            break;
        }
    }
    Ok(Ended::Quietly)
}

/// Returns the next line that is not blank, without its line feed.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Bytes>> {
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        // What follows a line past the bound could not be told from its rest.
        if line.len() == MOST_BYTES && !line.ends_with(b"\n") {
            let why = format!("a message is longer than {MOST_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        // Space around a message is kept: what is recorded is what came.
        if !line.trim_ascii().is_empty() {
            return Ok(Some(line.into()));
        }
    }
}

#[cfg(test)]
mod tests;
