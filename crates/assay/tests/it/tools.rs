//! The commands beside the proxy, on packs that it made.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Command;

use serde_json::Value;

use crate::authority::Authority;
use crate::support::{ANSWERS, Left, Scene, call, until};

fn recorded() -> (Scene, String) {
    let scene = Scene::new();
    let lines: Vec<String> = (0..6).map(|id| call(id, "a", "{}")).collect();
    let left = scene.run(&[], ANSWERS, (lines.join("\n") + "\n").as_bytes());
    assert_eq!(left.code(), Some(0), "{left:?}");
    let pack = scene.packs().remove(0).display().to_string();
    (scene, pack)
}

fn json(left: &Left) -> Value {
    serde_json::from_slice(&left.stdout).unwrap()
}

#[test]
fn a_pack_is_judged_by_whom_it_is_signed() {
    let (scene, pack) = recorded();
    let left = scene.tool(&["--json", "verify-pack", &pack]);
    assert_eq!(
        (left.code(), &json(&left)["verdict"]),
        (Some(0), &"pass".into())
    );
    // Another key is trusted: intact, but by whom?
    let other = Scene::new();
    let key = other.tool(&["keys", "export"]);
    let key = scene.file("other.pem", &String::from_utf8(key.stdout).unwrap());
    assert_eq!(
        scene
            .tool(&["verify-pack", &pack, "--trust-key", &key])
            .code(),
        Some(1)
    );
    assert_eq!(other.tool(&["verify-pack", &pack]).code(), Some(1));
    // The true one, in PEM.
    let own = scene.tool(&["keys", "export"]);
    let own = scene.file("own.pem", &String::from_utf8(own.stdout).unwrap());
    assert_eq!(
        other
            .tool(&["verify-pack", &pack, "--trust-key", &own])
            .code(),
        Some(0)
    );
    // The same in base64, and as its 32 bytes.
    let text = json(&scene.tool(&["--json", "keys"]))["public_key"].clone();
    let text = scene.file("own.txt", text.as_str().unwrap());
    let raw = scene.path().join("keys/assay-local.pub");
    assert_eq!(fs::metadata(&raw).unwrap().len(), 32);
    for key in [text, raw.display().to_string()] {
        let left = other.tool(&["verify-pack", &pack, "--trust-key", &key]);
        assert_eq!(left.code(), Some(0), "{key}: {left:?}");
    }
    // What is no pack, and no key.
    assert_eq!(scene.tool(&["verify-pack", "nowhere"]).code(), Some(3));
    assert_eq!(
        scene
            .tool(&["verify-pack", &pack, "--trust-key", "nowhere"])
            .code(),
        Some(3)
    );
    let root = ["--expect-root", "zz", "--expect-size", "3"];
    assert_eq!(
        scene
            .tool(&[&["verify-pack", pack.as_str()], &root[..]].concat())
            .code(),
        Some(3)
    );
}

#[test]
fn a_changed_receipt_and_a_lost_one_are_found() {
    let (scene, pack) = recorded();
    let note = format!("{pack}/checkpoint.note");
    let kept = scene.file("kept.note", &fs::read_to_string(note).unwrap());
    let expect = ["verify-pack", pack.as_str(), "--checkpoint", &kept];
    assert_eq!(scene.tool(&expect).code(), Some(0));
    let (shorter, short) = recorded();
    let left = shorter.tool(&["verify-pack", &short, "--checkpoint", &kept]);
    assert_eq!(left.code(), Some(3), "{left:?}");
    assert!(left.stderr.contains("is of another session"), "{left:?}");
    let file = format!("{pack}/receipt_pack.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"a\"", "\"b\"", 1)).unwrap();
    let left = scene.tool(&["verify-pack", &pack]);
    assert_eq!(left.code(), Some(2), "{left:?}");
    // Nor is anything told of it as if it held.
    assert_eq!(scene.tool(&expect).code(), Some(2));
    assert_eq!(scene.tool(&["diff", &pack, &pack]).code(), Some(2));
    let id = scene.calls()[2]["receipt_id"].as_str().unwrap().to_owned();
    let left = scene.tool(&["prove", &pack, &id]);
    assert_eq!((left.code(), left.stdout.len()), (Some(2), 0), "{left:?}");
}

#[test]
fn a_rotated_key_is_known_as_a_successor() {
    let (scene, _) = recorded();
    let before = json(&scene.tool(&["--json", "keys"]));
    let key = scene.file("old.pub", before["public_key"].as_str().unwrap());
    let after = json(&scene.tool(&["--json", "keys", "rotate"]));
    assert_eq!(after["succeeds"], before["fingerprint"]);
    assert_ne!(after["fingerprint"], before["fingerprint"]);
    scene.run(&[], ANSWERS, b"");
    let mut codes: Vec<_> = scene
        .packs()
        .iter()
        .map(|pack| pack.display().to_string())
        .map(|pack| {
            scene
                .tool(&["verify-pack", &pack, "--trust-key", &key])
                .code()
        })
        .collect();
    codes.dedup();
    assert_eq!(codes, [Some(0)]);
}

#[test]
fn openssl_alone_verifies_a_pack() {
    let (scene, pack) = recorded();
    let key = scene.tool(&["keys", "export"]);
    let key = scene.file("key.pem", &String::from_utf8(key.stdout).unwrap());
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/mcp_proxy_demo/verify.sh"
    );
    let verify = |packs: &[String]| {
        let output = Command::new("sh")
            .arg(script)
            .args(packs)
            .arg(&key)
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let one = [pack.clone()];
    let (holds, text) = verify(&one);
    assert!(holds && text.contains("14 lines, as signed"), "{text}");
    let file = format!("{pack}/receipt_pack.jsonl");
    let lines = fs::read_to_string(&file).unwrap();
    fs::write(&file, lines.replacen("forwarded", "forwarder", 1)).unwrap();
    assert!(!verify(&one).0);
    // The packs that a session makes on its way are parts of one tree.
    let before = scene.packs();
    let mut proxy = scene.proxy(&["--pack-interval", "2r"], ANSWERS);
    for id in 1..=3 {
        proxy.call(id, "search");
    }
    until("a rolling pack", || scene.packs().len() > before.len());
    proxy.call(4, "search");
    assert_eq!(proxy.left().code(), Some(0));
    let mut packs = scene.packs();
    packs.retain(|pack| !before.contains(pack));
    let mut packs: Vec<String> = packs.iter().map(|it| it.display().to_string()).collect();
    packs.sort_by_key(|pack| (pack.len(), pack.clone()));
    assert!(packs.len() > 1, "{packs:?}");
    let (holds, text) = verify(&packs);
    assert!(holds, "{text}");
    let (holds, text) = verify(&packs[1..]);
    assert!(
        !holds && text.contains("every pack of the session"),
        "{text}"
    );
}

#[test]
fn the_demo_records_a_session_and_verifies_it() {
    let scene = Scene::new();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/mcp_proxy_demo/run.sh"
    );
    let output = Command::new("sh")
        .args([script, env!("CARGO_BIN_EXE_assay"), "sh", "-c", ANSWERS])
        .current_dir(scene.path())
        .env("ASSAY_KEYS_DIR", scene.path().join("keys"))
        .env("TMPDIR", scene.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    // What the policy of the demo denies did not arrive.
    assert!(text.contains("denied by policy"), "{text}");
    assert!(!scene.received().contains("crash"));
    assert!(text.contains("exit code 1"), "{text}");
    assert!(text.contains("lines, as signed"), "{text}");
}

#[test]
fn upstreams_that_are_not_behind_the_proxy_are_found() {
    let scene = Scene::new();
    let bare = r#"{"mcpServers":{
        "plain":{"command":"python","args":["s.py","--token","tr0ub4dor3xample"]},
        "behind":{"command":"assay","args":["mcp-proxy","--","python","s.py"]}}}"#;
    scene.file(".mcp.json", bare);
    let scan = |flags: &[&str]| {
        let mut command = scene.command(&[flags, &["scan"]].concat());
        let output = command
            .env("HOME", scene.path().join("home"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, text) = scan(&[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("1 of 2 upstreams are not behind the proxy"),
        "{text}"
    );
    let (_, text) = scan(&["--json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<_> = found["upstreams"].as_array().unwrap().iter().collect();
    assert_eq!(
        names
            .iter()
            .filter(|one| one["behind_proxy"] == false)
            .count(),
        1,
        "{text}"
    );
    assert!(!text.contains("tr0ub4dor3xample"), "{text}");
    scene.file(".mcp.json", "{}");
    assert_eq!(scan(&[]).0, Some(0));
    scene.file(".mcp.json", "{");
    assert_eq!(scan(&[]).0, Some(1));
    scene.file(".mcp.json", r#"{"mcpServers":{"odd":{"what":1}}}"#);
    assert_eq!(scan(&[]).0, Some(1));
    assert_eq!(scene.tool(&["scan", "nowhere"]).code(), Some(3));
}

#[test]
fn what_others_wrote_moves_no_cursor_and_begins_no_line() {
    let (scene, pack) = recorded();
    let manifest = format!("{pack}/pack_manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let lie = r"assay-local\u001b[2J\npass: intact, signed by a trusted key\u202e";
    let text = text.replace("assay-local", lie);
    fs::write(
        &manifest,
        text.replace("verify_report.json", &format!("x{lie}")),
    )
    .unwrap();
    let check = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        let bare = |line: &str| line.starts_with("pass: ") || line.starts_with("recorded");
        assert!(!text.lines().any(bare), "{text}");
    };
    let left = scene.tool(&["verify-pack", &pack]);
    assert_eq!(left.code(), Some(2), "{left:?}");
    check(&left.stdout);
    for command in ["explain", "prove"] {
        let left = scene.tool(&[command, &pack, "x"][..if command == "prove" { 3 } else { 2 }]);
        assert_eq!(left.code(), Some(2), "{left:?}");
        check(&left.stdout);
        check(&left.stderr.into_bytes());
    }
    let name = r"x\u001b[2J\nrecorded  y";
    let config = format!(r#"{{"mcpServers":{{"{name}":{{"command":"{name}"}}}}}}"#);
    scene.file(".mcp.json", &config);
    let mut scan = scene.command(&["scan"]);
    let output = scan.env("HOME", scene.path().join("home")).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    check(&output.stdout);
}

#[test]
fn two_packs_of_one_session_have_one_profile_and_policy() {
    let scene = Scene::new();
    let policy = scene.file("p.yaml", "version: 1\ndefault: allow\n");
    let flags = ["--pack-interval", "1r", "--policy", &policy];
    let mut proxy = scene.proxy(&flags, ANSWERS);
    for id in 1..=2_usize {
        proxy.call(id.try_into().unwrap(), "a");
        until("the pack", || scene.packs().len() == id);
    }
    proxy.left();
    let packs = scene.packs();
    let pack = |at: usize| packs[at].display().to_string();
    let left = scene.tool(&["diff", &pack(0), &pack(1)]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "no difference\n");
    assert_eq!(left.code(), Some(0), "{left:?}");
}

#[test]
fn a_pack_is_explained_and_two_are_compared() {
    let (scene, pack) = recorded();
    let left = scene.tool(&["explain", &pack]);
    let text = String::from_utf8_lossy(&left.stdout).into_owned();
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert!(text.contains('6'), "{text}");
    let left = scene.tool(&["--json", "explain", &pack]);
    assert!(json(&left).is_object());
    assert_eq!(scene.tool(&["diff", &pack, &pack]).code(), Some(0));
    let other = Scene::new();
    other.run(&[], ANSWERS, (call(1, "b", "{}") + "\n").as_bytes());
    let second = other.packs().remove(0).display().to_string();
    let left = scene.tool(&["diff", &pack, &second]);
    assert_eq!(left.code(), Some(1), "{left:?}");
    assert_eq!(scene.tool(&["diff", &pack, "nowhere"]).code(), Some(3));
}

#[test]
fn a_history_counts_every_session() {
    let (scene, _) = recorded();
    scene.run(&[], ANSWERS, (call(1, "b", "{}") + "\n").as_bytes());
    let left = scene.tool(&["--json", "analyze", "--history", "--audit-dir", "audit"]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(json(&left)["sessions"], 2, "{left:?}");
    assert_eq!(
        scene
            .tool(&["analyze", "--history", "--audit-dir", "none"])
            .code(),
        Some(3)
    );
    // What is only read is not changed, be it an audit folder or not.
    let other = scene.path().join("other");
    fs::create_dir(&other).unwrap();
    let left = scene.tool(&["analyze", "--history", "--audit-dir", "other"]);
    assert_eq!(left.code(), Some(3), "{left:?}");
    assert_eq!(fs::read_dir(other).unwrap().count(), 0);
}

#[test]
fn one_receipt_is_proved_without_the_pack() {
    let (scene, pack) = recorded();
    let id = scene.calls()[2]["receipt_id"].as_str().unwrap().to_owned();
    let left = scene.tool(&["prove", &pack, &id]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    let text = String::from_utf8(left.stdout).unwrap();
    let proof = scene.file("proof.json", &text);
    let left = scene.tool(&["check-proof", &proof]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert!(
        String::from_utf8_lossy(&left.stdout).contains(&id),
        "{left:?}"
    );
    let other = Scene::new();
    assert_eq!(other.tool(&["check-proof", &proof]).code(), Some(1));
    let changed = scene.file("changed.json", &text.replacen("forwarded", "forwarder", 1));
    assert_eq!(scene.tool(&["check-proof", &changed]).code(), Some(2));
    assert_eq!(scene.tool(&["prove", &pack, "mtc_none"]).code(), Some(3));
}

#[test]
fn one_member_is_revealed_and_the_others_stay_hidden() {
    let scene = Scene::new();
    let value = r#"{"path":"/x","token":"hunter2"}"#;
    scene.run(
        &["--commit-fields"],
        ANSWERS,
        (call(1, "a", value) + "\n").as_bytes(),
    );
    assert_eq!(scene.verified(), 1);
    let pack = scene.packs().remove(0).display().to_string();
    let receipt = scene.calls().remove(0);
    let text = |key: &str| receipt[key].as_str().unwrap().to_owned();
    let (session, invocation) = (text("session_id"), text("invocation_id"));
    let file = scene.file("value.json", value);
    let reveal = [
        "disclose",
        &session,
        &invocation,
        "arguments",
        "path",
        &file,
        "--receipts",
        "audit",
    ];
    let left = scene.tool(&reveal);
    assert_eq!(left.code(), Some(0), "{left:?}");
    let shown = String::from_utf8(left.stdout).unwrap();
    assert!(
        !shown.contains("hunter2") && !shown.contains("token"),
        "{shown}"
    );
    let shown = scene.file("shown.json", &shown);
    assert_eq!(
        scene.tool(&["check-disclosure", &shown, &pack]).code(),
        Some(0)
    );
    let lie = fs::read_to_string(&shown).unwrap().replacen("/x", "/y", 1);
    let lie = scene.file("lie.json", &lie);
    assert_eq!(
        scene.tool(&["check-disclosure", &lie, &pack]).code(),
        Some(2)
    );
    // What was revealed is worth no more than the pack.
    let receipts = format!("{pack}/receipt_pack.jsonl");
    let left = scene.tool(&["check-disclosure", &shown, &receipts]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert!(left.stderr.contains("not verified"), "{left:?}");
    let key = scene.file("other.pub", &"A".repeat(43));
    let strange = ["check-disclosure", &shown, &pack, "--trust-key", &key];
    assert_ne!(scene.tool(&strange).code(), Some(0));
    let text = fs::read_to_string(&receipts).unwrap();
    fs::write(
        &receipts,
        text.replacen("\"forwarded\"", "\"forwardeD\"", 1),
    )
    .unwrap();
    let left = scene.tool(&["check-disclosure", &shown, &pack]);
    assert_eq!(left.code(), Some(2), "{left:?}");
    assert!(left.stderr.contains("tampered"), "{left:?}");
}

#[test]
fn what_no_receipt_commits_to_is_not_revealed() {
    let scene = Scene::new();
    let value = r#"{"path":"/x"}"#;
    let input = call(1, "a", value) + "\n";
    scene.run(&["--commit-fields"], ANSWERS, input.as_bytes());
    let receipt = scene.calls().remove(0);
    let text = |key: &str| receipt[key].as_str().unwrap().to_owned();
    let (session, invocation) = (text("session_id"), text("invocation_id"));
    let pack = scene.packs().remove(0).display().to_string();
    let value = scene.file("value.json", value);
    let other = scene.file("other.json", r#"{"path":"/y"}"#);
    let check = |names: [&str; 5], receipts: &str, code: i32, expect: &str| {
        let [session, invocation, side, field, file] = names;
        let args = ["disclose", session, invocation, side, field, file];
        let left = scene.tool(&[&args[..], &["--receipts", receipts]].concat());
        assert_eq!(left.code(), Some(code), "{names:?}: {left:?}");
        assert!(left.stderr.contains(expect), "{names:?}: {left:?}");
        assert_eq!(left.stdout.is_empty(), code != 0, "{names:?}: {left:?}");
    };
    let (session, invocation) = (session.as_str(), invocation.as_str());
    let right = [session, invocation, "arguments", "path", &value];
    check(right, "audit", 0, "");
    check(right, &pack, 0, "");
    check(right, &format!("{pack}/receipt_pack.jsonl"), 0, "");
    check(right, "nowhere", 3, "nowhere");
    let else_ = "commit to something else";
    check(
        [session, invocation, "arguments", "path", &other],
        "audit",
        3,
        else_,
    );
    check(
        ["mcp_none", invocation, "arguments", "path", &value],
        "audit",
        3,
        else_,
    );
    check(
        [session, invocation, "result", "path", &value],
        "audit",
        3,
        else_,
    );
    let none = "no receipt in `audit` commits";
    check(
        [session, "inv_none", "arguments", "path", &value],
        "audit",
        3,
        none,
    );
    check(
        [session, invocation, "arguments", "token", &value],
        "audit",
        3,
        "has no `token`",
    );
}

#[test]
fn a_pack_becomes_a_signed_statement() {
    let (scene, pack) = recorded();
    let left = scene.tool(&["export", &pack]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(json(&left)["payloadType"], "application/vnd.in-toto+json");
}

/// Answers one request with what `openssl` says, as an authority does over HTTP.
fn authority_at(authority: Authority) -> (String, std::thread::JoinHandle<Authority>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/tsa", listener.local_addr().unwrap());
    let serve = move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if let Some(number) = line.strip_prefix("content-length: ") {
                length = number.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut request = vec![0; length];
        reader.read_exact(&mut request).unwrap();
        let answer = authority.stamp(&request);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            answer.len()
        );
        let mut stream = reader.into_inner();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&answer).unwrap();
        authority
    };
    (address, std::thread::spawn(serve))
}

/// Issue 7: RFC 3161 timestamps with a pinned root, and `openssl ts` as a local authority.
#[test]
fn an_authority_vouches_for_the_time_of_a_pack() {
    let (Some(authority), Some(fake)) = (Authority::make("tsa"), Authority::make("tsa")) else {
        return;
    };
    let (scene, pack) = recorded();
    let verified = |root: &Authority| {
        let root = root.root().display().to_string();
        scene.tool(&["--json", "verify-pack", &pack, "--time-root", &root])
    };
    assert_eq!(verified(&authority).code(), Some(1), "there is none yet");
    // By hand, through files.
    let request = scene.path().join("request.tsq").display().to_string();
    let left = scene.tool(&["--json", "timestamp", &pack, "--request", &request]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(json(&left)["request"], request.as_str());
    let answer = authority.stamp(&fs::read(&request).unwrap());
    let response = scene.path().join("answer.tsr");
    fs::write(&response, answer).unwrap();
    let response = response.display().to_string();
    let left = scene.tool(&["timestamp", &pack, "--response", &response]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    let left = verified(&authority);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert!(json(&left)["stamped_at"].is_string(), "{left:?}");
    assert_eq!(verified(&fake).code(), Some(1));
    // Another pack's answer is not kept.
    let (other, second) = recorded();
    let left = other.tool(&["timestamp", &second, "--response", &response]);
    assert_eq!(left.code(), Some(3), "{left:?}");
    // By itself, over HTTP.
    let (url, serving) = authority_at(authority);
    let left = other.tool(&["timestamp", &second, "--tsa", &url]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    let authority = serving.join().unwrap();
    let root = authority.root().display().to_string();
    let left = other.tool(&["verify-pack", &second, "--time-root", &root]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    let nobody = ["timestamp", second.as_str(), "--tsa", "http://127.0.0.1:1/"];
    assert_eq!(other.tool(&nobody).code(), Some(3));
    assert_eq!(other.tool(&["timestamp", &second]).code(), Some(3));
}

/// The first key stays pinned while keys are replaced.
#[test]
fn a_key_that_was_replaced_twice_is_known_by_the_first() {
    let scene = Scene::new();
    let first = scene.tool(&["keys", "export"]);
    let first = scene.file("first.pem", &String::from_utf8(first.stdout).unwrap());
    for _ in 0..2 {
        assert_eq!(scene.tool(&["keys", "rotate"]).code(), Some(0));
    }
    let left = scene.run(&[], ANSWERS, (call(1, "a", "{}") + "\n").as_bytes());
    assert_eq!(left.code(), Some(0), "{left:?}");
    let pack = scene.packs().remove(0).display().to_string();
    let verify = ["--json", "verify-pack", &pack, "--trust-key", &first];
    let left = scene.tool(&verify);
    assert_eq!(
        (left.code(), &json(&left)["signer"]),
        (Some(0), &"successor".into())
    );
}

#[test]
fn every_command_prints_json_where_that_is_asked_for() {
    let scene = Scene::new();
    let value = r#"{"a":"x"}"#;
    let line = call(1, "t", value) + "\n";
    scene.run(&["--commit-fields"], ANSWERS, line.as_bytes());
    let pack = scene.packs().remove(0).display().to_string();
    let one = scene.calls().remove(0);
    let text = |name: &str| one[name].as_str().unwrap().to_owned();
    let [id, session, invocation] = ["receipt_id", "session_id", "invocation_id"].map(text);
    let value = scene.file("value.json", value);
    let path = |name: &str| scene.path().join(name).display().to_string();
    let [proof, shown] = ["proof.json", "shown.json"].map(path);
    scene.file(".mcp.json", r#"{"mcpServers":{"a":{"command":"a"}}}"#);
    let reveal = [session.as_str(), &invocation, "arguments", "a", &value];
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["verify-pack", &pack],
        vec!["explain", &pack],
        vec!["diff", &pack, &pack],
        vec!["analyze", "--history", "--audit-dir", "audit"],
        vec!["prove", &pack, &id],
        vec!["check-proof", &proof],
        vec!["timestamp", &pack, "--request", "q.tsq"],
        vec!["export", &pack],
        [&["disclose"], &reveal[..], &["--receipts", &pack]].concat(),
        vec!["check-disclosure", &shown, &pack],
        vec!["scan", "."],
        vec!["keys"],
        vec!["keys", "export"],
        vec!["keys", "rotate"],
    ];
    for command in &mut commands {
        command.push("--json");
        let left = scene.tool(command);
        let said: Value = serde_json::from_slice(&left.stdout)
            .unwrap_or_else(|fault| panic!("{command:?}: {fault}: {left:?}"));
        assert!(said.is_object(), "{command:?}: {said}");
        match command[0] {
            "prove" => fs::write(&proof, &left.stdout).unwrap(),
            "disclose" => fs::write(&shown, &left.stdout).unwrap(),
            _ => {}
        }
    }
    // None is left out but the proxy, which has its own test, and the help.
    let help = String::from_utf8(scene.tool(&["--help"]).stdout).unwrap();
    let (_, help) = help.split_once("Commands:\n").unwrap();
    let (help, _) = help.split_once("\n\n").unwrap();
    let names = help.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    for name in names.map(|line| line.split(' ').next().unwrap()) {
        let tried = commands.iter().any(|command| command[0] == name);
        assert!(tried || ["mcp-proxy", "help"].contains(&name), "{name}");
    }
}
