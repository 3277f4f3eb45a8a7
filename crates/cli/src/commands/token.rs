//! `token`: the tokens that agents authenticate with.

use anyhow::Result;
use http::Method;
use mcpproxy_core::Wall;
use serde_json::{Value, json};

use crate::args::{Format, Global, Token};
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
            let mut tokens = tokens.as_array().cloned().unwrap_or_default();
            if global.format() == Format::Table {
                tokens = tokens.iter().map(readable).collect();
            }
            output::rows(global.format(), &["name", "created", "upstreams"], &tokens)?;
        }
        Token::Revoke { name } => {
            request(global, Method::DELETE, &format!("/tokens/{name}"), None)?;
            output::note(&format!("revoked `{name}`"));
        }
    }
    Ok(Exit::Fine)
}

/// Turns a token into what a person wants to read of it.
fn readable(token: &Value) -> Value {
    let created = token.get("created").and_then(Value::as_u64);
    let upstreams = token.pointer("/scope/upstreams").and_then(Value::as_array);
    let upstreams = upstreams.map_or_else(
        || "all".to_owned(),
        |names| {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            names.join(", ")
        },
    );
    json!({
        "name": token.get("name"),
        "created": created.map(|created| Wall(created).rfc3339()),
        "upstreams": upstreams,
    })
}
