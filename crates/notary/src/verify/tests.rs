//! Packs that were changed, cut, forged or are not trusted.

use std::fs;

use super::*;
use crate::hash::digest;
use crate::keys::{PublicKey, Signer};
use crate::pack::{MANIFEST, RECEIPTS, SIGNATURE, TREE};
use crate::sample::{Made, made, make};

fn codes(report: &Report) -> Vec<&'static str> {
    report
        .problems
        .iter()
        .map(|problem| problem.code.name())
        .collect()
}

/// Issue 7: tampering of every byte position of a small pack is found.
#[test]
fn every_changed_byte_is_found() {
    let made = made();
    assert_eq!(made.judge().class, Class::Pass);
    let mut names: Vec<_> = fs::read_dir(&made.path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert_eq!(names.len(), 7);
    for path in names {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            // Only the manifest could hide a change from a digest: as another blank, or as the
            // other case of a letter.
            let blank = if whole[at] == b' ' {
                b' ' ^ b'\t'
            } else {
                0x20
            };
            let changes = if path.ends_with(MANIFEST) {
                &[0x01, 0x80, blank][..]
            } else {
                &[0x01]
            };
            for &change in changes {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                fs::write(&path, bytes).unwrap();
                let class = made.judge().class;
                assert_eq!(
                    class,
                    Class::Tampered,
                    "{} byte {at} by {change:#x}",
                    path.display()
                );
            }
        }
        for shorter in [&whole[..whole.len() - 1], &[]] {
            fs::write(&path, shorter).unwrap();
            assert_eq!(
                made.judge().class,
                Class::Tampered,
                "{} cut",
                path.display()
            );
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(made.judge().class, Class::Pass);
}

#[test]
fn missing_files_are_found() {
    let made = made();
    for name in fs::read_dir(&made.path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let aside = made.path.with_file_name("aside");
        fs::rename(&name, &aside).unwrap();
        let judged = verify(&made.path, &made.checks());
        if name.ends_with(MANIFEST) {
            assert!(judged.is_err(), "a folder without a manifest is no pack");
        } else {
            assert_eq!(judged.unwrap().class, Class::Tampered, "{}", name.display());
        }
        fs::rename(&aside, &name).unwrap();
    }
    fs::write(made.path.join("more.txt"), "x").unwrap();
    let report = made.judge();
    assert_eq!((report.class, report.warnings.len()), (Class::Pass, 1));
}

/// PEERS, notary 15: re-signed by any key must not pass.
#[test]
fn an_unknown_signer_is_not_a_pass() {
    let (one, other) = (made(), made());
    let report = verify(&one.path, &other.checks()).unwrap();
    assert_eq!(
        (report.class, report.signer),
        (Class::Doubt, Known::Unknown)
    );
    assert_eq!(report.summary(), "intact, signer unknown");
}

#[test]
fn a_successor_of_a_trusted_key_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let first = Signer::open(folder.path(), "k").unwrap().public();
    let second = Signer::rotate(folder.path(), "k").unwrap().public();
    let made = make(Signer::rotate(folder.path(), "k").unwrap(), 1);
    let stranger = Signer::generate("k").unwrap().public();
    let check = |pinned: PublicKey, expect: (Class, Known)| {
        let checks = Checks {
            trust: Trust::new([pinned]),
            ..made.checks()
        };
        let report = verify(&made.path, &checks).unwrap();
        assert_eq!((report.class, report.signer), expect);
    };
    check(second, (Class::Pass, Known::Successor));
    check(first, (Class::Pass, Known::Successor));
    check(stranger, (Class::Doubt, Known::Unknown));
}

#[test]
fn every_pack_of_a_session_says_which_keys_led_to_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let first = Signer::open(folder.path(), "k").unwrap().public();
    Signer::rotate(folder.path(), "k").unwrap();
    let made = crate::sample::rolled(Signer::rotate(folder.path(), "k").unwrap());
    let checks = Checks {
        trust: Trust::new([first]),
        ..made.checks()
    };
    let packs = fs::read_dir(made.root().join("packs")).unwrap();
    let packs = packs.map(|pack| pack.unwrap().path());
    let known: Vec<_> = packs
        .filter(|pack| pack.is_dir())
        .map(|pack| verify(&pack, &checks).unwrap())
        .map(|report| (report.class, report.signer))
        .collect();
    assert_eq!(known, [(Class::Pass, Known::Successor); 2]);
}

/// Signs a changed manifest anew, as the holder of the key could.
fn sign_again(made: &Made, change: impl FnOnce(String) -> String) {
    use base64::Engine as _;
    let path = made.path.join(MANIFEST);
    let text = change(fs::read_to_string(&path).unwrap());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let root = digest(json["attestation"].to_string().as_bytes(), None).to_string();
    let root = root.trim_start_matches("sha256:");
    let text = text.replace(json["attestation_sha256"].as_str().unwrap(), root);
    let mut unsigned: serde_json::Value = serde_json::from_str(&text).unwrap();
    let members = unsigned.as_object_mut().unwrap();
    let signature = members.remove("signature").unwrap();
    members.remove("pack_root_sha256");
    let message =
        crate::hash::canonical(unsigned.to_string().as_bytes(), crate::hash::Numbers::Peer);
    let bytes = made.signer.sign(&message.unwrap());
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    fs::write(&path, text.replace(signature.as_str().unwrap(), &encoded)).unwrap();
    fs::write(made.path.join(SIGNATURE), bytes).unwrap();
}

/// PEERS, notary 14: a pack that says FAIL must not pass.
#[test]
fn an_attestation_that_says_fail_is_believed() {
    let made = made();
    sign_again(&made, |text| text);
    assert_eq!(made.judge().class, Class::Pass);
    sign_again(&made, |text| {
        text.replace(
            "\"receipt_integrity\": \"PASS\"",
            "\"receipt_integrity\": \"FAIL\"",
        )
    });
    let report = made.judge();
    assert_eq!(
        (report.class, codes(&report)),
        (Class::Doubt, vec!["E_ATTESTED_FAIL"])
    );
}

/// PEERS, notary 12: whoever rewrites all but the last receipt must not keep the root.
#[test]
fn rewritten_receipts_break_the_tree_even_when_signed_again() {
    let made = made();
    let before = fs::read(made.path.join(RECEIPTS)).unwrap();
    made.edit(RECEIPTS, |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = text
            .replacen("\"forwarded\"", "\"forwardeD\"", 1)
            .into_bytes();
    });
    let after = fs::read(made.path.join(RECEIPTS)).unwrap();
    let hex = |bytes: &[u8]| crate::hash::hex(&crate::hash::sha256(bytes));
    sign_again(&made, |text| text.replace(&hex(&before), &hex(&after)));
    let report = made.judge();
    assert_eq!(report.class, Class::Tampered);
    assert!(
        codes(&report).iter().all(|code| *code == "E_CHAIN_BROKEN"),
        "{:?}",
        report.problems
    );
}

#[test]
fn paths_that_leave_the_pack_are_refused() {
    for path in ["../x", "/etc/passwd", "a/../../x", "a\\\\x"] {
        let made = made();
        fs::write(made.path.with_file_name("x"), "x").unwrap();
        sign_again(&made, |text| text.replace("verify_transcript.md", path));
        assert!(codes(&made.judge()).contains(&"E_PATH_ESCAPE"), "{path}");
    }
    #[cfg(unix)]
    {
        let made = made();
        let (inside, outside) = (
            made.path.join(RECEIPTS),
            made.path.with_file_name("outside"),
        );
        fs::rename(&inside, &outside).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        assert!(codes(&made.judge()).contains(&"E_PATH_ESCAPE"));
    }
}

#[test]
fn old_and_future_packs_are_told() {
    let made = made();
    let check = |now: u64, max_age: Option<Duration>, expect: &[&str]| {
        let checks = Checks {
            now: Wall(now),
            max_age,
            ..made.checks()
        };
        let report = verify(&made.path, &checks).unwrap();
        assert_eq!(codes(&report), expect);
    };
    let made_at = 1_767_323_045_000;
    check(made_at + 3_600_000, None, &[]);
    check(made_at + 3_600_000, Some(Duration::from_hours(2)), &[]);
    check(
        made_at + 3_600_000,
        Some(Duration::from_mins(30)),
        &["E_PACK_STALE"],
    );
    check(made_at - 25 * 3_600_000, None, &["E_PACK_FUTURE"]);
}

#[test]
fn a_tree_that_was_seen_before_must_be_there() {
    let made = make(Signer::generate("test").unwrap(), 3);
    let note = fs::read_to_string(made.path.join("checkpoint.note")).unwrap();
    let seen = Expected::from_note(&note).unwrap();
    let check = |expect: Expected, codes_expected: &[&str]| {
        let checks = Checks {
            expect: Some(expect),
            ..made.checks()
        };
        assert_eq!(codes(&verify(&made.path, &checks).unwrap()), codes_expected);
    };
    check(seen, &[]);
    check(
        Expected {
            size: seen.size + 5,
            ..seen
        },
        &["E_TRUNCATED"],
    );
    check(
        Expected {
            size: seen.size - 1,
            ..seen
        },
        &["E_TRUNCATED"],
    );
    check(
        Expected {
            root: [7; 32],
            ..seen
        },
        &["E_TRUNCATED"],
    );
    assert_eq!(
        Expected::new(
            seen.size,
            &format!("sha256:{}", crate::hash::hex(&seen.root))
        ),
        Some(seen)
    );
}

#[test]
fn numbers_at_their_end_are_no_panic() {
    for start in [u64::MAX, u64::MAX - 1, (1 << 53) + 1] {
        let made = made();
        let peak = format!("\"{}\"", "ab".repeat(32));
        let peaks = vec![peak; usize::try_from(start.count_ones()).unwrap()].join(",");
        made.edit(TREE, |bytes| {
            let text = format!(r#"{{"peaks":[{peaks}],"prev_hash":"x","start":{start}}}"#);
            *bytes = text.into_bytes();
        });
        let report = made.judge();
        let said = report
            .problems
            .iter()
            .any(|one| one.message.contains("where the run begins"));
        assert!(said, "{start} {:?}", report.problems);
    }
    let made = made();
    made.edit(RECEIPTS, |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let last = format!("\"seq\":{}", u64::MAX);
        *bytes = text.replacen("\"seq\":1", &last, 1).into_bytes();
    });
    assert_eq!(made.judge().class, Class::Tampered);
}

/// Rewrites the first checkpoint of a session, and all links after it.
fn relink(text: &str) -> String {
    let (mut out, mut before, mut done) = (String::new(), None, false);
    for line in text.lines() {
        let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
        if json["type"] == "mcp.checkpoint" && !done {
            json["root_hash"] = format!("sha256:{}", "00".repeat(32)).into();
            done = true;
        }
        json["prev_hash"] = before.map_or(serde_json::Value::Null, serde_json::Value::String);
        let line = crate::hash::canonical(json.to_string().as_bytes(), crate::hash::Numbers::Peer);
        let line = String::from_utf8(line.unwrap()).unwrap();
        before = Some(crate::chain::link_of(&crate::hash::sha256(line.as_bytes())));
        out += &(line + "\n");
    }
    out
}

#[test]
fn checkpoints_on_the_way_are_held_against_the_lines_before_them() {
    let made = make(Signer::generate("test").unwrap(), 60);
    assert_eq!(made.judge().class, Class::Pass);
    made.edit(RECEIPTS, |bytes| {
        *bytes = relink(std::str::from_utf8(bytes).unwrap()).into_bytes();
    });
    let report = made.judge();
    let said = |one: &Problem| one.message.contains("a checkpoint of other lines");
    assert_eq!(
        report.problems.iter().filter(|one| said(one)).count(),
        2,
        "{report:?}"
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let names = [
        MANIFEST,
        RECEIPTS,
        SIGNATURE,
        TREE,
        "checkpoint.note",
        "verify_transcript.md",
    ];
    for name in names {
        let made = made();
        let path = made.path.join(name);
        fs::remove_file(&path).unwrap();
        let made_one = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made_one.unwrap().success());
        let judged = verify(&made.path, &made.checks());
        assert!(judged.is_ok_and(|report| report.class == Class::Tampered) || name == MANIFEST);
    }
    let made = made();
    made.edit("checkpoint.note", |bytes| bytes.resize(2 << 20, b'\n'));
    let report = made.judge();
    let said = |one: &Problem| one.message.contains("it is longer than");
    assert!(report.problems.iter().any(said), "{:?}", report.problems);
}

#[test]
fn what_is_no_pack_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(verify(folder.path(), &Checks::at(Wall(0))).is_err());
    assert!(verify(&folder.path().join("none"), &Checks::at(Wall(0))).is_err());
    fs::write(folder.path().join(MANIFEST), "not json").unwrap();
    let report = verify(folder.path(), &Checks::at(Wall(0))).unwrap();
    assert_eq!(
        (report.class, codes(&report)),
        (Class::Tampered, vec!["E_MANIFEST_TAMPER"])
    );
}
