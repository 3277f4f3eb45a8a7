//! Sessions of dead proxies whose files were damaged or changed.

use super::*;
use crate::chain::Chain;

/// Runs a session and returns its lines, each with its end.
fn session(options: &Options) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), options.clone()).unwrap();
    let ticket = ledger.intent(call("t")).unwrap();
    ledger.outcome(ticket, answered(), &[]).unwrap();
    let path = ledger.path().to_owned();
    ledger.finish(End::Closed, Packing::Skip).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Recovers a dead session of these bytes; returns what is said, and what is set aside.
fn recovered(options: &Options, bytes: &[u8]) -> (Recovered, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    fs::write(layout.session("x"), bytes).unwrap();
    fs::write(folder.path().join("receipts/.open/session_x"), "").unwrap();
    let mut recovered = recover(folder.path(), options).unwrap();
    assert!(recover(folder.path(), options).unwrap().is_empty());
    let aside = layout.session("x").with_extension("damaged");
    (recovered.remove(0), fs::read(aside).unwrap_or_default())
}

#[test]
fn what_is_damaged_is_kept_whole_and_said() {
    let options = options(Durability::Relaxed);
    for (line, more) in [(0, 0), (0, 17 << 20), (2, 0), (2, 17 << 20)] {
        let mut lines = session(&options);
        lines[line].replace_range(..1, "?");
        lines.push("x".repeat(more));
        let (found, kept) = recovered(&options, lines.concat().as_bytes());
        assert!(kept == lines[line..].concat().as_bytes(), "{line} {more}");
        match &found.packs[0] {
            Ok(built) => {
                // What a checkpoint was signed over is not all there.
                assert_eq!(built.report.class, Class::Doubt, "{line} {more}");
                assert_eq!(built.session_complete, Some(false));
                assert!(
                    found.warnings[0].contains("a signed checkpoint"),
                    "{found:?}"
                );
            }
            Err(fault) => {
                assert_eq!(line, 0);
                assert!(fault.to_string().contains("its first line is damaged"));
            }
        }
    }
}

#[test]
fn a_checkpoint_of_other_lines_ends_the_chain() {
    let options = options(Durability::Relaxed);
    let mut lines = session(&options);
    let (_, kept) = recovered(&options, lines.concat().as_bytes());
    assert_eq!(kept, b"");
    // The last line is a checkpoint, so no link after it breaks.
    let last = lines.pop().unwrap();
    let checkpoint: serde_json::Value = serde_json::from_str(&last).unwrap();
    let note = checkpoint["checkpoint"].as_str().unwrap();
    let size = checkpoint["tree_size"].as_u64().unwrap();
    let changes = [
        ("tree_size", (size + 1).into()),
        ("root_hash", format!("sha256:{}", "0".repeat(64)).into()),
        (
            "checkpoint",
            note.replacen(&format!("\n{size}\n"), "\n1\n", 1).into(),
        ),
        (
            "checkpoint",
            note.replacen(".session/", ".session/x", 1).into(),
        ),
    ];
    for (name, value) in changes {
        let mut line = checkpoint.clone();
        line[name] = value;
        let line = format!("{line}\n");
        assert_ne!(line, last);
        let (found, kept) = recovered(&options, (lines.concat() + &line).as_bytes());
        assert_eq!(String::from_utf8(kept).unwrap(), line, "{name}");
        // Nothing that was signed says otherwise than what is left.
        assert!(found.warnings[0].contains("do not continue the chain"));
        assert_good(found.packs[0].as_ref().unwrap(), Some(true));
    }
}

/// Links lines anew, as somebody would who changed one of them and has no key.
fn linked_anew(lines: &[String]) -> Vec<String> {
    let mut chain = Chain::default();
    let lines = lines.iter().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["prev_hash"] = chain.link().into();
        line["seq"] = chain.size().into();
        let line = line.to_string();
        chain.follow(line.as_bytes());
        line + "\n"
    });
    lines.collect()
}

#[test]
fn who_has_no_key_cannot_have_changed_receipts_signed() {
    let options = options(Durability::Relaxed);
    let lines = session(&options);
    let (found, kept) = recovered(&options, linked_anew(&lines).concat().as_bytes());
    assert_eq!(
        (kept.len(), found.warnings.len()),
        (0, 0),
        "the same as before"
    );
    let last = lines.len() - 1;
    let checks = |name: &str, lines: Vec<String>| {
        let lines = linked_anew(&lines);
        let (found, kept) = recovered(&options, lines.concat().as_bytes());
        assert!(!kept.is_empty(), "{name}");
        let built = found.packs[0].as_ref().unwrap();
        assert_ne!(built.report.class, Class::Pass, "{name}");
        assert!(found.warnings[0].contains("which were changed"), "{name}");
    };
    let mut changed = lines.clone();
    changed[1] = changed[1].replace("\"t\"", "\"u\"");
    assert_ne!(changed, lines);
    checks("changed", changed.clone());
    let mut longer = changed.clone();
    longer.insert(1, changed[1].replace("mcp.tool_intent", "mcp.other"));
    checks("put in", longer);
    let mut shorter = lines.clone();
    shorter.remove(last - 1);
    checks("taken out", shorter);
}

/// Puts something in the place of a dead session's file or mark; returns what is said of it.
fn replaced(what: &str, put: impl Fn(&Path)) -> (tempfile::TempDir, String) {
    let options = options(Durability::Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    let mark = folder.path().join("receipts/.open/session_x");
    fs::write(layout.session("x"), session(&options).concat()).unwrap();
    fs::write(&mark, "").unwrap();
    let path = match what {
        "mark" => mark,
        _ => layout.session("x"),
    };
    fs::remove_file(&path).unwrap();
    put(&path);
    let found = recover(folder.path(), &options).unwrap();
    let said = found[0].packs[0].as_ref().unwrap_err().to_string();
    (folder, said)
}

#[test]
fn what_is_no_file_is_neither_followed_nor_waited_for() {
    for what in ["mark", "receipts"] {
        let (_, said) = replaced(what, crate::sample::pipe);
        assert!(said.ends_with("it is not a file"), "{said}");
        let target = tempfile::NamedTempFile::new().unwrap();
        let text = session(&options(Durability::Relaxed)).concat();
        fs::write(target.path(), &text).unwrap();
        let link = |path: &Path| std::os::unix::fs::symlink(target.path(), path).unwrap();
        let (_, said) = replaced(what, link);
        assert!(said.ends_with("it is not a file"), "{said}");
        assert_eq!(fs::read_to_string(target.path()).unwrap(), text, "{what}");
    }
}

#[test]
fn of_a_mark_no_more_is_read_than_one_has() {
    let options = options(Durability::Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    let mark = folder.path().join("receipts/.open/session_x");
    for (zeros, lost) in [(19, 7), (1 << 20, 0)] {
        fs::write(layout.session("x"), session(&options)[..3].concat()).unwrap();
        fs::write(&mark, "0".repeat(zeros) + "7\n").unwrap();
        let found = recover(folder.path(), &options).unwrap();
        fs::remove_dir_all(&found[0].packs[0].as_ref().unwrap().path).unwrap();
        let lines = lines(&layout.session("x"));
        let end = lines.iter().find(|one| one["type"] == "mcp.session_end");
        assert_eq!(end.unwrap()["receipts_lost"], lost, "{zeros}");
    }
}

#[test]
fn a_session_without_receipts_is_not_passed_over_in_silence() {
    for text in [None, Some("")] {
        let options = options(Durability::Relaxed);
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        fs::write(folder.path().join("receipts/.open/session_x"), "").unwrap();
        if let Some(text) = text {
            fs::write(layout.session("x"), text).unwrap();
        }
        let found = recover(folder.path(), &options).unwrap();
        assert!(
            found[0].warnings[0].contains("has no receipts"),
            "{found:?}"
        );
        assert!(recover(folder.path(), &options).unwrap().is_empty());
    }
}

#[test]
fn a_folder_in_the_place_of_a_pack_is_set_aside() {
    let options = options(Durability::Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    fs::write(layout.session("x"), session(&options).concat()).unwrap();
    fs::write(folder.path().join("receipts/.open/session_x"), "").unwrap();
    let target = layout.pack("x", 0);
    fs::create_dir(&target).unwrap();
    fs::write(target.join("mine"), "kept").unwrap();
    let found = recover(folder.path(), &options).unwrap();
    assert_good(found[0].packs[0].as_ref().unwrap(), Some(true));
    let aside = target.with_file_name("proof_pack_x.aside");
    assert_eq!(fs::read(aside.join("mine")).unwrap(), b"kept");
}

#[test]
fn the_pack_of_another_session_does_not_stand_in_for_ones_own() {
    let options = options(Durability::Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    for name in ["x", "y"] {
        fs::write(layout.session(name), session(&options).concat()).unwrap();
        fs::write(
            folder.path().join(format!("receipts/.open/session_{name}")),
            "",
        )
        .unwrap();
        if name == "y" {
            fs::rename(layout.pack("x", 0), layout.pack("y", 0)).unwrap();
        }
        let found = recover(folder.path(), &options).unwrap();
        assert_good(found[0].packs[0].as_ref().unwrap(), Some(true));
        assert_eq!(
            fs::read(layout.pack(name, 0).join("receipt_pack.jsonl")).unwrap(),
            fs::read(layout.session(name)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn a_checkpoint_that_was_taken_out_is_held_against_what_is_left() {
    let keys = tempfile::tempdir().unwrap();
    let options = Options {
        signer: Arc::new(Signer::open(keys.path(), "k").unwrap()),
        ..options(Durability::Strict)
    };
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), options.clone()).unwrap();
    for _ in 0..3 {
        let ticket = ledger.intent(call("t")).unwrap();
        ledger.outcome(ticket, answered(), &[]).unwrap();
    }
    let name = ledger.path().file_stem().unwrap().to_str().unwrap();
    let note = keys.path().join("open").join(format!("{name}.note"));
    let kept = fs::read(&note).unwrap();
    let text = fs::read_to_string(ledger.path()).unwrap();
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let is_checkpoint = |line: &String| line.contains("mcp.checkpoint");
    assert_eq!(lines.iter().filter(|line| is_checkpoint(line)).count(), 1);
    let check = |lines: Vec<String>, expect: Option<Class>, said: &str| {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        let session = name.strip_prefix("session_").unwrap();
        fs::write(layout.session(session), lines.concat()).unwrap();
        fs::write(folder.path().join("receipts/.open").join(name), "").unwrap();
        fs::write(&note, &kept).unwrap();
        let found = recover(folder.path(), &options).unwrap().remove(0);
        let built = found.packs.first().map(|built| built.as_ref().unwrap());
        assert_eq!(built.map(|built| built.report.class), expect, "{found:?}");
        assert!(found.warnings.concat().contains(said), "{found:?}");
        assert_eq!(found.warnings.is_empty(), said.is_empty(), "{found:?}");
    };
    check(lines.clone(), Some(Class::Pass), "");
    assert!(!note.exists(), "a session that is closed has nothing open");
    let bare: Vec<String> = lines
        .iter()
        .filter(|line| !is_checkpoint(line))
        .cloned()
        .collect();
    let mut changed = bare.clone();
    changed[1] = changed[1].replace("\"t\"", "\"u\"");
    check(
        linked_anew(&changed),
        Some(Class::Doubt),
        "which were changed",
    );
    check(
        lines[..2].to_vec(),
        Some(Class::Doubt),
        "which were changed",
    );
    check(Vec::new(), None, "a checkpoint of them was signed");
    ledger.finish(End::Closed, Packing::Pack).unwrap();
    assert!(!note.exists());
}
