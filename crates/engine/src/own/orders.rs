//! Commands of ours with which a person decides: an agent that gives one would decide for its user.
//!
//! Whether they reach anything, a key that is asked for or a gateway that runs, is not for here.

use mcpproxy_classify::shell::Told;

/// What a command is about and what it is told; where that is empty, any of it.
const ORDERS: [(&str, &[&str]); 7] = [
    ("approvals", &["approve", "deny"]),
    ("token", &["create", "revoke"]),
    (
        "upstream",
        &[
            "add",
            "remove",
            "enable",
            "disable",
            "quarantine",
            "unquarantine",
            "logout",
            "import",
        ],
    ),
    ("tools", &["approve", "block"]),
    ("hook", &["install", "uninstall"]),
    ("resume-calls", &[]),
    // The link opens the dashboard as whoever asks for it.
    ("ui", &[]),
];
/// What makes `init` change files without a question.
const SETTLED: [&str; 3] = ["--undo", "--yes", "-y"];

/// Tells whether a program is ours and is told what a person decides.
pub(super) fn is_order(told: &Told) -> bool {
    if !matches!(told.program.as_str(), "mcpproxy" | "mcpproxy-rest") {
        return false;
    }
    let words: Vec<&str> = told.words.iter().map(String::as_str).collect();
    if asks_for_help(&words) {
        return false;
    }
    verbs(&words).any(|(subject, rest)| {
        if is_open(subject) {
            return true;
        }
        let is_settled = |word: &&str| SETTLED.contains(word) || is_open(word);
        if subject == "init" {
            return rest.iter().any(is_settled);
        }
        ORDERS.iter().any(|(known, orders)| {
            let given = |(verb, _): (&str, &[&str])| is_open(verb) || orders.contains(&verb);
            *known == subject && (orders.is_empty() || verbs(rest).any(given))
        })
    })
}

/// Tells whether a command only explains itself. Past its verbs the word for that may belong to a command
/// that ours is told to start.
fn asks_for_help(words: &[&str]) -> bool {
    let verbs = words.iter().take_while(|word| !word.starts_with('-'));
    let verbs = verbs.count();
    verbs <= 2 && matches!(words.get(verbs), Some(&("-h" | "--help")))
}

/// Returns the words that may be the next verb, each with what comes after it. A word behind an option
/// is its value or the verb: which options take one is not known here.
fn verbs<'a, 'b>(words: &'b [&'a str]) -> impl Iterator<Item = (&'a str, &'b [&'a str])> {
    let is_option = |word: &str| word.starts_with('-');
    let mut ended = false;
    let mut behind = false;
    words.iter().enumerate().filter_map(move |(at, word)| {
        if ended || *word == "--" {
            ended = true;
            return None;
        }
        if is_option(word) {
            behind = !word.contains('=');
            return None;
        }
        ended = !std::mem::take(&mut behind);
        Some((*word, words.get(at + 1..).unwrap_or_default()))
    })
}

/// Tells whether a word is known only when the command runs.
fn is_open(word: &str) -> bool {
    word.contains('$')
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::shell;

    use super::*;

    fn check(command: &str, expect: bool) {
        let told = shell::read(command).told;
        assert_eq!(told.iter().any(is_order), expect, "{command}: {told:?}");
    }

    #[test]
    fn an_order_is_heard_however_it_is_given() {
        for command in [
            "mcpproxy hook uninstall",
            "/srv/tools/bin/mcpproxy hook uninstall",
            "~/.cargo/bin/mcpproxy hook uninstall",
            "$HOME/.cargo/bin/mcpproxy hook uninstall",
            "\"$(brew --prefix)/bin/mcpproxy\" hook uninstall",
            "./mcpproxy hook uninstall",
            "target/release/mcpproxy hook uninstall",
            "/opt/mcpproxy/mcpproxy token create x",
            "mcpproxy hook uninstall;",
            "(mcpproxy hook uninstall)",
            "{ mcpproxy hook uninstall; }",
            "true && mcpproxy hook uninstall&",
            "if true; then mcpproxy hook uninstall; fi",
            "bash -c \"mcpproxy hook uninstall\"",
            "echo \"mcpproxy hook uninstall\" | sh",
            "sh <<< 'mcpproxy hook uninstall'",
            "eval mcpproxy hook uninstall",
            "sudo -u ann mcpproxy hook uninstall",
            "env A=b nohup mcpproxy hook uninstall",
            "echo uninstall | xargs mcpproxy hook",
            "mcpproxy 'hook' \"uninstall\"",
            "mcpproxy h''ook un\\install",
            "a=uninstall; mcpproxy hook $a",
            "mcpproxy hook \"$(cat verb)\"",
            "mcpproxy $VERB",
            "mcpproxy \"token\" create x",
            "mcpproxy hook --agent claude-code uninstall",
            "mcpproxy --json -d /x hook uninstall",
            "mcpproxy --data-dir=/x hook uninstall",
            "mcpproxy-rest hook uninstall",
            "mcpproxy-rest token create x",
            "mcpproxy-rest approvals approve 1",
            "mcppro?y hook uninstall",
            "/srv/tools/bin/mcp* hook uninstall",
            "MCPPROXY.EXE hook uninstall",
            "python3 -c \"import os; os.system('mcpproxy hook uninstall')\"",
            "python3 -c \"import subprocess; subprocess.run(['mcpproxy', 'hook', 'uninstall'])\"",
            "node -e \"require('child_process').execSync('/srv/tools/bin/mcpproxy hook uninstall')\"",
            "alias m=mcpproxy; m hook uninstall",
            "f() { mcpproxy hook \"$1\"; }; f uninstall",
        ] {
            check(command, true);
        }
    }

    #[test]
    fn what_a_person_decides_is_an_order_and_a_look_is_none() {
        for order in [
            "approvals approve 1",
            "approvals deny 1",
            "token create x",
            "token revoke x",
            "upstream add x -- y",
            "upstream add x -- y --help",
            "upstream add x -- npx y -h",
            "token create -- --help",
            "token create --name --help",
            "upstream remove x",
            "upstream enable x",
            "upstream disable x",
            "upstream quarantine x",
            "upstream unquarantine x",
            "upstream logout x",
            "upstream import cursor",
            "tools approve a b",
            "tools block a b",
            "hook install",
            "hook uninstall",
            "resume-calls",
            "--json resume-calls all",
            "ui",
            "init --undo",
            "init --agent cursor --yes",
        ] {
            check(&format!("mcpproxy {order}"), true);
        }
        for look in [
            "status",
            "hook status",
            "hook evaluate --agent claude-code",
            "hook uninstall --help",
            "upstream add -h",
            "--help upstream",
            "approvals list",
            "token list",
            "upstream list",
            "upstream logs remove",
            "tools list approve",
            "tools diff approve block",
            "call tool-read x:y '{\"a\":\"hook uninstall\"}'",
            "stop-calls",
            "init --dry-run",
            "doctor",
            "",
        ] {
            check(&format!("mcpproxy {look}"), false);
        }
    }

    #[test]
    fn words_about_an_order_are_none() {
        for command in [
            "echo mcpproxy hook uninstall",
            "grep \"mcpproxy hook uninstall\" README.md",
            "git commit -m \"docs: mcpproxy hook uninstall\"",
            "cat > notes.md <<'E'\nmcpproxy hook uninstall\nE",
            "ssh far.example mcpproxy hook uninstall",
            "cargo build -p mcpproxy",
            "ls mcpproxy hook uninstall",
            "mcpproxy status; echo hook uninstall",
        ] {
            check(command, false);
        }
    }
}
