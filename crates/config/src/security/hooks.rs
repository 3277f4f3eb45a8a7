//! The two sections that are both called hooks: those of agents, and the pipeline every call takes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{self, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use mcpproxy_core::Secret;
use mcpproxy_upstream::settings::Span;

/// Hooks of agents that ask us before they use a tool of their own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentHooks {
    /// Whether they are answered.
    pub enabled: bool,
    /// Whether the agent goes on when it cannot reach us.
    pub fail_open: bool,
    /// Seconds within which a call is linked to the hook that announced it.
    pub correlation_ttl_seconds: u32,
}

impl Default for AgentHooks {
    fn default() -> Self {
        Self {
            enabled: true,
            fail_open: true,
            correlation_ttl_seconds: 5,
        }
    }
}

/// One hook of the pipeline.
#[derive(Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookSettings {
    /// Name of the hook, unique in the list.
    pub id: String,
    /// What kind of hook it is.
    #[serde(rename = "type")]
    pub kind: HookKind,
    /// Whether it runs.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Place in the order; lower runs first.
    #[serde(default = "last")]
    pub priority: u32,
    /// How long it may take.
    #[serde(default)]
    pub timeout: Option<Span>,
    /// What a failure of the hook means for the call.
    #[serde(default)]
    pub failure_mode: FailureMode,
    /// Which way it looks; one or several.
    #[serde(default = "both", deserialize_with = "one_or_several")]
    #[schemars(with = "PhasesDocument")]
    pub runs_on: Vec<HookPhase>,
    /// Address of a gRPC service.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// Address of a webhook.
    #[serde(default)]
    pub url: Option<String>,
    /// File of a WebAssembly component.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// What is spoken with a gRPC service.
    #[serde(default)]
    pub protocol: Option<HookProtocol>,
    /// HTTP method of a webhook.
    #[serde(default)]
    pub method: Option<HookMethod>,
    /// Headers of a webhook, or metadata of a gRPC service.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, Secret>,
    /// What it may see beside the method and target of a message; without it everything but
    /// secrets.
    #[serde(default)]
    pub sees: Option<Vec<HookSight>>,
    /// Questions that it has at once at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_concurrency: Option<u32>,
    /// Questions that it gets in a second at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub rate: Option<u32>,
    /// What the hook itself wants to know.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
}

/// What kind of hook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookKind {
    /// Compiled in.
    Native,
    /// A gRPC service.
    ExternalGrpc,
    /// An HTTP service.
    Webhook,
    /// A WebAssembly component.
    Wasm,
}

/// What is spoken with a gRPC service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookProtocol {
    /// Our own, which carries everything.
    Mcpproxy,
    /// External authorization as Envoy speaks it, version 3.
    ExtAuthz,
    /// Policy services as agentgateway speaks with them.
    ExtMcp,
}

/// What a hook may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookSight {
    /// Arguments and other parameters of requests.
    Arguments,
    /// Results.
    Results,
    /// Who calls, and in which session.
    Identity,
    /// Headers, without credentials.
    Headers,
    /// Secrets and personal data as they are.
    Secrets,
}

/// What a failure of a hook means for the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureMode {
    /// The call goes on.
    FailOpen,
    /// The call is refused.
    #[default]
    FailClosed,
}

/// Which way a hook looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookPhase {
    /// At calls.
    Request,
    /// At answers, listings among them.
    Response,
    /// At listings alone.
    Listing,
    /// At notifications, either way.
    Notification,
    /// At what upstreams ask of the agent.
    Reverse,
}

/// HTTP method of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HookMethod {
    /// The usual one.
    Post,
    /// For services that insist.
    Put,
}

/// What may stand under `security.hooks` in a file.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "describes the file in the schema and is never made"
)]
pub(super) enum HooksDocument {
    Pipeline(Vec<HookSettings>),
    Agent(AgentHooks),
}

/// What may stand under `runs_on` in a file.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "describes the file in the schema and is never made"
)]
enum PhasesDocument {
    One(HookPhase),
    Several(Vec<HookPhase>),
}

fn yes() -> bool {
    true
}

/// Behind every hook that says where it stands.
pub(super) fn last() -> u32 {
    1000
}

fn both() -> Vec<HookPhase> {
    vec![HookPhase::Request, HookPhase::Response]
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HookPhase>, D::Error> {
    struct Phases;

    impl<'de> Visitor<'de> for Phases {
        type Value = Vec<HookPhase>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("`request`, `response`, another phase or a list of them")
        }

        fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
            HookPhase::deserialize(word.into_deserializer()).map(|phase| vec![phase])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut phases = Vec::new();
            while let Some(phase) = items.next_element()? {
                phases.push(phase);
            }
            Ok(phases)
        }
    }

    deserializer.deserialize_any(Phases)
}

/// Leaves out what the hook itself wants to know, which may hold credentials.
impl fmt::Debug for HookSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookSettings")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("enabled", &self.enabled)
            .field("priority", &self.priority)
            .field("failure_mode", &self.failure_mode)
            .field("runs_on", &self.runs_on)
            .finish_non_exhaustive()
    }
}
