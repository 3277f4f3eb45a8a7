//! Sessions in good and bad order: packs, recovery, and disks that fail.

mod damage;

use std::fs;
use std::time::Duration;

use mcpproxy_core::Wall;
use mcpproxy_testkit::FixedClock;

use super::*;
use crate::content::Keep;
use crate::hash::digest;
use crate::receipt::{Answer, Evidence, RequestId, Rule, Ruling, invocation_id};
use crate::verify::Class;

fn options(durability: Durability) -> Options {
    Options {
        server_id: "s".to_owned(),
        transport: Transport::Stdio,
        profile: Profile::Audit,
        durability,
        policy_hash: None,
        version: "0.1.0".to_owned(),
        checkpoint_every: 4,
        clock: Arc::new(FixedClock::default()),
        signer: Arc::new(Signer::generate("test").unwrap()),
    }
}

fn call(tool: &str) -> Call {
    Call {
        invocation_id: invocation_id().unwrap(),
        tool_name: tool.to_owned(),
        request_id: RequestId::Number(1),
        observed_at: Wall(1_000),
        arguments: Evidence::hashed(digest(b"{}", None)),
        ruling: Ruling::NoPolicy,
        marks: vec![],
        via: None,
    }
}

fn answered() -> Outcome {
    Outcome::Forwarded(Answer {
        result: Evidence::hashed(digest(b"{}", None)),
        replaced_by: None,
        observed_at: Wall(1_001),
        duration: Duration::from_millis(1),
    })
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn types(path: &Path) -> Vec<String> {
    lines(path)
        .iter()
        .map(|line| line["type"].as_str().unwrap().to_owned())
        .collect()
}

fn assert_good(built: &Built, complete: Option<bool>) {
    assert_eq!(built.report.class, Class::Pass, "{:#?}", built.report);
    assert_eq!(
        (built.session_complete, built.report.session_complete),
        (complete, complete)
    );
}

#[test]
fn a_session_becomes_a_pack_that_verifies() {
    for durability in [Durability::Strict, Durability::Relaxed] {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path(), options(durability)).unwrap();
        for index in 0..10 {
            let ticket = ledger.intent(call(&format!("t{index}"))).unwrap();
            ledger.outcome(ticket, answered(), &[]).unwrap();
        }
        let rule = Rule {
            name: "denylist".to_owned(),
            reason: None,
            decided_at: Wall(5),
        };
        ledger
            .call(CallReceipt {
                call: call("x"),
                outcome: Outcome::Denied(rule),
            })
            .unwrap();
        let path = ledger.path().to_owned();
        let built = ledger.finish(End::Closed, Packing::Pack).unwrap().unwrap();
        assert_good(&built, Some(true));
        assert!(built.report.claim.unwrap().holds());
        let counts = ledger.counts();
        assert_eq!((counts.forwarded, counts.denied, counts.lost), (10, 1, 0));
        assert_eq!(
            fs::read(&path).unwrap(),
            fs::read(built.path.join("receipt_pack.jsonl")).unwrap()
        );
        let types = types(&path);
        assert_eq!(
            types[..3],
            ["mcp.session_start", "mcp.tool_intent", "mcp_tool_call"]
        );
        assert_eq!(
            types[types.len() - 2..],
            ["mcp.session_end", "mcp.checkpoint"]
        );
        assert!(
            types
                .iter()
                .filter(|kind| *kind == "mcp.checkpoint")
                .count()
                > 1
        );
        assert!(ledger.intent(call("late")).is_err());
        assert_eq!(
            fs::read_dir(folder.path().join("receipts/.open"))
                .unwrap()
                .count(),
            0
        );
    }
}

#[test]
fn packs_roll_and_each_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), options(Durability::Relaxed)).unwrap();
    let mut built = Vec::new();
    let held = ledger.intent(call("held")).unwrap();
    for _ in 0..3 {
        let ticket = ledger.intent(call("t")).unwrap();
        ledger.outcome(ticket, answered(), &[]).unwrap();
        built.push(ledger.pack().unwrap().unwrap());
        assert!(ledger.pack().unwrap().is_none());
    }
    ledger.outcome(held, answered(), &[Mark::Batch]).unwrap();
    let last = ledger
        .finish(End::Interrupted, Packing::Pack)
        .unwrap()
        .unwrap();
    for built in &built {
        assert_good(built, None);
    }
    assert_good(&last, Some(true));
    let names: Vec<_> = built
        .iter()
        .map(|built| built.path.file_name().unwrap())
        .collect();
    assert!(names[1].to_str().unwrap().ends_with("_2"), "{names:?}");
}

#[test]
fn what_is_open_at_the_end_is_closed_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), options(Durability::Strict)).unwrap();
    let _ticket = ledger.intent(call("hung")).unwrap();
    let path = ledger.path().to_owned();
    let built = ledger.finish(End::Cut, Packing::Pack).unwrap().unwrap();
    assert_good(&built, Some(false));
    let receipt = lines(&path)
        .into_iter()
        .find(|line| line["type"] == "mcp_tool_call")
        .unwrap();
    assert_eq!(receipt["outcome"], "timeout");
    assert_eq!(receipt["marks"], serde_json::json!(["proxy_stopped"]));
}

#[test]
fn a_dead_session_is_closed_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), options(Durability::Strict)).unwrap();
    let mut stored = call("open");
    stored.arguments.content = crate::content::Content::all(b"{\"a\":\"x\"}");
    let _open = ledger.intent(stored).unwrap();
    let ticket = ledger.intent(call("done")).unwrap();
    ledger.outcome(ticket, answered(), &[]).unwrap();
    let path = ledger.path().to_owned();
    let options = options(Durability::Strict);
    assert!(
        recover(folder.path(), &options).unwrap().is_empty(),
        "it lives"
    );
    drop(ledger);
    // The thread lets go of the lock a moment after its last user.
    let recovered = loop {
        let recovered = recover(folder.path(), &options).unwrap();
        if !recovered.is_empty() {
            break recovered;
        }
        std::thread::yield_now();
    };
    let built = recovered[0].packs[0].as_ref().unwrap();
    assert_good(built, Some(false));
    let closed = lines(&path)
        .into_iter()
        .find(|line| line["outcome"] == "timeout")
        .unwrap();
    assert_eq!(closed["tool_name"], "open");
    assert_eq!(closed["arguments_content"], serde_json::json!({"a": "x"}));
    assert_eq!(closed["marks"], serde_json::json!(["recovered"]));
    assert!(recover(folder.path(), &options).unwrap().is_empty());
}

/// Ends a session at every byte of its file and sees what the next start makes of it.
#[test]
fn a_file_cut_anywhere_becomes_a_pack() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), options(Durability::Relaxed)).unwrap();
    let ticket = ledger.intent(call("t")).unwrap();
    ledger.outcome(ticket, answered(), &[]).unwrap();
    ledger.pack().unwrap();
    let _open = ledger.intent(call("u")).unwrap();
    let path = ledger.path().to_owned();
    ledger.finish(End::Closed, Packing::Pack).unwrap();
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let options = options(Durability::Relaxed);
    for length in (0..=whole.len())
        .step_by(37)
        .chain([first - 1, first, whole.len()])
    {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::create(folder.path()).unwrap();
        fs::write(layout.session("x"), &whole[..length]).unwrap();
        fs::write(folder.path().join("receipts/.open/session_x"), "").unwrap();
        let recovered = recover(folder.path(), &options).unwrap();
        let packs = &recovered[0].packs;
        assert_eq!(packs.is_empty(), length < first, "{length}");
        for built in packs {
            let built = built.as_ref().unwrap();
            assert_eq!(built.report.problems, [], "{length}");
        }
        assert!(recover(folder.path(), &options).unwrap().is_empty());
    }
}

#[test]
fn many_sessions_in_one_folder_never_meet() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(Durability::Relaxed);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (root, options) = (folder.path().to_owned(), options.clone());
            std::thread::spawn(move || {
                let ledger = Ledger::open(&root, options).unwrap();
                let ticket = ledger.intent(call("t")).unwrap();
                ledger.outcome(ticket, answered(), &[]).unwrap();
                ledger.finish(End::Closed, Packing::Pack).unwrap().unwrap()
            })
        })
        .collect();
    for thread in threads {
        assert_good(&thread.join().unwrap(), Some(true));
    }
    let packs = fs::read_dir(folder.path().join("packs")).unwrap();
    let names = packs.map(|entry| entry.unwrap().file_name());
    let packs = names.filter(|name| name.to_str().unwrap().starts_with("proof_pack_"));
    assert_eq!(packs.count(), 8);
}

/// Each pack of a session holds what the checkpoint of the one before it signs, also where packs
/// are made again by the next start.
#[test]
fn a_pack_is_held_against_the_checkpoint_of_the_one_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(Durability::Relaxed);
    let ledger = Ledger::open(folder.path(), options.clone()).unwrap();
    let mut packs = Vec::new();
    for count in [1, 3, 2] {
        for _ in 0..count {
            let ticket = ledger.intent(call("t")).unwrap();
            ledger.outcome(ticket, answered(), &[]).unwrap();
        }
        packs.push(ledger.pack().unwrap().unwrap().path);
    }
    fs::remove_dir_all(&packs[2]).unwrap();
    drop(ledger);
    // The thread lets go of the lock a moment after its last user.
    let again = loop {
        if let Some(again) = recover(folder.path(), &options).unwrap().pop() {
            break again;
        }
        std::thread::yield_now();
    };
    let again = again.packs.into_iter().map(|pack| pack.unwrap().path);
    packs.truncate(2);
    packs.extend(again);
    let trust = crate::keys::Trust::new([options.signer.public()]);
    let judge = |pack: &Path, expect: crate::verify::Expected| {
        let checks = crate::verify::Checks {
            trust: trust.clone(),
            expect: Some(expect),
            ..crate::verify::Checks::at(options.clock.wall())
        };
        let report = crate::verify::verify(pack, &checks).unwrap();
        report.problems.first().map(|one| one.code.name())
    };
    let seen: Vec<_> = packs
        .iter()
        .map(|pack| fs::read_to_string(pack.join("checkpoint.note")).unwrap())
        .map(|note| crate::verify::Expected::from_note(&note).unwrap())
        .collect();
    assert_eq!(seen.len(), 4);
    for (at, pack) in packs.iter().enumerate() {
        for (other, seen) in seen.iter().enumerate() {
            let expect = match other {
                _ if other == at || other + 1 == at => None,
                _ if other < at => Some("E_CHECKPOINT_EARLIER"),
                _ => Some("E_TRUNCATED"),
            };
            assert_eq!(judge(pack, *seen), expect, "{at} {other}");
        }
        if at > 0 {
            let size = seen[at - 1].size;
            let forged = crate::verify::Expected {
                size,
                root: [7; 32],
            };
            assert_eq!(judge(pack, forged), Some("E_TRUNCATED"), "{at}");
        }
    }
}

#[test]
fn a_session_names_the_pack_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let session = || {
        let ledger = Ledger::open(folder.path(), options(Durability::Relaxed)).unwrap();
        let first = lines(ledger.path()).swap_remove(0);
        (
            first,
            ledger.finish(End::Closed, Packing::Pack).unwrap().unwrap(),
        )
    };
    let (first, built) = session();
    assert!(first["previous_pack"].is_null() && first["previous_root"].is_null());
    let (second, _) = session();
    let name = built.path.file_name().unwrap().to_str().unwrap();
    assert_eq!(second["previous_pack"], name);
    assert_eq!(
        second["previous_root"].as_str(),
        built.report.pack_root.as_deref()
    );
}

#[cfg(unix)]
#[test]
fn receipts_are_for_their_owner_only() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("audit");
    let ledger = Ledger::open(&root, options(Durability::Relaxed)).unwrap();
    let path = ledger.path().to_owned();
    let built = ledger.finish(End::Closed, Packing::Pack).unwrap().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(
        (mode(&path), mode(&built.path.join("receipt_pack.jsonl"))),
        (0o600, 0o600)
    );
    assert_eq!((mode(&root), mode(&built.path)), (0o700, 0o700));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let fault = Ledger::open(&file, options(Durability::Strict))
        .unwrap_err()
        .to_string();
    assert!(fault.starts_with("cannot create"), "{fault}");
}

/// A disk whose faults a test orders, and which forgets what was not synced.
#[derive(Clone, Default)]
struct Faulty(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    written: Vec<u8>,
    durable: usize,
    /// How many bytes there is room for.
    room: Option<usize>,
    sync_fails: bool,
    syncs: u64,
}

impl Faulty {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Disk for Faulty {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut state = self.state();
        let room = state
            .room
            .unwrap_or(usize::MAX)
            .saturating_sub(state.written.len());
        let fits = &bytes[..bytes.len().min(room)];
        state.written.extend_from_slice(fits);
        if fits.len() < bytes.len() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        let mut state = self.state();
        state.syncs += 1;
        if state.sync_fails {
            // As kernels do: the failure is told once, and the data is gone.
            state.sync_fails = false;
            return Err(std::io::Error::other("the medium is bad"));
        }
        state.durable = state.written.len();
        Ok(())
    }

    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.state()
            .written
            .truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

fn open_on(folder: &Path, durability: Durability, disk: &Faulty) -> Ledger {
    let disk = disk.clone();
    Ledger::open_on(folder, options(durability), move |_| Box::new(disk)).unwrap()
}

fn refusal(result: Result<Ticket, NotaryError>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn a_sync_that_failed_is_never_taken_for_success() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Faulty::default());
    let ledger = open_on(folder.path(), Durability::Strict, &disk);
    ledger.intent(call("before")).map(drop).unwrap();
    disk.state().sync_fails = true;
    let expect =
        "the receipt cannot be recorded: the disk failed to keep the receipts: the medium is bad";
    assert_eq!(refusal(ledger.intent(call("during"))), expect);
    let syncs = disk.state().syncs;
    assert_eq!(refusal(ledger.intent(call("after"))), expect);
    assert_eq!(disk.state().syncs, syncs, "it was asked again");
    assert!(ledger.problem().is_some());
    assert!(ledger.finish(End::Closed, Packing::Pack).is_err());
}

/// A file that can be written to, and whose next sync fails once.
struct FailsOnce(File, Arc<std::sync::atomic::AtomicBool>);

impl Disk for FailsOnce {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.append(bytes)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        if self.1.swap(false, std::sync::atomic::Ordering::Relaxed) {
            return Err(std::io::Error::other("the medium is bad"));
        }
        self.0.sync()
    }

    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.0.cut(length)
    }
}

#[test]
fn a_session_whose_disk_failed_is_packed_from_what_is_there() {
    for durability in [Durability::Strict, Durability::Relaxed] {
        let folder = tempfile::tempdir().unwrap();
        let fails = Arc::default();
        let order: Arc<std::sync::atomic::AtomicBool> = Arc::clone(&fails);
        let options = options(durability);
        let disk = move |file| -> Box<dyn Disk> { Box::new(FailsOnce(file, fails)) };
        let ledger = Ledger::open_on(folder.path(), options.clone(), disk).unwrap();
        let ticket = ledger.intent(call("before")).unwrap();
        ledger.outcome(ticket, answered(), &[]).unwrap();
        let _open = ledger.intent(call("open")).unwrap();
        order.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(ledger.flush().is_err() || durability == Durability::Strict);
        if durability == Durability::Strict {
            refusal(ledger.intent(call("during")));
        }
        let built = ledger.finish(End::Closed, Packing::Pack).unwrap().unwrap();
        assert_good(&built, Some(false));
        let lines = lines(&built.path.join("receipt_pack.jsonl"));
        let calls = lines.iter().filter(|line| line["type"] == "mcp_tool_call");
        let calls = calls.map(|line| format!("{} {}", line["tool_name"], line["outcome"]));
        let calls: std::collections::BTreeSet<String> = calls.collect();
        let expect = [r#""before" "forwarded""#, r#""open" "timeout""#];
        assert!(expect.iter().all(|one| calls.contains(*one)), "{calls:?}");
        // Nothing is left for the next start.
        let found = recover(folder.path(), &options).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_full_disk_refuses_calls_and_leaves_whole_lines() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Faulty::default());
    let ledger = open_on(folder.path(), Durability::Strict, &disk);
    let length = disk.state().written.len();
    disk.state().room = Some(length + 100);
    assert!(refusal(ledger.intent(call("t"))).starts_with("the receipt cannot be recorded: "));
    assert_eq!(disk.state().written.len(), length, "half a line stayed");
    assert!(ledger.problem().is_some());
    disk.state().room = None;
    let ticket = ledger.intent(call("t")).unwrap();
    ledger.outcome(ticket, answered(), &[]).unwrap();
    assert_eq!(ledger.problem(), None);
    let _pack = ledger.finish(End::Closed, Packing::Skip);
    assert_eq!(ledger.counts().lost, 1, "the call that was refused");
    let text = String::from_utf8(disk.state().written.clone()).unwrap();
    assert!(text.contains(r#""session_complete":false"#), "{text}");
}

#[test]
fn relaxed_receipts_wait_for_a_full_disk() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Faulty::default());
    let ledger = open_on(folder.path(), Durability::Relaxed, &disk);
    let ticket = ledger.intent(call("t")).unwrap();
    ledger.flush().unwrap();
    disk.state().room = Some(0);
    ledger.outcome(ticket, answered(), &[]).unwrap();
    ledger.flush().unwrap();
    assert!(ledger.problem().is_some());
    assert_eq!(ledger.counts().forwarded, 0);
    disk.state().room = None;
    let _more = ledger.intent(call("u")).unwrap();
    ledger.flush().unwrap();
    assert_eq!(ledger.problem(), None);
    let counts = ledger.counts();
    assert_eq!((counts.forwarded, counts.lost), (1, 0));
}

/// What waits for a full disk is bounded in bytes too: the rest is lost, counted and said.
#[test]
fn relaxed_receipts_that_wait_are_bounded_in_bytes() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Faulty::default());
    let ledger = open_on(folder.path(), Durability::Relaxed, &disk);
    ledger.flush().unwrap();
    disk.state().room = Some(0);
    let text = format!(r#"{{"a":"{}"}}"#, "x".repeat((1 << 20) - 100));
    let refused = || {
        let mut call = call("t");
        call.arguments = Keep::All.evidence(text.as_bytes(), None, &mut call.marks);
        let outcome = Outcome::Timeout {
            after: Duration::ZERO,
        };
        CallReceipt { call, outcome }
    };
    for _ in 0..20 {
        ledger.call(refused()).unwrap();
        ledger.flush().unwrap();
    }
    assert!(ledger.problem().is_some());
    disk.state().room = None;
    let _more = ledger.intent(call("u")).unwrap();
    ledger.flush().unwrap();
    let counts = ledger.counts();
    assert_eq!((counts.timeouts, counts.lost), (16, 4));
}

/// A file on a disk that has room for so many bytes in all.
struct Tight(File, Arc<std::sync::atomic::AtomicU64>);

impl Disk for Tight {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let room = self.1.load(std::sync::atomic::Ordering::Relaxed);
        let left = room.saturating_sub(self.0.metadata()?.len());
        let fits = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.0.append(&bytes[..fits])?;
        if fits < bytes.len() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.0.cut(length)
    }
}

/// However full the disk is at the end, nothing untrue is said of what was answered, and the next
/// start makes a pack that passes and says how much is lost.
#[test]
fn a_session_that_ends_on_a_full_disk_says_nothing_untrue() {
    let mut seen = std::collections::BTreeSet::new();
    for (durability, more) in (0..6000)
        .step_by(170)
        .flat_map(|more| [(Durability::Relaxed, more), (Durability::Strict, more)])
    {
        let folder = tempfile::tempdir().unwrap();
        let room = Arc::new(std::sync::atomic::AtomicU64::new(u64::MAX));
        let limit = Arc::clone(&room);
        let options = options(durability);
        let disk = move |file| -> Box<dyn Disk> { Box::new(Tight(file, limit)) };
        let ledger = Ledger::open_on(folder.path(), options.clone(), disk).unwrap();
        let tickets: Vec<_> = (0..4).map(|_| ledger.intent(call("t")).unwrap()).collect();
        ledger.flush().unwrap();
        let full = ledger.path().metadata().unwrap().len() + more;
        room.store(full, std::sync::atomic::Ordering::Relaxed);
        let kept = tickets
            .into_iter()
            .map(|ticket| ledger.outcome(ticket, answered(), &[]));
        let refused = kept.filter(Result::is_err).count();
        let ended = ledger.finish(End::Closed, Packing::Pack);
        let lost = ledger.counts().lost;
        let case = format!("{durability:?} {more}: {lost} lost, {refused} refused, {ended:?}");
        assert!(
            refused == 0 || refused == usize::try_from(lost).unwrap(),
            "{case}"
        );
        drop(ledger);
        let made = if let Ok(built) = ended {
            vec![built.unwrap()]
        } else {
            let found = recover(folder.path(), &options).unwrap();
            let packs = found.into_iter().flat_map(|one| one.packs);
            packs.collect::<Result<_, _>>().unwrap()
        };
        let [built] = made.try_into().unwrap();
        assert_good(&built, Some(lost == 0 && ended_whole(&built)));
        let lines = lines(&built.path.join("receipt_pack.jsonl"));
        let calls = lines.iter().filter(|line| line["type"] == "mcp_tool_call");
        let calls: Vec<_> = calls.map(|line| line["marks"].to_string()).collect();
        assert_eq!(calls.len(), 4, "{case}");
        let untrue = |marks: &String| marks.contains("upstream_exited");
        assert!(!calls.iter().any(untrue), "{case} {calls:?}");
        let end = lines.iter().find(|line| line["type"] == "mcp.session_end");
        assert_eq!(end.unwrap()["receipts_lost"], lost, "{case}");
        seen.insert(lost);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

fn ended_whole(built: &Built) -> bool {
    let lines = lines(&built.path.join("receipt_pack.jsonl"));
    lines.iter().any(|line| line["reason"] == "closed")
}

#[test]
fn an_answer_that_could_not_be_recorded_is_said() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Faulty::default());
    let ledger = open_on(folder.path(), Durability::Strict, &disk);
    let ticket = ledger.intent(call("t")).unwrap();
    disk.state().room = Some(0);
    assert!(ledger.outcome(ticket, answered(), &[]).is_err());
    disk.state().room = None;
    let _pack = ledger.finish(End::Closed, Packing::Skip);
    assert_eq!(ledger.counts().lost, 1);
    let text = String::from_utf8(disk.state().written.clone()).unwrap();
    assert!(text.contains(r#""marks":["unrecorded"]"#), "{text}");
    assert!(text.contains(r#""session_complete":false"#), "{text}");
}

/// Issue 7: power loss, by dropping what was not synced, at any moment of a strict session.
#[test]
fn nothing_acknowledged_is_lost_with_the_power() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Faulty::default());
    let ledger = open_on(folder.path(), Durability::Strict, &disk);
    let mut acknowledged = Vec::new();
    for index in 0..20_usize {
        let (call, ended) = (call(&format!("t{index}")), index % 3 != 0);
        let id = call.invocation_id.clone();
        let ticket = ledger.intent(call).unwrap();
        if ended {
            ledger.outcome(ticket, answered(), &[]).unwrap();
        }
        acknowledged.push((id, ended));
        let mut left = {
            let state = disk.state();
            state.written[..state.durable].to_vec()
        };
        // What was being written may be there in part, or as zeros.
        left.extend_from_slice(if index % 2 == 0 {
            b"{\"type\":\"mcp"
        } else {
            &[0; 40]
        });
        let after = tempfile::tempdir().unwrap();
        let layout = Layout::create(after.path()).unwrap();
        fs::write(layout.session("x"), left).unwrap();
        fs::write(after.path().join("receipts/.open/session_x"), "").unwrap();
        let recovered = recover(after.path(), &options(Durability::Strict)).unwrap();
        let built = recovered[0].packs[0].as_ref().unwrap();
        assert_good(built, Some(false));
        let lines = lines(&built.path.join("receipt_pack.jsonl"));
        for (id, ended) in &acknowledged {
            let receipt = lines
                .iter()
                .find(|line| line["type"] == "mcp_tool_call" && line["invocation_id"] == **id)
                .unwrap();
            let expect = if *ended { "forwarded" } else { "timeout" };
            assert_eq!(receipt["outcome"], expect);
        }
    }
}
