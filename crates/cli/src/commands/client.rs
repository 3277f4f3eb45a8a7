//! Talking to the running gateway over its Unix socket; where that is full, and the API key is at hand, over TCP.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use mcpproxy_mcp::body::read_bounded;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Instant;

use crate::args::Global;
use crate::commands::key::from_environment;
use crate::commands::ui::reachable;
use crate::daemon::{SOCKET, configuration, data_dir, flags};
use crate::exit::{Exit, Failed, failed};

pub(crate) use mcpproxy_text::url::encoded;

/// The largest answer that is read.
const MOST: usize = 64 * 1024 * 1024;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(6);

/// How long one waits for a place at a socket that is full, and how often one tries.
const CROWDED: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// A way to the gateway.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// The socket of the gateway that the options name. A gateway goes on when its configuration
/// becomes wrong, and must still be found then.
pub(crate) fn socket(global: &Global) -> PathBuf {
    data_dir(&flags(global, None)).join(SOCKET)
}

/// Connects to the gateway's socket.
pub(crate) async fn connect(path: &Path) -> Result<UnixStream> {
    let connected = place(path, CROWDED).await;
    connected.map_err(|fault| no_gateway(path, &fault))
}

/// Waits a while for a place where all are taken: the system says so at once, and the gateway makes room.
async fn place(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let until = Instant::now() + patience;
    loop {
        match UnixStream::connect(path).await {
            Err(fault) if is_full(&fault) && Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
            }
            connected => return connected,
        }
    }
}

fn is_full(fault: &io::Error) -> bool {
    fault.kind() == io::ErrorKind::WouldBlock
}

/// Says that nobody listens at a socket.
pub(crate) fn no_gateway(path: &Path, fault: &io::Error) -> anyhow::Error {
    let path = path.display();
    if is_full(fault) {
        let message = format!("the socket `{path}` is full: other programs hold all its places");
        let hint = "end those that hold it (`ss -xp` names them), or set MCPPROXY_API_KEY, with which the \
                    gateway is asked over TCP";
        return failed(message, Some(hint));
    }
    let message = format!("no gateway answers at `{path}`: {fault}");
    failed(message, Some("start one with `mcpproxy serve`"))
}

/// Makes one request and returns the data of its answer.
pub(crate) fn request(
    global: &Global,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value> {
    let socket = socket(global);
    runtime()?.block_on(async {
        match place(&socket, CROWDED).await {
            Ok(stream) => exchange(stream, method, path, body, None).await,
            Err(fault) => match aside(global).filter(|_| is_full(&fault)) {
                Some((address, key)) => {
                    let stream = TcpStream::connect(&address).await;
                    let stream = stream.map_err(|_| no_gateway(&socket, &fault))?;
                    exchange(stream, method, path, body, Some(&key)).await
                }
                None => Err(no_gateway(&socket, &fault)),
            },
        }
    })
}

/// Where else the gateway listens, and the key that it wants to see there; nothing where the key is not at
/// hand, or the way is encrypted.
fn aside(global: &Global) -> Option<(String, String)> {
    let key = from_environment()?;
    let loaded = configuration(&flags(global, None)).ok()?;
    let settings = &loaded.config.gateway;
    let is_plain = settings.scheme() == "http";
    is_plain.then(|| (reachable(&settings.listen), key))
}

/// Asks for something that is there at once, and gives up on a gateway that hangs.
pub(crate) fn request_within(patience: Duration, global: &Global, path: &str) -> Result<Value> {
    let socket = socket(global);
    let asked =
        async { tokio::time::timeout(patience, ask(&socket, Method::GET, path, None)).await };
    let answered = runtime()?.block_on(asked);
    answered.unwrap_or_else(|_| Err(failed("the gateway does not answer in time", None)))
}

/// Makes one request that shows the API key, for what the socket alone does not allow.
pub(crate) fn request_with_key(
    global: &Global,
    method: Method,
    path: &str,
    body: &Value,
    key: &str,
) -> Result<Value> {
    let socket = socket(global);
    runtime()?.block_on(async {
        let stream = connect(&socket).await?;
        exchange(stream, method, path, Some(body), Some(key)).await
    })
}

/// Asks the dashboard for something, with the API key where there is one.
pub(crate) fn request_page(global: &Global, path: &str, key: Option<&str>) -> Result<Value> {
    let socket = socket(global);
    runtime()?.block_on(async {
        let stream = connect(&socket).await?;
        send(stream, Method::POST, path, None, key).await
    })
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    Ok(runtime.enable_all().build()?)
}

/// Makes one request to the gateway at a socket.
pub(crate) async fn ask(
    socket: &Path,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value> {
    let stream = connect(socket).await?;
    exchange(stream, method, path, body, None).await
}

/// Asks for something that is no JSON, and returns it whole with its headers.
pub(crate) async fn fetch(socket: &Path, path: &str) -> Result<(HeaderMap, Bytes)> {
    let mut request = asking(Method::GET, &format!("/api/v1{path}"));
    request = request.header("accept", "*/*");
    let response = sent(connect(socket).await?, request, Bytes::new()).await?;
    if !response.status().is_success() {
        return Err(told(response)
            .await
            .err()
            .unwrap_or_else(|| failed("the gateway answered with nothing", None)));
    }
    let headers = response.headers().clone();
    let bytes = read_bounded(response.into_body(), MOST, PATIENCE).await?;
    Ok((headers, bytes))
}

/// Opens something that goes on: the body comes as it is made.
pub(crate) async fn open(
    socket: &Path,
    path: &str,
    last: Option<&str>,
) -> Result<hyper::body::Incoming> {
    let mut request = asking(Method::GET, path).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let response = sent(connect(socket).await?, request, Bytes::new()).await?;
    if !response.status().is_success() {
        told(response).await?;
        return Err(failed("the gateway answered with nothing", None));
    }
    Ok(response.into_body())
}

fn asking(method: Method, uri: &str) -> http::request::Builder {
    let request = Request::builder().method(method).uri(uri);
    request.header("host", "localhost")
}

async fn sent(
    stream: impl Stream,
    request: http::request::Builder,
    body: Bytes,
) -> Result<Response<hyper::body::Incoming>> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request.body(Full::new(body))?).await?)
}

async fn exchange(
    stream: impl Stream,
    method: Method,
    path: &str,
    body: Option<&Value>,
    key: Option<&str>,
) -> Result<Value> {
    send(stream, method, &format!("/api/v1{path}"), body, key).await
}

async fn send(
    stream: impl Stream,
    method: Method,
    path: &str,
    body: Option<&Value>,
    key: Option<&str>,
) -> Result<Value> {
    let body = body
        .map(|body| Bytes::from(body.to_string()))
        .unwrap_or_default();
    let mut request = asking(method, path);
    request = request.header("content-type", "application/json");
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    told(sent(stream, request, body).await?).await
}

/// Reads an answer: its data, or why there is none.
async fn told(response: Response<hyper::body::Incoming>) -> Result<Value> {
    let status = response.status();
    let bytes = read_bounded(response.into_body(), MOST, PATIENCE).await?;
    let answer: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("the gateway answered {status} without JSON"))?;
    if status.is_success() {
        return Ok(answer.get("data").cloned().unwrap_or_default());
    }
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    let exit = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Exit::NeedsAuth,
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::CONFLICT => Exit::BadInput,
        _ => Exit::Error,
    };
    let message = text("error").unwrap_or_else(|| format!("the gateway answered {status}"));
    Err(Failed {
        exit,
        message,
        hint: text("hint"),
    }
    .into())
}
