//! One upstream inside with something to tell, one outside that writes down what it is told.

use serde_json::{Value, json};

use super::{Gateway, Legacy, Upstream};

/// What is read inside: words that are nobody else's, and a key.
pub(crate) const WORDS: &str =
    "The harbour master wants the lamps on the east pier repainted before the regatta in autumn.";
/// The key, made up.
pub(crate) const KEY: &str = "glpat-w5Kq2mZt8XcV4bRn9LpY";

/// The two upstreams, inside first.
pub(crate) fn sides() -> [Upstream; 2] {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let told = format!("{WORDS}\nGITLAB_TOKEN={KEY}");
    let inside = json!({ "tools": [tool("read")], "results": { "read": [told] } });
    let outside = json!({ "tools": [tool("post")], "results": { "post": ["posted"] } });
    [Upstream::play(&inside), Upstream::play(&outside)]
}

/// The texts that arrived outside.
pub(crate) fn arrived(outside: &Upstream) -> Vec<String> {
    let called = outside.called().into_iter();
    let texts = called.map(|(_, arguments)| arguments["text"].as_str().unwrap().to_owned());
    texts.collect()
}

/// A gateway between the two.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) outside: Upstream,
    _inside: Upstream,
}

impl Scene {
    /// Starts one under a `security` section.
    pub(crate) async fn start(security: Value) -> Self {
        Self::start_with(security, "1m").await
    }

    /// The same, where calls to the outside may take only so long.
    pub(crate) async fn start_with(mut security: Value, call_timeout: &str) -> Self {
        security["classification"]["server_overrides"] =
            json!({ "inside": "internal", "outside": "external" });
        let [inside, outside] = sides();
        let config = json!({
            "routing_mode": "all",
            "activity": { "durability": "strict" },
            "mcpServers": {
                "inside": inside.settings,
                "outside": outside.with("call_timeout", json!(call_timeout)),
            },
            "security": security,
        });
        Self {
            gateway: Gateway::start(&config).await,
            outside,
            _inside: inside,
        }
    }

    /// Opens a legacy session that has read what there is inside.
    pub(crate) async fn informed(&self, capabilities: Value) -> Legacy {
        let agent = Legacy::open(&self.gateway.url("/mcp"), capabilities).await;
        agent.call("inside__read", json!({})).await;
        agent
    }

    /// The parameters of a call that takes a text outside.
    pub(crate) fn post(text: &str) -> Value {
        json!({ "name": "outside__post", "arguments": { "text": text } })
    }

    /// The messages that arrived outside, as they were sent.
    pub(crate) fn received(&self) -> Vec<String> {
        self.outside.received()
    }

    /// The texts that arrived outside.
    pub(crate) fn arrived(&self) -> Vec<String> {
        arrived(&self.outside)
    }

    /// The records of calls to the outside and of those that were denied, oldest first.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut records = self.gateway.home.activity();
        records.retain(|one| one["server_name"] == "outside" && one["type"] != "intent");
        records
    }
}
