//! Packs both ways with assay-ai: its program verifies ours, and we verify those that it makes.
//!
//! It is installed by `cargo xtask test`, which tells in the environment where. Without that there
//! is nobody to talk to, and the tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests outside a test module"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Clock as _, Durability, SystemClock, Wall};
use mcpproxy_notary::content::Content;
use mcpproxy_notary::hash::digest;
use mcpproxy_notary::keys::{PublicKey, Signer, Trust};
use mcpproxy_notary::ledger::{End, Ledger, Options, Packing, Profile, Transport, recover};
use mcpproxy_notary::receipt::{
    Answer, Call, CallReceipt, Evidence, Mark, Outcome, RequestId, Rule, Ruling, invocation_id,
};
use mcpproxy_notary::verify::{Checks, Class, verify};
use tempfile::TempDir;

/// The peer's program, with a home folder of its own.
struct Peer {
    program: PathBuf,
    home: TempDir,
}

impl Peer {
    fn find() -> Option<Self> {
        let Some(program) = std::env::var_os("MCPPROXY_TOOLS_ASSAY").map(PathBuf::from) else {
            eprintln!("not run: the peer is set up by `cargo xtask test`");
            return None;
        };
        Some(Self {
            program,
            home: TempDir::new().unwrap(),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("HOME", self.home.path())
            .env_remove("GITHUB_ACTIONS");
        command
    }

    /// Lets the peer judge a pack; returns its exit code and its words.
    fn judge(&self, pack: &Path) -> (Option<i32>, String) {
        let output = self
            .command()
            .arg("verify-pack")
            .arg(pack)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    }

    fn accepts(&self, pack: &Path) {
        let (code, words) = self.judge(pack);
        assert_eq!(code, Some(0), "{}: {words}", pack.display());
    }

    /// Lets the peer's card `receipt_completeness` look at a pack; returns the claims that hold. Its
    /// other claim is about calls of models, which no pack of tool calls has.
    fn complete(&self, pack: &Path) -> String {
        const SCRIPT: &str = "
import json, sys
from assay.run_cards import get_builtin_card
from assay.claim_verifier import verify_claims
lines = open(sys.argv[1] + '/receipt_pack.jsonl', encoding='utf-8').read().split('\\n')
receipts = [json.loads(line) for line in lines if line]
claims = get_builtin_card('receipt_completeness').claims
print([one.claim_id for one in verify_claims(receipts, claims).results if one.passed])
";
        let mut command = Command::new(self.interpreter());
        command.env("HOME", self.home.path()).args(["-c", SCRIPT]);
        let output = command.arg(pack).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn interpreter(&self) -> PathBuf {
        self.program.with_file_name("python")
    }
}

fn options(profile: Profile) -> Options {
    Options {
        server_id: "tëst".to_owned(),
        transport: Transport::Stdio,
        profile,
        durability: Durability::Relaxed,
        policy_hash: (profile == Profile::Guard).then(|| "0f".repeat(32)),
        version: "0.1.0".to_owned(),
        checkpoint_every: 3,
        clock: Arc::new(SystemClock::start()),
        signer: Arc::new(Signer::generate("notary-test").unwrap()),
    }
}

fn call(tool: &str, arguments: &str, ruling: Ruling) -> Call {
    Call {
        invocation_id: invocation_id().unwrap(),
        tool_name: tool.to_owned(),
        request_id: RequestId::from_json(Some("18446744073709551616")),
        observed_at: Wall(1_790_000_000_000),
        arguments: Evidence {
            digest: digest(arguments.as_bytes(), None),
            content: Content::all(arguments.as_bytes()),
        },
        ruling,
        marks: vec![Mark::Batch],
        via: None,
    }
}

fn answer(result: &str) -> Answer {
    Answer {
        result: Evidence {
            digest: digest(result.as_bytes(), None),
            content: Content::all(result.as_bytes()),
        },
        replaced_by: None,
        observed_at: Wall(1_790_000_000_100),
        duration: Duration::from_millis(100),
    }
}

/// Arguments that have tripped readers: breaks of lines, keys beyond ASCII, numbers of all sizes.
const AWKWARD: &[&str] = &[
    r#"{"text":"h\u00e9llo \ud83d\ude00"}"#,
    "{\"text\":\"a\u{2028}b\u{85}c\u{2029}d\"}",
    "{\"clé\":1,\"\u{2028}\":2}",
    r#"{"n":[1e-7,1E21,0.1,-0.0,5e-324,1.7976931348623157e308,9007199254740993,123456789012345678901234567890]}"#,
    r#"{"over":1e400}"#,
    r#"{"half":"\ud800"}"#,
    r#"{"twice":1,"twice":2}"#,
    r#"{"signature":"x","anchor":1}"#,
    "[1,2]",
    "not json at all",
];

#[test]
fn the_peer_accepts_audit_packs_with_awkward_values() {
    let Some(peer) = Peer::find() else { return };
    let folder = TempDir::new().unwrap();
    let ledger = Ledger::open(folder.path(), options(Profile::Audit)).unwrap();
    for arguments in AWKWARD {
        let ticket = ledger
            .intent(call("tool\u{2028}\"né", arguments, Ruling::NoPolicy))
            .unwrap();
        ledger
            .outcome(ticket, Outcome::Forwarded(answer(arguments)), &[])
            .unwrap();
    }
    let rolled = ledger.pack().unwrap().unwrap();
    let ticket = ledger.intent(call("boom", "{}", Ruling::NoPolicy)).unwrap();
    ledger
        .outcome(ticket, Outcome::Error(answer("{\"isError\":true}")), &[])
        .unwrap();
    let last = ledger.finish(End::Closed, Packing::Pack).unwrap().unwrap();
    for built in [rolled, last] {
        assert_eq!(built.report.class, Class::Pass, "{:?}", built.report);
        peer.accepts(&built.path);
        assert_eq!(peer.complete(&built.path), "['min_receipt_count']");
    }
}

#[test]
fn the_peer_accepts_guard_packs_with_denials() {
    let Some(peer) = Peer::find() else { return };
    let folder = TempDir::new().unwrap();
    let ledger = Ledger::open(folder.path(), options(Profile::Guard)).unwrap();
    let rule = |name: &str| Rule {
        name: name.to_owned(),
        reason: Some("as the rule says".to_owned()),
        decided_at: Wall(1_790_000_000_001),
    };
    let denied = Outcome::Denied(rule("denylist"));
    let refused = call("shell", "{}", Ruling::Denied(rule("denylist")));
    ledger
        .call(CallReceipt {
            call: refused,
            outcome: denied,
        })
        .unwrap();
    let ticket = ledger
        .intent(call("read", "{}", Ruling::Allowed(rule("allowlist"))))
        .unwrap();
    ledger
        .outcome(
            ticket,
            Outcome::Timeout {
                after: Duration::from_secs(1),
            },
            &[],
        )
        .unwrap();
    let built = ledger
        .finish(End::Interrupted, Packing::Pack)
        .unwrap()
        .unwrap();
    peer.accepts(&built.path);
}

#[test]
fn the_peer_accepts_partial_packs_and_finds_changes() {
    let Some(peer) = Peer::find() else { return };
    let folder = TempDir::new().unwrap();
    let options = options(Profile::Audit);
    let ledger = Ledger::open(folder.path(), options.clone()).unwrap();
    drop(ledger.intent(call("hung", "{}", Ruling::NoPolicy)).unwrap());
    ledger.flush().unwrap();
    drop(ledger);
    let recovered = loop {
        let found = recover(folder.path(), &options).unwrap();
        if !found.is_empty() {
            break found;
        }
        std::thread::yield_now();
    };
    let built = recovered[0].packs[0].as_ref().unwrap();
    assert_eq!(built.session_complete, Some(false));
    peer.accepts(&built.path);
    let receipts = built.path.join("receipt_pack.jsonl");
    let text = fs::read_to_string(&receipts).unwrap();
    fs::write(&receipts, text.replace("hung", "hunG")).unwrap();
    assert_eq!(peer.judge(&built.path).0, Some(2));
}

/// A server of five lines, since the peer wants one to wrap.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    content = [{"type": "text", "text": json.dumps(message["params"])}]
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content, "isError": False}}
    print(json.dumps(answer), flush=True)
"#;

/// Lets the peer record some calls; returns its pack.
fn record(peer: &Peer, folder: &Path, arguments: &[&str]) -> PathBuf {
    let server = folder.join("server.py");
    fs::write(&server, SERVER).unwrap();
    let mut proxy = peer.command();
    proxy
        .args([
            "mcp-proxy",
            "--store-args",
            "--store-results",
            "--audit-dir",
        ])
        .arg(folder);
    proxy
        .arg("--")
        .arg(peer.interpreter())
        .arg(&server)
        .current_dir(folder);
    let mut child = proxy
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = std::io::BufReader::new(child.stdout.take().unwrap());
    for (id, arguments) in arguments.iter().enumerate() {
        let params = format!(r#"{{"name":"echo","arguments":{arguments}}}"#);
        let method = "tools/call";
        writeln!(
            input,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        )
        .unwrap();
        let mut answer = String::new();
        std::io::BufRead::read_line(&mut answers, &mut answer).unwrap();
        assert!(answer.contains("result"), "{answer}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    let packs = fs::read_dir(folder.join("packs")).unwrap();
    packs.map(|entry| entry.unwrap().path()).next().unwrap()
}

#[test]
fn packs_of_the_peer_are_judged() {
    let Some(peer) = Peer::find() else { return };
    let folder = TempDir::new().unwrap();
    let arguments = [
        r#"{"text":"héllo"}"#,
        r#"{"n":[1e-7,1e21,9007199254740993,-0.0]}"#,
        "{\"t\":\"a\u{2028}b\"}",
    ];
    let pack = record(&peer, folder.path(), &arguments);
    let key = PublicKey::load(&peer.home.path().join(".assay/keys/assay-local.pub")).unwrap();
    let now = SystemClock::start().wall();
    let checks = Checks {
        trust: Trust::new([key]),
        ..Checks::at(now)
    };
    let judge = |checks: &Checks| verify(&pack, checks).unwrap();
    let report = judge(&checks);
    assert_eq!(
        (report.class, report.receipts),
        (Class::Pass, 3),
        "{report:?}"
    );
    assert_eq!(judge(&Checks::at(now)).class, Class::Doubt);
    for name in [
        "receipt_pack.jsonl",
        "pack_manifest.json",
        "verify_report.json",
    ] {
        let path = pack.join(name);
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 50) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert_eq!(judge(&checks).class, Class::Tampered, "{name} byte {at}");
        }
        fs::write(&path, whole).unwrap();
    }
}
