//! How an upstream is logged in to, and which keys it may show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_core::Secret;

/// How an upstream is logged in to (OAuth 2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthSettings {
    /// How tokens are asked for.
    pub grant: Grant,
    /// The id under which the authorization server knows us; without it we register ourselves.
    pub client_id: Option<String>,
    /// The secret that goes with the id.
    #[schemars(with = "Option<String>")]
    pub client_secret: Option<Secret>,
    /// What is asked for; without it what the upstream says it needs.
    pub scopes: Vec<String>,
    /// The only authorization server that is believed; without it the one that the upstream names.
    pub issuer: Option<String>,
    /// The port on this machine to which a login comes back; without it a free one.
    pub redirect_port: Option<u16>,
}

/// How tokens are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// A person logs in with a browser, once.
    #[default]
    AuthorizationCode,
    /// The gateway shows its own id and secret; nobody needs to be there.
    ClientCredentials,
}

/// Which keys an upstream may show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The keys, each as `sha256/` and the base64 of its hash; one, or several to change over.
    pub pin: Pins,
    /// Whether the pin stands in for the chain of certificates, as for one that signed itself.
    pub self_signed: bool,
}

/// One pin or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Pins {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Default for Pins {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Pins {
    /// Returns all of them.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(pin) => std::slice::from_ref(pin),
            Self::Several(pins) => pins,
        }
    }
}
