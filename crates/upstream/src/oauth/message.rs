//! One message to an upstream, with the token that it wants.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use mcpproxy_mcp::Error as Transport;
use mcpproxy_mcp::body::discard;
use mcpproxy_mcp::dial::Received;

use super::OAuth;
use super::challenge::Challenge;
use super::web::{challenges, same_origin, sentence};
use crate::Error;
use crate::link::http::OWN_PATIENCE;

impl OAuth {
    /// Sends a message. Where the upstream does not accept the token, it is renewed once and the
    /// message sent again: one that was refused so was not acted on.
    pub(crate) async fn send(
        self: &Arc<Self>,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Received>, Transport> {
        // INVARIANT: no token leaves for another origin than the upstream's own.
        let is_own = same_origin(uri, &self.web.upstream);
        let shown = if is_own {
            self.header().await.map_err(unauthorized)?
        } else {
            None
        };
        let first = with(headers.clone(), shown.as_ref());
        let sent = self.web.own.send(method.clone(), uri, first, body.clone());
        let response = sent.await?;
        match response.status() {
            StatusCode::UNAUTHORIZED if is_own => {
                // Boxed: rare, and every call would carry its room.
                let again = self.send_again(method, uri, headers, body, (shown, response));
                Box::pin(again).await
            }
            StatusCode::FORBIDDEN if is_own => self.forbidden(response),
            _ => Ok(response),
        }
    }

    async fn send_again(
        self: &Arc<Self>,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
        (shown, response): (Option<HeaderValue>, Response<Received>),
    ) -> Result<Response<Received>, Transport> {
        discard(response.into_body(), OWN_PATIENCE).await;
        let next = self.rejected(shown.as_ref()).await;
        let next = next.map_err(unauthorized)?;
        let headers = with(headers, Some(&next));
        let response = self.web.own.send(method, uri, headers, body).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            discard(response.into_body(), OWN_PATIENCE).await;
            return Err(unauthorized(self.refuses()));
        }
        Ok(response)
    }

    /// Says what a token lacks, where the upstream says that (RFC 6750, 3.1).
    fn forbidden(&self, response: Response<Received>) -> Result<Response<Received>, Transport> {
        let said = challenges(response.headers());
        let said = said.as_deref().and_then(Challenge::read);
        let lacks = said.filter(|one| one.error.as_deref() == Some("insufficient_scope"));
        match lacks {
            None => Ok(response),
            Some(lacks) => {
                let scope = sentence(&lacks.scope.unwrap_or_default());
                tracing::warn!("upstream `{}` wants the scopes `{scope}`", self.name);
                let why = "it wants more than `oauth.scopes` has; the log says what";
                Err(unauthorized(self.needs_login(why)))
            }
        }
    }

    /// Asks the upstream for nothing in particular, to hear what it wants for a login.
    pub(super) async fn probe(&self) -> Result<Challenge, Error> {
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accept);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
        let own = &self.web.own;
        let sent = own.send(Method::POST, &self.web.upstream, headers, body.into());
        let sent = tokio::time::timeout(OWN_PATIENCE * 5, sent).await;
        let response = sent.map_err(|_| Transport::TimedOut)??;
        let said = challenges(response.headers());
        let challenge = said.as_deref().and_then(Challenge::read);
        Ok(challenge.unwrap_or_default())
    }
}

fn with(mut headers: HeaderMap, shown: Option<&HeaderValue>) -> HeaderMap {
    if let Some(shown) = shown {
        headers.insert(AUTHORIZATION, shown.clone());
    }
    headers
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn unauthorized(fault: Error) -> Transport {
    Transport::Unauthorized(fault.to_string())
}
