//! The tokens that agents and auditors authenticate with.

use axum::extract::State as AxumState;
use axum::response::Response;
use mcpproxy_control::TokenScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::taken::{At, Body};
use super::{Done, Shared, Who, done, refused};

pub(super) async fn tokens(AxumState(gateway): Shared, who: Who) -> Response {
    match gateway.access.control().list_tokens(&who) {
        Ok(tokens) => done(&tokens),
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
    match control.create_token(&who, &new.name, new.scope) {
        Ok(new) => {
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
            gateway.share_tokens().await;
            done(&Done::new(&change))
        }
        Err(refusal) => refused(&refusal),
    }
}
