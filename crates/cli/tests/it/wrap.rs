//! `mcpproxy wrap`: the recording proxy of `assay`, behind the name of this program.
//!
//! What the proxy does with calls is shown by the tests of `assay`; here is only that it is the
//! same one, and that this program can stand in for it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use mcpproxy_core::{Clock as _, SystemClock};
use mcpproxy_notary::keys::{PublicKey, Trust};
use mcpproxy_notary::verify::{Checks, Class, verify};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{PATIENCE, program};

/// Answers every line that has a number for its id.
const ANSWERS: &str = r#"sed -u -n 's/.*"id":\([0-9]*\).*/{"jsonrpc":"2.0","id":\1,"result":{"content":[],"isError":false}}/p'"#;

fn wrap(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .current_dir(folder)
        .env("ASSAY_KEYS_DIR", folder.join("keys"))
        .arg("wrap")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn call(id: u64, tool: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#) + "\n"
}

/// Runs a whole session.
fn session(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = wrap(folder, args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // What was refused at once does not read its input.
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    found.sort();
    found
}

/// Verifies every pack of an audit folder, and returns the calls in them as tool and outcome.
fn packed(root: &Path, keys: &Path) -> Vec<String> {
    let key = PublicKey::load(&keys.join("assay-local.pub")).unwrap();
    let mut calls = Vec::new();
    for pack in entries(&root.join("packs")) {
        let checks = Checks {
            trust: Trust::new([key]),
            ..Checks::at(SystemClock::start().wall())
        };
        let report = verify(&pack, &checks).unwrap();
        assert_eq!(report.class, Class::Pass, "{report:?}");
        let lines = std::fs::read_to_string(pack.join("receipt_pack.jsonl")).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let receipts = lines.filter(|line| line["type"] == "mcp_tool_call");
        calls.extend(receipts.map(|line| format!("{} {}", line["tool_name"], line["outcome"])));
    }
    calls
}

#[test]
fn a_wrapped_session_leaves_a_pack_that_verifies() {
    let folder = TempDir::new().unwrap();
    let input = call(1, "a") + &call(2, "b");
    let output = session(folder.path(), &["--", "sh", "-c", ANSWERS], &input);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout.split(|byte| *byte == b'\n').count(), 3);
    let root = folder.path().join(".assay").join("mcp");
    let calls = packed(&root, &folder.path().join("keys"));
    assert_eq!(calls, [r#""a" "forwarded""#, r#""b" "forwarded""#]);
}

#[test]
fn flags_and_exit_codes_are_those_of_the_proxy() {
    let check = |args: &[&str], code: i32, said: &str| {
        let folder = TempDir::new().unwrap();
        let policy = "version: \"1\"\ndefault: allow\ndenylist: [a]\n";
        std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        let output = session(folder.path(), args, &call(1, "a"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(said), "{args:?}: {stderr}");
    };
    let upstream = ["--", "sh", "-c", ANSWERS];
    let with = |flags: &[&'static str]| [flags, &upstream].concat();
    let guard = ["--profile", "guard", "--policy", "policy.yaml"];
    check(&with(&guard), 1, "1 denied");
    check(
        &with(&["--strict", "--json"]),
        0,
        r#""event":"session_end""#,
    );
    check(&with(&["--profile", "escrow"]), 3, "reserved");
    check(&with(&["--profile", "guard"]), 3, "needs `--policy FILE`");
    check(&["--", "/nowhere/to/be/found"], 3, "cannot start");
    check(&["--", "sh", "-c", "exit 7"], 2, "incomplete");
    check(&["--upstream-url", "http://127.0.0.1:1/mcp"], 3, "");
    check(&[], 3, "COMMAND");
}

#[test]
fn mistakes_are_json_where_that_is_asked_for() {
    for args in [
        &["--json", "--call-timeout", "x", "--", "cat"][..],
        &["--call-timeout", "x", "-o", "jsonl", "--", "cat"],
        &["--profile", "escrow", "--output=json", "--", "cat"],
        &["--json"],
    ] {
        let folder = TempDir::new().unwrap();
        let output = session(folder.path(), args, "");
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        let said: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(said["event"], "error", "{said}");
    }
    // What stands behind `--` is the upstream's.
    let folder = TempDir::new().unwrap();
    let args = ["--call-timeout", "x", "--", "cat", "--json"];
    let output = session(folder.path(), &args, "");
    assert!(output.stderr.starts_with(b"error:"), "{output:?}");
}

/// The command lines of all processes.
fn command_lines() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}

#[test]
fn arguments_of_tools_are_on_no_command_line() {
    let folder = TempDir::new().unwrap();
    let script = r#"read -r line; echo '{"method":"notifications/progress"}'; cat >/dev/null"#;
    let mut child = wrap(folder.path(), &["--", "sh", "-c", script])
        .spawn()
        .unwrap();
    let told = r#""arguments":{"note":"lamps-of-the-east-pier"}"#;
    let call = call(1, "a").replace(r#""arguments":{}"#, told);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(call.as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("progress"), "{line}");
    // The upstream has the call now, and both programs run.
    let lines = command_lines();
    assert!(lines.iter().any(|line| line.contains(script)), "{lines:?}");
    let with_it = lines.iter().filter(|line| line.contains("east-pier"));
    assert_eq!(with_it.count(), 0);
    drop(stdin);
    child.wait().unwrap();
}

/// Reads the number that an upstream prints first.
fn first_number(child: &mut Child) -> i32 {
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn an_upstream_ends_with_a_wrapper_that_was_killed() {
    let folder = TempDir::new().unwrap();
    let script = "echo $$; exec sleep 600";
    let mut child = wrap(folder.path(), &["--", "sh", "-c", script])
        .spawn()
        .unwrap();
    let upstream = Pid::from_raw(first_number(&mut child)).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let since = Instant::now();
    while test_kill_process(upstream).is_ok() {
        assert!(since.elapsed() < PATIENCE, "the upstream goes on");
        std::thread::yield_now();
    }
}
