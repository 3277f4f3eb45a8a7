//! `cargo xtask bench notary`: one call after the other to the same echo upstream, directly, through
//! a bare relay, through `assay mcp-proxy` relaxed and strict, with an empty folder and with one that
//! holds a long history, and through assay-ai where it is installed.
//!
//! Calls go round the contestants in short turns, so that a noisy moment hits them all.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tempfile::TempDir;

use super::stats::percentile;
use super::stdio::Runner;
use crate::Outcome;
use crate::process::resident_kb;

/// Calls of one contestant before it is the next one's turn.
const TURN: usize = 50;
/// Calls of each contestant that do not count.
const WARM_UP: usize = 100;
/// What `assay` may add at the median in relaxed mode, in microseconds.
const AIM: f64 = 100.0;
/// Calls through assay-ai on a folder with a history.
const FEW: usize = 20;
/// The program of assay-ai, as the tool set of the tests has it.
const PEER_VARIABLE: &str = "MCPPROXY_TOOLS_ASSAY";

/// One line of the table.
#[derive(Serialize, Debug)]
struct Row {
    name: &'static str,
    p50_us: f64,
    p95_us: f64,
    added_p50_us: f64,
    memory_kb: u32,
    calls: usize,
    wrong: usize,
}

/// The programs and folders of a run.
struct Stage<'a> {
    xtask: PathBuf,
    assay: PathBuf,
    folder: &'a Path,
}

impl Stage<'_> {
    fn echo(&self) -> Command {
        let mut command = Command::new(&self.xtask);
        command.arg("echo-stdio");
        command
    }

    fn relay(&self) -> Command {
        let mut command = Command::new(&self.xtask);
        command.arg("bare-relay");
        command
    }

    /// Prepares our proxy on an audit folder.
    fn ours(&self, audit: &str, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.assay);
        command
            .env("ASSAY_KEYS_DIR", self.folder.join("keys"))
            .args(["mcp-proxy", "--audit-dir"])
            .arg(self.folder.join(audit))
            .args(flags)
            .arg("--")
            .arg(&self.xtask)
            .arg("echo-stdio");
        command
    }

    /// Prepares the peer's proxy, if it is installed.
    fn peer(&self, audit: &str) -> Option<Command> {
        let program = PathBuf::from(env::var_os(PEER_VARIABLE)?);
        let mut command = Command::new(program.exists().then_some(program)?);
        command
            .env("HOME", self.folder.join("peer-home"))
            .args(["mcp-proxy", "--audit-dir"])
            .arg(self.folder.join(audit))
            .arg("--")
            .arg(&self.xtask)
            .arg("echo-stdio");
        Some(command)
    }

    /// Fills three folders with receipts, one for each mode and one for the peer.
    fn remember(&self, history: usize) -> Result<()> {
        println!("writing {history} receipts ...");
        for audit in ["old", "old-strict", "old-peer"] {
            let mut runner = Runner::start("history", self.ours(audit, &[]))?;
            // A call leaves two lines: what was about to be sent, and how it ended.
            runner.turn(history.div_ceil(2))?;
            runner.finish()?;
        }
        Ok(())
    }
}

/// Runs the bench of the program in `ours` with so many calls of each contestant and so many old
/// receipts.
pub(super) fn run(
    ours: &Path,
    folder: &Path,
    calls: usize,
    history: usize,
    json: Option<&Path>,
) -> Result<Outcome> {
    let (xtask, assay) = (folder.join("xtask"), ours.join("assay"));
    if !assay.is_file() {
        bail!("there is no program `assay` in {}", ours.display());
    }
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    fs::create_dir_all(folder.path().join("peer-home")).context("cannot create a folder")?;
    let stage = Stage {
        xtask,
        assay,
        folder: folder.path(),
    };
    stage.remember(history)?;
    let mut field = vec![
        ("direct", stage.echo()),
        ("bare relay, parsing", stage.relay()),
        ("assay", stage.ours("new", &[])),
        ("assay, with history", stage.ours("old", &[])),
        ("assay --strict", stage.ours("new-strict", &["--strict"])),
        (
            "assay --strict, with history",
            stage.ours("old-strict", &["--strict"]),
        ),
    ];
    match stage.peer("peer") {
        Some(peer) => field.push(("assay-ai", peer)),
        None => println!("assay-ai is not installed: `{PEER_VARIABLE}` names no program"),
    }
    let mut runners = Vec::new();
    for (name, command) in field {
        runners.push(Runner::start(name, command)?);
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
    if let Some(peer) = stage.peer("old-peer") {
        // It may read all of it again at every call, so that few calls have to do.
        let mut runner = Runner::start("assay-ai, with history", peer)?;
        runner.turn(FEW)?;
        runners.push(runner);
    }
    let rows = rows(&mut runners)?;
    print(&rows, history);
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&rows)?;
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let sound = rows.iter().all(|row| row.wrong == 0);
    Ok(if sound {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

fn rows(runners: &mut [Runner]) -> Result<Vec<Row>> {
    let mut direct = None;
    let mut rows = Vec::new();
    for runner in runners {
        runner.took.sort_unstable();
        let us = |share| percentile(&runner.took, share).as_secs_f64() * 1e6;
        let (p50_us, p95_us) = (us(50), us(95));
        let floor = *direct.get_or_insert(p50_us);
        rows.push(Row {
            name: runner.name(),
            p50_us,
            p95_us,
            added_p50_us: p50_us - floor,
            memory_kb: resident_kb(runner.id())?,
            calls: runner.took.len(),
            wrong: runner.wrong,
        });
    }
    Ok(rows)
}

fn print(rows: &[Row], history: usize) {
    println!("\none call after the other; the history is {history} receipts\n");
    println!("| to the same upstream | p50 / p95 | added at p50 | memory | calls | wrong |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        println!(
            "| {} | {:.0} / {:.0} us | {:+.0} us | {:.1} MB | {} | {} |",
            row.name,
            row.p50_us,
            row.p95_us,
            row.added_p50_us,
            f64::from(row.memory_kb) / 1024.0,
            row.calls,
            row.wrong
        );
    }
    for name in ["assay", "assay, with history"] {
        if let Some(row) = rows.iter().find(|row| row.name == name) {
            let met = if row.added_p50_us <= AIM {
                "met"
            } else {
                "missed"
            };
            println!("aim: {name} adds at most {AIM:.0} us at p50: {met}");
        }
    }
}
