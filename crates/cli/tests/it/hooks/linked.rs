//! Hook sessions and MCP sessions that are one conversation.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::payloads::{Agent, Use, event_of};
use crate::support::{Gateway, Heard, Http, Legacy, Modern, Upstream, hook};

const KEY: &str = "q8Zr1vTnB0xLw4YhKd7sEoGu2mPfJc5RiVaXt9Ny";
const FILE: &str = "AWS_ACCESS_KEY_ID=AKIAQ3EGRTLZ7VHWN2KM\nAWS_SECRET_ACCESS_KEY=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\n";
const WORDS: &str =
    "The harbour master wants the lamps on the east pier repainted before the regatta in autumn.";

struct Scene {
    gateway: Gateway,
    outside: Upstream,
    _inside: Upstream,
}

impl Scene {
    async fn start(mode: &str, mut security: Value) -> Self {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let results = vec!["read it"; 200];
        let inside = json!({ "tools": [tool("read")], "results": { "read": results } });
        let inside = Upstream::play(&inside);
        let posted = vec!["posted"; 200];
        let outside = json!({ "tools": [tool("post")], "results": { "post": posted } });
        let outside = Upstream::play(&outside);
        security["classification"]["server_overrides"] =
            json!({ "inside": "internal", "outside": "external" });
        let config = json!({
            "routing_mode": mode,
            "activity": { "durability": "strict" },
            "mcpServers": { "inside": inside.settings, "outside": outside.settings },
            "security": security,
        });
        Self {
            gateway: Gateway::start(&config).await,
            outside,
            _inside: inside,
        }
    }

    async fn legacy(&self) -> Legacy {
        Legacy::open(&self.gateway.url("/mcp"), json!({})).await
    }

    /// Lets an agent announce a call.
    async fn announce(&self, agent: &Agent, tool: &str, given: &Value) -> Heard {
        let payload = agent.pre(Use::Call(tool, given));
        let more = ["--event", event_of(agent.name, false)];
        let said = hook(&self.gateway.home, agent.name, &payload, &more).await;
        said.heard(agent.name)
    }

    async fn tell(&self, agent: &Agent, tool: Use<'_>, gave: &str) {
        let more = ["--event", event_of(agent.name, true)];
        hook(
            &self.gateway.home,
            agent.name,
            &agent.post(tool, gave),
            &more,
        )
        .await;
    }

    /// The records of calls to an upstream.
    fn calls(&self, upstream: &str) -> Vec<Value> {
        let mut records = self.gateway.home.activity();
        let wanted = ["tool_call", "policy_decision"].map(Value::from);
        records.retain(|one| one["server_name"] == upstream && wanted.contains(&one["type"]));
        records
    }

    async fn hook_session(&self, name: &str) -> Value {
        let path = format!("/activity?type=hook_evaluation&session_id={name}");
        self.gateway.api(&path).await["activities"][0]["session_id"].clone()
    }
}

/// US5.1, US5.2, for every agent that names the upstream, in its own spelling.
#[tokio::test]
async fn the_session_in_which_an_announced_call_comes_by_is_linked_for_good() {
    let scene = Scene::start("call", json!({})).await;
    for (name, session) in [
        ("claude-code", "cc-session-abc"),
        ("codex", "codex-1"),
        ("cursor", "cursor-1"),
        ("gemini-cli", "gemini-1"),
        ("windsurf", "windsurf-1"),
        ("cline", "cline-1"),
        ("kiro", "kiro-1"),
        ("opencode", "opencode-1"),
    ] {
        let agent = Agent::new(name, session);
        let given = json!({ "name": "inside:read", "args": { "path": session } });
        let heard = scene.announce(&agent, "call_tool_read", &given).await;
        assert_eq!(heard, Heard::Allow, "{name}");
        let downstream = scene.legacy().await;
        downstream.call("call_tool_read", given).await;
        // A later call that nobody announced.
        let other = json!({ "name": "inside:read", "args": { "path": "later" } });
        downstream.call("call_tool_read", other).await;
        let calls = scene.calls("inside");
        let [.., first, second] = &calls[..] else {
            panic!("{calls:?}");
        };
        let expect = scene.hook_session(session).await;
        assert!(expect.is_string(), "{name}");
        assert_eq!(
            (&first["session_id"], &second["session_id"]),
            (&expect, &expect),
            "{name}"
        );
        assert_ne!(first["mcp_session_id"], expect, "{name}");
        assert_eq!(first["mcp_session_id"], second["mcp_session_id"], "{name}");
    }
}

/// Agents that write `mcpproxy_upstream__tool` do not say that it is behind MCP: it is ours all the same,
/// and one that begins with the name of an upstream is one of theirs.
#[tokio::test]
async fn a_tool_whose_name_is_glued_to_ours_is_found() {
    let scene = Scene::start("all", json!({})).await;
    for (name, session) in [("opencode", "opencode-2"), ("copilot-cli", "copilot-2")] {
        let agent = Agent::new(name, session);
        let hello = json!({ "text": "hello" });
        let heard = scene.announce(&agent, "outside__post", &hello).await;
        assert_eq!(heard, Heard::Allow, "{name}");
        let downstream = scene.legacy().await;
        downstream.call("outside__post", hello).await;
        let expect = scene.hook_session(session).await;
        let calls = scene.calls("outside");
        let last = calls.last().unwrap();
        assert_eq!(last["session_id"], expect, "{name}: {last}");
        scene.tell(&agent, Use::Read("/w/notes.txt"), WORDS).await;
        let text = json!({ "text": WORDS });
        let heard = scene.announce(&agent, "outside__post", &text).await;
        assert_ne!(heard, Heard::Allow, "{name}");
        // The agent's own connection to a server of that name.
        for (glue, given, allowed) in [("_", WORDS, false), ("-", WORDS, false), ("_", "hi", true)]
        {
            let payload = agent.pre(Use::Call("outside__post", &json!({ "text": given })));
            let ours = ["mcpproxy_outside__post", "mcpproxy-outside__post"];
            let theirs = ["outside", glue, "post"].concat();
            let payload = ours
                .iter()
                .fold(payload, |all, one| all.replace(one, &theirs));
            let more = ["--event", event_of(name, false)];
            let said = hook(&scene.gateway.home, name, &payload, &more).await;
            let heard = said.heard(name);
            assert_eq!(heard == Heard::Allow, allowed, "{name} {theirs} {given}");
        }
    }
}

/// What the agent's own tool read is followed into its MCP calls, and the other way round.
#[tokio::test]
async fn after_the_link_there_is_one_flow_graph() {
    let scene = Scene::start("all", json!({})).await;
    let agent = Agent::new("claude-code", "cc-1");
    let downstream = scene.legacy().await;
    let hello = json!({ "text": "hello" });
    assert_eq!(
        scene.announce(&agent, "outside__post", &hello).await,
        Heard::Allow
    );
    downstream.call("outside__post", hello).await;
    // Words, not secrets: those are followed within one conversation only.
    scene.tell(&agent, Use::Read("/w/notes.txt"), WORDS).await;
    // The hook of the same conversation is asked first, and can put the question to its user.
    let text = json!({ "text": WORDS });
    assert_eq!(
        scene.announce(&agent, "outside__post", &text).await,
        Heard::Ask
    );
    downstream
        .call("outside__post", json!({ "text": WORDS }))
        .await;
    let calls = scene.calls("outside");
    let leak = calls.last().unwrap();
    assert_eq!(
        (&leak["decision"], &leak["flow_type"]),
        (&json!("ask"), &json!("internal→external"))
    );
    assert_eq!(leak["security_coverage"], "full");
    assert_eq!(
        leak["findings"][0]["evidence"]["origin"]["upstream"],
        "Read"
    );
    // Another conversation knows nothing of it.
    let other = scene.legacy().await;
    other.call("outside__post", json!({ "text": WORDS })).await;
    let calls = scene.calls("outside");
    let last = calls.last().unwrap();
    assert_eq!(last["flow_type"], "none");
    assert_eq!(last["security_coverage"], "proxy_only");
}

/// SC-008, SC-009: the same leak with and without hooks, and what arrives.
#[tokio::test]
async fn a_leak_from_the_agents_own_read_to_an_upstream_is_seen_only_with_hooks() {
    let leak = json!({ "text": format!("deploy with {KEY}") });
    // With hooks: denied at the hook, and at the gateway for an agent that goes on all the same.
    let scene = Scene::start("all", json!({})).await;
    let agent = Agent::new("claude-code", "cc-1");
    scene.tell(&agent, Use::Read("/w/.env"), FILE).await;
    assert_eq!(
        scene.announce(&agent, "outside__post", &leak).await,
        Heard::Deny
    );
    let downstream = scene.legacy().await;
    let answer = downstream.call("outside__post", leak.clone()).await;
    assert_eq!(answer["isError"], true, "{answer}");
    assert_eq!(scene.outside.called(), []);
    let status = scene.gateway.api("/status").await;
    assert_eq!(status["security_coverage"], "full");
    // Without hooks nobody saw the read: the leak arrives, as the specification says.
    let scene = Scene::start("all", json!({})).await;
    let downstream = scene.legacy().await;
    downstream.call("outside__post", leak.clone()).await;
    assert_eq!(scene.outside.called(), [("post".to_owned(), leak)]);
    let status = scene.gateway.api("/status").await;
    assert_eq!(status["security_coverage"], "proxy_only");
}

/// An agent that did not wait for the denial, or does not heed it, calls all the same.
#[tokio::test]
async fn a_call_that_the_hook_denied_is_known_when_it_comes_all_the_same() {
    let security = json!({ "flow_policy": { "internal_to_external": "deny" } });
    let scene = Scene::start("all", security).await;
    let agent = Agent::new("claude-code", "cc-1");
    scene.tell(&agent, Use::Read("/w/notes.txt"), WORDS).await;
    let leak = json!({ "text": WORDS });
    let heard = scene.announce(&agent, "outside__post", &leak).await;
    assert_eq!(heard, Heard::Deny);
    let downstream = scene.legacy().await;
    let answer = downstream.call("outside__post", leak).await;
    assert_eq!(answer["isError"], true, "{answer}");
    assert_eq!(scene.outside.called(), []);
    assert_eq!(scene.calls("outside")[0]["security_coverage"], "full");
}

/// US5.3: two at once, each to its own.
#[tokio::test]
async fn two_conversations_at_once_are_never_crossed() {
    let scene = Scene::start("call", json!({})).await;
    let given = |path: &str| json!({ "name": "inside:read", "args": { "path": path } });
    let (first, second) = (scene.legacy().await, scene.legacy().await);
    let (one, two) = (
        Agent::new("claude-code", "one"),
        Agent::new("claude-code", "two"),
    );
    scene.announce(&one, "call_tool_read", &given("a")).await;
    scene.announce(&two, "call_tool_read", &given("b")).await;
    second.call("call_tool_read", given("b")).await;
    first.call("call_tool_read", given("a")).await;
    let calls = scene.calls("inside");
    assert_eq!(calls[0]["session_id"], scene.hook_session("two").await);
    assert_eq!(calls[1]["session_id"], scene.hook_session("one").await);
    // The same call of two: nobody is linked.
    let (third, fourth) = (scene.legacy().await, scene.legacy().await);
    let (three, four) = (Agent::new("codex", "three"), Agent::new("codex", "four"));
    scene
        .announce(&three, "call_tool_read", &given("same"))
        .await;
    scene
        .announce(&four, "call_tool_read", &given("same"))
        .await;
    third.call("call_tool_read", given("same")).await;
    fourth.call("call_tool_read", given("same")).await;
    for call in &scene.calls("inside")[2..] {
        assert_eq!(call["mcp_session_id"], Value::Null);
    }
}

/// US5.4 and `correlation_ttl_seconds`: an announcement that is too old links nobody.
#[tokio::test]
async fn an_announcement_lapses_after_the_configured_time() {
    let given = json!({ "name": "inside:read", "args": { "path": "x" } });
    for (seconds, linked) in [(0, false), (60, true)] {
        let security = json!({ "hooks": { "correlation_ttl_seconds": seconds } });
        let scene = Scene::start("call", security).await;
        let agent = Agent::new("claude-code", "cc-1");
        scene.announce(&agent, "call_tool_read", &given).await;
        // Time has passed: a whole process has ended in between.
        scene
            .legacy()
            .await
            .call("call_tool_read", given.clone())
            .await;
        let calls = scene.calls("inside");
        assert_eq!(calls[0]["mcp_session_id"].is_string(), linked, "{seconds}");
    }
}

/// Agents without a session of the protocol are told apart by their connections.
#[tokio::test]
async fn agents_without_a_session_are_linked_by_credential_and_connection() {
    let scene = Scene::start("call", json!({})).await;
    let given = |path: &str| json!({ "name": "inside:read", "args": { "path": path } });
    let call = |path: &str| json!({ "name": "call_tool_read", "arguments": given(path) });
    let endpoint = scene.gateway.url("/mcp");
    let downstreams = ["one", "two"].map(|name| (name, Modern::new(&endpoint, json!({}))));
    for (name, downstream) in &downstreams {
        let agent = Agent::new("claude-code", name);
        scene.announce(&agent, "call_tool_read", &given(name)).await;
        downstream.ask("tools/call", call(name)).await;
        let calls = scene.calls("inside");
        assert_eq!(
            calls.last().unwrap()["session_id"],
            scene.hook_session(name).await
        );
    }
    // Over the same connections, later calls are theirs too.
    for (name, downstream) in &downstreams {
        downstream.ask("tools/call", call("later")).await;
        let calls = scene.calls("inside");
        let last = calls.last().unwrap();
        assert_eq!(last["session_id"], scene.hook_session(name).await, "{name}");
    }
}

/// An announcement made with a token is good for sessions of that token only; the hook of an agent
/// on this machine speaks for the owner, whatever credential the agent itself has.
#[tokio::test]
async fn a_hook_is_linked_only_with_sessions_that_it_may_speak_for() {
    let scene = Scene::start("call", json!({})).await;
    let of = json!(["inside"]);
    let one = scene.gateway.token("one", &of).await;
    let other = scene.gateway.token("other", &of).await;
    let given = |path: &str| json!({ "name": "inside:read", "args": { "path": path } });
    let linked = async |downstream: &Legacy, path: &str| {
        downstream.call("call_tool_read", given(path)).await;
        scene.calls("inside").last().unwrap()["mcp_session_id"].is_string()
    };
    let over = async |http: &Http| Legacy::open_with(http.clone().at("/mcp"), json!({})).await;
    let announced =
        Agent::new("claude-code", "by-token").pre(Use::Call("call_tool_read", &given("a")));
    let announced: Value = serde_json::from_str(&announced).unwrap();
    let (status, answer) = one.post("/api/v1/hooks/evaluate", &announced).await;
    assert_eq!(status, 200, "{answer}");
    assert!(!linked(&scene.legacy().await, "a").await, "nobody's");
    assert!(!linked(&over(&other).await, "a").await, "another token's");
    assert!(linked(&over(&one).await, "a").await, "its own");
    let agent = Agent::new("claude-code", "by-owner");
    scene.announce(&agent, "call_tool_read", &given("b")).await;
    assert!(linked(&over(&one).await, "b").await, "the owner's agent");
}

/// In single mode tools have bare names, which those of another server of the agent's may have too.
#[tokio::test]
async fn in_single_mode_the_tool_of_another_server_links_nobody() {
    let tool = json!({ "name": "read", "inputSchema": { "type": "object" } });
    let inside = json!({ "tools": [tool], "results": { "read": ["a", "b", "c"] } });
    let inside = Upstream::play(&inside);
    let gateway = Gateway::start(&json!({
        "routing_mode": "single",
        "activity": { "durability": "strict" },
        "mcpServers": { "inside": inside.settings },
    }))
    .await;
    for (entry, linked) in [("filesystem", false), ("mcpproxy", true), ("inside", true)] {
        let given = json!({ "path": entry });
        let payload = json!({
            "session_id": entry, "hook_event_name": "PreToolUse",
            "tool_name": format!("mcp__{entry}__read"), "tool_input": given,
        });
        hook(&gateway.home, "claude-code", &payload.to_string(), &[]).await;
        let downstream = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        downstream.call("read", given).await;
        let mut records = gateway.home.activity();
        records.retain(|one| one["type"] == "tool_call");
        let last = records.last().unwrap();
        assert_eq!(
            last["mcp_session_id"].is_string(),
            linked,
            "{entry}: {last}"
        );
    }
}

/// SC-005 over the real programs: 1,000 pairs, 8 conversations at once, each call announced by a
/// hook and made a moment later.
#[tokio::test]
async fn sc_005_announced_calls_of_eight_conversations_are_linked() {
    const EACH: u32 = 125;
    const STEP: usize = 20;
    let scene = Arc::new(Scene::start("call", json!({})).await);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let agents = std::array::from_fn::<_, 8, _>(|place| {
        let (scene, name) = (Arc::clone(&scene), names[place]);
        tokio::spawn(async move {
            let agent = Agent::new("claude-code", name);
            for number in 0..EACH {
                // Whose call it is can be told by its length.
                let path = format!("{name}/{number:03}{}", "x".repeat(STEP * place));
                let given = json!({ "name": "inside:read", "args": { "path": path } });
                scene.announce(&agent, "call_tool_read", &given).await;
                tokio::time::sleep(Duration::from_millis(7) * (number % 6)).await;
                // A session of its own for each, so that each must be recognized by itself.
                scene.legacy().await.call("call_tool_read", given).await;
            }
        })
    });
    for agent in agents {
        agent.await.unwrap();
    }
    let length = |call: &Value| call["request_bytes"].as_u64().unwrap();
    let records = scene.gateway.home.records().into_iter();
    let calls = records.filter(|record| record["type"] == "tool_call");
    let least = calls.map(|call| length(&call)).min().unwrap();
    let mut linked = 0;
    for (place, name) in (0_u64..).zip(names) {
        let mut own = 0;
        for offset in [0, 100] {
            let page = format!("limit=100&offset={offset}");
            let query = format!("/activity?type=tool_call&session_id={name}&{page}");
            let found = scene.gateway.api(&query).await;
            let found = found["activities"].as_array().unwrap().iter();
            for call in found.filter(|call| call["mcp_session_id"].is_string()) {
                // The ids that calls have upstream are of one to four digits, in any order.
                let step = u64::try_from(STEP).unwrap();
                let of = (length(call) - least + step / 2) / step;
                assert_eq!(of, place, "{name}: {call}");
                own += 1;
            }
        }
        assert!(own <= EACH, "{name}: {own}");
        linked += own;
    }
    assert!(linked >= 990, "{linked} of 1000");
}
