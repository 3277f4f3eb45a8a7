//! Answers that come at once: tables of requests and what is found in their answers.

use super::*;

/// Asks a sample in every era and looks at one place of the answer.
fn check(sample: Sample, method: &str, params: &Value, place: &str, expect: &Value) {
    for era in ERAS {
        let answer = Downstream::start(sample, era).ask(method, params.clone());
        let found = answer.pointer(place).unwrap_or(&Value::Null);
        assert_eq!(found, expect, "{era:?} {method} {params}: {answer}");
    }
}

/// Calls a tool in every era and looks at one place of the result.
fn check_tool(
    sample: Sample,
    name: &str,
    arguments: &Value,
    place: &str,
    expect: impl Into<Value>,
) {
    let params = json!({ "name": name, "arguments": arguments });
    let place = format!("/result{place}");
    check(sample, "tools/call", &params, &place, &expect.into());
}

const TEXT: &str = "/content/0/text";

#[test]
fn tools_of_the_code_host() {
    let check = |name, arguments: Value, place, expect: Value| {
        check_tool(Sample::Github, name, &arguments, place, expect);
    };
    let retry = "/// Doubles the delay after each failure, up to a minute.\n";
    let path = json!({ "path": "src/retry.rs" });
    check(
        "list_files",
        json!({}),
        "/structuredContent/files/1",
        "config/production.env".into(),
    );
    check(
        "get_file",
        json!({ "path": "x" }),
        TEXT,
        "no file is called `x`".into(),
    );
    check("get_file", json!({ "path": "x" }), "/isError", true.into());
    check(
        "get_file",
        json!({}),
        TEXT,
        "argument `path` must be a string".into(),
    );
    check("get_file", path.clone(), "/isError", Value::Null);
    let issue = json!({ "title": "Late", "body": "Very." });
    check("create_issue", issue, "/structuredContent/number", 2.into());
    let answer = Downstream::start(Sample::Github, EraSupport::Both).ask(
        "tools/call",
        json!({ "name": "get_file", "arguments": path }),
    );
    let content = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(content.starts_with(retry), "{content}");
}

#[test]
fn the_credentials_of_the_code_host_are_there_to_be_found() {
    let answer = Downstream::start(Sample::Github, EraSupport::Both).ask(
        "tools/call",
        json!({ "name": "get_file", "arguments": { "path": "config/production.env" } }),
    );
    let content = answer["result"]["content"][0]["text"].as_str().unwrap();
    for secret in [
        "AKIAQ3EGRTLZ7VHWN2KM",
        "q8Zr1vTnB0xLw4YhKd7sEoGu2mPfJc5RiVaXt9Ny",
        "postgres://billing:tr0ub4dor-and-3@db.internal.example:5432/billing",
    ] {
        assert!(content.contains(secret), "{secret}");
    }
}

#[test]
fn tools_of_the_chat() {
    let check = |name, arguments: Value, place, expect: &str| {
        check_tool(Sample::Slack, name, &arguments, place, expect);
    };
    let post = |channel: &str| json!({ "channel": channel, "text": "hello" });
    check(
        "list_channels",
        json!({}),
        "/structuredContent/channels/2",
        "partners",
    );
    check(
        "post_message",
        post("general"),
        TEXT,
        "posted msg-2 to #general",
    );
    check(
        "post_message",
        post("general"),
        "/structuredContent/id",
        "msg-2",
    );
    check(
        "post_message",
        post("secret"),
        TEXT,
        "no channel is called `secret`",
    );
    check(
        "post_message",
        json!({ "channel": "general" }),
        TEXT,
        "argument `text` must be a string",
    );
}

#[test]
fn tools_that_answer_at_once() {
    let check = |name, arguments: Value, place, expect: Value| {
        check_tool(Sample::Echo, name, &arguments, place, expect);
    };
    let odd = "\u{1F980}\n\"\\u0000";
    check("echo", json!({ "text": odd }), TEXT, odd.into());
    check(
        "echo",
        json!({ "text": odd }),
        "/structuredContent/text",
        odd.into(),
    );
    check(
        "add",
        json!({ "a": 2, "b": 3 }),
        "/structuredContent/sum",
        5.into(),
    );
    check("add", json!({ "a": 0.5, "b": 1 }), TEXT, "1.5".into());
    check(
        "add",
        json!({ "a": i64::MAX, "b": 1 }),
        "/isError",
        Value::Null,
    );
    check(
        "add",
        json!({ "a": "2", "b": 3 }),
        TEXT,
        "argument `a` must be a number".into(),
    );
    check("big", json!({ "bytes": 5 }), TEXT, "xxxxx".into());
    let bound = "argument `bytes` must be from 0 to 33554432";
    check("big", json!({ "bytes": 1_u64 << 40 }), TEXT, bound.into());
    check("fail", json!({}), "/isError", true.into());
    check(
        "log",
        json!({ "text": "", "level": "loud" }),
        "/isError",
        true.into(),
    );
}

#[test]
fn lists_and_readings() {
    let check = |method, params: Value, place, expect: Value| {
        check(Sample::Echo, method, &params, place, &expect);
    };
    let prompt = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let complete = |kind: &str, begun: &str| {
        let argument = json!({ "name": "name", "value": begun });
        json!({ "ref": { "type": kind, "name": "greet" }, "argument": argument })
    };
    let greeting = "/result/messages/0/content/text";
    let values = "/result/completion/values";
    check(
        "prompts/list",
        json!({}),
        "/result/prompts/0/name",
        "greet".into(),
    );
    check(
        "prompts/get",
        prompt("greet", json!({ "name": "Ada" })),
        greeting,
        "Say hello to Ada.".into(),
    );
    check(
        "prompts/get",
        prompt("greet", json!({})),
        "/error/code",
        (-32602).into(),
    );
    check(
        "prompts/get",
        prompt("curse", json!({})),
        "/error/code",
        (-32602).into(),
    );
    check(
        "resources/list",
        json!({}),
        "/result/resources/0/uri",
        "memo://1".into(),
    );
    let template = "/result/resourceTemplates/0/uriTemplate";
    check(
        "resources/templates/list",
        json!({}),
        template,
        "memo://{id}".into(),
    );
    let memo = json!({ "uri": "memo://77" });
    check(
        "resources/read",
        memo,
        "/result/contents/0/text",
        "This is memo 77.".into(),
    );
    check(
        "completion/complete",
        complete("ref/prompt", "A"),
        values,
        json!(["Ada", "Alan"]),
    );
    check(
        "completion/complete",
        complete("ref/resource", "2"),
        values,
        json!(["2"]),
    );
    check(
        "completion/complete",
        complete("ref/x", ""),
        "/error/code",
        (-32602).into(),
    );
}

#[test]
fn tools_and_methods_that_are_not_there() {
    let check = |method, params: Value, place, expect: Value| {
        check(Sample::Echo, method, &params, place, &expect);
    };
    check(
        "tools/call",
        json!({ "name": "none" }),
        "/error/message",
        "unknown tool `none`".into(),
    );
    check(
        "tools/call",
        json!({ "name": "extra_1" }),
        "/error/code",
        (-32602).into(),
    );
    check(
        "tools/list",
        json!({ "cursor": "x" }),
        "/error/code",
        (-32602).into(),
    );
    check(
        "tools/list",
        json!({ "cursor": "page-9" }),
        "/result/tools",
        json!([]),
    );
    check(
        "x/y",
        json!({}),
        "/error/message",
        "unknown method `x/y`".into(),
    );
}

#[test]
fn each_era_has_what_the_other_lacks() {
    let check = |sample, method: &str, params: Value, place: &str, expect: [Value; 2]| {
        for (era, expect) in ERAS.into_iter().zip(expect) {
            let answer = Downstream::start(sample, era).ask(method, params.clone());
            let found = answer.pointer(place).unwrap_or(&Value::Null);
            assert_eq!(found, &expect, "{era:?} {method}: {answer}");
        }
    };
    let echo = Sample::Echo;
    let unknown = || Value::from(-32601);
    let none = Value::Null;
    let code = "/error/code";
    check(echo, "ping", json!({}), code, [none.clone(), unknown()]);
    check(
        echo,
        "logging/setLevel",
        json!({ "level": "info" }),
        code,
        [none.clone(), unknown()],
    );
    check(
        echo,
        "resources/subscribe",
        json!({ "uri": "a" }),
        code,
        [none.clone(), unknown()],
    );
    check(
        echo,
        "server/discover",
        json!({}),
        code,
        [unknown(), none.clone()],
    );
    check(
        echo,
        "subscriptions/listen",
        json!({}),
        code,
        [unknown(), (-32602).into()],
    );
    let gone = json!({ "uri": "file:///x" });
    check(
        echo,
        "resources/read",
        gone,
        code,
        [(-32002).into(), (-32602).into()],
    );
    let old = json!({ "protocolVersion": "2025-06-18" });
    check(
        echo,
        "initialize",
        old,
        code,
        [none.clone(), (-32022).into()],
    );
    check(
        echo,
        "tools/list",
        json!({}),
        "/result/resultType",
        [none.clone(), "complete".into()],
    );
    check(
        echo,
        "tools/list",
        json!({}),
        "/result/cacheScope",
        [none.clone(), "public".into()],
    );
    let private = [none.clone(), "private".into()];
    check(
        Sample::Github,
        "tools/list",
        json!({}),
        "/result/cacheScope",
        private,
    );
    check(
        echo,
        "tools/list",
        json!({}),
        "/result/ttlMs",
        [none.clone(), 1000.into()],
    );
    let versions = [none.clone(), json!(["2026-07-28"])];
    check(
        echo,
        "server/discover",
        json!({}),
        "/result/supportedVersions",
        versions,
    );
    check(
        Sample::Slack,
        "prompts/list",
        json!({}),
        code,
        [unknown(), unknown()],
    );
}

#[test]
fn lines_that_are_refused() {
    let check = |era, line: &str, expect: i64| {
        let mut downstream = Downstream::silent(
            Sample::Echo,
            Options {
                era,
                ..Options::default()
            },
        );
        downstream.say(line);
        assert_eq!(downstream.next()["error"]["code"], expect, "{era:?} {line}");
    };
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let version = |version: &str| {
        format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#
        )
    };
    let (both, modern) = (EraSupport::Both, EraSupport::ModernOnly);
    check(both, "{", -32700);
    check(both, "[]", -32600);
    check(
        both,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        -32600,
    );
    check(both, &request("tools/list", "{}"), -32600);
    check(both, &request("server/discover", "{}"), -32602);
    check(both, &request("tools/list", &version("2030-01-01")), -32022);
    check(modern, &request("tools/list", "{}"), -32602);
    check(
        modern,
        &request("initialize", r#"{"protocolVersion":"2025-11-25"}"#),
        -32022,
    );
    check(
        EraSupport::LegacyOnly,
        &request("server/discover", &version("2026-07-28")),
        -32601,
    );
}

#[test]
fn both_eras_can_share_a_line() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both);
    assert_eq!(downstream.ask("ping", json!({}))["result"], json!({}));
    let meta: Value = serde_json::from_str(META).unwrap();
    let answer = downstream.ask("tools/call", json!({ "name": "hang2", "_meta": meta }));
    assert_eq!(answer["error"]["code"], -32602);
    let answer = downstream.ask("server/discover", json!({ "_meta": meta }));
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn tools_say_what_they_do() {
    let check = |sample, name: &str, read_only: bool, destructive: bool, open: bool| {
        let answer = Downstream::start(sample, EraSupport::Both).ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["inputSchema"]["type"], "object");
        let expect = json!({
            "readOnlyHint": read_only, "destructiveHint": destructive, "openWorldHint": open,
        });
        assert_eq!(tool["annotations"], expect, "{name}");
    };
    check(Sample::Github, "get_file", true, false, false);
    check(Sample::Github, "list_files", true, false, false);
    check(Sample::Github, "create_issue", false, false, false);
    check(Sample::Slack, "post_message", false, false, true);
    check(Sample::Slack, "list_channels", true, false, true);
    check(Sample::Echo, "echo", true, false, false);
    check(Sample::Echo, "crash", false, true, false);
    check(Sample::Echo, "change", false, false, false);
}

#[test]
fn long_lists_come_in_pages() {
    let options = Options {
        many: 250,
        ..Options::default()
    };
    let mut downstream = Downstream::silent(Sample::Echo, options);
    downstream.greet();
    let (mut params, mut names, mut pages) = (json!({}), Vec::new(), 0);
    loop {
        let result = downstream.ask("tools/list", params)["result"].take();
        let tools = result["tools"].as_array().unwrap();
        names.extend(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        let Some(cursor) = result.get("nextCursor") else {
            break;
        };
        params = json!({ "cursor": cursor });
    }
    let own = names.iter().position(|name| name == "many_1").unwrap();
    assert_eq!((names.len() - own, pages), (250, 3));
    let mut check = |name: &str, place: &str, expect: Value| {
        let answer = downstream.ask("tools/call", json!({ "name": name }));
        assert_eq!(answer.pointer(place), Some(&expect), "{name}: {answer}");
    };
    check("many_250", "/result/content/0/text", "many_250".into());
    check("many_251", "/error/code", (-32602).into());
    check("many_01", "/error/code", (-32602).into());
}
