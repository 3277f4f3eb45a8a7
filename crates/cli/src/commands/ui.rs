//! `ui`: a link that opens the dashboard once.
//!
//! The link opens what the socket allows. With the API key in the environment it opens everything:
//! an agent that runs this command must not come to answer for its user by that alone.

use std::net::SocketAddr;

use anyhow::Result;
use http::Method;
use serde_json::Value;

use crate::args::{Format, Global};
use crate::commands::client::{request, request_page};
use crate::commands::key::from_environment;
use crate::exit::{Exit, failed};
use crate::output;

/// Prints the link.
pub(crate) fn run(global: &Global) -> Result<Exit> {
    let key = from_environment();
    let made = request_page(global, "/ui/link", key.as_deref())?;
    let status = request(global, Method::GET, "/status", None)?;
    let text = |value: &Value, name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let (Some(path), Some(listen)) = (text(&made, "path"), text(&status, "listen")) else {
        return Err(failed("the gateway made no link", None));
    };
    let scheme = text(&status, "scheme").unwrap_or_else(|| "http".to_owned());
    let link = format!("{scheme}://{}{path}", reachable(&listen));
    match global.format() {
        Format::Table => output::line(&link)?,
        form => output::value(form, &serde_json::json!({ "url": link }))?,
    }
    output::note("it can be used once, within two minutes");
    if key.is_none() {
        output::note("to approve from there, type the API key there or set MCPPROXY_API_KEY here");
    }
    Ok(Exit::Fine)
}

/// An address that a program on this machine can open.
pub(crate) fn reachable(listen: &str) -> String {
    match listen.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        _ => listen.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_made_local() {
        let check = |listen: &str, expect: &str| assert_eq!(reachable(listen), expect);
        check("127.0.0.1:8080", "127.0.0.1:8080");
        check("0.0.0.0:8080", "localhost:8080");
        check("[::]:8080", "localhost:8080");
        check("[::1]:8080", "[::1]:8080");
    }
}
