//! Calls that the engine never judges: whoever refuses them, and whoever answers in an upstream's
//! place, there is a receipt of it.

use http::{HeaderMap, Method};
use mcpproxy_mcp::compose;
use serde_json::{Value, json};

use super::{body, calls, config, judged, packs};
use crate::quarantine::{POISON, tool};
use crate::support::{
    Bridge, Gateway, Home, Http, Legacy, Modern, Reply, Upstream, headers, until, within,
};

/// A call of a tool, as a message with this id.
fn call(id: &str, name: &str) -> Vec<u8> {
    let params = json!({ "name": name, "arguments": { "what": "works" } });
    compose::request(id, "tools/call", &params.to_string()).into()
}

/// The same without an id.
fn note(name: &str) -> Vec<u8> {
    let params = json!({ "name": name, "arguments": {} });
    compose::notification("tools/call", &params.to_string()).into()
}

/// What the last pack says of every call: whose, what, how it ended, by which rule, and marks.
fn told(home: &Home) -> Vec<String> {
    let pack = packs(home).pop().unwrap();
    let report = judged(home, &pack);
    assert_eq!(report.session_complete, Some(true), "{report:?}");
    let told = |call: &Value| {
        let (server, tool) = (&call["server_id"], &call["tool_name"]);
        let (outcome, rule) = (&call["outcome"], &call["policy_ref"]);
        let marks = &call["marks"];
        format!("{server} {tool} {outcome} {rule} {marks}").replace('"', "")
    };
    calls(home, &pack).iter().map(told).collect()
}

/// Ends a gateway and compares what it told.
async fn check(gateway: Gateway, expect: &[&str]) -> Vec<Value> {
    let home = gateway.stop().await;
    assert_eq!(told(&home), expect);
    calls(&home, &packs(&home).pop().unwrap())
}

/// Reads an answer to its end, so that the next message comes after it.
async fn done(reply: Reply) -> String {
    within("an answer", reply.text()).await
}

/// Upstreams of which most cannot be called.
fn unfit() -> Value {
    let mut all = config(&json!({ "enabled": true, "durability": "strict" }));
    let upstreams = &mut all["mcpServers"];
    upstreams["narrow"] = upstreams["up"].clone();
    upstreams["narrow"]["tools"] = json!({ "deny": ["do"] });
    upstreams["off"] = json!({ "command": "true", "enabled": false });
    upstreams["down"] = json!({ "command": "false" });
    upstreams["slow"] = json!({ "command": "sleep", "args": ["60"] });
    upstreams["slow"]["start"] = json!("lazy");
    upstreams["slow"]["call_timeout"] = json!("200ms");
    all
}

#[tokio::test]
async fn calls_that_reach_no_upstream_have_receipts() {
    let gateway = Gateway::start(&unfit()).await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    for name in [
        "nobody__do",
        "plain",
        "up__none",
        "narrow__do",
        "off__do",
        "down__do",
        "slow__do",
    ] {
        done(agent.send(call("1", name)).await).await;
    }
    let token = gateway.token("guest", &json!(["off"])).await.at("/mcp");
    let guest = Legacy::open_with(token, json!({})).await;
    done(guest.send(call("1", "up__do")).await).await;
    let stop = json!({ "scope": "upstream:up" });
    let (status, said) = gateway.owner().post("/api/v1/stops", &stop).await;
    assert_eq!(status, 200, "{said}");
    done(agent.send(call("1", "up__do")).await).await;
    let receipts = check(
        gateway,
        &[
            "mcpproxy nobody__do denied unknown_upstream []",
            "mcpproxy plain denied invalid_params []",
            "up none denied unlisted_tool []",
            "narrow do denied invalid_params []",
            "off do error unjudged [upstream_failed]",
            "down do error unjudged [upstream_failed]",
            "slow do timeout unjudged []",
            "up do denied scope []",
            "up do denied stop-calls []",
        ],
    )
    .await;
    // What the caller wrote is not repeated, and what it got instead of an answer is hashed.
    assert_eq!(receipts[1]["policy_reason"], "`…`");
    assert_eq!(
        receipts[3]["policy_reason"],
        "tool `…` is filtered by the configuration"
    );
    assert_eq!(receipts[4]["result_is_error"], true);
    assert_eq!(receipts[0]["mcp_request_id"], 1);
    assert_eq!(receipts[7]["principal"], "token:guest");
}

#[tokio::test]
async fn calls_that_are_refused_for_their_form_have_receipts() {
    let gateway = Gateway::start(&config(&json!("enabled"))).await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let one = String::from_utf8(call("1", "up__do")).unwrap();
    for message in [
        one.replace(r#""what""#, r#""what":1,"what""#),
        one.replace(r#""params":"#, r#""params":[],"x":"#),
        one.replace(r#""works""#, &deep),
        one.replace(r#""2.0""#, r#""1.0""#),
        one.trim_end_matches('}').to_owned(),
        one.replace("works", "\u{1}"),
        format!("[{one},{one}]"),
        format!("\u{feff}[{one}]"),
    ] {
        assert_eq!(agent.send(message.clone()).await.status, 400, "{message}");
    }
    let wide: Vec<u8> = one.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(agent.send(wide).await.status, 400);
    assert_eq!(agent.send(note("up__do")).await.status, 400);
    // What is no call, whatever is wrong with it, has none.
    for message in ["[", r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":1}"#] {
        assert_eq!(agent.send(message).await.status, 400, "{message}");
    }
    let unread = "up do denied refused [uninspected]";
    let batched = "up do denied refused [batch,uninspected]";
    let mut expect = vec![unread; 6];
    // Parameters that are no object name no tool.
    expect[1] = "mcpproxy  denied refused [uninspected]";
    let unknown = expect[1];
    expect.extend([batched; 3]);
    expect.extend([unknown, "up do denied refused [no_id]"]);
    let receipts = check(gateway, &expect).await;
    assert_eq!(receipts[10]["mcp_request_id"], Value::Null);
    let session = |at: usize| &receipts[at]["downstream_session_id"];
    assert_eq!(session(0), session(1));
}

#[tokio::test]
async fn calls_that_doors_turn_away_have_receipts() {
    let gateway = Gateway::start(&config(&json!("enabled"))).await;
    let endpoint = gateway.url("/mcp");
    let json = headers(&[("content-type", "application/json")]);
    let plain = Http::new(&endpoint);
    let post = async |http: &Http, more: &[(&str, &str)], body: Vec<u8>| {
        let mut all = json.clone();
        all.extend(headers(more));
        http.send(Method::POST, "", all, body).await.status.as_u16()
    };
    let gone = [
        ("mcp-session-id", "gone"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    assert_eq!(post(&plain, &gone, call("1", "up__do")).await, 404);
    assert_eq!(post(&plain, &gone[1..], call("1", "up__do")).await, 400);
    // The modern era, with headers that say another thing, and without what it must carry.
    let modern = Modern::new(&endpoint, json!({}));
    let mut params = json!({ "name": "up__do", "arguments": {} });
    params["_meta"] = modern.envelope();
    let other = json!({ "name": "up__other" });
    let message = compose::request("1", "tools/call", &params.to_string());
    let routing = Modern::routing("tools/call", &other);
    assert_eq!(modern.send(message, routing).await.status, 400);
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let message = compose::request("1", "tools/call", &params.to_string());
    let routing = Modern::routing("tools/call", &params);
    assert_eq!(modern.send(message, routing).await.status, 400);
    let version = [("mcp-protocol-version", "2026-07-28")];
    assert_eq!(post(&plain, &version, note("up__do")).await, 400);
    // The older transport, before its session is open.
    let http = gateway.http();
    let mut stream = http.send(Method::GET, "/sse", HeaderMap::new(), "").await;
    let messages = within("the endpoint", stream.next_text()).await.unwrap();
    let older = Http::new(&gateway.url(&messages));
    assert_eq!(post(&older, &[], call("1", "up__do")).await, 400);
    // Lines: no session, half a message, no id.
    let mut bridge = Bridge::start(&gateway.home, &[]);
    for line in [call("1", "up__do"), call("2", "up__do")[..60].to_vec()] {
        bridge.send(&line).await;
        assert!(bridge.next().await.unwrap()["error"].is_object());
    }
    bridge.open_legacy().await;
    bridge.send(&note("up__do")).await;
    bridge.ask("ping", json!({})).await;
    drop(bridge);
    check(
        gateway,
        &[
            "up do denied no_session []",
            "up do denied no_session []",
            "up do denied refused []",
            "up do denied refused []",
            "up do denied refused [no_id]",
            "up do denied no_session []",
            "up do denied no_session []",
            "mcpproxy  denied refused [uninspected]",
            "up do denied refused [no_id]",
        ],
    )
    .await;
}

#[tokio::test]
async fn calls_that_come_too_often_have_receipts() {
    let mut settings = config(&json!("enabled"));
    settings["limits"] = json!({ "calls_per_caller": 2, "api_requests_per_minute": 60 });
    let gateway = Gateway::start(&settings).await;
    gateway.until_ready().await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let (one, two) = (agent.send(body(7, "hangs")), agent.send(body(8, "hangs")));
    let refused = async {
        until("both to hang", || async {
            let status = gateway.owner().get("/api/v1/status").await.1;
            (status["data"]["calls_in_flight"] == 2).then_some(())
        })
        .await;
        done(agent.send(body(7, "works")).await).await;
        done(agent.send(body(9, "works")).await).await;
    };
    let (one, two, ()) = tokio::join!(one, two, refused);
    done(one).await;
    done(two).await;
    let owner = gateway.owner();
    let wanted = json!({ "name": "up:do" });
    let turned_away = until("the rate to be reached", || async {
        let asked = owner.post("/api/v1/tools/call", &wanted).await;
        (asked.0 == 429).then_some(())
    });
    turned_away.await;
    let told = {
        let home = gateway.stop().await;
        told(&home)
    };
    assert_eq!(
        told[..4],
        [
            "up do denied refused [duplicate_id]",
            "up do denied overloaded []",
            "up do timeout default []",
            "up do timeout default []",
        ]
    );
    let passed = |one: &&String| !one.starts_with("up do forwarded ");
    let other: Vec<_> = told[4..].iter().filter(passed).collect();
    let last = "mcpproxy  denied overloaded [uninspected]";
    assert_eq!(other, [last]);
}

#[tokio::test]
async fn calls_of_the_gateway_s_own_tools_have_receipts() {
    let mut settings = config(&json!("enabled"));
    settings["routing_mode"] = json!("call");
    let gateway = Gateway::start(&settings).await;
    gateway.until_ready().await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let own = async |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        done(agent.request("tools/call", params).await).await
    };
    own("retrieve_tools", json!({ "query": "do" })).await;
    own("no_such_tool", json!({})).await;
    own("call_tool_read", json!({})).await;
    own("call_tool_read", json!({ "name": "nobody:do" })).await;
    let words = json!({ "name": "up:do", "intent_reason": "x".repeat(2000) });
    own("call_tool_write", words).await;
    own(
        "call_tool_write",
        json!({ "name": "up:do", "args": { "what": "works" } }),
    )
    .await;
    let rest = async |body: &Value| gateway.owner().post("/api/v1/tools/call", body).await.0;
    assert_eq!(rest(&json!({ "name": 7 })).await, 400);
    let operation = json!({ "name": "up:do", "operation": "wish" });
    assert_eq!(rest(&operation).await, 400);
    assert_eq!(rest(&json!({ "name": "nobody:do" })).await, 404);
    let receipts = check(
        gateway,
        &[
            "mcpproxy retrieve_tools forwarded unjudged []",
            "mcpproxy no_such_tool denied invalid_params []",
            "mcpproxy call_tool_read denied invalid_params []",
            "mcpproxy call_tool_read denied unknown_upstream []",
            "up do denied invalid_params []",
            "up do forwarded default []",
            "mcpproxy  denied refused [uninspected]",
            "mcpproxy up:do denied refused []",
            "mcpproxy call_tool_write denied unknown_upstream []",
        ],
    )
    .await;
    let door = |at: usize| receipts[at]["door"].as_str().unwrap();
    assert_eq!((door(0), door(6), door(8)), ("mcp", "api", "api"));
}

/// What the engine itself refuses, beside the rest: quarantine, what access rules hide and forbid.
#[tokio::test]
async fn calls_that_rules_refuse_have_receipts() {
    const POLICIES: &str = r#"
@id("all")
permit(principal, action, resource) unless { resource.name like "secret*" };
@id("no-keys")
forbid(principal, action, resource)
when { context.arguments has what && context.arguments.what == "works" };
"#;
    let tools = [
        tool("add", POISON),
        tool("sub", "Subtracts."),
        tool("secret", "Hidden."),
    ];
    let results = json!({ "sub": ["1"], "secret": ["2"] });
    let sums = Upstream::play(&json!({ "tools": tools, "results": results }));
    let hook =
        json!({ "id": "rbac-enforcer", "type": "native", "config": { "policies": POLICIES } });
    let settings = json!({
        "routing_mode": "all", "receipts": "enabled",
        "mcpServers": { "sums": sums.settings },
        "security": { "hooks": [hook] },
    });
    let gateway = Gateway::start(&settings).await;
    gateway.until_ready().await;
    let agent = gateway.token("agent", &Value::Null).await.at("/mcp");
    let agent = Legacy::open_with(agent, json!({})).await;
    for name in ["sums__add", "sums__secret", "sums__sub"] {
        done(agent.send(call("1", name)).await).await;
    }
    let outcomes = ["add", "secret", "sub"];
    let home = gateway.stop().await;
    let pack = packs(&home).pop().unwrap();
    let found = calls(&home, &pack);
    let found: Vec<_> = found
        .iter()
        .map(|call| {
            (
                call["tool_name"].as_str().unwrap(),
                call["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, outcomes.map(|name| (name, "denied")));
    assert_eq!(sums.called(), []);
}
