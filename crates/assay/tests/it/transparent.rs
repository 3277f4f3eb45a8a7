//! The audit profile: both streams are byte for byte what they are without the proxy.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::support::{ANSWERS, Scene, call, peak_memory, sha256};

/// Compares what passes with the proxy and without, in both directions.
fn check(script: &str, input: &[u8]) -> Scene {
    let bare = Scene::new();
    let mut child = Command::new("sh")
        .args(["-c", script])
        .current_dir(bare.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let direct = child.wait_with_output().unwrap();
    writer.join().unwrap();

    let scene = Scene::new();
    let left = scene.run(&[], script, input);
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert!(
        left.stdout == direct.stdout,
        "the upstream's stream differs"
    );
    assert_eq!(
        scene.received(),
        bare.received(),
        "the client's stream differs"
    );
    scene
}

#[test]
fn ordinary_messages_pass_unchanged() {
    let init = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let lines = [
        init.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        call(2, "web_search", r#"{ "q" : "é", "n":1.50 }"#),
        r#" { "id" : 3 , "jsonrpc":"2.0","method":"ping" } "#.to_owned(),
        // What a later version may bring is none of the proxy's business.
        r#"{"jsonrpc":"3.0","id":4,"method":"tools/stream","extra":[1],"params":7}"#.to_owned(),
        String::new(),
    ];
    let scene = check(ANSWERS, lines.join("\n").as_bytes());
    assert_eq!(scene.outcomes(), ["web_search forwarded no_policy"]);
    assert_eq!(scene.verified(), 1);
}

#[test]
fn odd_bytes_pass_unchanged() {
    let mut input = Vec::new();
    input.extend_from_slice(b"not json at all\r\n\n\n\xff\xfe\x00binary\n{\"a\":\n");
    input.extend_from_slice(call(1, "a\u{2028}b", "{\"x\":\"\u{2028}\u{85}\"}").as_bytes());
    input.extend_from_slice(b"\r\n");
    input.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\",\"arguments\":{\"\xff\":1}}}\n");
    input.extend_from_slice(b"[1,2,[3]]\n");
    input.extend_from_slice(b"no end of line");
    let scene = check(ANSWERS, &input);
    let mut outcomes = scene.outcomes();
    outcomes.sort();
    // What may be anything to others is told too, with nothing known of it.
    let unknown = " timeout no_policy";
    let read = ["a\u{2028}b", "\u{fffd}"].map(|tool| format!("{tool} forwarded no_policy"));
    assert_eq!(outcomes[..4], [unknown; 4]);
    assert_eq!(outcomes[4..], read);
    for call in scene.calls() {
        let inspected = call["tool_name"] == "a\u{2028}b";
        let marks: &[&str] = if inspected { &[] } else { &["uninspected"] };
        assert_eq!(call["marks"], serde_json::json!(marks), "{call}");
    }
    assert_eq!(scene.verified(), 1);
}

#[test]
fn a_message_that_only_a_lax_reader_reads_leaves_a_receipt() {
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{'name':'x'}}\n";
    let scene = Scene::new();
    let left = scene.run(&[], "cat >received", line.as_bytes());
    assert_eq!(left.code(), Some(2), "{}", left.stderr);
    assert_eq!(scene.received(), line);
    let calls = scene.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(
        calls[0]["marks"],
        serde_json::json!(["upstream_exited", "uninspected"])
    );
}

#[test]
fn a_long_message_that_readers_may_read_differently_leaves_a_receipt() {
    let long = "x".repeat(1_500_000);
    let deep = |depth: usize| [&"[".repeat(depth), "]".repeat(depth).as_str()].concat();
    let envelope = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":1,{rest}}}"#);
    let named = |method: &str, name: &str| {
        envelope(&format!(
            r#"{method},"params":{{{name},"arguments":{{"a":"{long}"}}}}"#
        ))
    };
    let method = r#""method":"tools/call""#;
    for (line, tool) in [
        (call(1, "x", &deep(600_000)), "x"),
        (named(r#""Method":"tools/call""#, r#""name":"x""#), "x"),
        (named(r#""method":"Tools/Call""#, r#""name":"x""#), "x"),
        (named(r#""method":"tools\/call""#, r#""name":"x""#), "x"),
        (named(method, "'name':'x'"), ""),
        (named("'method':'tools/call'", r#""name":"x""#), ""),
        (
            format!(
                "{}{}",
                named(r#""method":"ping""#, r#""a":1"#),
                call(1, "x", "{}")
            ),
            "x",
        ),
    ] {
        let scene = Scene::new();
        let line = format!("{line}\n");
        scene.run(&[], "cat >received", line.as_bytes());
        let shown: String = line.chars().take(90).collect();
        assert!(scene.received() == line, "{shown}");
        let [receipt] = scene.calls().try_into().unwrap();
        assert_eq!(receipt["tool_name"], tool, "{shown}");
        let escaped = line.contains(r"tools\/call");
        assert_eq!(
            receipt["marks"].to_string().contains("uninspected"),
            !escaped,
            "{shown}"
        );
    }
    // One that has another method to everybody has none.
    let line = format!(
        "{}\n",
        named(r#""method":"prompts/get""#, r#""name":"tools/call""#)
    );
    let scene = Scene::new();
    scene.run(&[], "cat >received", line.as_bytes());
    assert_eq!(scene.calls(), [] as [serde_json::Value; 0]);
}

#[test]
fn an_answer_that_is_nested_deep_is_an_answer() {
    let deep = ["[".repeat(5000), "]".repeat(5000)].concat();
    let script = format!(r#"read line; echo '{{"jsonrpc":"2.0","id":1,"result":{deep}}}'; cat"#);
    let scene = Scene::new();
    let left = scene.run(&[], &script, format!("{}\n", call(1, "x", "{}")).as_bytes());
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["x forwarded no_policy"]);
    assert_eq!(
        scene.calls()[0]["marks"],
        serde_json::json!(["uninspected"])
    );
}

#[test]
fn large_messages_pass_unchanged_in_both_directions() {
    // The issue of the peer: more than 64 KiB on one line broke the session.
    for size in [60_000, 70_000, 3_000_000] {
        let big = "x".repeat(size);
        let input = call(1, "big", &format!(r#"{{"z":1,"a":"{big}"}}"#)) + "\n";
        let script = r#"tee -a received | sed -u -n 's/.*"id":\([0-9]*\),.*"a":"\(x*\)".*/{"jsonrpc":"2.0","id":\1,"result":{"content":"\2"}}/p'"#;
        let scene = check(script, input.as_bytes());
        assert_eq!(scene.outcomes(), ["big forwarded no_policy"]);
        let hash = scene.calls()[0]["arguments_hash"].clone();
        let canonical = format!(r#"{{"a":"{big}","z":1}}"#);
        assert_eq!(hash, sha256(canonical.as_bytes()), "{size}");
        let result = format!(r#"{{"content":"{big}"}}"#);
        assert_eq!(
            scene.calls()[0]["result_hash"],
            sha256(result.as_bytes()),
            "{size}"
        );
        assert_eq!(scene.verified(), 1);
    }
}

#[test]
fn memory_stays_flat_under_a_message_of_100_mb() {
    let scene = Scene::new();
    let mut proxy = scene.proxy(&[], "cat >/dev/null; sleep 0");
    let mut stdin = proxy.stdin.take().unwrap();
    let head = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"z":1,"a":""#;
    stdin.write_all(head.as_bytes()).unwrap();
    let piece = vec![b'y'; 1 << 20];
    for _ in 0..100 {
        stdin.write_all(&piece).unwrap();
    }
    stdin.write_all(b"\"}}}\n").unwrap();
    drop(stdin);
    let peak = peak_memory(proxy.id());
    assert!(peak < 40_000, "{peak} kB");
    let left = proxy.left();
    assert_eq!(left.code(), Some(2), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["big timeout no_policy"]);
    assert!(
        scene.calls()[0]["arguments_hash"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
}

#[test]
fn messages_behind_a_length_are_understood() {
    let head = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let answer = head(r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\n"}}"#);
    let input = head(&call(1, "a", "{}")) + &head(r#"{"jsonrpc":"2.0","method":"x"}"#);
    let script = format!("cat >received; printf '%s' '{answer}'");
    let scene = check(&script, input.as_bytes());
    assert_eq!(scene.outcomes(), ["a forwarded no_policy"]);
    assert_eq!(scene.received(), input);
}

#[test]
fn what_either_side_says_is_passed_on_at_once() {
    // Half a line of the upstream's arrives before the other half is said, in every mode that does
    // not have to wait for the disk.
    let scene = Scene::new();
    let script = r#"read -r l; printf '{"jsonrpc":"2.0","method":"notifications/pro'; read -r l; echo 'gress"}'; echo '{"id":1,"result":{}}'; read -r l || :"#;
    let mut proxy = scene.proxy(&[], script);
    proxy.send(&call(1, "slow", "{}"));
    let mut half = [0; 44];
    proxy.stdout.read_exact(&mut half).unwrap();
    assert!(half.ends_with(b"notifications/pro"));
    proxy.send(r#"{"jsonrpc":"2.0","method":"notifications/of/a/later/version"}"#);
    assert_eq!(proxy.line(), "gress\"}");
    assert_eq!(proxy.line(), r#"{"id":1,"result":{}}"#);
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(scene.outcomes(), ["slow forwarded no_policy"]);
}
