//! `policy check`, `explain` and `replay`: what the policy is, what it would do and why, with no
//! gateway and no upstream.

use serde_json::{Value, json};

use crate::support::{Home, KEY, WORDS};

/// Runs a command and returns its code with what it printed.
async fn run(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let done = home.run(args).await;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

fn configured(internal_to_external: &str) -> Home {
    Home::new(&json!({ "security": {
        "flow_policy": { "internal_to_external": internal_to_external },
    } }))
}

fn session(id: &str, text: &str) -> Value {
    json!({ "id": id, "calls": [
        { "server": "github", "tool": "get_file", "args": { "path": "x" }, "result": format!("{WORDS}\nGITLAB_TOKEN={KEY}") },
        { "server": "slack", "tool": "post_message", "args": { "text": text }, "result": "ok" },
    ] })
}

#[tokio::test]
async fn a_policy_is_checked_and_shown() {
    let (code, shown, said) = run(&configured("deny"), &["policy", "check", "--json"]).await;
    assert_eq!(
        (code, said.contains("the policy is valid")),
        (Some(0), true)
    );
    let shown: Value = shown.parse().unwrap();
    assert_eq!(shown["flow"]["internal_to_external"], "deny", "{shown}");
    let (code, _, said) = run(&configured("maybe"), &["policy", "check"]).await;
    assert_eq!(code, Some(3));
    assert!(said.contains("internal_to_external"), "{said}");
}

#[tokio::test]
async fn a_decision_is_explained() {
    let check = async |policy: &str, text: &str, decision: &str, why: &str| {
        let home = configured(policy);
        let file = home.path().join("calls.json");
        std::fs::write(&file, session("s", text).to_string()).unwrap();
        let args = ["policy", "explain", file.to_str().unwrap()];
        let (code, shown, said) = run(&home, &[&args[..], &["--json"]].concat()).await;
        assert_eq!(code, Some(0), "{said}");
        let shown: Value = shown.parse().unwrap();
        assert_eq!(shown["decision"], decision, "{shown}");
        let (_, words, _) = run(&home, &args).await;
        assert!(words.contains(why), "{words}");
    };
    check("ask", WORDS, "ask", "internal source (github)").await;
    check("deny", WORDS, "deny", "internal source (github)").await;
    check("ask", KEY, "deny", "Sensitive data (api_token)").await;
    check("ask", "lunch on Friday?", "allow", "allow").await;
    let (code, _, said) = run(&configured("ask"), &["policy", "explain", "/dev/null"]).await;
    assert_eq!(code, Some(3), "{said}");
}

#[tokio::test]
async fn what_the_gateway_would_refuse_is_neither_explained_nor_replayed() {
    let home = configured("ask");
    let file = home.path().join("calls.json");
    let file = file.to_str().unwrap();
    let check = async |text: &str, why: &str| {
        std::fs::write(file, text).unwrap();
        for args in [
            ["policy", "explain", file].as_slice(),
            &["policy", "replay", "--jsonl", file],
        ] {
            let (code, _, said) = run(&home, args).await;
            assert_eq!(code, Some(3), "{text}: {said}");
            assert!(said.contains(why), "{text}: {said}");
        }
    };
    let call =
        |args: &str| format!(r#"{{"calls":[{{"server":"slack","tool":"post","args":{args}}}]}}"#);
    check(&call(r#"{"to":"bay","to":"moon"}"#), "duplicate key `to`").await;
    let deep = ["[".repeat(200), "]".repeat(200)].concat();
    check(&call(&format!(r#"{{"a":{deep}}}"#)), "nested deeper").await;
    check(&call(r#""text""#), "call 1: `args` must be an object").await;
    check(
        r#"{"calls":[{"server":"slack","tool":""}]}"#,
        "call 1: `tool`",
    )
    .await;
    check(
        r#"{"calls":[{"server":"","tool":"post"}]}"#,
        "call 1: `tool`",
    )
    .await;
    check(r#"{"calls":[{"server":"slack"}]}"#, "missing field `tool`").await;
    check("{", "invalid JSON").await;
    check("[]", "must be a JSON object").await;
    let misspelled = r#"{"calls":[{"tool":"post","arguments":{}}]}"#;
    check(misspelled, "unknown field `arguments`").await;
}

#[tokio::test]
async fn sessions_that_went_by_are_judged_again() {
    let lines = [
        session("words", WORDS),
        session("key", KEY),
        session("none", "lunch?"),
    ];
    let lines = lines.map(|one| one.to_string()).join("\n");
    let check = async |policy: &str, text: &str, code: i32, expect: &[&str]| {
        let home = configured(policy);
        let file = home.path().join("sessions.jsonl");
        std::fs::write(&file, text).unwrap();
        let args = [
            "policy",
            "replay",
            "--json",
            "--jsonl",
            file.to_str().unwrap(),
        ];
        let (ended, shown, said) = run(&home, &args).await;
        assert_eq!(ended, Some(code), "{said}");
        let sessions = shown.lines().map(|line| line.parse::<Value>().unwrap());
        let last = sessions.map(|one| one["calls"][1]["decision"].clone());
        assert_eq!(last.collect::<Vec<_>>(), expect, "{policy}");
    };
    check("ask", &lines, 1, &["ask", "deny", "allow"]).await;
    check("allow", &lines, 1, &["allow", "deny", "allow"]).await;
    check("ask", &session("none", "lunch?").to_string(), 0, &["allow"]).await;
    check("ask", "{", 3, &[]).await;
}
