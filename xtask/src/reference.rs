//! `cargo xtask reference`: the pages of the book that the program writes about itself.
//!
//! Commands from their help, keys from the schema of the configuration, routes from the `OpenAPI`
//! document, rules from `rules list`. `--check` compares instead, as `cargo xtask test` does.

mod schema;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::Outcome;
use crate::gateway::{Gateway, Routing};
use crate::workspace::{self, Profile};

/// How long the gateway may take for its document.
const PATIENCE: Duration = Duration::from_secs(20);
/// Options that every command has.
const SHARED: [&str; 7] = [
    "--config",
    "--data-dir",
    "--output",
    "--json",
    "--log-level",
    "--help",
    "--version",
];
const MARK: &str = "<!-- written by `cargo xtask reference` -->";
/// What an operation of the document can be.
const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Arguments of `cargo xtask reference`.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Arguments {
    /// Writes nothing, and fails where a page is not what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

/// Writes the pages, or compares them.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let root = workspace::root()?;
    let programs = workspace::build(&root, &["mcpproxy"], Profile::Debug)?;
    let program = programs.join("mcpproxy");
    let pages = [
        ("commands.md", commands(&program)?),
        ("keys.md", keys(&program)?),
        ("api.md", api(&program)?),
        ("rules.md", rules(&program)?),
    ];
    let mut outcome = Outcome::Clean;
    for (name, page) in pages {
        let file = root.join("docs").join(name);
        let old = fs::read_to_string(&file).unwrap_or_default();
        if old == page {
            continue;
        }
        if arguments.check {
            println!("docs/{name} is not what the program says; run `cargo xtask reference`");
            outcome = Outcome::Failed;
        } else {
            fs::write(&file, page).with_context(|| format!("cannot write docs/{name}"))?;
            println!("docs/{name} written");
        }
    }
    Ok(outcome)
}

/// Runs the program in an empty folder and returns what it printed.
fn said(program: &Path, arguments: &[&str]) -> Result<String> {
    let home = TempDir::new().context("cannot create a temporary folder")?;
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .with_context(|| format!("cannot run `mcpproxy {}`", arguments.join(" ")))?;
    if !output.status.success() {
        bail!("`mcpproxy {}` failed", arguments.join(" "));
    }
    String::from_utf8(output.stdout).context("the program does not print text")
}

fn commands(program: &Path) -> Result<String> {
    let mut page = format!(
        "# Commands\n\n{MARK}\n\nWhat `-h` says of each; `--help` says more. Options of the first hold for all.\n"
    );
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let words: Vec<String> = words;
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let name = [&["mcpproxy"], arguments.as_slice()].concat().join(" ");
        arguments.push("-h");
        let help = said(program, &arguments)?;
        let shown = if words.is_empty() {
            help.clone()
        } else {
            without_shared(&help)
        };
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", shown.trim_end())?;
        let inner: Vec<&str> = inner_commands(&help).collect();
        for command in inner.into_iter().rev() {
            waiting.push([words.as_slice(), &[command.to_owned()]].concat());
        }
    }
    Ok(page)
}

/// Leaves out the options that every command has, with the lines that go on about them.
fn without_shared(help: &str) -> String {
    let mut is_shared = false;
    let mut kept = String::new();
    for line in help.lines() {
        if line.trim_start().starts_with('-') {
            let mut words = line.split([' ', ',']);
            is_shared = words.any(|word| SHARED.contains(&word));
        } else if line.is_empty() {
            is_shared = false;
        }
        if !is_shared {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns the names in the list of commands, without that of `help`.
fn inner_commands(help: &str) -> impl Iterator<Item = &str> {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
}

fn keys(program: &Path) -> Result<String> {
    let schema: Value = serde_json::from_str(&said(program, &["config", "schema"])?)?;
    let mut page = format!(
        "# Keys of the configuration\n\n{MARK}\n\nEvery key there is; [Configuration](configuration.md) tells \
         how they work together, and `mcpproxy config schema` prints this for editors.\n\n\
         | key | type | default | meaning |\n|---|---|---|---|\n"
    );
    for row in schema::rows(&schema) {
        let default = row
            .default
            .map_or_else(String::new, |text| format!("`{text}`"));
        let meaning = cell(&row.meaning);
        writeln!(
            page,
            "| `{}` | {} | {default} | {meaning} |",
            row.key, row.kind
        )?;
    }
    Ok(page)
}

fn api(program: &Path) -> Result<String> {
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let gateway = Gateway::start(program, folder.path(), Routing::All, &[])?;
    let key = fs::read_to_string(folder.path().join("data/api_key"))?;
    let mut stream = TcpStream::connect(gateway.address())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /api/v1/openapi.json HTTP/1.1\r\nhost: {}\r\nx-api-key: {}\r\nconnection: close\r\n\r\n",
        gateway.address(),
        key.trim()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no document")?;
    let document: Value = serde_json::from_str(body).context("cannot read the document")?;
    let mut page = format!(
        "# Interface\n\n{MARK}\n\nThe document that `/api/v1/openapi.json` serves, in short: what can be asked, \
         and with which parameters.\n\n| request | parameters | what it does |\n|---|---|---|\n"
    );
    let paths = document.get("paths").and_then(Value::as_object);
    let paths = paths.context("no paths in the document")?;
    for (path, operations) in paths {
        for method in METHODS {
            let operation = &operations[method];
            let Some(summary) = operation["summary"].as_str() else {
                continue;
            };
            let named = operation["parameters"].as_array().into_iter().flatten();
            let named: Vec<String> = named
                .flat_map(parameters)
                .map(|name| format!("`{name}`"))
                .collect();
            let verb = method.to_uppercase();
            let (named, summary) = (named.join(", "), cell(summary));
            writeln!(page, "| `{verb} {path}` | {named} | {summary} |")?;
        }
    }
    Ok(page)
}

/// Returns what a parameter is called in a request: one that stands for several has each of their names.
fn parameters(one: &Value) -> BTreeSet<&str> {
    let shapes = one.pointer("/schema/oneOf").and_then(Value::as_array);
    let shapes = shapes.into_iter().flatten();
    let shapes = shapes.filter_map(|shape| shape.get("properties")?.as_object());
    let names: BTreeSet<_> = shapes
        .flat_map(|of| of.keys().map(String::as_str))
        .collect();
    if names.is_empty() {
        return one["name"].as_str().into_iter().collect();
    }
    names
}

fn rules(program: &Path) -> Result<String> {
    let rules: Vec<Value> = serde_json::from_str(&said(program, &["rules", "list", "--json"])?)?;
    let mut page = format!(
        "# Rules of the detectors\n\n{MARK}\n\n{} rules; `mcpproxy rules show ID` prints one with its examples.\n\n\
         | id | type | category | severity | finds |\n|---|---|---|---|---|\n",
        rules.len()
    );
    for rule in &rules {
        let text = |key: &str| cell(rule[key].as_str().unwrap_or_default());
        let [id, kind, category] = ["id", "type", "category"].map(text);
        let [severity, reason] = ["severity", "reason"].map(text);
        writeln!(
            page,
            "| `{id}` | `{kind}` | {category} | {severity} | {reason} |"
        )?;
    }
    Ok(page)
}

/// Makes one line of a text that stands in a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
