//! A downstream of the legacy era: `initialize`, a session, requests both ways.

use http::{HeaderMap, Method};
use mcpproxy_mcp::compose;
use serde_json::{Value, json};

use super::wire::{Http, Reply, headers};

/// One legacy session.
pub(crate) struct Legacy {
    /// The result of `initialize`.
    pub(crate) hello: Value,
    /// The session's id.
    pub(crate) session: String,
    http: Http,
}

impl Legacy {
    /// Opens a session at an endpoint, declaring capabilities.
    pub(crate) async fn open(endpoint: &str, capabilities: Value) -> Self {
        Self::open_with(Http::new(endpoint), capabilities).await
    }

    /// Opens a session with a client that may carry a credential.
    pub(crate) async fn open_with(http: Http, capabilities: Value) -> Self {
        let http = http
            .with("content-type", "application/json")
            .with("accept", "application/json, text/event-stream");
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let body = compose::request("0", "initialize", &params.to_string());
        let mut reply = http.send(Method::POST, "", HeaderMap::new(), body).await;
        let hello = reply.result().await;
        let session = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let version = hello["protocolVersion"].as_str().unwrap();
        let http = http
            .with("mcp-session-id", &session)
            .with("mcp-protocol-version", version);
        let opened = Self {
            hello,
            session,
            http,
        };
        opened.notify("notifications/initialized", json!({})).await;
        opened
    }

    /// The same session, spoken to at another endpoint.
    pub(crate) fn at(&self, endpoint: &str) -> Self {
        self.by(Http::new(endpoint))
    }

    /// The same session, spoken to with another client.
    pub(crate) fn by(&self, http: Http) -> Self {
        let version = self.hello["protocolVersion"].as_str().unwrap();
        let http = http
            .with("content-type", "application/json")
            .with("accept", "application/json, text/event-stream")
            .with("mcp-session-id", &self.session)
            .with("mcp-protocol-version", version);
        Self {
            hello: self.hello.clone(),
            session: self.session.clone(),
            http,
        }
    }

    /// Posts a body as it is.
    pub(crate) async fn send(&self, body: impl Into<bytes::Bytes>) -> Reply {
        self.send_with(body, HeaderMap::new()).await
    }

    /// Posts a body as it is, with more headers.
    pub(crate) async fn send_with(&self, body: impl Into<bytes::Bytes>, more: HeaderMap) -> Reply {
        self.http.send(Method::POST, "", more, body).await
    }

    /// Makes a request under a raw id with raw parameters.
    pub(crate) async fn raw(&self, id: &str, method: &str, params: &str) -> Reply {
        self.send(compose::request(id, method, params)).await
    }

    /// Makes a request.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Reply {
        self.raw("1", method, &params.to_string()).await
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

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let body = compose::notification(method, &params.to_string());
        assert_eq!(self.send(body).await.status, 202);
    }

    /// Answers a request of the gateway.
    pub(crate) async fn respond(&self, request: &Value, result: Value) {
        let id = request["id"].to_string();
        let body = compose::result(&id, &result.to_string());
        assert_eq!(self.send(body).await.status, 202);
    }

    /// Opens the general stream, or resumes a stream after an event.
    pub(crate) async fn listen(&self, last: Option<&str>) -> Reply {
        let last = last.map(|last| headers(&[("last-event-id", last)]));
        let reply = self.get(last.unwrap_or_default()).await;
        assert_eq!(reply.status, 200);
        reply
    }

    /// Gets what the headers ask for.
    pub(crate) async fn get(&self, more: HeaderMap) -> Reply {
        self.http.send(Method::GET, "", more, "").await
    }

    /// Ends the session.
    pub(crate) async fn end(&self) -> http::StatusCode {
        let reply = self.http.send(Method::DELETE, "", HeaderMap::new(), "");
        reply.await.status
    }
}
