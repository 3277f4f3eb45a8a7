//! `token`: the tokens that agents authenticate with.

use anyhow::Result;
use http::Method;
use mcpproxy_core::{Clock as _, SystemClock, Wall};
use serde_json::{Value, json};

use crate::args::{Format, Global, Token};
use crate::commands::client::request;
use crate::exit::Exit;
use crate::output;

/// Makes, lists or revokes tokens.
pub(crate) fn run(global: &Global, command: Token) -> Result<Exit> {
    match command {
        Token::Create {
            name,
            upstreams,
            operations,
            audit,
            expires_in,
        } => {
            let now = SystemClock::start().wall();
            let expires = expires_in.map(|span| now.after(span.into()));
            let body = json!({
                "name": name,
                "upstreams": (!upstreams.is_empty()).then_some(upstreams),
                "operations": (!operations.is_empty()).then_some(operations),
                "expires": expires,
                "audit": audit,
            });
            let made = request(global, Method::POST, "/tokens", Some(&body))?;
            output::note("this is the only time that the token is shown");
            let token = made.get("token").and_then(Value::as_str);
            match global.format() {
                Format::Table => output::line(token.unwrap_or_default())?,
                form => output::rows(form, &["name", "token"], std::slice::from_ref(&made))?,
            }
        }
        Token::List => {
            let tokens = request(global, Method::GET, "/tokens", None)?;
            let mut tokens = tokens.as_array().cloned().unwrap_or_default();
            if global.format() == Format::Table {
                tokens = tokens.iter().map(readable).collect();
            }
            let shown = ["name", "created", "expires", "upstreams", "operations"];
            output::rows(global.format(), &shown, &tokens)?;
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
    let time = |path: &str| {
        let millis = token.pointer(path).and_then(Value::as_u64)?;
        Some(Wall(millis).rfc3339())
    };
    let names = |path: &str| match token.pointer(path).and_then(Value::as_array) {
        Some(names) => {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            names.join(", ")
        }
        None => "all".to_owned(),
    };
    let audits = token.pointer("/scope/audit") == Some(&Value::Bool(true));
    let names = |path: &str| {
        if audits {
            "none, audit only".to_owned()
        } else {
            names(path)
        }
    };
    json!({
        "name": token.get("name"),
        "created": time("/created"),
        "expires": time("/scope/expires").unwrap_or_else(|| "never".to_owned()),
        "upstreams": names("/scope/upstreams"),
        "operations": names("/scope/operations"),
    })
}
