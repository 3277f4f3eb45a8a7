//! What one upstream may be told in the configuration, with defaults and the checks that span
//! several keys.
//!
//! Reading files, environment references and places in the text are not here: the `config` crate
//! does that, and whoever takes an upstream over another door (REST, management tools) uses the
//! same `check`.

mod check;
mod filter;
mod login;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_core::{Secret, Trust};

pub use self::check::{Fault, check_name};
pub use self::filter::ToolFilter;
pub use self::login::{Grant, OAuthSettings, Pins, TlsSettings};
pub use mcpproxy_core::{ByteSize, InvalidUnit, Span};

/// One upstream: how it is reached, who shares it, and what bounds it.
#[derive(Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamSettings {
    /// Program to start; exactly one of `command` and `url` is given.
    pub command: Option<String>,
    /// Arguments of the program, passed on without a shell.
    pub args: Vec<String>,
    /// Environment variables set for the program.
    #[schemars(with = "BTreeMap<String, String>")]
    pub env: BTreeMap<String, Secret>,
    /// Names of variables passed on from our own environment beside the minimal set.
    pub inherit_env: Vec<String>,
    /// Folder in which the program is started.
    #[serde(alias = "cwd")]
    pub working_dir: Option<PathBuf>,
    /// Address of an upstream that already runs.
    pub url: Option<String>,
    /// Headers sent with every request to `url`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, Secret>,
    /// How it is logged in to; without it as it says itself, once somebody logs in.
    pub oauth: Option<OAuthSettings>,
    /// Which keys it may show, beside those that authorities vouch for.
    pub tls: Option<TlsSettings>,
    /// Wire between us and the upstream.
    #[serde(alias = "type", alias = "protocol")]
    pub transport: Transport,
    /// Whether the upstream is used at all; `disabled: true` in a file means the opposite.
    pub enabled: bool,
    /// Who shares an instance; without it stdio is shared and HTTP is per session.
    pub scope: Option<Scope>,
    /// Era of the protocol spoken with the upstream.
    pub era: EraChoice,
    /// When the upstream is started.
    pub start: Start,
    /// How long a start may take until the upstream counts as failed.
    pub start_timeout: Span,
    /// Deadline of a call to this upstream; without it `limits.call_timeout` applies.
    pub call_timeout: Option<Span>,
    /// How a stopped upstream is started again.
    pub restart: RestartSettings,
    /// Instances at most, where instances are per principal or session.
    pub max_instances: u32,
    /// Requests at most that wait for an answer of one instance.
    pub max_in_flight: u32,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// How much is taken on trust of what it offers; without it
    /// `security.tool_quarantine.trust` applies.
    #[schemars(with = "Option<TrustName>")]
    pub trust: Option<Trust>,
    /// How long the program may take to end by itself.
    pub shutdown_grace: Span,
    /// Lines of standard error that are kept.
    pub stderr_lines: usize,
}

/// The names of [`mcpproxy_core::Trust`] for the schema; `core` knows no schemas.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrustName {
    /// What is new may be used unless it is poisoned.
    Auto,
    /// What is there at first may be used if it scans clean; what comes later waits.
    Scan,
    /// Everything waits for a person, and so does every change.
    Manual,
}

/// Wire between us and an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Standard input and output where there is a command, Streamable HTTP where there is an
    /// address.
    #[default]
    Auto,
    /// A child process, one message per line.
    Stdio,
    /// Streamable HTTP.
    #[serde(
        alias = "streamable-http",
        alias = "streamable_http",
        alias = "streamableHttp"
    )]
    Http,
    /// The older HTTP+SSE transport.
    Sse,
}

/// Who shares one instance of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All callers.
    Shared,
    /// All sessions of one principal.
    Principal,
    /// One session.
    Session,
}

/// Era of the protocol spoken with an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EraChoice {
    /// Found out when the upstream is reached.
    #[default]
    Auto,
    /// Versions up to 2025-11-25, which open with `initialize`.
    Legacy,
    /// 2026-07-28 and later, stateless.
    Modern,
}

/// When an upstream is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// With the gateway.
    #[default]
    Eager,
    /// At the first call that needs it.
    Lazy,
}

/// How a stopped upstream is started again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RestartSettings {
    /// Wait before the first new start.
    pub backoff_min: Span,
    /// Longest wait between two starts.
    pub backoff_max: Span,
    /// Starts in a row at most; without it there is no end.
    pub max_attempts: Option<u32>,
}

impl Default for RestartSettings {
    fn default() -> Self {
        Self {
            backoff_min: Span::from_millis(500),
            backoff_max: Span::from_secs(60),
            max_attempts: None,
        }
    }
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit_env: Vec::new(),
            working_dir: None,
            url: None,
            headers: BTreeMap::new(),
            oauth: None,
            tls: None,
            transport: Transport::default(),
            enabled: true,
            scope: None,
            era: EraChoice::default(),
            start: Start::default(),
            start_timeout: Span::from_secs(30),
            call_timeout: None,
            restart: RestartSettings::default(),
            max_instances: 32,
            max_in_flight: 256,
            tools: ToolFilter::default(),
            trust: None,
            shutdown_grace: Span::from_secs(3),
            stderr_lines: 500,
        }
    }
}

impl UpstreamSettings {
    /// Returns the transport in use, never [`Transport::Auto`] for checked settings.
    pub fn effective_transport(&self) -> Transport {
        match self.transport {
            Transport::Auto if self.command.is_some() => Transport::Stdio,
            Transport::Auto if self.url.is_some() => Transport::Http,
            chosen => chosen,
        }
    }

    /// Returns who shares an instance: what was chosen, else by transport.
    pub fn effective_scope(&self) -> Scope {
        self.scope.unwrap_or(match self.effective_transport() {
            Transport::Auto | Transport::Stdio => Scope::Shared,
            Transport::Http | Transport::Sse => Scope::Session,
        })
    }
}

/// Prints what identifies the upstream. Arguments and the path of an address often carry
/// credentials, so only their presence is printed.
impl fmt::Debug for UpstreamSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamSettings")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env)
            .field("url", &self.url.as_deref().map(check::origin_of))
            .field("headers", &self.headers)
            .field("oauth", &self.oauth)
            .field("tls", &self.tls)
            .field("transport", &self.transport)
            .field("enabled", &self.enabled)
            .field("scope", &self.scope)
            .field("era", &self.era)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
