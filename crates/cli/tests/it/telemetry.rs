//! What leaves the gateway about calls: metrics, traces, alerts; and what `deploy` makes of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::support::{Gateway, KEY, Legacy, Scene, headers, until, within};

/// Takes what is posted, and says that it is fine, but for what has a certain text in it.
struct Taker {
    address: String,
    taken: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Taker {
    async fn start() -> Self {
        Self::refusing("nothing that anybody posts").await
    }

    async fn refusing(what: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let taken = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, Arc::clone(&kept), what));
            }
        });
        Self { address, taken }
    }

    /// Waits for something whose head has a text in it.
    async fn posted(&self, what: &str) -> (String, Value) {
        let look = || async {
            let taken = self.taken.lock().unwrap();
            taken.iter().find(|(head, _)| head.contains(what)).cloned()
        };
        until(what, look).await
    }
}

async fn take(stream: TcpStream, kept: Arc<Mutex<Vec<(String, Value)>>>, refuses: &str) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let lower = head.to_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        let said = if String::from_utf8_lossy(&body).contains(refuses) {
            "503 Service Unavailable"
        } else {
            kept.lock()
                .unwrap()
                .push((lower, serde_json::from_slice(&body).unwrap()));
            "200 OK"
        };
        let answer = format!("HTTP/1.1 {said}\r\ncontent-length: 0\r\n\r\n");
        stream.get_mut().write_all(answer.as_bytes()).await.unwrap();
    }
}

/// The samples of a family.
async fn printed(gateway: &Gateway, name: &str) -> Vec<String> {
    let owner = gateway.owner();
    let reply = owner.send(Method::GET, "/metrics", headers(&[]), "").await;
    let text = reply.text().await;
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.map(str::to_owned).collect()
}

async fn metrics(scene: &Scene) -> String {
    let owner = scene.gateway.owner();
    let reply = owner.send(Method::GET, "/metrics", headers(&[]), "").await;
    reply.text().await
}

#[tokio::test]
async fn what_deploy_looks_at_is_counted() {
    let scene = Scene::start(json!({})).await;
    let agent = scene.informed(json!({})).await;
    agent.ask("tools/call", Scene::post(KEY)).await;
    let text = metrics(&scene).await;
    for line in [
        r#"mcpproxy_calls_total{server="inside",status="success"} 1"#,
        r#"mcpproxy_calls_total{server="outside",status="blocked"} 1"#,
        r#"mcpproxy_call_duration_seconds_count{server="inside"} 1"#,
        r#"mcpproxy_upstream_up{server="inside"} 1"#,
        "mcpproxy_activity_log_failing 0",
        "mcpproxy_activity_log_lost_total 0",
        "mcpproxy_alerts_lost_total 0",
        "# TYPE mcpproxy_activity_log_waiting gauge",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    let families = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let families: BTreeSet<_> = families.collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let rules = std::fs::read_to_string(root.join("prometheus/alerts.yaml")).unwrap();
    assert!(rules.matches("- alert: ").count() >= 4);
    assert_eq!(
        rules.matches("- alert: ").count(),
        rules.matches("expr: ").count()
    );
    let dashboard = std::fs::read_to_string(root.join("grafana/mcpproxy.json")).unwrap();
    let parsed: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(parsed["panels"].as_array().unwrap().len() >= 10);
    let named = |text: &str| {
        let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        let words =
            words.filter(|word| word.starts_with("mcpproxy_") || word.starts_with("security_"));
        let ends = ["_bucket", "_sum", "_count"];
        let plain = |word: &str| {
            let end = ends.iter().find_map(|end| word.strip_suffix(end));
            end.unwrap_or(word).to_owned()
        };
        words.map(plain).collect::<BTreeSet<_>>()
    };
    let mut used = named(&rules);
    used.extend(named(&dashboard));
    assert!(used.len() > 8, "{used:?}");
    for name in used {
        assert!(families.contains(name.as_str()), "{name} is not counted");
    }
}

/// Regression for #8: what was disabled on purpose or not needed yet raised an alarm.
#[tokio::test]
async fn only_what_is_missed_counts_as_down() {
    let upstreams = json!({
        "off": { "command": "true", "enabled": false },
        "later": { "command": "true", "start": "lazy" },
        "gone": { "command": "/nowhere/at/all" },
    });
    let gateway = Gateway::start(&json!({ "mcpServers": upstreams })).await;
    let down = r#"mcpproxy_upstream_up{server="gone"} 0"#;
    assert_eq!(printed(&gateway, "mcpproxy_upstream_up").await, [down]);
}

/// Regression for #8: the gateway counted itself among those who listen.
#[tokio::test]
async fn only_others_count_as_listeners() {
    let gateway = Gateway::start(&json!({})).await;
    let name = "mcpproxy_event_listeners";
    assert_eq!(printed(&gateway, name).await, [format!("{name} 0")]);
    let owner = gateway.owner();
    let mut events = owner.send(Method::GET, "/events", headers(&[]), "").await;
    assert_eq!(events.next_named().await.0, "status");
    assert_eq!(printed(&gateway, name).await, [format!("{name} 1")]);
}

/// Regression for #8: whoever reads the log as JSON stumbled over its first lines.
#[tokio::test]
async fn a_log_in_json_has_no_other_lines() {
    let log = json!({ "format": "json", "level": "error" });
    let gateway = Gateway::start(&json!({ "log": log })).await;
    let made = gateway.until_logged("an API key was made in").await;
    for line in gateway.log().lines().chain([&*made]) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(
            line["timestamp"].is_string() && line["level"] == "INFO",
            "{line}"
        );
        assert!(line["fields"]["message"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn calls_are_traced_as_parts_of_what_their_caller_does() {
    let taker = Taker::start().await;
    let scene = Scene::start(json!({})).await;
    let trace = "4bf0c1d2e3f405162738495a6b7c8d9e";
    let parent = format!("00-{trace}-1a2b3c4d5e6f7081-01");
    let call = |meta: Value| {
        let mut call =
            json!({ "name": "outside__post", "arguments": { "text": "hello",  "n": 1.50 } });
        call["_meta"] = meta;
        call
    };
    // Without a collector it is carried on as it came.
    let agent = Legacy::open(&scene.gateway.url("/mcp"), json!({})).await;
    agent
        .ask("tools/call", call(json!({ "traceparent": parent })))
        .await;
    assert_eq!(scene.outside.received_with(&parent).len(), 1);
    let telemetry = json!({
        "otlp_endpoint": format!("http://{}", taker.address),
        "interval": "1s",
        "headers": { "x-tenant": "harbour" },
    });
    let patch = json!({ "patch": { "telemetry": telemetry } });
    let (status, said) = scene
        .gateway
        .owner()
        .post("/api/v1/config/apply", &patch)
        .await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["data"]["needs_restart"], json!(["telemetry"]));
    let Scene {
        gateway, outside, ..
    } = scene;
    let gateway = Gateway::start_in(gateway.stop().await).await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    // Regression for #8: of a trace that its caller does not keep, the gateway's part was kept.
    let unkept = format!("00-{trace}-0000000000000001-00");
    agent
        .ask("tools/call", call(json!({ "traceparent": unkept })))
        .await;
    let meta = json!({ "traceparent": parent, "tracestate": "a=b" });
    agent.ask("tools/call", call(meta)).await;
    let (head, traces) = taker.posted("/v1/traces").await;
    assert!(head.contains("x-tenant: harbour"), "{head}");
    let span = &traces["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["name"], "tools/call post", "{traces}");
    assert_eq!(span["traceId"], trace);
    assert_eq!(span["parentSpanId"], "1a2b3c4d5e6f7081");
    // The upstream's parent is the gateway's span, and nothing else of the message is touched.
    let own = format!("00-{trace}-{}-01", span["spanId"].as_str().unwrap());
    assert_eq!(outside.received_with(&parent).len(), 1, "the one of before");
    let sent = outside.received_with(&own);
    assert_eq!(sent.len(), 1, "{own}");
    let rest = [r#""tracestate":"a=b""#, r#""n":1.5"#, r#""text":"hello""#];
    assert!(rest.iter().all(|part| sent[0].contains(part)), "{sent:?}");
    // A call that is part of nothing, or of what nobody can read, begins a trace here.
    for meta in [json!({}), json!({ "traceparent": "odd" })] {
        let before = outside.received_with("traceparent").len();
        agent.ask("tools/call", call(meta)).await;
        let sent = outside.received_with("traceparent");
        assert_eq!(sent.len(), before + 1);
        assert!(
            !sent[before].contains("odd") && !sent[before].contains(trace),
            "{sent:?}"
        );
    }
    let (_, metrics) = taker.posted("/v1/metrics").await;
    let metric = &metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
    assert_eq!(metric["name"], "mcp.client.operation.duration");
}

#[tokio::test]
async fn alerts_are_posted_signed_and_once_and_go_to_syslog() {
    let taker = Taker::start().await;
    let log = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let alerts = json!({
        "webhook_url": format!("http://{}/alert", taker.address),
        "signing_keys": ["a plain key of thirty-two bytes."],
        "syslog": format!("udp://{}", log.local_addr().unwrap()),
    });
    let scene = Scene::start(json!({ "alerts": alerts })).await;
    let agent = scene.informed(json!({})).await;
    for _ in 0..3 {
        agent.ask("tools/call", Scene::post(KEY)).await;
    }
    let (head, alert) = taker.posted("/alert").await;
    assert_eq!(alert["type"], "flow.alert", "{alert}");
    assert_eq!(alert["severity"], "critical");
    assert_eq!(alert["payload"]["tool_name"], "outside:post");
    assert!(
        head.contains("webhook-signature: v1,") && head.contains("webhook-id: msg_"),
        "{head}"
    );
    assert!(!alert.to_string().contains(KEY));
    let mut buffer = vec![0; 16 * 1024];
    let read = within("a syslog message", log.recv(&mut buffer))
        .await
        .unwrap();
    let message = String::from_utf8_lossy(&buffer[..read]).into_owned();
    assert!(
        message.starts_with("<82>1 20") && message.contains("flow.alert"),
        "{message}"
    );
    // The same within a minute is sent once.
    let flows = taker.taken.lock().unwrap();
    let flows = flows.iter().filter(|(_, one)| one["type"] == "flow.alert");
    assert_eq!(flows.count(), 1);
}

#[tokio::test]
async fn a_threshold_that_is_passed_is_an_alert_of_its_own_and_waits_for_no_other() {
    let taker = Taker::refusing(r#""severity":"critical""#).await;
    let scene = Scene::start(json!({
        "alerts": { "webhook_url": format!("http://{}/alert", taker.address) },
        "exfiltration": { "max_external_calls_per_minute": 2 },
    }))
    .await;
    // The webhook refuses this one, and it is tried again for longer than anybody waits here.
    let agent = scene.informed(json!({})).await;
    agent.ask("tools/call", Scene::post(KEY)).await;
    for word in ["one", "two", "three", "four"] {
        agent.ask("tools/call", Scene::post(word)).await;
    }
    let (_, alert) = taker.posted("/alert").await;
    assert_eq!(alert["type"], "flow.alert", "{alert}");
    assert_eq!(alert["severity"], "high");
    assert_eq!(alert["payload"]["alarms"], json!(["rapid_external_sends"]));
    assert_eq!(scene.arrived(), ["one", "two", "three", "four"]);
}
