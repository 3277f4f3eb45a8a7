//! Judges a pack without trusting who made it.
//!
//! Everything is recomputed: the manifest's layout, schema and signature, every file's digest, the
//! receipts' form, ids and count, and in packs of ours the chain, the tree and the checkpoint.
//! Packs of assay-ai are judged by the same rules as far as they reach. Offline, in one pass over
//! the receipts.

pub(crate) mod files;
mod manifest;
mod receipts;
mod report;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use mcpproxy_core::Wall;

use crate::error::NotaryError;
use crate::keys::{PublicKey, Trust};
use crate::note::Checkpoint;
use crate::pack::CHECKPOINT;
use crate::session;
use crate::timestamp::{self, Roots, TOKEN};
use crate::tree::Hash;
use crate::view::each_line;
use manifest::Manifest;
use receipts::Receipts;
pub use report::{Class, Code, Known, Problem, Report};

/// What a pack is held against beyond itself.
#[derive(Clone, Debug)]
pub struct Checks {
    /// Whose packs are believed.
    pub trust: Trust,
    /// The time of the judgement.
    pub now: Wall,
    /// How old a pack may be.
    pub max_age: Option<Duration>,
    /// How far in the future its last receipt may lie, since clocks differ.
    pub max_future: Duration,
    /// A tree that was seen before: the session must contain it.
    pub expect: Option<Expected>,
    /// Authorities whose timestamps are believed. With any, a pack must have such a timestamp.
    pub time_roots: Roots,
}

/// The tree of a session as it was seen at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How many lines it had.
    pub size: u64,
    /// Its root.
    pub root: Hash,
}

impl Expected {
    /// Takes what a checkpoint says that was kept.
    pub fn from_note(note: &str) -> Result<Self, &'static str> {
        Checkpoint::read(note).map(|checkpoint| Self {
            size: checkpoint.size,
            root: checkpoint.root,
        })
    }

    /// Tells whether a checkpoint that was kept is of the session that the lines of a pack name.
    pub fn is_of(note: &str, pack: &Path) -> Result<bool, NotaryError> {
        let mut origins = BTreeSet::new();
        each_line(pack, |line| {
            let session = line.text("session_id");
            origins.extend(session.map(|session| session::origin(&session)));
        })?;
        Ok(Checkpoint::read(note).is_ok_and(|kept| origins.contains(&kept.origin)))
    }

    /// Takes a size and a root in hexadecimal digits, as `sha256:…` or bare.
    pub fn new(size: u64, root: &str) -> Option<Self> {
        let digits = root.strip_prefix("sha256:").unwrap_or(root);
        crate::hash::unhex(digits).map(|root| Self { size, root })
    }
}

impl Checks {
    /// Judges at that time, trusting nobody and expecting nothing.
    pub fn at(now: Wall) -> Self {
        Self {
            trust: Trust::default(),
            now,
            max_age: None,
            max_future: Duration::from_hours(24),
            expect: None,
            time_roots: Roots::default(),
        }
    }
}

/// Judges the pack in `folder`. An error means that there is no pack to be judged.
pub fn verify(folder: &Path, checks: &Checks) -> Result<Report, NotaryError> {
    let bytes = files::manifest(folder)?;
    let mut report = Report::default();
    let Some(manifest) = Manifest::read(&bytes, &mut report) else {
        return Ok(report.concluded());
    };
    report.pack_id = manifest.text("pack_id");
    report.signer_id = manifest.text("signer_id");
    let key = manifest.signature(folder, &mut report);
    manifest.attestation(&mut report);
    files::check(folder, &manifest, &mut report);
    let receipts = Receipts::read(folder, &manifest, &mut report);
    receipts.check(folder, &manifest, key.as_ref(), &mut report);
    receipts.expect(checks.expect.as_ref(), &mut report);
    freshness(&manifest, checks, &mut report);
    stamped(folder, &checks.time_roots, &mut report);
    report.signer = known(key, &receipts, &checks.trust);
    report.signer_key = key.map(|key| key.base64());
    Ok(report.concluded())
}

/// Tells whether the signer is trusted, or named by a trusted key as its successor.
fn known(key: Option<PublicKey>, receipts: &Receipts, trust: &Trust) -> Known {
    let Some(key) = key else {
        return Known::Unknown;
    };
    if trust.contains(&key) {
        return Known::Trusted;
    }
    // From key to key, as far as statements that hold lead back.
    let mut reached = vec![key];
    let mut at = 0;
    while let Some(new) = reached.get(at).copied() {
        at += 1;
        for succession in receipts.successions.iter().filter(|one| one.new == new) {
            if reached.contains(&succession.old) || !succession.holds() {
                continue;
            }
            if trust.contains(&succession.old) {
                return Known::Successor;
            }
            reached.push(succession.old);
        }
    }
    Known::Unknown
}

/// Checks the timestamp of an outside authority, if one is asked for or there.
fn stamped(folder: &Path, roots: &Roots, report: &mut Report) {
    let token = files::small(folder, TOKEN).ok();
    match (token, roots.is_empty()) {
        (None, true) => {}
        (Some(_), true) => report.warn("the timestamp was not checked, since no root is pinned"),
        (None, false) => report.add(Code::TimeAuthority, "the pack has no timestamp"),
        (Some(token), false) => {
            let note = files::small(folder, CHECKPOINT).unwrap_or_default();
            match timestamp::check(&token, &note, roots) {
                Ok(at) => report.stamped_at = Some(at),
                Err(why) => report.add(Code::TimeAuthority, why),
            }
        }
    }
}

/// Holds the attested times against the clock.
fn freshness(manifest: &Manifest<'_>, checks: &Checks, report: &mut Report) {
    let Some(end) = manifest.attested_time("timestamp_end") else {
        return report.add(
            Code::TimestampInvalid,
            "the attestation's times cannot be read",
        );
    };
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    if checks
        .max_age
        .is_some_and(|age| end.after(age) < checks.now)
    {
        report.add(
            Code::PackStale,
            format!("the pack ends at {}", end.rfc3339()),
        );
    }
    if end.0.saturating_sub(checks.now.0) > millis(checks.max_future) {
        report.add(
            Code::Future,
            format!("the pack ends in the future, at {}", end.rfc3339()),
        );
    }
    if manifest
        .attested_time("valid_until")
        .is_some_and(|until| until < checks.now)
    {
        report.add(Code::PackStale, "the pack's validity is over");
    }
}

#[cfg(test)]
mod tests;
