//! Every way a session ends: by the client, the upstream, a signal, a kill, a full or closed disk.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;

use crate::support::{ANSWERS, Left, Scene, call, entries, until};

fn complete(scene: &Scene) -> (serde_json::Value, serde_json::Value) {
    let receipts = scene.receipts();
    let end = receipts
        .iter()
        .rfind(|one| one["type"] == "mcp.session_end")
        .unwrap();
    (end["session_complete"].clone(), end["reason"].clone())
}

#[test]
fn a_session_that_the_client_ends_is_complete() {
    let scene = Scene::new();
    let mut proxy = scene.proxy(&[], ANSWERS);
    proxy.call(1, "a");
    let left = proxy.left();
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(complete(&scene), (json!(true), json!("closed")));
    assert_eq!(scene.receipts()[0]["type"], "mcp.session_start");
    assert!(left.stderr.contains("1 forwarded"), "{}", left.stderr);
    assert_eq!(scene.verified(), 1);
}

#[test]
fn an_upstream_that_fails_leaves_an_incomplete_pack() {
    for (script, calls) in [("read -r l; exit 3", 1), ("exit 3", 0), ("kill -9 $$", 0)] {
        let scene = Scene::new();
        let mut proxy = scene.proxy(&[], script);
        if calls > 0 {
            proxy.send(&call(1, "a", "{}"));
        }
        let left = proxy.wait();
        assert_eq!(left.code(), Some(2), "{}", left.stderr);
        assert_eq!(scene.calls().len(), calls);
        assert_eq!(complete(&scene), (json!(false), json!("upstream_failed")));
        if calls > 0 {
            assert_eq!(scene.calls()[0]["marks"], json!(["upstream_exited"]));
        }
        assert_eq!(scene.packs().len(), 1);
    }
}

#[test]
fn an_upstream_that_ends_well_ends_the_session_well() {
    let scene = Scene::new();
    let left = scene.proxy(&[], "exit 0").wait();
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(complete(&scene), (json!(true), json!("closed")));
}

#[test]
fn an_upstream_that_closes_its_output_ends_the_session() {
    // It runs on, and can answer nothing any more.
    let scene = Scene::new();
    let script = "read -r l; exec >&-; while :; do sleep 0.05; done";
    let mut proxy = scene.proxy(&["--shutdown-timeout", "0.3"], script);
    proxy.send(&call(1, "a", "{}"));
    let input = proxy.stdin.take();
    let left = proxy.wait();
    drop(input);
    assert_eq!(left.code(), Some(2), "{}", left.stderr);
    assert_eq!(scene.calls()[0]["marks"], json!(["upstream_exited"]));
    assert_eq!(complete(&scene), (json!(false), json!("upstream_failed")));
    // One that only says its last words before it ends has ended well.
    let scene = Scene::new();
    let left = scene.proxy(&[], "exec >&-; sleep 0.2").wait();
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
}

/// Has a call answered whose client has closed its output, and its input unless that `stays`.
pub(crate) fn unheard(scene: &Scene, flags: &[&str], stays: bool) -> Left {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let script =
        format!("read -r l; until [ -e go ]; do sleep 0.02; done; echo '{answer}'; cat >/dev/null");
    let mut proxy = scene.proxy(flags, &script);
    proxy.send(&call(1, "a", "{}"));
    until("the intent", || scene.receipts().len() > 1);
    proxy.unheard(stays, || drop(scene.file("go", "")))
}

#[test]
fn an_answer_that_the_client_does_not_take_leaves_the_session_incomplete() {
    for profile in ["audit", "guard", "--strict"] {
        for stays in [false, true] {
            let scene = Scene::new();
            let policy = scene.file("p.yaml", "version: 1\ndefault: allow\n");
            let guard = ["--profile", profile, "--policy", &policy];
            let strict = profile == "--strict";
            let flags = if strict { &["--strict"][..] } else { &guard };
            let left = unheard(&scene, flags, stays);
            assert_eq!(left.code(), Some(2), "{profile} {stays} {left:?}");
            // It was answered, and nothing is to be said of the upstream.
            assert_eq!(scene.calls()[0]["outcome"], "forwarded");
            assert_eq!(complete(&scene), (json!(false), json!("cut")));
        }
    }
    // What answers no call is missed by nobody.
    let scene = Scene::new();
    let script = "until [ -e go ]; do sleep 0.02; done; echo '{\"method\":\"n\"}'; cat >/dev/null";
    let proxy = scene.proxy(&[], script);
    let left = proxy.unheard(true, || drop(scene.file("go", "")));
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(complete(&scene), (json!(true), json!("closed")));
}

#[test]
fn signals_reach_the_upstream_and_end_in_a_pack() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let scene = Scene::new();
        let mut proxy = scene.proxy(&[], ANSWERS);
        proxy.call(1, "a");
        proxy.signal(signal);
        let left = proxy.wait();
        assert_eq!(left.code(), Some(code), "{}", left.stderr);
        assert_eq!(complete(&scene), (json!(true), json!("interrupted")));
        assert_eq!(scene.verified(), 1);
    }
}

#[test]
fn answers_in_flight_are_waited_for() {
    let scene = Scene::new();
    let script = "trap 'echo \"{\\\"id\\\":1,\\\"result\\\":{}}\"; exit 0' TERM; read -r l; while :; do sleep 0.05; done";
    let mut proxy = scene.proxy(&[], script);
    proxy.send(&call(1, "slow", "{}"));
    until("the intent", || {
        scene
            .receipts()
            .iter()
            .any(|one| one["type"] == "mcp.tool_intent")
    });
    proxy.signal(Signal::TERM);
    let left = proxy.wait();
    assert_eq!(left.code(), Some(143), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["slow forwarded no_policy"]);
}

#[test]
fn a_drain_that_takes_too_long_is_cut() {
    let scene = Scene::new();
    let script = "trap '' TERM INT; read -r l; while :; do sleep 0.05; done";
    let mut proxy = scene.proxy(&["--shutdown-timeout", "0.3"], script);
    proxy.send(&call(1, "hang", "{}"));
    until("the intent", || {
        scene
            .receipts()
            .iter()
            .any(|one| one["type"] == "mcp.tool_intent")
    });
    proxy.signal(Signal::INT);
    let left = proxy.wait();
    assert_eq!(left.code(), Some(130), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["hang timeout no_policy"]);
    assert_eq!(scene.calls()[0]["marks"], json!(["proxy_stopped"]));
    assert_eq!(complete(&scene), (json!(false), json!("cut")));
}

#[test]
fn a_killed_proxy_is_recovered_at_the_next_start() {
    let scene = Scene::new();
    let script = format!("echo $$ >pid; {ANSWERS}");
    let mut proxy = scene.proxy(&["--strict"], &script);
    for id in 0..20 {
        proxy.call(id, "a");
    }
    proxy.send("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"open\"}}");
    until("the intent", || {
        scene
            .receipts()
            .iter()
            .any(|one| one["mcp_request_id"] == "x")
    });
    let upstream: i32 = fs::read_to_string(scene.path().join("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    proxy.signal(Signal::KILL);
    drop(proxy.wait());
    assert!(scene.packs().is_empty());
    // The upstream does not outlive its proxy.
    until("the upstream's end", || {
        test_kill_process(Pid::from_raw(upstream).unwrap()).is_err()
    });
    let left = scene.run(&[], ANSWERS, b"");
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert!(left.stderr.contains("recovered"), "{}", left.stderr);
    let outcomes = scene.outcomes();
    assert_eq!(
        outcomes
            .iter()
            .filter(|one| *one == "a forwarded no_policy")
            .count(),
        20
    );
    assert_eq!(
        outcomes
            .iter()
            .filter(|one| *one == "open timeout no_policy")
            .count(),
        1
    );
    assert_eq!(scene.packs().len(), 2);
}

#[test]
fn a_pack_tells_what_was_damaged_when_its_proxy_was_killed() {
    let scene = Scene::new();
    let mut proxy = scene.proxy(&["--strict"], ANSWERS);
    proxy.call(1, "a");
    proxy.signal(Signal::KILL);
    drop(proxy.wait());
    // A line that was being written.
    let session = entries(&scene.audit().join("receipts")).remove(0);
    let mut file = fs::OpenOptions::new().append(true).open(session).unwrap();
    file.write_all(b"{\"type\":\"mcp_tool_call\"").unwrap();
    let left = scene.run(&["--no-auto-pack"], ANSWERS, b"");
    assert_eq!(left.code(), Some(0), "{left:?}");
    let pack = scene.packs().remove(0).display().to_string();
    let left = scene.tool(&["verify-pack", &pack]);
    assert_eq!(left.code(), Some(0), "{left:?}");
    let text = String::from_utf8(left.stdout).unwrap();
    assert!(text.contains("session complete: no (recovered)"), "{text}");
    assert!(text.contains("damaged: 23 bytes"), "{text}");
    let left = scene.tool(&["--json", "verify-pack", &pack]);
    let said: serde_json::Value = serde_json::from_slice(&left.stdout).unwrap();
    assert_eq!(said["session_complete"], false, "{said}");
    assert_eq!(said["session_end_reason"], "recovered", "{said}");
    assert_eq!(said["bytes_dropped"], 23, "{said}");
}

#[test]
fn kills_under_load_lose_no_acknowledged_receipt() {
    let scene = Scene::new();
    let mut answered = 0;
    for round in 0..5_u64 {
        let mut proxy = scene.proxy(&["--strict"], ANSWERS);
        for id in 0..(3 + 7 * round) {
            proxy.call(id, "a");
            answered += 1;
        }
        proxy.send(&call(99, "a", "{}"));
        proxy.signal(Signal::KILL);
        drop(proxy.wait());
    }
    let left = scene.run(&[], ANSWERS, b"");
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    let forwarded = scene
        .outcomes()
        .iter()
        .filter(|one| *one == "a forwarded no_policy")
        .count();
    assert!(forwarded >= answered, "{forwarded} of {answered}");
    assert_eq!(scene.packs().len(), 6);
}

#[test]
fn two_proxies_in_one_folder_do_not_collide() {
    let scene = Scene::new();
    let mut all: Vec<_> = (0..4).map(|_| scene.proxy(&[], ANSWERS)).collect();
    for proxy in &mut all {
        proxy.call(1, "a");
    }
    for proxy in all {
        let left = proxy.left();
        assert_eq!(left.code(), Some(0), "{}", left.stderr);
    }
    assert_eq!(scene.calls().len(), 4);
    assert_eq!(scene.verified(), 4);
}

#[test]
fn a_bad_file_of_another_session_costs_nothing() {
    // The peer stores nothing any more once one line of any trace is bad.
    let scene = Scene::new();
    scene.run(&[], ANSWERS, (call(1, "a", "{}") + "\n").as_bytes());
    let receipts = scene.audit().join("receipts");
    let bad = receipts.join("session_20200101T000000Z_deadbeef.jsonl");
    fs::write(&bad, b"{not json\n\xff\n").unwrap();
    let left = scene.run(&[], ANSWERS, (call(2, "b", "{}") + "\n").as_bytes());
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(scene.verified(), 2);
    fs::remove_file(bad).unwrap();
    assert_eq!(scene.calls().len(), 2);
}

#[test]
fn packs_are_made_on_the_way_and_not_at_all() {
    let scene = Scene::new();
    let mut proxy = scene.proxy(&["--pack-interval", "2r"], ANSWERS);
    for id in 0..3 {
        proxy.call(id, "a");
    }
    until("a rolling pack", || scene.packs().len() == 1);
    proxy.call(4, "b");
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(scene.verified(), 2);

    let scene = Scene::new();
    for flag in ["--no-auto-pack", "--auto-pack=false"] {
        let left = scene.run(&[flag], ANSWERS, b"");
        assert_eq!(left.code(), Some(0), "{}", left.stderr);
    }
    assert!(scene.packs().is_empty());
}

#[test]
fn a_folder_that_cannot_be_written_stops_the_start() {
    let scene = Scene::new();
    fs::create_dir(scene.audit()).unwrap();
    fs::set_permissions(scene.audit(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(scene.audit().join("probe"), "").is_ok() {
        // Whoever may write everywhere cannot be kept out by modes; a file in the way can.
        fs::remove_dir_all(scene.audit()).unwrap();
        fs::write(scene.audit(), "in the way").unwrap();
    }
    let left = scene.run(&[], ANSWERS, b"");
    assert_eq!(left.code(), Some(2), "{}", left.stderr);
    assert!(left.stderr.contains("error: cannot"), "{}", left.stderr);
    assert_eq!(scene.received(), "");
}

#[test]
fn a_pack_that_does_not_hold_is_no_success() {
    // Somebody changes the receipts while the session still writes them.
    let spoil = |scene: &Scene| {
        let path = entries(&scene.audit().join("receipts")).remove(0);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"a\"", "\"z\"")).unwrap();
    };
    let scene = Scene::new();
    let mut proxy = scene.proxy(&["--strict"], ANSWERS);
    proxy.call(1, "a");
    spoil(&scene);
    let left = proxy.left();
    assert_eq!(left.code(), Some(2), "{left:?}");
    assert!(left.stderr.contains("error: pack `"), "{left:?}");

    let scene = Scene::new();
    let mut proxy = scene.proxy(&["--strict", "--pack-interval", "2r"], ANSWERS);
    proxy.call(1, "a");
    spoil(&scene);
    proxy.call(2, "a");
    until("a rolling pack", || scene.packs().len() == 1);
    let left = proxy.left();
    assert!(left.stderr.contains("error: pack `"), "{left:?}");
}

#[test]
fn a_full_disk_is_said_and_strict_refuses() {
    // A limit on the size of files stands for a full disk.
    let run = |flags: &str, blocks: u64| {
        let scene = Scene::new();
        let program = env!("CARGO_BIN_EXE_assay");
        let lines: Vec<String> = (0..40).map(|id| call(id, "a", "{}")).collect();
        scene.file("input", &(lines.join("\n") + "\n"));
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; {program} mcp-proxy --audit-dir audit {flags} -- sh -c \"$0\" <input"
        );
        let output = Command::new("bash")
            .args(["-c", &script, ANSWERS])
            .current_dir(scene.path())
            .env("ASSAY_KEYS_DIR", scene.path().join("keys"))
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stdout, stderr)
    };
    // Whether the session's last line still fits depends on the lines before it.
    for blocks in 14..=17 {
        let (code, stdout, stderr) = run("", blocks);
        assert_eq!(code, Some(2), "{stderr}");
        assert_eq!(stdout.lines().count(), 40, "{stderr}");
        assert!(stderr.contains("receipts are lost"), "{stderr}");
    }
    let (code, stdout, stderr) = run("--strict", 16);
    assert_eq!(code, Some(2), "{stderr}");
    assert_eq!(stdout.lines().count(), 40, "{stderr}");
    assert!(
        stdout.contains("its receipt cannot be recorded"),
        "{stdout}"
    );
    assert!(stderr.contains("receipts are being lost"), "{stderr}");
}

#[test]
fn the_pepper_is_not_handed_to_the_upstream() {
    let scene = Scene::new();
    let args = [
        "mcp-proxy",
        "--audit-dir",
        "audit",
        "--",
        "sh",
        "-c",
        "env >env",
    ];
    let output = scene
        .command(&args)
        .env("ASSAY_HASH_PEPPER", "k3y")
        .output();
    assert!(output.unwrap().status.success());
    let env = fs::read_to_string(scene.path().join("env")).unwrap();
    assert!(env.contains("PATH=") && !env.contains("k3y"), "{env}");
}

#[test]
fn a_command_that_does_not_start_leaves_no_session_open() {
    let scene = Scene::new();
    let left = scene.tool(&["mcp-proxy", "--audit-dir", "audit", "--", "./nowhere"]);
    assert_eq!(left.code(), Some(3), "{left:?}");
    assert!(left.stderr.contains("cannot start `./nowhere`"), "{left:?}");
    assert_eq!(complete(&scene), (json!(false), json!("upstream_failed")));
    let left = scene.run(&[], ANSWERS, b"");
    assert!(!left.stderr.contains("recovered"), "{left:?}");
}
