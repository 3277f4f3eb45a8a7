//! Ways in which an upstream's answer can be wrong.

use std::io;

use bytes::Bytes;
use http::Response;
use mcpproxy_mcp::Frame;
use mcpproxy_text::Limits;
use tokio::sync::mpsc;

use super::answer::{Body, Torn, feed, json};

/// How much the endless answer sends before it ends after all.
const ENDLESS_BYTES: usize = 100 * 1024 * 1024;
/// How much of it is sent at a time.
const CHUNK: usize = 64 * 1024;
/// How deep the nested answer nests.
const LEVELS: usize = 100_000;

/// A way in which an answer is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The connection is closed in the middle.
    ClosesMidAnswer,
    /// The answer is not JSON.
    MalformedJson,
    /// The answer is to a request that was not made.
    WrongId,
    /// The answer has a key twice.
    DuplicateKeys,
    /// The answer is not UTF-8.
    NotUtf8,
    /// The answer nests very deep.
    Nested,
    /// The answer is 100 MB of one string, and well-formed.
    Endless,
}

/// Returns the answer in its broken form.
pub(super) fn spoil(answer: &Bytes, how: Broken) -> Response<Body> {
    let half = answer.len() / 2;
    match how {
        Broken::ClosesMidAnswer => {
            let torn = Torn::Sending(answer.slice(..half));
            json(200, Body::Torn(torn))
        }
        Broken::MalformedJson => whole(answer.slice(..half)),
        Broken::WrongId => whole(under(answer, "4294967295")),
        Broken::DuplicateKeys => whole(opened(answer, br#"{"jsonrpc":"2.0","#)),
        Broken::NotUtf8 => whole(opened(answer, b"{\"\xff\":0,")),
        Broken::Nested => {
            let nested = [b"[".repeat(LEVELS), b"]".repeat(LEVELS)].concat();
            whole(opened(answer, &[br#"{"nested":"#, &*nested, b","].concat()))
        }
        Broken::Endless => endless(answer),
    }
}

fn whole(body: Bytes) -> Response<Body> {
    json(200, Body::whole(body))
}

fn under(answer: &Bytes, id: &str) -> Bytes {
    let frame = Frame::parse(answer.clone(), Limits::default());
    frame.map_or_else(|_| Bytes::new(), |frame| frame.with_id(id))
}

/// Puts something else in place of the brace that opens the answer.
fn opened(answer: &Bytes, start: &[u8]) -> Bytes {
    let rest = answer.get(1..).unwrap_or_default();
    [start, rest].concat().into()
}

fn endless(answer: &Bytes) -> Response<Body> {
    let (sender, body) = feed(4);
    let end = opened(answer, b"\",");
    tokio::spawn(async move {
        let mut left = ENDLESS_BYTES;
        let chunk = Bytes::from(vec![b'x'; CHUNK]);
        let mut part = Bytes::from_static(br#"{"filling":""#);
        // A receiver that is gone has had enough.
        while send(&sender, part).await && left > 0 {
            left = left.saturating_sub(CHUNK);
            part = chunk.clone();
        }
        if left == 0 {
            send(&sender, end).await;
        }
    });
    json(200, body)
}

async fn send(sender: &mpsc::Sender<io::Result<Bytes>>, part: Bytes) -> bool {
    sender.send(Ok(part)).await.is_ok()
}
