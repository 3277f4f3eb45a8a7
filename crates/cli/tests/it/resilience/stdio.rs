//! `mcpproxy stdio`, in front of a running gateway and with one of its own: the same conversation
//! in both eras, and an end that loses nothing, whatever the standard streams are.

use std::time::Duration;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use super::measure::bounded;
use crate::support::{
    Bridge, Gateway, Home, Over, Upstream, Wiring, names_of, scripted, text_of, until,
};

/// How long the process may live after its input has ended and everything is answered, on a busy
/// machine; one that does not end lives on.
const PROMPT: Duration = Duration::from_secs(10);

/// How long the gateways here let calls go on: `shutdown_grace`.
const GRACE: Duration = Duration::from_secs(1);

/// Every form of `mcpproxy stdio`: whether it is a gateway itself, and what its streams are.
const FORMS: [(bool, Wiring); 6] = [
    (false, Wiring::Pipes),
    (false, Wiring::Sockets),
    (false, Wiring::Terminal),
    (true, Wiring::Pipes),
    (true, Wiring::Sockets),
    (true, Wiring::Terminal),
];

/// A bridge to a gateway that runs, or one that is a gateway itself.
struct Setting {
    bridge: Bridge,
    upstream: Upstream,
    _home: Home,
    gateway: Option<Gateway>,
}

async fn setting((standalone, wiring): (bool, Wiring), over: Over) -> Setting {
    let upstream = Upstream::start(Sample::Echo, EraSupport::LegacyOnly, over).await;
    let home = Home::new(&json!({
        "limits": { "shutdown_grace": "1s" },
        "mcpServers": { "up": upstream.settings },
    }));
    let mut args = vec!["--mode", "all"];
    let mut gateway = None;
    if standalone {
        args.push("--standalone");
    } else {
        gateway = Some(Gateway::start_in(home.clone()).await);
    }
    Setting {
        bridge: Bridge::start_with(wiring, &home, &args),
        upstream,
        _home: home,
        gateway,
    }
}

async fn converse(bridge: &mut Bridge, dress: fn(Value) -> Value) {
    let listed = bridge.ask("tools/list", dress(json!({}))).await;
    assert!(names_of(&listed["tools"]).contains(&"up__echo"), "{listed}");
    let params = json!({ "name": "up__echo", "arguments": { "text": "there and back" } });
    let result = bridge.ask("tools/call", dress(params)).await;
    assert_eq!(text_of(&result), "there and back");
}

#[tokio::test]
async fn both_eras_are_bridged() {
    for form in FORMS {
        let mut legacy = setting(form, Over::Shared).await;
        let hello = legacy.bridge.open_legacy().await;
        assert_eq!(hello["serverInfo"]["name"], "mcpproxy");
        converse(&mut legacy.bridge, |params| params).await;
        legacy.bridge.close();
        bounded("an end", PROMPT, legacy.bridge.ends()).await;

        let mut modern = setting(form, Over::Shared).await;
        let params = Bridge::modern(json!({}));
        let found = modern.bridge.ask("server/discover", params).await;
        assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
        converse(&mut modern.bridge, Bridge::modern).await;
        modern.bridge.close();
        bounded("an end", PROMPT, modern.bridge.ends()).await;
    }
}

/// As `printf ... | mcpproxy stdio` does: everything is written, then the input ends.
#[tokio::test]
async fn answers_in_flight_are_delivered_after_the_input_has_ended() {
    for form in FORMS {
        // The one is everybody's, the other keeps a session for each downstream.
        for over in [Over::Shared, Over::Http] {
            let mut legacy = setting(form, over).await;
            legacy.bridge.open_legacy().await;
            pipe(&mut legacy.bridge, |params| params).await;
            let mut modern = setting(form, over).await;
            pipe(&mut modern.bridge, Bridge::modern).await;
        }
    }
}

async fn pipe(bridge: &mut Bridge, dress: fn(Value) -> Value) {
    let slow = json!({ "name": "up__slow", "arguments": { "ms": 400 } });
    let echo = json!({ "name": "up__echo", "arguments": { "text": "last" } });
    let slow = bridge.request("tools/call", &dress(slow)).await;
    let echo = bridge.request("tools/call", &dress(echo)).await;
    bridge.close();
    let last = bridge.answer(echo).await;
    assert_eq!(text_of(&last["result"]), "last", "{last}");
    let answer = bridge.answer(slow).await;
    assert_eq!(text_of(&answer["result"]), "took 400 ms", "{answer}");
    bounded("an end", PROMPT, bridge.ends()).await;
}

/// A call that never ends does not keep a process whose agent has gone.
#[tokio::test]
async fn a_call_that_hangs_does_not_outlive_the_agent_for_long() {
    for form in FORMS {
        let mut setting = setting(form, Over::Shared).await;
        let bridge = &mut setting.bridge;
        bridge.open_legacy().await;
        let hang = json!({ "name": "up__hang", "arguments": {} });
        bridge.request("tools/call", &hang).await;
        setting.upstream.until_received("\"hang\"").await;
        bridge.close();
        bounded("an end", GRACE + PROMPT, bridge.gone()).await;
    }
}

/// The gateway works on the agent's own streams where it can, and on the bridge's where not.
#[tokio::test]
async fn streams_are_handed_over_where_the_gateway_can_wait_for_them() {
    for (wiring, expect) in [
        (Wiring::Pipes, true),
        (Wiring::Sockets, true),
        (Wiring::Terminal, false),
    ] {
        let mut setting = setting((false, wiring), Over::Shared).await;
        setting.bridge.open_legacy().await;
        let held = held_by(setting.gateway.as_ref().unwrap().pid());
        for number in [0, 1] {
            let own = format!("/proc/{}/fd/{number}", setting.bridge.pid());
            let own = std::fs::read_link(own).unwrap();
            assert_eq!(held.contains(&own), expect, "{wiring:?}, {number}");
        }
    }
}

fn held_by(process: u32) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let all = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    all.collect()
}

/// The agent's input is open all the while: it is the gateway that ends, and the bridge says so.
#[tokio::test]
async fn a_gateway_that_goes_away_is_noticed_at_once() {
    for wiring in [Wiring::Pipes, Wiring::Sockets, Wiring::Terminal] {
        for killed in [true, false] {
            let mut setting = setting((false, wiring), Over::Shared).await;
            let bridge = &mut setting.bridge;
            bridge.open_legacy().await;
            let gateway = setting.gateway.take().unwrap();
            if killed {
                gateway.kill().await;
            } else {
                gateway.stop().await;
            }
            let (code, said) = bounded("an end", PROMPT, bridge.verdict()).await;
            assert_eq!(code, Some(0), "{wiring:?}");
            assert_eq!(said, "the gateway ended the connection\n", "{wiring:?}");
            assert_eq!(bridge.next().await, None);
        }
    }
}

/// An agent that kills its child waits for the child's streams to close, and for nothing else.
#[tokio::test]
async fn streams_close_with_the_bridge_that_handed_them_over() {
    for wiring in [Wiring::Pipes, Wiring::Sockets] {
        let mut setting = setting((false, wiring), Over::Shared).await;
        let bridge = &mut setting.bridge;
        bridge.open_legacy().await;
        let hang = json!({ "name": "up__hang", "arguments": {} });
        bridge.request("tools/call", &hang).await;
        setting.upstream.until_received("\"hang\"").await;
        bridge.kill().await;
        let closed = async { while bridge.next().await.is_some() {} };
        bounded("streams to close", GRACE / 2, closed).await;
        // The call is given its grace, then the upstream is told; the session is gone with it.
        setting
            .upstream
            .until_received("notifications/cancelled")
            .await;
        let gateway = setting.gateway.as_ref().unwrap();
        until("the session to end", || async {
            (gateway.api("/sessions").await["total"] == 0).then_some(())
        })
        .await;
    }
}

/// What waits for an agent that does not read is let go when the agent is.
#[tokio::test]
async fn an_agent_that_never_read_leaves_nothing_behind() {
    let mut setting = setting((false, Wiring::Pipes), Over::Shared).await;
    let bridge = &mut setting.bridge;
    bridge.open_legacy().await;
    let gateway = setting.gateway.as_ref().unwrap().pid();
    let input = std::fs::read_link(format!("/proc/{}/fd/0", bridge.pid())).unwrap();
    // Each is answered with an error, until there is no more room for answers.
    let line = "x".repeat(4000);
    let stalled = Duration::from_millis(500);
    while tokio::time::timeout(stalled, bridge.send(line.as_bytes()))
        .await
        .is_ok()
    {}
    assert!(held_by(gateway).contains(&input));
    bridge.kill().await;
    until("the streams to be let go", || async {
        (!held_by(gateway).contains(&input)).then_some(())
    })
    .await;
}

/// An agent that reads no more will not be answered any more: the conversation ends.
#[tokio::test]
async fn an_agent_that_closes_only_its_reading_end_ends_the_conversation() {
    for form in FORMS {
        if form.1 == Wiring::Terminal {
            continue;
        }
        let mut setting = setting(form, Over::Shared).await;
        setting.bridge.open_legacy().await;
        setting.bridge.deafen();
        setting.bridge.request("tools/list", &json!({})).await;
        bounded("an end", GRACE + PROMPT, setting.bridge.verdict()).await;
    }
}

/// An agent that knows only stdio has one stream and cannot resume it: what follows a burst that was
/// too much for it still comes.
#[tokio::test]
async fn a_burst_does_not_silence_what_comes_after_it() {
    let burst = r#"say done; yes '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"burst"}}' | head -n 2000; echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"last"}}'"#;
    let mut upstream = scripted(burst);
    upstream["scope"] = json!("session");
    let config = json!({ "routing_mode": "all", "mcpServers": { "up": upstream } });
    let gateway = Gateway::start(&config).await;
    let mut bridge = Bridge::start(&gateway.home, &[]);
    bridge.open_legacy().await;
    let params = json!({ "name": "up__do", "arguments": {} });
    let id = bridge.request("tools/call", &params).await;
    let (mut answered, mut last) = (false, false);
    while !answered || !last {
        let message = bridge.next().await.unwrap();
        answered |= message["id"] == id;
        last |= message["params"]["data"] == "last";
    }
}
