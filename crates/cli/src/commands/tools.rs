//! `tools`: what the upstreams offer.

use anyhow::Result;
use http::Method;
use serde_json::Value;

use crate::args::{Format, Global, Scan, Tools};
use crate::commands::client::{encoded, request};
use crate::commands::scan;
use crate::exit::Exit;
use crate::output;

/// Lists or scans tools.
pub(crate) fn run(global: &Global, command: Tools) -> Result<Exit> {
    match command {
        Tools::List { query } => list(global, query.as_deref()),
        Tools::Scan { upstreams } => {
            let scan = Scan {
                targets: upstreams,
                url: None,
                notes: false,
                command: Vec::new(),
            };
            scan::run(global, &scan)
        }
    }
}

/// Lists tools, or those that match a query, best first.
fn list(global: &Global, query: Option<&str>) -> Result<Exit> {
    let (path, columns): (_, &[&str]) = match query {
        None => ("/tools".to_owned(), &["name", "description"]),
        Some(query) => (
            format!("/index/search?q={}", encoded(query)),
            &["name", "score"],
        ),
    };
    let tools = request(global, Method::GET, &path, None)?;
    let mut tools = tools.as_array().cloned().unwrap_or_default();
    if global.format() == Format::Table {
        tools.iter_mut().for_each(round_score);
    }
    output::rows(global.format(), columns, &tools)?;
    Ok(if query.is_some() && tools.is_empty() {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// Leaves of a score what a person can compare.
fn round_score(tool: &mut Value) {
    if let Some(score) = tool.get_mut("score")
        && let Some(exact) = score.as_f64()
    {
        *score = Value::from(format!("{exact:.2}"));
    }
}
