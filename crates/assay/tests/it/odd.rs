//! Calls that the peer loses: batches, calls without an id, one id twice, hung, cancelled.

use serde_json::{Value, json};

use crate::support::{ANSWERS, Scene, call};

/// Answers each line with what the script has for it.
fn answers(lines: &[&str]) -> String {
    let says: Vec<String> = lines
        .iter()
        .map(|line| format!("read -r l; printf '%s\\n' \"$l\" >>received; printf '%s\\n' '{line}'"))
        .collect();
    says.join("; ")
}

fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[test]
fn every_call_of_a_batch_has_its_receipt() {
    let scene = Scene::new();
    let batch = format!("[{},{}]\n", call(1, "a", "{}"), call(2, "b", "{}"));
    let script = answers(&[&format!("[{},{}]", result(2), result(1))]);
    let left = scene.run(&[], &script, batch.as_bytes());
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(
        scene.outcomes(),
        ["b forwarded no_policy", "a forwarded no_policy"]
    );
    assert_eq!(scene.calls()[0]["marks"], json!(["batch"]));
    assert_eq!(scene.received(), batch);
}

#[test]
fn every_call_of_a_batch_of_any_length_has_its_receipt() {
    // Each of them is long enough for the line to be read in parts, in both directions.
    let filling = "x".repeat(200);
    let arguments = format!(r#"{{"a":"{filling}"}}"#);
    let all: Vec<String> = (0..10_000).map(|id| call(id, "t", &arguments)).collect();
    let input = format!("[{}]\n", all.join(","));
    let answer = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"b":"{filling}"}}}}"#);
    let answers: Vec<String> = (0..10_000).map(answer).collect();
    let scene = Scene::new();
    scene.file("answers", &format!("[{}]\n", answers.join(",")));
    let script = "head -n 1 >/dev/null; cat answers; cat >/dev/null";
    let left = scene.run(&[], script, input.as_bytes());
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    let calls = scene.calls();
    assert_eq!(calls.len(), 10_000);
    let whole = |call: &Value| call["outcome"] == "forwarded" && call["marks"] == json!(["batch"]);
    assert!(calls.iter().all(whole));
    assert_eq!(scene.verified(), 1);
}

#[test]
fn a_call_without_an_id_has_its_receipt() {
    let scene = Scene::new();
    let line = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x","arguments":{}}}"#;
    let left = scene.run(&[], ANSWERS, format!("{line}\n").as_bytes());
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["x timeout no_policy"]);
    let call = &scene.calls()[0];
    assert_eq!(
        (&call["mcp_request_id"], &call["marks"]),
        (&json!(null), &json!(["no_id"]))
    );
}

#[test]
fn two_calls_with_one_id_are_two_calls() {
    let scene = Scene::new();
    let input = format!("{}\n{}\n", call(1, "a", "{}"), call(1, "b", "{}"));
    let script = format!(
        "read -r a; read -r b; echo '{}'; echo '{}'",
        result(1),
        result(1)
    );
    let left = scene.run(&[], &script, input.as_bytes());
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(
        scene.outcomes(),
        ["a forwarded no_policy", "b forwarded no_policy"]
    );
    assert_eq!(scene.calls()[1]["marks"], json!(["duplicate_id"]));
}

#[test]
fn an_answer_to_another_request_is_not_taken_for_a_call_s() {
    let scene = Scene::new();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let input = format!("{ping}\n{}\n", call(1, "a", "{}"));
    let script = format!(
        "read -r a; read -r b; echo '{}'; echo '{{\"id\":1,\"error\":{{}}}}'",
        result(1)
    );
    scene.run(&[], &script, input.as_bytes());
    assert_eq!(scene.outcomes(), ["a error no_policy"]);
}

#[test]
fn a_hung_call_is_recorded_when_its_time_is_over() {
    let scene = Scene::new();
    let mut proxy = scene.proxy(&["--call-timeout", "0.3"], "cat >/dev/null");
    proxy.send(&call(7, "hang", "{}"));
    crate::support::until("the receipt", || !scene.calls().is_empty());
    let left = proxy.left();
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["hang timeout no_policy"]);
    let call = &scene.calls()[0];
    assert!(call["duration_ms"].as_u64().unwrap() >= 300, "{call}");
    assert_eq!(call["result_hash"], json!(null));
}

#[test]
fn a_cancelled_call_says_so() {
    let scene = Scene::new();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let input = format!("{}\n{cancel}\n", call(7, "slow", "{}"));
    let left = scene.run(&[], "cat >received", input.as_bytes());
    assert_eq!(
        scene.outcomes(),
        ["slow timeout no_policy"],
        "{}",
        left.stderr
    );
    assert_eq!(
        scene.calls()[0]["marks"],
        json!(["cancelled", "upstream_exited"])
    );
}

#[test]
fn errors_of_both_kinds_are_errors() {
    let scene = Scene::new();
    let input = format!("{}\n{}\n", call(1, "a", "{}"), call(2, "b", "{}"));
    let script = answers(&[
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}"#,
    ]);
    let left = scene.run(&["--store-results"], &script, input.as_bytes());
    assert_eq!(left.code(), Some(0), "{}", left.stderr);
    assert_eq!(scene.outcomes(), ["a error no_policy", "b error no_policy"]);
    let calls = scene.calls();
    assert_eq!(
        calls[0]["result_content"],
        json!({ "content": [], "isError": true })
    );
    assert_eq!(
        calls[1]["result_content"],
        json!({ "code": -1, "message": "no" })
    );
    assert_eq!(calls[1]["result_is_error"], true);
}

#[test]
fn values_are_kept_only_where_they_are_asked_for() {
    let arguments = r#"{"path":"/x","clé":"hunter2","n":1e-7}"#;
    let input = call(1, "a", arguments) + "\n";
    let run = |flags: &[&str]| {
        let scene = Scene::new();
        let left = scene.run(flags, ANSWERS, input.as_bytes());
        assert_eq!(left.code(), Some(0), "{}", left.stderr);
        assert_eq!(scene.verified(), 1);
        scene
    };
    let content = |scene: &Scene| scene.calls()[0]["arguments_content"].clone();
    let bare = run(&[]);
    assert_eq!(content(&bare), json!(null));
    let all: String = bare.receipts().iter().map(ToString::to_string).collect();
    assert!(!all.contains("hunter2"));
    // A key that is not ASCII: the peer makes no pack of it.
    let kept = content(&run(&["--store-args"])).to_string();
    assert!(kept.contains("hunter2") && kept.contains("/x"), "{kept}");
    assert_eq!(
        content(&run(&["--store-fields", "path"])),
        json!({ "path": "/x" })
    );
    let keyed = run(&["--hash-pepper", "key of the house"]);
    let hash = keyed.calls()[0]["arguments_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(hash.starts_with("hmac-sha256:"), "{hash}");
}

#[test]
fn a_line_separator_in_the_name_of_the_upstream_breaks_no_pack() {
    for separator in ["\u{2028}", "\u{2029}", "\u{85}"] {
        let scene = Scene::new();
        let name = format!("one{separator}two");
        let input = call(1, "t", "{}") + "\n";
        let left = scene.run(&["--server-id", &name], ANSWERS, input.as_bytes());
        assert_eq!(left.code(), Some(0), "{left:?}");
        assert_eq!(scene.calls()[0]["server_id"], name.as_str());
        assert_eq!(scene.verified(), 1);
    }
}

#[test]
fn an_answer_that_readers_may_read_differently_is_marked() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
    ] {
        let scene = Scene::new();
        let input = call(1, "a", "{}") + "\n";
        scene.run(&[], &answers(&[answer]), input.as_bytes());
        assert_eq!(
            scene.calls()[0]["marks"],
            json!(["uninspected"]),
            "{answer}"
        );
    }
}
