//! Sessions of dead proxies whose files were damaged or changed.

use super::*;
use crate::chain::Chain;
use crate::keys::Trust;
use crate::layout::Tally;

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
                let dropped = lines[line..].concat().len();
                assert_eq!(built.report.dropped, u64::try_from(dropped).unwrap());
                assert_eq!(built.report.end_reason.as_deref(), Some("recovered"));
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
fn what_a_start_that_was_killed_set_aside_is_said_by_the_next() {
    let options = options(Durability::Relaxed);
    let mut lines = session(&options);
    lines.truncate(3);
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    let path = layout.session("x");
    fs::write(&path, lines.concat()).unwrap();
    fs::write(path.with_extension("damaged"), "?\n").unwrap();
    fs::write(path.with_extension("damaged-2"), "?\n?\n").unwrap();
    fs::write(folder.path().join("receipts/.open/session_x"), "").unwrap();
    let found = recover(folder.path(), &options).unwrap().remove(0);
    let built = found.packs[0].as_ref().unwrap();
    assert_good(built, Some(false));
    assert_eq!(built.report.dropped, 4);
    assert!(found.warnings[0].contains("damaged-2"), "{found:?}");
}

/// A clock that kills whoever looks at it too often.
#[derive(Debug)]
struct Deadly(std::sync::atomic::AtomicUsize);

impl Deadly {
    fn look(&self) {
        let left = &self.0;
        let last = std::sync::atomic::Ordering::Relaxed;
        let left = left.try_update(last, last, |left| left.checked_sub(1));
        assert!(left.is_ok(), "killed");
    }
}

impl Clock for Deadly {
    fn tick(&self) -> mcpproxy_core::Tick {
        self.look();
        FixedClock::default().tick()
    }

    fn wall(&self) -> Wall {
        self.look();
        FixedClock::default().wall()
    }
}

/// Puts a dead session into a folder.
fn dead(folder: &Path, bytes: &[u8], mark: &[u8]) -> PathBuf {
    let layout = Layout::create(folder).unwrap();
    fs::write(layout.session("x"), bytes).unwrap();
    fs::write(folder.join("receipts/.open/session_x"), mark).unwrap();
    layout.session("x")
}

/// Says what the only pack tells: how much was cut off, and how it is judged.
fn told(folder: &Path, options: &Options) -> (u64, Class) {
    let layout = Layout::create(folder).unwrap();
    let checks = crate::verify::Checks {
        trust: Trust::new([options.signer.public()]),
        ..crate::verify::Checks::at(options.clock.wall())
    };
    let report = crate::verify::verify(&layout.pack("x", 0), &checks).unwrap();
    (report.dropped, report.class)
}

#[test]
fn whenever_a_start_that_recovers_is_killed_the_next_tells_what_was_cut_off() {
    let options = options(Durability::Relaxed);
    let lines = session(&options);
    // An open call, and half of a line; and lines that were changed, with a checkpoint after them.
    let torn = lines[..2].concat() + lines[2].get(..100).unwrap();
    let mut changed = lines.clone();
    changed[2].replace_range(..1, "?");
    let changed = changed.concat();
    let cut = |text: &str| u64::try_from(text.len() - lines[..2].concat().len()).unwrap();
    for (text, class) in [(&torn, Class::Pass), (&changed, Class::Doubt)] {
        let expect = (cut(text), class);
        for looks in 0.. {
            let folder = tempfile::tempdir().unwrap();
            dead(folder.path(), text.as_bytes(), b"");
            let short = Options {
                clock: Arc::new(Deadly(looks.into())),
                ..options.clone()
            };
            let root = folder.path().to_owned();
            let first = std::thread::spawn(move || drop(recover(&root, &short).unwrap())).join();
            if first.is_err() {
                recover(folder.path(), &options).unwrap();
            }
            assert_eq!(told(folder.path(), &options), expect, "{looks}");
            assert!(recover(folder.path(), &options).unwrap().is_empty());
            if first.is_ok() {
                assert!(looks > 5, "it was never killed");
                break;
            }
        }
    }
}

/// The same, killed at every byte that it writes.
#[test]
fn wherever_a_start_that_recovers_tears_its_own_line_the_next_tells_what_was_cut_off() {
    let options = options(Durability::Relaxed);
    let lines = session(&options);
    let whole = lines[..2].concat();
    let torn = whole.clone() + lines[2].get(..100).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = dead(folder.path(), torn.as_bytes(), b"");
    recover(folder.path(), &options).unwrap();
    let written = fs::read(&path).unwrap();
    let mark = Tally {
        lost: 0,
        dropped: 100,
    };
    assert!(written.starts_with(whole.as_bytes()));
    // Noted, and not yet cut: it is not counted twice.
    let folder = tempfile::tempdir().unwrap();
    dead(folder.path(), torn.as_bytes(), mark.text().as_bytes());
    recover(folder.path(), &options).unwrap();
    assert_eq!(told(folder.path(), &options), (100, Class::Pass));
    for length in (whole.len()..=written.len()).step_by(11) {
        let folder = tempfile::tempdir().unwrap();
        dead(folder.path(), &written[..length], mark.text().as_bytes());
        recover(folder.path(), &options).unwrap();
        let (dropped, class) = told(folder.path(), &options);
        assert!(dropped >= 100, "{length}: {dropped}");
        assert_eq!(class, Class::Pass, "{length}");
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
        let built = found.packs[0].as_ref().unwrap();
        assert_good(built, Some(true));
        // The session's last word was written before the damage; the pack tells of it all the same.
        assert_eq!(built.report.dropped, u64::try_from(line.len()).unwrap());
        assert_eq!(built.report.end_reason.as_deref(), Some("closed"));
        assert!(built.report.warnings[0].contains("damaged"), "{built:?}");
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
fn a_relaxed_checkpoint_is_kept_at_once() {
    let (keys, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Its clock stands still: nothing is ever due for having waited.
    let options = Options {
        signer: Arc::new(Signer::open(keys.path(), "k").unwrap()),
        ..options(Durability::Relaxed)
    };
    let ledger = Ledger::open(folder.path(), options).unwrap();
    for _ in 0..3 {
        let ticket = ledger.intent(call("t")).unwrap();
        ledger.outcome(ticket, answered(), &[]).unwrap();
    }
    let name = ledger.path().file_stem().unwrap().to_str().unwrap();
    let note = keys.path().join("open").join(format!("{name}.note"));
    for _ in 0..1000 {
        if note.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{}", fs::read_to_string(ledger.path()).unwrap());
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
