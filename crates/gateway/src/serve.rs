//! Listening: TCP and the Unix socket, with bounds on connections, heads and time, and an orderly
//! end.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcpproxy_core::Principal;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;
use crate::access::Peer;
use crate::gateway::Gateway;
use crate::handover::{self, LINES, STREAMS};
use crate::legacy_sse::{self, Channels};
use crate::line::Line;
use crate::lines;
use crate::patience::Patient;
use crate::reply::{Answered, ReplyBody, bare, json};
use crate::rest;
use crate::settings::{RoutingMode, Settings};
use crate::silent::Silent;
use crate::streamable;
use crate::tls::{Shown, Tls};

/// The uid of root.
const ROOT: u32 = 0;
/// How often what was left alone is looked for.
const SWEEP: std::time::Duration = std::time::Duration::from_secs(30);

/// Bound addresses, ready to serve.
#[derive(Debug)]
pub struct Listening {
    /// Where TCP is served.
    pub address: SocketAddr,
    tcp: TcpListener,
    unix: Option<(UnixListener, PathBuf)>,
    pages: Option<axum::Router>,
}

impl Listening {
    /// Binds the configured address and, if given, the Unix socket.
    ///
    /// An address that others can reach is refused unless callers must show a credential.
    pub async fn bind(settings: &Settings, socket: Option<&Path>) -> Result<Self, Error> {
        // Who starts a second gateway need not be told of an address that the first one has.
        socket.map_or(Ok(()), unanswered)?;
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
        Ok(Self {
            address,
            tcp,
            unix,
            pages: None,
        })
    }

    /// Serves pages for browsers below `/ui/`, which see to their own login.
    #[must_use]
    pub fn with_pages(self, pages: axum::Router) -> Self {
        let pages = Some(pages);
        Self { pages, ..self }
    }
}

/// Refuses a socket at which a gateway answers.
fn unanswered(path: &Path) -> Result<(), Error> {
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(Error::Runs {
            path: path.to_owned(),
        }),
        Err(_) => Ok(()),
    }
}

/// Binds the socket, replacing one that a dead process left behind but not one that answers.
fn bind_unix(path: &Path) -> Result<UnixListener, Error> {
    let fault = |source| Error::DataFile {
        path: path.to_owned(),
        source,
    };
    if path.exists() {
        unanswered(path)?;
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
    /// Pages for browsers.
    pages: Option<axum::Router>,
    places: Arc<Semaphore>,
    /// Places for the owner's own connections, which no stranger can take.
    owners: Arc<Semaphore>,
    /// Those of them that have said nothing yet.
    silent: Arc<Silent>,
    /// Connections so far.
    numbers: Arc<AtomicU64>,
}

/// What tells a connection from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    /// Its number.
    pub(crate) number: u64,
    /// Who is at its other end, where that has an address.
    pub(crate) remote: Option<IpAddr>,
}

/// Who is at the other end of a connection.
struct Caller {
    peer: Peer,
    /// What their certificate says.
    shown: Option<Shown>,
    /// A look at whether they are still there. Only the owner's programs have one, of which hooks wait
    /// no longer than they may.
    line: Option<Line>,
}

impl Caller {
    fn at(peer: Peer) -> Self {
        Self {
            peer,
            shown: None,
            line: None,
        }
    }
}

/// A place among the connections, held by whatever goes on with one.
type Place = Arc<OwnedSemaphorePermit>;

/// Serves until `stop` resolves, then lets what is under way end within the configured grace.
pub async fn serve(gateway: Arc<Gateway>, listening: Listening, stop: impl Future<Output = ()>) {
    let settings = gateway.active().settings.clone();
    let Listening {
        address,
        tcp,
        unix,
        pages,
    } = listening;
    let doors = Doors {
        rest: rest::router(Arc::clone(&gateway)),
        pages,
        gateway: Arc::clone(&gateway),
        channels: Arc::default(),
        places: Arc::new(Semaphore::new(
            settings.limits.connections.min(Semaphore::MAX_PERMITS),
        )),
        owners: Arc::new(Semaphore::new(
            settings.limits.connections.min(Semaphore::MAX_PERMITS),
        )),
        silent: Arc::default(),
        numbers: Arc::default(),
    };
    let _known = gateway.bound.set(address);
    let (unix, socket) = unix.map_or((None, None), |(unix, path)| (Some(unix), Some(path)));
    let mut sweep = tokio::time::interval(SWEEP);
    tokio::pin!(stop);
    loop {
        tokio::select! {
            accepted = accept_tcp(&tcp, &doors.places) => match accepted {
                Ok(((stream, remote), place)) => {
                    let local = stream.local_addr().map_or(remote.ip(), |local| local.ip());
                    let peer = Peer::Tcp { remote: remote.ip(), local };
                    drop(stream.set_nodelay(true));
                    match &gateway.active().tls {
                        Some(tls) => doors.secured(tls, stream, peer, &settings, place),
                        None => doors.connection(stream, Caller::at(peer), &settings, place),
                    }
                }
                Err(fault) => pause(&fault).await,
            },
            accepted = accept_unix(unix.as_ref(), &doors) => match accepted {
                Ok((stream, place)) if is_owner(&stream) => {
                    let line = Line::of(&stream);
                    let caller = Caller { line, ..Caller::at(Peer::Owner) };
                    doors.connection(stream, caller, &settings, place);
                }
                Ok(_) => tracing::warn!("refused a connection to the socket by another user"),
                Err(fault) => pause(&fault).await,
            },
            _ = sweep.tick() => {
                gateway.sweep();
                gateway.engine.sweep().await;
                gateway.take_gaps().await;
            }
            () = &mut stop => break,
        }
    }
    drop(tcp);
    gateway.stop();
    let grace: std::time::Duration = settings.limits.shutdown_grace.into();
    let asked = tokio::time::Instant::now();
    if tokio::time::timeout(grace, doors.emptied(&settings))
        .await
        .is_err()
    {
        tracing::warn!("some connections did not end in time");
    }
    gateway
        .fleet
        .retire(grace.saturating_sub(asked.elapsed()))
        .await;
    if let Some(socket) = socket {
        drop(std::fs::remove_file(socket));
    }
}

/// Out of descriptors or the like: others are given time to close theirs.
async fn pause(fault: &std::io::Error) {
    tracing::warn!("cannot accept a connection: {fault}");
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
}

/// Takes a place, then a connection: past the bound, the kernel's queue holds who comes next.
async fn accept_tcp(
    tcp: &TcpListener,
    places: &Arc<Semaphore>,
) -> std::io::Result<((TcpStream, SocketAddr), Place)> {
    let place = taken(places).await?;
    Ok((tcp.accept().await?, place))
}

/// The same; but the owner's own programs can be many, and who has said nothing makes room for who may.
async fn accept_unix(
    unix: Option<&UnixListener>,
    doors: &Doors,
) -> std::io::Result<(UnixStream, Place)> {
    let Some(unix) = unix else {
        return std::future::pending().await;
    };
    if doors.owners.available_permits() == 0 {
        doors.silent.dismiss();
    }
    let place = taken(&doors.owners).await?;
    let (stream, _) = unix.accept().await?;
    Ok((stream, place))
}

async fn taken(places: &Arc<Semaphore>) -> std::io::Result<Place> {
    let place = Arc::clone(places).acquire_owned().await;
    place.map(Arc::new).map_err(std::io::Error::other)
}

/// Tells whether the process at the other end runs as the same user, or as root, who can read the key
/// and everything else: where the service has a user of its own, somebody must be able to speak to it.
fn is_owner(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid();
    let peer = stream.peer_cred();
    peer.is_ok_and(|peer| peer.uid() == own.as_raw() || peer.uid() == ROOT)
}

impl Doors {
    /// Waits until every place is free again.
    async fn emptied(&self, settings: &Settings) {
        let all = u32::try_from(settings.limits.connections).unwrap_or(u32::MAX);
        for places in [&self.places, &self.owners] {
            drop(places.acquire_many(all).await);
        }
    }

    /// Shakes hands aside, so that somebody who takes their time keeps nobody else out.
    fn secured(
        &self,
        tls: &Arc<Tls>,
        stream: TcpStream,
        peer: Peer,
        settings: &Settings,
        place: Place,
    ) {
        let (doors, tls, settings) = (self.clone(), Arc::clone(tls), settings.clone());
        tokio::spawn(async move {
            match tls
                .accept(stream, settings.limits.header_timeout.into())
                .await
            {
                Ok((stream, shown)) => {
                    let caller = Caller {
                        shown,
                        ..Caller::at(peer)
                    };
                    doors.connection(stream, caller, &settings, place);
                }
                Err(fault) => tracing::info!("refused a connection: {fault}"),
            }
        });
    }

    fn connection<S>(
        &self,
        stream: S,
        Caller { peer, shown, line }: Caller,
        settings: &Settings,
        place: Place,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (doors, shown) = (Arc::new(self.clone()), Arc::new(shown));
        let connection = Connection {
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            remote: match peer {
                Peer::Tcp { remote, .. } => Some(remote),
                Peer::Owner => None,
            },
        };
        let silent = Arc::clone(&self.silent);
        let dismissed = match peer {
            Peer::Owner => silent.add(connection.number),
            // Strangers have places of their own, and as long for a head as they are given.
            Peer::Tcp { .. } => Arc::default(),
        };
        let service = service_fn(move |mut request: Request<Incoming>| {
            // Calls of agents come over TCP, and wait for no lock here.
            if peer == Peer::Owner {
                doors.silent.forget(connection.number);
            }
            request.extensions_mut().insert(connection);
            if let Some(line) = &line {
                request.extensions_mut().insert(line.clone());
            }
            let (doors, place) = (Arc::clone(&doors), Arc::clone(&place));
            let shown = Arc::clone(&shown);
            async move {
                let shown = shown.as_ref().as_ref();
                let answered = doors.handle(peer, shown, request, place).await;
                Ok::<_, std::convert::Infallible>(answered)
            }
        });
        let patience = settings.limits.write_timeout.into();
        let head = settings.limits.header_bytes.as_usize().max(8192);
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(std::time::Duration::from(settings.limits.header_timeout))
            .max_buf_size(head)
            .serve_connection(TokioIo::new(Patient::new(stream, patience)), service)
            .with_upgrades();
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(async move {
            tokio::pin!(served);
            let ended = tokio::select! {
                ended = &mut served => ended,
                () = dismissed.notified() => Ok(()),
                () = gateway.stopped() => {
                    // What is under way is answered; nothing new is taken.
                    served.as_mut().graceful_shutdown();
                    served.await
                }
            };
            silent.forget(connection.number);
            if let Err(fault) = ended {
                tracing::debug!("a connection ended: {fault}");
            }
        });
    }

    async fn handle(
        &self,
        peer: Peer,
        shown: Option<&Shown>,
        request: Request<Incoming>,
        place: Place,
    ) -> Answered {
        match request.uri().path() {
            "/healthz" => return json(StatusCode::OK, r#"{"status":"ok"}"#.into()),
            "/readyz" => return rest::ready(&self.gateway),
            _ => {}
        }
        let active = self.gateway.active();
        let access = &self.gateway.access;
        match access.metadata(&active.settings, peer, &request) {
            None => {}
            Some(Ok(metadata)) => return metadata,
            Some(Err(denial)) => return denied(&denial, None),
        }
        let path = request.uri().path();
        if let Some(pages) = self.pages.as_ref().filter(|_| is_page(path)) {
            return match access.visitor(&active.settings, peer, request.headers()) {
                Ok(who) => Box::pin(routed(pages, who, request)).await,
                Err(denial) => denied(&denial, None),
            };
        }
        let headers = request.headers();
        let settings = &active.settings;
        let who = match access.admit(settings, peer, shown, headers).await {
            Ok(who) => who,
            Err(denial) => {
                tracing::info!("refused a request: {}", denial.message);
                let path = request.uri().path();
                let challenge = access.challenge(settings, headers, path, &denial);
                if is_rest(path) {
                    let refused = rest::failed(denial.status, denial.message, None);
                    return challenged(refused.map(ReplyBody::Rest), challenge);
                }
                return denied(&denial, challenge);
            }
        };
        let mode = match request.uri().path() {
            "/mcp" | "/mcp/" => Some(active.settings.routing_mode),
            "/mcp/call" => Some(RoutingMode::Call),
            "/mcp/all" => Some(RoutingMode::All),
            _ => None,
        };
        // The socket makes its user the owner of the REST interface, where people act; an agent that
        // comes the same way must not be able to act for them.
        let is_rest = is_rest(request.uri().path());
        let who = match peer {
            Peer::Owner if !is_rest => Principal::local(),
            Peer::Owner | Peer::Tcp { .. } => who,
        };
        match (mode, request.uri().path()) {
            (Some(mode), _) if wants(&request, LINES) => {
                let to = match peer {
                    Peer::Owner if wants(&request, STREAMS) => STREAMS,
                    Peer::Owner | Peer::Tcp { .. } => LINES,
                };
                self.upgrade(who, mode, request, to, place)
            }
            (Some(mode), _) => streamable::serve(&self.gateway, who, mode, request).await,
            (None, "/sse") => Box::pin(legacy_sse::open(&self.channels, &self.gateway, who)).await,
            (None, "/messages") => {
                Box::pin(legacy_sse::post(
                    &self.channels,
                    &self.gateway,
                    &who,
                    request,
                ))
                .await
            }
            (None, _) if is_rest => Box::pin(routed(&self.rest, Some(who), request)).await,
            (None, _) => bare(StatusCode::NOT_FOUND),
        }
    }

    /// Turns a connection into the line door, for the bridge of `mcpproxy stdio`.
    fn upgrade(
        &self,
        who: Principal,
        mode: RoutingMode,
        request: Request<Incoming>,
        to: &'static str,
        place: Place,
    ) -> Answered {
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(async move {
            match hyper::upgrade::on(request).await {
                Ok(upgraded) if to == STREAMS => {
                    if let Some(socket) = taken_back(upgraded) {
                        handover::serve(gateway, who, mode, socket).await;
                    }
                }
                Ok(upgraded) => {
                    let (input, output) = tokio::io::split(TokioIo::new(upgraded));
                    lines::serve(gateway, who, mode, input, output).await;
                }
                Err(fault) => tracing::debug!("an upgrade failed: {fault}"),
            }
            drop(place);
        });
        let mut response = bare(StatusCode::SWITCHING_PROTOCOLS);
        let headers = response.headers_mut();
        headers.insert(
            http::header::CONNECTION,
            http::HeaderValue::from_static("upgrade"),
        );
        headers.insert(http::header::UPGRADE, http::HeaderValue::from_static(to));
        response
    }
}

/// Tells whether a path is one of the pages for browsers.
fn is_page(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

/// Has a router answer, which is told who asks where that is known.
async fn routed(
    router: &axum::Router,
    who: Option<Principal>,
    mut request: Request<Incoming>,
) -> Answered {
    if let Some(who) = who {
        request.extensions_mut().insert(who);
    }
    let request = request.map(axum::body::Body::new);
    let answer = tower_service::Service::call(&mut router.clone(), request).await;
    match answer {
        Ok(answer) => answer.map(ReplyBody::Rest),
        Err(never) => match never {},
    }
}

/// Takes the Unix socket out of a connection, unless the other end spoke before it was asked.
fn taken_back(upgraded: Upgraded) -> Option<UnixStream> {
    let parts = upgraded.downcast::<TokioIo<Patient<UnixStream>>>().ok()?;
    let socket = parts.io.into_inner().into_inner();
    parts.read_buf.is_empty().then_some(socket)
}

/// Tells whether a connection may be turned into what has this name.
fn wants(request: &Request<Incoming>, name: &str) -> bool {
    let offered = request.headers().get_all(http::header::UPGRADE);
    let mut offered = offered.iter().map(http::HeaderValue::as_bytes);
    offered.any(|offered| offered.eq_ignore_ascii_case(name.as_bytes()))
}

fn denied(denial: &crate::access::Denial, challenge: Option<http::HeaderValue>) -> Answered {
    let code = mcpproxy_mcp::era::DENIED;
    let body = mcpproxy_mcp::compose::error(None, code, denial.message, None);
    challenged(json(denial.status, body), challenge)
}

/// Tells whether a path is one of the REST interface.
fn is_rest(path: &str) -> bool {
    path.starts_with("/api/") || ["/events", "/metrics"].contains(&path)
}

fn challenged(mut response: Answered, challenge: Option<http::HeaderValue>) -> Answered {
    if let Some(challenge) = challenge {
        response
            .headers_mut()
            .insert(http::header::WWW_AUTHENTICATE, challenge);
    }
    response
}
