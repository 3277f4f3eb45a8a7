//! A link over the older HTTP+SSE transport: one stream brings everything, POSTs to the address
//! it names take everything.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Uri};
use mcpproxy_mcp::body::discard;
use mcpproxy_mcp::{Error, Frame, sse};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::link::http::{HttpTarget, OWN_PATIENCE, Stream, is};
use crate::link::{FromUpstream, Listener};
use crate::switch::Switch;

/// How long the upstream may take to name the address for messages.
const ENDPOINT_PATIENCE: Duration = Duration::from_secs(10);

/// Answers of the gateway's own that may wait for the upstream to take them.
const REPLIES: usize = 16;

/// A link over HTTP+SSE. Dropping it closes the stream.
#[derive(Debug)]
pub struct SseLink {
    target: HttpTarget,
    endpoint: Uri,
    switch: Arc<Switch>,
    reader: tokio::task::AbortHandle,
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl SseLink {
    /// Opens the stream and waits for the address for messages.
    pub async fn open(target: HttpTarget, listener: Arc<dyn Listener>) -> Result<Self, Error> {
        let mut headers = target.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = target
            .send(Method::GET, &target.uri, headers, Bytes::new())
            .await?;
        if !is(&response, "text/event-stream") {
            let status = response.status().as_u16();
            return Err(Error::Status {
                status,
                authenticate: None,
            });
        }
        let mut stream = Stream::new(response, target.max_message);
        let endpoint = tokio::time::timeout(ENDPOINT_PATIENCE, endpoint(&mut stream, &target.uri))
            .await
            .map_err(|_| Error::TimedOut)??;
        let switch = Arc::new(Switch::new(listener, target.limits));
        let (sender, replies) = mpsc::channel(REPLIES);
        // Ends with the reader, which holds the only way to it.
        tokio::spawn(reply(replies, target.clone(), endpoint.clone()));
        let reader = tokio::spawn(read(stream, Arc::clone(&switch), sender)).abort_handle();
        Ok(Self {
            target,
            endpoint,
            switch,
            reader,
        })
    }

    /// Sends a request and waits for its answer on the stream.
    pub async fn call(
        &self,
        ticket: u64,
        message: Bytes,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, Error> {
        let waiting = self.switch.wait(ticket, events)?;
        self.send(message).await?;
        waiting.answer().await
    }

    /// Sends a message.
    pub async fn send(&self, message: Bytes) -> Result<(), Error> {
        post(&self.target, &self.endpoint, message).await
    }

    /// Returns why the link has ended, once it has.
    pub fn ended(&self) -> Option<String> {
        self.switch.ended()
    }
}

async fn endpoint(stream: &mut Stream, base: &Uri) -> Result<Uri, Error> {
    while let Some(event) = stream.next().await? {
        if event.name == "endpoint" {
            let named = String::from_utf8_lossy(&event.data);
            return sse::endpoint(base, named.trim());
        }
    }
    Err(Error::Closed)
}

async fn post(target: &HttpTarget, endpoint: &Uri, message: Bytes) -> Result<(), Error> {
    let mut headers = target.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let response = target
        .send(Method::POST, endpoint, headers, message)
        .await?;
    let status = response.status();
    discard(response.into_body(), OWN_PATIENCE).await;
    if status.is_success() {
        return Ok(());
    }
    Err(Error::Status {
        status: status.as_u16(),
        authenticate: None,
    })
}

/// Answers what the upstream asks the gateway itself, beside the stream: one that does not take
/// the answers must still be heard.
async fn reply(mut replies: mpsc::Receiver<Bytes>, target: HttpTarget, endpoint: Uri) {
    while let Some(reply) = replies.recv().await {
        match timeout(OWN_PATIENCE, post(&target, &endpoint, reply)).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => tracing::debug!("could not answer an upstream: {fault}"),
            Err(_) => tracing::debug!("an upstream did not take an answer to its request"),
        }
    }
}

async fn read(mut stream: Stream, switch: Arc<Switch>, replies: mpsc::Sender<Bytes>) {
    loop {
        match stream.next().await {
            Ok(Some(event)) if !event.data.is_empty() => {
                if let Some(reply) = switch.sort(event.data)
                    && replies.try_send(reply).is_err()
                {
                    tracing::debug!("dropped an answer for an upstream that does not keep up");
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return switch.end("the upstream closed its stream"),
            Err(fault) => return switch.end(&fault.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::link::Nobody;

    /// Answers a call with a ping and then with its result, and never takes an answer to the ping.
    async fn upstream(listener: TcpListener) {
        let (called, mut calls) = mpsc::channel::<()>(1);
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let hello = format!("{head}event: endpoint\ndata: /m\n\n");
        stream.write_all(hello.as_bytes()).await.unwrap();
        tokio::spawn(async move {
            loop {
                let (post, _) = listener.accept().await.unwrap();
                tokio::spawn(take(post, called.clone()));
            }
        });
        calls.recv().await.unwrap();
        let events = r#"data: {"jsonrpc":"2.0","id":"p","method":"ping"}

data: {"jsonrpc":"2.0","id":1,"result":{}}

"#;
        stream.write_all(events.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    }

    async fn take(mut post: TcpStream, called: mpsc::Sender<()>) {
        let mut buffer = [0; 4096];
        let mut said = String::new();
        while !said.contains('}') {
            let read = post.read(&mut buffer).await.unwrap();
            said.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        if !said.contains("tools/call") {
            return std::future::pending().await;
        }
        let answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 8\r\n\r\nAccepted";
        post.write_all(answer.as_bytes()).await.unwrap();
        called.send(()).await.unwrap();
        std::future::pending::<()>().await;
    }

    #[tokio::test]
    async fn an_upstream_that_takes_no_answer_to_its_ping_is_still_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(upstream(listener));
        let target = HttpTarget {
            uri: format!("http://{address}/sse").parse().unwrap(),
            headers: http::HeaderMap::new(),
            dialer: mcpproxy_mcp::dial::Dialer::default(),
            max_message: 1024,
            limits: mcpproxy_text::Limits::default(),
            login: None,
        };
        let link = SseLink::open(target, Arc::new(Nobody)).await.unwrap();
        let (events, _ignored) = mpsc::channel(1);
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
        let answer = link.call(1, message.into(), events);
        let answer = timeout(OWN_PATIENCE / 2, answer).await;
        assert_eq!(answer.unwrap().unwrap().payload(), "{}");
    }
}
