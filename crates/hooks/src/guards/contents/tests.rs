//! Messages of the right form and of wrong ones.

use mcpproxy_testkit::samples;

use super::*;

const TOOL: &str = r#"{
    "name": "post_message",
    "inputSchema": {
        "type": "object",
        "properties": {
            "channel": { "type": "string", "pattern": "^[a-z]{1,12}$" },
            "count": { "type": "integer", "maximum": 10 }
        },
        "required": ["channel"],
        "additionalProperties": false
    },
    "outputSchema": { "type": "object", "required": ["sent"] }
}"#;

fn guard(settings: &str, tool: &str) -> Contents {
    let guard = Contents::new(serde_json::from_str(settings).unwrap());
    let call = samples::call();
    guard.learn(&call.tool.upstream, [(&call.tool.tool, tool)].into_iter());
    guard
}

fn call(arguments: &str) -> Call {
    let mut call = samples::call();
    let raw =
        format!(r#"{{"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#);
    call.wire.raw = raw.into();
    call
}

fn reason(found: Option<Finding>) -> String {
    found.map_or_else(String::new, |found| found.reason.as_str().to_owned())
}

#[test]
fn arguments_have_the_form_that_the_tool_declares() {
    let check = |settings: &str, tool: &str, arguments: &str, expect: &str| {
        let found = reason(guard(settings, tool).request(&call(arguments)));
        let empty = expect.is_empty();
        assert!(
            found.contains(expect) && found.is_empty() == empty,
            "{arguments}: {found}"
        );
    };
    check("{}", TOOL, r#"{"channel":"ops","count":3}"#, "");
    check("{}", TOOL, r#"{"count":3}"#, "`required`");
    check(
        "{}",
        TOOL,
        r#"{"channel":"OPS; rm"}"#,
        "at `/channel` break the rule `pattern`",
    );
    check("{}", TOOL, r#"{"channel":"ops","count":"3"}"#, "`type`");
    check("{}", TOOL, r#"{"channel":"ops","count":11}"#, "`maximum`");
    check(
        "{}",
        TOOL,
        r#"{"channel":"ops","secret":"sk-1"}"#,
        "`additionalProperties`",
    );
    check(
        r#"{"check_request_body":false}"#,
        TOOL,
        r#"{"count":3}"#,
        "",
    );
    check(
        r#"{"max_body_size":"20B"}"#,
        TOOL,
        r#"{"channel":"ops"}"#,
        "20 at most",
    );
    check("{}", r#"{"name":"post_message"}"#, r#"{"any":"thing"}"#, "");
    // A schema that cannot be used stops nobody, unless the configuration says so.
    let strict = r#"{"strict_mode":true}"#;
    let elsewhere = r#"{"inputSchema":{"$ref":"https://evil.example/schema.json"}}"#;
    check("{}", elsewhere, r#"{"any":"thing"}"#, "");
    check(
        strict,
        elsewhere,
        r#"{"any":"thing"}"#,
        "not one that can be used",
    );
    let backtracking = r#"{"inputSchema":{"properties":{"a":{"pattern":"^(a+)+(?=b)$"}}}}"#;
    check(
        strict,
        backtracking,
        r#"{"a":"aaa"}"#,
        "not one that can be used",
    );
    let deep = format!(
        r#"{{"inputSchema":{}1{}}}"#,
        r#"{"not":"#.repeat(60),
        "}".repeat(60)
    );
    check(strict, &deep, r#"{"a":"aaa"}"#, "nested too deep");
    let large = format!(
        r#"{{"inputSchema":{{"title":"{}"}}}}"#,
        "x".repeat(LARGEST_SCHEMA)
    );
    check(strict, &large, "{}", "too large");
}

#[test]
fn what_cannot_be_used_of_a_schema_switches_nothing_else_off() {
    let check = |schema: &str, arguments: &str, expect: &str| {
        let tool = format!(r#"{{"inputSchema":{schema}}}"#);
        let found = reason(guard("{}", &tool).request(&call(arguments)));
        let empty = expect.is_empty();
        assert!(
            found.contains(expect) && found.is_empty() == empty,
            "{arguments}: {found}"
        );
    };
    let ahead = r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x).*$"},"n":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#;
    check(ahead, r#"{"a":"ok","n":1}"#, "");
    check(ahead, r#"{"a":"xx","n":1}"#, "");
    check(ahead, r#"{"a":"ok","zz":1}"#, "`additionalProperties`");
    check(ahead, r#"{"a":"ok","n":"one"}"#, "`type`");
    check(ahead, r#"{"n":1}"#, "`required`");
    let elsewhere = r##"{"properties":{"a":{"$ref":"https://evil.example/a.json"},"b":{"$ref":"#/$defs/n"},"c":{"$ref":"#/$defs/gone"}},"required":["b"],"$defs":{"n":{"type":"integer"}}}"##;
    check(elsewhere, r#"{"a":[],"b":1,"c":{}}"#, "");
    check(elsewhere, r#"{"a":[],"b":"one"}"#, "`type`");
    check(elsewhere, r#"{"a":[]}"#, "`required`");
    // What is left never refuses what the whole would take.
    let denied = r#"{"properties":{"a":{"not":{"pattern":"(?=x)y"}},"b":{"oneOf":[{"pattern":"^(?=a)"},{"type":"string"}]}},"required":["a"]}"#;
    check(denied, r#"{"a":"ok","b":"b"}"#, "");
    check(denied, "{}", "`required`");
    let named = r#"{"patternProperties":{"^(?=x)":{"type":"string"},"^n":{"type":"integer"}},"additionalProperties":false}"#;
    check(named, r#"{"x1":"ok","n1":1}"#, "");
    check(named, r#"{"n1":"one"}"#, "`type`");
    // A property may have the name of a rule.
    let odd = r#"{"properties":{"not":{"type":"string"},"pattern":{"type":"string","pattern":"^(?!x)"}},"required":["not"]}"#;
    check(odd, r#"{"not":"a","pattern":"b"}"#, "");
    check(odd, r#"{"not":1}"#, "`type`");
}

#[test]
fn a_value_is_never_in_the_reason() {
    let found = guard("{}", TOOL).request(&call(r#"{"channel":"ghp_SECRET"}"#));
    assert!(!reason(found).contains("ghp_"));
}

#[test]
fn results_have_the_form_that_the_tool_declares() {
    let check = |settings: &str, result: &str, expect: &str| {
        let found = reason(guard(settings, TOOL).response(&call("{}"), result));
        let empty = expect.is_empty();
        assert!(
            found.contains(expect) && found.is_empty() == empty,
            "{result}: {found}"
        );
    };
    check("{}", r#"{"structuredContent":{"sent":true}}"#, "");
    check("{}", r#"{"structuredContent":{"lost":true}}"#, "`required`");
    check("{}", r#"{"content":[{"type":"text","text":"a"}]}"#, "");
    check(
        r#"{"check_response_body":false}"#,
        r#"{"structuredContent":{}}"#,
        "",
    );
    check(
        r#"{"max_body_size":10}"#,
        r#"{"content":[]}        "#,
        "10 at most",
    );
    let texts = r#"{"allowed_content_types":["text","image/*"]}"#;
    check(texts, r#"{"content":[{"type":"text","text":"a"}]}"#, "");
    check(
        texts,
        r#"{"content":[{"type":"image","mimeType":"image/png","data":""}]}"#,
        "",
    );
    check(
        texts,
        r#"{"content":[{"type":"audio","mimeType":"audio/wav","data":""}]}"#,
        "`audio/wav`",
    );
    let page =
        r#"{"content":[{"type":"resource","resource":{"uri":"a:b","mimeType":"text/html"}}]}"#;
    check(texts, page, "`text/html`");
    // What is read of a resource, and what does not say what it is.
    let read = |said: &str| format!(r#"{{"contents":[{{"uri":"a:b"{said},"text":"<b>"}}]}}"#);
    check(texts, &read(r#","mimeType":"text/html""#), "`text/html`");
    check(texts, &read(r#","mimeType":"text/plain""#), "");
    check(texts, &read(""), "");
    check(texts, r#"{"content":[{"text":"a"}]}"#, "of which kind");
    check(texts, r#"{"content":"<b>"}"#, "no list");
    check(texts, r#"{"structuredContent":{"sent":true}}"#, "");
}
