//! Upstreams that are started, asked what they offer, and ended again.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use mcpproxy_config::{Loaded, check_upstream};
use mcpproxy_core::UpstreamId;
use mcpproxy_mcp::Frame;
use mcpproxy_upstream::settings::{RestartSettings, Scope, Span, Start, UpstreamSettings};
use mcpproxy_upstream::upstream::Hub;
use mcpproxy_upstream::{Fleet, Instance, Listed, State, Upstream};
use serde_json::{Map, Value, json};

use super::entries::Entry;
use super::offer::Offer;
use crate::daemon;
use crate::exit::bad_input;

/// The longest that an upstream may take to start and to list everything.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a program may take for each step of its end; nothing of it is under way any more.
const GRACE: Span = Span::from_millis(150);
/// How long programs that end are waited for: two steps, and what it takes to be told.
const END: Duration = Duration::from_millis(400);

/// An upstream that is to be reached.
pub(super) struct Reach {
    name: String,
    settings: UpstreamSettings,
    /// The entry of an upstream that was given on the command line.
    given: Option<Value>,
}

impl Reach {
    /// Takes an upstream of the configuration, which is started whatever else is said of it.
    pub(super) fn configured(name: &str, settings: &UpstreamSettings) -> Self {
        let settings = UpstreamSettings {
            enabled: true,
            start: Start::Eager,
            scope: Some(Scope::Shared),
            shutdown_grace: GRACE,
            restart: RestartSettings {
                max_attempts: Some(1),
                ..settings.restart.clone()
            },
            ..settings.clone()
        };
        Self {
            name: name.to_owned(),
            settings,
            given: None,
        }
    }

    /// Takes an upstream of the command line.
    pub(super) fn given(url: Option<&str>, command: &[String]) -> Result<Option<Self>> {
        let (name, entry) = match (url, command.split_first()) {
            (Some(url), _) => ("url", json!({ "url": url })),
            (None, Some((program, args))) => {
                ("command", json!({ "command": program, "args": args }))
            }
            (None, None) => return Ok(None),
        };
        let environment = |name: &str| std::env::var(name).ok();
        let settings = check_upstream(name, &entry, &environment)
            .map_err(|problems| bad_input(problems.to_string(), None))?;
        Ok(Some(Self {
            given: Some(entry),
            ..Self::configured(name, &settings)
        }))
    }

    /// Returns what the command line says of it, as a file would; nothing for one of a file.
    pub(super) fn entry(&self) -> Option<Entry<'_>> {
        Some(Entry {
            name: self.name.clone(),
            path: String::new(),
            value: self.given.as_ref()?,
        })
    }
}

/// Nobody listens to what the upstreams say unasked.
#[derive(Debug)]
struct Deaf;

impl Hub for Deaf {
    fn judge(&self, _: &Upstream, _: &Listed) -> bool {
        false
    }
    fn listed(&self, _: &Upstream, _: bool) {}
    fn opened(&self, _: &Arc<Instance>) {}
    fn heard(&self, _: &UpstreamId, _: Frame) {}
}

/// What came of each upstream, by name.
type Outcome = (String, Result<Offer<'static>, String>);

/// Starts all, and returns what each offers or why that is not known.
pub(super) fn offers(loaded: &Loaded, reaches: &[Reach]) -> Result<Vec<Outcome>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcomes = runtime.block_on(async {
        let fleet = Fleet::new(daemon::fleet(loaded)?, Arc::new(Deaf));
        let wanted = reaches.iter();
        let wanted = wanted.map(|reach| (reach.name.clone(), reach.settings.clone()));
        fleet.apply(&wanted.collect());
        let mut outcomes = Vec::new();
        for upstream in fleet.all().values() {
            let offer = tokio::time::timeout(PATIENCE, offer(upstream)).await;
            let slow = || Err(format!("no answer within {} s", PATIENCE.as_secs()));
            outcomes.push((
                upstream.name().to_string(),
                offer.unwrap_or_else(|_| slow()),
            ));
        }
        fleet.retire(END).await;
        anyhow::Ok(outcomes)
    });
    runtime.shutdown_timeout(END);
    outcomes
}

async fn offer(upstream: &Upstream) -> Result<Offer<'static>, String> {
    upstream.tried(PATIENCE).await;
    match upstream.state() {
        State::Up { .. } => {}
        State::Down { why, .. } | State::Stopped { why } => {
            let said = upstream.stderr().pop();
            return Err(match said {
                Some(said) => format!("{why} (it said: {said})"),
                None => why,
            });
        }
        State::Idle | State::Starting => return Err("it has not started".to_owned()),
    }
    let listed = upstream.listed();
    let read = |raw: &[u8]| serde_json::from_slice(raw).unwrap_or_default();
    let tools = listed.tools.iter().map(|tool| read(&tool.raw)).collect();
    let mut rest = Map::new();
    if let Some(instance) = upstream.own_existing() {
        let hello: Value = serde_json::from_str(instance.hello()).unwrap_or_default();
        for key in ["instructions", "serverInfo"] {
            rest.extend(hello.get(key).map(|said| (key.to_owned(), said.clone())));
        }
    }
    for (key, entries) in [
        ("prompts", &listed.prompts),
        ("resources", &listed.resources),
        ("resourceTemplates", &listed.templates),
    ] {
        let entries = entries.iter().map(|entry| read(&entry.raw));
        rest.insert(key.to_owned(), entries.collect());
    }
    Ok(Offer::live(
        upstream.name().as_str(),
        tools,
        &Value::Object(rest),
    ))
}
