//! Nothing is spelled anew on the way, in either direction.

use mcpproxy_text as text;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::{all_mode, echo};
use crate::support::{Gateway, Legacy, Over, Upstream, scripted, text_of};

#[tokio::test]
async fn what_an_upstream_answers_is_not_spelled_anew() {
    let odd = r#"{"content":[ ],"n":1.0,"big":123456789012345678901234567890,"e":1e2, "z":-0.0,"new":{"b":1 , "a":"\u00e9\/"},"_meta":{"k":[]}}"#;
    let script = scripted(&format!("answer \"$id\" '{odd}'"));
    let gateway = Gateway::start(&all_mode(&[("line", script)])).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let mut reply = downstream
        .request("tools/call", json!({ "name": "line__do", "arguments": {} }))
        .await;
    reply.result().await;
    let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{odd}}}"#);
    assert_eq!(reply.raw, [expected]);

    let odd = r#""error":{"code":-7.0e0, "message":"m\u00e9","data":[1.0],"more":null}, "x":1"#;
    let script = scripted(&format!(
        r#"printf '%s\n' '{{"jsonrpc":"2.0","id":'"$id"', {odd}}}'"#
    ));
    let gateway = Gateway::start(&all_mode(&[("line", script)])).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let mut reply = downstream
        .request("tools/call", json!({ "name": "line__do", "arguments": {} }))
        .await;
    reply.error().await;
    assert_eq!(reply.raw, [format!(r#"{{"jsonrpc":"2.0","id":1, {odd}}}"#)]);
}

#[tokio::test]
async fn a_message_over_several_lines_is_one_line_to_a_child() {
    let upstream = echo(Over::Shared).await;
    let gateway = Gateway::start(&all_mode(&[("echo", upstream.settings.clone())])).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let params =
        "{\n  \"name\": \"echo__echo\",\r\n  \"arguments\": {\n\t\"text\": \"a\\nb\"\n}\n}";
    let mut reply = downstream.raw("1", "tools/call", params).await;
    assert_eq!(text_of(&reply.result().await), "a\nb");
    assert_eq!(upstream.received_with("tools/call").len(), 1);
}

/// JSON in all spellings that leave its meaning alone.
fn arguments() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        "-?(0|[1-9][0-9]{0,30})",
        "-?(0|[1-9][0-9]{0,3})\\.[0-9]{1,5}",
        "[1-9](\\.[0-9])?[eE][+-]?[0-9]{1,2}",
    ];
    let string = r#""([a-zA-Z0-9 /äß日😀]|\\u00[46][0-9a-fA-F]|\\[nrt"/\\bf]){0,20}""#;
    let leaf = prop_oneof![
        number,
        string,
        Just("null".to_owned()),
        Just("true".to_owned())
    ];
    let space = "[ \t]{0,2}";
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let entries = prop::collection::vec((space, inner, space), 0..5);
        prop_oneof![
            entries.clone().prop_map(|entries| array(&entries)),
            entries.prop_map(|entries| object(&entries)),
        ]
    })
    .prop_map(|value| format!(r#"{{"text":"t", "v" : {value}}}"#))
}

fn array(entries: &[(String, String, String)]) -> String {
    let entries = entries.iter();
    let entries: Vec<_> = entries
        .map(|(a, value, b)| format!("{a}{value}{b}"))
        .collect();
    format!("[{}]", entries.join(","))
}

fn object(entries: &[(String, String, String)]) -> String {
    let entries = entries.iter().enumerate();
    let entries: Vec<_> = entries
        .map(|(at, (a, value, b))| format!("{a}\"k{at}\\u0041\"{b}:{value}"))
        .collect();
    format!("{{{}}}", entries.join(","))
}

/// Sends arguments in every way there is and checks what the upstreams got.
async fn check_sent(all: &Legacy, call: &Legacy, upstreams: [&Upstream; 2], raw: &str) {
    let quoted = Value::from(raw).to_string();
    for (name, upstream) in ["line", "web"].into_iter().zip(upstreams) {
        let direct = format!(r#"{{"name":"{name}__echo","arguments":{raw}}}"#);
        let within = |args: &str| {
            format!(r#"{{"name":"call_tool_read","arguments":{{"name":"{name}:echo",{args}}}}}"#)
        };
        let ways = [
            (all, direct),
            (call, within(&format!(r#""args":{raw}"#))),
            (call, within(&format!(r#""args_json":{quoted}"#))),
        ];
        for (downstream, params) in ways {
            let before = upstream.received_with("tools/call").len();
            downstream
                .raw("1", "tools/call", &params)
                .await
                .result()
                .await;
            let got = upstream.received_with("tools/call");
            assert_eq!(got.len(), before + 1);
            let (got, _) = text::get(&got[before], &["params", "arguments"]).unwrap();
            assert_eq!(got, raw);
        }
    }
}

#[test]
fn what_the_upstream_gets_is_what_was_sent_for_any_arguments() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (line, web) =
        runtime.block_on(async { (echo(Over::Shared).await, echo(Over::Http).await) });
    let config = all_mode(&[
        ("line", line.settings.clone()),
        ("web", web.settings.clone()),
    ]);
    let gateway = runtime.block_on(Gateway::start(&config));
    let open = |path| runtime.block_on(Legacy::open(&gateway.url(path), json!({})));
    let (all, call) = (open("/mcp/all"), open("/mcp/call"));
    let config = Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    };
    let checked = TestRunner::new(config).run(&arguments(), |raw| {
        runtime.block_on(check_sent(&all, &call, [&line, &web], &raw));
        Ok(())
    });
    checked.unwrap();
}
