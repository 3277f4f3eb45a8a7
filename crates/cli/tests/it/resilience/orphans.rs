//! No process of an upstream outlives the gateway, however either of them ends.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::measure::{bounded, marked, marker, until_marked};
use crate::support::{Gateway, Home, Modern, program, scripted, text_of, until};

/// What the upstreams are given for each step of ending.
const GRACE: &str = "100ms";
/// How long a process may outlive the gateway: two steps of grace, and time to be scheduled.
const LINGER: Duration = Duration::from_secs(5);
/// How often the gateway is killed here; `cargo xtask soak kill` does it a thousand times.
const KILLS: usize = 5;
/// Processes of both upstreams: two supervisors, a sample, and a shell with two that it started.
const PROCESSES: usize = 6;

/// A sample that ends with its input.
fn obedient(marker: &str, folder: &Path) -> Value {
    let record = folder.join(marker);
    let args = json!(["sample", "echo", "--record", record]);
    json!({ "command": program(), "args": args, "shutdown_grace": GRACE })
}

/// A shell that ignores the end of its input and SIGTERM, as do its child and grandchild.
fn stubborn(marker: &str) -> Value {
    let mut settings = scripted("say done");
    let script = settings["args"][1].as_str().unwrap();
    let script = format!(
        "trap '' TERM\nsleep 86400.{marker} &\n(sleep 86400.{marker} &)\n{script}\n\
         while :; do sleep 1; done"
    );
    settings["args"][1] = json!(script);
    settings["shutdown_grace"] = json!(GRACE);
    settings
}

async fn until_gone(marker: &str) {
    let gone = until("the last marked process to end", || async {
        marked(marker).is_empty().then_some(())
    });
    bounded("ending all processes", LINGER, gone).await;
}

#[tokio::test]
async fn a_killed_gateway_leaves_nobody_behind() {
    for round in 0..KILLS {
        let (marker, folder) = (marker(), TempDir::new().unwrap());
        let upstreams = json!({
            "obedient": obedient(&marker, folder.path()), "stubborn": stubborn(&marker),
        });
        let home = Home::new(&json!({ "mcpServers": upstreams }));
        let gateway = Gateway::launch(home, &[]).await.unwrap();
        // Now and then it dies while it is still starting them.
        let running = if round % 2 == 0 { PROCESSES } else { 1 };
        until_marked(&marker, running).await;
        gateway.kill().await;
        until_gone(&marker).await;
    }
}

#[tokio::test]
async fn an_interrupted_adversary_leaves_no_gateway_and_no_folder() {
    for signal in ["TERM", "INT"] {
        let folder = TempDir::new().unwrap();
        let marker = folder.path().join("mcpproxy-adversary-");
        let marker = marker.to_str().unwrap();
        let args = ["adversary", "run", "rug-pull", "--mode", "proxy"];
        let mut run = Command::new(program())
            .args(args)
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        until_marked(marker, 1).await;
        let id = run.id().unwrap().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.await.unwrap().success());
        let ended = bounded("ending the run", LINGER, run.wait()).await.unwrap();
        assert_eq!(ended.code(), Some(2), "{signal}");
        until_gone(marker).await;
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}

#[tokio::test]
async fn a_stopped_gateway_leaves_nobody_behind() {
    let (marker, folder) = (marker(), TempDir::new().unwrap());
    let upstreams = json!({
        "obedient": obedient(&marker, folder.path()), "stubborn": stubborn(&marker),
    });
    let gateway = Gateway::start(&json!({ "mcpServers": upstreams })).await;
    until_marked(&marker, PROCESSES).await;
    gateway.stop().await;
    until_gone(&marker).await;
}

#[tokio::test]
async fn an_upstream_that_ends_takes_its_children_along() {
    let marker = marker();
    let mut parent = scripted(&format!("sleep 86400.{marker} & say started; exit 0"));
    parent["restart"] = json!({ "max_attempts": 1 });
    let gateway = Gateway::start(&json!({ "mcpServers": { "parent": parent } })).await;
    let downstream = Modern::new(&gateway.url("/mcp/all"), json!({}));
    let result = downstream.call("parent__do", json!({})).await;
    assert_eq!(text_of(&result), "started");
    until_gone(&marker).await;
}
