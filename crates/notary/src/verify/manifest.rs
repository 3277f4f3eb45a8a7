//! The manifest: its exact layout, its closed schema, its signature and its attestation.
//!
//! The signature covers the manifest's canonical form, so blanks and spellings could be changed
//! without breaking it. The layout is therefore checked as well: only one spelling is accepted.

use std::borrow::Cow;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_core::Wall;
use mcpproxy_text::{self as text, elements, members, unescape};

use super::files;
use super::report::{Code, Report};
use crate::hash::{Numbers, canonical, hex, sha256, unhex};
use crate::keys::PublicKey;
use crate::pack::{self, UNSIGNED};
use crate::read::Read;

/// What a field must be.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Hex,
    Number,
    Is(&'static [&'static str]),
    /// Present or not, and of any form that the signature covers.
    Optional,
    /// Checked elsewhere.
    Elsewhere,
}

use Form::{Elsewhere, Hex, Is, Number, Optional, Text};

const MANIFEST: &[(&str, Form)] = &[
    ("pack_id", Text),
    ("pack_version", Is(&["0.1.0"])),
    ("manifest_version", Is(&["1.0.0"])),
    ("hash_alg", Is(&["sha256"])),
    ("attestation", Elsewhere),
    ("attestation_sha256", Hex),
    ("suite_hash", Hex),
    ("claim_set_id", Text),
    ("claim_set_hash", Hex),
    ("redaction_policy_sha256", Optional),
    ("receipt_count_expected", Number),
    ("files", Elsewhere),
    ("expected_files", Elsewhere),
    ("signer_id", Text),
    ("signer_pubkey", Text),
    ("signer_pubkey_sha256", Hex),
    ("signature_alg", Is(&["ed25519"])),
    (
        "signature_scope",
        Is(&[
            "JCS(pack_manifest_excluding_signature_and_pack_root_sha256)",
            "JCS(pack_manifest_without_signature)",
        ]),
    ),
    ("signature", Text),
    ("pack_root_sha256", Hex),
];

const ATTESTATION: &[(&str, Form)] = &[
    ("pack_format_version", Is(&["0.1.0"])),
    ("fingerprint_version", Number),
    ("pack_id", Text),
    ("run_id", Text),
    ("suite_id", Text),
    ("suite_hash", Hex),
    ("verifier_version", Text),
    ("canon_version", Is(&["jcs-rfc8785"])),
    ("canon_impl", Text),
    ("canon_impl_version", Text),
    ("policy_hash", Hex),
    ("claim_set_id", Text),
    ("claim_set_hash", Hex),
    ("receipt_integrity", Is(&["PASS", "FAIL"])),
    ("claim_check", Is(&["PASS", "FAIL", "N/A"])),
    ("assurance_level", Is(&["L0", "L1", "L2", "L3"])),
    (
        "proof_tier",
        Is(&["hash-only", "signed-pack", "signed-receipts"]),
    ),
    ("mode", Is(&["shadow", "enforced", "breakglass"])),
    ("head_hash", Hex),
    ("head_hash_algorithm", Text),
    ("time_authority", Text),
    ("n_receipts", Number),
    ("timestamp_start", Text),
    ("timestamp_end", Text),
    ("discrepancy_fingerprint", Optional),
    ("valid_until", Optional),
    ("superseded_by", Optional),
    ("ci_binding", Optional),
];

/// One file that the manifest lists.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) sha256: [u8; 32],
    pub(super) bytes: u64,
}

/// A manifest in the one layout and with the known fields.
#[derive(Debug)]
pub(super) struct Manifest<'a> {
    whole: Read<'a>,
    attestation: Read<'a>,
    pub(super) files: Vec<Listed>,
    pub(super) expected: Vec<String>,
}

impl<'a> Manifest<'a> {
    /// Reads a manifest; nothing, and a problem, if it is not one.
    pub(super) fn read(bytes: &'a [u8], report: &mut Report) -> Option<Self> {
        let tampered = |report: &mut Report, why: &str| {
            report.add(Code::ManifestTamper, format!("{}: {why}", pack::MANIFEST));
        };
        let Some(whole) = Read::new(bytes) else {
            tampered(report, "it is not strict JSON");
            return None;
        };
        if relaid(whole.whole()).as_deref() != Some(whole.whole()) {
            tampered(
                report,
                "its bytes are not in the layout in which manifests are written",
            );
        }
        let manifest = Self::parts(whole);
        let attestation = whole.object("attestation");
        let fault = schema(whole, MANIFEST)
            .or_else(|| schema(attestation?, ATTESTATION).map(|name| format!("attestation.{name}")))
            .or_else(|| manifest.is_none().then(|| "files".to_owned()));
        if let Some(name) = fault {
            tampered(
                report,
                &format!("field `{name}` is missing, unknown or malformed"),
            );
            return None;
        }
        manifest
    }

    fn parts(whole: Read<'a>) -> Option<Self> {
        let mut files = Vec::new();
        for raw in whole.list("files")? {
            let file = Read::new(raw.as_bytes())?;
            if file.keys().len() != 3 {
                return None;
            }
            files.push(Listed {
                path: file.text("path")?.into_owned(),
                sha256: unhex(&file.text("sha256")?)?,
                bytes: file.number("bytes")?,
            });
        }
        let expected = whole.list("expected_files")?;
        let expected: Option<Vec<String>> = expected
            .into_iter()
            .map(|raw| text::string(raw).map(Cow::into_owned))
            .collect();
        Some(Self {
            whole,
            attestation: whole.object("attestation")?,
            files,
            expected: expected?,
        })
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.whole.text(name).map(Cow::into_owned)
    }

    pub(super) fn attested(&self, name: &str) -> Option<String> {
        self.attestation.text(name).map(Cow::into_owned)
    }

    pub(super) fn attested_time(&self, name: &str) -> Option<Wall> {
        Wall::from_rfc3339(&self.attested(name)?)
    }

    pub(super) fn counts(&self) -> [Option<u64>; 2] {
        [
            self.whole.number("receipt_count_expected"),
            self.attestation.number("n_receipts"),
        ]
    }

    pub(super) fn lists(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.path == name)
    }

    /// Checks the signature, and returns the key whose it is if it holds.
    pub(super) fn signature(&self, folder: &Path, report: &mut Report) -> Option<PublicKey> {
        match self.signed(folder) {
            Ok(key) => Some(key),
            Err(why) => {
                report.add(Code::SignatureInvalid, why);
                None
            }
        }
    }

    fn signed(&self, folder: &Path) -> Result<PublicKey, &'static str> {
        let decode = |name: &str| STANDARD.decode(self.text(name)?).ok();
        let key = decode("signer_pubkey").and_then(|bytes| bytes.try_into().ok());
        let key = key
            .and_then(PublicKey::from_bytes)
            .ok_or("the signer's key is not a key")?;
        if self.text("signer_pubkey_sha256") != Some(key.fingerprint()) {
            return Err("the signer's key and its digest differ");
        }
        let signature = decode("signature").ok_or("the signature is not base64")?;
        let detached = files::small(folder, pack::SIGNATURE);
        if detached.ok().as_deref() != Some(signature.as_slice()) {
            return Err("the detached signature is not the manifest's");
        }
        let message = unsigned(self.whole.whole()).ok_or("the manifest has no canonical form")?;
        key.verify(&message, &signature)
            .then_some(key)
            .ok_or("the signature does not hold")
    }

    /// Checks the attestation's digest, its agreement with the manifest, and what it admits.
    pub(super) fn attestation(&self, report: &mut Report) {
        let digest = canonical(self.attestation.whole().as_bytes(), Numbers::Peer)
            .map(|bytes| hex(&sha256(&bytes)))
            .ok();
        report.pack_root.clone_from(&digest);
        for name in ["attestation_sha256", "pack_root_sha256"] {
            if self.text(name) != digest {
                report.add(
                    Code::ManifestTamper,
                    format!("`{name}` is not the attestation's digest"),
                );
            }
        }
        for name in ["pack_id", "suite_hash", "claim_set_id", "claim_set_hash"] {
            if self.text(name) != self.attested(name) {
                report.add(
                    Code::ManifestTamper,
                    format!("manifest and attestation differ in `{name}`"),
                );
            }
        }
        for name in ["receipt_integrity", "claim_check"] {
            if self.attested(name).as_deref() == Some("FAIL") {
                report.add(
                    Code::AttestedFail,
                    format!("the attestation says `{name}` FAIL"),
                );
            }
        }
    }
}

/// Returns the first field that is missing, unknown or malformed.
fn schema(object: Read<'_>, rows: &[(&str, Form)]) -> Option<String> {
    let unknown = object
        .keys()
        .into_iter()
        .find(|key| !rows.iter().any(|(name, _)| name == key));
    if let Some(unknown) = unknown {
        return Some(unknown.chars().take(64).collect());
    }
    let wrong = rows.iter().find(|(name, form)| !fits(object, name, *form));
    wrong.map(|(name, _)| (*name).to_owned())
}

fn fits(object: Read<'_>, name: &str, form: Form) -> bool {
    let text = || object.text(name);
    match form {
        Text => text().is_some_and(|text| !text.is_empty()),
        Hex => text().and_then(|text| unhex(&text)).is_some(),
        Number => object.number(name).is_some(),
        Is(values) => text().is_some_and(|text| values.contains(&text.as_ref())),
        Optional => true,
        Elsewhere => object.raw(name).is_some(),
    }
}

/// Returns the bytes that the signature covers.
fn unsigned(manifest: &str) -> Option<Vec<u8>> {
    let mut kept = String::from("{");
    for member in members(manifest).filter(|member| !UNSIGNED.contains(&member.key.as_ref())) {
        if kept.len() > 1 {
            kept.push(',');
        }
        kept.push_str(manifest.get(member.key_span)?);
        kept.push(':');
        kept.push_str(manifest.get(member.value)?);
    }
    kept.push('}');
    canonical(kept.as_bytes(), Numbers::Peer).ok()
}

/// Prints a text anew as `json.dumps(indent=2)` does, in the order in which it stands.
fn relaid(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    relay(json, 1, &mut out)?;
    Some(out)
}

fn relay(value: &str, depth: usize, out: &mut String) -> Option<()> {
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    let mut empty = true;
    match value.as_bytes().first()? {
        b'{' => {
            out.push('{');
            for member in members(value) {
                out.push_str(if empty { "" } else { "," });
                empty = false;
                indent(out, depth);
                spell(&member.key, out);
                out.push_str(": ");
                relay(value.get(member.value)?, depth + 1, out)?;
            }
            if !empty {
                indent(out, depth - 1);
            }
            out.push('}');
        }
        b'[' => {
            out.push('[');
            for span in elements(value) {
                out.push_str(if empty { "" } else { "," });
                empty = false;
                indent(out, depth);
                relay(value.get(span)?, depth + 1, out)?;
            }
            if !empty {
                indent(out, depth - 1);
            }
            out.push(']');
        }
        b'"' => spell(&unescape(value.get(1..value.len() - 1)?), out),
        _ => {
            let plain = canonical(value.as_bytes(), Numbers::Peer).ok()?;
            out.push_str(std::str::from_utf8(&plain).ok()?);
        }
    }
    Some(())
}

/// Spells a string in ASCII.
fn spell(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(char),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    let [high, low] = unit.to_be_bytes();
                    out.push_str("\\u");
                    out.push_str(&hex(&[high, low]));
                }
            }
        }
    }
    out.push('"');
}
