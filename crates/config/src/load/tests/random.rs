//! No configuration stops the loader.

use proptest::prelude::*;

use super::super::*;
use crate::show::show;
use crate::sources::Flags;

/// Keys and values that are known in one place and wrong in most others.
fn tree() -> impl Strategy<Value = serde_json::Value> {
    let word = prop::sample::select(vec![
        "ask",
        "http",
        "10s",
        "16MB",
        "npx",
        "https://a",
        "127.0.0.1:1",
        "${X}",
        "${NO}",
        "~/x",
        "request",
    ]);
    let leaf = prop_oneof![
        word.prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    let key = prop::sample::select(vec![
        "listen",
        "api_key",
        "limits",
        "body_bytes",
        "call_timeout",
        "log",
        "level",
        "mcpServers",
        "a",
        "command",
        "url",
        "args",
        "env",
        "headers",
        "type",
        "disabled",
        "enabled",
        "name",
        "tools",
        "allow",
        "restart",
        "security",
        "hooks",
        "agent_hooks",
        "id",
        "runs_on",
        "timeout",
        "config",
        "tool_policy",
        "read",
        "flow_policy",
        "tool_overrides",
        "classification",
        "oops",
    ]);
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_configuration_stops_the_loader(root in tree(), text in "\\PC{0,40}") {
        let environment = |name: &str| (name == "X").then(|| text.clone());
        let sources = Sources::new(Flags::default(), &environment);
        for name in ["a.json", "a.yaml"] {
            match load_text(&sources, FilePath::new(name), &root.to_string()) {
                Ok(loaded) => prop_assert!(show(&loaded, true).len() > 40),
                Err(problems) => prop_assert!(problems.iter().count() > 0),
            }
        }
    }
}
