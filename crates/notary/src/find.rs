//! The receipts of one call of the gateway's log, with the proof of each that is in a pack.
//!
//! A call is named by its record. Its receipts are in the ledger that was open when it was made: the
//! last that was begun before, or, where gateways share a folder, one of those.

use std::fs;
use std::path::{Path, PathBuf};

use mcpproxy_core::{Receipted, Wall};

use crate::error::NotaryError;
use crate::layout::{Layout, stamp};
use crate::pack::RECEIPTS;
use crate::prove::prove;
use crate::view::each_line;

/// Bytes of ledgers and packs that are read for one call, at most.
const MOST: u64 = 256 << 20;

/// Finds the receipts of the call that has that record and was made then.
pub fn find(root: &Path, activity_id: &str, at: Wall) -> Result<Vec<Receipted>, NotaryError> {
    find_within(MOST, root, activity_id, at)
}

pub(crate) fn find_within(
    mut left: u64,
    root: &Path,
    activity_id: &str,
    at: Wall,
) -> Result<Vec<Receipted>, NotaryError> {
    let layout = Layout::create(root)?;
    for name in begun_before(&layout, at)? {
        let ledger = layout.session(&name);
        if !spend(&mut left, &ledger) {
            return Err(NotaryError::Input {
                name: ledger.display().to_string(),
                why: format!("more than {} MiB were to be looked through", MOST >> 20),
            });
        }
        let mut found = Vec::new();
        each_line(&ledger, |line| {
            if line.text("activity_id").as_deref() == Some(activity_id) {
                let id = line.text("receipt_id").unwrap_or_default().into_owned();
                found.push((id, Receipted::new(line.whole())));
            }
        })?;
        if !found.is_empty() {
            prove_all(&mut found, packs(&layout, &name), &mut left);
            return Ok(found.into_iter().map(|(_, receipt)| receipt).collect());
        }
    }
    Ok(Vec::new())
}

/// Adds the proofs of receipts that are in packs, for as long as something may be read.
fn prove_all(found: &mut [(String, Receipted)], packs: Vec<PathBuf>, left: &mut u64) {
    for pack in packs {
        let mut open = found.iter_mut().filter(|(_, one)| one.proof.is_none());
        let mut open = open.by_ref().peekable();
        if open.peek().is_none() || !spend(left, &pack.join(RECEIPTS)) {
            return;
        }
        for (id, receipt) in open {
            if let Ok(proof) = prove(&pack, id) {
                receipt.proof = Some(proof.pretty());
                receipt.pack = pack.file_name().map(|name| name.display().to_string());
            }
        }
    }
}

/// Returns the names of the sessions that were begun by then, the last first.
fn begun_before(layout: &Layout, at: Wall) -> Result<Vec<String>, NotaryError> {
    let folder = layout.receipts();
    let entries = fs::read_dir(&folder).map_err(NotaryError::file("read", &folder))?;
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_prefix("session_")?.strip_suffix(".jsonl")?;
        Some(name.to_owned())
    });
    let then = stamp(at);
    let mut names: Vec<_> = names.filter(|name| begun(name) <= then.as_str()).collect();
    names.sort_unstable_by(|one, other| other.cmp(one));
    Ok(names)
}

/// Returns when a session was begun, as its name has it.
fn begun(name: &str) -> &str {
    name.split('_').next().unwrap_or_default()
}

/// Returns the packs of a session, the last first.
fn packs(layout: &Layout, name: &str) -> Vec<PathBuf> {
    let all = (0..).map(|index| layout.pack(name, index));
    let mut packs: Vec<_> = all.take_while(|pack| pack.is_dir()).collect();
    packs.reverse();
    packs
}

/// Takes the length of a file from what may be read; not if there is less left.
fn spend(left: &mut u64, file: &Path) -> bool {
    let length = fs::metadata(file).map_or(0, |about| about.len());
    let rest = left.checked_sub(length);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}
