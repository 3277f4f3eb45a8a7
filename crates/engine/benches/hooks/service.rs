//! Services on a loopback port that allow everything: one that webhooks ask, and one that speaks our
//! gRPC protocol.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

/// `SERVING`, as the health service says it, behind its length.
const HEALTHY: &[u8] = &[0, 0, 0, 0, 2, 8, 1];
/// `allow`, as `proto/mcpproxy/hook/v1/hook.proto` has it, behind its length.
const ALLOWED: &[u8] = &[0, 0, 0, 0, 2, 10, 0];

/// Starts the service for webhooks and returns its address.
pub(crate) async fn webhook() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // As servers do: what is small is not held back until the other side has confirmed what was
            // sent before.
            let _best_effort = stream.set_nodelay(true);
            let answer = service_fn(async |request: Request<Incoming>| {
                read(request.into_body()).await;
                let allowed = Bytes::from_static(br#"{"decision":"allow"}"#);
                let mut answer = Response::new(Full::new(allowed));
                let json = HeaderValue::from_static("application/json");
                answer.headers_mut().insert("content-type", json);
                Ok::<_, Infallible>(answer)
            });
            let stream = TokioIo::new(stream);
            tokio::spawn(http1::Builder::new().serve_connection(stream, answer));
        }
    });
    Ok(address)
}

/// Starts the gRPC service and returns its address.
pub(crate) async fn grpc() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("grpc://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _best_effort = stream.set_nodelay(true);
            let answer = service_fn(async |request: Request<Incoming>| {
                let health = request.uri().path().starts_with("/grpc.health.v1.");
                read(request.into_body()).await;
                let said = if health { HEALTHY } else { ALLOWED };
                let mut done = HeaderMap::new();
                done.insert("grpc-status", HeaderValue::from_static("0"));
                let said = Full::new(Bytes::from_static(said));
                let said = said.with_trailers(async { Some(Ok(done)) });
                let mut answer = Response::new(said);
                let grpc = HeaderValue::from_static("application/grpc");
                answer.headers_mut().insert("content-type", grpc);
                Ok::<_, Infallible>(answer)
            });
            let stream = TokioIo::new(stream);
            let served = http2::Builder::new(TokioExecutor::new()).serve_connection(stream, answer);
            tokio::spawn(served);
        }
    });
    Ok(address)
}

/// Reads a question to its end: it is our own, so that it is not too long.
async fn read(mut body: Incoming) {
    while let Some(Ok(_)) = body.frame().await {}
}
