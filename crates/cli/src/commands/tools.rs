//! `tools`: what the upstreams offer.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::{ChosenTools, Format, Global, Scan, Tools};
use crate::commands::client::{encoded, request, request_with_key};
use crate::commands::key::key;
use crate::commands::scan;
use crate::exit::{Exit, bad_input};
use crate::output;

/// Lists, judges or scans tools.
pub(crate) fn run(global: &Global, command: Tools) -> Result<Exit> {
    match command {
        Tools::List { query } => list(global, query.as_deref()),
        Tools::Approve(chosen) => approve(global, &chosen),
        Tools::Block(chosen) => block(global, &chosen),
        Tools::Diff { upstream, tool } => {
            let (upstream, tool) = one(&upstream, tool.as_deref())?;
            diff(global, upstream, tool)
        }
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

/// Takes an upstream and a tool apart that stand together, as `tools list` prints them.
fn one<'a>(upstream: &'a str, tool: Option<&'a str>) -> Result<(&'a str, &'a str)> {
    let together = || {
        upstream
            .split_once(':')
            .filter(|(_, tool)| !tool.is_empty())
    };
    let found = tool.map(|tool| (upstream, tool)).or_else(together);
    found.ok_or_else(|| {
        let hint =
            "name both: `UPSTREAM TOOL`, or `UPSTREAM:TOOL` as `mcpproxy tools list` prints it";
        bad_input("no tool is named", Some(hint))
    })
}

/// The upstream that is meant, and the tools.
fn chosen(chosen: &ChosenTools) -> Result<(&str, Vec<&str>)> {
    if chosen.all || !chosen.tools.is_empty() {
        let tools = chosen.tools.iter().map(String::as_str).collect();
        return Ok((&chosen.upstream, tools));
    }
    let (upstream, tool) = one(&chosen.upstream, None)?;
    Ok((upstream, vec![tool]))
}

fn approve(global: &Global, wanted: &ChosenTools) -> Result<Exit> {
    let (upstream, tools) = chosen(wanted)?;
    let key = key("letting a tool pass")?;
    let body = json!({ "tools": tools, "approve_all": wanted.all, "hash": wanted.hash });
    let path = format!("/servers/{}/tools/approve", encoded(upstream));
    let done = request_with_key(global, Method::POST, &path, &body, &key)?;
    changed(&done);
    let servers = request(global, Method::GET, "/servers", None)?;
    if is_quarantined(&servers, upstream) {
        output::note(&format!(
            "`{upstream}` itself is quarantined, so that none of its tools pass"
        ));
        output::note(&format!("hint: mcpproxy upstream unquarantine {upstream}"));
    }
    Ok(Exit::Fine)
}

/// Tells whether everything of an upstream is withheld.
fn is_quarantined(servers: &Value, upstream: &str) -> bool {
    let text = |server: &Value, key: &str| server.get(key)?.as_str().map(str::to_owned);
    let mut servers = servers.as_array().into_iter().flatten();
    servers.any(|server| {
        text(server, "name").as_deref() == Some(upstream)
            && text(server, "status").as_deref() == Some("quarantined")
    })
}

fn block(global: &Global, wanted: &ChosenTools) -> Result<Exit> {
    let (upstream, tools) = chosen(wanted)?;
    let body = json!({ "tools": tools, "block_all": wanted.all, "hash": wanted.hash });
    let path = format!("/servers/{}/tools/block", encoded(upstream));
    changed(&request(global, Method::POST, &path, Some(&body))?);
    Ok(Exit::Fine)
}

fn changed(done: &Value) {
    let text = done.get("done").and_then(Value::as_str);
    output::note(text.unwrap_or("done"));
}

/// Shows what changed in a tool: nothing is fine, and something is a finding.
fn diff(global: &Global, upstream: &str, tool: &str) -> Result<Exit> {
    let (upstream, tool) = (encoded(upstream), encoded(tool));
    let path = format!("/servers/{upstream}/tools/{tool}/diff");
    let diff = request(global, Method::GET, &path, None)?;
    let changes = diff.get("changes").and_then(Value::as_array);
    let changes = changes.map_or(&[][..], Vec::as_slice);
    if global.format() == Format::Table {
        let text = |key: &str| diff.get(key).and_then(Value::as_str).unwrap_or_default();
        output::note(&format!("{}: {}", text("state"), text("reason")));
        changes.iter().try_for_each(side_by_side)?;
    } else {
        output::value(global.format(), &diff)?;
    }
    Ok(if changes.is_empty() {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// Prints a difference whole: what is cut off could be what it is about.
fn side_by_side(change: &Value) -> Result<()> {
    shown(change).iter().try_for_each(|line| output::line(line))
}

/// Returns the lines of a difference. A tool that is new as a whole has no place of its own, and was
/// nothing before.
fn shown(change: &Value) -> Vec<String> {
    let text = |key: &str| change.get(key).and_then(Value::as_str).map(output::flat);
    let path = text("path").filter(|path| !path.is_empty());
    let is_whole = path.is_none();
    let mut lines = vec![path.unwrap_or_else(|| "(the whole tool)".to_owned())];
    for (sign, key) in [('-', "before"), ('+', "after")] {
        let side = text(key).filter(|text| !(is_whole && text == "null"));
        lines.extend(side.map(|text| format!("  {sign} {text}")));
    }
    lines
}

/// Lists tools, or those that match a query, best first.
fn list(global: &Global, query: Option<&str>) -> Result<Exit> {
    let (path, columns): (_, &[&str]) = match query {
        None => ("/tools".to_owned(), &["name", "state", "description"]),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_says_what_it_is_about() {
        let check = |change: Value, expect: &[&str]| assert_eq!(shown(&change), expect);
        let whole = json!({ "path": "", "before": "null", "after": "{\"name\":\"a\"}" });
        check(whole, &["(the whole tool)", "  + {\"name\":\"a\"}"]);
        let part = json!({ "path": "description", "before": "null", "after": "\"a\"" });
        check(part, &["description", "  - null", "  + \"a\""]);
    }

    #[test]
    fn an_upstream_that_is_quarantined_is_told_from_others() {
        let servers = json!([
            { "name": "a", "status": "quarantined" },
            { "name": "b", "status": "up" },
        ]);
        for (name, expect) in [("a", true), ("b", false), ("c", false)] {
            assert_eq!(is_quarantined(&servers, name), expect, "{name}");
        }
    }

    #[test]
    fn a_tool_is_named_as_it_is_listed_or_in_two_words() {
        let check = |upstream: &str, tool: Option<&str>, expect: Option<(&str, &str)>| {
            assert_eq!(one(upstream, tool).ok(), expect, "{upstream} {tool:?}");
        };
        check("a", Some("read"), Some(("a", "read")));
        check("a:read", None, Some(("a", "read")));
        check("a:note:x", None, Some(("a", "note:x")));
        check("a:b", Some("read"), Some(("a:b", "read")));
        check("a", None, None);
        check("a:", None, None);
    }
}
