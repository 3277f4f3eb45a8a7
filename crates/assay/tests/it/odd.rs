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
fn what_is_a_call_only_to_some_has_its_receipt_in_a_batch_and_in_a_long_line() {
    let wide = |id: u64, arguments: &str| call(id, "b", arguments).replace("tools", "ｔools");
    let long = json!({ "text": "x".repeat(2 << 20) }).to_string();
    let two = format!("[{},{}]", call(1, "a", "{}"), wide(2, "{}"));
    let (batch, alone) = (json!(["batch", "uninspected"]), json!(["uninspected"]));
    for (line, tools, marks) in [
        (two, vec!["a", "b"], batch),
        (wide(2, &long), vec!["b"], alone),
    ] {
        let scene = Scene::new();
        scene.run(&[], "cat >/dev/null", format!("{line}\n").as_bytes());
        let calls = scene.calls();
        let mut found: Vec<&Value> = calls.iter().map(|call| &call["tool_name"]).collect();
        found.sort_by_key(|tool| tool.as_str());
        assert_eq!(found, tools);
        for call in &calls {
            let all = call["marks"].as_array().unwrap();
            let said = marks.as_array().unwrap();
            assert!(said.iter().all(|mark| all.contains(mark)), "{call}");
        }
    }
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
    // Which of the answers is whose cannot be told.
    let calls = scene.calls();
    assert_eq!(calls[0]["marks"], json!(["ambiguous"]));
    assert_eq!(calls[1]["marks"], json!(["duplicate_id", "ambiguous"]));
}

#[test]
fn of_two_calls_with_one_id_and_one_answer_both_say_that_it_may_be_theirs() {
    let scene = Scene::new();
    let input = format!("{}\n{}\n", call(1, "a", "{}"), call(1, "b", "{}"));
    let script = format!("read -r a; read -r b; echo '{}'", result(1));
    scene.run(&[], &script, input.as_bytes());
    assert_eq!(
        scene.outcomes(),
        ["a forwarded no_policy", "b timeout no_policy"]
    );
    for call in scene.calls() {
        let marks = call["marks"].as_array().unwrap();
        assert!(marks.contains(&json!("ambiguous")), "{call}");
    }
}

#[test]
fn an_answer_after_a_timeout_may_be_that_of_either_call_with_its_id() {
    let scene = Scene::new();
    let script = format!("read -r a; read -r b; echo '{}'; cat >/dev/null", result(7));
    let mut proxy = scene.proxy(&["--call-timeout", "0.3"], &script);
    proxy.send(&call(7, "hang", "{}"));
    crate::support::until("the receipt", || !scene.calls().is_empty());
    proxy.send(&call(7, "next", "{}"));
    proxy.line();
    let left = proxy.left();
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(
        scene.outcomes(),
        ["hang timeout no_policy", "next forwarded no_policy"]
    );
    let calls = scene.calls();
    assert_eq!(calls[0]["marks"], json!([]));
    assert_eq!(calls[1]["marks"], json!(["ambiguous"]));
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
fn a_cancellation_is_of_a_call_that_is_in_flight() {
    let scene = Scene::new();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let mut proxy = scene.proxy(&["--shutdown-timeout", "0.5"], "exec sleep 60");
    proxy.send(&call(7, "a", "{}"));
    proxy.send(&call(7, "b", "{}"));
    proxy.send(cancel);
    crate::support::until("the receipt", || !scene.calls().is_empty());
    proxy.send(cancel);
    proxy.left();
    let of = |tool: &str| {
        let calls = scene.calls();
        let found = calls.iter().find(|call| call["tool_name"] == tool);
        found.unwrap()["marks"].clone()
    };
    assert_eq!(of("b"), json!(["duplicate_id", "cancelled"]));
    assert!(of("a").as_array().unwrap().contains(&json!("cancelled")));
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

#[test]
fn a_call_behind_a_byte_order_mark_is_recorded_and_marked() {
    let filling = json!({ "text": "x".repeat(2 << 20) }).to_string();
    for (input, marks) in [
        (call(1, "a", "{}"), json!(["uninspected"])),
        (call(1, "a", &filling), json!(["uninspected"])),
        (
            format!("[{}]", call(1, "a", "{}")),
            json!(["batch", "uninspected"]),
        ),
    ] {
        let scene = Scene::new();
        let line = format!("\u{feff}{input}\n");
        let left = scene.run(&[], ANSWERS, line.as_bytes());
        assert_eq!(left.code(), Some(0), "{left:?}");
        assert_eq!(scene.outcomes(), ["a forwarded no_policy"]);
        let receipt = &scene.calls()[0];
        assert_eq!(receipt["mcp_request_id"], 1);
        assert_eq!(receipt["marks"], marks);
        assert!(scene.received() == line);
    }
}

#[test]
fn an_answer_behind_a_byte_order_mark_is_an_answer() {
    let scene = Scene::new();
    let input = call(1, "a", "{}") + "\n";
    let answer = format!("\u{feff}{}", result(1));
    let left = scene.run(&[], &answers(&[&answer]), input.as_bytes());
    assert_eq!(left.stdout, format!("{answer}\n").as_bytes());
    assert_eq!(scene.outcomes(), ["a forwarded no_policy"]);
    assert_eq!(scene.calls()[0]["marks"], json!(["uninspected"]));
}

#[test]
fn a_guard_refuses_what_stands_behind_a_byte_order_mark() {
    let scene = Scene::new();
    let policy = scene.file("p.yaml", "version: 1\ndefault: allow\n");
    let line = format!("\u{feff}{}\n", call(1, "a", "{}"));
    let flags = ["--profile", "guard", "--policy", &policy];
    let left = scene.run(&flags, ANSWERS, line.as_bytes());
    assert_eq!(left.code(), Some(1), "{left:?}");
    let said: Value = serde_json::from_slice(&left.stdout).unwrap();
    assert_eq!(
        (&said["id"], &said["error"]["code"]),
        (&json!(1), &json!(-31002))
    );
    assert_eq!(scene.received(), "");
    assert_eq!(scene.outcomes(), ["a denied denied"]);
    assert_eq!(scene.calls()[0]["mcp_request_id"], 1);
    assert_eq!(scene.calls()[0]["marks"], json!(["uninspected"]));
}

#[test]
fn every_call_of_a_line_has_its_receipt_be_it_no_batch() {
    let policy = "version: 1\ndefault: allow\n";
    let gap = " ".repeat(2 << 20);
    for between in ["", "\r", &gap] {
        let (one, two) = (call(1, "a", "{}"), call(2, "b", "{}"));
        let line = format!("{one}{between}{two}\n");
        let scene = Scene::new();
        let script = format!(
            "head -n 1 >received; echo '{}{}'; cat >/dev/null",
            result(1),
            result(2)
        );
        let left = scene.run(&[], &script, line.as_bytes());
        assert_eq!(left.code(), Some(0), "{left:?}");
        assert!(scene.received() == line);
        assert_eq!(
            scene.outcomes(),
            ["a forwarded no_policy", "b forwarded no_policy"]
        );
        for call in scene.calls() {
            assert_eq!(call["marks"], json!(["uninspected"]), "{call}");
        }
        let scene = Scene::new();
        let policy = scene.file("p.yaml", policy);
        let flags = ["--profile", "guard", "--policy", &policy];
        let left = scene.run(&flags, ANSWERS, line.as_bytes());
        assert_eq!(scene.received(), "");
        assert_eq!(scene.outcomes(), ["a denied denied", "b denied denied"]);
        let said = String::from_utf8(left.stdout).unwrap();
        let said = said.lines().map(|line| serde_json::from_str(line).unwrap());
        let ids: Vec<Value> = said.map(|one: Value| one["id"].clone()).collect();
        assert_eq!(ids, [json!(1), json!(2)]);
    }
}

/// A line as a client writes it that speaks another encoding.
fn encoded(line: &str, encode: impl Fn(char) -> Vec<u8>) -> Vec<u8> {
    (line.to_owned() + "\n").chars().flat_map(encode).collect()
}

#[test]
fn what_cannot_be_read_here_has_a_receipt_too() {
    let unit = |char: char| u16::try_from(u32::from(char)).unwrap();
    let little = |char: char| unit(char).to_le_bytes().to_vec();
    let big = |char: char| unit(char).to_be_bytes().to_vec();
    let wide = |char: char| u32::from(char).to_le_bytes().to_vec();
    let filling = json!({ "text": "x".repeat(2 << 20) }).to_string();
    let (short, long) = (call(1, "a", "{}"), call(1, "a", &filling));
    let marked = format!("\u{feff}{short}");
    for input in [
        encoded(&short, little),
        encoded(&marked, little),
        encoded(&short, big),
        encoded(&marked, big),
        encoded(&short, wide),
        encoded(&long, little),
        encoded(&long, big),
        b"+AHsAIgBtAGUAdABoAG8AZA\n".to_vec(),
    ] {
        let scene = Scene::new();
        let left = scene.run(&[], "cat >received", &input);
        assert_eq!(left.code(), Some(0), "{left:?}");
        let received = std::fs::read(scene.path().join("received")).unwrap();
        assert!(received == input);
        assert_eq!(scene.outcomes(), [" timeout no_policy"]);
        let receipt = &scene.calls()[0];
        assert_eq!(receipt["marks"], json!(["uninspected"]));
        let line = input.split(|byte| *byte == b'\n').next().unwrap();
        let sum = crate::support::sha256(line).replace("sha256:", "");
        let hash = receipt["arguments_hash"].as_str().unwrap();
        assert!(hash.ends_with(&sum), "{hash} {sum}");
        assert_eq!(scene.verified(), 1);

        let scene = Scene::new();
        let policy = scene.file("p.yaml", "version: 1\ndefault: allow\n");
        let flags = ["--profile", "guard", "--policy", &policy];
        let left = scene.run(&flags, "cat >received", &input);
        assert_eq!(left.code(), Some(1), "{left:?}");
        assert_eq!(scene.received(), "");
        assert_eq!(scene.outcomes(), [" denied denied"]);
        assert_eq!(scene.calls()[0]["marks"], json!(["uninspected"]));
    }
}

#[test]
fn what_can_be_read_and_is_no_call_has_no_receipt() {
    let scene = Scene::new();
    let input = concat!(
        "\n \r\n\0\n[]\n{}\n",
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"#,
        "\n",
    );
    let left = scene.run(&[], "cat >received", input.as_bytes());
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(scene.received(), input);
    assert_eq!(scene.outcomes(), [""; 0]);
}

#[test]
fn garbage_without_end_does_not_fill_the_disk_and_is_counted() {
    let (told, more) = (1024, 10);
    let input = "x\n".repeat(told + more);
    for strict in [false, true] {
        let scene = Scene::new();
        let flags: &[&str] = if strict { &["--strict"] } else { &[] };
        let left = scene.run(flags, "cat >received", input.as_bytes());
        assert_eq!(left.code(), Some(2), "{left:?}");
        assert!(left.stderr.contains("too many lines"), "{left:?}");
        assert_eq!(scene.calls().len(), told);
        let receipts = scene.receipts();
        let end = receipts.iter().find(|one| one["type"] == "mcp.session_end");
        let end = end.unwrap();
        assert_eq!(
            (&end["session_complete"], &end["receipts_lost"]),
            (&json!(false), &json!(more))
        );
        let passed = scene.received().lines().count();
        let refused = left.stdout.split(|byte| *byte == b'\n').count() - 1;
        let expect = if strict {
            (told, more)
        } else {
            (told + more, 0)
        };
        assert_eq!((passed, refused), expect);
        assert_eq!(scene.verified(), 1);
    }
}
