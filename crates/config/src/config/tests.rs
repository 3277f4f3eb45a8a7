//! The schema names what the reader understands.

use super::*;

fn names<'a>(schema: &'a Value, pointer: &str) -> Vec<&'a str> {
    let properties = schema.pointer(pointer).and_then(Value::as_object);
    properties
        .unwrap_or_else(|| panic!("{pointer}"))
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn sections_and_spellings_are_in_the_schema() {
    let schema = schema();
    let top = names(&schema, "/properties");
    for name in ["listen", "limits", "mcpServers", "security", "tool_policy"] {
        assert!(top.contains(&name), "{name}");
    }
    assert_eq!(schema["additionalProperties"], false);
    let upstream = names(&schema, "/$defs/UpstreamSettings/properties");
    for name in [
        "command",
        "url",
        "transport",
        "type",
        "protocol",
        "cwd",
        "disabled",
        "enabled",
    ] {
        assert!(upstream.contains(&name), "{name}");
    }
    assert!(names(&schema, "/$defs/NamedUpstream/properties").contains(&"name"));
    let words = schema["$defs"]["Transport"].to_string();
    assert!(words.contains("streamableHttp"), "{words}");
    assert!(
        schema["$defs"]["ActionLevel"]
            .to_string()
            .contains("approve")
    );
}

#[test]
fn a_default_configuration_shows_no_secret() {
    let mut config = Config::default();
    config.gateway.api_key = Some(mcpproxy_core::Secret::new("hidden"));
    assert!(!format!("{config:?}").contains("hidden"));
    assert!(!serde_json::to_string(&config).unwrap().contains("hidden"));
}
