//! A downstream of the modern era: stateless, with its envelope and headers on every request.

use http::{HeaderMap, Method};
use mcpproxy_mcp::era::{
    META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, MODERN, name_parameter,
};
use mcpproxy_mcp::{compose, header};
use serde_json::{Value, json};

use super::wire::{Http, Reply, headers};

/// One modern downstream.
#[derive(Clone)]
pub(crate) struct Modern {
    capabilities: Value,
    http: Http,
}

impl Modern {
    /// Makes a downstream of an endpoint that can be asked for what it declares.
    pub(crate) fn new(endpoint: &str, capabilities: Value) -> Self {
        Self::with(Http::new(endpoint), capabilities)
    }

    /// Makes a downstream from a client that may carry a credential.
    pub(crate) fn with(http: Http, capabilities: Value) -> Self {
        let http = http
            .with("content-type", "application/json")
            .with("accept", "application/json, text/event-stream");
        Self { capabilities, http }
    }

    /// The envelope that every request carries.
    pub(crate) fn envelope(&self) -> Value {
        json!({
            META_VERSION: MODERN,
            META_CAPABILITIES: self.capabilities,
            META_CLIENT_INFO: { "name": "test", "version": "1" },
        })
    }

    /// The headers that repeat a request.
    pub(crate) fn routing(method: &str, params: &Value) -> HeaderMap {
        let mut all = headers(&[("mcp-protocol-version", MODERN), ("mcp-method", method)]);
        let name = name_parameter(method).and_then(|name| params[name].as_str());
        if let Some(value) = name.and_then(header::encode) {
            all.insert(header::NAME, value);
        }
        all
    }

    /// Posts a body as it is, with the headers given.
    pub(crate) async fn send(&self, body: impl Into<bytes::Bytes>, more: HeaderMap) -> Reply {
        self.http.send(Method::POST, "", more, body).await
    }

    /// Makes a request under a raw id; what stands in `_meta` is added to the envelope.
    pub(crate) async fn raw(&self, id: &str, method: &str, mut params: Value) -> Reply {
        let mut envelope = self.envelope();
        if let Some(given) = params["_meta"].as_object() {
            envelope.as_object_mut().unwrap().extend(given.clone());
        }
        params["_meta"] = envelope;
        let body = compose::request(id, method, &params.to_string());
        self.send(body, Self::routing(method, &params)).await
    }

    /// Makes a request.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Reply {
        self.raw("1", method, params).await
    }

    /// Makes a request and returns its result.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        self.request(method, params).await.result().await
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params).await
    }
}
