//! The Python SDK's client: see `client.py` for what it does.

use std::path::Path;

use serde_json::{Value, json};

use super::{COMMIT, NOTE, Setting};

async fn converse(setting: &Setting, mode: &str, version: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers/client.py");
    let args = [
        script.to_str().unwrap().to_owned(),
        setting.gateway.url("/mcp"),
        mode.to_owned(),
        setting.path("files"),
        setting.path("repository"),
    ];
    let said = setting.run(&setting.tools.python, &args).await;
    let text = |name: &str| said[name].as_str().unwrap_or_default();
    assert_eq!(text("version"), version);
    let tools = said["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("memory__open_nodes")), "{tools:?}");
    assert_eq!(text("file"), NOTE);
    assert!(text("log").contains(COMMIT), "{said}");
    assert!(text("read").contains("has a mill"), "{said}");
    assert_eq!(text("sum"), "The sum of 2 and 40 is 42.");
    assert!(text("long").contains("completed"), "{said}");
    let steps: Value = (1..=4).map(|step| json!([f64::from(step), 4.0])).collect();
    assert_eq!(said["progress"], steps);
    assert!(text("elicited").contains("Ada Lovelace"), "{said}");
    assert_eq!(said["asked"].as_array().map(Vec::len), Some(1), "{said}");
}

#[tokio::test]
async fn the_python_sdk_in_both_eras() {
    let Some(setting) = Setting::start().await else {
        return;
    };
    converse(&setting, "legacy", "2025-11-25").await;
    // Once it finds out by itself, once it is told.
    converse(&setting, "auto", "2026-07-28").await;
    converse(&setting, "2026-07-28", "2026-07-28").await;
}
