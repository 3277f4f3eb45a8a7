//! The log as a file: what a crash or a full disk leaves, and how it goes on afterwards.

use std::os::unix::fs::symlink;

use mcpproxy_core::{Action, CallId, Declared, Door, FlowType, Risk, RiskLevel, Status};
use serde_json::Value;
use tempfile::TempDir;

use super::*;

fn record(tool: &str) -> Record {
    Record {
        id: CallId::new(0, 0),
        kind: "tool_call",
        source: Door::Mcp,
        server_name: "up".into(),
        tool_name: tool.into(),
        method: "tools/call".into(),
        status: Status::Success,
        error_message: None,
        duration_ms: 1.0,
        timestamp: "2026-11-15T00:00:00Z".into(),
        session_id: String::new(),
        principal: "local".into(),
        request_bytes: 1,
        response_bytes: 1,
        decision: Action::Allow,
        flow_type: FlowType::None,
        risk: Risk {
            level: RiskLevel::None,
            score: 0,
        },
        declared: Declared::default(),
        findings: Vec::new(),
    }
}

/// What the lines of a log are about: the tool, or how many records are missing.
fn told(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["type"].as_str() {
            Some("gap") => format!("lost {}", line["lost_records"]),
            _ => line["tool_name"].as_str().unwrap().to_owned(),
        }
    });
    lines.collect()
}

#[tokio::test]
async fn a_line_that_a_crash_tore_is_cut_off() {
    for (left, expect) in [
        ("", vec!["new"]),
        ("{\"tool_name\":\"old\"}\n", vec!["old", "new"]),
        ("{\"tool_name\":\"old\"}\n{\"tool_na", vec!["old", "new"]),
        ("{\"tool_na", vec!["new"]),
    ] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, left).unwrap();
        let sink = FileSink::open(&path, 1 << 20).unwrap();
        let kept = sink.append(record("new"), Durability::Strict).await;
        assert_eq!(kept, Ok(()), "{left}");
        assert_eq!(told(&path), expect, "{left}");
    }
}

/// The log lies on a disk that is full and then is not; the first records are lost, and a line says
/// how many.
#[tokio::test]
async fn a_log_that_could_not_be_written_goes_on_and_says_what_is_missing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    symlink("/dev/full", &path).unwrap();
    let sink = FileSink::open(&path, 1 << 20).unwrap();
    for _ in 0..3 {
        let kept = sink.append(record("lost"), Durability::Strict).await;
        assert!(matches!(kept, Err(SinkFault::Broken(_))), "{kept:?}");
        assert!(sink.problem().is_some());
    }
    std::fs::remove_file(&path).unwrap();
    // Nothing is appended meanwhile: it is tried all the same.
    while sink.problem().is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let kept = sink.append(record("kept"), Durability::Strict).await;
    assert_eq!(kept, Ok(()));
    assert_eq!(told(&path), ["lost 3", "kept"]);
}

/// A write that fails half way leaves half a line.
#[test]
fn what_a_failed_write_left_is_cut_off() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let mut lines = Lines::open(&path, 1 << 20).unwrap();
    lines.append([record("one")].iter(), false).unwrap();
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"tool_name\":\"whole\"}\n{\"tool_na");
    std::fs::write(&path, torn).unwrap();
    lines.resume("no space", 2, [record("two")].iter()).unwrap();
    assert_eq!(told(&path), ["one", "lost 2", "two"]);
}
