//! Requests of an upstream that belong to no call, or to nobody who can be named.

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Legacy, Over, Upstream, scripted, text_of, until};

fn can_be_asked() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

#[tokio::test]
async fn nobody_is_asked_on_behalf_of_a_shared_upstream() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Shared).await;
    // The gateway speaks for itself there and can be asked nothing, so the sample does not even
    // ask; the script asks all the same.
    let asking = scripted(
        r#"printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"who?"}}\n'
        IFS= read -r reply
        case "$reply" in *'"id":"q1"'*'"error"'*) say refused ;; *) say "$reply" ;; esac"#,
    );
    let upstreams = json!({ "echo": upstream.settings, "line": asking });
    let gateway = Gateway::start(&json!({ "routing_mode": "all", "mcpServers": upstreams })).await;
    let caller = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let bystander = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let mut streams = [caller.listen(None).await, bystander.listen(None).await];

    let params = json!({ "name": "line__do", "arguments": {} });
    let mut reply = caller.request("tools/call", params).await;
    assert_eq!(text_of(&reply.result().await), "refused");
    assert_eq!(reply.raw.len(), 1, "{:?}", reply.raw);
    let result = caller
        .call("echo__ask", json!({ "question": "Sure?" }))
        .await;
    assert_eq!(result["isError"], true);

    // What comes next on the streams shows that no question came before.
    caller.call("echo__change", json!({})).await;
    for stream in &mut streams {
        stream
            .notification("notifications/tools/list_changed")
            .await;
        assert_eq!(stream.heard("elicitation/create"), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn a_question_after_the_answer_goes_to_the_session_s_stream_and_its_reply_comes_back() {
    let told = tempfile::NamedTempFile::new().unwrap();
    let path = told.path().display();
    let mut settings = scripted(&format!(
        r#"say done; printf '{{"jsonrpc":"2.0","id":"after","method":"roots/list"}}\n'
        IFS= read -r reply; printf '%s\n' "$reply" >> {path}"#
    ));
    settings["scope"] = json!("session");
    let config = json!({ "routing_mode": "all", "mcpServers": { "line": settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let bystander = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let mut general = downstream.listen(None).await;
    let mut other = bystander.listen(None).await;
    let result = downstream.call("line__do", json!({})).await;
    assert_eq!(text_of(&result), "done");
    let question = general.notification("roots/list").await;
    assert_ne!(question["id"], "after", "the id is the gateway's own");
    let roots = json!({ "roots": [{ "uri": "file:///work", "x": 1.0 }] });
    downstream.respond(&question, roots).await;
    let reply = until("the reply", || async {
        let told = std::fs::read_to_string(told.path()).unwrap();
        told.ends_with('\n').then_some(told)
    })
    .await;
    let expect =
        r#"{"jsonrpc":"2.0","id":"after","result":{"roots":[{"uri":"file:///work","x":1.0}]}}"#;
    assert_eq!(reply.trim_end(), expect);
    bystander.end().await;
    assert_eq!(other.next().await, None, "{:?}", other.raw);
}

#[tokio::test]
async fn a_late_reply_goes_to_no_other_conversation_than_the_one_that_asked() {
    let told = tempfile::NamedTempFile::new().unwrap();
    let path = told.path().display();
    // The first call is followed by two questions, and then the program is gone; its successor writes
    // down whatever it is told.
    let mut settings = scripted(&format!(
        r#"case "$line" in
          *asking*) say done; printf '{{"jsonrpc":"2.0","id":"mine","method":"roots/list"}}\n'
            printf '{{"jsonrpc":"2.0","id":"mine, too","method":"sampling/createMessage"}}\n'
            IFS= read -r gone; exit 0 ;;
          *) say again ;;
        esac ;;
        *) printf '%s\n' "$line" >> {path}"#
    ));
    settings["scope"] = json!("session");
    let config = json!({ "routing_mode": "all", "mcpServers": { "line": settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let mut general = downstream.listen(None).await;
    downstream.call("line__do", json!({ "asking": true })).await;
    let question = general.notification("roots/list").await;
    // The word that ends it.
    downstream
        .notify("notifications/roots/list_changed", json!({}))
        .await;
    until("a successor", || async {
        let params = json!({ "name": "line__do", "arguments": {} });
        let mut reply = downstream.request("tools/call", params).await;
        reply.answer().await.get("result").map(|_| ())
    })
    .await;
    // What it is answered is late, and what waited to be asked after it is asked no more.
    downstream.respond(&question, json!({ "roots": [] })).await;
    let expect = "the conversation in which `line` asked `roots/list` has ended";
    gateway.until_logged(expect).await;
    assert_eq!(downstream.end().await, 200);
    assert_eq!(general.next().await, None, "{:?}", general.raw);
    let told = std::fs::read_to_string(told.path()).unwrap();
    assert!(!told.contains("mine"), "{told}");
}

#[tokio::test]
async fn a_reply_of_another_session_is_not_taken() {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, Over::Http).await;
    let config = json!({ "routing_mode": "all", "mcpServers": { "echo": upstream.settings } });
    let gateway = Gateway::start(&config).await;
    let downstream = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let stranger = Legacy::open(&gateway.url("/mcp"), can_be_asked()).await;
    let params = json!({ "name": "echo__ask", "arguments": { "question": "Sure?" } });
    let mut reply = downstream.request("tools/call", params).await;
    let question = reply.notification("elicitation/create").await;
    let forged = json!({ "action": "accept", "content": { "answer": "forged" } });
    stranger.respond(&question, forged).await;
    let honest = json!({ "action": "accept", "content": { "answer": "mine" } });
    downstream.respond(&question, honest).await;
    assert_eq!(text_of(&reply.result().await), "accept: mine");
}
