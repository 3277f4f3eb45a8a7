//! Answers of the HTTP doors: their bodies, whole or piece by piece, and the few shapes they take.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame as BodyFrame};
use mcpproxy_mcp::era::http_status;
use mcpproxy_mcp::{Refusal, compose};
use tokio::sync::mpsc;

use crate::streams::Items;

/// The body of an answer.
#[derive(Debug)]
pub enum ReplyBody {
    /// Whole.
    Whole(Option<Bytes>),
    /// Pieces as they come.
    Pieces(mpsc::Receiver<Bytes>),
    /// Items of a session's stream.
    Items(Items),
    /// From the REST interface.
    Rest(axum::body::Body),
}

impl ReplyBody {
    /// Makes an empty body.
    pub fn empty() -> Self {
        Self::Whole(None)
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(BodyFrame::data(bytes)))),
            Self::Pieces(pieces) => pieces
                .poll_recv(context)
                .map(|piece| piece.map(|piece| Ok(BodyFrame::data(piece)))),
            Self::Items(items) => items
                .poll_recv(context)
                .map(|item| item.map(|item| Ok(BodyFrame::data(item.encode())))),
            Self::Rest(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                http_body::SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Rest(body) => body.size_hint(),
            Self::Pieces(_) | Self::Items(_) => http_body::SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }
}

/// An answer of the doors.
pub type Answered = Response<ReplyBody>;

/// Makes an answer without a body.
pub fn bare(status: StatusCode) -> Answered {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = status;
    response
}

/// Makes an answer with a JSON body.
pub fn json(status: StatusCode, body: Bytes) -> Answered {
    let mut response = Response::new(ReplyBody::Whole(Some(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Makes an answer whose body comes as events.
pub fn stream(body: ReplyBody) -> Answered {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Answers a message that was refused.
pub fn refused(refusal: &Refusal, data: Option<&serde_json::Value>) -> Answered {
    tracing::info!("refused a message: {refusal}");
    let id = refusal
        .id
        .as_deref()
        .and_then(|id| std::str::from_utf8(id).ok());
    let status = StatusCode::from_u16(http_status(refusal.code)).unwrap_or(StatusCode::BAD_REQUEST);
    let status = if status == StatusCode::OK {
        StatusCode::BAD_REQUEST
    } else {
        status
    };
    json(
        status,
        compose::error(id, refusal.code, &refusal.message, data),
    )
}
