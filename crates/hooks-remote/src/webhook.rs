//! The webhook: one HTTP request for each question.

mod answer;
mod body;
mod flawed;
mod kept;
mod sign;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body_util::Full;
use schemars::SchemaGenerator;

use mcpproxy_core::activity::Later;
use mcpproxy_core::clock::Clock;
use mcpproxy_core::security::{
    HealthStatus, HookCard, HookFault, OutsideHook, Phases, SecurityContext, SecurityDecision,
    Subject,
};

use self::body::Question;
use self::kept::Kept;
pub use self::sign::Signer;
use crate::link::{Answer, Bounds, Link, Wire, headers, without_credentials};
use crate::subject::Shown;
use crate::{Error, Method, WebhookSettings};

/// Headers that every question has and no configuration sets.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    ID,
    SIGNATURE,
    TIMESTAMP,
    "x-correlation-id",
];
const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";
/// How long a check of health may take.
const HEALTH_LIMIT: Duration = Duration::from_secs(2);

/// A security hook behind an HTTP address.
pub struct Webhook {
    card: HookCard,
    address: Uri,
    health: Option<Uri>,
    method: http::Method,
    headers: HeaderMap,
    signer: Signer,
    shown: Shown,
    link: Link,
    kept: Kept,
    clock: Arc<dyn Clock>,
}

impl Webhook {
    /// Makes a webhook; nothing is sent yet.
    pub fn new(
        id: impl Into<Arc<str>>,
        priority: u32,
        runs_on: Phases,
        settings: &WebhookSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let config = &settings.config;
        let address = address(&settings.url)?;
        if config.tls.is_some() && address.scheme_str() != Some("https") {
            return Err(Error::PlainAddress(settings.url.clone()));
        }
        let bounds = Bounds {
            retries: config.connect_retries,
            answer: config.max_answer_size.as_usize(),
        };
        Ok(Self {
            card: HookCard {
                id: id.into(),
                name: "Webhook",
                description: format!("asks the webhook at {}", address.host().unwrap_or_default()),
                priority,
                runs_on,
            },
            address,
            health: config
                .health_url
                .as_deref()
                .map(self::address)
                .transpose()?,
            method: match settings.method {
                Method::Post => http::Method::POST,
                Method::Put => http::Method::PUT,
            },
            headers: headers(&settings.headers, RESERVED)?,
            signer: Signer::new(&config.signing_keys)?,
            shown: Shown {
                requests: config.check_request_body,
                responses: config.check_response_body,
                limit: config.max_body_size.as_usize(),
            },
            link: Link::new(Wire::One, config.tls.as_ref(), bounds)?,
            kept: Kept::default(),
            clock,
        })
    }

    /// Returns what the service said about the same question, if that still holds.
    fn known(&self, question: &Question<'_>) -> Result<Option<SecurityDecision>, HookFault> {
        if self.kept.is_empty() {
            return Ok(None);
        }
        Ok(self.kept.get(&question.key()?, self.clock.tick()))
    }

    fn request(
        &self,
        body: Bytes,
        seconds: u64,
        correlation_id: &str,
    ) -> Result<Request<Full<Bytes>>, HookFault> {
        let id = delivery()?;
        let signature = self.signer.sign(&id, seconds, &body);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.address.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        let json = HeaderValue::from_static("application/json");
        headers.insert(ACCEPT, json.clone());
        headers.insert(CONTENT_TYPE, json);
        headers.insert(ID, value(&id)?);
        headers.insert(TIMESTAMP, HeaderValue::from(seconds));
        // The body has it in any case.
        if let Ok(correlation_id) = HeaderValue::from_str(correlation_id) {
            headers.insert("x-correlation-id", correlation_id);
        }
        if let Some(signature) = signature {
            headers.insert(SIGNATURE, value(&signature)?);
        }
        Ok(request)
    }

    /// Asks how the service is doing: by its own address for that, else any answer will do.
    async fn answering(&self) -> Result<HealthStatus, HookFault> {
        let mut question = Request::new(Full::default());
        *question.headers_mut() = self.headers.clone();
        if self.health.is_none() {
            *question.method_mut() = http::Method::OPTIONS;
        }
        let address = self.health.as_ref().unwrap_or(&self.address);
        *question.uri_mut() = address.clone();
        let answer = self.link.ask(question, HEALTH_LIMIT).await?;
        let healthy = self.health.is_none() || answer.status.is_success();
        let message = format!("it answered status {}", answer.status.as_u16());
        Ok(HealthStatus { healthy, message })
    }
}

impl OutsideHook for Webhook {
    fn card(&self) -> &HookCard {
        &self.card
    }

    fn ask<'a>(
        &'a self,
        context: &'a SecurityContext,
        subject: Subject<'a>,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async move {
            let now = self.clock.wall();
            let question = Question::of(&self.card.id, now, context, subject, self.shown)?;
            if let Some(decision) = self.known(&question)? {
                return Ok(decision);
            }
            let request = self.request(question.write()?, now.0 / 1000, &context.correlation_id)?;
            let answer = self.link.ask(request, context.timeout).await?;
            check_head(&answer)?;
            let (decision, valid_for) = match answer::read(&answer.body, subject.into()) {
                Ok(read) => read,
                Err(fault) => {
                    let decision = flawed::objection(&answer.body).ok_or_else(|| fault.clone())?;
                    let id = &self.card.id;
                    tracing::warn!(
                        "hook `{id}` objects, though {fault}; its objection is followed"
                    );
                    (decision, Duration::ZERO)
                }
            };
            if !valid_for.is_zero() {
                let (key, now) = (question.key()?, self.clock.tick());
                self.kept.put(key, decision.clone(), now, valid_for);
            }
            Ok(decision)
        })
    }

    fn health(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(self.answering())
    }
}

/// Returns the published schema of questions and answers.
pub fn schema() -> serde_json::Value {
    let mut generator = SchemaGenerator::default();
    let question = generator.subschema_for::<Question<'static>>();
    let answer = generator.subschema_for::<answer::Answer>();
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Questions to and answers of webhooks of mcpproxy, version 1",
        "oneOf": [question, answer],
        "$defs": generator.take_definitions(true),
    })
}

fn address(text: &str) -> Result<Uri, Error> {
    without_credentials(text)?;
    let wrong = || Error::Address(text.to_owned(), "`http://` or `https://`");
    let address: Uri = text.parse().map_err(|_| wrong())?;
    let known = matches!(address.scheme_str(), Some("http" | "https"));
    if known && address.authority().is_some() {
        Ok(address)
    } else {
        Err(wrong())
    }
}

/// Refuses answers whose head already says that they are no decision.
fn check_head(answer: &Answer) -> Result<(), HookFault> {
    let status = format!("status {}", answer.status.as_u16());
    match answer.status {
        StatusCode::OK => {}
        StatusCode::TOO_MANY_REQUESTS => return Err(HookFault::Busy),
        other if other.is_server_error() => return Err(HookFault::Crashed(status)),
        _ => return Err(HookFault::Garbage(status)),
    }
    if answer.headers.contains_key(CONTENT_ENCODING) {
        return Err(HookFault::Garbage("it is compressed".to_owned()));
    }
    let kind = answer.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(HookFault::Garbage("its type is not JSON".to_owned()));
    }
    Ok(())
}

/// Makes an id that no other question has, so that a service can refuse the same one twice.
fn delivery() -> Result<String, HookFault> {
    let (high, low) = getrandom::u64()
        .and_then(|high| Ok((high, getrandom::u64()?)))
        .map_err(|why| HookFault::Crashed(why.to_string()))?;
    Ok(format!("msg_{high:016x}{low:016x}"))
}

fn value(text: &str) -> Result<HeaderValue, HookFault> {
    HeaderValue::from_str(text)
        .map_err(|_| HookFault::Crashed("a header cannot be written".to_owned()))
}

/// Leaves out the headers and keys, which are credentials, and the address's query.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("card", &self.card)
            .finish_non_exhaustive()
    }
}
