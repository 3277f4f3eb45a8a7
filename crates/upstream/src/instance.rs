//! One conversation with an upstream: the link, the era it was opened in, and what the upstream
//! said about itself.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use mcpproxy_core::{Call, Cleared, UpstreamId};
use mcpproxy_mcp::envelope::Envelope;
use mcpproxy_mcp::era::{self, Era, LEGACY_LATEST, META_SERVER_INFO, MODERN, UNSUPPORTED_VERSION};
use mcpproxy_mcp::{Frame, FrameKind, compose, header};
use mcpproxy_text::{self as text, Limits};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Error;
use crate::link::{FromUpstream, Headers, Link};

/// Tickets are unique in the process, so that no answer ever fits two questions.
static NEXT_TICKET: AtomicU64 = AtomicU64::new(1);

/// How long a message of the gateway's own may wait to be taken.
const TELL_PATIENCE: Duration = Duration::from_secs(2);

/// How often a conversation that is to be ended is looked at for calls under way.
const HEAR_OUT: Duration = Duration::from_millis(50);

/// How long calls under way may hold up the end of a conversation.
const HEAR_OUT_MOST: Duration = Duration::from_mins(10);

/// Draws the id under which a request is sent to an upstream.
pub fn ticket() -> u64 {
    NEXT_TICKET.fetch_add(1, Ordering::Relaxed)
}

/// How the gateway introduces a downstream, or itself, to an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The version that the downstream speaks.
    pub version: String,
    /// The raw capabilities object.
    pub capabilities: String,
    /// The raw object that names the downstream.
    pub client_info: String,
}

impl Default for Greeting {
    /// The gateway speaking for itself: it can be asked nothing.
    fn default() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            version: LEGACY_LATEST.to_owned(),
            capabilities: "{}".to_owned(),
            client_info: format!(r#"{{"name":"mcpproxy","version":"{version}"}}"#),
        }
    }
}

/// One conversation with an upstream.
#[derive(Debug)]
pub struct Instance {
    upstream: UpstreamId,
    link: Link,
    era: Era,
    version: String,
    hello: String,
    greeting: Greeting,
    limits: Limits,
    in_flight: AtomicUsize,
}

/// What opening a conversation needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) upstream: UpstreamId,
    pub(crate) greeting: Greeting,
    pub(crate) limits: Limits,
    pub(crate) patience: Duration,
}

impl Instance {
    /// Opens a legacy conversation: `initialize`, then `notifications/initialized`.
    pub(crate) async fn open_legacy(link: Link, opening: &Opening) -> Result<Self, Error> {
        let greeting = opening.greeting.clone();
        let proposed = era::negotiate(&greeting.version);
        let params = format!(
            r#"{{"protocolVersion":"{proposed}","capabilities":{},"clientInfo":{}}}"#,
            greeting.capabilities, greeting.client_info
        );
        let mut instance = Self::unopened(link, Era::Legacy, proposed, opening);
        let mut hello = instance.own("initialize", &params, opening.patience).await;
        // An upstream may close a connection that waited in the very moment in which it is used again.
        // Whether it heard this is not known, and to open a conversation twice does no harm.
        if matches!(
            hello,
            Err(Error::Transport(mcpproxy_mcp::Error::Transport(_)))
        ) {
            hello = instance.own("initialize", &params, opening.patience).await;
        }
        let hello = hello?;
        let version =
            text::get(&hello, &["protocolVersion"]).and_then(|(raw, _)| text::string(raw));
        let version = version.ok_or(Error::NoCommonVersion)?.into_owned();
        if Era::of(&version) != Some(Era::Legacy) {
            return Err(Error::NoCommonVersion);
        }
        if let Link::Http(link) = &instance.link {
            link.set_version(&version);
        }
        instance.version = version;
        instance.hello = hello;
        let initialized = compose::notification("notifications/initialized", "{}");
        instance.send_raw(initialized, Headers::new()).await?;
        Ok(instance)
    }

    /// Opens a modern conversation with `server/discover`. An upstream that does not know it gets
    /// its link handed back, for a legacy opening.
    pub(crate) async fn open_modern(link: Link, opening: &Opening) -> Result<Self, (Link, Error)> {
        let mut instance = Self::unopened(link, Era::Modern, MODERN, opening);
        let mut answer = instance
            .own("server/discover", "{}", opening.patience)
            .await;
        // An upstream that refuses a version and names it among those it speaks is asked again.
        if let Err(Error::Refused {
            code: UNSUPPORTED_VERSION,
            names_version: true,
            ..
        }) = answer
        {
            answer = instance
                .own("server/discover", "{}", opening.patience)
                .await;
        }
        match answer {
            Ok(hello) if lists_modern(&hello, &["supportedVersions"]) => {
                instance.hello = hello;
                Ok(instance)
            }
            Ok(_) => Err((instance.link, Error::NoCommonVersion)),
            Err(fault) => Err((instance.link, fault)),
        }
    }

    fn unopened(link: Link, era: Era, version: &str, opening: &Opening) -> Self {
        Self {
            upstream: opening.upstream.clone(),
            link,
            era,
            version: version.to_owned(),
            hello: String::new(),
            greeting: opening.greeting.clone(),
            limits: opening.limits,
            in_flight: AtomicUsize::new(0),
        }
    }

    /// Returns the upstream's name.
    pub fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    /// Returns the era in which the conversation was opened.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Returns the version in force.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the upstream's raw greeting: the result of `initialize` or `server/discover`.
    pub fn hello(&self) -> &str {
        &self.hello
    }

    /// Returns the upstream's raw capabilities.
    pub fn capabilities(&self) -> &str {
        text::get(&self.hello, &["capabilities"]).map_or("{}", |(raw, _)| raw)
    }

    /// Returns the raw object with which the upstream names itself.
    pub fn server_info(&self) -> Option<&str> {
        let path: &[&str] = match self.era {
            Era::Legacy => &["serverInfo"],
            Era::Modern => &["_meta", META_SERVER_INFO],
        };
        text::get(&self.hello, path).map(|(raw, _)| raw)
    }

    /// Tells whether the upstream declares a capability, as `["resources", "subscribe"]`.
    pub fn declares(&self, path: &[&str]) -> bool {
        text::get(self.capabilities(), path).is_some_and(|(raw, _)| raw != "false")
    }

    /// Returns how many requests wait for an answer.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Returns the id of the process that watches over the upstream's, where there is one.
    pub fn process(&self) -> Option<u32> {
        self.link.process()
    }

    /// Returns why the conversation has ended, once it has.
    pub fn ended(&self) -> Option<String> {
        self.link.ended()
    }

    /// Tells whether the upstream is there and has only forgotten the conversation.
    pub fn is_forgotten(&self) -> bool {
        matches!(self.link, Link::Http(_)) && self.ended().is_some()
    }

    /// Sends a cleared request and waits for its answer.
    pub async fn call(
        &self,
        cleared: &Cleared<Call>,
        headers: Headers,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, Error> {
        let wire = &cleared.value().wire;
        let ticket = wire.ticket.ok_or(mcpproxy_mcp::Error::Closed)?;
        self.request(ticket, wire.raw.clone(), headers, events)
            .await
            .map_err(|source| self.failed(source))
    }

    /// Sends a cleared notification or answer.
    pub async fn send(&self, cleared: &Cleared<Call>, headers: Headers) -> Result<(), Error> {
        self.send_raw(cleared.value().wire.raw.clone(), headers)
            .await
            .map_err(|source| self.failed(source))
    }

    /// Says of a failure whose it is: a caller may have several upstreams.
    fn failed(&self, source: mcpproxy_mcp::Error) -> Error {
        let name = self.upstream.clone();
        Error::Failed { name, source }
    }

    /// Tells the upstream that nobody waits for a request any more. In the modern era over HTTP
    /// closing the stream says it, which has happened when the request was dropped.
    pub async fn cancel(&self, ticket: u64, reason: &str) {
        let over_http = matches!(self.link, Link::Http(_));
        if over_http && self.era == Era::Modern {
            return;
        }
        let params = format!(
            r#"{{"requestId":{ticket},"reason":{}}}"#,
            compose::quoted(reason)
        );
        let message = compose::notification("notifications/cancelled", &params);
        if let Err(fault) = self.tell(message).await {
            tracing::debug!("could not cancel a request at `{}`: {fault}", self.upstream);
        }
    }

    /// Refuses a request of the upstream that nobody can be asked to answer.
    pub async fn refuse(&self, id: &str, code: i64, message: &str) {
        let answer = compose::error(Some(id), code, message, None);
        if let Err(fault) = self.tell(answer).await {
            tracing::debug!("could not answer a request of `{}`: {fault}", self.upstream);
        }
    }

    /// Answers the upstream's question whether the gateway is there.
    pub async fn pong(&self, id: &str) {
        if let Err(fault) = self.tell(compose::result(id, "{}")).await {
            tracing::debug!("could not answer a ping of `{}`: {fault}", self.upstream);
        }
    }

    /// Makes a request of the gateway's own and returns the raw result.
    pub async fn own(
        &self,
        method: &'static str,
        params: &str,
        patience: Duration,
    ) -> Result<String, Error> {
        let (events, _ignored) = mpsc::channel(1);
        let call = self.own_call(method, params, events);
        let frame = tokio::time::timeout(patience, call)
            .await
            .map_err(|_| mcpproxy_mcp::Error::TimedOut)??;
        if frame.kind() == FrameKind::Error {
            return Err(refused(method, &frame));
        }
        Ok(frame.payload().to_owned())
    }

    /// Makes a request of the gateway's own without a bound on its time, for subscriptions.
    pub async fn own_call(
        &self,
        method: &str,
        params: &str,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, mcpproxy_mcp::Error> {
        let ticket = ticket();
        let raw = compose::request(&ticket.to_string(), method, params);
        let frame = Frame::parse(raw, self.limits)?;
        let (frame, headers) = self.dress(frame)?;
        self.request(ticket, frame.raw().clone(), headers, events)
            .await
    }

    /// Puts the gateway's own envelope and headers on a request, where the era has them.
    fn dress(&self, frame: Frame) -> Result<(Frame, Headers), mcpproxy_mcp::Error> {
        match self.era {
            Era::Legacy => Ok((frame, Headers::new())),
            Era::Modern => {
                let envelope = Envelope {
                    version: self.version.clone(),
                    capabilities: self.greeting.capabilities.clone(),
                    client_info: Some(self.greeting.client_info.clone()),
                };
                let frame =
                    mcpproxy_mcp::envelope::insert_meta(&frame, &envelope.members(), self.limits)?;
                let headers = header::routing(&frame, &self.version);
                Ok((frame, headers))
            }
        }
    }

    async fn request(
        &self,
        ticket: u64,
        raw: bytes::Bytes,
        headers: Headers,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, mcpproxy_mcp::Error> {
        let _counted = Counted::new(&self.in_flight);
        self.link.call(ticket, raw, headers, events).await
    }

    async fn send_raw(
        &self,
        raw: bytes::Bytes,
        headers: Headers,
    ) -> Result<(), mcpproxy_mcp::Error> {
        self.link.send(raw, headers).await
    }

    /// Sends a message of the gateway's own for which nobody waits long: an upstream that does not
    /// read must not hold up who has given up on it.
    async fn tell(&self, message: bytes::Bytes) -> Result<(), mcpproxy_mcp::Error> {
        let sent = self.send_raw(message, Headers::new());
        tokio::time::timeout(TELL_PATIENCE, sent)
            .await
            .map_err(|_| mcpproxy_mcp::Error::TimedOut)?
    }

    /// Starts to hear what a legacy upstream says outside any call.
    pub fn listen(&self) {
        if let (Link::Http(link), Era::Legacy) = (&self.link, self.era) {
            link.listen();
        }
    }

    /// Ends the conversation politely where there is a way to, once what is under way is answered
    /// or has taken too long. Others end when they are dropped.
    pub async fn close(&self) {
        let Link::Http(link) = &self.link else { return };
        let begun = Instant::now();
        while self.in_flight() > 0 && begun.elapsed() < HEAR_OUT_MOST {
            tokio::time::sleep(HEAR_OUT).await;
        }
        link.close().await;
    }
}

fn refused(method: &'static str, frame: &Frame) -> Error {
    let message = text::get(frame.payload(), &["message"]);
    let message = message
        .and_then(|(raw, _)| text::string(raw))
        .unwrap_or_default();
    Error::Refused {
        method,
        code: frame.error_code().unwrap_or_default(),
        message: message.chars().take(200).collect(),
        names_version: lists_modern(frame.payload(), &["data", "supported"]),
    }
}

/// Tells whether the list at `path` has the modern version.
fn lists_modern(object: &str, path: &[&str]) -> bool {
    let Some((versions, _)) = text::get(object, path) else {
        return false;
    };
    let mut spoken = text::elements(versions).filter_map(|span| versions.get(span));
    spoken.any(|version| text::string(version).as_deref() == Some(MODERN))
}

/// Counts itself while it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::link::Nobody;
    use crate::link::http::{HttpLink, HttpTarget};

    /// Reads one message; a request is one line of JSON here.
    async fn read(stream: &mut TcpStream) -> String {
        let mut buffer = [0; 4096];
        let mut said = String::new();
        while !said.trim_end().ends_with('}') {
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "{said}");
            said.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        said
    }

    /// Closes the first connection on which it is asked, and answers on the next.
    async fn upstream(listener: TcpListener) {
        let (mut first, _) = listener.accept().await.unwrap();
        read(&mut first).await;
        drop(first);
        let (mut second, _) = listener.accept().await.unwrap();
        let asked = read(&mut second).await;
        let id = asked.split_once(r#""id":"#).unwrap().1;
        let id: String = id.chars().take_while(char::is_ascii_digit).collect();
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
        let answer = format!("{head}{}\r\n\r\n{body}", body.len());
        second.write_all(answer.as_bytes()).await.unwrap();
        read(&mut second).await;
        let accepted = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        second.write_all(accepted).await.unwrap();
        std::future::pending::<()>().await;
    }

    #[tokio::test]
    async fn a_conversation_is_opened_again_where_the_connection_was_closed_meanwhile() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(upstream(listener));
        let limits = Limits::default();
        let target = HttpTarget {
            uri: format!("http://{address}/mcp").parse().unwrap(),
            headers: http::HeaderMap::new(),
            dialer: mcpproxy_mcp::dial::Dialer::default(),
            max_message: 1024,
            limits,
            login: None,
        };
        let link = Link::Http(Arc::new(HttpLink::new(target, Arc::new(Nobody))));
        let opening = Opening {
            upstream: UpstreamId::new("notes"),
            greeting: Greeting::default(),
            limits,
            patience: Duration::from_secs(10),
        };
        let opened = Instance::open_legacy(link, &opening).await.unwrap();
        assert_eq!(opened.version(), "2025-11-25");
    }
}
