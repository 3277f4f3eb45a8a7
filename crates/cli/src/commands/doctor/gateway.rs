//! The running gateway, asked over its socket.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use http::Method;
use serde_json::Value;

use super::check::Check;
use super::hooks;
use crate::commands::client;

const AREA: &str = "Gateway";
const UPSTREAMS: &str = "Upstreams";
/// What the gateway names beside its upstreams.
const OWN: [&str; 2] = ["activity log", "live state"];
/// How long the gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was learned about the gateway.
pub(super) struct Answered {
    /// Whether one runs, even if it does not answer.
    pub(super) running: bool,
    pub(super) checks: Vec<Check>,
    /// What it says of itself, if it answers.
    pub(super) status: Option<Value>,
}

/// Asks the gateway how it is doing.
pub(super) fn examine(socket: &Path) -> Answered {
    if UnixStream::connect(socket).is_err() {
        let mut checks = Vec::new();
        if socket.exists() {
            let message = format!(
                "`{}` was left behind by one that was killed",
                socket.display()
            );
            checks.push(Check::warn(
                AREA,
                message,
                "the next `mcpproxy serve` replaces it",
            ));
        }
        let hint = "start one with `mcpproxy serve`";
        checks.push(Check::warn(AREA, "no gateway is running".to_owned(), hint));
        return Answered {
            running: false,
            checks,
            status: None,
        };
    }
    let (status, checks) = match ask(socket) {
        Ok((status, diagnostics, hooks)) => {
            let mut checks = judge(&status, &diagnostics);
            checks.extend(hooks::checks(&hooks));
            (Some(status), checks)
        }
        Err(fault) => {
            let message = format!("the gateway does not answer as it should: {fault:#}");
            let hint = "look at what it logs, or start it anew";
            (None, vec![Check::fail(AREA, message, hint)])
        }
    };
    Answered {
        running: true,
        checks,
        status,
    }
}

/// Asks for the status, what is wrong, and the hooks.
fn ask(socket: &Path) -> Result<(Value, Value, Value)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let all = async {
        let status = client::ask(socket, Method::GET, "/status", None).await?;
        let diagnostics = client::ask(socket, Method::GET, "/diagnostics", None).await?;
        let hooks = client::ask(socket, Method::GET, "/hooks", None).await?;
        Ok((status, diagnostics, hooks))
    };
    let waited = runtime.block_on(async { tokio::time::timeout(PATIENCE, all).await });
    waited.context("no answer within 5 seconds")?
}

fn judge(status: &Value, diagnostics: &Value) -> Vec<Check> {
    let text = |name: &str| status.get(name).and_then(Value::as_str);
    let mut checks = Vec::new();
    let (version, own) = (
        text("version").unwrap_or("unknown"),
        env!("CARGO_PKG_VERSION"),
    );
    let listen = text("listen").unwrap_or("unknown");
    let since = text("since").unwrap_or("unknown");
    let message = format!("version {version} runs since {since} and listens on {listen}");
    checks.push(if version == own {
        Check::ok(AREA, message)
    } else {
        let hint = format!("this program is {own}; start the gateway anew to have them alike");
        Check::warn(AREA, message, &hint)
    });
    if let Some(problem) = text("config_problem") {
        let message =
            format!("the last reload failed and the configuration before it stays: {problem}");
        checks.push(Check::fail(
            AREA,
            message,
            "mend the file; `mcpproxy config check` tells more",
        ));
    }
    let stopped = status.get("stopped").and_then(Value::as_array);
    for scope in stopped.into_iter().flatten().filter_map(Value::as_str) {
        let hint = format!("let them pass again with `mcpproxy resume-calls {scope}`");
        checks.push(Check::warn(
            AREA,
            format!("calls are stopped: {scope}"),
            &hint,
        ));
    }
    checks.extend(upstreams(status, diagnostics));
    checks
}

fn upstreams(status: &Value, diagnostics: &Value) -> Vec<Check> {
    let count = |name: &str| {
        status
            .pointer(&format!("/upstreams/{name}"))
            .and_then(Value::as_u64)
    };
    let (up, total) = (count("up").unwrap_or(0), count("total").unwrap_or(0));
    let mut checks = vec![Check::ok(UPSTREAMS, format!("{up} of {total} are up"))];
    checks.extend(logins(status));
    let problems = diagnostics.get("problems").and_then(Value::as_array);
    for problem in problems.into_iter().flatten() {
        let text = |name: &str| problem.get(name).and_then(Value::as_str);
        let (Some(area), Some(what)) = (text("area"), text("problem")) else {
            continue;
        };
        // Said above, with the status.
        if area == "configuration" {
            continue;
        }
        checks.push(problem_of(area, what, text("hint")));
    }
    checks
}

/// Says what is wrong with an upstream, or with what the gateway writes to.
fn problem_of(area: &str, what: &str, hint: Option<&str>) -> Check {
    let hint = match hint.unwrap_or("mcpproxy upstream list") {
        command if command.starts_with("mcpproxy ") => format!("run `{command}`"),
        words => words.to_owned(),
    };
    if OWN.contains(&area) {
        return Check::fail(AREA, format!("{area}: {what}"), &hint);
    }
    let message = format!("`{area}`: {what}");
    // One that is down cannot be used; of one that is up, only some of its tools cannot.
    if what.starts_with("down") {
        Check::fail(UPSTREAMS, message, &hint)
    } else {
        Check::warn(UPSTREAMS, message, &hint)
    }
}

/// Says until when upstreams are logged in to. One that needs a login is down, and said so below.
fn logins(status: &Value) -> Vec<Check> {
    let all = status.get("logins").and_then(Value::as_object);
    let said = all.into_iter().flatten().filter_map(|(name, login)| {
        let text = |key: &str| login.get(key).and_then(Value::as_str);
        let renews = login.get("renews").and_then(Value::as_bool);
        if text("state") != Some("in") {
            return None;
        }
        let until = text("expires").map_or(String::new(), |expires| format!(" until {expires}"));
        if renews == Some(true) {
            let message = format!("`{name}` is logged in to{until}, and renews by itself");
            return Some(Check::ok(UPSTREAMS, message));
        }
        let message = format!("`{name}` is logged in to{until}, and does not renew by itself");
        let hint = format!("log in again in time with `mcpproxy upstream login {name}`");
        Some(Check::warn(UPSTREAMS, message, &hint))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::check::Status;
    use super::*;

    #[test]
    fn what_the_gateway_says_is_judged() {
        let fine = json!({
            "version": env!("CARGO_PKG_VERSION"), "since": "then", "listen": "127.0.0.1:8080",
            "upstreams": { "total": 2, "up": 2 }, "stopped": [], "config_problem": null,
        });
        let with = |name: &str, value: Value| {
            let mut status = fine.clone();
            status[name] = value;
            status
        };
        let check = |status: &Value, problems: Value, expect: &[(Status, &str)]| {
            let checks = judge(status, &json!({ "problems": problems }));
            let got: Vec<_> = checks.iter().map(|check| check.status).collect();
            let statuses: Vec<_> = expect.iter().map(|(status, _)| *status).collect();
            assert_eq!(got, statuses, "{checks:?}");
            for (check, (_, part)) in checks.iter().zip(expect) {
                assert!(check.lines().join(" ").contains(part), "{check:?}");
            }
        };
        let up = (Status::Ok, "2 of 2 are up");
        check(&fine, json!([]), &[(Status::Ok, "since then"), up]);
        let old = with("version", json!("0.0.0"));
        check(
            &old,
            json!([]),
            &[(Status::Warn, "start the gateway anew"), up],
        );
        let bad = with("config_problem", json!("line 3"));
        let same = json!([{ "area": "configuration", "problem": "line 3" }]);
        check(
            &bad,
            same,
            &[(Status::Ok, ""), (Status::Fail, "stays: line 3"), up],
        );
        let stopped = with("stopped", json!(["upstream:a"]));
        let resume = (Status::Warn, "`mcpproxy resume-calls upstream:a`");
        check(&stopped, json!([]), &[(Status::Ok, ""), resume, up]);
        let login = |renews: bool| {
            let login = json!({ "state": "in", "expires": "then", "renews": renews });
            with(
                "logins",
                json!({ "a": login, "b": { "state": "needed", "why": "x" } }),
            )
        };
        let good = (Status::Ok, "`a` is logged in to until then, and renews");
        check(&login(true), json!([]), &[(Status::Ok, ""), up, good]);
        let ends = (Status::Warn, "`mcpproxy upstream login a`");
        check(&login(false), json!([]), &[(Status::Ok, ""), up, ends]);
        let down = json!([
            { "area": "a", "problem": "down after 3 attempts: no", "hint": "mcpproxy upstream logs a" },
            { "area": "b", "problem": "a tool has no name" },
        ]);
        let logs = (Status::Fail, "hint: run `mcpproxy upstream logs a`");
        let list = (Status::Warn, "hint: run `mcpproxy upstream list`");
        check(&fine, down, &[(Status::Ok, ""), up, logs, list]);
    }
}
