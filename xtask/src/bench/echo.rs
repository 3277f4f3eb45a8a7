//! The upstream of the bench: a legacy MCP server with one tool, `echo`, over HTTP or stdio.
//!
//! It does as little as a correct server can, so that what is measured is what stands before it.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{block_on, read_bounded, serve};
use crate::Outcome;

/// What a stubborn upstream waits before it ends by itself, so that even an orphan is no leak.
const STUBBORN_LIMIT: Duration = Duration::from_mins(2);

const BUFFER: usize = 256 * 1024;

#[derive(clap::Args, Debug)]
pub(crate) struct HttpArguments {
    address: SocketAddr,
}

#[derive(clap::Args, Debug)]
pub(crate) struct StdioArguments {
    /// Makes the process findable by its command line; it changes nothing else
    #[arg(long)]
    marker: Option<String>,
    /// Stays for a while after stdin has closed
    #[arg(long)]
    stubborn: bool,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    arguments: EchoArguments<'a>,
}

#[derive(Deserialize)]
struct EchoArguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

/// Serves over Streamable HTTP until stdin closes.
pub(crate) fn run_http(arguments: &HttpArguments) -> Result<Outcome> {
    block_on(serve(arguments.address, respond))?;
    Ok(Outcome::Clean)
}

/// Serves over stdio until stdin closes.
pub(crate) fn run_stdio(arguments: &StdioArguments) -> Result<Outcome> {
    let mut reader = BufReader::with_capacity(BUFFER, io::stdin());
    let mut writer = BufWriter::with_capacity(BUFFER, io::stdout());
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Some(answer) = answer(&line) {
            writer.write_all(&answer)?;
            writer.write_all(b"\n")?;
        }
        // Answers to requests that came together leave together, but none waits for a request of
        // which only a part has come.
        if memchr::memchr(b'\n', reader.buffer()).is_none() {
            writer.flush()?;
        }
        line.clear();
    }
    writer.flush()?;
    if arguments.stubborn {
        thread::sleep(STUBBORN_LIMIT);
    }
    Ok(Outcome::Clean)
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(status(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = read_bounded(request.into_body()).await else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    let Some(answer) = answer(&body) else {
        return Ok(status(StatusCode::ACCEPTED));
    };
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn status(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}

/// Answers one message; a notification has no answer.
fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
        return Some(error("null", -32700, "parse error"));
    };
    let id = message.id?.get();
    Some(match message.method.as_ref() {
        "tools/call" => call(id, message.params),
        "initialize" => result(
            id,
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}"#,
        ),
        "tools/list" => result(
            id,
            r#"{"tools":[{"name":"echo","description":"Returns its text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true}}]}"#,
        ),
        "ping" => result(id, "{}"),
        _ => error(id, -32601, "method not found"),
    })
}

fn call(id: &str, params: Option<&RawValue>) -> Vec<u8> {
    let params = params.and_then(|raw| serde_json::from_str::<CallParams<'_>>(raw.get()).ok());
    let Some(params) = params else {
        return error(id, -32602, "`text` is missing");
    };
    let text = params.arguments.text.get();
    let mut answer = Vec::with_capacity(text.len() + 128);
    for part in [
        r#"{"jsonrpc":"2.0","id":"#,
        id,
        r#","result":{"content":[{"type":"text","text":"#,
        text,
        "}]}}",
    ] {
        answer.extend_from_slice(part.as_bytes());
    }
    answer
}

fn result(id: &str, result: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

fn error(id: &str, code: i32, message: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
        .into_bytes()
}

#[cfg(test)]
mod tests {
    fn check(message: &str, expect: &str) {
        let answer = super::answer(message.as_bytes()).unwrap_or_default();
        assert_eq!(String::from_utf8(answer).unwrap(), expect, "{message}");
    }

    #[test]
    fn echo_answers_each_question_with_its_own_text() {
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"text":"x\ny"}}}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"x\ny"}]}}"#,
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}"#,
        );
        check(
            "{",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
        );
    }
}
