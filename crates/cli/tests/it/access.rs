//! Who may come in. What a message must look like to be heard is in `messages`.

mod certificates;
mod messages;
pub(crate) mod oauth;
mod policies;

use std::os::unix::fs::PermissionsExt as _;

use http::{HeaderMap, Method};
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{
    Bridge, Gateway, Home, Http, Legacy, Modern, Over, Upstream, headers, speak, text_of, within,
};

pub(crate) async fn two() -> (Upstream, Upstream, Value) {
    let both = EraSupport::Both;
    let one = Upstream::start(Sample::Echo, both, Over::Shared).await;
    let other = Upstream::start(Sample::Echo, both, Over::Http).await;
    let upstreams = json!({ "one": one.settings, "other": other.settings });
    let config = json!({ "routing_mode": "all", "mcpServers": upstreams });
    (one, other, config)
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn post(head: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\n{head}content-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[tokio::test]
async fn host_and_origin_are_checked_each_on_its_own() {
    let config = json!({
        "allowed_hosts": ["gate.example"], "allowed_origins": ["https://app.example"],
    });
    let gateway = Gateway::start(&config).await;
    let check = async |head: &str, expect: u16| {
        let answer = speak(&gateway.address, &post(head, PING)).await;
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        assert_eq!(status, expect.to_string(), "{head}: {answer}");
    };
    // Without a session the legacy era answers 400: whoever gets that came in.
    check("host: localhost\r\n", 400).await;
    check("host: 127.0.0.1:9\r\n", 400).await;
    check("host: [::1]\r\n", 400).await;
    check("host: gate.example\r\n", 400).await;
    check("host: evil.example\r\n", 403).await;
    check("host: localhost.evil.example\r\n", 403).await;
    check("host: localhost\r\nhost: evil.example\r\n", 400).await;
    check("", 400).await;
    check("host: localhost\r\norigin: http://localhost:3000\r\n", 400).await;
    check("host: localhost\r\norigin: https://app.example\r\n", 400).await;
    check("host: localhost\r\norigin: https://evil.example\r\n", 403).await;
    check("host: localhost\r\norigin: null\r\n", 403).await;
    check("host: evil.example\r\norigin: http://localhost\r\n", 403).await;
    check(
        "host: gate.example\r\norigin: https://evil.example\r\n",
        403,
    )
    .await;
}

/// Regression for #8: the page was served, and what it sent was refused.
#[tokio::test]
async fn the_dashboard_is_logged_in_to_at_any_name_it_is_served_at() {
    let gateway = Gateway::start(&json!({ "allowed_hosts": ["gate.example"] })).await;
    let (_, made) = gateway.owner().post("/ui/link", &json!({})).await;
    let path = made["data"]["path"].as_str().unwrap();
    let (_, link) = path.split_once("?link=").unwrap();
    let check = async |path: &str, head: &str, body: &str, expect: u16| {
        let form = String::from_utf8(post(head, body)).unwrap();
        let form = form.replace("POST /mcp", &format!("POST {path}"));
        let form = form.replace("application/json", "application/x-www-form-urlencoded");
        let answer = speak(&gateway.address, form.as_bytes()).await;
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        assert_eq!(status, expect.to_string(), "{path} {head}: {answer}");
        assert_eq!(
            answer.contains("mcpproxy_session="),
            expect == 303,
            "{answer}"
        );
    };
    let (key, link) = (
        format!("key={}", gateway.home.key()),
        format!("link={link}"),
    );
    let own = "host: gate.example:81\r\norigin: http://gate.example:81\r\n";
    check("/ui/login", own, &key, 303).await;
    check("/ui/open", own, &link, 303).await;
    for (host, origin) in [
        ("gate.example:81", "http://gate.example:82"),
        ("gate.example:81", "http://evil.example:81"),
        ("evil.example:81", "http://evil.example:81"),
        // Another page of this machine is known, but the form is not its own.
        ("gate.example:81", "http://localhost:81"),
    ] {
        let head = format!("host: {host}\r\norigin: {origin}\r\n");
        check("/ui/login", &head, &key, 403).await;
    }
    // No page of ours calls what is for programs.
    check("/mcp", own, PING, 403).await;
    check("/api/v1/stops", own, "{}", 403).await;
}

#[tokio::test]
async fn a_key_is_made_at_the_first_start_for_its_owner_only() {
    let gateway = Gateway::start(&json!({ "require_auth": true })).await;
    let file = gateway.home.data().join("api_key");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = gateway.home.key();
    assert!(key.len() >= 32, "{}", key.len());
    assert!(!gateway.log().contains(&key));
    gateway.until_logged("an API key was made in").await;
    let home = gateway.stop().await;
    let again = Gateway::start_in(home).await;
    assert_eq!(again.home.key(), key, "a restart keeps the key");
    assert_eq!(again.api("/status").await["config_problem"], Value::Null);
}

#[tokio::test]
async fn where_a_key_is_required_nothing_else_comes_in() {
    let gateway = Gateway::start(&json!({ "require_auth": true })).await;
    let key = gateway.home.key();
    let check = async |pairs: &[(&str, &str)], path: &str, expect: u16| {
        let reply = gateway
            .http()
            .send(Method::GET, path, headers(pairs), "")
            .await;
        assert_eq!(reply.status, expect, "{pairs:?} {path}");
        let challenge = reply.headers.get("www-authenticate");
        assert_eq!(challenge.is_some(), expect == 401, "{pairs:?} {path}");
    };
    let bearer = format!("Bearer {key}");
    for path in ["/api/v1/status", "/mcp", "/sse"] {
        check(&[], path, 401).await;
        check(&[("x-api-key", "wrong")], path, 401).await;
        check(&[("x-api-key", "")], path, 401).await;
        check(&[("authorization", "Bearer wrong")], path, 401).await;
        check(&[("authorization", &key)], path, 401).await;
        check(&[("authorization", "Basic a2V5")], path, 401).await;
    }
    check(&[("x-api-key", &key)], "/api/v1/status", 200).await;
    check(&[("authorization", &bearer)], "/api/v1/status", 200).await;
    check(&[], "/healthz", 200).await;
    let key = format!("/api/v1/status?api_key={key}");
    check(&[], &key, 401).await;
}

#[tokio::test]
async fn without_a_credential_this_machine_may_call_but_not_administer() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    downstream.call("one__echo", json!({ "text": "x" })).await;
    let (status, answer) = gateway.http().get("/api/v1/servers").await;
    assert_eq!((status.as_u16(), &answer["success"]), (403, &json!(false)));
    // A wrong credential is never taken for none.
    let wrong = gateway.http().with("x-api-key", "wrong");
    assert_eq!(wrong.get("/api/v1/servers").await.0, 401);
}

#[tokio::test]
async fn an_agent_s_token_reaches_only_its_upstreams_and_administers_nothing() {
    let (_one, other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let agent = gateway.token("bot", &json!(["one"])).await;
    let endpoint = agent.clone().at("/mcp");
    let legacy = Legacy::open_with(endpoint.clone(), json!({})).await;
    let modern = Modern::with(endpoint, json!({}));
    let said = json!({ "text": "x" });
    assert_eq!(text_of(&legacy.call("one__echo", said.clone()).await), "x");
    assert_eq!(text_of(&modern.call("one__echo", said.clone()).await), "x");
    let refused = [
        legacy.call("other__echo", said.clone()).await,
        modern.call("other__echo", said).await,
    ];
    for result in refused {
        assert_eq!(result["isError"], true, "{result}");
        assert!(text_of(&result).contains("scope"), "{result}");
    }
    assert_eq!(other.received_with("tools/call").len(), 0);
    for path in ["/status", "/servers", "/tokens", "/stops", "/sessions"] {
        let (status, _) = agent.get(&format!("/api/v1{path}")).await;
        assert_eq!(status, 403, "{path}");
    }
    let more = json!({ "name": "more" });
    assert_eq!(agent.post("/api/v1/tokens", &more).await.0, 403);
    let stop = json!({ "scope": "all" });
    assert_eq!(agent.post("/api/v1/stops", &stop).await.0, 403);
    let reload = agent.post("/api/v1/config/reload", &json!({})).await;
    assert_eq!(reload.0, 403);
}

#[tokio::test]
async fn a_scoped_token_does_not_subscribe_to_resources_elsewhere() {
    let modern = Upstream::start(Sample::Echo, EraSupport::ModernOnly, Over::Http).await;
    let plain = Upstream::start(Sample::Github, EraSupport::LegacyOnly, Over::Shared).await;
    let upstreams = json!({ "plain": plain.settings, "modern": modern.settings });
    let config = json!({ "routing_mode": "all", "mcpServers": upstreams });
    let gateway = Gateway::start(&config).await;
    let agent = gateway.token("bot", &json!(["plain"])).await.at("/mcp");
    let legacy = Legacy::open_with(agent, json!({})).await;
    for method in ["resources/read", "resources/subscribe"] {
        let mut reply = legacy.request(method, json!({ "uri": "memo://1" })).await;
        let error = reply.error().await;
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("no upstream offers")
        );
    }
}

#[tokio::test]
async fn a_scoped_token_is_not_told_of_other_upstreams() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let agent = gateway.token("bot", &json!(["one"])).await;
    let all = Legacy::open_with(agent.clone().at("/mcp/all"), json!({})).await;
    let call = Legacy::open_with(agent.at("/mcp/call"), json!({})).await;
    for list in ["tools/list", "prompts/list", "resources/list"] {
        let told = all.ask(list, json!({})).await.to_string();
        assert!(!told.contains("other__"), "{list}: {told}");
    }
    let told = all.ask("tools/list", json!({})).await.to_string();
    assert!(told.contains("one__echo"), "{told}");
    let asked = [
        (
            "retrieve_tools",
            json!({ "query": "echo", "explain_tool": "other:echo" }),
        ),
        ("upstream_servers", json!({ "operation": "list" })),
    ];
    for (tool, arguments) in asked {
        let told = text_of(&call.call(tool, arguments).await).to_owned();
        assert!(told.contains("one"), "{tool}: {told}");
        let told = told.replace("`other:echo` is not indexed", "");
        assert!(!told.contains("other"), "{tool}: {told}");
    }

    let params = json!({ "name": "describe_tool", "arguments": { "name": "other:echo" } });
    let mut reply = call.request("tools/call", params).await;
    let error = reply.error().await.to_string();
    assert!(error.contains("no upstream"), "{error}");
}

#[tokio::test]
async fn an_address_that_two_upstreams_offer_is_not_guessed() {
    let (one, other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let everybody = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let uri = json!({ "uri": "memo://1" });
    let mut reply = everybody.request("resources/read", uri.clone()).await;
    let error = reply.error().await.to_string();
    assert!(error.contains("`one`, `other`"), "{error}");
    assert!(one.received_with("resources/read").is_empty());
    assert!(other.received_with("resources/read").is_empty());
    let agent = gateway.token("bot", &json!(["other"])).await.at("/mcp");
    let agent = Legacy::open_with(agent, json!({})).await;
    agent.ask("resources/read", uri).await;
    assert_eq!(other.received_with("resources/read").len(), 1);
}

#[tokio::test]
async fn a_revoked_token_is_worth_nothing_at_once() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let agent = gateway.token("bot", &Value::Null).await.at("/mcp");
    let legacy = Legacy::open_with(agent, json!({})).await;
    legacy.call("one__echo", json!({ "text": "x" })).await;
    let (status, _) = gateway.owner().delete("/api/v1/tokens/bot").await;
    assert_eq!(status, 200);
    let params = json!({ "name": "one__echo", "arguments": { "text": "x" } });
    let reply = legacy.request("tools/call", params).await;
    assert_eq!(reply.status, 401);
}

#[tokio::test]
async fn the_unix_socket_is_the_owner_s_without_a_key() {
    let gateway = Gateway::start(&json!({ "require_auth": true })).await;
    let socket = gateway.home.data().join("mcpproxy.sock");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let shown = gateway.home.run(&["status", "--json"]).await;
    assert!(shown.status.success());
    let status: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(status["routing_mode"], "call");
}

#[tokio::test]
async fn an_address_that_others_reach_is_not_served_without_authentication() {
    let home = Home::new(&json!({ "require_auth": false }));
    let open = Gateway::launch(home, &["--listen", "0.0.0.0:0"]).await;
    let refused = open.err().unwrap();
    assert_eq!(refused.code, Some(3));
    assert!(refused.said.contains("require_auth"), "{}", refused.said);
}

#[tokio::test]
async fn a_session_is_named_known_and_its_opener_s_own() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let check = async |http: Http, session: Option<&str>, expect: u16| {
        let mut http = http.at("/mcp").with("content-type", "application/json");
        if let Some(session) = session {
            http = http.with("mcp-session-id", session);
        }
        let reply = http.send(Method::POST, "", HeaderMap::new(), PING).await;
        assert_eq!(reply.status, expect, "{session:?}");
    };
    let session = downstream.session.clone();
    check(gateway.http(), Some(&session), 200).await;
    check(gateway.http(), None, 400).await;
    check(gateway.http(), Some("nobody-s"), 404).await;
    check(gateway.owner(), Some(&session), 404).await;
    let odd = gateway.http().with("mcp-protocol-version", "1999-01-01");
    check(odd, Some(&session), 400).await;
    assert_eq!(downstream.end().await, 200);
    check(gateway.http(), Some(&session), 404).await;
    assert_eq!(downstream.end().await, 404);
}

#[tokio::test]
async fn an_agent_behind_the_bridge_does_not_administer() {
    let gateway = Gateway::start(&json!({ "require_auth": true })).await;
    let mut bridge = Bridge::start(&gateway.home, &[]);
    bridge.open_legacy().await;
    let add = json!({ "operation": "add", "name": "evil", "command": "sh" });
    let params = json!({ "name": "upstream_servers", "arguments": add });
    let id = bridge.request("tools/call", &params).await;
    let answer = bridge.answer(id).await;
    assert!(answer.to_string().contains("owner"), "{answer}");
    assert_eq!(gateway.api("/servers").await, json!([]));
}

#[tokio::test]
async fn a_token_for_reading_reads_and_does_nothing_else() {
    let (one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let body = json!({ "name": "reader", "upstreams": ["one"], "operations": ["read"] });
    let (_, made) = gateway.owner().post("/api/v1/tokens", &body).await;
    let bearer = format!("Bearer {}", made["data"]["token"].as_str().unwrap());
    let agent = gateway.http().with("authorization", &bearer);
    let all = Legacy::open_with(agent.clone().at("/mcp/all"), json!({})).await;
    let told = all.ask("tools/list", json!({})).await.to_string();
    assert!(
        told.contains("one__echo") && !told.contains("one__crash"),
        "{told}"
    );
    assert_eq!(
        text_of(&all.call("one__echo", json!({ "text": "x" })).await),
        "x"
    );
    all.ask("resources/read", json!({ "uri": "memo://1" }))
        .await;
    assert_eq!(all.call("one__crash", json!({})).await["isError"], true);
    // Nor does it help to declare that the tool only reads.
    let call = Legacy::open_with(agent.at("/mcp/call"), json!({})).await;
    let lie = json!({ "name": "one:crash", "args": {} });
    let denied = call.call("call_tool_read", lie).await;
    assert!(text_of(&denied).contains("scope"), "{denied}");
    assert_eq!(one.received_with("crash"), Vec::<String>::new());
}

#[tokio::test]
async fn a_revoked_token_hears_nothing_more() {
    let (_one, _other, config) = two().await;
    let gateway = Gateway::start(&config).await;
    let agent = gateway.token("bot", &Value::Null).await.at("/mcp");
    let legacy = Legacy::open_with(agent.clone(), json!({})).await;
    let mut general = legacy.listen(None).await;
    let accept = headers(&[("accept", "text/event-stream")]);
    let bare = gateway.token("older", &Value::Null).await;
    let mut older = bare.send(Method::GET, "/sse", accept, "").await;
    older.next_text().await.unwrap();
    let modern = Modern::with(agent, json!({}));
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = modern.request("subscriptions/listen", wanted).await;
    subscription
        .notification("notifications/subscriptions/acknowledged")
        .await;
    for name in ["bot", "older"] {
        let path = format!("/api/v1/tokens/{name}");
        assert_eq!(gateway.owner().delete(&path).await.0, 200);
    }
    within("the subscription to end", subscription.answer()).await;
    for stream in [&mut general, &mut older] {
        within("the stream to end", async {
            while stream.next_text().await.is_some() {}
        })
        .await;
    }
    assert_eq!(gateway.api("/status").await["sessions"], 0);
}

/// What a token has under way ends with it, whether or not it has a session to end.
#[tokio::test]
async fn calls_in_flight_end_with_their_token() {
    for modern in [false, true] {
        let (one, _other, config) = two().await;
        let gateway = Gateway::start(&config).await;
        let agent = gateway.token("bot", &Value::Null).await.at("/mcp");
        let hanging = tokio::spawn(async move {
            let params = json!({ "name": "one__hang", "arguments": {} });
            if modern {
                let modern = Modern::with(agent, json!({}));
                return modern.request("tools/call", params).await.answer().await;
            }
            let legacy = Legacy::open_with(agent, json!({})).await;
            legacy.request("tools/call", params).await.answer().await
        });
        one.until_received("\"hang\"").await;
        assert_eq!(gateway.owner().delete("/api/v1/tokens/bot").await.0, 200);
        one.until_received("notifications/cancelled").await;
        let answer = within("an answer", hanging).await.unwrap();
        let said = &answer["error"]["message"];
        assert_eq!(said, "the token is no longer valid", "{answer}");
    }
}
