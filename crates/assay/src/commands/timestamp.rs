//! `timestamp`: an outside authority's word on when a pack existed.
//!
//! Only the digest of the pack's checkpoint is sent. Whether the authority is one to believe is
//! asked when the pack is verified, with its root pinned.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_notary::{file, timestamp};
use serde_json::json;
use tokio::time::timeout;

use crate::args::Authority;
use crate::exit::{Exit, bad_input};
use crate::output::{self, Form};
use crate::proxy::Address;

/// How long an authority may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer that is taken.
const LONGEST: usize = 1 << 20;

/// Asks an authority, or writes the request, or keeps the answer.
pub(super) fn run(pack: &Path, by: &Authority, form: Form) -> Result<Exit> {
    let request = || timestamp::request(pack).map_err(|fault| bad_input(fault.to_string()));
    if let Some(path) = &by.request {
        let cannot = || format!("cannot write `{}`", path.display());
        fs::write(path, request()?).with_context(cannot)?;
        let kept = path.display().to_string();
        output::data(&match form {
            Form::Json => json!({ "request": kept }).to_string(),
            Form::Text => format!("request {kept}"),
        })?;
        return Ok(Exit::Fine);
    }
    let answer = match (&by.response, &by.tsa) {
        (Some(path), _) => file::read(path)
            .map_err(|fault| bad_input(format!("cannot read `{}`: {fault}", path.display())))?,
        (None, url) => ask(url.as_deref().unwrap_or_default(), request()?)?,
    };
    let kept = timestamp::attach(pack, &answer).map_err(|fault| bad_input(fault.to_string()))?;
    let kept = kept.display().to_string();
    output::data(&match form {
        Form::Json => json!({ "timestamp": kept }).to_string(),
        Form::Text => format!("timestamp {kept}"),
    })?;
    Ok(Exit::Fine)
}

/// Asks an authority over HTTP (RFC 3161, 3.4).
fn ask(url: &str, request: Vec<u8>) -> Result<Vec<u8>> {
    let address = Address::read(url, &[])?;
    let mut headers = HeaderMap::new();
    let query = HeaderValue::from_static("application/timestamp-query");
    headers.insert(CONTENT_TYPE, query);
    let exchange = async {
        let dialer = Dialer::default();
        let body = Bytes::from(request);
        let sent = dialer.send(Method::POST, &address.uri, headers, body);
        let response = sent.await?;
        let status = response.status();
        let body = read_bounded(response.into_body(), LONGEST, PATIENCE).await?;
        anyhow::ensure!(status.is_success(), "it answered with status {status}");
        Ok(body.to_vec())
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let answer = runtime.block_on(async { timeout(PATIENCE, exchange).await });
    let answer = answer.unwrap_or_else(|_| Err(anyhow::anyhow!("it did not answer in time")));
    answer.map_err(|fault| bad_input(format!("the authority `{url}` failed: {fault:#}")))
}
