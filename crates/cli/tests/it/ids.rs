//! Whose answer is whose. That nothing is spelled anew on the way is in `spelling`.

mod spelling;

use std::sync::Arc;

use mcpproxy_testkit::{Broken, EraSupport, Sample};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Gateway, Legacy, Modern, Over, Upstream, scripted, text_of};

async fn echo(over: Over) -> Upstream {
    Upstream::start(Sample::Echo, EraSupport::LegacyOnly, over).await
}

fn all_mode(upstreams: &[(&str, Value)]) -> Value {
    let upstreams: serde_json::Map<_, _> = upstreams
        .iter()
        .map(|(name, settings)| ((*name).to_owned(), settings.clone()))
        .collect();
    json!({ "routing_mode": "all", "mcpServers": upstreams })
}

/// Makes twenty calls under colliding ids and checks that each answer is its own.
async fn twenty_calls(downstream: &Legacy, client: usize) {
    for call in 0..20 {
        let id = ["1", "\"1\"", "1.0", "1e0", "\"\\u0031\""][call % 5];
        let said = format!("client {client} call {call}");
        let params = json!({ "name": "echo__echo", "arguments": { "text": said } });
        let mut reply = downstream.raw(id, "tools/call", &params.to_string()).await;
        let result = reply.result().await;
        assert_eq!(text_of(&result), said);
        let under = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        assert!(reply.raw[0].starts_with(&under), "{}", reply.raw[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_clients_with_the_same_ids_get_exactly_their_own_answers() {
    let upstream = echo(Over::Shared).await;
    let gateway = Gateway::start(&all_mode(&[("echo", upstream.settings.clone())])).await;
    let http = crate::support::Http::new(&gateway.url("/mcp"));
    let mut clients = JoinSet::new();
    for client in 0..200 {
        let http = http.clone();
        clients.spawn(async move {
            let downstream = Legacy::open_with(http, json!({})).await;
            twenty_calls(&downstream, client).await;
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.unwrap();
    }
    assert_eq!(upstream.received_with("tools/call").len(), 4000);
}

#[tokio::test]
async fn an_id_that_is_in_flight_is_refused_until_it_is_free() {
    let upstream = echo(Over::Shared).await;
    let gateway = Gateway::start(&all_mode(&[("echo", upstream.settings.clone())])).await;
    let downstream = Arc::new(Legacy::open(&gateway.url("/mcp"), json!({})).await);
    let hanging = {
        let downstream = Arc::clone(&downstream);
        let params = r#"{"name":"echo__hang","arguments":{}}"#;
        tokio::spawn(async move {
            downstream
                .raw("7", "tools/call", params)
                .await
                .answer()
                .await
        })
    };
    upstream.until_received("\"hang\"").await;
    let params = r#"{"name":"echo__echo","arguments":{"text":"second"}}"#;
    let mut second = downstream.raw("7", "tools/call", params).await;
    assert_eq!(second.status, 400);
    let error = second.error().await;
    assert_eq!(error["code"], -32600);
    assert_eq!(
        error["message"],
        "a request with this id is in flight already"
    );
    // Another session has ids of its own.
    let other = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    other.raw("7", "tools/call", params).await.result().await;
    let cancel = json!({ "requestId": 7 });
    downstream.notify("notifications/cancelled", cancel).await;
    assert!(hanging.await.unwrap().get("error").is_some());
    let mut third = downstream.raw("7", "tools/call", params).await;
    assert_eq!(text_of(&third.result().await), "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_free_again_once_its_answer_is_there() {
    let upstream = echo(Over::Shared).await;
    let gateway = Gateway::start(&all_mode(&[("echo", upstream.settings.clone())])).await;
    let downstream = Legacy::open(&gateway.url("/mcp/call"), json!({})).await;
    for _ in 0..300 {
        downstream.ask("ping", json!({})).await;
        downstream.ask("tools/list", json!({})).await;
    }
}

#[tokio::test]
async fn a_call_without_an_id_is_refused_in_both_eras() {
    let upstream = echo(Over::Shared).await;
    let gateway = Gateway::start(&all_mode(&[("echo", upstream.settings.clone())])).await;
    let legacy = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let modern = Modern::new(&gateway.url("/mcp"), json!({}));
    let mut params = json!({ "name": "echo__echo", "arguments": { "text": "x" } });
    let body = |params: &Value| {
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": params }).to_string()
    };
    let one = legacy.send(body(&params)).await;
    params["_meta"] = modern.envelope();
    let routing = Modern::routing("tools/call", &params);
    let other = modern.send(body(&params), routing).await;
    for mut reply in [one, other] {
        assert_eq!(reply.status, 400);
        let error = reply.error().await;
        assert_eq!(error["message"], "`tools/call` needs an id");
    }
    // A call that is answered shows that nothing went before it.
    legacy.call("echo__echo", json!({ "text": "y" })).await;
    assert_eq!(upstream.received_with("tools/call").len(), 1);
}

#[tokio::test]
async fn an_answer_to_a_question_that_was_not_asked_is_nobody_s() {
    let web = echo(Over::Http).await;
    let stranger =
        scripted(r#"answer 987654 '{"content":[{"type":"text","text":"not yours"}]}'; say mine"#);
    let config = all_mode(&[("web", web.settings.clone()), ("line", stranger)]);
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let result = downstream.call("line__do", json!({})).await;
    assert_eq!(text_of(&result), "mine");
    web.http
        .as_ref()
        .unwrap()
        .break_answers("tools/call", Broken::WrongId);
    let params = json!({ "name": "web__echo", "arguments": { "text": "x" } });
    let error = downstream.request("tools/call", params).await.error().await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("another request"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_that_comes_after_a_cancel_reaches_nobody() {
    // The first call is answered only once it was cancelled, the second at once.
    let late = r#"case "$line" in
      *'"late"'*) late=$id ;;
      *) answer "$late" '{"content":[{"type":"text","text":"late"}]}'; say fresh ;;
    esac"#;
    let gateway = Gateway::start(&all_mode(&[("line", scripted(late))])).await;
    let downstream = Arc::new(Legacy::open(&gateway.url("/mcp"), json!({})).await);
    let first = {
        let downstream = Arc::clone(&downstream);
        let params = r#"{"name":"line__do","arguments":{"when":"late"}}"#;
        tokio::spawn(async move {
            downstream
                .raw("1", "tools/call", params)
                .await
                .answer()
                .await
        })
    };
    let cancelled = crate::support::until("the call in flight", || async {
        let status = gateway.api("/status").await;
        (status["calls_in_flight"] == 1).then_some(())
    });
    cancelled.await;
    let cancel = json!({ "requestId": 1, "reason": "enough" });
    downstream.notify("notifications/cancelled", cancel).await;
    let first = first.await.unwrap();
    assert_eq!(first["error"]["message"], "cancelled by the downstream");
    let params = r#"{"name":"line__do","arguments":{"when":"now"}}"#;
    let mut second = downstream.raw("1", "tools/call", params).await;
    assert_eq!(text_of(&second.result().await), "fresh");
}

/// Two upstreams that name the same task, and two principals: each is asked about its own.
#[tokio::test]
async fn a_task_is_its_upstream_s_and_its_caller_s() {
    let names = r#"answer "$id" '{"task":{"taskId":"t-1","status":"working"}}'"#;
    let script = |who: &str| {
        let asked = format!(r#"{names} ;; *'"tasks/get"'*) answer "$id" '{{"who":"{who}"}}'"#);
        scripted(&asked)
    };
    let gateway =
        Gateway::start(&all_mode(&[("one", script("one")), ("two", script("two"))])).await;
    let bot = gateway.token("bot", &Value::Null).await.at("/mcp");
    let bot = Legacy::open_with(bot, json!({})).await;
    let other = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let task = json!({ "taskId": "t-1" });
    for upstream in ["one__do", "two__do"] {
        let params = json!({ "name": upstream, "arguments": {} });
        bot.request("tools/call", params).await.result().await;
    }
    let mut asked = bot.request("tasks/get", task.clone()).await;
    assert_eq!(asked.result().await["who"], "one");
    let unknown = other.request("tasks/get", task).await.error().await;
    assert_eq!(unknown["code"], -32602, "{unknown}");
}

/// The only upstream knows the tasks of everybody; a caller is told of its own.
#[tokio::test]
async fn the_only_upstream_s_tasks_are_their_callers() {
    let script = r#"answer "$id" '{"task":{"taskId":"t-1","status":"working"}}' ;;
        *'"tasks/list"'*) answer "$id" '{"tasks":[{"taskId":"t-1"},{"taskId":"t-0"}]}' ;;
        *'"tasks/'*) answer "$id" '{"taskId":"t-1","status":"working"}'"#;
    let config = json!({ "routing_mode": "single", "mcpServers": { "one": scripted(script) } });
    let gateway = Gateway::start(&config).await;
    let bot = gateway.token("bot", &Value::Null).await.at("/mcp");
    let bot = Legacy::open_with(bot, json!({})).await;
    let other = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let params = json!({ "name": "do", "arguments": {} });
    bot.request("tools/call", params).await.result().await;
    let listed = async |who: &Legacy| {
        let tasks = who.ask("tasks/list", json!({})).await;
        let tasks = tasks["tasks"].as_array().unwrap().iter();
        let ids = tasks.map(|task| task["taskId"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed(&bot).await, ["t-1"]);
    assert_eq!(listed(&other).await, Vec::<String>::new());
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let task = json!({ "taskId": "t-1" });
        bot.request(method, task.clone()).await.result().await;
        let unknown = other.request(method, task).await.error().await;
        assert_eq!(unknown["code"], -32602, "{method}: {unknown}");
    }
}
