//! What the gateway itself may be told in the configuration, with defaults.
//!
//! Reading files and naming places in them is the `config` crate's work; upstreams have their own
//! settings.

mod live;
mod receipts;
mod telemetry;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_core::Secret;
pub use mcpproxy_upstream::settings::{ByteSize, Span};

pub use self::live::{LiveSettings, OnLoss};
pub use self::receipts::ReceiptSettings;
pub use self::telemetry::TelemetrySettings;
pub use crate::oauth::OauthSettings;
pub use crate::tls::TlsSettings;

/// Everything that stands at the top level of the configuration beside upstreams and security.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address and port of the listener.
    pub listen: String,
    /// Key that administers the gateway; one is made at the first start where none is given.
    #[schemars(with = "Option<String>")]
    pub api_key: Option<Secret>,
    /// Folder for state, socket and user configuration; `~` is the home folder.
    pub data_dir: PathBuf,
    /// Address of the PostgreSQL database that keeps records and baselines, in the place of the
    /// data folder.
    #[schemars(with = "Option<String>")]
    pub store: Option<Secret>,
    /// Where several gateways share what they know of what goes on; each for itself where nothing is
    /// said.
    pub live: Option<LiveSettings>,
    /// What `/mcp` shows to agents.
    pub routing_mode: RoutingMode,
    /// Whether `/mcp` asks for a key; without it only beyond loopback.
    pub require_auth: Option<bool>,
    /// TLS on the listener, and whose certificates name callers; plain HTTP where nothing is said.
    pub tls: Option<TlsSettings>,
    /// Whose access tokens open the MCP endpoints; only keys and agent tokens where nothing is said.
    pub oauth: Option<OauthSettings>,
    /// Names accepted in `Host` beside the loopback ones and the address listened on.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call; none by default.
    pub allowed_origins: Vec<String>,
    /// Whether agents see the tools that manage upstreams.
    pub management_tools: bool,
    /// Bytes of a tool's answer after which it is cut and cached in pages; 0 never cuts.
    pub tool_response_limit: usize,
    /// Instructions given to agents in place of our own.
    pub instructions: Option<String>,
    /// Bounds on what callers and upstreams may use.
    pub limits: Limits,
    /// What is logged to standard error, and how.
    pub log: LogSettings,
    /// The activity log.
    pub activity: ActivitySettings,
    /// Signed receipts of every call.
    pub receipts: ReceiptSettings,
    /// Traces and metrics for a collector.
    pub telemetry: TelemetrySettings,
}

/// What `/mcp` shows to agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoutingMode {
    /// Tools to search tools and to call what was found.
    #[default]
    Call,
    /// Every tool of every upstream, as `upstream__tool`.
    All,
    /// The tools of the only upstream, names unchanged.
    Single,
}

/// Bounds on what callers and upstreams may use.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Largest body of a request.
    pub body_bytes: ByteSize,
    /// Largest answer of an upstream.
    pub response_bytes: ByteSize,
    /// Largest head of a request.
    pub header_bytes: ByteSize,
    /// Deepest nesting of a message.
    pub nesting: usize,
    /// Connections at once.
    pub connections: usize,
    /// Sessions at once.
    pub sessions: usize,
    /// Time without a request after which a session ends.
    pub session_idle: Span,
    /// Time within which the head of a request arrives.
    pub header_timeout: Span,
    /// Time within which the body of a request arrives.
    pub body_timeout: Span,
    /// Time within which a downstream takes some of what is written to it.
    pub write_timeout: Span,
    /// Deadline of a call, from its arrival to its answer.
    pub call_timeout: Span,
    /// Calls at once.
    pub calls_in_flight: usize,
    /// Calls at once of one caller.
    pub calls_per_caller: usize,
    /// How long a parked call waits for input.
    pub pending_input: Span,
    /// How long calls in flight may go on after a stop was asked for.
    pub shutdown_grace: Span,
    /// Requests that one caller may make of the REST interface within a minute; 0 for any number.
    pub api_requests_per_minute: u64,
}

/// What is logged to standard error, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Least weight of an event that is logged.
    pub level: LogLevel,
    /// Form of a line.
    pub format: LogFormat,
}

/// Weight of a logged event.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What looks wrong and went on.
    Warn,
    /// What an operator wants to know.
    #[default]
    Info,
    /// What helps to find a mistake.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// Returns the name used in the configuration, which is also a filter directive.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The activity log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActivitySettings {
    /// Whether calls are recorded.
    pub enabled: bool,
    /// Whether an answer waits until its record is on disk.
    pub durability: Durability,
    /// What happens to calls that cannot be recorded, where `durability` is relaxed.
    pub on_failure: OnFailure,
    /// Whether records keep what was sent and what came back: masked, and cut at 4 KiB each.
    pub bodies: bool,
    /// Size after which the oldest records are dropped.
    pub max_bytes: ByteSize,
    /// Number after which the oldest records are dropped.
    pub max_records: Option<u64>,
    /// Days after which records are dropped.
    pub max_age_days: Option<u32>,
}

/// Whether an answer waits until its record is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The record is queued.
    #[default]
    Relaxed,
    /// The record is on disk before the answer leaves.
    Strict,
}

/// What happens to calls that cannot be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// They go on, and `status` and `doctor` say that records are lost.
    #[default]
    Open,
    /// They are refused.
    Closed,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".to_owned(),
            api_key: None,
            data_dir: PathBuf::from("~/.mcpproxy"),
            store: None,
            live: None,
            routing_mode: RoutingMode::default(),
            require_auth: None,
            tls: None,
            oauth: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            management_tools: true,
            tool_response_limit: 0,
            instructions: None,
            limits: Limits::default(),
            log: LogSettings::default(),
            activity: ActivitySettings::default(),
            receipts: ReceiptSettings::default(),
            telemetry: TelemetrySettings::default(),
        }
    }
}

impl Settings {
    /// Tells whether everybody must say who they are, where `require_auth` does not say: whoever
    /// names an issuer or an authority wants to know who comes, also from this machine.
    pub fn asks_who(&self) -> bool {
        let callers = self.tls.as_ref().and_then(|tls| tls.callers.as_ref());
        self.oauth.is_some() || callers.is_some()
    }

    /// Returns the scheme of the listener's address.
    pub const fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: ByteSize::from_mib(16),
            response_bytes: ByteSize::from_mib(64),
            header_bytes: ByteSize::from_kib(64),
            nesting: 128,
            connections: 4096,
            sessions: 20_000,
            session_idle: Span::from_secs(30 * 60),
            header_timeout: Span::from_secs(10),
            body_timeout: Span::from_secs(30),
            write_timeout: Span::from_secs(60),
            call_timeout: Span::from_secs(5 * 60),
            calls_in_flight: 1024,
            calls_per_caller: 128,
            pending_input: Span::from_secs(10 * 60),
            shutdown_grace: Span::from_secs(10),
            api_requests_per_minute: 6000,
        }
    }
}

impl Default for ActivitySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            durability: Durability::default(),
            on_failure: OnFailure::default(),
            bodies: false,
            max_bytes: ByteSize::from_mib(256),
            max_records: None,
            max_age_days: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_map_gives_the_defaults() {
        let settings: Settings = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, Settings::default());
        assert_eq!(settings.limits.body_bytes.to_string(), "16MiB");
        assert_eq!(settings.limits.call_timeout.to_string(), "5m");
        assert_eq!(settings.log.level.as_str(), "info");
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let settings = Settings {
            tool_response_limit: 20_000,
            ..Settings::default()
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }
}
