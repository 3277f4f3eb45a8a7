//! Calls of several conversations in one ledger, uses of agents' own tools, and packs by the clock.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, CallId, Cause, Door, Enforcement, Finding, FlowType, Hooked, Id128, Masked,
    Owner, Passing, Phase, Risk, RiskLevel, SessionBasis, SessionKey, Tier, ToolName, Verdict,
};
use mcpproxy_testkit::{FixedClock, samples};
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::keys::{Signer, Trust};
use crate::ledger::{Profile, recover};
use crate::verify::{Checks, Class, Report, verify};

/// A desk with its folder, its clock and the packs that it made on the way.
struct Scene {
    folder: TempDir,
    clock: Arc<FixedClock>,
    options: Options,
    desk: Desk,
    packs: Arc<Mutex<Vec<PathBuf>>>,
}

fn rules(interval: &str) -> Rules {
    Rules {
        arguments: Keep::Nothing,
        results: Keep::All,
        pepper: None,
        interval: interval.parse().unwrap(),
    }
}

fn scene(durability: Durability, interval: &str) -> Scene {
    scene_with(durability, rules(interval))
}

fn scene_with(durability: Durability, rules: Rules) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixedClock::default());
    let options = Options {
        server_id: "gateway".to_owned(),
        transport: Transport::Gateway,
        profile: Profile::Guard,
        durability,
        policy_hash: None,
        version: "0.1.0".to_owned(),
        checkpoint_every: 100,
        clock: Arc::clone(&clock) as _,
        signer: Arc::new(Signer::generate("test").unwrap()),
    };
    let packs = Arc::new(Mutex::new(Vec::new()));
    let made = Arc::clone(&packs);
    let on_pack = Box::new(move |built: Result<Built, NotaryError>| {
        made.lock().unwrap().push(built.unwrap().path);
    });
    let desk = Desk::open(folder.path(), options.clone(), rules, on_pack).unwrap();
    desk.reach([("github".to_owned(), Transport::Http)].into());
    desk.enforce(&"ab".repeat(32));
    Scene {
        folder,
        clock,
        options,
        desk,
        packs,
    }
}

impl Scene {
    fn judge(&self, pack: &Path) -> Report {
        let checks = Checks {
            trust: Trust::new([self.options.signer.public()]),
            ..Checks::at(self.options.clock.wall())
        };
        verify(pack, &checks).unwrap()
    }

    /// Ends the run, and returns the calls of its last pack.
    fn finished(&self) -> (Report, Vec<Value>) {
        let pack = self.desk.finish().unwrap().unwrap().path;
        let report = self.judge(&pack);
        assert_eq!(report.class, Class::Pass, "{report:?}");
        (report, calls(&pack))
    }
}

fn calls(pack: &Path) -> Vec<Value> {
    let text = fs::read_to_string(pack.join("receipt_pack.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let is_call = |line: &Value| line["type"] == "mcp_tool_call";
    lines.filter(is_call).collect()
}

fn verdict(wanted: Action) -> Arc<Verdict> {
    let mut finding = Finding::new("flow", Tier::Flow, wanted);
    finding.reason = Masked::from_safe("data leaves");
    Arc::new(Verdict {
        action: wanted,
        wanted,
        enforced: Enforcement::Enforced,
        decided_by: (wanted != Action::Allow).then_some(0),
        findings: [finding].into(),
        risk: Risk {
            level: RiskLevel::None,
            score: 0,
        },
        flow: FlowType::None,
    })
}

/// Tells of call number `id` in a conversation.
fn deed(id: u128, session: u128, wanted: Action) -> Deed {
    let call = Call {
        id: CallId::new(1, id),
        session: SessionKey {
            basis: SessionBasis::McpSession,
            id: Id128(session),
        },
        ..samples::call()
    };
    let mut deed = Deed::new(&call, 0..0, &verdict(wanted), call.at);
    deed.raw = Bytes::from_static(br#"{"params":{"arguments":{"a":1}}}"#);
    deed.arguments = 23..30;
    deed.at = FixedClock::default().wall();
    deed.tool.upstream = mcpproxy_core::UpstreamId::new("github");
    deed.tool.tool = ToolName::new(format!("tool{id}"));
    deed
}

fn hooked(id: u128, phase: Phase, tool_use: Option<&str>) -> Deed {
    let hook = Hooked {
        agent: "claude-code".into(),
        phase,
        event: "PreToolUse".into(),
        session: "s".into(),
        tool_use: tool_use.map(Into::into),
        owner: Owner::Agent,
        failed: false,
        leads: Some(Vec::new()),
        folder: None,
    };
    Deed {
        hook: Some(Arc::new(hook)),
        door: Door::Hook,
        ..deed(id, 7, Action::Allow)
    }
}

fn answered(body: &'static str, is_error: bool, passing: Passing) -> Ended {
    Ended::Answered {
        body: Bytes::from_static(body.as_bytes()),
        is_error,
        passing,
        took: Duration::from_millis(5),
    }
}

fn unanswered(cause: Cause) -> Ended {
    Ended::Unanswered {
        cause,
        took: Duration::from_millis(9),
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn every_end_of_a_call_has_its_receipt() {
    let scene = scene(Durability::Relaxed, "session");
    let ends = [
        answered(r#"{"r":1}"#, false, Passing::Whole),
        answered(r#"{"isError":true}"#, true, Passing::Whole),
        answered(
            "{}",
            false,
            Passing::Changed(Box::new(Bytes::from_static(b"{ }"))),
        ),
        answered("{}", false, Passing::Withheld),
        unanswered(Cause::TimedOut),
        unanswered(Cause::Cancelled),
        unanswered(Cause::Failed),
        unanswered(Cause::Stopped),
    ];
    let numbers: Vec<u128> = (0..).take(ends.len()).collect();
    for id in &numbers {
        assert!(scene.desk.intent(deed(*id, id % 2, Action::Allow), None));
    }
    for (id, ended) in numbers.iter().zip(ends) {
        let deed = deed(*id, id % 2, Action::Allow);
        assert!(scene.desk.outcome(deed, ended, None));
    }
    assert!(scene.desk.denied(deed(99, 0, Action::Deny), None));
    let (report, calls) = scene.finished();
    assert_eq!(report.session_complete, Some(true));
    let shown = |call: &Value| {
        let session = call["downstream_session_id"].as_str().unwrap();
        let session = session.chars().last().unwrap();
        format!("{session} {} {}", call["outcome"], call["marks"]).replace('"', "")
    };
    // What the caller got has its own hash, in the canonical form.
    let instead = |call: &Value| call["replaced_by_hash"].clone();
    let changed = calls.iter().map(instead).position(|hash| !hash.is_null());
    assert_eq!(changed, Some(2));
    assert_eq!(instead(&calls[2]), digest(b"{}", None).to_string());
    assert!(
        calls
            .iter()
            .all(|call| call.get("replaced_by_hash").is_some())
    );
    let shown: Vec<String> = calls.iter().map(shown).collect();
    let expect = [
        "0 forwarded []",
        "1 error []",
        "0 forwarded [answer_changed]",
        "1 forwarded [answer_withheld]",
        "0 timeout []",
        "1 timeout [cancelled]",
        "0 timeout [upstream_failed]",
        "1 timeout [stopped]",
        "0 denied []",
    ];
    assert_eq!(shown, expect);
    let session = crate::view::Session::load(scene.desk.ledger.path()).unwrap();
    assert_eq!(session.calls[0].tool, "github/tool0");
    let first = &calls[0];
    assert_eq!(first["server_id"], "github");
    assert_eq!(first["server_transport"], "http");
    assert_eq!(first["activity_id"], first["correlation_id"]);
    assert_eq!(first["policy_hash"], "ab".repeat(32));
    assert_eq!(first["arguments_hash"], digest_of(r#"{"a":1}"#));
    assert_eq!(first["arguments_content"], Value::Null);
    assert_eq!(first["result_content"], serde_json::json!({ "r": 1 }));
    assert_eq!(calls[8]["policy_ref"], "flow");
    assert_eq!(calls[8]["policy_reason"], "data leaves");
}

#[test]
fn the_receipts_of_a_call_are_found_with_their_proofs() {
    let scene = scene(Durability::Strict, "session");
    let now = scene.clock.wall();
    let (tell, told) = channel();
    for number in [1, 2] {
        let tell = tell.clone();
        let done: Done = Box::new(move |said| tell.send(said).unwrap());
        let deed = deed(number, 0, Action::Deny);
        assert!(scene.desk.denied(deed, Some(done)));
        told.recv().unwrap().unwrap();
    }
    let id = CallId::new(1, 2).to_string();
    let find = |at| crate::find::find(scene.folder.path(), &id, at).unwrap();
    let open = find(now);
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!((&open[0].pack, &open[0].proof), (&None, &None));
    let (_, calls) = scene.finished();
    let packed = find(now);
    let line: Value = serde_json::from_str(&packed[0].line).unwrap();
    assert_eq!((packed.len(), &line), (1, &calls[1]));
    assert!(packed[0].pack.as_ref().unwrap().starts_with("proof_pack_"));
    let proof = packed[0].proof.as_ref().unwrap();
    let trust = Trust::new([scene.options.signer.public()]);
    let shown = crate::prove::check(proof.as_bytes(), &trust).unwrap();
    assert_eq!(
        (shown.class, shown.receipt),
        (Class::Pass, packed[0].line.clone())
    );
    // A ledger that was begun later does not hold it, and one that is too long is not read.
    assert_eq!(find(Wall(now.0 - 1000)), []);
    let none = crate::find::find_within(10, scene.folder.path(), &id, now);
    assert!(none.unwrap_err().to_string().contains("looked through"));
}

fn digest_of(text: &str) -> String {
    crate::hash::digest(text.as_bytes(), None).to_string()
}

#[test]
fn what_agents_tell_of_their_own_tools_is_one_receipt_a_use() {
    let scene = scene(Durability::Relaxed, "session");
    let report = |body: &'static str| Ended::Reported {
        body: Some(Bytes::from_static(body.as_bytes())),
        is_error: body.contains("error"),
    };
    let desk = &scene.desk;
    assert!(desk.intent(hooked(1, Phase::Pre, Some("use-1")), None));
    assert!(desk.intent(hooked(2, Phase::Pre, None), None));
    assert!(desk.intent(hooked(3, Phase::Pre, Some("use-3")), None));
    scene.clock.advance(Duration::from_millis(30));
    // A report is a call of its own in the log, and known by its use or by what was given.
    let mut later = hooked(11, Phase::Post, Some("use-1"));
    later.tool.tool = ToolName::new("tool1");
    assert!(desk.outcome(later, report("\"x\""), None));
    let mut later = hooked(12, Phase::Post, None);
    later.tool.tool = ToolName::new("tool2");
    assert!(desk.outcome(later, report("\"y\""), None));
    let failed = report(r#"{"error":"z"}"#);
    assert!(desk.outcome(hooked(4, Phase::Post, Some("use-4")), failed, None));
    let (report, calls) = scene.finished();
    // The third is in use when the gateway ends.
    assert_eq!(report.session_complete, Some(false));
    let shown = |call: &Value| {
        let (tool, id) = (&call["tool_name"], &call["mcp_request_id"]);
        let (outcome, marks) = (&call["outcome"], &call["marks"]);
        let span = &call["duration_ms"];
        format!("{tool} {id} {outcome} {span} {marks}").replace('"', "")
    };
    let shown: Vec<String> = calls.iter().map(shown).collect();
    let expect = [
        "tool1 use-1 forwarded 30 [hook]",
        "tool2 null forwarded 30 [hook]",
        "tool4 use-4 error 30 [hook]",
        "tool3 use-3 timeout 30 [hook,unreported]",
    ];
    assert_eq!(shown, expect);
    assert_eq!(calls[0]["server_transport"], "hook");
}

#[test]
fn a_use_that_nobody_reports_is_closed_in_time() {
    let scene = scene(Durability::Relaxed, "session");
    assert!(scene.desk.intent(hooked(1, Phase::Pre, None), None));
    until("the intent is taken", || {
        scene.desk.waiting.load(Ordering::Relaxed) == 0
    });
    scene.clock.advance(Duration::from_mins(31));
    until("it is closed", || scene.desk.counts().timeouts == 1);
}

#[test]
fn packs_are_made_by_the_minute() {
    let scene = scene(Durability::Relaxed, "5m");
    for id in 0..3 {
        assert!(scene.desk.denied(deed(id, 0, Action::Deny), None));
        let written = u64::try_from(id).unwrap() + 1;
        until("it is written", || scene.desk.counts().denied == written);
        scene.clock.advance(Duration::from_mins(5));
        let made = usize::try_from(written).unwrap();
        until("a pack is made", || {
            scene.packs.lock().unwrap().len() == made
        });
    }
    for pack in &*scene.packs.lock().unwrap() {
        assert_eq!(scene.judge(pack).class, Class::Pass);
        assert_eq!(calls(pack).len(), 1);
    }
    let (report, calls) = scene.finished();
    assert_eq!((report.session_complete, calls.len()), (Some(true), 0));
}

#[test]
fn in_strict_mode_who_hands_in_is_told_when_it_is_on_disk() {
    let scene = scene(Durability::Strict, "session");
    let (send, heard) = channel();
    let done = |name: &'static str| {
        let send = send.clone();
        let done: Done = Box::new(move |said| send.send((name, said)).unwrap());
        Some(done)
    };
    let (one, two) = (deed(1, 0, Action::Allow), deed(2, 0, Action::Deny));
    assert!(scene.desk.intent(one.clone(), done("intent")));
    assert_eq!(heard.recv().unwrap(), ("intent", Ok(())));
    let file = scene.desk.ledger.path();
    let written = || fs::read_to_string(file).unwrap();
    assert!(written().contains("mcp.tool_intent"));
    let ended = answered("{}", false, Passing::Whole);
    assert!(scene.desk.outcome(one, ended, done("outcome")));
    assert_eq!(heard.recv().unwrap(), ("outcome", Ok(())));
    assert!(written().contains(r#""outcome":"forwarded""#));
    assert!(scene.desk.denied(two, done("denied")));
    assert_eq!(heard.recv().unwrap(), ("denied", Ok(())));
    scene.finished();
}

#[test]
fn what_a_killed_gateway_left_open_says_whose_it_was() {
    let made = scene(Durability::Relaxed, "session");
    assert!(made.desk.intent(deed(1, 5, Action::Allow), None));
    until("the intent is taken", || {
        made.desk.waiting.load(Ordering::Relaxed) == 0
    });
    made.desk.ledger.flush().unwrap();
    let Scene {
        folder,
        options,
        desk,
        ..
    } = made;
    drop(desk);
    let mut found = Vec::new();
    until("the lock is free", || {
        found = recover(folder.path(), &options).unwrap();
        !found.is_empty()
    });
    let pack = &found[0].packs[0].as_ref().unwrap().path;
    let calls = calls(pack);
    assert_eq!(calls[0]["outcome"], "timeout");
    assert_eq!(calls[0]["marks"], serde_json::json!(["recovered"]));
    assert_eq!(calls[0]["server_id"], "github");
    assert_eq!(calls[0]["door"], "mcp");
    let session = calls[0]["downstream_session_id"].as_str().unwrap();
    assert!(session.ends_with('5'), "{session}");
}

#[test]
fn what_is_too_heavy_to_wait_is_digested_at_once() {
    let scene = scene(Durability::Relaxed, "session");
    let body = Bytes::from_static(b"{\"r\":1}");
    let load = |keep: &Keep| scene.desk.load(Load::raw(body.clone()), keep);
    let waiting = |bytes: usize| scene.desk.waiting.swap(bytes, Ordering::Relaxed);
    waiting(HEAVY);
    assert!(matches!(load(&Keep::Nothing), Some(Load::Made(..))));
    assert_eq!(waiting(0), HEAVY);
    assert!(matches!(load(&Keep::Nothing), Some(Load::Raw(..))));
    assert_eq!(waiting(FULL - 7), 7);
    // What is kept in clear waits all the same, and is counted.
    assert!(matches!(load(&Keep::All), Some(Load::Made(..))));
    assert_eq!(waiting(FULL - 6), FULL);
    assert!(load(&Keep::All).is_none());
    assert!(load(&Keep::Nothing).is_some());
    waiting(0);
}

/// What waits holds on to no message: only what was counted of it.
#[test]
fn what_was_handed_in_lets_go_of_its_message() {
    let scene = scene(Durability::Relaxed, "session");
    let handed = scene.desk.handed(deed(1, 0, Action::Allow)).unwrap();
    assert!(handed.deed.raw.is_empty());
    let message = r#"{"params":{"arguments":{"a":1}}}"#;
    assert_eq!(handed.arguments.size(), message.len());
    let (ended, body) = deed::result(answered("{}", false, Passing::Whole));
    assert_eq!(body.unwrap(), "{}");
    assert!(matches!(ended, Ended::Answered { body, .. } if body.is_empty()));
    scene.desk.waiting.store(0, Ordering::Relaxed);
}

/// Past the bytes that may wait, a relaxed receipt is lost and that is said; a strict one is
/// refused.
#[test]
fn too_many_bytes_are_lost_or_refused() {
    for durability in [Durability::Relaxed, Durability::Strict] {
        let scene = scene(durability, "session");
        scene.desk.waiting.store(FULL, Ordering::Relaxed);
        let ended = answered(r#"{"r":1}"#, false, Passing::Whole);
        let one = deed(1, 0, Action::Allow);
        assert!(!scene.desk.outcome(one.clone(), ended.clone(), None));
        assert_eq!(scene.desk.waiting.swap(0, Ordering::Relaxed), FULL);
        let problem = scene.desk.problem().unwrap();
        assert!(problem.starts_with("1 receipts were lost"), "{problem}");
        assert!(scene.desk.outcome(one, ended, None));
        let (report, calls) = scene.finished();
        assert_eq!((report.session_complete, calls.len()), (Some(false), 1));
    }
}

/// What agents gave to their own tools is kept in clear until they report, within bounds.
#[test]
fn uses_that_keep_too_much_are_closed() {
    let rules = Rules {
        arguments: Keep::All,
        ..rules("session")
    };
    let scene = scene_with(Durability::Relaxed, rules);
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat((1 << 20) - 100));
    for id in 0..66 {
        let mut one = hooked(id, Phase::Pre, Some(&format!("use-{id}")));
        (one.arguments, one.raw) = (0..long.len(), Bytes::from(long.clone()));
        assert!(scene.desk.intent(one, None));
        until("it is taken", || {
            scene.desk.waiting.load(Ordering::Relaxed) == 0
        });
    }
    until("two are closed", || scene.desk.counts().timeouts == 2);
}
