//! Proof packs: a run of a session's lines in a folder that can be verified on its own.
//!
//! The five files of the peer's format, and two of ours: the signed checkpoint, and what the tree
//! needs of the lines before the run. A pack is built under another name, synced and renamed, so
//! that it is there whole or not at all.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_core::Wall;
use sha2::{Digest as _, Sha256};

use crate::error::NotaryError;
use crate::file::plain;
use crate::hash::{Numbers, canonical, hex, sha256};
use crate::json::Json;
use crate::keys::{Signer, Trust};
use crate::layout::{create_file, create_folder, stamp, sync_folder};
use crate::read::Read as Line;
use crate::receipt::random_id;
use crate::session::origin;
use crate::tree::{Seam, Tree};
use crate::verify::{self, Checks, Class, Report};

/// The receipts.
pub const RECEIPTS: &str = "receipt_pack.jsonl";
/// What is signed.
pub const MANIFEST: &str = "pack_manifest.json";
/// The signature, once more, as raw bytes.
pub const SIGNATURE: &str = "pack_signature.sig";
/// The builder's own check, for machines.
pub const REPORT: &str = "verify_report.json";
/// The builder's own check, for people.
pub const TRANSCRIPT: &str = "verify_transcript.md";
/// The signed checkpoint over all lines but the last.
pub const CHECKPOINT: &str = "checkpoint.note";
/// Where the run stands in the session's tree.
pub const TREE: &str = "tree.json";

/// The signature covers the canonical manifest without these two.
pub(crate) const UNSIGNED: [&str; 2] = ["signature", "pack_root_sha256"];

/// A pack that was made.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its folder.
    pub path: PathBuf,
    /// How many receipts it has.
    pub receipts: u64,
    /// Whether the session was seen to its end; nothing while it goes on.
    pub session_complete: Option<bool>,
    /// What verifying it right after said.
    pub report: Report,
}

impl Built {
    /// Says what is wrong with a pack that does not hold, though it was just made.
    pub fn fault(&self) -> Option<String> {
        let problem = self.report.problems.first();
        let problem = problem.map_or("", |problem| problem.message.as_str());
        let path = self.path.display();
        (self.report.class == Class::Tampered)
            .then(|| format!("pack `{path}` does not hold: {problem}"))
    }
}

/// What a pack is made of.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) target: PathBuf,
    pub(crate) receipts: PathBuf,
    pub(crate) range: Range<u64>,
    pub(crate) session_id: String,
    pub(crate) before: Tree,
    pub(crate) seam: Option<Seam>,
    pub(crate) link: Option<String>,
    pub(crate) index: u64,
    pub(crate) note: String,
    pub(crate) complete: Option<bool>,
    /// How many bytes of the session's file were damaged and left out.
    pub(crate) dropped: u64,
    /// Whether something that was signed says otherwise than these lines.
    pub(crate) doubted: bool,
    pub(crate) enforced: bool,
    pub(crate) policy_hash: Option<String>,
    pub(crate) first: Wall,
    pub(crate) last: Wall,
    pub(crate) version: String,
    pub(crate) now: Wall,
    pub(crate) signer: Arc<Signer>,
}

/// One file of a pack.
struct Part {
    name: &'static str,
    sha256: String,
    bytes: u64,
}

/// What copying the receipts showed.
struct Copied {
    part: Part,
    lines: u64,
    /// The digest of the last line, which commits to all others.
    head: [u8; 32],
}

/// Longest last line that is looked at: it is a checkpoint, or the end of a session.
const LAST: u64 = 1 << 20;

/// Makes a pack and verifies it.
pub(crate) fn build(segment: &Segment) -> Result<Built, NotaryError> {
    let target = &segment.target;
    clear(segment)?;
    if !target.exists() {
        let folder = target.with_file_name(format!(".building_{}", file_name(target)));
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(NotaryError::file("empty", &folder))?;
        }
        create_folder(&folder)?;
        fill(segment, &folder)?;
        sync_folder(&folder)?;
        // CRASH: until the rename there is no pack, and the next start makes it anew.
        fs::rename(&folder, target).map_err(NotaryError::file("create", target))?;
        if let Some(parent) = target.parent() {
            sync_folder(parent)?;
        }
    }
    let checks = Checks {
        trust: Trust::new([segment.signer.public()]),
        now: segment.now,
        ..Checks::at(segment.now)
    };
    let report = verify::verify(target, &checks)?;
    let receipts = report.receipts;
    Ok(Built {
        path: target.clone(),
        receipts,
        session_complete: segment.complete,
        report,
    })
}

/// Tells whether there is a pack of that session, its lines unread.
pub(crate) fn is_of(pack: &Path, session_id: &str) -> bool {
    let manifest = verify::files::manifest(pack).unwrap_or_default();
    let attested = Line::new(&manifest).and_then(|manifest| manifest.object("attestation"));
    attested.is_some_and(|said| said.text("run_id").as_deref() == Some(session_id))
}

/// Moves what has the name of a pack and is not the session's out of the way, once: of a second there
/// would be no end.
fn clear(segment: &Segment) -> Result<(), NotaryError> {
    let target = &segment.target;
    let is_free = target.symlink_metadata().is_err();
    if is_free || is_of(target, &segment.session_id) {
        return Ok(());
    }
    let aside = target.with_file_name(format!("{}.aside", file_name(target)));
    fs::rename(target, &aside).map_err(NotaryError::file("set aside", target))
}

fn fill(segment: &Segment, folder: &Path) -> Result<(), NotaryError> {
    let copied = copy(segment, folder)?;
    let attestation = attestation(segment, &copied)?;
    let root = hex(&sha256(&canonical_of(&attestation)?));
    let parts = [
        write(
            folder,
            REPORT,
            report(segment, &copied, &root).pretty().as_bytes(),
        )?,
        write(folder, TRANSCRIPT, transcript(segment, &copied).as_bytes())?,
        write(folder, CHECKPOINT, segment.note.as_bytes())?,
        write(folder, TREE, tree(segment).pretty().as_bytes())?,
    ];
    let mut files = vec![copied.part];
    files.extend(parts);
    let mut members = manifest(segment, attestation, &root, &files, copied.lines)?;
    let signature = segment
        .signer
        .sign(&canonical_of(&Json::Object(members.clone()))?);
    let [signature_key, root_key] = UNSIGNED;
    members.push((signature_key, Json::text(STANDARD.encode(signature))));
    members.push((root_key, Json::text(root)));
    write(folder, MANIFEST, Json::Object(members).pretty().as_bytes())?;
    write(folder, SIGNATURE, &signature).map(drop)
}

/// Copies the lines of the run as they are.
fn copy(segment: &Segment, folder: &Path) -> Result<Copied, NotaryError> {
    let failed = NotaryError::file("read", &segment.receipts);
    let mut from = plain(&segment.receipts).map_err(&failed)?;
    from.seek(SeekFrom::Start(segment.range.start))
        .map_err(&failed)?;
    let length = segment.range.end.saturating_sub(segment.range.start);
    let mut from = from.take(length);
    let path = folder.join(RECEIPTS);
    let into = NotaryError::file("write", &path);
    let mut to = create_file(&path).map_err(&into)?;
    let (mut hash, mut lines, mut bytes) = (Sha256::new(), 0, 0);
    // Where the last line begins, and the one that is being read.
    let (mut last, mut next) = (0, 0);
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = from.read(&mut buffer).map_err(&failed)?;
        let part = buffer.get(..read).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        for at in memchr::memchr_iter(b'\n', part) {
            lines += 1;
            (last, next) = (next, bytes + u64::try_from(at + 1).unwrap_or(0));
        }
        hash.update(part);
        bytes += u64::try_from(read).unwrap_or(0);
        to.write_all(part).map_err(&into)?;
    }
    to.sync_all().map_err(&into)?;
    let part = Part {
        name: RECEIPTS,
        sha256: hex(&hash.finalize()),
        bytes,
    };
    let mut from = from.into_inner();
    from.seek(SeekFrom::Start(segment.range.start + last))
        .map_err(&failed)?;
    let mut line = Vec::new();
    let length = next.saturating_sub(last + 1).min(LAST);
    from.take(length).read_to_end(&mut line).map_err(&failed)?;
    // A line separator is escaped in a line, and not in its canonical form, which the peer reads.
    let line = canonical(&line, Numbers::Rfc8785).map_err(|_| unprintable())?;
    let head = sha256(&line);
    Ok(Copied { part, lines, head })
}

fn write(folder: &Path, name: &'static str, bytes: &[u8]) -> Result<Part, NotaryError> {
    let path = folder.join(name);
    let written = create_file(&path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(NotaryError::file("write", &path))?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(Part {
        name,
        sha256: hex(&sha256(bytes)),
        bytes: length,
    })
}

fn attestation(segment: &Segment, copied: &Copied) -> Result<Json, NotaryError> {
    let version = || Json::text(&segment.version);
    let digest = |text: &str| Json::text(hex(&sha256(text.as_bytes())));
    let policy = segment.policy_hash.clone();
    let unique: String = random_id("")?.chars().take(8).collect();
    let stamp = stamp(segment.now).replace('Z', "");
    Ok(Json::Object(vec![
        ("pack_format_version", Json::text("0.1.0")),
        ("fingerprint_version", Json::Number(1)),
        ("pack_id", Json::text(format!("pack_{stamp}_{unique}"))),
        ("run_id", Json::text(&segment.session_id)),
        ("suite_id", Json::text("manual")),
        ("suite_hash", digest("manual")),
        ("verifier_version", version()),
        ("canon_version", Json::text("jcs-rfc8785")),
        ("canon_impl", Json::text("mcpproxy.notary")),
        ("canon_impl_version", version()),
        (
            "policy_hash",
            policy.map_or_else(|| digest("no_policy"), Json::text),
        ),
        ("claim_set_id", Json::text("none")),
        ("claim_set_hash", digest("none")),
        (
            "receipt_integrity",
            Json::text(if segment.doubted { "FAIL" } else { "PASS" }),
        ),
        ("claim_check", Json::text("N/A")),
        ("discrepancy_fingerprint", Json::Null),
        ("assurance_level", Json::text("L0")),
        ("proof_tier", Json::text("signed-pack")),
        (
            "mode",
            Json::text(if segment.enforced {
                "enforced"
            } else {
                "shadow"
            }),
        ),
        ("head_hash", Json::text(hex(&copied.head))),
        ("head_hash_algorithm", Json::text("last-receipt-digest-v0")),
        ("time_authority", Json::text("local_clock")),
        ("n_receipts", Json::Number(copied.lines)),
        ("timestamp_start", Json::text(segment.first.rfc3339())),
        ("timestamp_end", Json::text(segment.last.rfc3339())),
        ("ci_binding", Json::Null),
        ("valid_until", Json::Null),
        ("superseded_by", Json::Null),
    ]))
}

fn manifest(
    segment: &Segment,
    attestation: Json,
    root: &str,
    files: &[Part],
    lines: u64,
) -> Result<Vec<(&'static str, Json)>, NotaryError> {
    let Json::Object(fields) = &attestation else {
        return Err(unprintable());
    };
    let field = |name: &str| {
        let found = fields.iter().find(|(key, _)| *key == name);
        found.map_or(Json::Null, |(_, value)| value.clone())
    };
    let listed = files.iter().map(|part| {
        Json::Object(vec![
            ("path", Json::text(part.name)),
            ("sha256", Json::text(&part.sha256)),
            ("bytes", Json::Number(part.bytes)),
        ])
    });
    let names = files
        .iter()
        .map(|part| part.name)
        .chain([MANIFEST, SIGNATURE]);
    let key = segment.signer.public();
    Ok(vec![
        ("pack_id", field("pack_id")),
        ("pack_version", Json::text("0.1.0")),
        ("manifest_version", Json::text("1.0.0")),
        ("hash_alg", Json::text("sha256")),
        ("suite_hash", field("suite_hash")),
        ("claim_set_id", field("claim_set_id")),
        ("claim_set_hash", field("claim_set_hash")),
        ("attestation", attestation),
        ("attestation_sha256", Json::text(root)),
        ("receipt_count_expected", Json::Number(lines)),
        ("files", Json::List(listed.collect())),
        ("expected_files", Json::texts(names)),
        ("signer_id", Json::text(segment.signer.name())),
        ("signer_pubkey", Json::text(key.base64())),
        ("signer_pubkey_sha256", Json::text(key.fingerprint())),
        ("signature_alg", Json::text("ed25519")),
        (
            "signature_scope",
            Json::text("JCS(pack_manifest_excluding_signature_and_pack_root_sha256)"),
        ),
    ])
}

fn closed(seam: &Seam) -> Json {
    Json::texts(seam.signed.peaks().iter().map(|peak| hex(peak)))
}

fn tree(segment: &Segment) -> Json {
    Json::Object(vec![
        ("form", Json::text("mcpproxy.tree.1")),
        ("origin", Json::text(origin(&segment.session_id))),
        ("pack_index", Json::Number(segment.index)),
        ("start", Json::Number(segment.before.size())),
        (
            "peaks",
            Json::texts(segment.before.peaks().iter().map(|peak| hex(peak))),
        ),
        // What ties the tree to the checkpoint of the pack before.
        (
            "closed_peaks",
            segment.seam.as_ref().map_or(Json::Null, closed),
        ),
        (
            "closing_leaf",
            Json::optional(segment.seam.as_ref().map(|seam| hex(&seam.leaf))),
        ),
        ("prev_hash", Json::optional(segment.link.clone())),
        (
            "session_complete",
            segment.complete.map_or(Json::Null, Json::Flag),
        ),
        ("bytes_dropped", Json::Number(segment.dropped)),
    ])
}

fn report(segment: &Segment, copied: &Copied, root: &str) -> Json {
    Json::Object(vec![
        ("schema_version", Json::text("mcpproxy.verify_report.1")),
        ("run_id", Json::text(&segment.session_id)),
        ("pack_root_sha256", Json::text(root)),
        ("integrity_verdict", Json::text("PASS")),
        ("claim_verdict", Json::text("NOT_EVALUATED")),
        ("verified_at", Json::text(segment.now.rfc3339())),
        (
            "verifier",
            Json::Object(vec![
                ("name", Json::text("mcpproxy")),
                ("version", Json::text(&segment.version)),
            ]),
        ),
        ("receipt_count", Json::Number(copied.lines)),
        ("receipt_pack_sha256", Json::text(&copied.part.sha256)),
        ("head_hash", Json::text(hex(&copied.head))),
        (
            "session_complete",
            segment.complete.map_or(Json::Null, Json::Flag),
        ),
    ])
}

fn transcript(segment: &Segment, copied: &Copied) -> String {
    let complete = match segment.complete {
        Some(true) => "yes",
        Some(false) => "no",
        None => "goes on after this pack",
    };
    format!(
        "# Proof pack\n\n\
         | | |\n|---|---|\n\
         | Session | `{}` |\n\
         | Session complete | {complete} |\n\
         | Receipts | {} |\n\
         | From | {} |\n\
         | To | {} |\n\
         | Signed by | `{}` `{}` |\n\n\
         `{CHECKPOINT}` is a signed checkpoint of the Merkle tree over the lines of `{RECEIPTS}` \
         before the last; the last line repeats it, and `head_hash` in `{MANIFEST}` is the SHA-256 \
         of that line in canonical form (RFC 8785).\n\nTo verify: `assay verify-pack <folder> --trust-key <key>`\n",
        segment.session_id,
        copied.lines,
        segment.first.rfc3339(),
        segment.last.rfc3339(),
        segment.signer.name(),
        segment.signer.public().base64(),
    )
}

fn canonical_of(json: &Json) -> Result<Vec<u8>, NotaryError> {
    canonical(json.pretty().as_bytes(), Numbers::Rfc8785).map_err(|_| unprintable())
}

/// What this crate prints is always canonical JSON once read back.
fn unprintable() -> NotaryError {
    NotaryError::Input {
        name: MANIFEST.to_owned(),
        why: "it cannot be printed".to_owned(),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
