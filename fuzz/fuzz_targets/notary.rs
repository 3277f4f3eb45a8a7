//! What the notary is handed by strangers: packs, proofs, disclosures, notes and keys, and values to
//! be brought into canonical form.

#![no_main]

use std::fs;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mcpproxy_core::Wall;
use mcpproxy_notary::hash::{Canon, Limits, Numbers, canonical};
use mcpproxy_notary::keys::{PublicKey, Trust};
use mcpproxy_notary::note::Checkpoint;
use mcpproxy_notary::verify::{Checks, Class, verify};
use mcpproxy_notary::{disclose, prove};

fuzz_target!(|data: &[u8]| {
    same_in_every_cut(data);
    drop(prove::check(data, &Trust::default()));
    let (left, right) = data.split_at(data.len() / 2);
    drop(disclose::check(left, right));
    if let Ok(text) = std::str::from_utf8(data) {
        drop(Checkpoint::read(text));
    }
    if let Some(key) = PublicKey::parse(data) {
        assert_eq!(PublicKey::parse(key.pem().as_bytes()), Some(key));
    }
    judge(left, right);
});

/// Canonical form does not depend on how the text arrives, and is its own canonical form.
fn same_in_every_cut(data: &[u8]) {
    let Ok(whole) = canonical(data, Numbers::Rfc8785) else {
        return;
    };
    assert_eq!(canonical(&whole, Numbers::Rfc8785).as_ref(), Ok(&whole));
    let mut canon = Canon::new(Numbers::Rfc8785, Limits::default(), None);
    for chunk in data.chunks(3) {
        canon.push(chunk).expect("a cut made it worse");
    }
    let mut cut = Vec::new();
    canon
        .finish(&mut |part| cut.extend_from_slice(part))
        .expect("a cut made it worse");
    assert_eq!(cut, whole);
}

/// Nobody forges a signature by chance, so nothing here may pass.
fn judge(manifest: &[u8], receipts: &[u8]) {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER
        .get_or_init(|| tempfile::tempdir().expect("a folder"))
        .path();
    fs::write(folder.join("pack_manifest.json"), manifest).expect("a file");
    fs::write(folder.join("receipt_pack.jsonl"), receipts).expect("a file");
    fs::write(folder.join("tree.json"), receipts).expect("a file");
    fs::write(folder.join("checkpoint.note"), receipts).expect("a file");
    let report = verify(folder, &Checks::at(Wall(0))).expect("the manifest is there");
    assert_eq!(report.class, Class::Tampered);
}
