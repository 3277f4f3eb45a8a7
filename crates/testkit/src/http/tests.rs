//! The samples over HTTP, spoken to with the product's own dialer.

use http::header::ACCEPT;
use http::{HeaderName, HeaderValue, Uri};
use http_body_util::BodyExt as _;
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::{Dialer, Received};
use mcpproxy_mcp::header;
use mcpproxy_mcp::sse::Decoder;
use mcpproxy_text::Limits;
use serde_json::{Value, json};

use super::*;
use crate::sample::EraSupport;

mod faults;
mod legacy;
mod modern;

const PATIENCE: Duration = Duration::from_secs(10);
const MOST: usize = 1024 * 1024;

/// A downstream that speaks HTTP.
struct Downstream {
    upstream: HttpUpstream,
    dialer: Dialer,
    headers: HeaderMap,
}

type Response = http::Response<Received>;

impl Downstream {
    async fn start(sample: Sample, era: EraSupport) -> Self {
        let options = Options {
            era,
            ..Options::default()
        };
        let upstream = HttpUpstream::start(sample, options).await.unwrap();
        let mut headers = HeaderMap::new();
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        Self {
            upstream,
            dialer: Dialer::default(),
            headers,
        }
    }

    async fn send(&self, method: Method, url: &str, headers: HeaderMap, body: String) -> Response {
        let uri: Uri = url.parse().unwrap();
        self.dialer
            .send(method, &uri, headers, body.into())
            .await
            .unwrap()
    }

    async fn post(&self, message: &Value) -> Response {
        let url = &self.upstream.url;
        self.send(Method::POST, url, self.headers.clone(), message.to_string())
            .await
    }

    /// Makes a legacy session and names it from then on.
    async fn initialize(&mut self) {
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} } });
        let response = self.post(&request(0, "initialize", &params)).await;
        let session = response.headers()[header::SESSION].clone();
        self.headers.insert(header::SESSION, session);
        assert_eq!(body(response).await["result"]["serverInfo"]["name"], "echo");
    }

    /// Makes a modern request with the headers that it must have.
    async fn modern(
        &self,
        method: &str,
        params: Value,
        extra: &[(&'static str, &str)],
    ) -> Response {
        let message = modern(1, method, params);
        let frame = Frame::parse(message.to_string().into(), Limits::default()).unwrap();
        let mut headers = self.headers.clone();
        headers.extend(
            header::routing(&frame, "2026-07-28")
                .into_iter()
                .map(|(n, v)| (Some(n), v)),
        );
        for &(name, value) in extra {
            let value = HeaderValue::from_str(value).unwrap();
            headers.insert(HeaderName::from_static(name), value);
        }
        self.send(
            Method::POST,
            &self.upstream.url,
            headers,
            message.to_string(),
        )
        .await
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn tool(id: u64, name: &str, arguments: &Value) -> Value {
    request(
        id,
        "tools/call",
        &json!({ "name": name, "arguments": arguments }),
    )
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request(id, method, &params)
}

/// Reads an answer that is one JSON body.
async fn body(response: Response) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    let bytes = read_bounded(response.into_body(), MOST, PATIENCE)
        .await
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// An answer that is a stream of events.
struct Events {
    body: Received,
    decoder: Decoder,
}

impl Events {
    fn of(response: Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let decoder = Decoder::new(MOST);
        Self {
            body: response.into_body(),
            decoder,
        }
    }

    /// Returns the next event's data, or nothing at the end.
    async fn text(&mut self) -> Option<String> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Some(String::from_utf8_lossy(&event.data).into_owned());
            }
            let frame = self.body.frame().await?.unwrap();
            self.decoder.push(frame.data_ref().unwrap()).unwrap();
        }
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.text().await.expect("the stream ended")).unwrap()
    }
}
