//! What a webhook and a gRPC hook may be told in the configuration.
//!
//! The parts that every hook has (id, priority, phases, timeout, failure mode) are not here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_core::{ByteSize, Secret, Span};

/// One webhook.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Address that is asked, `http://` or `https://`.
    pub url: String,
    /// HTTP method.
    #[serde(default)]
    pub method: Method,
    /// Headers sent with every question.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, Secret>,
    /// What else it may be told.
    #[serde(default)]
    pub config: WebhookConfig,
}

/// What stands under `config` of a webhook.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookConfig {
    /// Keys that sign each question; two while one replaces the other.
    #[schemars(with = "Vec<String>")]
    pub signing_keys: Vec<Secret>,
    /// Whether parameters of requests are sent.
    pub check_request_body: bool,
    /// Whether results and errors are sent.
    pub check_response_body: bool,
    /// Largest message that is sent.
    pub max_body_size: ByteSize,
    /// Largest answer that is read.
    pub max_answer_size: ByteSize,
    /// How often a connection that could not be opened is tried again.
    pub connect_retries: u32,
    /// Address that says by its status whether the service is well.
    pub health_url: Option<String>,
    /// Certificates, where the usual ones do not do.
    pub tls: Option<TlsSettings>,
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            signing_keys: Vec::new(),
            check_request_body: true,
            check_response_body: true,
            max_body_size: BODY_LIMIT,
            max_answer_size: ANSWER_LIMIT,
            connect_retries: 1,
            health_url: None,
            tls: None,
        }
    }
}

/// One gRPC hook.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrpcSettings {
    /// Address that is asked, `grpc://` or, with TLS, `grpcs://`.
    pub endpoint: String,
    /// What is spoken there.
    #[serde(default)]
    pub protocol: Protocol,
    /// Metadata sent with every question.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, Secret>,
    /// What else it may be told.
    #[serde(default)]
    pub config: GrpcConfig,
}

/// What stands under `config` of a gRPC hook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrpcConfig {
    /// Whether parameters of requests are sent.
    pub check_request_body: bool,
    /// Whether results and errors are sent.
    pub check_response_body: bool,
    /// Largest message that is sent.
    pub max_body_size: ByteSize,
    /// Largest answer that is read.
    pub max_answer_size: ByteSize,
    /// How often a connection that could not be opened is tried again.
    pub connect_retries: u32,
    /// Sends events in batches and waits for no decision; only for protocol `mcpproxy`.
    pub batch: Option<BatchSettings>,
    /// Certificates, where the usual ones do not do.
    pub tls: Option<TlsSettings>,
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self {
            check_request_body: true,
            check_response_body: true,
            max_body_size: BODY_LIMIT,
            max_answer_size: ANSWER_LIMIT,
            connect_retries: 1,
            batch: None,
            tls: None,
        }
    }
}

/// How events are gathered into batches.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BatchSettings {
    /// Events in a batch at most.
    pub max_events: usize,
    /// How long the first event of a batch waits for others.
    pub max_wait: Span,
    /// Bytes of events after which a batch is not added to.
    pub max_batch_size: ByteSize,
    /// Events at most that wait to be sent; more are lost.
    pub max_waiting: usize,
    /// Bytes of events at most that wait to be sent.
    pub max_waiting_size: ByteSize,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            max_events: 64,
            max_wait: Span::from_millis(200),
            max_batch_size: ByteSize::from_mib(1),
            max_waiting: 4096,
            max_waiting_size: ByteSize::from_mib(16),
        }
    }
}

/// Certificates towards a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// PEM file with the only roots that are trusted; without it those of the public web.
    pub roots: Option<PathBuf>,
    /// PEM file with our certificate, where the service wants one.
    pub certificate: Option<PathBuf>,
    /// PEM file with the key of our certificate.
    pub key: Option<PathBuf>,
}

/// HTTP method of a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// The usual one.
    #[default]
    Post,
    /// For services that insist.
    Put,
}

/// What is spoken with a gRPC service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Our own, which carries everything.
    #[default]
    Mcpproxy,
    /// External authorization as Envoy speaks it, version 3.
    ExtAuthz,
    /// Policy services as agentgateway speaks with them.
    ExtMcp,
}

impl Protocol {
    /// Returns the name that the configuration has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mcpproxy => "mcpproxy",
            Self::ExtAuthz => "ext_authz",
            Self::ExtMcp => "ext_mcp",
        }
    }
}

const BODY_LIMIT: ByteSize = ByteSize::from_mib(1);
const ANSWER_LIMIT: ByteSize = ByteSize::from_mib(1);

/// Leaves out header values and keys, which are credentials.
impl fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSettings")
            .field("method", &self.method)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WebhookConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookConfig")
            .field("signing_keys", &self.signing_keys.len())
            .field("max_body_size", &self.max_body_size)
            .field("max_answer_size", &self.max_answer_size)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GrpcSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcSettings")
            .field("protocol", &self.protocol)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_refused() {
        let read = serde_json::from_str::<GrpcConfig>(r#"{"max_bodysize":1}"#);
        assert!(read.unwrap_err().to_string().contains("max_bodysize"));
        let read = serde_json::from_str::<BatchSettings>(r#"{"max_wait":"2 potatoes"}"#);
        assert!(read.unwrap_err().to_string().contains("is not a duration"));
    }
}
