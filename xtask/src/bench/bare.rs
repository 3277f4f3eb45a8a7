//! The floor of the bench: a reverse proxy that does nothing, or nothing but parse the JSON.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{block_on, read_bounded, serve};
use crate::Outcome;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    address: SocketAddr,
    upstream: SocketAddr,
    /// Reads every body whole and parses the JSON-RPC envelope in it
    #[arg(long)]
    parse: bool,
}

type OutBody = BoxBody<Bytes, hyper::Error>;

/// The members that a gateway needs to see; their values stay raw.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Clone)]
struct Proxy {
    client: Client<HttpConnector, OutBody>,
    upstream: Authority,
    parse: bool,
}

/// Forwards from `address` to `upstream` until stdin closes.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let upstream = arguments
        .upstream
        .to_string()
        .parse()
        .context("not an authority")?;
    let (address, parse) = (arguments.address, arguments.parse);
    block_on(async move {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let proxy = Proxy {
            client,
            upstream,
            parse,
        };
        serve(address, move |request| proxy.clone().handle(request)).await
    })?;
    Ok(Outcome::Clean)
}

impl Proxy {
    async fn handle(self, request: Request<Incoming>) -> Result<Response<OutBody>, Infallible> {
        Ok(self.forward(request).await.unwrap_or_else(|_| {
            let mut response = Response::new(full(Bytes::new()));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }))
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<OutBody>> {
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().cloned().context("no path")?;
        head.uri = Uri::builder()
            .scheme(Scheme::HTTP)
            .authority(self.upstream.clone())
            .path_and_query(path)
            .build()?;
        head.headers.remove(HOST);
        let body = self.pass(body, &mut head.headers).await?;
        let response = self.client.request(Request::from_parts(head, body)).await?;
        let (mut head, body) = response.into_parts();
        let body = self.pass(body, &mut head.headers).await?;
        Ok(Response::from_parts(head, body))
    }

    async fn pass(&self, body: Incoming, headers: &mut hyper::HeaderMap) -> Result<OutBody> {
        if !self.parse {
            return Ok(body.boxed());
        }
        let bytes = read_bounded(body).await?;
        if !bytes.is_empty() {
            check_envelope(&bytes)?;
        }
        // Read whole, the body has a new framing, which hyper writes.
        headers.remove(CONTENT_LENGTH);
        headers.remove(TRANSFER_ENCODING);
        Ok(full(bytes))
    }
}

fn full(bytes: Bytes) -> OutBody {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}

/// Fails unless the bytes are one JSON-RPC message.
pub(super) fn check_envelope(bytes: &[u8]) -> Result<()> {
    let envelope: Envelope<'_> = serde_json::from_slice(bytes)?;
    let request = envelope.method.is_some();
    let answer = envelope.result.is_some() != envelope.error.is_some();
    if request == answer || (answer && (envelope.id.is_none() || envelope.params.is_some())) {
        bail!("not a JSON-RPC message");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn check(message: &str, expect: bool) {
        assert_eq!(
            super::check_envelope(message.as_bytes()).is_ok(),
            expect,
            "{message}"
        );
    }

    #[test]
    fn the_parsing_proxy_knows_a_message() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{}}"#, true);
        check(r#"{"jsonrpc":"2.0","method":"x"}"#, true);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, false);
        check(r#"{"jsonrpc":"2.0","result":{}}"#, false);
        check("[", false);
    }
}
