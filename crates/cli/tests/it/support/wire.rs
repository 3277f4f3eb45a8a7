//! Plain HTTP, with answers that are read message by message whether they are whole or streams.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body_util::BodyExt as _;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::{Dialer, Received};
use mcpproxy_mcp::sse::Decoder;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{PATIENCE, within};

/// The largest answer that is read.
const MOST: usize = 64 * 1024 * 1024;

/// Makes headers from pairs.
pub(crate) fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// A client of one address with its own connections.
#[derive(Clone)]
pub(crate) struct Http {
    base: String,
    headers: HeaderMap,
    dialer: Dialer,
}

impl Http {
    /// Makes a client.
    pub(crate) fn new(base: &str) -> Self {
        Self {
            base: base.to_owned(),
            headers: HeaderMap::new(),
            dialer: Dialer::default(),
        }
    }

    /// Adds a header to every request.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.extend(headers(&[(name, value)]));
        self
    }

    /// The same client of another address.
    pub(crate) fn to(&self, base: &str) -> Self {
        Self {
            headers: self.headers.clone(),
            ..Self::new(base)
        }
    }

    /// The same client for everything below a path.
    pub(crate) fn at(mut self, path: &str) -> Self {
        self.base.push_str(path);
        self
    }

    /// Sends a request and returns the answer once its head is there.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        more: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Reply {
        let uri: Uri = format!("{}{path}", self.base).parse().unwrap();
        let mut all = self.headers.clone();
        all.extend(more);
        let sent = self.dialer.send(method, &uri, all, body.into());
        let response = within("an HTTP answer", sent).await.unwrap();
        let (parts, body) = response.into_parts();
        let streams = parts.headers.get("content-type");
        let streams = streams.is_some_and(|kind| kind == "text/event-stream");
        Reply {
            status: parts.status,
            headers: parts.headers,
            decoder: streams.then(|| Decoder::new(MOST)),
            body: Some(body),
            raw: Vec::new(),
            events: Vec::new(),
            named: String::new(),
        }
    }

    /// Gets a path and returns the status and the JSON of the answer.
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        let reply = self.send(Method::GET, path, HeaderMap::new(), "").await;
        reply.json().await
    }

    /// Posts JSON to a path and returns the status and the JSON of the answer.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let kind = headers(&[("content-type", "application/json")]);
        let reply = self.send(Method::POST, path, kind, body.to_string()).await;
        reply.json().await
    }

    /// Deletes a path and returns the status and the JSON of the answer.
    pub(crate) async fn delete(&self, path: &str) -> (StatusCode, Value) {
        let reply = self.send(Method::DELETE, path, HeaderMap::new(), "").await;
        reply.json().await
    }
}

/// An answer, read message by message. Dropping it closes its stream.
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: StatusCode,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The messages read so far, as they came.
    pub(crate) raw: Vec<String>,
    /// The ids of the events read so far.
    pub(crate) events: Vec<String>,
    /// The name of the last event.
    pub(crate) named: String,
    decoder: Option<Decoder>,
    body: Option<Received>,
}

impl Reply {
    /// Reads the whole body as text.
    pub(crate) async fn text(mut self) -> String {
        let body = self.body.take().unwrap();
        let read = read_bounded(body, MOST, PATIENCE).await.unwrap();
        String::from_utf8_lossy(&read).into_owned()
    }

    /// Reads the whole body as JSON; an empty one is `null`.
    pub(crate) async fn json(self) -> (StatusCode, Value) {
        let status = self.status;
        let text = self.text().await;
        if text.is_empty() {
            return (status, Value::Null);
        }
        let value = serde_json::from_str(&text);
        (status, value.unwrap_or_else(|_| panic!("not JSON: {text}")))
    }

    /// Returns the next message, or nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let raw = within("a message", self.next_text()).await?;
        let value = serde_json::from_str(&raw);
        let value = value.unwrap_or_else(|_| panic!("not JSON: {raw}"));
        self.raw.push(raw);
        Some(value)
    }

    /// Returns the data of the next event, or nothing at the end.
    pub(crate) async fn next_text(&mut self) -> Option<String> {
        let Some(decoder) = &mut self.decoder else {
            let body = self.body.take()?;
            let read = read_bounded(body, MOST, PATIENCE).await.unwrap();
            let text = String::from_utf8_lossy(&read).into_owned();
            return (!text.is_empty()).then_some(text);
        };
        loop {
            while let Some(event) = decoder.next_event() {
                self.events.extend(event.id);
                self.named = event.name;
                if !event.data.is_empty() {
                    return Some(String::from_utf8_lossy(&event.data).into_owned());
                }
            }
            let frame = self.body.as_mut()?.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                decoder.push(&data).unwrap();
            }
        }
    }

    /// Returns the next event with its name.
    pub(crate) async fn next_named(&mut self) -> (String, Value) {
        let value = self.next().await.expect("the stream ended");
        (self.named.clone(), value)
    }

    /// Reads on until a message for which `look` says true, and returns it.
    pub(crate) async fn until(&mut self, what: &str, look: impl Fn(&Value) -> bool) -> Value {
        let found = async {
            loop {
                match self.next().await {
                    Some(message) if look(&message) => return message,
                    Some(_) => {}
                    None => panic!("the stream ended before {what}; it had {:?}", self.raw),
                }
            }
        };
        within(what, found).await
    }

    /// Reads on until a notification of this method.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        self.until(method, |message| message["method"] == method)
            .await
    }

    /// Reads on until the result or error, and returns that message.
    pub(crate) async fn answer(&mut self) -> Value {
        self.until("an answer", |message| {
            message.get("result").is_some() || message.get("error").is_some()
        })
        .await
    }

    /// Reads on until the result, and returns it.
    pub(crate) async fn result(&mut self) -> Value {
        let answer = self.answer().await;
        let result = answer.get("result");
        result.unwrap_or_else(|| panic!("failed: {answer}")).clone()
    }

    /// Reads on until the error, and returns it.
    pub(crate) async fn error(&mut self) -> Value {
        let answer = self.answer().await;
        let error = answer.get("error");
        error
            .unwrap_or_else(|| panic!("did not fail: {answer}"))
            .clone()
    }

    /// The messages read so far that have this method.
    pub(crate) fn heard(&self, method: &str) -> Vec<Value> {
        let all = self.raw.iter();
        let all = all.map(|raw| serde_json::from_str::<Value>(raw).unwrap());
        all.filter(|message| message["method"] == method).collect()
    }
}

/// Writes bytes to a connection and returns everything that comes back until it closes.
pub(crate) async fn speak(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    within("the connection to close", stream.read_to_end(&mut answer))
        .await
        .unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
