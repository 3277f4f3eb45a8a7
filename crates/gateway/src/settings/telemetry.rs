//! Where traces and metrics go.

use std::collections::BTreeMap;

use mcpproxy_core::{Secret, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Traces and metrics for a collector, over OTLP/HTTP.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetrySettings {
    /// The collector, as `http://localhost:4318`; nothing is sent where there is none.
    pub otlp_endpoint: Option<String>,
    /// Headers of every request to it.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, Secret>,
    /// The name under which the collector knows this gateway.
    pub service_name: String,
    /// Whether calls are traced.
    pub traces: bool,
    /// Whether what is counted is sent.
    pub metrics: bool,
    /// How often what is counted is sent.
    pub interval: Span,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            headers: BTreeMap::new(),
            service_name: "mcpproxy".to_owned(),
            traces: true,
            metrics: true,
            interval: Span::from_secs(60),
        }
    }
}
