//! Hooks that are exchanged while calls go on: every call is judged, by those before or by those
//! after.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{Service, deny};
use crate::support::{Legacy, Scene};

/// Calls that are made at once, and how often the hooks are exchanged meanwhile.
const CALLERS: usize = 8;
const RELOADS: usize = 30;

fn judging(rule: &'static str) -> impl Fn(&Value) -> Value + Send + Sync + 'static {
    move |question| {
        let params = question["request"]["params"].to_string();
        if params.contains("forbidden") {
            deny(rule)
        } else {
            json!({ "decision": "allow" })
        }
    }
}

#[tokio::test]
async fn nothing_passes_unjudged_while_hooks_are_exchanged() {
    let one = Service::start(judging("ONE")).await;
    let other = Service::start(judging("OTHER")).await;
    let hooks = [&one, &other].map(|service| service.hook(&json!({ "runs_on": "request" })));
    let scene = Scene::start(json!({ "hooks": [hooks[0]] })).await;
    let home = scene.gateway.home.clone();
    let (stop, judged) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let agent = Legacy::open(&scene.gateway.url("/mcp"), json!({})).await;
        let (stop, judged) = (Arc::clone(&stop), Arc::clone(&judged));
        callers.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let said = agent.ask("tools/call", Scene::post("forbidden")).await;
                let rule = said["_meta"]["io.mcpproxy/decision"]["rule"].clone();
                assert!(rule == "dlp/ONE" || rule == "dlp/OTHER", "{said}");
                judged.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let text = std::fs::read_to_string(home.config()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let owner = scene.gateway.owner();
    for turn in 1..=RELOADS {
        config["security"]["hooks"] = json!([hooks[turn % 2]]);
        home.configure(&config.to_string());
        let (status, said) = owner.post("/api/v1/config/reload", &json!({})).await;
        assert_eq!(status, 200, "{said}");
        // Each of them comes to judge something.
        let before = judged.load(Ordering::Relaxed);
        while judged.load(Ordering::Relaxed) < before + CALLERS {
            tokio::task::yield_now().await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(scene.arrived().is_empty());
    for service in [one, other] {
        assert!(!service.asked("request").is_empty());
    }
}
