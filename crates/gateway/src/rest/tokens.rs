//! The tokens that agents and auditors authenticate with.

use axum::extract::State as AxumState;
use axum::response::Response;
use mcpproxy_control::TokenScope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::taken::{At, Body};
use super::{Shared, Who, done, refused};

pub(super) async fn tokens(AxumState(gateway): Shared, who: Who) -> Response {
    match gateway.access.control().list_tokens(&who) {
        Ok(tokens) => done(serde_json::to_value(tokens).unwrap_or_default()),
        Err(refusal) => refused(&refusal),
    }
}

/// A token and what it is for.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewToken {
    /// Its name.
    name: String,
    #[serde(flatten)]
    scope: TokenScope,
}

pub(super) async fn create_token(
    AxumState(gateway): Shared,
    who: Who,
    Body(new): Body<NewToken>,
) -> Response {
    let control = gateway.access.control();
    match control.create_token(&who, &new.name, new.scope) {
        Ok(new) => {
            gateway.share_tokens().await;
            done(json!({ "name": new.info.name, "token": new.secret.expose() }))
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
            gateway.share_tokens().await;
            done(json!({ "done": change.to_string() }))
        }
        Err(refusal) => refused(&refusal),
    }
}
