//! Hostile upstreams over Streamable HTTP: one listener on loopback, a path for each upstream.
//!
//! Every answer of the protocol is a stream of events, since that is the form in which an upstream can say more than
//! it was asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::sse;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::login::{self, Wanted};
use super::{Actor, Talk, lock};
use crate::scenario::Era;

/// The largest body that is taken.
const MOST: usize = 64 * 1024 * 1024;
/// How long a body may take to come in.
const PATIENCE: Duration = Duration::from_secs(30);

/// Upstreams that are served until this is dropped.
#[derive(Debug)]
pub struct Playhouse {
    address: SocketAddr,
    actors: Arc<Actors>,
    accepting: AbortHandle,
}

#[derive(Debug, Default)]
struct Actors {
    by_name: Mutex<HashMap<String, Arc<Actor>>>,
    talks: Mutex<HashMap<String, Arc<Talk>>>,
}

impl Actors {
    fn named(&self, name: &str) -> Option<Arc<Actor>> {
        lock(&self.by_name).get(name).cloned()
    }

    /// Finds the conversation of a message, or opens it; returns its id where it is new. A message
    /// without a session that opens none stands for itself.
    fn talk(&self, session: Option<String>, message: &Value) -> (Option<String>, Arc<Talk>) {
        let opens = message.get("method").and_then(Value::as_str) == Some("initialize");
        let mut talks = lock(&self.talks);
        match session {
            Some(known) => (None, Arc::clone(talks.entry(known).or_default())),
            None if opens => {
                let new = format!("talk-{}", talks.len());
                let talk = Arc::clone(talks.entry(new.clone()).or_default());
                (Some(new), talk)
            }
            None => (None, Arc::default()),
        }
    }
}

impl Playhouse {
    /// Starts to listen on a free port of this machine.
    pub async fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let actors = Arc::new(Actors::default());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&actors))).abort_handle();
        Ok(Self {
            address,
            actors,
            accepting,
        })
    }

    /// Puts an upstream on, and returns its address.
    pub fn put_on(&self, actor: Arc<Actor>) -> String {
        let name = actor.name().to_owned();
        let address = format!("http://{}/{name}", self.address);
        lock(&self.actors.by_name).insert(name, actor);
        address
    }
}

impl Drop for Playhouse {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, actors: Arc<Actors>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { return };
                connections.spawn(connection(stream, Arc::clone(&actors)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, actors: Arc<Actors>) {
    let service = service_fn(move |request| {
        let actors = Arc::clone(&actors);
        async move { Ok::<_, Infallible>(answer(&actors, request).await) }
    });
    // A connection that breaks off is the other side's to explain.
    drop(
        http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await,
    );
}

async fn answer(actors: &Actors, request: Request<Incoming>) -> Response<Words> {
    let path = request.uri().path().to_owned();
    let wanted = Wanted::of(&path);
    let Some(actor) = actors.named(wanted.name()) else {
        return plain(StatusCode::NOT_FOUND);
    };
    if let Some(answer) = asks_to_log_in(&actor, &wanted, request.headers()) {
        return answer;
    }
    let session = request.headers().get("mcp-session-id");
    let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
    match *request.method() {
        Method::POST => {}
        // Streams without a request, and sessions to be ended, are of the legacy era.
        _ if !actor.speaks(Era::Legacy) => return plain(StatusCode::METHOD_NOT_ALLOWED),
        Method::GET => return stream(overheard(actor.listen()), None),
        Method::DELETE => return plain(StatusCode::OK),
        _ => return plain(StatusCode::METHOD_NOT_ALLOWED),
    }
    let Ok(body) = read_bounded(request.into_body(), MOST, PATIENCE).await else {
        return plain(StatusCode::BAD_REQUEST);
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (session, talk) = actors.talk(session, &message);
    // What has no id is not answered, and a stream without end would be waited for.
    let asks = message.get("method").is_some() && message.get("id").is_some();
    let (outlet, words) = mpsc::channel(64);
    let playing = async move { actor.take(&talk, &body, outlet).await };
    if !asks {
        playing.await;
        return plain(StatusCode::ACCEPTED);
    }
    tokio::spawn(playing);
    stream(Words::Said(words), session)
}

/// Answers in the place of an upstream that wants to be logged in to; nothing where it wants no such
/// thing, or somebody has a token.
fn asks_to_log_in(
    actor: &Actor,
    wanted: &Wanted<'_>,
    headers: &HeaderMap,
) -> Option<Response<Words>> {
    let place = actor.login()?;
    let host = headers.get("host").and_then(|host| host.to_str().ok());
    let origin = format!("http://{}", host.unwrap_or_default());
    let name = wanted.name();
    if let Some((status, document)) = wanted.document(&format!("{origin}/{name}"), place) {
        let mut response = Response::new(Words::Whole(document.to_string().into()));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/json");
        response.headers_mut().insert("content-type", kind);
        return Some(response);
    }
    if headers.contains_key("authorization") {
        return None;
    }
    let mut response = plain(StatusCode::UNAUTHORIZED);
    if let Ok(value) = HeaderValue::from_str(&login::challenge(&origin, name)) {
        response.headers_mut().insert("www-authenticate", value);
    }
    Some(response)
}

/// What is said to everybody, until nobody listens any more.
fn overheard(mut news: broadcast::Receiver<Bytes>) -> Words {
    let (outlet, words) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Ok(word) = news.recv().await {
            if outlet.send(word).await.is_err() {
                return;
            }
        }
    });
    Words::Said(words)
}

fn plain(status: StatusCode) -> Response<Words> {
    let mut response = Response::new(Words::None);
    *response.status_mut() = status;
    response
}

fn stream(words: Words, session: Option<String>) -> Response<Words> {
    let mut response = Response::new(words);
    let headers = response.headers_mut();
    headers.insert(
        "content-type",
        HeaderValue::from_static("text/event-stream"),
    );
    if let Some(session) = session.and_then(|id| HeaderValue::from_str(&id).ok()) {
        headers.insert("mcp-session-id", session);
    }
    response
}

/// What is said, event by event.
enum Words {
    None,
    /// All at once, as it is.
    Whole(Bytes),
    Said(mpsc::Receiver<Bytes>),
}

impl http_body::Body for Words {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let word = match &mut *self {
            Self::None => return Poll::Ready(None),
            Self::Whole(whole) => {
                let whole = std::mem::take(whole);
                *self = Self::None;
                return Poll::Ready(Some(Ok(Frame::data(whole))));
            }
            Self::Said(words) => std::task::ready!(words.poll_recv(context)),
        };
        Poll::Ready(word.map(|word| Ok(Frame::data(sse::encode(&word, None)))))
    }
}
