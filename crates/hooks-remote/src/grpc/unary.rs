//! One unary gRPC call: five bytes before the message, a status after it.
//!
//! The whole of gRPC that a hook needs. Compression is neither offered nor taken, and an answer is
//! read within the bound of the link.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, uri};
use http_body_util::Full;
use prost::Message;

use mcpproxy_core::security::HookFault;

use crate::link::{Answer, Link};

/// Bytes before each message: whether it is compressed, and its length.
pub(super) const PREFIX: usize = 5;
/// What is said of a service that does not have a method.
pub(super) const UNKNOWN_METHOD: &str = "it does not know the method";
/// The longest time that gRPC can write in milliseconds.
const LONGEST: u128 = 99_999_999;

/// A gRPC service at one address.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) link: Link,
    pub(super) scheme: uri::Scheme,
    pub(super) authority: uri::Authority,
    pub(super) headers: HeaderMap,
}

impl Service {
    /// Calls a method and reads the message it answers.
    pub(super) async fn call<A: Message + Default>(
        &self,
        path: &'static str,
        question: &impl Message,
        deadline: Duration,
    ) -> Result<A, HookFault> {
        let question = self.question(path, question, deadline)?;
        let answer = self.link.ask(question, deadline).await?;
        check(&answer)?;
        let message = unframed(&answer.body)?;
        A::decode(message).map_err(|why| garbage(why.to_string()))
    }

    fn question(
        &self,
        path: &'static str,
        message: &impl Message,
        deadline: Duration,
    ) -> Result<Request<Full<Bytes>>, HookFault> {
        let address = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .map_err(|why| HookFault::Crashed(why.to_string()))?;
        let mut question = Request::new(Full::new(framed(message)?));
        *question.method_mut() = Method::POST;
        *question.uri_mut() = address;
        let headers = question.headers_mut();
        headers.clone_from(&self.headers);
        let grpc = HeaderValue::from_static("application/grpc");
        headers.insert(CONTENT_TYPE, grpc);
        headers.insert("te", HeaderValue::from_static("trailers"));
        let millis = deadline.as_millis().clamp(1, LONGEST);
        if let Ok(limit) = HeaderValue::from_str(&format!("{millis}m")) {
            headers.insert("grpc-timeout", limit);
        }
        Ok(question)
    }
}

fn framed(message: &impl Message) -> Result<Bytes, HookFault> {
    let length = message.encoded_len();
    let announced = u32::try_from(length).map_err(|_| HookFault::TooLarge)?;
    let mut frame = BytesMut::with_capacity(PREFIX.saturating_add(length));
    frame.put_u8(0);
    frame.put_u32(announced);
    message
        .encode(&mut frame)
        .map_err(|why| HookFault::Crashed(why.to_string()))?;
    Ok(frame.freeze())
}

/// Takes the one message out of its frame.
fn unframed(body: &Bytes) -> Result<Bytes, HookFault> {
    let Some((prefix, message)) = body.split_first_chunk::<PREFIX>() else {
        return Err(garbage("it holds no message"));
    };
    let [compressed, length @ ..] = *prefix;
    if compressed != 0 {
        return Err(garbage("it is compressed"));
    }
    if u32::try_from(message.len()) != Ok(u32::from_be_bytes(length)) {
        return Err(garbage("it does not hold one whole message"));
    }
    Ok(body.slice_ref(message))
}

/// Refuses answers that carry no message: those of something else than gRPC, and failures.
fn check(answer: &Answer) -> Result<(), HookFault> {
    if answer.status != StatusCode::OK {
        let status = format!("status {}", answer.status.as_u16());
        return Err(match answer.status {
            StatusCode::TOO_MANY_REQUESTS => HookFault::Busy,
            status if status.is_server_error() => HookFault::Crashed(status.to_string()),
            _ => garbage(status),
        });
    }
    let kind = answer.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/grpc") {
        return Err(garbage("it is not gRPC"));
    }
    // An answer without a message has the status in its head.
    let ends = [answer.trailers.as_ref(), Some(&answer.headers)];
    let status = ends
        .into_iter()
        .flatten()
        .find_map(|end| end.get("grpc-status"));
    let status = status.and_then(|status| status.to_str().ok());
    match status.and_then(|status| status.parse::<u32>().ok()) {
        Some(code) => failure(code).map_or(Ok(()), Err),
        None => Err(garbage("it ended without a status")),
    }
}

/// Says what a status other than success means for a hook.
fn failure(code: u32) -> Option<HookFault> {
    match code {
        0 => None,
        4 => Some(HookFault::Late),
        8 => Some(HookFault::Busy),
        12 => Some(garbage(UNKNOWN_METHOD)),
        14 => Some(HookFault::Unreachable("it says so itself".to_owned())),
        code => Some(HookFault::Crashed(format!("gRPC status {code}"))),
    }
}

pub(super) fn garbage(why: impl Into<String>) -> HookFault {
    HookFault::Garbage(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_frame(body: &'static [u8], expect: Result<&[u8], &str>) {
        let read = unframed(&Bytes::from_static(body));
        match (read, expect) {
            (Ok(read), Ok(message)) => assert_eq!(read, message),
            (Err(HookFault::Garbage(why)), Err(expect)) => assert_eq!(why, expect),
            (read, expect) => panic!("{read:?} is not {expect:?}"),
        }
    }

    #[test]
    fn a_frame_holds_one_whole_message() {
        check_frame(&[0, 0, 0, 0, 2, 8, 1], Ok(&[8, 1]));
        check_frame(&[0, 0, 0, 0, 0], Ok(&[]));
        check_frame(&[], Err("it holds no message"));
        check_frame(&[0, 0, 0, 0], Err("it holds no message"));
        check_frame(&[1, 0, 0, 0, 0], Err("it is compressed"));
        let partial = "it does not hold one whole message";
        check_frame(&[0, 0, 0, 0, 3, 8, 1], Err(partial));
        check_frame(&[0, 0, 0, 0, 1, 8, 1], Err(partial));
        check_frame(&[0, 255, 255, 255, 255, 8], Err(partial));
    }
}
