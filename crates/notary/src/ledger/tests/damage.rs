//! Sessions of dead proxies whose files were damaged or changed.

use super::*;

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
            Ok(built) => assert_good(built, Some(false)),
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
        let (_, kept) = recovered(&options, (lines.concat() + &line).as_bytes());
        assert_eq!(String::from_utf8(kept).unwrap(), line, "{name}");
    }
}
