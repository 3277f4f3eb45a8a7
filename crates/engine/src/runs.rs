//! What a tool behind MCP is told to run: the addresses that commands in its arguments connect to, and
//! what they would take there.
//!
//! The class of an upstream says where it keeps things, and a command goes where it says. What an
//! agent runs by itself is read in `own`, by the same rules.

use std::borrow::Cow;

use mcpproxy_classify::Words;
use mcpproxy_classify::host::{Place, place};
use mcpproxy_classify::shell::{self, Analysis, Send, Transfer};
use mcpproxy_core::{Destination, Moved, Sink, ToolRef};

use crate::commands::{Given, To, as_word, commands};
use crate::own::{MOST_MOVES, PUBLISHERS, is_cut, is_registry, moves, relay, unread};
use crate::ready::Ready;

/// Words in the name of a tool that is handed commands as input.
const SHELLS: [&str; 9] = [
    "shell",
    "bash",
    "zsh",
    "sh",
    "terminal",
    "console",
    "powershell",
    "ssh",
    "tmux",
];
/// Words that say the same where they are no verb: `write_to_process`, and not `process_document`.
const NOUNS: [&str; 3] = ["process", "command", "cmd"];
/// Words in the name of a tool that runs what it is handed, whatever that is.
const RUNS: [&str; 8] = [
    "run", "exec", "execute", "eval", "evaluate", "script", "spawn", "launch",
];
/// Words in the name of a tool of a shell by which it is handed something, and those by which that is
/// kept or looked at instead.
const HANDS: [&str; 12] = [
    "send", "write", "type", "input", "keys", "paste", "run", "exec", "execute", "submit",
    "insert", "call",
];
const KEEPS: [&str; 8] = [
    "file", "files", "read", "get", "list", "log", "history", "output",
];
/// Names of arguments under which a text may as well be kept as be run.
const KEPT: [&str; 6] = [
    "script",
    "scripts",
    "code",
    "codes",
    "python_code",
    "cell_source",
];
/// Languages of such a text, by words in the name of its tool, and what runs them.
const LANGUAGES: [(&str, &str); 8] = [
    ("powershell", "powershell -c"),
    ("python", "python3 -c"),
    ("jupyter", "python3 -c"),
    ("ipython", "python3 -c"),
    ("notebook", "python3 -c"),
    ("javascript", "node -e"),
    ("node", "node -e"),
    ("typescript", "node -e"),
];

/// What a tool is told to run.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// The addresses that are connected to, and under which argument that is said.
    pub(crate) addresses: Vec<(String, String)>,
    /// What would be taken outside.
    pub(crate) moves: Vec<Moved>,
    /// Where it goes, if it surely goes there.
    sink: Option<Sink>,
    /// The first host outside.
    host: Option<String>,
    /// Whether a text that may only be kept leads outside.
    pub(crate) mentions: bool,
}

impl Runs {
    /// Reads the arguments of a tool.
    pub(crate) fn of(called: &ToolRef, arguments: &str, ready: &Ready) -> Self {
        let words = Words::of(called.tool.as_str());
        let upstream = Words::of(called.upstream.as_str());
        let says = |table: &[&str]| words.iter().any(|word| table.contains(&word));
        let is_noun = words.iter().skip(1).any(|word| NOUNS.contains(&word));
        // A shell's own tools need not name it again.
        let of_shell = says(&HANDS) && !says(&KEEPS);
        let of_shell = of_shell && upstream.iter().any(|word| SHELLS.contains(&word));
        let is_shell = is_noun || of_shell || says(&SHELLS);
        let runs = is_shell || says(&RUNS);
        let in_name = |word: &str| says(&[word]) || upstream.iter().any(|one| one == word);
        let language = LANGUAGES.iter().find(|(word, _)| in_name(word));
        let mut found = Self::default();
        let to = match () {
            () if is_shell => To::Shell,
            () if runs => To::Runner,
            () => To::Any,
        };
        let given = commands(arguments, to);
        // Other tools nest what they like.
        if given.cut && (runs || !given.all.is_empty()) {
            found.moves.push(unread());
        }
        for one in given.all {
            let kept = KEPT.contains(&one.under.to_ascii_lowercase().as_str());
            let surely = !kept || runs || language.is_some();
            let shell = language.is_some_and(|(word, _)| *word == "powershell");
            let program = language.filter(|_| kept || shell);
            let program = program.map(|(_, program)| *program);
            found.read(&one, program, surely, ready);
        }
        // The worst are kept, however many come before them.
        found.moves.sort_by_key(|one| (!one.sensitive, one.usual));
        found.moves.truncate(MOST_MOVES);
        found
    }

    fn read(&mut self, given: &Given<'_>, program: Option<&str>, surely: bool, ready: &Ready) {
        let text = match program {
            Some(program) => Cow::Owned(format!("{program} {}", as_word(&given.text))),
            None => Cow::Borrowed(&*given.text),
        };
        let analysis = shell::read(&text);
        let port = ready.settings.hooks.port;
        let hosts = analysis.sends.iter().filter_map(|send| send.host.clone());
        self.addresses
            .extend(hosts.map(|host| (host, given.under.clone())));
        if !surely {
            self.mentions |= analysis.sends.iter().any(is_outside);
            return;
        }
        self.moves.extend(moves(&analysis, &ready.detector, port));
        if is_cut(&analysis) {
            self.moves.push(unread());
        }
        self.goes(&analysis, port);
    }

    /// Notes where a command that is run goes.
    fn goes(&mut self, analysis: &Analysis, port: Option<u16>) {
        let connects = |send: &&Send| send.transfer != Transfer::Listen;
        for send in analysis.sends.iter().filter(connects) {
            if is_outside(send) {
                self.sink = Some(Sink::Outside);
                self.host = self.host.take().or_else(|| send.host.clone());
            } else if relay::is_relayed(send, port) || is_hidden(send) {
                self.sink = self.sink.or(Some(Sink::Assumed));
            }
        }
    }

    /// Returns where the data of a call goes, if that is not for its upstream to say; `vouched` is
    /// whether the user says that the upstream is inside.
    pub(crate) fn lead(&self, to: &Destination, vouched: bool) -> Option<Destination> {
        let takes = self.moves.iter().any(|one| !one.usual);
        let sink = self.sink.or(takes.then_some(Sink::Assumed))?;
        if to.sink.is_outside() && sink == Sink::Assumed {
            return None;
        }
        let outside = sink == Sink::Outside && (!vouched || to.sink.is_outside());
        Some(Destination {
            sink: if outside {
                Sink::Outside
            } else {
                Sink::Assumed
            },
            class: if outside { "external" } else { "unknown" },
            name: match &self.host {
                Some(host) => host.as_str().into(),
                None => to.name.clone(),
            },
        })
    }
}

/// Tells whether data goes to a host outside; packages are fetched by their names from where everybody
/// does.
fn is_outside(send: &Send) -> bool {
    let host = send.host.as_ref();
    host.is_some_and(|host| place(host) == Place::Public && !is_registry(send, host))
        && send.transfer != Transfer::Listen
}

/// Tells whether only the command knows where it goes. What is there to publish goes where its project
/// is kept.
fn is_hidden(send: &Send) -> bool {
    let program = send.program.split(' ').next().unwrap_or_default();
    send.host.is_none() && !PUBLISHERS.contains(&program)
}
