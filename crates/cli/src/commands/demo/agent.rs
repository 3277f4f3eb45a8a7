//! An agent of the legacy era: MCP over Streamable HTTP, one request after the other.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::era::LEGACY_LATEST;
use mcpproxy_mcp::sse::Decoder;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The largest answer that is read.
const MOST: usize = 1024 * 1024;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The header that names the session.
const SESSION: &str = "mcp-session-id";

/// An agent with a connection and, once greeted, a session.
pub(super) struct Agent {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    session: Option<String>,
    asked: u64,
}

impl Agent {
    /// Connects to the gateway.
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .context("cannot connect to the gateway")?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            sender,
            address,
            session: None,
            asked: 0,
        })
    }

    /// Waits until the gateway says that its upstreams were started.
    pub(super) async fn wait_until_ready(&mut self) -> Result<()> {
        loop {
            let response = self.send(Method::GET, "/readyz", Bytes::new()).await?;
            let ready = response.status() == StatusCode::OK;
            read_bounded(response.into_body(), MOST, PATIENCE).await?;
            if ready {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Opens a session and returns the answer.
    pub(super) async fn greet(&mut self) -> Result<Value> {
        let params = json!({
            "protocolVersion": LEGACY_LATEST,
            "capabilities": {},
            "clientInfo": { "name": "demo-agent", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.ask("initialize", &params).await?;
        self.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await?;
        Ok(answer)
    }

    /// Makes a request and returns the whole answer, be it a result or an error.
    pub(super) async fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let id = self.asked;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.post(&message).await?;
        let stream = response
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let status = response.status();
        let bytes = read_bounded(response.into_body(), MOST, PATIENCE).await?;
        let answer = if stream { last_event(&bytes)? } else { bytes };
        serde_json::from_slice(&answer)
            .with_context(|| format!("the gateway answered {status} to `{method}` without JSON"))
    }

    /// Calls a tool.
    pub(super) async fn call(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        self.ask(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        )
        .await
    }

    /// Ends the session.
    pub(super) async fn leave(mut self) -> Result<()> {
        let response = self.send(Method::DELETE, "/mcp", Bytes::new()).await?;
        read_bounded(response.into_body(), MOST, PATIENCE).await?;
        Ok(())
    }

    async fn post(&mut self, message: &Value) -> Result<Response<Incoming>> {
        let body = Bytes::from(message.to_string());
        let response = self.send(Method::POST, "/mcp", body).await?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session = Some(
                session
                    .to_str()
                    .context("the session has no usable id")?
                    .to_owned(),
            );
        }
        Ok(response)
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.address.to_string())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request
                .header(SESSION, session)
                .header("mcp-protocol-version", LEGACY_LATEST);
        }
        self.sender.ready().await?;
        Ok(self
            .sender
            .send_request(request.body(Full::new(body))?)
            .await?)
    }
}

/// Returns the data of the last event that has any, which is the answer.
fn last_event(bytes: &[u8]) -> Result<Bytes> {
    let mut decoder = Decoder::new(MOST);
    decoder.push(bytes)?;
    let mut last = Bytes::new();
    while let Some(event) = decoder.next_event() {
        if !event.data.is_empty() {
            last = event.data;
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_last_event() {
        let check = |stream: &str, expect: &str| {
            assert_eq!(last_event(stream.as_bytes()).unwrap(), expect);
        };
        check("data: {\"a\":1}\n\ndata: {\"b\":2}\n\n", "{\"b\":2}");
        check(": alive\n\ndata: 1\n\nid: 4\n\n", "1");
        check("", "");
    }
}
