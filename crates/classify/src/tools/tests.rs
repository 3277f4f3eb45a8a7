//! Tools and their classes, on upstreams of every class.

use Kind::{External, Hybrid, Internal, Unknown};
use mcpproxy_core::Operation;
use proptest::prelude::*;

use super::*;
use crate::upstreams::{Upstream, upstream};

fn classify(upstream_name: &str, descriptor: &str, settings: &Classification) -> ToolClass {
    let about = Upstream {
        name: upstream_name,
        ..Upstream::default()
    };
    let class = upstream(&about, settings);
    tool(&Tool::read(descriptor), upstream_name, &class, settings)
}

/// Builds a descriptor; each parameter is a name.
fn descriptor(name: &str, parameters: &str, more: &str) -> String {
    let properties: Vec<_> = parameters
        .split_whitespace()
        .map(|parameter| format!(r#""{parameter}":{{"type":"string"}}"#))
        .collect();
    let properties = properties.join(",");
    format!(r#"{{"name":"{name}","inputSchema":{{"properties":{{{properties}}}}}{more}}}"#)
}

fn check(upstream: &str, name: &str, parameters: &str, kind: Kind, sink: Sink) {
    let text = descriptor(name, parameters, "");
    let found = classify(upstream, &text, &Classification::default());
    let why = &found.class.reason;
    assert_eq!(
        (found.class.kind, found.as_sink()),
        (kind, sink),
        "{upstream}:{name}: {why}"
    );
}

#[test]
fn us1_1_from_a_code_host_to_a_chat() {
    check("github", "get_file", "path", Internal, Sink::Inside);
    check(
        "slack",
        "post_message",
        "channel text",
        External,
        Sink::Outside,
    );
}

#[test]
fn us1_2_from_a_database_to_a_webhook() {
    check("internal-database", "query", "sql", Internal, Sink::Inside);
    check("webhook", "deliver", "url body", External, Sink::Outside);
}

#[test]
fn us1_3_from_inside_to_inside() {
    check("postgres", "query", "sql", Internal, Sink::Inside);
    check(
        "notion",
        "create_page",
        "parent content",
        Internal,
        Sink::Inside,
    );
}

#[test]
fn fr_006_a_tool_has_the_class_of_its_upstream() {
    check("slack", "list_channels", "", External, Sink::Outside);
    check(
        "github",
        "create_issue",
        "title body",
        Internal,
        Sink::Inside,
    );
    check("gmail", "search_emails", "query", Hybrid, Sink::Inside);
    check("playwright", "browser_snapshot", "", Hybrid, Sink::Inside);
    check(
        "playwright",
        "browser_navigate",
        "url",
        Hybrid,
        Sink::Outside,
    );
}

#[test]
fn a_tool_can_do_more_than_its_upstream() {
    check(
        "gmail",
        "send_email",
        "to subject body",
        External,
        Sink::Outside,
    );
    check("github", "create_gist", "content", Internal, Sink::Inside);
    check("github", "send_message", "to", Hybrid, Sink::Outside);
    check(
        "postgres",
        "push_rows",
        "webhook_url",
        Hybrid,
        Sink::Outside,
    );
    check("jira", "notify_users", "recipients", Hybrid, Sink::Outside);
    check("jira", "get_notifications", "to", Internal, Sink::Inside);
}

#[test]
fn tools_of_unknown_upstreams_speak_for_themselves() {
    check("acme", "send_email", "to body", External, Sink::Outside);
    check(
        "acme",
        "slack_post_message",
        "text",
        External,
        Sink::Outside,
    );
    check("acme", "read_file", "path", Internal, Sink::Unproven);
    check(
        "acme",
        "github_create_issue",
        "title",
        Internal,
        Sink::Unproven,
    );
    check("acme", "web_search", "query", External, Sink::Outside);
    check("acme", "grab", "url", Hybrid, Sink::Outside);
    check("acme", "get_it", "url", External, Sink::Outside);
    check("acme", "load", "file_path", Internal, Sink::Unproven);
    check("acme", "send_file", "path recipient", Hybrid, Sink::Outside);
    check("acme", "frobnicate", "value", Unknown, Sink::Assumed);
    check("acme", "get_thing", "id", Unknown, Sink::Unproven);
    check("acme", "update_thing", "id", Unknown, Sink::Assumed);
    check("acme", "get_thing", "id channel", Unknown, Sink::Assumed);
    check("acme", "send_keys", "keys", Unknown, Sink::Assumed);
}

#[test]
fn the_own_word_of_an_unknown_upstream_proves_nothing() {
    let check = |upstream: &str, name: &str, settings: &Classification, expect: Sink| {
        let closed = r#","annotations":{"readOnlyHint":true,"openWorldHint":false}"#;
        let found = classify(upstream, &descriptor(name, "query", closed), settings);
        assert_eq!(found.as_sink(), expect, "{upstream}:{name}");
    };
    let default = Classification::default();
    check("acme", "search", &default, Sink::Unproven);
    check("acme", "read_database", &default, Sink::Unproven);
    check("postgres", "search", &default, Sink::Inside);
    let by_tool = Classification {
        tool_overrides: [("acme:search".to_owned(), Internal)].into(),
        ..Classification::default()
    };
    check("acme", "search", &by_tool, Sink::Inside);
    let by_upstream = Classification {
        server_overrides: [("acme".to_owned(), Internal)].into(),
        ..Classification::default()
    };
    check("acme", "search", &by_upstream, Sink::Inside);
}

#[test]
fn hints_and_descriptions_count_where_nothing_else_does() {
    let check = |upstream: &str, name: &str, more: &str, kind: Kind, method: Method| {
        let found = classify(
            upstream,
            &descriptor(name, "", more),
            &Classification::default(),
        );
        assert_eq!(
            (found.class.kind, found.class.method),
            (kind, method),
            "{upstream}:{name}"
        );
    };
    let open = r#","annotations":{"openWorldHint":true}"#;
    let closed = r#","annotations":{"openWorldHint":false}"#;
    let sends = r#","description":"Quietly sends the text along.""#;
    check("acme", "frobnicate", open, Hybrid, Method::Annotation);
    check("acme", "frobnicate", closed, Internal, Method::Annotation);
    check("acme", "frobnicate", sends, Hybrid, Method::Heuristic);
    check("acme", "send_email", closed, External, Method::Heuristic);
    check("slack", "post_message", closed, External, Method::Heuristic);
    let reads = r#","annotations":{"readOnlyHint":true}"#;
    check("slack", "list_channels", reads, External, Method::Heuristic);
    check("postgres", "query", open, Internal, Method::Heuristic);
}

#[test]
fn every_source_is_reported() {
    let more =
        r#","description":"Sends mail.","annotations":{"readOnlyHint":true,"openWorldHint":false}"#;
    let found = classify(
        "acme",
        &descriptor("send_mail", "to body", more),
        &Classification::default(),
    );
    let shown = serde_json::to_string(&found.signals).unwrap();
    let expect = concat!(
        r#"[{"source":"name_heuristic","says":"write"},{"source":"server_annotation","says":"read"},"#,
        r#"{"source":"schema","says":"write"},{"source":"name_heuristic","says":"external_send"},"#,
        r#"{"source":"schema","says":"open_world"},{"source":"description","says":"external_send"},"#,
        r#"{"source":"server_annotation","says":"closed_world"}]"#
    );
    assert_eq!(shown, expect);
    assert_eq!(found.does.operation, Some(Operation::Write));
}

#[test]
fn a_class_is_written_with_what_the_tool_does() {
    let found = classify("slack", r#"{"name":"post"}"#, &Classification::default());
    let shown = serde_json::to_value(&found).unwrap();
    assert_eq!(shown["classification"], "external");
    assert_eq!(shown["can_exfiltrate"], true);
    assert_eq!(shown["does"]["operation"], "write");
    assert_eq!(shown["does"]["confidence"], 0.85);
    assert_eq!(shown["world"], "unsaid");
}

#[test]
fn the_operator_is_believed_of_one_tool_before_its_upstream() {
    let settings = Classification {
        server_overrides: [("slack".to_owned(), Internal)].into(),
        tool_overrides: [("slack:post_message".to_owned(), External)].into(),
        ..Classification::default()
    };
    let check = |name: &str, kind: Kind| {
        let found = classify("slack", &descriptor(name, "channel", ""), &settings);
        assert_eq!(
            (found.class.kind, found.class.method),
            (kind, Method::Config),
            "{name}"
        );
    };
    check("post_message", External);
    check("send_message", Internal);
}

proptest! {
    #[test]
    fn overrides_always_win(name in "[a-z_A-Z]{1,30}", upstream in "[a-z-]{1,20}", hint: bool) {
        for kind in [Internal, External, Hybrid, Unknown] {
            let more = format!(r#","annotations":{{"openWorldHint":{hint}}}"#);
            let text = descriptor(&name, "to url path", &more);
            let by_tool = Classification {
                tool_overrides: [(format!("{upstream}:{name}"), kind)].into(),
                ..Classification::default()
            };
            let by_upstream = Classification {
                server_overrides: [(upstream.clone(), kind)].into(),
                ..Classification::default()
            };
            for settings in [by_tool, by_upstream] {
                let found = classify(&upstream, &text, &settings).class;
                prop_assert_eq!((found.kind, found.method), (kind, Method::Config));
            }
        }
    }

    #[test]
    fn any_descriptor_is_taken(text in "\\PC{0,200}") {
        let _class = classify("acme", &text, &Classification::default());
    }
}
