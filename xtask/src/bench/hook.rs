//! `cargo xtask bench hook`: an agent's hook from spawn to exit, beside a program that does nothing
//! and one that only asks a socket; and how many evaluations a second the gateway answers.
//!
//! Programs take turns, so that a noisy moment hits them all. The program in front takes part as
//! `cargo xtask dist` links it, without a loader in the way: that is what is shipped, and what is held
//! against the aims. The plain release build is shown beside it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tempfile::TempDir;

use super::contestant::{Link, Programs};
use super::stats::percentile;
use crate::Outcome;
use crate::dist;
use crate::gateway::{Gateway, Routing};
use crate::process::free_address;

/// Runs of each program that do not count.
const WARM_UP: usize = 20;
/// Connections over which the gateway is asked at once.
const PARALLEL: usize = 64;
/// What the hook may take, of what the bare client takes: at the median, and at the 95th percentile.
const AIM: [f64; 2] = [2.0, 2.5];
/// Evaluations a second that are aimed at, and that the specification asks for.
const RATE: [u64; 2] = [3_000, 50];
/// Milliseconds within which the specification wants 95 % of the runs.
const SPEC_MS: f64 = 100.0;
/// Milliseconds that its budget has for one run: for the start of the program, for the question to the
/// gateway, and for all of it.
const BUDGET_MS: [(&str, f64); 3] = [("start", 10.0), ("question", 10.0), ("all", 20.0)];

/// One line of the table.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    ratio_p50: f64,
    ratio_p95: f64,
    ratio_p99: f64,
    runs: usize,
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Figures {
    spawn: Vec<Row>,
    evaluations_per_second: u64,
    connections: usize,
}

/// Where the program in front comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Front {
    /// Somebody named a folder: it is measured as it lies there.
    Given,
    /// It was built for release just now.
    Built,
}

/// A program and how it is run.
struct Contestant {
    name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    /// What its answer contains.
    expect: &'static str,
    took: Vec<Duration>,
}

/// Runs the bench with so many runs of each program.
pub(super) fn run(
    programs: &Programs,
    front: Front,
    runs: usize,
    json: Option<&Path>,
) -> Result<Outcome> {
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let plain = match front {
        Front::Given => None,
        Front::Built => Some(relinked(programs.mcpproxy(), folder.path())?),
    };
    let upstream = ("echo", programs.upstream(Link::Stdio, free_address()?));
    let _gateway = Gateway::start(
        programs.mcpproxy(),
        folder.path(),
        Routing::All,
        &[upstream],
    )?;
    let data = folder.path().join("data");
    let echo = folder.path().join("echo.sock");
    answer_everything(&echo)?;
    let payload = payload();
    let mut field = field(programs, plain, folder.path(), &data, &echo)?;
    for contestant in &mut field {
        for _ in 0..WARM_UP {
            contestant.turn(&payload)?;
        }
        contestant.took.clear();
    }
    for _ in 0..runs {
        for contestant in &mut field {
            contestant.turn(&payload)?;
        }
    }
    let seconds = if runs > 200 { 3 } else { 1 };
    let figures = Figures {
        spawn: rows(&mut field),
        evaluations_per_second: rate(&data.join("mcpproxy.sock"), &payload, seconds)?,
        connections: PARALLEL,
    };
    print(&figures);
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&figures)?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    // Aims are told; what the specification asks for must be so.
    Ok(if figures.keep_the_specification() {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

impl Figures {
    /// The median of a step in milliseconds. The question is what a run takes longer than a program
    /// that does nothing; the start is what is left of a run without that of the bare client.
    fn step(&self, name: &str) -> f64 {
        let median = |at: usize| self.spawn.get(at).map_or(f64::MAX, |row| row.p50_us / 1e3);
        let last = self.spawn.len().saturating_sub(1);
        let (nothing, asker, hook) = (median(0), median(1), median(last));
        match name {
            "start" => hook - (asker - nothing),
            "question" => hook - nothing,
            _ => hook,
        }
    }

    fn keep_the_specification(&self) -> bool {
        let within = |(name, most): &(&str, f64)| self.step(name) <= *most;
        let in_time = |hook: &Row| hook.p95_us / 1e3 <= SPEC_MS;
        let [_, rate] = RATE;
        BUDGET_MS.iter().all(within)
            && self.spawn.last().is_some_and(in_time)
            && self.evaluations_per_second >= rate
    }
}

/// About a kilobyte, as an agent sends it.
fn payload() -> String {
    let words = "cargo test --package shop --lib -- checkout::tests ".repeat(14);
    serde_json::json!({
        "session_id": "bench", "transcript_path": "/t/a.jsonl", "cwd": "/w",
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": words.trim(), "description": "run the tests" },
        "tool_use_id": "toolu_01",
    })
    .to_string()
}

/// Sets the plain build of the program in front aside and links it anew, as it is shipped; returns
/// where the plain one is.
fn relinked(program: &Path, folder: &Path) -> Result<PathBuf> {
    let plain = folder.join("plain");
    fs::copy(program, &plain).with_context(|| format!("cannot copy {}", program.display()))?;
    println!("linking mcpproxy as `cargo xtask dist` does ...");
    dist::link_plain_front()?;
    Ok(plain)
}

/// Who takes part; what is shipped comes last.
fn field(
    programs: &Programs,
    plain: Option<PathBuf>,
    folder: &Path,
    data: &Path,
    echo: &Path,
) -> Result<Vec<Contestant>> {
    let new = |name, program: PathBuf, args: Vec<String>, expect| Contestant {
        name,
        program,
        args,
        expect,
        took: Vec::new(),
    };
    let nothing = include_str!("hook/nothing.rs");
    let asker = include_str!("hook/asker.rs");
    let data = data.display().to_string();
    let words = [
        "hook",
        "evaluate",
        "--agent",
        "claude-code",
        "--event",
        "PreToolUse",
    ];
    let mut args: Vec<_> = words.map(str::to_owned).to_vec();
    args.extend(["--data-dir".to_owned(), data]);
    let hook = |name, program| {
        new(
            name,
            program,
            args.clone(),
            r#""permissionDecision":"allow""#,
        )
    };
    let shipped = if plain.is_some() {
        "mcpproxy hook evaluate, linked as shipped"
    } else {
        "mcpproxy hook evaluate, as given"
    };
    let mut field = vec![
        new(
            "does nothing, static",
            built(folder, "nothing", nothing)?,
            Vec::new(),
            "",
        ),
        new(
            "asks a socket, static",
            built(folder, "asker", asker)?,
            vec![echo.display().to_string()],
            "answer",
        ),
    ];
    field.extend(plain.map(|plain| hook("mcpproxy hook evaluate, plain release build", plain)));
    field.push(hook(shipped, programs.mcpproxy().to_owned()));
    Ok(field)
}

/// Builds a program of one file, without a loader in the way.
fn built(folder: &Path, name: &str, source: &str) -> Result<PathBuf> {
    let (file, program) = (folder.join(format!("{name}.rs")), folder.join(name));
    fs::write(&file, source).context("cannot write a program")?;
    let status = Command::new("rustc")
        .args([
            "--edition",
            "2024",
            "-C",
            "opt-level=3",
            "-C",
            "target-feature=+crt-static",
            "-o",
        ])
        .arg(&program)
        .arg(&file)
        .status()
        .context("cannot run rustc")?;
    if !status.success() {
        bail!("`{name}` cannot be built");
    }
    Ok(program)
}

/// Answers whoever asks, with about what the gateway answers.
fn answer_everything(path: &Path) -> Result<()> {
    let listener = UnixListener::bind(path).context("cannot bind a socket")?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut asked = Vec::new();
            let answer = format!("answer {}", "x".repeat(300));
            let read = stream.read_to_end(&mut asked);
            drop(read.and_then(|_| stream.write_all(answer.as_bytes())));
        }
    });
    Ok(())
}

impl Contestant {
    fn turn(&mut self, payload: &str) -> Result<()> {
        let begun = Instant::now();
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that does nothing has ended before it was told anything.
            drop(stdin.write_all(payload.as_bytes()));
        }
        let output = child.wait_with_output()?;
        self.took.push(begun.elapsed());
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains(self.expect) {
            bail!("{} answered {}: {said}", self.name, output.status);
        }
        Ok(())
    }
}

fn rows(field: &mut [Contestant]) -> Vec<Row> {
    let mut times = Vec::new();
    for contestant in field.iter_mut() {
        contestant.took.sort_unstable();
        let us = |share| percentile(&contestant.took, share).as_secs_f64() * 1e6;
        times.push((contestant.name, [50, 95, 99].map(us), contestant.took.len()));
    }
    // Everything is compared with what only asks a socket.
    let [first, second, third] = times.get(1).map_or([1.0; 3], |(_, times, _)| *times);
    let row = |(name, [p50_us, p95_us, p99_us], runs): (_, [f64; 3], _)| Row {
        name,
        p50_us,
        p95_us,
        p99_us,
        ratio_p50: p50_us / first,
        ratio_p95: p95_us / second,
        ratio_p99: p99_us / third,
        runs,
    };
    times.into_iter().map(row).collect()
}

/// Asks over many connections at once and counts the answers of a second.
fn rate(socket: &Path, payload: &str, seconds: u64) -> Result<u64> {
    let head = format!(
        "POST /api/v1/hooks/evaluate?agent=claude-code&event=PreToolUse HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        payload.len()
    );
    let request = [head.as_str(), payload].concat();
    let answered = AtomicU64::new(0);
    let until = Instant::now() + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        let ask = || -> Result<()> {
            let mut stream = UnixStream::connect(socket).context("cannot reach the gateway")?;
            while Instant::now() < until {
                stream.write_all(request.as_bytes())?;
                take_answer(&mut stream)?;
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let askers: Vec<_> = (0..PARALLEL).map(|_| scope.spawn(ask)).collect();
        for asker in askers {
            match asker.join() {
                Ok(done) => done?,
                Err(_) => bail!("an asker panicked"),
            }
        }
        Ok(())
    })?;
    Ok(answered.load(Ordering::Relaxed) / seconds)
}

/// Reads one answer and sees that it is one.
fn take_answer(stream: &mut UnixStream) -> Result<()> {
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        answer.extend_from_slice(piece.get(..read).unwrap_or_default());
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let named = name.eq_ignore_ascii_case("content-length");
                named.then(|| value.trim().parse::<usize>().ok())?
            });
            if length.is_some_and(|length| body.len() >= length) {
                if body.contains(r#""decision":"allow""#) {
                    return Ok(());
                }
                bail!("a wrong answer: {text}");
            }
        }
        if read == 0 {
            bail!("the gateway hung up: {text}");
        }
    }
}

fn print(figures: &Figures) {
    println!("\nspawn to exit, 1 KB of input\n");
    println!("| program | p50 / p95 / p99 | of the one that only asks | runs |");
    println!("|---|---|---|---|");
    for row in &figures.spawn {
        println!(
            "| {} | {:.2} / {:.2} / {:.2} ms | {:.2} / {:.2} / {:.2} | {} |",
            row.name,
            row.p50_us / 1e3,
            row.p95_us / 1e3,
            row.p99_us / 1e3,
            row.ratio_p50,
            row.ratio_p95,
            row.ratio_p99,
            row.runs
        );
    }
    let met = |is: bool| if is { "met" } else { "missed" };
    if let Some(hook) = figures.spawn.last() {
        println!("\n{}:", hook.name);
        let [half, most] = AIM;
        let (p50, p95) = (hook.ratio_p50, hook.ratio_p95);
        println!(
            "aim: at most {half:.1} times at p50: {p50:.2}, {}",
            met(p50 <= half)
        );
        println!(
            "aim: at most {most:.1} times at p95: {p95:.2}, {}",
            met(p95 <= most)
        );
        let ms = hook.p95_us / 1e3;
        println!(
            "specification: 95 % within {SPEC_MS:.0} ms: {ms:.2} ms, {}",
            met(ms <= SPEC_MS)
        );
    }
    for (name, most) in BUDGET_MS {
        let ms = figures.step(name);
        println!(
            "specification: {name} within {most:.0} ms: {ms:.2} ms, {}",
            met(ms <= most)
        );
    }
    let rate = figures.evaluations_per_second;
    println!("\n{rate} evaluations a second over {PARALLEL} connections");
    let [aim, spec] = RATE;
    println!("aim: at least {aim}: {}", met(rate >= aim));
    println!("specification: at least {spec}: {}", met(rate >= spec));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_specification_asks_for_is_kept_or_the_bench_fails() {
        let row = |ms: f64, slow: f64| Row {
            name: "",
            p50_us: ms * 1e3,
            p95_us: slow * 1e3,
            p99_us: slow * 1e3,
            ratio_p50: 1.0,
            ratio_p95: 1.0,
            ratio_p99: 1.0,
            runs: 1,
        };
        let check = |[nothing, asker, hook]: [f64; 3], slow: f64, rate: u64, expect: bool| {
            // The plain build stands before the one that is judged, and is not.
            let plain = row(500.0, 500.0);
            let figures = Figures {
                spawn: vec![row(nothing, 1.0), row(asker, 1.0), plain, row(hook, slow)],
                evaluations_per_second: rate,
                connections: 1,
            };
            assert_eq!(figures.keep_the_specification(), expect, "{figures:?}");
        };
        check([0.7, 0.8, 1.6], 1.9, 9000, true);
        check([0.7, 0.8, 1.6], 101.0, 9000, false);
        check([0.7, 0.8, 1.6], 1.9, 49, false);
        check([0.7, 0.8, 10.5], 12.0, 9000, false);
        check([0.7, 0.8, 11.0], 12.0, 9000, false);
        check([11.0, 12.0, 20.5], 21.0, 9000, false);
        check([0.7, 2.7, 10.6], 12.0, 9000, true);
    }
}
