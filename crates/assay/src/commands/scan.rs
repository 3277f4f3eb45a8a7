//! `scan`: upstreams in agents' configurations whose calls leave no receipts.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mcpproxy_agents::hook::quoted;
use mcpproxy_agents::{Os, Places, Problem, Transport, discover, mask_args, mask_url};
use serde_json::{Value, json};

use crate::exit::{Exit, bad_input};
use crate::output::{self, Form};
use crate::proxy::is_own;

/// Programs that start the one that stands behind them.
const STARTERS: [&str; 8] = ["npx", "bunx", "pnpx", "uvx", "pipx", "env", "nice", "exec"];

/// Options of ours before the command whose value is the next word.
const VALUED: [&str; 8] = [
    "--keys-dir",
    "-c",
    "--config",
    "-d",
    "--data-dir",
    "-o",
    "--output",
    "--log-level",
];

/// One upstream of one agent.
struct Entry {
    agent: &'static str,
    file: PathBuf,
    name: String,
    behind: bool,
    remedy: String,
}

/// Lists upstreams that are not behind a proxy; one of them makes the scan fail.
pub(crate) fn run(project: Option<PathBuf>, form: Form) -> Result<Exit> {
    let home = std::env::home_dir().context("there is no home folder")?;
    let project = project.map_or_else(std::env::current_dir, Ok)?;
    if !project.is_dir() {
        return Err(bad_input(format!("no folder `{}`", project.display())));
    }
    let found = discover(&Places::usual(&home, &project, os()));
    let mut entries = Vec::new();
    let mut problems = Vec::new();
    for file in &found {
        for upstream in &file.upstreams {
            entries.push(Entry {
                agent: file.agent.name(),
                file: file.path.clone(),
                name: upstream.name.clone(),
                behind: behind(&upstream.transport),
                remedy: remedy(&upstream.transport),
            });
        }
        let place = file.path.display();
        problems.extend(
            file.problems
                .iter()
                .map(|problem| format!("{place}: {problem}")),
        );
    }
    let bare = entries.iter().filter(|entry| !entry.behind).count();
    output::data(&match form {
        Form::Json => machine(&entries, &problems).to_string(),
        Form::Text => shown(&entries, &problems, bare),
    })?;
    // What could not be looked at may be bare.
    let unknown = found.iter().flat_map(|file| &file.problems);
    let unknown = unknown.filter(|one| !matches!(one, Problem::Obstacle { .. }));
    Ok(if bare == 0 && unknown.count() == 0 {
        Exit::Fine
    } else {
        Exit::Failing
    })
}

fn os() -> Os {
    if cfg!(target_os = "macos") {
        Os::MacOs
    } else if cfg!(windows) {
        Os::Windows
    } else {
        Os::Linux
    }
}

/// Tells whether an entry starts a proxy that writes receipts.
fn behind(transport: &Transport) -> bool {
    let Transport::Stdio { command, args, .. } = transport else {
        return false;
    };
    let words: Vec<&str> = std::iter::once(command.as_str())
        .chain(args.iter().map(String::as_str))
        .take_while(|word| *word != "--")
        .collect();
    let is = |word: &str, name: &str| {
        let stem = Path::new(word.rsplit(['/', '\\']).next().unwrap_or(word)).file_stem();
        stem.is_some_and(|stem| stem == name)
    };
    // What stands behind a program of its own is an argument of that.
    let starter = |word: &&&str| {
        let option = word.starts_with('-') || word.contains('=');
        option || STARTERS.iter().any(|name| is(word, name))
    };
    let mut words = words.iter().skip_while(starter);
    let (program, command) = (words.next(), command_of(words.copied()));
    program.is_some_and(|program| match command {
        Some("mcp-proxy") => is(program, "assay"),
        Some("wrap") => is(program, "mcpproxy"),
        _ => false,
    })
}

/// Returns the command of a program of ours, behind the options that may stand before it.
fn command_of<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    loop {
        let word = words.next()?;
        if !word.starts_with('-') {
            return Some(word);
        }
        if VALUED.contains(&word) {
            words.next();
        }
    }
}

/// Says how an entry would look behind the proxy; what looks like a secret is masked.
fn remedy(transport: &Transport) -> String {
    let mut words = vec!["assay".to_owned(), "mcp-proxy".to_owned()];
    match transport {
        Transport::Stdio { command, args, .. } => {
            words.extend(["--".to_owned(), command.clone()]);
            words.extend(mask_args(args));
        }
        Transport::Http { url, headers } | Transport::Sse { url, headers } => {
            words.extend(["--upstream-url".to_owned(), mask_url(url)]);
            for name in headers.keys().filter(|name| !is_own(name)) {
                words.extend(["--header".to_owned(), format!("{name}: ***")]);
            }
        }
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word, os())).collect();
    words.join(" ")
}

fn machine(entries: &[Entry], problems: &[String]) -> Value {
    let upstreams: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!({
                "agent": entry.agent,
                "file": entry.file.display().to_string(),
                "name": entry.name,
                "behind_proxy": entry.behind,
                "remedy": (!entry.behind).then_some(&entry.remedy),
            })
        })
        .collect();
    json!({ "upstreams": upstreams, "problems": problems })
}

fn shown(entries: &[Entry], problems: &[String], bare: usize) -> String {
    let mut lines = Vec::new();
    for entry in entries {
        let mark = if entry.behind { "recorded" } else { "bare    " };
        let place = entry.file.display();
        lines.push(format!(
            "{mark}  {}  {}  ({place})",
            entry.name, entry.agent
        ));
        if !entry.behind {
            lines.push(format!("          use: {}", entry.remedy));
        }
    }
    lines.extend(
        problems
            .iter()
            .map(|problem| format!("problem   {problem}")),
    );
    lines.push(format!(
        "{bare} of {} upstreams are not behind the proxy",
        entries.len()
    ));
    output::lines(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_can_be_pasted() {
        let stdio = Transport::Stdio {
            command: "python".to_owned(),
            args: vec!["a b.py".to_owned(), "$(id)".to_owned()],
            env: [].into(),
            cwd: None,
        };
        assert_eq!(remedy(&stdio), "assay mcp-proxy -- python 'a b.py' '$(id)'");
        let http = Transport::Http {
            url: "https://a.example/mcp".to_owned(),
            headers: [
                ("Content-Type".to_owned(), "application/json".to_owned()),
                ("X-Key".to_owned(), "hunter2".to_owned()),
            ]
            .into(),
        };
        let expect = "assay mcp-proxy --upstream-url https://a.example/mcp --header 'X-Key: ***'";
        assert_eq!(remedy(&http), expect);
    }

    #[test]
    fn a_wrapped_upstream_is_known_by_its_command() {
        let check = |line: &str, expect: bool| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let transport = Transport::Stdio {
                command: words.next().unwrap(),
                args: words.collect(),
                env: [].into(),
                cwd: None,
            };
            assert_eq!(behind(&transport), expect, "{line}");
        };
        check("assay mcp-proxy -- python s.py", true);
        check("/opt/bin/assay mcp-proxy --strict -- npx x", true);
        check("npx assay mcp-proxy -- x", true);
        check("mcpproxy wrap -- x", true);
        check("assay --json --keys-dir keys mcp-proxy -- x", true);
        check("mcpproxy -o json --data-dir=here wrap -- x", true);
        check("assay --keys-dir mcp-proxy verify-pack", false);
        check("env A=b nice assay mcp-proxy -- x", true);
        check("node evil.js assay mcp-proxy", false);
        check("python s.py", false);
        check("python -- assay mcp-proxy", false);
        check("assay verify-pack", false);
        check("my-assay mcp-proxy", false);
    }
}
