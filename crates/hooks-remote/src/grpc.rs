//! The gRPC hook: one unary call for each question, in one of three protocols.

mod authz;
mod batch;
mod ext_mcp;
mod json;
mod own;
#[cfg(test)]
mod tests;
mod unary;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use prost::Message;

use mcpproxy_core::activity::Later;
use mcpproxy_core::security::{
    HealthStatus, HookCard, HookFault, OutsideHook, Phases, ResponseKind, SecurityContext,
    SecurityDecision, Subject,
};

use self::batch::Batches;
use self::unary::{PREFIX, Service, UNKNOWN_METHOD};
use crate::link::{Bounds, Link, Wire, headers, without_credentials};
use crate::subject::Shown;
use crate::{Error, GrpcSettings, Protocol};

/// Metadata that every question has and no configuration sets.
const RESERVED: &[&str] = &[
    "connection",
    "content-length",
    "content-type",
    "grpc-encoding",
    "grpc-timeout",
    "host",
    "te",
    "transfer-encoding",
];
/// The method by which gRPC services say how they are.
const HEALTH: &str = "/grpc.health.v1.Health/Check";
/// How long a check of health may take.
const HEALTH_LIMIT: Duration = Duration::from_secs(2);
/// The status of a service that serves.
const SERVING: i32 = 1;

/// A security hook behind a gRPC address.
pub struct GrpcHook {
    card: HookCard,
    protocol: Protocol,
    shown: Shown,
    service: Service,
    batches: Option<Batches>,
}

/// `HealthCheckRequest` of `grpc.health.v1`: all services together.
#[derive(Clone, PartialEq, Eq, Message)]
struct HealthRequest {
    #[prost(string, tag = "1")]
    service: String,
}

/// `HealthCheckResponse` of `grpc.health.v1`.
#[derive(Clone, PartialEq, Eq, Message)]
struct HealthResponse {
    #[prost(int32, tag = "1")]
    status: i32,
}

impl GrpcHook {
    /// Makes a gRPC hook; nothing is sent yet.
    pub fn new(
        id: impl Into<Arc<str>>,
        priority: u32,
        runs_on: Phases,
        settings: &GrpcSettings,
    ) -> Result<Self, Error> {
        let config = &settings.config;
        check_phases(settings.protocol, runs_on)?;
        let (scheme, authority) = address(&settings.endpoint)?;
        if config.tls.is_some() && scheme != Scheme::HTTPS {
            return Err(Error::PlainAddress(settings.endpoint.clone()));
        }
        let bounds = Bounds {
            retries: config.connect_retries,
            answer: config.max_answer_size.as_usize().saturating_add(PREFIX),
        };
        let description = format!("asks the gRPC service at {}", authority.host());
        let service = Service {
            link: Link::new(Wire::Two, config.tls.as_ref(), bounds)?,
            scheme,
            authority,
            headers: headers(&settings.headers, RESERVED)?,
        };
        Ok(Self {
            card: HookCard {
                id: id.into(),
                name: match settings.protocol {
                    Protocol::Mcpproxy => "gRPC service",
                    Protocol::ExtAuthz => "External authorization",
                    Protocol::ExtMcp => "External MCP policy",
                },
                description,
                priority,
                runs_on,
            },
            protocol: settings.protocol,
            shown: Shown {
                requests: config.check_request_body,
                responses: config.check_response_body,
                limit: config.max_body_size.as_usize(),
            },
            batches: batches(settings, &service)?,
            service,
        })
    }

    async fn ask_own(
        &self,
        context: &SecurityContext,
        subject: Subject<'_>,
    ) -> Result<SecurityDecision, HookFault> {
        let question = own::question(&self.card.id, context, subject, self.shown)?;
        if let Some(batches) = &self.batches {
            batches.push(question)?;
            return Ok(SecurityDecision::Allow);
        }
        let answered = self.service.call(own::INSPECT, &question, context.timeout);
        own::answer(answered.await?, subject.into())
    }

    /// What the protocol cannot carry was refused when the hook was made.
    async fn ask_authz(
        &self,
        context: &SecurityContext,
        subject: Subject<'_>,
    ) -> Result<SecurityDecision, HookFault> {
        let Subject::Request(request) = subject else {
            return Ok(SecurityDecision::Allow);
        };
        let question = authz::question(&self.card.id, context, request, self.shown)?;
        let answered = self.service.call(authz::CHECK, &question, context.timeout);
        authz::answer(answered.await?)
    }

    async fn ask_ext_mcp(
        &self,
        context: &SecurityContext,
        subject: Subject<'_>,
    ) -> Result<SecurityDecision, HookFault> {
        let limit = context.timeout;
        let answered = match subject {
            Subject::Request(request) => {
                let question = ext_mcp::request(context, request, self.shown)?;
                self.service.call(ext_mcp::REQUEST, &question, limit).await
            }
            Subject::Response(request, response) if response.kind != ResponseKind::Error => {
                let question = ext_mcp::response(context, request, response, self.shown)?;
                self.service.call(ext_mcp::RESPONSE, &question, limit).await
            }
            Subject::Response(..) | Subject::Message(_) => return Ok(SecurityDecision::Allow),
        };
        ext_mcp::answer(answered?, subject.into())
    }

    /// Asks as gRPC has it; a service that does not know the question is at least there.
    async fn serving(&self) -> Result<HealthStatus, HookFault> {
        let question = HealthRequest::default();
        let answered = self.service.call(HEALTH, &question, HEALTH_LIMIT).await;
        let (healthy, said) = match answered {
            Ok(HealthResponse { status: SERVING }) => (true, "it serves".to_owned()),
            Ok(HealthResponse { status }) => (false, format!("its status is {status}")),
            Err(HookFault::Garbage(why)) if why == UNKNOWN_METHOD => {
                (true, "it answers".to_owned())
            }
            Err(fault) => return Err(fault),
        };
        let lost = self.batches.as_ref().map_or(0, Batches::lost);
        let message = match lost {
            0 => said,
            lost => format!("{said}; {lost} events were lost"),
        };
        Ok(HealthStatus { healthy, message })
    }
}

impl OutsideHook for GrpcHook {
    fn card(&self) -> &HookCard {
        &self.card
    }

    fn ask<'a>(
        &'a self,
        context: &'a SecurityContext,
        subject: Subject<'a>,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        match self.protocol {
            Protocol::Mcpproxy => Box::pin(self.ask_own(context, subject)),
            Protocol::ExtAuthz => Box::pin(self.ask_authz(context, subject)),
            Protocol::ExtMcp => Box::pin(self.ask_ext_mcp(context, subject)),
        }
    }

    fn health(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(self.serving())
    }
}

impl GrpcSettings {
    /// Says whether the protocol can carry what the hook is to look at.
    pub fn check(&self, runs_on: Phases) -> Result<(), Error> {
        check_phases(self.protocol, runs_on)
    }
}

/// Refuses what the protocol could not carry: a hook that is not asked must not look as if it were.
fn check_phases(protocol: Protocol, runs_on: Phases) -> Result<(), Error> {
    let asked = [
        (runs_on.response, "responses"),
        (runs_on.listing, "listings"),
        (runs_on.notification, "notifications"),
        (runs_on.reverse, "requests of upstreams"),
    ];
    let carried = match protocol {
        Protocol::Mcpproxy => 4,
        Protocol::ExtMcp => 2,
        Protocol::ExtAuthz => 0,
    };
    match asked.into_iter().skip(carried).find(|(asked, _)| *asked) {
        Some((_, phase)) => Err(Error::Phase {
            protocol: protocol.name(),
            phase,
        }),
        None => Ok(()),
    }
}

fn batches(settings: &GrpcSettings, service: &Service) -> Result<Option<Batches>, Error> {
    let Some(batch) = &settings.config.batch else {
        return Ok(None);
    };
    if settings.protocol != Protocol::Mcpproxy {
        return Err(Error::Batch);
    }
    if batch.max_events == 0 || batch.max_waiting == 0 {
        return Err(Error::EmptyBatch);
    }
    Ok(Some(Batches::new(batch.clone(), service.clone())))
}

/// Reads `grpc://host:port` or, with TLS, `grpcs://host:port`.
fn address(endpoint: &str) -> Result<(Scheme, Authority), Error> {
    without_credentials(endpoint)?;
    let wrong = || Error::Address(endpoint.to_owned(), "`grpc://` or `grpcs://`");
    let (scheme, rest) = endpoint.split_once("://").ok_or_else(wrong)?;
    let scheme = match scheme {
        "grpc" => Scheme::HTTP,
        "grpcs" => Scheme::HTTPS,
        _ => return Err(wrong()),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let authority: Authority = rest.parse().map_err(|_| wrong())?;
    Ok((scheme, authority))
}

/// Leaves out the metadata, which holds credentials.
impl fmt::Debug for GrpcHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcHook")
            .field("card", &self.card)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}
