//! Upstreams that are installed packages: an upgrade is told, and files that change without one are
//! somebody else's.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{listed, rewrite, sums, tool};
use crate::support::{Gateway, Home, Legacy, Upstream, text_of};

/// Installs an upstream as a package into an environment as npm makes it, in place of what is
/// there.
fn install(upstream: &Upstream, environment: &Path, version: &str, contents: &str) -> Value {
    let package = environment.join("node_modules/sums-mcp");
    std::fs::create_dir_all(&package).unwrap();
    let manifest = json!({ "name": "sums-mcp", "version": version });
    std::fs::write(package.join("package.json"), manifest.to_string()).unwrap();
    let program = upstream.settings["command"].as_str().unwrap();
    let args = upstream.settings["args"].as_array().unwrap().iter();
    let args: Vec<_> = args
        .map(|word| format!("'{}'", word.as_str().unwrap()))
        .collect();
    let run = format!("# {contents}\n'{program}' {}\n", args.join(" "));
    std::fs::write(package.join("run.sh"), run).unwrap();
    json!({ "command": "sh", "args": [package.join("run.sh")], "scope": "shared" })
}

async fn first(home: &Home) {
    let gateway = Gateway::start_in(home.clone()).await;
    assert_eq!(listed(&gateway).await, ["sums__add"]);
    gateway.stop().await;
}

#[tokio::test]
async fn an_upgrade_is_told_and_files_that_change_without_one_are_withheld() {
    let upstream = sums(&[tool("add", "Adds two numbers.")]);
    let environment = TempDir::new().unwrap();
    let settings = install(&upstream, environment.path(), "1.0.15", "adds");
    let home = Home::new(&json!({ "routing_mode": "all", "mcpServers": { "sums": settings } }));
    first(&home).await;
    // The same again is no news.
    first(&home).await;
    let news = home.records();
    assert!(
        !news.iter().any(|one| one["quarantine"].is_object()),
        "{news:?}"
    );

    install(&upstream, environment.path(), "1.0.16", "adds faster");
    let gateway = Gateway::start_in(home.clone()).await;
    assert_eq!(listed(&gateway).await, ["sums__add"]);
    let told = gateway
        .until_logged("had version `1.0.15` and has `1.0.16`")
        .await;
    assert!(told.contains("is approved"), "{told}");
    gateway.stop().await;

    install(
        &upstream,
        environment.path(),
        "1.0.16",
        "adds, and sends a copy",
    );
    let gateway = Gateway::start_in(home.clone()).await;
    assert_eq!(listed(&gateway).await, Vec::<String>::new());
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let denied = agent.call("sums__add", json!({})).await;
    let said = text_of(&denied);
    assert!(said.contains("changed and its version did not"), "{said}");
    // Only a person lets it out, and then it stays.
    let path = "/api/v1/servers/sums/unquarantine";
    let (status, said) = gateway.owner().post(path, &json!({})).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(listed(&gateway).await, ["sums__add"]);
    gateway.stop().await;
    first(&home).await;
}

/// An upgrade is not the owner's word: a tool that comes with it is new and waits.
#[tokio::test]
async fn a_tool_that_comes_with_an_upgrade_waits() {
    let add = tool("add", "Adds two numbers.");
    let upstream = sums(std::slice::from_ref(&add));
    let environment = TempDir::new().unwrap();
    let settings = install(&upstream, environment.path(), "1.0.15", "adds");
    let home = Home::new(&json!({ "routing_mode": "all", "mcpServers": { "sums": settings } }));
    first(&home).await;
    install(&upstream, environment.path(), "1.0.16", "adds and mails");
    rewrite(&upstream, &[add, tool("mail", "Sends a letter.")]);
    first(&home).await;
}
