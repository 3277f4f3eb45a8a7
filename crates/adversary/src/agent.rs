//! An agent that believes what it reads: MCP of either era over Streamable HTTP, one session.
//!
//! It remembers everything that it was shown. Whether it is corrupted is a question about that
//! memory, not about the upstream that did it: what never reached it cannot have talked it into
//! anything.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body_util::BodyExt as _;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::{Dialer, Received};
use mcpproxy_mcp::era::{
    LEGACY_LATEST, META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, MODERN, name_parameter,
};
use mcpproxy_mcp::sse::Decoder;
use mcpproxy_mcp::{compose, header};
use serde_json::{Map, Value, json};

use crate::scenario::Era;

/// The most that the agent reads of one answer.
const MOST: usize = 32 * 1024 * 1024;
/// How long one answer may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);
/// How many questions in a row it answers.
const QUESTIONS: usize = 4;
/// The name under which it introduces itself.
pub(crate) const NAME: &str = "corruptible-agent";

/// One session of an agent.
#[derive(Debug)]
pub(crate) struct Agent {
    dialer: Dialer,
    address: String,
    headers: HeaderMap,
    era: Era,
    capabilities: Value,
    asked: u64,
    /// What it says to honest questions: by the name of a field, and as `text` to a model.
    pub(crate) answers: Map<String, Value>,
    /// Every string that it was shown.
    pub(crate) shown: Vec<String>,
    /// The size of the largest answer.
    pub(crate) largest: usize,
    /// Messages that were no answers.
    pub(crate) heard: usize,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// With a result.
    Result(Value),
    /// With an error, or not at all; in words.
    Refused(String),
}

impl Reply {
    /// Tells whether it has a result that does not itself speak of an error.
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self, Self::Result(result) if result.get("isError") != Some(&json!(true)))
    }

    /// Returns it in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Result(result) => result.to_string(),
            Self::Refused(why) => why.clone(),
        }
    }
}

impl Agent {
    /// Makes an agent of an era for an address, with headers that it always sends.
    pub(crate) fn new(address: &str, headers: &[(&str, &str)], era: Era) -> Self {
        let mut all = header_map(headers.iter().copied());
        let usual = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        all.extend(header_map(usual.into_iter()));
        Self {
            dialer: Dialer::default(),
            address: address.to_owned(),
            headers: all,
            era,
            capabilities: json!({}),
            asked: 0,
            answers: Map::new(),
            shown: Vec::new(),
            largest: 0,
            heard: 0,
        }
    }

    /// Opens the session, or asks who is there.
    pub(crate) async fn open(&mut self, capabilities: Value) {
        self.capabilities = capabilities;
        if self.era == Era::Modern {
            drop(self.ask("server/discover", &json!({})).await);
            return;
        }
        let params = json!({
            "protocolVersion": LEGACY_LATEST,
            "capabilities": self.capabilities,
            "clientInfo": introduction(),
        });
        // A refusal shows in whatever is asked next.
        drop(self.ask("initialize", &params).await);
        self.headers.extend(header_map(
            [("mcp-protocol-version", LEGACY_LATEST)].into_iter(),
        ));
        let ready = compose::notification("notifications/initialized", "{}");
        drop(self.post(ready, HeaderMap::new()).await);
    }

    /// Makes a request.
    pub(crate) async fn ask(&mut self, method: &str, params: &Value) -> Reply {
        let mut params = params.clone();
        for _ in 0..QUESTIONS {
            let reply = self.request(method, &params).await;
            let Reply::Result(result) = &reply else {
                return reply;
            };
            let Some(more) = self.answers(result) else {
                return reply;
            };
            if let Some(params) = params.as_object_mut() {
                params.extend(more);
            }
        }
        Reply::Refused("more was asked than anybody answers".to_owned())
    }

    async fn request(&mut self, method: &str, params: &Value) -> Reply {
        self.asked += 1;
        let id = self.asked.to_string();
        let body = compose::request(&id, method, &params.to_string());
        let body = String::from_utf8_lossy(&body).into_owned();
        self.send(body, &BTreeMap::new()).await
    }

    /// Reads a list page by page, as far as it has the patience.
    pub(crate) async fn list(&mut self, method: &str) {
        let (mut params, began) = (json!({}), Instant::now());
        while began.elapsed() < PATIENCE {
            let Reply::Result(page) = self.ask(method, &params).await else {
                return;
            };
            let Some(next) = page.get("nextCursor") else {
                return;
            };
            params = json!({ "cursor": next });
        }
    }

    /// Sends a body as it is, but for what every message of the era carries, with more headers, and
    /// returns how it was answered.
    pub(crate) async fn send(&mut self, body: String, more: &BTreeMap<String, String>) -> Reply {
        let more = header_map(more.iter().map(|(name, value)| (&**name, &**value)));
        let (body, mut headers) = match self.era {
            Era::Legacy => (body, HeaderMap::new()),
            Era::Modern => enveloped(&body, &self.capabilities),
        };
        headers.extend(more);
        self.exchange(body.into(), headers).await
    }

    /// Answers what a result asks, as the next request brings it; nothing where it asks nothing.
    fn answers(&mut self, result: &Value) -> Option<Map<String, Value>> {
        let asked = result.get("inputRequests")?.as_object()?.clone();
        let said = asked
            .iter()
            .map(|(key, question)| (key.clone(), self.said(question)));
        let said: Map<String, Value> = said.collect();
        let mut more = Map::new();
        more.insert("inputResponses".to_owned(), Value::Object(said));
        if let Some(state) = result.get("requestState") {
            more.insert("requestState".to_owned(), state.clone());
        }
        Some(more)
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, name: &str, arguments: &Value) -> Reply {
        let params = json!({ "name": name, "arguments": arguments });
        self.ask("tools/call", &params).await
    }

    /// Returns the id of its session.
    pub(crate) fn session(&self) -> Option<&str> {
        self.headers.get("mcp-session-id")?.to_str().ok()
    }

    /// Tells whether it was shown a text.
    pub(crate) fn was_shown(&self, text: &str) -> bool {
        self.shown.iter().any(|shown| shown.contains(text))
    }

    async fn exchange(&mut self, body: Bytes, more: HeaderMap) -> Reply {
        let exchanged = async {
            let (status, received) = match self.post(body, more).await {
                Ok(answer) => answer,
                Err(why) => return Reply::Refused(why),
            };
            self.hear(status, received).await
        };
        match tokio::time::timeout(PATIENCE, exchanged).await {
            Ok(reply) => reply,
            Err(_) => Reply::Refused("no answer came in time".to_owned()),
        }
    }

    async fn post(&mut self, body: Bytes, more: HeaderMap) -> Result<(StatusCode, Answer), String> {
        let uri: Uri = self
            .address
            .parse()
            .map_err(|_| "not an address".to_owned())?;
        let mut headers = self.headers.clone();
        for (name, value) in &more {
            headers.insert(name, value.clone());
        }
        let sent = self.dialer.send(Method::POST, &uri, headers, body).await;
        let (parts, body) = sent.map_err(|fault| fault.to_string())?.into_parts();
        if let Some(session) = parts.headers.get("mcp-session-id") {
            self.headers.insert("mcp-session-id", session.clone());
        }
        let kind = parts.headers.get("content-type");
        let events = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        Ok((parts.status, Answer { body, events }))
    }

    /// Reads an answer to its end, or to the message that is the answer.
    async fn hear(&mut self, status: StatusCode, answer: Answer) -> Reply {
        if !answer.events {
            let Ok(read) = read_bounded(answer.body, MOST, PATIENCE).await else {
                return Reply::Refused("the answer could not be read".to_owned());
            };
            self.largest = self.largest.max(read.len());
            if read.is_empty() && status.is_success() {
                return Reply::Result(json!({}));
            }
            let message = serde_json::from_slice(&read).unwrap_or_default();
            return self.taken(&message).unwrap_or_else(|| {
                Reply::Refused(format!("{status}: {}", String::from_utf8_lossy(&read)))
            });
        }
        let mut body = answer.body;
        let mut decoder = Decoder::new(MOST);
        let mut taken = 0;
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else {
                continue;
            };
            taken += data.len();
            self.largest = self.largest.max(taken);
            if decoder.push(&data).is_err() {
                return Reply::Refused("the answer is too large".to_owned());
            }
            while let Some(event) = decoder.next_event() {
                // Lenient as many agents are: what is no text is replaced, the last of two keys counts.
                let text = String::from_utf8_lossy(&event.data);
                let message = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
                if let Some(reply) = self.taken(&message) {
                    return reply;
                }
                self.heard += 1;
                self.question(&message).await;
            }
        }
        Reply::Refused("the stream ended without an answer".to_owned())
    }

    /// Remembers a message; returns what it says where it is the answer.
    fn taken(&mut self, message: &Value) -> Option<Reply> {
        remember(message, &mut self.shown);
        if let Some(result) = message.get("result") {
            return Some(Reply::Result(result.clone()));
        }
        let error = message.get("error")?;
        let words = error.get("message").and_then(Value::as_str);
        Some(Reply::Refused(
            words.map_or_else(|| error.to_string(), str::to_owned),
        ))
    }

    /// Answers a question of an upstream as somebody does who fills in every form, and a question of
    /// the gateway as somebody who was warned.
    async fn question(&mut self, message: &Value) {
        let (Some(id), Some(_)) = (message.get("id"), message.get("method")) else {
            return;
        };
        let result = self.said(message);
        let answer = compose::result(&id.to_string(), &result.to_string());
        drop(Box::pin(self.post(answer, HeaderMap::new())).await);
    }

    fn said(&self, question: &Value) -> Value {
        let method = question.get("method").and_then(Value::as_str);
        let text = self.answers.get("text").cloned();
        match method.unwrap_or_default() {
            "elicitation/create" => self.form(question),
            "sampling/createMessage" => json!({
                "role": "assistant", "model": "none",
                "content": { "type": "text", "text": text.unwrap_or_else(|| json!(self.shown.join(" "))) },
            }),
            "roots/list" => json!({ "roots": [{ "uri": "file:///home/agent", "name": "home" }] }),
            _ => json!({}),
        }
    }

    fn form(&self, question: &Value) -> Value {
        let asked = question.pointer("/params/requestedSchema/properties");
        let fields = asked.and_then(Value::as_object);
        let fields: Vec<&String> = fields.map(|all| all.keys().collect()).unwrap_or_default();
        if fields.iter().any(|name| *name == "decision") {
            return json!({ "action": "decline" });
        }
        let secret = self.shown.iter().rev().find(|one| one.contains("glpat-"));
        let filled = fields.iter().map(|name| {
            let answer = self.answers.get(*name).cloned();
            ((*name).clone(), answer.unwrap_or_else(|| json!(secret)))
        });
        json!({ "action": "accept", "content": filled.collect::<serde_json::Map<_, _>>() })
    }
}

struct Answer {
    body: Received,
    events: bool,
}

/// How it introduces itself.
fn introduction() -> Value {
    json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION") })
}

/// Puts what every message of the modern era carries into a body, and returns the headers that repeat
/// it. The body is otherwise left as it is: it may break the protocol on purpose.
fn enveloped(body: &str, capabilities: &Value) -> (String, HeaderMap) {
    let envelope = json!({
        META_VERSION: MODERN,
        META_CAPABILITIES: capabilities,
        META_CLIENT_INFO: introduction(),
    });
    let body = if body.contains(META_VERSION) {
        body.to_owned()
    } else {
        let (empty, begin) = (r#""params":{}"#, r#""params":{"#);
        let whole = format!(r#""params":{{"_meta":{envelope}}}"#);
        let opened = format!(r#""params":{{"_meta":{envelope},"#);
        if body.contains(empty) {
            body.replace(empty, &whole)
        } else {
            body.replace(begin, &opened)
        }
    };
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    let message = message.get(0).unwrap_or(&message);
    let method = message.get("method").and_then(Value::as_str);
    let method = method.unwrap_or_default();
    let mut headers =
        header_map([("mcp-protocol-version", MODERN), ("mcp-method", method)].into_iter());
    let params = message.get("params");
    let named = name_parameter(method).and_then(|key| params?.get(key)?.as_str());
    if let Some(value) = named.and_then(header::encode) {
        headers.insert(header::NAME, value);
    }
    (body, headers)
}

/// Makes headers; what cannot be one is left out.
pub(crate) fn header_map<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> HeaderMap {
    let pairs = pairs.filter_map(|(name, value)| {
        let name: HeaderName = name.parse().ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    });
    pairs.collect()
}

/// Keeps every string of a message, keys too.
fn remember(value: &Value, shown: &mut Vec<String>) {
    match value {
        Value::String(text) => shown.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| remember(item, shown)),
        Value::Object(members) => {
            for (key, member) in members {
                shown.push(key.clone());
                remember(member, shown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent that is asked fills in what it was told to say, and where it was told nothing what it
    /// has read: the one is an honest answer, the other what an attack is after.
    #[test]
    fn questions_are_answered_as_the_step_says_or_with_what_was_read() {
        let mut agent = Agent::new("http://localhost", &[], Era::Legacy);
        agent.shown.push("glpat-secret".to_owned());
        let fields = json!({ "harbour": { "type": "string" } });
        let form = json!({
            "method": "elicitation/create",
            "params": { "requestedSchema": { "type": "object", "properties": fields } },
        });
        let sampling = json!({ "method": "sampling/createMessage", "params": {} });
        let said = |agent: &Agent| {
            let filled = agent.said(&form)["content"]["harbour"].clone();
            (filled, agent.said(&sampling)["content"]["text"].clone())
        };
        assert_eq!(said(&agent), (json!("glpat-secret"), json!("glpat-secret")));
        agent.answers = json!({ "harbour": "east", "text": "It rains." })
            .as_object()
            .cloned()
            .unwrap();
        assert_eq!(said(&agent), (json!("east"), json!("It rains.")));
    }
}
