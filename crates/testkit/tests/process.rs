//! A sample as a real process: how it starts, what it prints, how it ends.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot start its process has failed"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs a sample on some input and returns its status and what it printed.
fn check(arguments: &[&str], input: &str, status: i32, output: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcpproxy-sample"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A process that refuses its arguments may be gone before it is written to.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let ended = child.wait_with_output().unwrap();
    let printed = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(
        (ended.status.code(), printed.as_str()),
        (Some(status), output)
    );
}

#[test]
fn a_process_answers_and_ends() {
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    check(&["github"], ping, 0, answer);
    check(&["slack", "--era", "legacy"], "", 0, "");
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let crash = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"crash",{meta}}}}}"#
    );
    check(&["echo"], &format!("{crash}\n{ping}"), 3, "");
    check(&["nobody"], ping, 1, "");
}
