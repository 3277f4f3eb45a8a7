//! Listening: TCP and the Unix socket, with bounds on connections, heads and time, and an orderly
//! end.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcpproxy_core::Principal;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};

use crate::Error;
use crate::access::Peer;
use crate::gateway::Gateway;
use crate::legacy_sse::{self, Channels};
use crate::lines;
use crate::rest;
use crate::settings::{RoutingMode, Settings};
use crate::streamable::{self, Answered, ReplyBody, bare, json};

/// How often what was left alone is looked for.
const SWEEP: std::time::Duration = std::time::Duration::from_secs(30);
/// The name under which a connection is turned into the line door.
const UPGRADE: &str = "mcp-lines";

/// Bound addresses, ready to serve.
#[derive(Debug)]
pub struct Listening {
    /// Where TCP is served.
    pub address: SocketAddr,
    tcp: TcpListener,
    unix: Option<(UnixListener, PathBuf)>,
}

impl Listening {
    /// Binds the configured address and, if given, the Unix socket.
    ///
    /// An address that others can reach is refused unless callers must show a credential.
    pub async fn bind(settings: &Settings, socket: Option<&Path>) -> Result<Self, Error> {
        let listen = &settings.listen;
        let fault = |source| Error::Listen {
            address: listen.clone(),
            source,
        };
        let tcp = TcpListener::bind(listen).await.map_err(fault)?;
        let address = tcp.local_addr().map_err(fault)?;
        if !address.ip().is_loopback() && settings.require_auth == Some(false) {
            return Err(Error::Unprotected {
                address: listen.clone(),
            });
        }
        let unix = match socket {
            Some(path) => Some((bind_unix(path)?, path.to_owned())),
            None => None,
        };
        Ok(Self { address, tcp, unix })
    }
}

/// Binds the socket, replacing one that a dead process left behind but not one that answers.
fn bind_unix(path: &Path) -> Result<UnixListener, Error> {
    let fault = |source| Error::DataFile {
        path: path.to_owned(),
        source,
    };
    if path.exists() {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            let why = "another mcpproxy is running with this data folder";
            return Err(fault(std::io::Error::new(
                std::io::ErrorKind::AddrInUse,
                why,
            )));
        }
        std::fs::remove_file(path).map_err(fault)?;
    }
    let listener = UnixListener::bind(path).map_err(fault)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, mode).map_err(fault)?;
    Ok(listener)
}

/// Everything that a connection needs.
#[derive(Clone)]
struct Doors {
    gateway: Arc<Gateway>,
    channels: Arc<Channels>,
    rest: axum::Router,
    places: Arc<Semaphore>,
}

/// Serves until `stop` resolves, then lets what is under way end within the configured grace.
pub async fn serve(gateway: Arc<Gateway>, listening: Listening, stop: impl Future<Output = ()>) {
    let settings = gateway.active().settings.clone();
    let doors = Doors {
        rest: rest::router(Arc::clone(&gateway)),
        gateway: Arc::clone(&gateway),
        channels: Arc::default(),
        places: Arc::new(Semaphore::new(settings.limits.connections)),
    };
    let stopping = watch::Sender::new(false);
    let Listening { tcp, unix, .. } = listening;
    let (unix, socket) = unix.map_or((None, None), |(unix, path)| (Some(unix), Some(path)));
    let mut sweep = tokio::time::interval(SWEEP);
    tokio::pin!(stop);
    loop {
        // A place is taken before a connection is accepted: past the bound, the kernel's queue
        // holds who comes next.
        let place = tokio::select! {
            place = Arc::clone(&doors.places).acquire_owned() => place,
            () = &mut stop => break,
        };
        let Ok(place) = place else { break };
        tokio::select! {
            accepted = tcp.accept() => match accepted {
                Ok((stream, remote)) => {
                    let local = stream.local_addr().map_or(remote.ip(), |local| local.ip());
                    let peer = Peer::Tcp { remote: remote.ip(), local };
                    drop(stream.set_nodelay(true));
                    doors.connection(stream, peer, &settings, &stopping, place);
                }
                Err(fault) => pause(&fault).await,
            },
            accepted = accept_unix(unix.as_ref()) => match accepted {
                Ok(stream) if is_owner(&stream) => {
                    doors.connection(stream, Peer::Owner, &settings, &stopping, place);
                }
                Ok(_) => tracing::warn!("refused a connection to the socket by another user"),
                Err(fault) => pause(&fault).await,
            },
            _ = sweep.tick() => gateway.sweep(),
            () = &mut stop => break,
        }
    }
    drop(tcp);
    stopping.send_replace(true);
    let grace = settings.limits.shutdown_grace.into();
    let all = u32::try_from(settings.limits.connections).unwrap_or(u32::MAX);
    if tokio::time::timeout(grace, doors.places.acquire_many(all))
        .await
        .is_err()
    {
        tracing::warn!("some connections did not end in time");
    }
    gateway.fleet.retire();
    if let Some(socket) = socket {
        drop(std::fs::remove_file(socket));
    }
}

/// Out of descriptors or the like: others are given time to close theirs.
async fn pause(fault: &std::io::Error) {
    tracing::warn!("cannot accept a connection: {fault}");
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
}

async fn accept_unix(unix: Option<&UnixListener>) -> std::io::Result<tokio::net::UnixStream> {
    match unix {
        Some(unix) => unix.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

/// Tells whether the process at the other end runs as the same user.
fn is_owner(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

impl Doors {
    fn connection<S>(
        &self,
        stream: S,
        peer: Peer,
        settings: &Settings,
        stopping: &watch::Sender<bool>,
        place: tokio::sync::OwnedSemaphorePermit,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let doors = self.clone();
        let service = service_fn(move |request| {
            let doors = doors.clone();
            async move { Ok::<_, std::convert::Infallible>(doors.handle(peer, request).await) }
        });
        let head = settings.limits.header_bytes.as_usize().max(8192);
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(std::time::Duration::from(settings.limits.header_timeout))
            .max_buf_size(head)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut stopping = stopping.subscribe();
        tokio::spawn(async move {
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = &mut connection => ended,
                () = stopped(&mut stopping) => {
                    // What is under way is answered; nothing new is taken.
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(fault) = ended {
                tracing::debug!("a connection ended: {fault}");
            }
            drop(place);
        });
    }

    async fn handle(&self, peer: Peer, request: Request<Incoming>) -> Answered {
        match request.uri().path() {
            "/healthz" => return json(StatusCode::OK, r#"{"status":"ok"}"#.into()),
            "/readyz" => return rest::ready(&self.gateway),
            _ => {}
        }
        let active = self.gateway.active();
        let who = match self
            .gateway
            .access
            .admit(&active.settings, peer, request.headers())
        {
            Ok(who) => who,
            Err(denial) => {
                tracing::info!("refused a request: {}", denial.message);
                return denied(&denial);
            }
        };
        let mode = match request.uri().path() {
            "/mcp" | "/mcp/" => Some(active.settings.routing_mode),
            "/mcp/call" => Some(RoutingMode::Call),
            "/mcp/all" => Some(RoutingMode::All),
            _ => None,
        };
        match (mode, request.uri().path()) {
            (Some(mode), _) if wants_lines(&request) => self.upgrade(who, mode, request),
            (Some(mode), _) => streamable::serve(&self.gateway, who, mode, request).await,
            (None, "/sse") => legacy_sse::open(&self.channels, &self.gateway, who).await,
            (None, "/messages") => {
                legacy_sse::post(&self.channels, &self.gateway, &who, request).await
            }
            (None, path) if path.starts_with("/api/") => self.rest(who, request).await,
            (None, _) => bare(StatusCode::NOT_FOUND),
        }
    }

    async fn rest(&self, who: Principal, mut request: Request<Incoming>) -> Answered {
        request.extensions_mut().insert(who);
        let request = request.map(axum::body::Body::new);
        let answer = tower_service::Service::call(&mut self.rest.clone(), request).await;
        match answer {
            Ok(answer) => answer.map(ReplyBody::Rest),
            Err(never) => match never {},
        }
    }

    /// Turns a connection into the line door, for the bridge of `mcpproxy stdio`.
    fn upgrade(&self, who: Principal, mode: RoutingMode, request: Request<Incoming>) -> Answered {
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(async move {
            match hyper::upgrade::on(request).await {
                Ok(upgraded) => {
                    let (input, output) = tokio::io::split(TokioIo::new(upgraded));
                    lines::serve(gateway, who, mode, input, output).await;
                }
                Err(fault) => tracing::debug!("an upgrade failed: {fault}"),
            }
        });
        let mut response = bare(StatusCode::SWITCHING_PROTOCOLS);
        let headers = response.headers_mut();
        headers.insert(
            http::header::CONNECTION,
            http::HeaderValue::from_static("upgrade"),
        );
        headers.insert(
            http::header::UPGRADE,
            http::HeaderValue::from_static(UPGRADE),
        );
        response
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender outlives the accepting loop; if it is gone, the gateway is stopping too.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

fn wants_lines(request: &Request<Incoming>) -> bool {
    let upgrade = request.headers().get(http::header::UPGRADE);
    upgrade.is_some_and(|upgrade| upgrade.as_bytes().eq_ignore_ascii_case(UPGRADE.as_bytes()))
}

fn denied(denial: &crate::access::Denial) -> Answered {
    let code = mcpproxy_mcp::era::DENIED;
    let body = mcpproxy_mcp::compose::error(None, code, denial.message, None);
    let mut response = json(denial.status, body);
    if denial.status == StatusCode::UNAUTHORIZED {
        let value = http::HeaderValue::from_static("Bearer realm=\"mcpproxy\"");
        response
            .headers_mut()
            .insert(http::header::WWW_AUTHENTICATE, value);
    }
    response
}
