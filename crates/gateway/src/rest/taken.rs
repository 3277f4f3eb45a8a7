//! What handlers take from a request. What cannot be read is refused in the same envelope as
//! everything else.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use super::failed;

/// A body of JSON.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let read = Json::<Exact<T>>::from_request(request, state).await;
        read.map(|Json(Exact(body))| Self(body)).map_err(|fault| {
            let (status, hint) = match &fault {
                JsonRejection::MissingJsonContentType(_) => {
                    let hint = "send JSON, with `Content-Type: application/json`";
                    (StatusCode::UNSUPPORTED_MEDIA_TYPE, Some(hint))
                }
                other if other.status() == StatusCode::PAYLOAD_TOO_LARGE => (other.status(), None),
                _ => (StatusCode::BAD_REQUEST, Some("see `/api/v1/openapi.json`")),
            };
            failed(status, &lowered(&fault.body_text()), hint)
        })
    }
}

/// What is read as the document tells of it.
struct Exact<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Exact<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        mcpproxy_core::exact(from).map(Self)
    }
}

/// What stands behind the question mark.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(asked)| Self(asked))
            .map_err(|fault| failed(StatusCode::BAD_REQUEST, &lowered(&fault.body_text()), None))
    }
}

/// Parts of the path.
pub(super) struct At<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(at)| Self(at))
            .map_err(|fault| failed(StatusCode::BAD_REQUEST, &lowered(&fault.body_text()), None))
    }
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}
