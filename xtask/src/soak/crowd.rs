//! `cargo xtask soak crowd`: how much memory many idle sessions and many tools take.
//!
//! The bound is the one that README.md states; the test suite holds fewer of each.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::Outcome;
use crate::gateway::{Gateway, Routing, Upstream};
use crate::process::{resident_kb, wait_for};
use crate::workspace::{self, Profile};

/// What the gateway may take by itself, for each session and for each tool, in KiB.
const IDLE_KB: f64 = 20.0 * 1024.0;
const SESSION_KB: f64 = 2.5;
const TOOL_KB: f64 = 1.5;

const LIST_LIMIT: Duration = Duration::from_mins(2);
const ANSWER_TIME: Duration = Duration::from_secs(20);
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"idle","version":"1"}}}"#;

/// Measures, prints, and fails beyond the bound.
pub(super) fn run(sessions: u32, tools: u32) -> Result<Outcome> {
    println!("building mcpproxy for release ...");
    let programs = workspace::build(&workspace::root()?, &["mcpproxy"], Profile::Release)?;
    let program = programs.join("mcpproxy");
    let (idle, crowded) = measure(&program, sessions, 0)?;
    let (_, both) = measure(&program, sessions, tools)?;
    println!("\n| | resident memory | bound |\n|---|---|---|");
    let lines = [
        ("idle, one upstream".to_owned(), idle, bound_kb(0, 0)),
        (
            format!("and {sessions} idle sessions"),
            crowded,
            bound_kb(sessions, 0),
        ),
        (
            format!("and {tools} tools in the catalogue and the search index"),
            both,
            bound_kb(sessions, tools),
        ),
    ];
    let mut outcome = Outcome::Clean;
    for (what, used, bound) in lines {
        let (mb, most) = (f64::from(used) / 1024.0, bound / 1024.0);
        println!("| {what} | {mb:.1} MB | {most:.0} MB |");
        if f64::from(used) > bound {
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}

fn bound_kb(sessions: u32, tools: u32) -> f64 {
    IDLE_KB + SESSION_KB * f64::from(sessions) + TOOL_KB * f64::from(tools)
}

/// Returns the memory of a gateway in front of an upstream with so many more tools, idle and with
/// so many idle sessions.
fn measure(program: &Path, sessions: u32, tools: u32) -> Result<(u32, u32)> {
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let words = ["sample", "echo", "--many", &tools.to_string()];
    let upstream = Upstream::Stdio {
        program: program.to_owned(),
        arguments: words.map(str::to_owned).to_vec(),
    };
    let gateway = Gateway::start(program, folder.path(), Routing::All, &[("crowd", upstream)])?;
    if !wait_for(LIST_LIMIT, || Ok(listed(program, folder.path())? > tools))? {
        bail!("the gateway did not list {tools} tools in time");
    }
    let idle = resident_kb(gateway.id())?;
    open(gateway.address(), sessions)?;
    Ok((idle, resident_kb(gateway.id())?))
}

/// Asks the gateway how many tools its upstream has.
fn listed(program: &Path, folder: &Path) -> Result<u32> {
    let mut command = Command::new(program);
    command.args(["upstream", "list", "--json", "--data-dir"]);
    let output = command.arg(folder.join("data")).output();
    let output = output.context("cannot run `mcpproxy upstream list`")?;
    let upstreams: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let tools = upstreams.pointer("/0/tools").and_then(Value::as_u64);
    Ok(tools.and_then(|tools| tools.try_into().ok()).unwrap_or(0))
}

/// Opens so many sessions over one connection and leaves them.
fn open(address: SocketAddr, sessions: u32) -> Result<()> {
    let mut stream = TcpStream::connect(address).context("cannot connect to the gateway")?;
    stream.set_read_timeout(Some(ANSWER_TIME))?;
    stream.set_nodelay(true)?;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{HELLO}",
        HELLO.len()
    );
    let mut answers = BufReader::new(stream.try_clone()?);
    for session in 1..=sessions {
        stream.write_all(request.as_bytes())?;
        opened(&mut answers).with_context(|| format!("session {session} was not opened"))?;
    }
    Ok(())
}

/// Reads one answer, which must name a session.
fn opened(answers: &mut impl BufRead) -> Result<()> {
    let (mut length, mut named) = (0, false);
    loop {
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            bail!("the gateway hung up");
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().context("not a length")?;
        }
        named |= line.starts_with("mcp-session-id:");
    }
    let mut body = String::new();
    answers.take(length).read_to_string(&mut body)?;
    if !named {
        bail!("no session in the answer: {body}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn check(answer: &str, expect: bool) {
        assert_eq!(super::opened(&mut answer.as_bytes()).is_ok(), expect);
    }

    #[test]
    fn only_an_answer_with_a_session_counts() {
        check(
            "HTTP/1.1 200 OK\r\nMcp-Session-Id: x\r\nContent-Length: 2\r\n\r\n{}",
            true,
        );
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false);
        check("HTTP/1.1 200 OK\r\nMcp-Session-Id: x\r\n", false);
    }
}
