//! Commands that a program is handed to run: behind a verb that runs (`uv run`, `bundle exec`), as one
//! word where an option takes a command (`rsync -e`), behind a mark that programs of all sorts use
//! (`:!`, `\!`), or in a variable that names one (`GIT_PAGER`).
//!
//! Programs that run others are more than anybody lists, so the verbs and options hold for any program,
//! and what is found begins with one that sends, or that leads to such a one. Programs with code of
//! their own for this, as shells and containers, are left to it.

use super::super::facts::Transfer;
use super::super::interp::Interp;
use super::super::table::{self, Output};
use super::super::value::Value;
use super::{Invocation, program_name, wrappers};

/// Verbs behind which a command stands.
const VERBS: [&str; 4] = ["run", "exec", "foreach", "--"];
/// Options that take a whole command as one word.
const OPTIONS: [&str; 17] = [
    "-c",
    "-e",
    "-x",
    "-o",
    "-I",
    "-S",
    "-P",
    "-ex",
    "-TT",
    "--exec",
    "--command",
    "--call",
    "--run",
    "--rsh",
    "--preview",
    "--use-compress-program",
    "--to-command",
];
/// Of git, most of these take something else.
const OPTIONS_OF_GIT: [&str; 4] = ["-c", "-x", "--exec", "--tree-filter"];
/// What stands before a command of the shell in the languages of other programs.
const MARKS: [&str; 7] = [":!", "\\!", "!", ".shell ", ".system ", "shell ", "spawn "];
/// Programs that look for text, print it or pass it on: a command among it is text.
const TEXTUAL: [&str; 30] = [
    "echo", "print", "printf", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep",
    "sed", "awk", "gawk", "jq", "yq", "curl", "wget", "http", "https", "xh", "mail", "mailx",
    "logger", "gh", "glab", "man", "ls", "test", "[",
];
/// Programs that are left to code of their own.
const FOLLOWED: [&str; 33] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "env",
    "xargs",
    "parallel",
    "su",
    "runuser",
    "script",
    "watch",
    "flock",
    "at",
    "crontab",
    "mcpproxy",
    "mcpproxy-rest",
    "docker",
    "podman",
    "nerdctl",
    "docker-compose",
    "podman-compose",
    "kubectl",
    "oc",
    "tmux",
    "screen",
    "zellij",
    "find",
    "python",
    "python3",
    "node",
    "perl",
];
/// Programs that have code of their own and send, or run what does.
const RUN: [&str; 18] = [
    "curl",
    "wget",
    "sh",
    "bash",
    "zsh",
    "dash",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "env",
    "sudo",
    "xargs",
    "timeout",
    "nohup",
    "mcpproxy",
    "mcpproxy-rest",
];
/// Ends of the names of variables that hold a command.
const VARIABLES: [&str; 9] = [
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "ASKPASS",
    "SSH_COMMAND",
    "PROXY_COMMAND",
    "EXTERNAL_DIFF",
    "PROMPT_COMMAND",
];
/// Words of one command that are looked at.
const MOST: usize = 256;

/// Runs what a program is handed to run; gives what that prints.
pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    let followed = FOLLOWED.contains(&name) || wrappers::is_wrapper(name);
    if followed || TEXTUAL.contains(&name) {
        return None;
    }
    let mut out: Option<Value> = None;
    let mut add = |value: &Value| out.get_or_insert_default().push(value);
    for (at, arg) in args.iter().enumerate().take(MOST) {
        let before = at.checked_sub(1).and_then(|at| args.get(at));
        if let Some(code) = whole(name, before, arg) {
            add(&interp.nested(|interp| interp.run_code(&code, stdin)));
        }
    }
    if let Some(words) = behind_verb(name, args) {
        add(&interp.nested(|interp| interp.program(words.to_vec(), stdin)));
    }
    out
}

/// Runs a command that a variable holds for whoever is started with it.
pub(in crate::shell) fn variable(interp: &mut Interp, name: &str, value: &Value) {
    let holds = VARIABLES.iter().any(|end| name.ends_with(end));
    // How git reaches a host is no command with data: `ssh -i key`.
    if holds && begins(&value.text) && !value.text.trim_start().starts_with("ssh") {
        interp.nested(|interp| interp.run_code(value, &Value::default()));
    }
}

/// Returns the command that a word is, where one may stand there.
fn whole(name: &str, before: Option<&Value>, arg: &Value) -> Option<Value> {
    let text = arg.text.as_str();
    if !text.trim().contains(char::is_whitespace) {
        return None;
    }
    let options = if name == "git" {
        &OPTIONS_OF_GIT[..]
    } else {
        &OPTIONS
    };
    let taken = before.is_some_and(|before| {
        let word = before.text.as_str();
        options.contains(&word) || matches!(word, "run" | "exec" | "foreach")
    });
    let marked = MARKS
        .iter()
        .find_map(|mark| text.trim_start_matches('+').strip_prefix(mark));
    // `ProxyCommand=…`, `core.pager=…`, `--checkpoint-action=exec=…`.
    let set = text
        .split_once('=')
        .filter(|(key, _)| !key.contains(char::is_whitespace))
        .filter(|(key, _)| taken || key.starts_with('-'))
        .map(|(_, value)| value.strip_prefix("exec=").unwrap_or(value));
    let code = marked.or(set).or_else(|| taken.then_some(text))?;
    let code = code.trim_start_matches(['!', ' ']);
    begins(code).then(|| arg.derive(code))
}

/// Returns the words that stand behind a verb that runs, from the first that is a program.
fn behind_verb<'a>(name: &str, args: &'a [Value]) -> Option<&'a [Value]> {
    let runs = |arg: &Value| VERBS.contains(&arg.text.as_str());
    let verb = args.iter().take(MOST).position(runs)?;
    // `git log -- path`.
    if name == "git" && args.get(verb).is_some_and(|arg| arg.text == "--") {
        return None;
    }
    let rest = args.get(verb + 1..).unwrap_or_default();
    let start = (0..rest.len().min(MOST)).find(|at| {
        let words = rest.get(*at..).unwrap_or_default();
        words.split_first().is_some_and(|(first, args)| {
            let base = first.text.rsplit('/').next().unwrap_or_default();
            is_run(&program_name(base), args)
        })
    })?;
    rest.get(start..)
}

/// Tells whether a text begins with a program that is run for what it sends.
fn begins(code: &str) -> bool {
    let first = code.split_ascii_whitespace().next().unwrap_or_default();
    let base = first.rsplit('/').next().unwrap_or_default();
    let args: Vec<Value> = code
        .split_ascii_whitespace()
        .skip(1)
        .map(Value::text)
        .collect();
    let name = program_name(base);
    is_run(&name, &args)
}

/// Tells whether a program sends, leads to one that does, or prints what it reads.
fn is_run(name: &str, args: &[Value]) -> bool {
    let known = || {
        let spec = table::find(name, args);
        spec.is_some_and(|spec| {
            spec.transfer >= Some(Transfer::Session)
                || matches!(spec.output, Output::Pass | Output::Info)
        })
    };
    RUN.contains(&name) || known()
}
