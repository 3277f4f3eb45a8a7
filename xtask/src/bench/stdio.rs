//! `cargo xtask bench stdio`: one call after the other over standard input and output, to the echo
//! upstream directly, through a bare relay, and through `mcpproxy stdio` in both its forms.
//!
//! Calls go round the contestants in short turns, so that a noisy moment hits them all.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memchr::memmem;
use serde::Serialize;
use tempfile::TempDir;

use super::contestant::{Link, Programs};
use super::load::{Answer, Questions, judge};
use super::stats::percentile;
use crate::Outcome;
use crate::gateway::{Gateway, Routing};
use crate::process::free_address;

const PAYLOAD: usize = 256;
/// Calls of one contestant before it is the next one's turn.
const TURN: usize = 200;
/// Calls of each contestant that do not count.
const WARM_UP: usize = 500;
/// What `mcpproxy stdio` may add to a direct call at the median, in microseconds.
const AIM: f64 = 30.0;
/// How many times what a bare relay adds that is: where the aim was set, the relay added 9.
const AIM_OF_RELAY: f64 = AIM / 9.0;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// One way to the echo upstream, in the order of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Road {
    Direct,
    Relay,
    Bridge,
    Standalone,
}

const ROADS: [Road; 4] = [Road::Direct, Road::Relay, Road::Bridge, Road::Standalone];

/// A contestant that answers, and what it did.
pub(super) struct Runner {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    questions: Questions,
    pub(super) took: Vec<Duration>,
    pub(super) wrong: usize,
}

/// One line of the table.
#[derive(Serialize, Debug)]
struct Row {
    name: &'static str,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    added_p50_us: f64,
    ratio_p50: f64,
    ratio_p95: f64,
    ratio_p99: f64,
    calls: usize,
    wrong: usize,
}

/// Runs the bench with so many calls of each contestant.
pub(super) fn run(programs: &Programs, calls: usize, json: Option<&Path>) -> Result<Outcome> {
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let upstream = ("echo", programs.upstream(Link::Stdio, free_address()?));
    let program = programs.mcpproxy();
    let _gateway = Gateway::start(program, folder.path(), Routing::Single, &[upstream])?;
    let mut runners = Vec::new();
    for road in ROADS {
        let command = road.command(programs, folder.path())?;
        runners.push(Runner::start(road.name(), command)?);
    }
    for runner in &mut runners {
        runner.turn(WARM_UP)?;
        runner.took.clear();
    }
    for _ in 0..calls.div_ceil(TURN) {
        for runner in &mut runners {
            runner.turn(TURN)?;
        }
    }
    let rows = rows(&mut runners);
    print(&rows);
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&rows)?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(if rows.iter().all(|row| row.wrong == 0) {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

impl Road {
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Relay => "bare relay, parsing",
            Self::Bridge => "mcpproxy stdio",
            Self::Standalone => "mcpproxy stdio --standalone",
        }
    }

    fn command(self, programs: &Programs, folder: &Path) -> Result<Command> {
        let mut command = Command::new(match self {
            Self::Direct | Self::Relay => &programs.xtask,
            Self::Bridge | Self::Standalone => programs.mcpproxy(),
        });
        match self {
            Self::Direct => command.arg("echo-stdio"),
            Self::Relay => command.arg("bare-relay"),
            Self::Bridge => command
                .args(["stdio", "--data-dir"])
                .arg(folder.join("data")),
            Self::Standalone => {
                // The configuration of the running gateway, with a log of its own.
                let data = folder.join("standalone");
                fs::create_dir_all(&data).context("cannot create a folder")?;
                command
                    .args(["stdio", "--standalone", "--config"])
                    .arg(folder.join("mcpproxy.json"))
                    .arg("--data-dir")
                    .arg(data)
            }
        };
        Ok(command)
    }
}

impl Runner {
    /// Starts a contestant and opens its session.
    pub(super) fn start(name: &'static str, mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("no way from a contestant")?;
        let mut runner = Self {
            name,
            child,
            input,
            output: BufReader::with_capacity(64 * 1024, output),
            questions: Questions::new("echo", PAYLOAD, 0),
            took: Vec::new(),
            wrong: 0,
        };
        let mut answer = Vec::new();
        runner.exchange(HELLO.as_bytes(), &mut answer)?;
        if memmem::find(&answer, b"protocolVersion").is_none() {
            bail!("{name} opens no session");
        }
        runner.write(format!("{READY}\n").as_bytes())?;
        Ok(runner)
    }

    /// Returns the contestant's process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the contestant's name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Makes so many calls and checks every answer.
    pub(super) fn turn(&mut self, calls: usize) -> Result<()> {
        let mut answer = Vec::new();
        for _ in 0..calls {
            let question = self.questions.next();
            let begun = Instant::now();
            self.exchange(&question.body, &mut answer)?;
            self.took.push(begun.elapsed());
            let text = question.body.get(question.text).unwrap_or_default();
            if judge(&answer, question.id, text) != Answer::Right {
                self.wrong += 1;
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let input = self.input.as_mut().context("no way to a contestant")?;
        Ok(input.write_all(bytes)?)
    }

    /// Ends the contestant's session and waits for it.
    pub(super) fn finish(mut self) -> Result<()> {
        drop(self.input.take());
        self.child.wait().context("cannot wait for a contestant")?;
        Ok(())
    }

    /// Sends one message and reads the line that answers it.
    fn exchange(&mut self, message: &[u8], answer: &mut Vec<u8>) -> Result<()> {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        self.write(&line)?;
        loop {
            answer.clear();
            if self.output.read_until(b'\n', answer)? == 0 {
                bail!("{} ended early", self.name);
            }
            // A gateway says when it has read its upstream's lists; that answers nothing.
            if memmem::find(answer, br#""method":"notifications/"#).is_none() {
                return Ok(());
            }
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It is measured and done with: nothing that it could still say matters.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

fn rows(runners: &mut [Runner]) -> Vec<Row> {
    let mut direct = [1.0; 3];
    let mut rows = Vec::new();
    for runner in runners {
        runner.took.sort_unstable();
        let us = |share| percentile(&runner.took, share).as_secs_f64() * 1e6;
        let [p50_us, p95_us, p99_us] = [50, 95, 99].map(us);
        if runner.name == Road::Direct.name() {
            direct = [p50_us, p95_us, p99_us];
        }
        let [first, second, third] = direct;
        rows.push(Row {
            name: runner.name,
            p50_us,
            p95_us,
            p99_us,
            added_p50_us: p50_us - first,
            ratio_p50: p50_us / first,
            ratio_p95: p95_us / second,
            ratio_p99: p99_us / third,
            calls: runner.took.len(),
            wrong: runner.wrong,
        });
    }
    rows
}

fn print(rows: &[Row]) {
    println!("\none call after the other, {PAYLOAD} B\n");
    println!(
        "| to the same upstream | p50 / p95 / p99 | of direct | added at p50 | calls | wrong |"
    );
    println!("|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {:.0} / {:.0} / {:.0} us | {:.2} / {:.2} / {:.2} | {:+.0} us | {} | {} |",
            row.name,
            row.p50_us,
            row.p95_us,
            row.p99_us,
            row.ratio_p50,
            row.ratio_p95,
            row.ratio_p99,
            row.added_p50_us,
            row.calls,
            row.wrong
        );
    }
    let added = |road: Road| rows.iter().find(|row| row.name == road.name());
    let relay = added(Road::Relay).map_or(0.0, |row| row.added_p50_us);
    for row in [Road::Bridge, Road::Standalone]
        .into_iter()
        .filter_map(added)
    {
        println!(
            "aim: {} adds at most {AIM:.0} us at p50: {}",
            row.name,
            met(row.added_p50_us <= AIM)
        );
        let ratio = row.added_p50_us / relay;
        println!(
            "aim: {} adds at most {AIM_OF_RELAY:.1} times what the relay adds: {ratio:.1}, {}",
            row.name,
            met(ratio <= AIM_OF_RELAY)
        );
    }
}

fn met(is: bool) -> &'static str {
    if is { "met" } else { "missed" }
}
