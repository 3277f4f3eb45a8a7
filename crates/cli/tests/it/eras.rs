//! Both eras on both sides over every transport: what one side says reaches the other in its own
//! words.

mod answers;
mod doors;
mod questions;
mod streams;

use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::{Value, json};

use crate::support::{Gateway, Legacy, Modern, Over, Reply, Upstream};

/// A downstream of either era.
enum Client {
    Legacy(Legacy),
    Modern(Modern),
}

impl Client {
    /// Makes one of each, declaring everything that can be asked.
    async fn both(gateway: &Gateway) -> [Self; 2] {
        let can = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        let endpoint = gateway.url("/mcp");
        let legacy = Legacy::open(&endpoint, can.clone()).await;
        [
            Self::Legacy(legacy),
            Self::Modern(Modern::new(&endpoint, can)),
        ]
    }

    fn era(&self) -> &'static str {
        match self {
            Self::Legacy(_) => "legacy",
            Self::Modern(_) => "modern",
        }
    }

    async fn raw(&self, id: &str, method: &str, params: Value) -> Reply {
        match self {
            Self::Legacy(legacy) => legacy.raw(id, method, &params.to_string()).await,
            Self::Modern(modern) => modern.raw(id, method, params).await,
        }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        self.raw("1", method, params).await.result().await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params).await
    }

    /// Calls a tool that asks something, answers it, and returns the question and the result.
    async fn call_answering(&self, tool: &str, arguments: Value, answer: Value) -> (Value, Value) {
        let mut params = json!({ "name": tool, "arguments": arguments });
        let mut reply = self.raw("\"q\"", "tools/call", params.clone()).await;
        match self {
            Self::Legacy(legacy) => {
                let asks = |message: &Value| message["method"].is_string() && message["id"] != "q";
                let question = reply.until("a question", asks).await;
                legacy.respond(&question, answer).await;
                (question, reply.result().await)
            }
            Self::Modern(_) => {
                let result = reply.result().await;
                assert_eq!(result["resultType"], "input_required", "{result}");
                let (key, question) = first(&result["inputRequests"]);
                params["inputResponses"] = json!({ key: answer });
                params["requestState"] = result["requestState"].clone();
                let result = self.ask("tools/call", params).await;
                (question, result)
            }
        }
    }
}

fn first(object: &Value) -> (String, Value) {
    let (key, value) = object.as_object().unwrap().iter().next().unwrap();
    (key.clone(), value.clone())
}

/// One gateway in front of the echo sample in each era over each transport.
struct Grid {
    gateway: Gateway,
    upstreams: [(&'static str, Upstream); 5],
}

impl Grid {
    async fn start() -> Self {
        Self::start_with(json!({})).await
    }

    /// The same, under a `security` section.
    async fn start_with(security: Value) -> Self {
        let (legacy, modern) = (EraSupport::LegacyOnly, EraSupport::ModernOnly);
        let echo = |era, over| Upstream::start(Sample::Echo, era, over);
        let upstreams = [
            ("legacy-stdio", echo(legacy, Over::Stdio).await),
            ("legacy-http", echo(legacy, Over::Http).await),
            ("legacy-sse", echo(legacy, Over::Sse).await),
            ("modern-stdio", echo(modern, Over::Stdio).await),
            ("modern-http", echo(modern, Over::Http).await),
        ];
        let settings: serde_json::Map<_, _> = upstreams
            .iter()
            .map(|(name, upstream)| ((*name).to_owned(), upstream.settings.clone()))
            .collect();
        let config = json!({ "routing_mode": "all", "mcpServers": settings, "security": security });
        let gateway = Gateway::start(&config).await;
        Self { gateway, upstreams }
    }
}
