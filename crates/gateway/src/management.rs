//! The tool with which an agent sees, and an owner changes, the upstreams.

use std::sync::Arc;

use mcpproxy_classify::Class;
use mcpproxy_core::{OfferKind, Principal, PrincipalKind};
use mcpproxy_mcp::era;
use mcpproxy_upstream::catalogue::Entry;
use mcpproxy_upstream::settings::{Scope, Transport};
use mcpproxy_upstream::{Standing, State, Upstream};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::downstream::Downstream;
use crate::error::Failure;
use crate::gateway::Gateway;
use crate::toolbox::describe_state;

/// Lines of a log that are shown at most.
const LINES: usize = 200;

/// An upstream, without its secrets.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Upstream")]
pub struct Described {
    /// Its name.
    name: String,
    /// Whether it is switched on.
    enabled: bool,
    /// How it is spoken to.
    transport: Transport,
    /// Who shares one instance of it.
    scope: Scope,
    /// The program that is run, where it is one.
    command: Option<String>,
    /// What it is taken for.
    class: Class,
    /// How it is doing, in a word or two.
    status: String,
    /// How it is logged in to, where it can be.
    login: Option<Standing>,
    /// The version of the protocol, where it answers.
    protocol_version: Option<String>,
    /// How many tools of it the caller may know of.
    tools: usize,
    /// How many more the configuration leaves out.
    filtered_tools: usize,
    /// How many prompts of it the caller may know of.
    prompts: usize,
    /// How many resources of it the caller may know of.
    resources: usize,
    /// How many conversations with it are open.
    instances: usize,
    /// What is wrong with it.
    problems: Vec<String>,
}

/// Answers `upstream_servers`.
pub async fn upstream_servers(
    gateway: &Arc<Gateway>,
    downstream: &Downstream,
    arguments: &Value,
) -> Result<Value, Failure> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let operation = text("operation").unwrap_or_default();
    let name = || text("name").ok_or_else(|| Failure::params("`name` is missing"));
    let control = gateway.access.control();
    let who = &downstream.who;
    let refuse = |refused: mcpproxy_control::Refused| {
        Failure::downstream(era::DENIED, "forbidden", refused.to_string())
    };
    let change = match operation {
        "list" => return Ok(json!({ "servers": list(gateway, who) })),
        "tail_log" => {
            owner_only(who, "read the log of an upstream")?;
            let wanted = arguments.get("lines").and_then(Value::as_u64).unwrap_or(50);
            let wanted = usize::try_from(wanted).unwrap_or(LINES).min(LINES);
            let lines = gateway.fleet.get(name()?)?.stderr();
            let from = lines.len().saturating_sub(wanted);
            let lines = lines.get(from..).unwrap_or_default().iter();
            let lines: Vec<_> = lines.map(|line| gateway.engine.masked(line)).collect();
            return Ok(json!({ "lines": lines }));
        }
        "refresh" => {
            owner_only(who, "refresh an upstream")?;
            gateway.fleet.get(name()?)?.refresh();
            None
        }
        "restart" => {
            owner_only(who, "restart an upstream")?;
            gateway.fleet.restart(name()?)?;
            None
        }
        "enable" => Some(control.enable_upstream(who, name()?)),
        "disable" => Some(control.disable_upstream(who, name()?)),
        "remove" => Some(control.remove_upstream(who, name()?)),
        "add" => Some(control.add_upstream(who, name()?, settings(arguments)?)),
        "update" | "patch" => Some(control.change_upstream(who, name()?, settings(arguments)?)),
        other => return Err(Failure::params(format!("unknown operation `{other}`"))),
    };
    if let Some(change) = change {
        let change = change.map_err(refuse)?;
        gateway.note_change(&change, downstream.door).await;
    }
    Ok(json!({ "done": operation, "servers": list(gateway, who) }))
}

fn owner_only(who: &Principal, act: &str) -> Result<(), Failure> {
    if who.kind == PrincipalKind::Owner {
        return Ok(());
    }
    let message = format!("only the owner may {act}");
    Err(Failure::downstream(era::DENIED, "forbidden", message))
}

fn settings(arguments: &Value) -> Result<Value, Failure> {
    let mut settings = Map::new();
    for key in ["command", "url"] {
        if let Some(value) = arguments.get(key) {
            settings.insert(key.into(), value.clone());
        }
    }
    for (given, key) in [
        ("args_json", "args"),
        ("env_json", "env"),
        ("headers_json", "headers"),
    ] {
        if let Some(raw) = arguments.get(given).and_then(Value::as_str) {
            let value = serde_json::from_str(raw)
                .map_err(|fault| Failure::params(format!("`{given}` is not JSON: {fault}")))?;
            settings.insert(key.into(), value);
        }
    }
    Ok(Value::Object(settings))
}

/// Describes the upstreams that a caller may know of, without their secrets.
pub fn list(gateway: &Gateway, who: &Principal) -> Vec<Described> {
    // Access rules say what the owner may call, not what the owner may look after.
    let known = match who.kind {
        PrincipalKind::Owner => gateway.fleet.all().values().cloned().collect(),
        PrincipalKind::Agent
        | PrincipalKind::User
        | PrincipalKind::Certificate
        | PrincipalKind::Local => gateway.known_to(who),
    };
    known
        .iter()
        .map(|upstream| describe(gateway, who, upstream))
        .collect()
}

/// Describes one upstream, without its secrets and without what the caller may not know of.
pub fn describe(gateway: &Gateway, who: &Principal, upstream: &Upstream) -> Described {
    let settings = upstream.settings();
    let listed = upstream.listed();
    let owner = who.kind == PrincipalKind::Owner;
    let may_know = |kind, name: &str| owner || gateway.may_know(who, upstream, kind, name);
    let count = |kind, entries: &[Entry]| {
        let known = entries.iter().filter(|entry| may_know(kind, &entry.key));
        known.count()
    };
    let tools = listed.tools.iter();
    let tools = tools.filter(|card| may_know(OfferKind::Tool, card.name.as_str()));
    let filtered = listed.filtered.iter();
    let filtered = filtered.filter(|name| may_know(OfferKind::Tool, name.as_str()));
    let version = match upstream.state() {
        State::Up { version } => Some(version),
        State::Idle | State::Starting | State::Down { .. } | State::Stopped { .. } => None,
    };
    // One that runs and of which nothing may be used is not up for anybody.
    let held = gateway.engine.held_upstream(upstream.name());
    let status = match (&held, upstream.state()) {
        (Some(held), State::Up { .. }) => held.state.to_owned(),
        _ => describe_state(upstream),
    };
    let mut problems: Vec<_> = listed.problems.iter().take(5).cloned().collect();
    if let Some(held) = held {
        problems.push(gateway.engine.masked_reason(&held.reason).to_string());
    }
    Described {
        name: upstream.name().to_string(),
        enabled: settings.enabled,
        transport: settings.effective_transport(),
        scope: settings.effective_scope(),
        command: settings.command.clone(),
        class: gateway.engine.class(upstream.name()),
        status,
        login: upstream.login().map(|login| login.standing()),
        protocol_version: version,
        tools: tools.count(),
        filtered_tools: filtered.count(),
        prompts: count(OfferKind::Prompt, &listed.prompts),
        resources: count(OfferKind::Resource, &listed.resources),
        instances: upstream.instances(),
        problems,
    }
}
