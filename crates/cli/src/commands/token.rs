//! `token`: the tokens that agents authenticate with.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::{Global, Token};
use crate::commands::client::request;
use crate::exit::Exit;
use crate::output;

/// Makes, lists or revokes tokens.
pub(crate) fn run(global: &Global, command: Token) -> Result<Exit> {
    match command {
        Token::Create { name, upstreams } => {
            let upstreams = if upstreams.is_empty() {
                Value::Null
            } else {
                json!(upstreams)
            };
            let body = json!({ "name": name, "upstreams": upstreams });
            let made = request(global, Method::POST, "/tokens", Some(&body))?;
            output::note("this is the only time that the token is shown");
            output::line(
                made.get("token")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            )?;
        }
        Token::List => {
            let tokens = request(global, Method::GET, "/tokens", None)?;
            let tokens = tokens.as_array().cloned().unwrap_or_default();
            output::rows(global.format(), &["name", "created", "scope"], &tokens)?;
        }
        Token::Revoke { name } => {
            request(global, Method::DELETE, &format!("/tokens/{name}"), None)?;
            output::note(&format!("revoked `{name}`"));
        }
    }
    Ok(Exit::Fine)
}
