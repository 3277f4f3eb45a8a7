//! `cargo xtask soak notary`: kills `assay mcp-proxy --strict` at random moments under load, and then
//! looks whether a receipt is missing of a call that was answered, and whether every session ended in
//! a pack that verifies.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use crate::Outcome;
use crate::workspace::{self, Profile};

/// An upstream that answers every call.
const UPSTREAM: &str =
    r#"sed -u -n 's/.*"id":\([0-9]*\).*/{"jsonrpc":"2.0","id":\1,"result":{}}/p'"#;
/// Most calls of one session.
const CALLS: u64 = 1000;
/// A kill comes between these times after the start, in milliseconds.
const EARLIEST: u64 = 2;
const SPREAD: u64 = 200;
const PROGRESS_EVERY: u64 = 100;

/// Kills `count` sessions in one folder, one after the other.
pub(super) fn run(count: u64) -> Result<Outcome> {
    let programs = workspace::build(&workspace::root()?, &["assay"], Profile::Debug)?;
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let stage = Stage {
        program: programs.join("assay"),
        folder: folder.path(),
    };
    let mut answered = BTreeSet::new();
    for round in 0..count {
        stage.kill(round, &mut answered)?;
        if (round + 1) % PROGRESS_EVERY == 0 {
            println!("{} kills, {} calls answered", round + 1, answered.len());
        }
    }
    // The next start closes what the last kill left.
    stage
        .proxy(&["true"])
        .stdin(Stdio::null())
        .status()
        .context("cannot start assay")?;
    let recorded = stage.recorded()?;
    let lost = answered.difference(&recorded).count();
    let (packs, broken) = stage.packs()?;
    println!("{} calls answered, {lost} receipts lost", answered.len());
    println!(
        "{packs} packs of {} sessions, {broken} of them broken",
        stage.sessions()?.len()
    );
    let whole = packs >= stage.sessions()?.len();
    Ok(if lost == 0 && broken == 0 && whole {
        Outcome::Clean
    } else {
        Outcome::Failed
    })
}

/// The program and the folder that all sessions share.
struct Stage<'a> {
    program: PathBuf,
    folder: &'a Path,
}

impl Stage<'_> {
    fn proxy(&self, upstream: &[&str]) -> Command {
        let mut command = self.assay();
        command
            .args(["mcp-proxy", "--strict", "--audit-dir"])
            .arg(self.folder.join("audit"))
            .arg("--")
            .args(upstream);
        command
    }

    fn assay(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("ASSAY_KEYS_DIR", self.folder.join("keys"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs one session into its kill; notes the ids that were answered.
    fn kill(&self, round: u64, answered: &mut BTreeSet<u64>) -> Result<()> {
        let mut child = self
            .proxy(&["sh", "-c", UPSTREAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start assay")?;
        let input = child.stdin.take().context("no way to assay")?;
        let output = child.stdout.take().context("no way from assay")?;
        let caller = thread::spawn(move || talk(round * CALLS, input, BufReader::new(output)));
        thread::sleep(Duration::from_millis(EARLIEST + scattered(round) % SPREAD));
        end(&mut child)?;
        answered.extend(caller.join().unwrap_or_default());
        Ok(())
    }

    /// Returns the files of the sessions that began.
    fn sessions(&self) -> Result<Vec<PathBuf>> {
        let found = entries(&self.folder.join("audit/receipts"))?;
        // One that was killed before its first line has nothing that could be packed.
        let begun = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| meta.len() > 0);
        let session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        Ok(found
            .into_iter()
            .filter(|path| session(path) && begun(path))
            .collect())
    }

    /// Returns the ids of the calls that have a receipt of their answer.
    fn recorded(&self) -> Result<BTreeSet<u64>> {
        let mut ids = BTreeSet::new();
        for path in self.sessions()? {
            let text = fs::read_to_string(&path).context("cannot read receipts")?;
            for line in text.lines() {
                let receipt: Value = serde_json::from_str(line).context("a receipt is no JSON")?;
                let answered = receipt.get("outcome").and_then(Value::as_str) == Some("forwarded");
                let id = receipt.get("mcp_request_id").and_then(Value::as_u64);
                ids.extend(id.filter(|_| answered));
            }
        }
        Ok(ids)
    }

    /// Counts the packs, and those that do not verify.
    fn packs(&self) -> Result<(usize, usize)> {
        let packs = entries(&self.folder.join("audit/packs"))?;
        let mut broken = 0;
        for pack in &packs {
            let status = self.assay().arg("verify-pack").arg(pack).status();
            // 1 is what an incomplete session may say of itself; 2 and above is damage.
            let code = status.context("cannot start assay")?.code();
            broken += usize::from(!matches!(code, Some(0 | 1)));
        }
        Ok((packs.len(), broken))
    }
}

fn end(child: &mut Child) -> Result<()> {
    child.kill().context("cannot kill assay")?;
    child.wait().context("cannot wait for assay")?;
    Ok(())
}

/// Calls until nobody answers; returns the ids that were answered.
fn talk(first: u64, mut input: impl std::io::Write, mut output: impl std::io::BufRead) -> Vec<u64> {
    let mut answered = Vec::new();
    for id in first..first + CALLS {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{}}}}}}"#
        );
        let mut line = String::new();
        let asked = writeln!(input, "{call}").and_then(|()| output.read_line(&mut line));
        // A line without its end was cut by the kill: nobody could have read it.
        if asked.is_err() || !line.ends_with('\n') {
            break;
        }
        answered.push(id);
    }
    answered
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let found =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in found {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        paths.extend((!hidden).then_some(path));
    }
    Ok(paths)
}

/// Scatters numbers, so that each run kills at the same times.
fn scattered(round: u64) -> u64 {
    round.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33
}
