//! The command that agents run: how it is written into their files, and recognised there.
//!
//! It names the program by its full path and holds no secret, no port and no key: it finds the
//! daemon by the socket.

use std::path::Path;
use std::time::Duration;

use super::HookAgent;
use crate::places::Os;

/// How long the command waits for the daemon before it answers by itself.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// After what time agents are told to give the command up; longer than it takes to answer.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// What the command answers when the daemon does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailMode {
    /// The call passes.
    Open,
    /// The call does not pass.
    Closed,
}

impl FailMode {
    /// Returns the name for people and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }

    /// Returns the switch of the command.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Open => "--fail-open",
            Self::Closed => "--fail-closed",
        }
    }
}

/// The command that agents run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCommand {
    /// The program, by its full path.
    pub program: String,
    /// What it answers when the daemon does not.
    pub fail: FailMode,
    /// What else it is told, such as where the socket is.
    pub options: Vec<String>,
}

impl HookCommand {
    /// Returns the program and its arguments for one event.
    pub fn words(&self, agent: HookAgent, event: &str) -> Vec<String> {
        let fixed = [
            "hook",
            "evaluate",
            "--agent",
            agent.name(),
            "--event",
            event,
        ];
        let switches = ["--quiet-allow", self.fail.flag()];
        let mut words = vec![self.program.clone()];
        words.extend(fixed.into_iter().chain(switches).map(str::to_owned));
        words.extend(self.options.iter().cloned());
        words
    }

    /// Returns one line for the shell of a system.
    pub fn line(&self, agent: HookAgent, event: &str, os: Os) -> String {
        let words = self.words(agent, event);
        let quoted: Vec<String> = words.iter().map(|word| quoted(word, os)).collect();
        quoted.join(" ")
    }
}

/// Quotes a word for the shell of a system, where it needs that.
pub fn quoted(word: &str, os: Os) -> String {
    let plain = |found: char| found.is_ascii_alphanumeric() || "-_./=:@%+,".contains(found);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    match os {
        // Neither name nor option of ours holds a double quote there: it cannot be in a path.
        Os::Windows => format!("\"{word}\""),
        Os::Linux | Os::MacOs => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A command of ours, found in somebody's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) command: HookCommand,
    /// Whether it says what to answer when the daemon does not.
    pub(super) says_fail: bool,
}

impl Own {
    /// Recognises a command line of ours.
    pub(super) fn in_line(line: &str) -> Option<Self> {
        Self::in_words(&split(line))
    }

    /// Recognises the words of a command of ours: `PROGRAM hook evaluate`, where the program is
    /// called after us or told all that we write, and nothing else. Variables may be set before it.
    pub(super) fn in_words(words: &[String]) -> Option<Self> {
        let is_prefix = |word: &String| {
            matches!(word.as_str(), "&" | "exec" | "env") || assignment(word).is_some()
        };
        let start = words.iter().position(|word| !is_prefix(word))?;
        let (prefix, words) = words.split_at(start);
        let (program, rest) = words.split_first()?;
        let [hook, evaluate, rest @ ..] = rest else {
            return None;
        };
        if (hook.as_str(), evaluate.as_str()) != ("hook", "evaluate") {
            return None;
        }
        // What names the gateway is kept as what it is the same as.
        let asks = prefix.iter().filter_map(|word| {
            let (name, value) = assignment(word)?;
            let flag = match name {
                "MCPPROXY_SOCKET" => "--socket",
                "MCPPROXY_DATA_DIR" => "--data-dir",
                _ => return None,
            };
            Some([flag.to_owned(), value.to_owned()])
        });
        let (mut options, mut fail) = (asks.flatten().collect::<Vec<_>>(), None);
        let (mut agent, mut quiet, mut foreign) = (false, false, false);
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--agent" => agent = rest.next().is_some_and(|it| is_agent(it)),
                "--event" => drop(rest.next()),
                "--quiet-allow" => quiet = true,
                "--fail-open" => fail = Some(FailMode::Open),
                "--fail-closed" => fail = Some(FailMode::Closed),
                "--data-dir" | "--socket" => {
                    options.push(word.clone());
                    options.extend(rest.next().cloned());
                }
                _ => {
                    foreign = true;
                    options.push(word.clone());
                }
            }
        }
        let written = agent && quiet && fail.is_some() && !foreign;
        (is_ours(program) || written).then(|| Self {
            command: HookCommand {
                program: program.clone(),
                fail: fail.unwrap_or(FailMode::Open),
                options,
            },
            says_fail: fail.is_some(),
        })
    }
}

/// A variable that is set for the command alone.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let mut letters = name.bytes();
    let first = letters.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

fn is_agent(name: &str) -> bool {
    HookAgent::from_name(name).is_some()
}

fn is_ours(program: &str) -> bool {
    // A path of another system is no path here, so that both separators count.
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    Path::new(name)
        .file_stem()
        .is_some_and(|stem| stem == "mcpproxy")
}

/// Splits a command line as shells do, as far as quotes go.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(found) = chars.next() {
        match (quote, found) {
            (Some(open), _) if found == open => quote = None,
            (Some('"'), '\\') => {
                let escaped = chars.next_if(|next| matches!(next, '"' | '\\' | '$' | '`'));
                word.get_or_insert_default().push(escaped.unwrap_or('\\'));
            }
            (None, '\'' | '"') => {
                quote = Some(found);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, _) if found.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(found),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn command(program: &str) -> HookCommand {
        HookCommand {
            program: program.to_owned(),
            fail: FailMode::Closed,
            options: Vec::new(),
        }
    }

    #[test]
    fn the_line_is_quoted_where_it_must_be() {
        let check = |program: &str, os: Os, expect: &str| {
            let line = command(program).line(HookAgent::Codex, "PreToolUse", os);
            let rest = "hook evaluate --agent codex --event PreToolUse --quiet-allow --fail-closed";
            assert_eq!(line, format!("{expect} {rest}"));
        };
        check("/usr/bin/mcpproxy", Os::Linux, "/usr/bin/mcpproxy");
        check("/my apps/mcpproxy", Os::MacOs, "'/my apps/mcpproxy'");
        check("/it's/mcpproxy", Os::Linux, r"'/it'\''s/mcpproxy'");
        check("/$(id)/mcpproxy", Os::Linux, "'/$(id)/mcpproxy'");
        check(
            r"C:\a b\mcpproxy.exe",
            Os::Windows,
            r#""C:\a b\mcpproxy.exe""#,
        );
    }

    #[test]
    fn our_command_is_told_from_others() {
        let check = |line: &str, ours: bool| {
            assert_eq!(Own::in_line(line).is_some(), ours, "{line}");
        };
        check("mcpproxy hook evaluate", true);
        check("'/a b/mcpproxy' hook evaluate --event PreToolUse", true);
        check(r#""C:\x\mcpproxy.exe" hook evaluate"#, true);
        check("& 'C:\\x\\mcpproxy.exe' hook evaluate", true);
        check("exec /x/mcpproxy hook evaluate", true);
        let ours = "--agent cursor --event preToolUse --quiet-allow --fail-open";
        check(&format!("/x/renamed hook evaluate {ours}"), true);
        check(
            &format!("/x/renamed hook evaluate {ours} --data-dir /d"),
            true,
        );
        check(&format!("/x/acme hook evaluate {ours} --strict"), false);
        check("/x/acme hook evaluate --agent cursor", false);
        check("/x/other hook evaluate --agent somebody", false);
        check("/x/other hook evaluate", false);
        check("RUST_LOG=debug exec mcpproxy hook evaluate", true);
        check("env LANG=C mcpproxy hook evaluate", true);
        check("a-b=c mcpproxy hook evaluate", false);
        check("mcpproxy hook status", false);
        check("echo mcpproxy hook evaluate", false);
        check("", false);
    }

    #[test]
    fn a_gateway_that_a_variable_names_is_kept() {
        let line = "MCPPROXY_SOCKET='/a b/s' LANG=C mcpproxy hook evaluate --data-dir /d";
        let options = Own::in_line(line).unwrap().command.options;
        assert_eq!(options, ["--socket", "/a b/s", "--data-dir", "/d"]);
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_read_again(program in "/[^\0\n\r]{1,30}", option in "[^\0\n\r]{0,20}") {
            let command = HookCommand {
                program,
                fail: FailMode::Open,
                options: vec!["--socket".to_owned(), option],
            };
            let line = command.line(HookAgent::Cursor, "preToolUse", Os::Linux);
            let own = Own::in_line(&line).map(|own| own.command);
            prop_assert_eq!(own, Some(command));
        }

        #[test]
        fn any_line_is_taken(line in "\\PC{0,80}") {
            let _own = Own::in_line(&line);
        }
    }
}
