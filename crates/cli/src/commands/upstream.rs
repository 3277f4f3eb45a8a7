//! `upstream`: the MCP servers behind the gateway.
//!
//! Changes go through the running gateway; without one they are made in the configuration file.

mod login;

use std::path::Path;

use anyhow::Result;
use http::Method;
use mcpproxy_config::edit;
use serde_json::{Map, Value, json};

use self::login::Browser;
use crate::args::{AddUpstream, Format, Global, Upstream};
use crate::commands::client::{encoded, request, request_with_key, socket};
use crate::commands::init;
use crate::commands::key::key;
use crate::daemon::{configuration, flags};
use crate::exit::{Exit, Failed, bad_input};
use crate::output;

/// Manages upstreams.
pub(crate) fn run(global: &Global, command: Upstream) -> Result<Exit> {
    match command {
        Upstream::List => list(global)?,
        Upstream::Add(add) => {
            let settings = settings(&add)?;
            change(global, &add.name, &Change::Add(settings))?;
        }
        Upstream::Remove { name } => change(global, &name, &Change::Remove)?,
        Upstream::Enable { name } => change(global, &name, &Change::Enable(true))?,
        Upstream::Disable { name } => change(global, &name, &Change::Enable(false))?,
        Upstream::Restart { name } => {
            request(
                global,
                Method::POST,
                &format!("/servers/{name}/restart"),
                None,
            )?;
            output::note(&format!("restarted `{name}`"));
        }
        Upstream::Quarantine { name } => {
            let path = format!("/servers/{}/quarantine", encoded(&name));
            request(global, Method::POST, &path, None)?;
            output::note(&format!("everything of `{name}` is withheld"));
        }
        Upstream::Unquarantine { name } => {
            let key = key("letting an upstream out of quarantine")?;
            let path = format!("/servers/{}/unquarantine", encoded(&name));
            request_with_key(global, Method::POST, &path, &Value::Null, &key)?;
            output::note(&format!("`{name}` is out of quarantine"));
        }
        Upstream::Logs { name } => {
            let logs = request(global, Method::GET, &format!("/servers/{name}/logs"), None)?;
            for line in logs
                .get("lines")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                output::line(line.as_str().unwrap_or_default())?;
            }
        }
        Upstream::Login { name, no_browser } => {
            let browser = if no_browser {
                Browser::Left
            } else {
                Browser::Opened
            };
            login::login(global, &name, browser)?;
        }
        Upstream::Logout { name } => login::logout(global, &name)?,
        Upstream::Import { agent } => return init::import(global, agent.as_deref()),
    }
    Ok(Exit::Fine)
}

enum Change {
    Add(Map<String, Value>),
    Remove,
    Enable(bool),
}

/// Makes a change through the running gateway, or in the file if none runs.
fn change(global: &Global, name: &str, change: &Change) -> Result<()> {
    if std::os::unix::net::UnixStream::connect(socket(global)).is_ok() {
        match change {
            Change::Add(settings) => {
                let mut body = settings.clone();
                body.insert("name".into(), json!(name));
                request(global, Method::POST, "/servers", Some(&Value::Object(body)))?;
            }
            Change::Remove => {
                request(global, Method::DELETE, &format!("/servers/{name}"), None)?;
            }
            Change::Enable(enabled) => {
                let action = if *enabled { "enable" } else { "disable" };
                request(
                    global,
                    Method::POST,
                    &format!("/servers/{name}/{action}"),
                    None,
                )?;
            }
        }
        output::note(&format!(
            "done; the running gateway uses the change to `{name}`"
        ));
        return Ok(());
    }
    let loaded = configuration(&flags(global, None))?;
    let file = loaded.file_of(name).unwrap_or(loaded.target);
    let changed = |file: &Path| match change {
        Change::Add(settings) => edit::add_upstream(file, name, settings),
        Change::Remove => edit::remove_upstream(file, name),
        Change::Enable(enabled) => edit::set_enabled(file, name, *enabled),
    };
    let loads = || configuration(&flags(global, None)).map(drop);
    edit::tried(&file, changed, loads).map_err(|fault: anyhow::Error| {
        if fault.is::<Failed>() {
            return fault;
        }
        bad_input(format!("{fault:#}"), None)
    })?;
    output::note(&format!("changed {}", file.display()));
    Ok(())
}

fn list(global: &Global) -> Result<()> {
    let columns = [
        "name",
        "status",
        "class",
        "transport",
        "tools",
        "protocol_version",
    ];
    if std::os::unix::net::UnixStream::connect(socket(global)).is_ok() {
        let servers = request(global, Method::GET, "/servers", None)?;
        let mut servers = servers.as_array().cloned().unwrap_or_default();
        if global.format() == Format::Table {
            servers.iter_mut().for_each(shorten);
        }
        return output::rows(global.format(), &columns, &servers);
    }
    output::note("no gateway is running; this is what the configuration says");
    let loaded = configuration(&flags(global, None))?;
    let rows: Vec<_> = loaded
        .config
        .upstreams
        .iter()
        .map(|(name, settings)| {
            let status = if settings.enabled {
                "not running"
            } else {
                "disabled"
            };
            json!({ "name": name, "status": status, "transport": settings.effective_transport() })
        })
        .collect();
    output::rows(global.format(), &columns, &rows)
}

/// Leaves of an upstream's class what a table has room for; why it is that one is in the other forms.
fn shorten(server: &mut Value) {
    if let Some(class) = server.get_mut("class") {
        *class = class.get("classification").cloned().unwrap_or_default();
    }
}

fn settings(add: &AddUpstream) -> Result<Map<String, Value>> {
    let mut settings = Map::new();
    match (&add.url, add.command.split_first()) {
        (Some(url), None) => {
            settings.insert("url".into(), json!(url));
        }
        (None, Some((program, args))) => {
            settings.insert("command".into(), json!(program));
            if !args.is_empty() {
                settings.insert("args".into(), json!(args));
            }
        }
        _ => {
            let hint = "mcpproxy upstream add NAME --url URL, or mcpproxy upstream add NAME -- PROGRAM ARGS";
            return Err(bad_input("give either an address or a program", Some(hint)));
        }
    }
    let pairs = |given: &[String], separator: char, what: &str| -> Result<Map<String, Value>> {
        let pair = |one: &String| {
            let (name, value) = one
                .split_once(separator)
                .ok_or_else(|| bad_input(format!("`{one}` is not of the form `{what}`"), None))?;
            Ok((name.trim().to_owned(), json!(value.trim())))
        };
        given.iter().map(pair).collect()
    };
    let env = pairs(&add.env, '=', "NAME=value")?;
    if !env.is_empty() {
        settings.insert("env".into(), Value::Object(env));
    }
    let headers = pairs(&add.headers, ':', "Name: value")?;
    if !headers.is_empty() {
        settings.insert("headers".into(), Value::Object(headers));
    }
    Ok(settings)
}
