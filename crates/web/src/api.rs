//! The REST interface, called in this process, in the name of whoever is logged in.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request, StatusCode};
use mcpproxy_core::Principal;
use mcpproxy_mcp::body::read_bounded;
use serde_json::Value;
use tower_service::Service as _;

use crate::error::Error;
use crate::look::Look as _;
use crate::session::Viewer;

/// The largest answer that is read for a page.
const MOST: usize = 16 * 1024 * 1024;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interface.
#[derive(Clone, Debug)]
pub(crate) struct Api(Router);

impl Api {
    /// Takes the router that has `/api/v1` and `/events`.
    pub(crate) fn new(router: Router) -> Self {
        Self(router)
    }

    /// Asks for something under `/api/v1`.
    pub(crate) async fn get(&self, viewer: &Viewer, path: &str) -> Result<Value, Error> {
        let answer = self.ask(viewer, Method::GET, path, Body::empty()).await;
        read(answer).await
    }

    /// Does something under `/api/v1`.
    pub(crate) async fn post(
        &self,
        viewer: &Viewer,
        path: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        let body = Body::from(body.to_string());
        read(self.ask(viewer, Method::POST, path, body).await).await
    }

    /// Listens to what happens; the answer goes on for as long as somebody reads it.
    pub(crate) async fn events(&self, viewer: &Viewer, headers: &HeaderMap) -> Response {
        let mut request = Request::get("/events");
        if let Some(last) = headers.get("last-event-id") {
            request = request.header("last-event-id", last);
        }
        self.send(viewer, request, Body::empty()).await
    }

    async fn ask(&self, viewer: &Viewer, method: Method, path: &str, body: Body) -> Response {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(CONTENT_TYPE, "application/json");
        self.send(viewer, request, body).await
    }

    async fn send(
        &self,
        viewer: &Viewer,
        mut request: http::request::Builder,
        body: Body,
    ) -> Response {
        request = request.header(HOST, "localhost");
        // What needs the key, needs it here as well: only who logged in with it has shown it.
        if let Some(key) = viewer.key() {
            request = request.header("x-api-key", key.expose());
        }
        let request = request.extension(Principal::owner()).body(body);
        let Ok(request) = request else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        match self.0.clone().call(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }
}

/// Takes the data out of an answer.
async fn read(answer: Response) -> Result<Value, Error> {
    let status = answer.status();
    let bytes = read_bounded(answer.into_body(), MOST, PATIENCE)
        .await
        .map_err(|fault| Error::Unreadable(fault.to_string()))?;
    let answer = serde_json::from_slice::<Value>(&bytes);
    if status.is_success() {
        let mut answer = answer.map_err(|fault| Error::Unreadable(fault.to_string()))?;
        return Ok(answer.get_mut("data").map(Value::take).unwrap_or_default());
    }
    let answer = answer.unwrap_or_default();
    let message = match answer.text("error") {
        "" => format!("the interface answered {status}"),
        message => message.to_owned(),
    };
    let hint = answer.text("hint");
    Err(Error::Refused {
        status,
        message,
        hint: (!hint.is_empty()).then(|| hint.to_owned()),
    })
}
