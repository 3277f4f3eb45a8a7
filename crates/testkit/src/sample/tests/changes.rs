//! What a sample tells without being asked: changes, updates and log messages.

use super::*;

const CHANGED: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Subscribes to changes of the tools and of one memo, and returns what a notification then says
/// about the subscription.
fn subscribe(downstream: &mut Downstream) -> Value {
    if downstream.era != EraSupport::ModernOnly {
        let answer = downstream.ask("resources/subscribe", json!({ "uri": "memo://1" }));
        assert_eq!(answer["result"], json!({}));
        return Value::Null;
    }
    let wanted = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourceSubscriptions": ["memo://1"],
    });
    downstream.request(
        "sub",
        "subscriptions/listen",
        json!({ "notifications": wanted }),
    );
    let told = downstream.next();
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    // Only what the sample does is acknowledged: its prompts never change.
    let honoured = json!({ "toolsListChanged": true, "resourceSubscriptions": ["memo://1"] });
    assert_eq!(told["params"]["notifications"], honoured);
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION], "sub");
    json!({ SUBSCRIPTION: "sub" })
}

#[test]
fn changes_are_told_to_who_listens() {
    for era in ERAS {
        let mut downstream = Downstream::start(Sample::Echo, era);
        let meta = subscribe(&mut downstream);
        downstream.tool(1, "change", &json!({}));
        let told = downstream.next();
        assert_eq!(told["method"], CHANGED);
        assert_eq!(told["params"]["_meta"], meta);
        assert_eq!(
            downstream.next()["result"]["content"][0]["text"],
            "added extra_1"
        );
        let answer = downstream.ask("tools/call", json!({ "name": "extra_1" }));
        assert_eq!(answer["result"]["content"][0]["text"], "extra_1");

        downstream.tool(2, "touch", &json!({ "uri": "memo://1" }));
        let told = downstream.next();
        assert_eq!(
            (&told["method"], &told["params"]["uri"]),
            (&UPDATED.into(), &"memo://1".into())
        );
        assert_eq!(told["params"]["_meta"], meta);
        assert_eq!(downstream.next()["id"], 2);
        // A resource that nobody subscribed to is touched without a word.
        downstream.tool(3, "touch", &json!({ "uri": "memo://2" }));
        assert_eq!(downstream.next()["id"], 3);

        downstream.tool(4, "storm", &json!({ "count": 1000 }));
        for _ in 0..1000 {
            assert_eq!(downstream.next()["method"], CHANGED);
        }
        assert_eq!(downstream.next()["id"], 4);
    }
}

#[test]
fn subscriptions_end() {
    let mut legacy = Downstream::start(Sample::Echo, EraSupport::LegacyOnly);
    subscribe(&mut legacy);
    legacy.ask("resources/unsubscribe", json!({ "uri": "memo://1" }));
    legacy.tool(1, "touch", &json!({ "uri": "memo://1" }));
    assert_eq!(legacy.next()["id"], 1);

    let mut modern = Downstream::start(Sample::Echo, EraSupport::ModernOnly);
    modern.tool(1, "change", &json!({}));
    assert_eq!(modern.next()["id"], 1, "nobody subscribed yet");
    subscribe(&mut modern);
    let params = json!({ "requestId": "sub" });
    modern
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    modern.tool(2, "change", &json!({}));
    assert_eq!(modern.next()["id"], 2);
}

#[test]
fn samples_that_never_change_acknowledge_nothing() {
    let mut downstream = Downstream::start(Sample::Github, EraSupport::ModernOnly);
    let wanted = json!({ "toolsListChanged": true });
    downstream.request(
        1,
        "subscriptions/listen",
        json!({ "notifications": wanted }),
    );
    assert_eq!(downstream.next()["params"]["notifications"], json!({}));
}

#[test]
fn log_messages_keep_to_the_level_that_was_asked_for() {
    let check = |era, asked: Option<&str>, level: &str, expect: bool| {
        let mut downstream = Downstream::start(Sample::Echo, era);
        let mut meta = json!({});
        match (era, asked) {
            (EraSupport::ModernOnly, Some(asked)) => {
                meta = json!({ "io.modelcontextprotocol/logLevel": asked });
            }
            (_, Some(asked)) => drop(downstream.ask("logging/setLevel", json!({ "level": asked }))),
            (_, None) => {}
        }
        let arguments = json!({ "text": "hear", "level": level });
        let params = json!({ "name": "log", "arguments": arguments, "_meta": meta });
        downstream.request(1, "tools/call", params);
        if expect {
            let told = downstream.next();
            let expect = json!({ "level": level, "logger": "echo", "data": "hear" });
            assert_eq!(
                (&told["method"], &told["params"]),
                (&"notifications/message".into(), &expect)
            );
        }
        let text = if expect { "logged" } else { "not logged" };
        assert_eq!(
            downstream.next()["result"]["content"][0]["text"],
            text,
            "{era:?} {asked:?}"
        );
    };
    for era in ERAS {
        check(era, Some("warning"), "error", true);
        check(era, Some("warning"), "warning", true);
        check(era, Some("warning"), "info", false);
    }
    check(EraSupport::LegacyOnly, None, "debug", true);
    check(EraSupport::ModernOnly, None, "emergency", false);
}
