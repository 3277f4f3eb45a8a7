//! The receipts of a pack, read once: their form, ids and count, and the chain and tree over them.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_core::Wall;
use mcpproxy_text::members;
use sha2::{Digest as _, Sha256};

use super::Expected;
use super::files;
use super::manifest::Manifest;
use super::report::{Code, Report};
use crate::chain::link_of;
use crate::claims::Completeness;
use crate::hash::{Numbers, canonical, hex, sha256, unhex};
use crate::keys::{PublicKey, Succession};
use crate::note::Checkpoint;
use crate::pack::{CHECKPOINT, RECEIPTS, TREE};
use crate::read::Read;
use crate::session::{note_of, origin};
use crate::tree::{self, Hash, Run, Seam, Tree};

/// The longest line that is read.
const LONGEST: u64 = 64 << 20;

/// The most replacements of keys that are looked at.
const SUCCESSIONS: usize = 256;

/// The members of a receipt that its digest leaves out.
const STRIPPED: [&str; 5] = [
    "signatures",
    "signature",
    "cose_signature",
    "receipt_hash",
    "anchor",
];

/// What reading the receipts gave.
#[derive(Debug)]
pub(super) struct Receipts {
    /// The leaves, with what came before the run.
    run: Run,
    /// How the pack before ended, as far as this one says.
    seam: Option<Seam>,
    /// The last line.
    last: Vec<u8>,
    claim: Completeness,
    /// Whether any line is linked to the one before it.
    linked: bool,
    pub(super) successions: Vec<Succession>,
}

/// What the pass over the lines keeps.
struct Pass<'a> {
    report: &'a mut Report,
    ids: HashSet<String>,
    receipts: Receipts,
    /// The number and link that the next line must carry, in packs of ours.
    next: Option<(u64, Option<String>)>,
    /// The tree over the lines so far.
    tree: Tree,
}

impl Receipts {
    /// Reads the lines and checks each by itself and against the one before it.
    pub(super) fn read(folder: &Path, manifest: &Manifest<'_>, report: &mut Report) -> Self {
        let before = Before::read(folder, manifest, report);
        let ours = before.is_some();
        let (tree, seam, link) = before.unwrap_or_default();
        let next = ours.then(|| (tree.size(), link));
        let receipts = Self {
            run: Run {
                before: tree,
                leaves: Vec::new(),
            },
            seam,
            last: Vec::new(),
            claim: Completeness::default(),
            linked: false,
            successions: Vec::new(),
        };
        let mut pass = Pass {
            report,
            ids: HashSet::new(),
            tree: receipts.run.before.clone(),
            receipts,
            next,
        };
        pass.run(folder, manifest);
        pass.receipts
    }

    /// Holds the whole against the manifest, and against the checkpoint in packs of ours.
    pub(super) fn check(
        &self,
        folder: &Path,
        manifest: &Manifest<'_>,
        key: Option<&PublicKey>,
        report: &mut Report,
    ) {
        report.receipts = u64::try_from(self.run.leaves.len()).unwrap_or(u64::MAX);
        if manifest
            .counts()
            .iter()
            .any(|count| *count != Some(report.receipts))
        {
            let message = format!(
                "the file has {} receipts, the manifest says otherwise",
                report.receipts
            );
            report.add(Code::Omission, message);
        }
        let head = if self.run.leaves.is_empty() {
            Some(sha256(b"empty"))
        } else {
            Read::new(&self.last).and_then(head)
        };
        if manifest.attested("head_hash").and_then(|head| unhex(&head)) != head {
            report.add(
                Code::ManifestTamper,
                "`head_hash` is not the last receipt's digest",
            );
        }
        if !manifest.lists(TREE) || !manifest.lists(CHECKPOINT) {
            if self.linked {
                report.add(
                    Code::ChainBroken,
                    "the receipts are chained, and the pack has no checkpoint",
                );
            }
            return;
        }
        if let Err(why) = self.checkpoint(folder, manifest, key, report) {
            report.add(Code::ChainBroken, why);
        }
        self.completeness(folder, report);
    }

    /// Checks the note: whose it is, that the tree is this one, and that the last line repeats it.
    fn checkpoint(
        &self,
        folder: &Path,
        manifest: &Manifest<'_>,
        key: Option<&PublicKey>,
        report: &mut Report,
    ) -> Result<(), String> {
        let note = files::small(folder, CHECKPOINT).map_err(|fault| fault.to_string())?;
        let note = String::from_utf8(note).map_err(|fault| fault.to_string())?;
        let key = key.ok_or("the checkpoint's signer is unknown")?;
        let signer = manifest.text("signer_id").unwrap_or_default();
        let checkpoint = Checkpoint::open(&note, &signer, key)?;
        report.tree_size = Some(checkpoint.size);
        report.root = Some(hex(&checkpoint.root));
        if self.run.root_at(checkpoint.size) != Some(checkpoint.root) {
            return Err("the tree over the receipts is not the one that was signed".to_owned());
        }
        let last = Read::new(&self.last).ok_or("the last line is no checkpoint")?;
        let end = self.run.before.size().saturating_add(report.receipts);
        if last.text("checkpoint").as_deref() != Some(&note)
            || checkpoint.size.saturating_add(1) != end
        {
            return Err("the last line does not repeat the checkpoint".to_owned());
        }
        let session = last.text("session_id").unwrap_or_default();
        let named = Some(session.as_ref()) == manifest.attested("run_id").as_deref();
        if checkpoint.origin != origin(&session) || !named {
            return Err("the checkpoint is of another session".to_owned());
        }
        Ok(())
    }

    fn completeness(&self, folder: &Path, report: &mut Report) {
        let tree = files::small(folder, TREE).ok();
        let tree = tree.as_deref().and_then(Read::new);
        let said = tree.and_then(|tree| tree.flag("session_complete"));
        report.session_complete = self.claim.session_complete();
        self.ending(tree.and_then(|tree| tree.number("bytes_dropped")), report);
        if said != report.session_complete {
            report.add(
                Code::ChainBroken,
                format!("`{TREE}` and the receipts differ in `session_complete`"),
            );
        }
        if self.run.before.size() == 0 && self.claim.ended() {
            if !self.claim.holds() {
                report.add(Code::ClaimFail, self.claim.message());
            }
            report.claim = Some(self.claim.clone());
        }
    }

    /// Says how the session ended, and what of it was found damaged. Where its last word was written
    /// before the damage, only the tree's file knows of that.
    fn ending(&self, dropped: Option<u64>, report: &mut Report) {
        let ending = self.claim.ending();
        report.end_reason = ending.map(|ending| ending.reason.clone());
        report.lost = ending.map_or(0, |ending| ending.lost);
        report.dropped = ending.map_or(0, |ending| ending.dropped);
        report.dropped = report.dropped.max(dropped.unwrap_or(0));
        if report.dropped > 0 {
            report.warn(format!(
                "the file of the session was damaged: {} bytes behind the last whole receipt did \
                 not continue them and are left out",
                report.dropped
            ));
        }
        if report.lost > 0 {
            report.warn(format!("{} receipts could not be written", report.lost));
        }
    }

    /// Looks for a tree that was seen before.
    pub(super) fn expect(&self, expect: Option<&Expected>, report: &mut Report) {
        let Some(expect) = expect else {
            return;
        };
        let count = u64::try_from(self.run.leaves.len()).unwrap_or(0);
        let start = self.run.before.size();
        let end = start.saturating_add(count);
        let seam = self.seam.as_ref();
        let seam = seam.filter(|seam| seam.signed.size() == expect.size);
        let found = match seam {
            Some(seam) => Some(seam.signed.root()),
            None => self.run.root_at(expect.size),
        };
        if seam.is_none() && expect.size < start {
            let message = "the tree that was seen before ends before this pack: hold each pack \
                           against the checkpoint of the one before it";
            return report.add(Code::Earlier, message);
        }
        let message = if expect.size > end {
            format!(
                "{} lines were seen before, and the session has only {end} here",
                expect.size
            )
        } else if found != Some(expect.root) {
            format!(
                "the first {} lines are not those that were seen before",
                expect.size
            )
        } else {
            return;
        };
        report.add(Code::Truncated, message);
    }
}

/// What came before the run, as the pack says.
struct Before;

impl Before {
    fn read(
        folder: &Path,
        manifest: &Manifest<'_>,
        report: &mut Report,
    ) -> Option<(Tree, Option<Seam>, Option<String>)> {
        if !manifest.lists(TREE) {
            return None;
        }
        let bytes = files::small(folder, TREE).unwrap_or_default();
        let found = Read::new(&bytes).and_then(Self::parse);
        if found.is_none() {
            report.add(
                Code::ChainBroken,
                format!("`{TREE}` does not say where the run begins"),
            );
        }
        found
    }

    fn parse(tree: Read<'_>) -> Option<(Tree, Option<Seam>, Option<String>)> {
        let link = tree.text("prev_hash").map(std::borrow::Cow::into_owned);
        let before = Tree::resume(tree.number("start")?, Self::peaks(tree, "peaks")?)?;
        let seam = match tree.text("closing_leaf") {
            Some(leaf) => {
                let size = before.size().checked_sub(1)?;
                let signed = Tree::resume(size, Self::peaks(tree, "closed_peaks")?)?;
                let leaf = unhex(&leaf)?;
                let seam = Seam { signed, leaf };
                Some(seam).filter(|seam| seam.joins(&before)).map(Some)?
            }
            None => None,
        };
        ((before.size() == 0) == link.is_none()).then_some((before, seam, link))
    }

    fn peaks(tree: Read<'_>, name: &str) -> Option<Vec<Hash>> {
        let peaks = tree.list(name)?.into_iter();
        peaks
            .map(|raw| unhex(&mcpproxy_text::string(raw)?))
            .collect()
    }
}

impl Pass<'_> {
    fn run(&mut self, folder: &Path, manifest: &Manifest<'_>) {
        let Some(listed) = manifest.files.iter().find(|file| file.path == RECEIPTS) else {
            return;
        };
        if !files::inside(folder, RECEIPTS) {
            return self.report.add(
                Code::PathEscape,
                format!("`{RECEIPTS}` is not a file of the pack"),
            );
        }
        let file = match files::open(folder, RECEIPTS) {
            Ok(file) => file,
            Err(fault) => {
                let message = format!("cannot read `{RECEIPTS}`: {fault}");
                return self.report.add(Code::ManifestTamper, message);
            }
        };
        let (mut reader, mut hash, mut bytes) =
            (BufReader::with_capacity(256 << 10, file), Sha256::new(), 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = match reader.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(read) => read,
                Err(fault) => {
                    let message = format!("cannot read `{RECEIPTS}`: {fault}");
                    return self.report.add(Code::ManifestTamper, message);
                }
            };
            if read == 0 {
                break;
            }
            hash.update(&line);
            bytes += u64::try_from(read).unwrap_or(0);
            self.line(&line);
        }
        files::compare(listed, (hash.finalize().into(), bytes), self.report);
    }

    fn line(&mut self, bytes: &[u8]) {
        let number = self.receipts.run.leaves.len() + 1;
        let Some(bytes) = bytes.strip_suffix(b"\n") else {
            return self
                .report
                .add(Code::ManifestTamper, format!("line {number} is cut short"));
        };
        let digest = sha256(bytes);
        let read = Read::new(bytes);
        if let Some(read) = &read {
            self.interim(read, number);
        }
        let leaf = tree::leaf(bytes);
        self.tree.push(leaf);
        self.receipts.run.leaves.push(leaf);
        let Some(read) = read else {
            self.receipts.last.clear();
            return self.report.add(
                Code::CanonMismatch,
                format!("line {number} is not strict JSON"),
            );
        };
        self.fields(read, number);
        self.link(read, number, &digest);
        self.receipts.claim.see(read);
        let room = self.receipts.successions.len() < SUCCESSIONS;
        if room && read.text("type").as_deref() == Some("mcp.key_succession") {
            self.receipts.successions.extend(succession(read));
        }
        self.receipts.last.clear();
        self.receipts.last.extend_from_slice(bytes);
    }

    /// Checks that a checkpoint on the way is of the lines before it.
    fn interim(&mut self, read: &Read<'_>, number: usize) {
        let checkpoint = read.text("type").as_deref() == Some("mcp.checkpoint");
        if self.next.is_some() && checkpoint && note_of(read, &self.tree).is_none() {
            let message = format!("line {number} is a checkpoint of other lines");
            self.report.add(Code::ChainBroken, message);
        }
    }

    /// Checks what every receipt has.
    fn fields(&mut self, read: Read<'_>, number: usize) {
        for name in ["receipt_id", "type", "timestamp"] {
            if read.text(name).is_none_or(|text| text.is_empty()) {
                self.report.add(
                    Code::SchemaUnknown,
                    format!("line {number} has no `{name}`"),
                );
            }
        }
        let time = read.text("timestamp");
        if time.is_some_and(|time| Wall::from_rfc3339(&time).is_none()) {
            self.report.add(
                Code::TimestampInvalid,
                format!("line {number} has no readable time"),
            );
        }
        if let Some(id) = read.text("receipt_id")
            && !self.ids.insert(id.into_owned())
        {
            self.report.add(
                Code::DuplicateId,
                format!("line {number} repeats a receipt's id"),
            );
        }
    }

    /// Checks that a line follows the one before it.
    fn link(&mut self, read: Read<'_>, number: usize, digest: &[u8; 32]) {
        self.receipts.linked |= read.raw("prev_hash").is_some();
        let Some((seq, link)) = self.next.take() else {
            return;
        };
        if read.number("seq") != Some(seq) {
            self.report.add(
                Code::ChainBroken,
                format!("line {number} is not receipt {seq}"),
            );
        }
        if read.text("prev_hash").as_deref() != link.as_deref() {
            self.report.add(
                Code::ChainBroken,
                format!("line {number} does not follow the line before it"),
            );
        }
        self.next = Some((seq.saturating_add(1), Some(link_of(digest))));
    }
}

/// Computes a receipt's digest as the peer does.
fn head(read: Read<'_>) -> Option<[u8; 32]> {
    let kept = strip(read.whole())?;
    canonical(kept.as_bytes(), Numbers::Peer)
        .ok()
        .map(|bytes| sha256(&bytes))
}

fn strip(text: &str) -> Option<String> {
    let mut kept = String::from("{");
    for member in members(text).filter(|member| !STRIPPED.contains(&member.key.as_ref())) {
        if kept.len() > 1 {
            kept.push(',');
        }
        kept.push_str(text.get(member.key_span)?);
        kept.push(':');
        kept.push_str(text.get(member.value)?);
    }
    kept.push('}');
    Some(kept)
}

fn succession(read: Read<'_>) -> Option<Succession> {
    let key = |name: &str| PublicKey::parse(read.text(name)?.as_bytes());
    let signature = STANDARD
        .decode(read.text("old_signature")?.as_bytes())
        .ok()?;
    Succession::new(key("old_pubkey")?, key("new_pubkey")?, &signature)
}
