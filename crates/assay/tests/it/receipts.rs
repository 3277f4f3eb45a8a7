//! What stands in a receipt, where it stands on disk, and in what order things happened.

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{ANSWERS, Proxy, Scene, call, entries};

#[test]
fn a_receipt_has_every_field_of_the_schema() {
    let scene = Scene::new();
    let left = scene.run(
        &["--server-id", "mine"],
        ANSWERS,
        (call(7, "t", "{}") + "\n").as_bytes(),
    );
    assert_eq!(left.code(), Some(0), "{left:?}");
    let receipt = scene.calls().remove(0);
    let text = |key: &str| receipt[key].as_str().unwrap_or_default().to_owned();
    for (key, start) in [
        ("receipt_id", "mtc_"),
        ("invocation_id", "inv_"),
        ("session_id", "mcp_"),
        ("arguments_hash", "sha256:"),
        ("result_hash", "sha256:"),
        ("timestamp", "20"),
        ("proxy_version", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(text(key).starts_with(start), "{key}: {receipt}");
    }
    for (key, expect) in [
        ("type", json!("mcp_tool_call")),
        ("schema_version", json!("3.0")),
        ("parent_receipt_id", Value::Null),
        ("server_id", json!("mine")),
        ("server_transport", json!("stdio")),
        ("tool_name", json!("t")),
        ("mcp_request_id", json!(7)),
        ("policy_decided_at", Value::Null),
        ("arguments_content", Value::Null),
        ("result_content", Value::Null),
        ("result_is_error", json!(false)),
        ("outcome", json!("forwarded")),
        ("policy_verdict", json!("no_policy")),
        ("policy_ref", Value::Null),
        ("policy_hash", Value::Null),
        ("integration_source", json!("assay.mcp_proxy")),
    ] {
        assert_eq!(receipt.get(key), Some(&expect), "{key}");
    }
    assert!(
        text("request_observed_at") <= text("response_observed_at"),
        "{receipt}"
    );
    assert!(receipt["duration_ms"].is_u64(), "{receipt}");
}

#[test]
fn the_receipts_of_a_session_are_numbered_without_gaps() {
    let scene = Scene::new();
    let lines: Vec<String> = (0..5).map(|id| call(id, "t", "{}")).collect();
    scene.run(&[], ANSWERS, (lines.join("\n") + "\n").as_bytes());
    let numbers: Vec<u64> = scene
        .receipts()
        .iter()
        .map(|one| one["seq"].as_u64().unwrap())
        .collect();
    let expect: Vec<u64> = (0..).take(numbers.len()).collect();
    assert_eq!(numbers, expect);
    assert_eq!(scene.calls().len(), 5);
}

#[test]
fn the_folder_has_the_layout_of_the_specification() {
    let scene = Scene::new();
    let policy = scene.file("p.yaml", "version: 1\ndefault: allow\n");
    scene.run(&["--policy", &policy], ANSWERS, b"");
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let names = |folder: &str| -> Vec<String> {
        entries(&scene.audit().join(folder))
            .iter()
            .map(|path| name(path))
            .collect()
    };
    let [session] = names("receipts").try_into().unwrap();
    assert!(
        session.starts_with("session_20") && session.contains(".jsonl"),
        "{session}"
    );
    let [pack] = names("packs").try_into().unwrap();
    assert!(pack.starts_with("proof_pack_20"), "{pack}");
    let [snapshot] = names("policy").try_into().unwrap();
    assert!(
        snapshot.starts_with("policy_sha256_") && snapshot.contains(".yaml"),
        "{snapshot}"
    );
    let files = names(&format!("packs/{pack}"));
    for file in [
        "receipt_pack.jsonl",
        "pack_manifest.json",
        "pack_signature.sig",
        "verify_report.json",
        "verify_transcript.md",
    ] {
        assert!(files.iter().any(|one| one == file), "{files:?}");
    }
}

#[test]
fn remarks_are_json_where_that_is_asked_for() {
    let scene = Scene::new();
    let left = scene.run(&["--json"], ANSWERS, (call(1, "t", "{}") + "\n").as_bytes());
    let remark: Value = serde_json::from_str(left.stderr.trim()).unwrap();
    assert_eq!(
        (&remark["event"], &remark["forwarded"]),
        (&json!("session_end"), &json!(1))
    );
    assert_eq!(remark["session_complete"], true);
}

#[test]
fn the_upstreams_own_words_pass_on_standard_error() {
    let scene = Scene::new();
    let left = scene.run(&[], "echo 'a word' >&2", b"");
    assert!(left.stderr.contains("a word\n"), "{left:?}");
}

#[test]
fn the_command_after_the_dashes_is_started_without_a_shell() {
    let scene = Scene::new();
    let args = [
        "mcp-proxy",
        "--audit-dir",
        "audit",
        "--",
        "printf",
        "%s|",
        "$HOME",
        "a b",
        "--json",
    ];
    let left = scene.tool(&args);
    assert_eq!(String::from_utf8(left.stdout).unwrap(), "$HOME|a b|--json|");
}

#[test]
fn an_entry_of_a_client_s_configuration_starts_the_proxy() {
    // The form that Claude Code and Cursor share: a command, and its arguments one by one.
    let entry = json!({ "mcpServers": { "my-server": {
        "command": "assay",
        "args": ["mcp-proxy", "--", "sh", "-c", ANSWERS],
    } } });
    let entry = &entry["mcpServers"]["my-server"];
    let words: Vec<&str> = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let scene = Scene::new();
    let programs = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut child = Command::new(entry["command"].as_str().unwrap())
        .args(words)
        .current_dir(scene.path())
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("ASSAY_KEYS_DIR", scene.path().join("keys"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut proxy = Proxy::new(child, stdin, stdout);
    assert_eq!(proxy.call(1, "a")["id"], 1);
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(entries(&scene.path().join(".assay/mcp/packs")).len(), 1);
}
