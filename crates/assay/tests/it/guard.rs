//! The guard profile: what is denied never reaches the upstream, and the caller is told.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::support::{ANSWERS, Scene, call, entries};

const POLICY: &str = r#"
version: "1"
default: deny
allowlist: [search, web_fetch]
denylist: [shell_exec]
constraints:
  web_fetch:
    deny_private_hosts: true
"#;

fn run(flags: &[&str], lines: &[String]) -> (Scene, Vec<Value>, Option<i32>) {
    let scene = Scene::new();
    let policy = scene.file("policy.yaml", POLICY);
    let mut all = vec!["--policy", &policy];
    all.extend_from_slice(flags);
    let input = lines.join("\n") + "\n";
    let left = scene.run(&all, ANSWERS, input.as_bytes());
    let text = String::from_utf8(left.stdout.clone()).unwrap();
    let answers = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(scene.verified(), 1, "{}", left.stderr);
    (scene, answers, left.code())
}

#[test]
fn the_policy_in_the_book_is_one() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/assay.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, block) = page.split_once("```yaml guard\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let scene = Scene::new();
    let policy = scene.file("shown.yaml", block);
    let lines = [
        call(1, "web_search", "{}"),
        call(2, "shell_exec", "{}"),
        call(3, "read_file", r#"{"path":"/workspace/.env"}"#),
    ];
    let flags = ["--profile", "guard", "--policy", &policy];
    let left = scene.run(&flags, ANSWERS, (lines.join("\n") + "\n").as_bytes());
    assert_eq!(scene.received(), lines[0].clone() + "\n", "{}", left.stderr);
}

#[test]
fn denied_calls_never_reach_the_upstream() {
    let inside = r#"{"url":"http://127.0.0.1/"}"#;
    let lines = [
        call(1, "shell_exec", "{}"),
        call(2, "search", r#"{"q":"x"}"#),
        call(3, "web_fetch", inside),
        call(4, "unknown", "{}"),
    ];
    let (scene, mut answers, code) = run(&["--profile", "guard"], &lines);
    assert_eq!(code, Some(1));
    assert_eq!(scene.received(), lines[1].clone() + "\n");
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let refs: Vec<&Value> = answers
        .iter()
        .map(|one| &one["error"]["data"]["policy_ref"])
        .collect();
    assert_eq!(
        refs,
        [
            &json!("denylist:shell_exec"),
            &json!(null),
            &json!("constraints:web_fetch.deny_private_hosts"),
            &json!("default:deny"),
        ]
    );
    let mut outcomes = scene.outcomes();
    outcomes.sort();
    assert_eq!(
        outcomes,
        [
            "search forwarded allowed",
            "shell_exec denied denied",
            "unknown denied denied",
            "web_fetch denied denied",
        ]
    );
    for receipt in scene.calls() {
        let denied = receipt["outcome"] == "denied";
        assert_eq!(
            receipt["response_observed_at"].is_null(),
            denied,
            "{receipt}"
        );
        assert!(!receipt["policy_decided_at"].is_null(), "{receipt}");
        assert!(!receipt["policy_hash"].is_null(), "{receipt}");
    }
    // The copy of the policy is named by its hash.
    let copies = entries(&scene.audit().join("policy"));
    assert_eq!(copies.len(), 1);
    assert_eq!(std::fs::read_to_string(&copies[0]).unwrap(), POLICY);
}

#[test]
fn advice_denies_nothing() {
    // The peer wrote `denied` though the server had run the call.
    let lines = [call(1, "shell_exec", "{}"), call(2, "search", "{}")];
    let (scene, answers, code) = run(&["--profile", "audit"], &lines);
    assert_eq!(code, Some(1));
    assert_eq!(answers.len(), 2);
    assert_eq!(scene.received(), lines.join("\n") + "\n");
    assert_eq!(
        scene.outcomes(),
        ["shell_exec forwarded denied", "search forwarded allowed"]
    );
}

#[test]
fn a_call_without_an_id_does_not_pass_a_guard() {
    let line = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"search"}}"#.to_owned();
    let (scene, answers, code) = run(&["--profile", "guard"], &[line]);
    assert_eq!((code, answers.len()), (Some(1), 0));
    assert_eq!(scene.received(), "");
    assert_eq!(scene.outcomes(), ["search denied denied"]);
}

#[test]
fn a_batch_passes_whole_or_not_at_all() {
    let batch = |second: &str| {
        let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        format!(
            "[{},{},{ping}]",
            call(1, "search", "{}"),
            call(2, second, "{}")
        )
    };
    let (scene, answers, _) = run(&["--profile", "guard"], &[batch("shell_exec")]);
    assert_eq!(scene.received(), "");
    assert_eq!(answers[0].as_array().unwrap().len(), 3);
    assert_eq!(
        scene.outcomes(),
        ["search denied denied", "shell_exec denied denied"]
    );
    let (scene, _, _) = run(&["--profile", "guard"], &[batch("search")]);
    assert_eq!(scene.received(), batch("search") + "\n");
}

#[test]
fn what_readers_may_read_differently_is_refused() {
    let call = |envelope: &str| format!(r#"{{"jsonrpc":"2.0","id":1,{envelope}}}"#);
    let safe = r#""method":"tools/call","params":{"name":"search","arguments":{}}"#;
    for line in [
        call(&format!(r#"{safe},"method":"tools/list""#)),
        call(r#""method":"tools/list","method":"tools/call","params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/list","\u006dethod":"tools/call","params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/call","params":{"name":"search","name":"shell_exec"}"#),
        call(r#""method":"tools/call","params":{"name":"search","Name":"shell_exec"}"#),
        call(r#""method":"tools/call","params":{"name":"search","arguments":{"a":1,"a":2}}"#),
        call(r#""Method":"tools/call","method":"ping""#),
        // Readers in Go are lax about case, and act on what we would not have seen.
        call(r#""method":"Tools/Call","params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/call ","params":{"name":"shell_exec"}"#),
        call(
            r#""method":"tools/call","params":{"name":"search","Arguments":{"q":"http://10.0.0.1"}}"#,
        ),
        call(r#""method":"tools/call","params":["search"]"#),
        // Readers in C see the end of a text at a NUL.
        call(r#""method":"tools/call\u0000","params":{"name":"shell_exec"}"#),
        call(r#""method":"tool\u0073/call\u0000x","params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/call","params":{"name":"shell_exec\u0000x"}"#),
        call(r#""method":"tools/call","params":{"name":"search","name\u0000":"shell_exec"}"#),
        call(r#""method":"ping","method\u0000":"tools/call","params":{"name":"shell_exec"}"#),
        call(r#""method":"ｔools/call","params":{"name":"shell_exec"}"#),
        call(r#""Method":"tools/call","params":{"name":"shell_exec"}"#),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",".to_owned(),
        "garbage".to_owned(),
    ] {
        let (scene, answers, code) = run(&["--profile", "guard"], std::slice::from_ref(&line));
        assert_eq!(scene.received(), "", "{line}");
        let [receipt] = scene.calls().try_into().expect(&line);
        assert_eq!(receipt["outcome"], "denied", "{line}");
        assert_eq!(receipt["marks"], json!(["uninspected"]), "{line}");
        assert_eq!(code, Some(1), "{line}");
        assert_eq!(answers.len(), 1, "{line}");
        assert!(answers[0]["error"]["message"].is_string(), "{line}");
    }
    // What has the form of an answer gets none.
    for line in [
        call(r#""error":{},"Method":"tools/call","Params":{"name":"shell_exec"}"#),
        call(r#""result":{},"METHOD":"tools/call","params":{"name":"shell_exec"}"#),
    ] {
        let (scene, answers, code) = run(&["--profile", "guard"], std::slice::from_ref(&line));
        assert_eq!(
            (scene.received().as_str(), answers.len()),
            ("", 0),
            "{line}"
        );
        assert_eq!(scene.calls()[0]["outcome"], "denied", "{line}");
        assert_eq!(code, Some(1), "{line}");
    }
}

#[test]
fn an_audit_does_not_keep_quiet_about_what_readers_may_read_differently() {
    let call = |envelope: &str| format!(r#"{{"jsonrpc":"2.0","id":1,{envelope}}}"#);
    for line in [
        call(r#""method":"Tools/Call","params":{"name":"shell_exec"}"#),
        call(r#""error":{},"Method":"tools/call","Params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/call","params":{"name":"search","Arguments":{}}"#),
        call(r#""method":"tools/call","params":{"name":"search","NAME":"shell_exec"}"#),
        call(r#""method":"ｔools/call","params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/call\u0000x","params":{"name":"shell_exec"}"#),
        call(r#""method":"tool\u0073/call\u0000","params":{"name":"shell_exec"}"#),
        call(r#""method":"tools/call","params":{"name":"shell_exec\u0000x"}"#),
        call(r#""method":"tools/call","params":{"name":"search","name\u0000":"shell_exec"}"#),
        call(r#""method":"ping","method\u0000":"tools/call","params":{"name":"shell_exec"}"#),
    ] {
        let (scene, _, code) = run(&[], std::slice::from_ref(&line));
        assert_eq!(scene.received(), format!("{line}\n"));
        let [receipt] = scene.calls().try_into().unwrap();
        assert_eq!(receipt["marks"], json!(["uninspected"]), "{line} {receipt}");
        // The verdict is that of a guard.
        assert_eq!(receipt["policy_verdict"], "denied", "{line}");
        assert_eq!(code, Some(1), "{line}");
    }
}

#[test]
fn a_message_too_long_to_be_judged_is_refused() {
    let long = call(
        1,
        "search",
        &format!(r#"{{"q":"{}"}}"#, "x".repeat(17 << 20)),
    );
    let after = call(2, "search", "{}");
    let (scene, answers, code) = run(&["--profile", "guard"], &[long, after.clone()]);
    assert_eq!(code, Some(1));
    assert_eq!(scene.received(), after + "\n");
    assert_eq!(answers.len(), 2);
    assert_eq!(scene.outcomes()[0], "search denied denied");
}

#[test]
fn a_batch_of_any_length_is_refused_in_time() {
    // One line that is held, and one that is too long to be.
    for (count, filling) in [(20_000, 0), (20_000, 900)] {
        let arguments = format!(r#"{{"a":"{}"}}"#, "x".repeat(filling));
        let mut all: Vec<String> = (0..count)
            .map(|id| call(id, "search", &arguments))
            .collect();
        all.push(call(count, "shell_exec", "{}"));
        let (scene, answers, code) =
            run(&["--profile", "guard"], &[format!("[{}]", all.join(","))]);
        assert_eq!(scene.received(), "");
        assert_eq!(code, Some(1));
        let answered: usize = answers
            .iter()
            .map(|all| all.as_array().unwrap().len())
            .sum();
        assert_eq!(answered, all.len());
        assert_eq!(scene.calls().len(), all.len());
    }
    // More messages than a line may have.
    let many = format!(
        "[{}]",
        vec![r#"{"id":1,"method":"m"}"#; (1 << 17) + 1].join(",")
    );
    let (scene, answers, _) = run(&["--profile", "guard"], &[many]);
    assert_eq!(scene.received(), "");
    let text = answers[0][0]["error"]["message"].as_str().unwrap();
    assert!(text.contains("the batch is too long"), "{text}");
}

#[test]
fn answers_of_the_guard_do_not_cut_into_those_of_the_upstream() {
    let scene = Scene::new();
    let policy = scene.file("policy.yaml", POLICY);
    let flags = ["--profile", "guard", "--policy", &policy];
    let script =
        "read -r l; printf '{\"jsonrpc\":\"2.0\",'; read -r go <go; echo '\"id\":1,\"result\":{}}'";
    std::process::Command::new("mkfifo")
        .arg(scene.path().join("go"))
        .status()
        .unwrap();
    let mut proxy = scene.proxy(&flags, script);
    proxy.send(&call(1, "search", "{}"));
    proxy.send(&call(2, "shell_exec", "{}"));
    crate::support::until("the denial", || scene.outcomes().len() == 1);
    std::fs::write(scene.path().join("go"), "go\n").unwrap();
    let lines = [proxy.line(), proxy.line()];
    let mut ids: Vec<u64> = lines
        .iter()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_u64()
                .unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    assert_eq!(proxy.left().code(), Some(1));
}

#[test]
fn a_denial_is_framed_as_its_call_was() {
    let scene = Scene::new();
    let policy = scene.file("policy.yaml", POLICY);
    let head = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let (denied, allowed) = (
        head(&call(1, "shell_exec", "{}")),
        head(&call(2, "search", "{}")),
    );
    let flags = ["--profile", "guard", "--policy", &policy];
    // The upstream shows first that it frames so itself.
    let script = "printf 'Content-Length: 2\\r\\n\\r\\n{}'; cat >received";
    let mut proxy = scene.proxy(&flags, script);
    let mut first = [0; 23];
    proxy.stdout.read_exact(&mut first).unwrap();
    proxy
        .stdin
        .as_mut()
        .unwrap()
        .write_all(format!("{denied}{allowed}").as_bytes())
        .unwrap();
    let left = proxy.left();
    assert_eq!(scene.received(), allowed);
    let text = String::from_utf8(left.stdout).unwrap();
    let (front, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(front, format!("Content-Length: {}", body.len()));
    let answer: Value = serde_json::from_str(body).unwrap();
    assert_eq!(answer["id"], 1);
}

#[test]
fn no_message_hides_from_a_guard_behind_a_line_break() {
    let hidden = call(9, "shell_exec", "{}");
    let ping = |gap: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{gap}{hidden}{gap}}}}}"#)
    };
    let head = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let safe = call(1, "search", "{}");
    let inputs = [
        ping("\r"),
        ping("\r\r"),
        head(&ping("\n")),
        head(&safe),
        format!("Content-Length: 9\r\n{hidden}\r\n\r\n{safe}"),
        format!("Content-Length: 9\r\nX: \r{hidden}\r\n\r\n123456789"),
    ];
    for input in inputs {
        let scene = Scene::new();
        let policy = scene.file("policy.yaml", POLICY);
        let flags = ["--profile", "guard", "--policy", &policy];
        let left = scene.run(&flags, "cat >received", input.as_bytes());
        assert!(!scene.received().contains("shell_exec"), "{input:?}");
        let text = String::from_utf8(left.stdout).unwrap();
        assert!(text.contains("denied by policy"), "{input:?} {text}");
    }
    // An audit passes them on, and does not keep quiet about it.
    let scene = Scene::new();
    let policy = scene.file("policy.yaml", POLICY);
    let line = ping("\r") + "\n";
    scene.run(&["--policy", &policy], "cat >received", line.as_bytes());
    assert_eq!(scene.received(), line);
    let [receipt] = scene.calls().try_into().unwrap();
    assert_eq!(receipt["marks"][0], "uninspected", "{receipt}");
    let long = r#""b":""#.to_owned() + &"x".repeat(2 << 20) + "\",\r\"a\"";
    let line = call(1, "search", "{}").replace("\"id\"", &(long + ":1,\"id\"")) + "\n";
    let scene = Scene::new();
    scene.run(&[], "cat >received", line.as_bytes());
    let marks = scene.calls()[0]["marks"].clone();
    assert!(
        marks.as_array().unwrap().contains(&json!("uninspected")),
        "{marks}"
    );
}

#[test]
fn an_id_that_is_no_json_is_not_repeated() {
    let ids = ["NaN", "tru", "-", "0x10", "7", r#""a""#];
    let lines = ids.map(|id| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"shell_exec"}}}}"#)
    });
    let (_, answers, _) = run(&["--profile", "guard"], &lines);
    let said: Vec<_> = answers.iter().map(|one| one["id"].clone()).collect();
    let null = Value::Null;
    assert_eq!(
        said,
        [
            null.clone(),
            null.clone(),
            null.clone(),
            null,
            7.into(),
            "a".into()
        ]
    );
}
