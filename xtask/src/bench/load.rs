//! The load generator: so many connections, one call in flight on each, every answer checked.
//!
//! An answer is right when it carries the id and the whole text of its own question, and the text
//! begins with a token that no other question has. Anything else is counted, never ignored.

mod answer;
mod question;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

pub(super) use self::answer::{Answer, judge};
pub(super) use self::question::Questions;
use super::stats::percentile;
use super::wire::{block_on, read_bounded};
use crate::Outcome;

const CALL_LIMIT: Duration = Duration::from_secs(5);
/// Calls on each connection before the clock starts.
const WARM_UP: u32 = 20;
/// A connection that fails this often gives up, unless told otherwise.
pub(crate) const FAULT_LIMIT: u32 = 20;
/// How long whoever is turned away waits before it tries again, as the answer asks it to.
const LATER: Duration = Duration::from_millis(50);
/// How much is told of a call that failed.
const LONGEST_SAID: usize = 200;
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    address: SocketAddr,
    #[arg(long, default_value = "/mcp")]
    path: String,
    /// The name under which the echo tool is offered
    #[arg(long, default_value = "echo")]
    tool: String,
    #[arg(long)]
    connections: u32,
    /// Length of the text in bytes
    #[arg(long)]
    payload: usize,
    #[arg(long)]
    milliseconds: u64,
    /// Ends the run early after so many calls on each connection
    #[arg(long)]
    calls: u32,
    /// After how many failed calls a connection gives up
    #[arg(long, default_value_t = FAULT_LIMIT)]
    faults: u32,
}

/// What one run of the generator saw.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub(crate) struct Measured {
    /// Calls that were answered rightly while the clock ran.
    pub(crate) calls: u32,
    /// All calls, those of the warm-up too.
    pub(crate) all_calls: u32,
    /// Answers that belong to another question.
    pub(crate) wrong: u32,
    /// Calls that were refused, broke off or came too late.
    pub(crate) faults: u32,
    /// Those of them that were refused with the answer that there is too much to do.
    pub(crate) turned_away: u32,
    /// What one of the others was answered, or how it broke off.
    pub(crate) said: Option<String>,
    pub(crate) seconds: f64,
    pub(crate) p50_us: f64,
    pub(crate) p95_us: f64,
    pub(crate) p99_us: f64,
}

/// What one connection saw.
#[derive(Default)]
struct Tally {
    took: Vec<Duration>,
    all_calls: u32,
    wrong: u32,
    faults: u32,
    turned_away: u32,
    said: Option<String>,
}

impl Tally {
    /// Counts a call that failed, and keeps how the first of them did.
    fn fault(&mut self, said: impl FnOnce() -> String) {
        self.faults += 1;
        self.said.get_or_insert_with(said);
    }
}

/// Generates the load and prints what it saw as JSON.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let measured = block_on(generate(arguments.clone()))?;
    println!("{}", serde_json::to_string(&measured)?);
    Ok(Outcome::Clean)
}

async fn generate(arguments: Arguments) -> Result<Measured> {
    let mut connections = Vec::new();
    for number in 0..arguments.connections {
        let mut connection = Connection::open(&arguments, number).await?;
        let mut ignored = Tally::default();
        for _ in 0..WARM_UP {
            if ignored.faults == 0 {
                connection.call_counted(&mut ignored).await;
            }
        }
        connections.push((connection, ignored));
    }
    let begun = Instant::now();
    let deadline = begun + Duration::from_millis(arguments.milliseconds);
    let mut running = JoinSet::new();
    for (connection, ignored) in connections {
        let (calls, faults) = (arguments.calls, arguments.faults);
        running.spawn(drive(connection, ignored, deadline, calls, faults));
    }
    let tallies = running.join_all().await;
    Ok(summarize(&tallies, begun.elapsed()))
}

async fn drive(
    mut connection: Connection,
    warm_up: Tally,
    deadline: Instant,
    calls: u32,
    faults: u32,
) -> Tally {
    // What went wrong in the warm-up counts as well; only its times do not.
    let mut tally = Tally {
        took: Vec::new(),
        ..warm_up
    };
    for _ in 0..calls {
        if Instant::now() >= deadline || tally.faults >= faults {
            break;
        }
        let before = tally.turned_away;
        connection.call_counted(&mut tally).await;
        if tally.turned_away > before {
            sleep(LATER).await;
        }
    }
    tally
}

fn summarize(tallies: &[Tally], elapsed: Duration) -> Measured {
    let mut took: Vec<Duration> = tallies
        .iter()
        .flat_map(|tally| tally.took.clone())
        .collect();
    took.sort_unstable();
    let micros = |share| percentile(&took, share).as_secs_f64() * 1e6;
    Measured {
        calls: u32::try_from(took.len()).unwrap_or(u32::MAX),
        all_calls: tallies.iter().map(|tally| tally.all_calls).sum(),
        wrong: tallies.iter().map(|tally| tally.wrong).sum(),
        faults: tallies.iter().map(|tally| tally.faults).sum(),
        turned_away: tallies.iter().map(|tally| tally.turned_away).sum(),
        said: tallies.iter().find_map(|tally| tally.said.clone()),
        seconds: elapsed.as_secs_f64(),
        p50_us: micros(50),
        p95_us: micros(95),
        p99_us: micros(99),
    }
}

/// One MCP session on one connection.
struct Connection {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    uri: Uri,
    headers: HeaderMap,
    questions: Questions,
}

impl Connection {
    async fn open(arguments: &Arguments, number: u32) -> Result<Self> {
        let address = arguments.address;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(&address.to_string())?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        headers.insert(VERSION, HeaderValue::from_static("2025-11-25"));
        let mut connection = Self {
            address,
            sender: connect(address).await?,
            uri: arguments.path.parse()?,
            headers,
            questions: Questions::new(&arguments.tool, arguments.payload, number),
        };
        connection.initialize().await.context("cannot initialize")?;
        Ok(connection)
    }

    async fn initialize(&mut self) -> Result<()> {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let response = self.post(Bytes::from_static(hello.as_bytes())).await?;
        if let Some(session) = response.headers().get(SESSION) {
            self.headers.insert(SESSION, session.clone());
        }
        if !response.status().is_success() {
            bail!("initialize was answered with {}", response.status());
        }
        read_bounded(response.into_body()).await?;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let response = self.post(Bytes::from_static(ready.as_bytes())).await?;
        read_bounded(response.into_body()).await?;
        Ok(())
    }

    async fn call_counted(&mut self, tally: &mut Tally) {
        tally.all_calls += 1;
        let begun = Instant::now();
        let answer = timeout(CALL_LIMIT, self.call()).await;
        match answer {
            Ok(Ok((Answer::Right, _))) => tally.took.push(begun.elapsed()),
            Ok(Ok((Answer::Wrong, _))) => tally.wrong += 1,
            Ok(Ok((Answer::TurnedAway, _))) => {
                tally.faults += 1;
                tally.turned_away += 1;
            }
            Ok(Ok((Answer::Refused, body))) => tally.fault(|| shortened(&body)),
            failed => {
                tally.fault(|| match failed {
                    Ok(Err(error)) => format!("{error:#}"),
                    _ => format!("no answer within {CALL_LIMIT:?}"),
                });
                // The connection is in an unknown state. If there is no new one, the next call
                // on the old one fails and is counted.
                if let Ok(sender) = connect(self.address).await {
                    self.sender = sender;
                }
            }
        }
    }

    /// Calls once; what was answered comes along.
    async fn call(&mut self) -> Result<(Answer, Bytes)> {
        let question = self.questions.next();
        let response = self.post(question.body.clone()).await?;
        let fine = response.status().is_success();
        let body = read_bounded(response.into_body()).await?;
        let text = question.body.get(question.text.clone()).unwrap_or_default();
        let answer = match answer::judge(&body, question.id, text) {
            Answer::TurnedAway => Answer::TurnedAway,
            _ if !fine => Answer::Refused,
            judged => judged,
        };
        Ok((answer, body))
    }

    async fn post(&mut self, body: Bytes) -> Result<Response<Incoming>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        // A gateway closes connections on which nothing comes, as these while the others are opened.
        // Nobody has seen a request that was not sent for that, and any client sends it once more.
        if self.sender.ready().await.is_err() {
            self.renew().await?;
        }
        let mut failed = match self.sender.try_send_request(request).await {
            Ok(response) => return Ok(response),
            Err(failed) => failed,
        };
        let Some(request) = failed.take_message() else {
            return Err(failed.into_error().into());
        };
        self.renew().await?;
        Ok(self.sender.send_request(request).await?)
    }

    async fn renew(&mut self) -> Result<()> {
        self.sender = connect(self.address).await?;
        Ok(self.sender.ready().await?)
    }
}

async fn connect(address: SocketAddr) -> Result<SendRequest<Full<Bytes>>> {
    let stream = timeout(CALL_LIMIT, TcpStream::connect(address)).await??;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // How the connection ends is seen by whoever sends on it.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

fn shortened(body: &[u8]) -> String {
    let start = body.get(..LONGEST_SAID).unwrap_or(body);
    String::from_utf8_lossy(start).into_owned()
}
