//! The tokens that agents and auditors authenticate with.

use axum::extract::State as AxumState;
use axum::response::Response;
use mcpproxy_control::TokenScope;
use mcpproxy_core::{Door, Operation, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::taken::{At, Body};
use super::{Done, Shared, Who, done, refused};

pub(super) async fn tokens(AxumState(gateway): Shared, who: Who) -> Response {
    match gateway.access.control().list_tokens(&who) {
        Ok(tokens) => done(&tokens),
        Err(refusal) => refused(&refusal),
    }
}

/// A token and what it is for. A limit that is misspelled must not be passed over, and `flatten` would
/// do that: the members of [`TokenScope`] are repeated.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(
    description = "A token and what it is for.",
    extend("anyOf" = to_audit_or_to_call())
)]
pub(super) struct NewToken {
    /// Its name.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]{1,64}$"))]
    name: String,
    /// The upstreams that may be called; all where nothing is said.
    #[schemars(
        length(min = 1, max = 256),
        inner(regex(pattern = r"^[A-Za-z0-9_.-]{1,64}$"))
    )]
    upstreams: Option<Vec<String>>,
    /// The operations that may be carried out; all where nothing is said.
    #[schemars(length(min = 1))]
    operations: Option<Vec<Operation>>,
    /// When the token ends, in milliseconds since the beginning of 1970 (UTC); never where nothing is
    /// said.
    #[serde(default, deserialize_with = "mcpproxy_core::whole")]
    #[schemars(range(max = u64::MAX))]
    expires: Option<u64>,
    /// Whether it is for looking at the audit. Such a token calls nothing.
    #[serde(default)]
    audit: bool,
}

/// Says in a schema that a token for the audit names nothing that it could call.
fn to_audit_or_to_call() -> Value {
    json!([
        { "properties": { "audit": { "const": false } } },
        { "properties": { "upstreams": { "type": "null" }, "operations": { "type": "null" } } },
    ])
}

impl NewToken {
    fn take(self) -> (String, TokenScope) {
        let scope = TokenScope {
            upstreams: self.upstreams,
            operations: self.operations,
            expires: self.expires.map(Wall),
            audit: self.audit,
        };
        (self.name, scope)
    }
}

/// A token that was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct MadeToken {
    /// Its name.
    name: String,
    /// The token itself, which is shown this once.
    token: String,
}

pub(super) async fn create_token(
    AxumState(gateway): Shared,
    who: Who,
    Body(new): Body<NewToken>,
) -> Response {
    let control = gateway.access.control();
    let (name, scope) = new.take();
    match control.create_token(&who, &name, scope) {
        Ok(new) => {
            gateway.note_change(&new.change, Door::Api).await;
            gateway.share_tokens().await;
            done(&MadeToken {
                name: new.info.name,
                token: new.secret.expose().to_owned(),
            })
        }
        Err(refusal) => refused(&refusal),
    }
}

pub(super) async fn revoke_token(
    AxumState(gateway): Shared,
    who: Who,
    At(name): At<String>,
) -> Response {
    match gateway.access.control().revoke_token(&who, &name) {
        Ok(change) => {
            gateway.expel();
            gateway.note_change(&change, Door::Api).await;
            gateway.share_tokens().await;
            done(&Done::new(&change))
        }
        Err(refusal) => refused(&refusal),
    }
}
