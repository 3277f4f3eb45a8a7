//! HTTP pieces that the bench's own programs share: an accept loop, a bounded read, an owner.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// No message of the bench comes near this.
const BODY_LIMIT: usize = 4 << 20;

/// Runs `program` on a runtime with one worker for each processor.
pub(super) fn block_on<T>(program: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start tokio")?;
    let result = runtime.block_on(program);
    // The thread that reads stdin cannot be interrupted and must not hold the process up.
    runtime.shutdown_background();
    result
}

/// Serves `handle` at `address` until stdin closes, which it does when the bench ends or dies.
pub(super) async fn serve<B, F>(
    address: SocketAddr,
    handle: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) -> Result<()>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send,
{
    let listener = TcpListener::bind(address).await.context("cannot listen")?;
    let owner = owner_left();
    tokio::pin!(owner);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut owner => return Ok(()),
        };
        let (stream, _) = accepted.context("cannot accept a connection")?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let handle = handle.clone();
        tokio::spawn(async move {
            let service = service_fn(handle);
            // A connection that breaks is seen by the load generator, which counts it.
            drop(
                http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
}

async fn owner_left() {
    let mut stdin = tokio::io::stdin();
    let mut buffer = [0_u8; 64];
    while matches!(stdin.read(&mut buffer).await, Ok(length) if length > 0) {}
}

/// Reads a body to its end, or fails at the bound.
pub(super) async fn read_bounded(mut body: Incoming) -> Result<Bytes> {
    let mut first: Option<Bytes> = None;
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.context("the body broke off")?.into_data() else {
            continue;
        };
        if first.as_ref().map_or(0, Bytes::len) + rest.len() + data.len() > BODY_LIMIT {
            bail!("the body is longer than {BODY_LIMIT} bytes");
        }
        // Most bodies come in one piece, which then is not copied.
        match &first {
            None => first = Some(data),
            Some(_) => rest.extend_from_slice(&data),
        }
    }
    let first = first.unwrap_or_default();
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}
