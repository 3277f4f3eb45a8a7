//! `hooks`: how the hooks that every call passes are doing, and what one of them says about a call.
//!
//! `list` asks the running gateway. `test` and `bench` make the hook themselves, as the
//! configuration has it, and send nothing to an upstream.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use http::Method;
use mcpproxy_config::{HookKind, Loaded};
use mcpproxy_core::{Action, Clock, SystemClock};
use mcpproxy_engine::replay::{Replay, Session};
use mcpproxy_engine::{Registry, Tried};
use mcpproxy_hooks::Entry;
use mcpproxy_hooks::guards::watch::{KINDS, Kind};
use serde_json::{Value, json};

use crate::args::{Format, Global, Hooks};
use crate::commands::client::request;
use crate::commands::{policy, serve};
use crate::daemon::pipeline::entry;
use crate::daemon::{configuration, engine_settings, flags};
use crate::exit::{Exit, bad_input, failed};
use crate::output;

/// Runs one of the commands.
pub(crate) fn run(global: &Global, command: &Hooks) -> Result<Exit> {
    match command {
        Hooks::List => list(global),
        Hooks::Test { id, file } => test(global, id, file),
        Hooks::Bench { id, file, times } => bench(global, id, file.as_deref(), *times),
    }
}

fn list(global: &Global) -> Result<Exit> {
    let data = request(global, Method::GET, "/hooks", None)?;
    let hooks = data.get("hooks").and_then(Value::as_array);
    let hooks = hooks.map_or(&[][..], Vec::as_slice);
    let columns = [
        "id",
        "priority",
        "failure_mode",
        "healthy",
        "circuit",
        "mean_micros",
        "message",
    ];
    output::rows(global.format(), &columns, hooks)?;
    if hooks.is_empty() {
        output::note("no guard is switched on, and no hook is configured under `security.hooks`");
    }
    Ok(Exit::Fine)
}

/// A hook of the configuration, and an engine that judges nothing.
struct Trial {
    hook: Tested,
    replay: Replay,
}

enum Tested {
    /// A native guard, by its id.
    Guard(&'static str),
    Hook(Registry),
}

impl Trial {
    /// Starts the one hook that has an id.
    async fn start(global: &Global, id: &str) -> Result<Self> {
        let loaded = configuration(&flags(global, None))?;
        let hooks = &loaded.config.security.hooks;
        let settings = hooks.iter().find(|hook| hook.id == id);
        let foreign = settings.is_some_and(|settings| settings.kind != HookKind::Native);
        let mut kinds = KINDS.iter();
        if let Some(kind) = kinds.find(|kind| kind.id == id && !foreign) {
            return Self::guard(&loaded, kind);
        }
        let Some(settings) = settings else {
            let own = hooks.iter().map(|hook| hook.id.as_str());
            let mut known: Vec<_> = own.chain(KINDS.iter().map(|kind| kind.id)).collect();
            let mut named = BTreeSet::new();
            known.retain(|id| named.insert(*id));
            let hint = format!("there are: {}", known.join(", "));
            return Err(bad_input(format!("there is no hook `{id}`"), Some(&hint)));
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let made = entry(settings, &clock).map_err(|why| failed(why, None))?;
        // Somebody waits for this answer, whatever the configuration says.
        let mut limits = made.limits;
        limits.asynchronous = false;
        let entries = vec![Entry {
            hook: made.hook,
            limits,
        }];
        let pipeline = Registry::start(entries, Arc::default(), &clock).await;
        Ok(Self {
            hook: Tested::Hook(pipeline.map_err(|fault| failed(fault.to_string(), None))?),
            replay: policy::engine(&loaded)?,
        })
    }

    /// Switches everything off but one native guard.
    fn guard(loaded: &Loaded, kind: &'static Kind) -> Result<Self> {
        let id = kind.id;
        if !kind.phases.request && !kind.phases.response {
            let message = format!("`{id}` looks at what upstreams offer, not at calls");
            let hint = "`mcpproxy scan FILE` looks at a saved list, `mcpproxy policy test FILE` at \
                        lists and calls together";
            return Err(bad_input(message, Some(hint)));
        }
        let mut settings = engine_settings(loaded);
        if !settings.enabled || !(kind.is_on)(&settings.guards) {
            let message = format!("`{id}` is switched off");
            let hint = format!("switch it on under `security.hooks` with `id: {id}`");
            return Err(bad_input(message, Some(&hint)));
        }
        settings.guards = settings.guards.only(id);
        Ok(Self {
            hook: Tested::Guard(id),
            replay: policy::engine_of(loaded, settings)?,
        })
    }

    async fn ask(&self, session: &Session) -> Vec<Tried> {
        match &self.hook {
            Tested::Guard(id) => self.replay.try_guard(id, session),
            Tested::Hook(pipeline) => self.replay.try_hooks(pipeline, session).await,
        }
    }
}

fn test(global: &Global, id: &str, file: &Path) -> Result<Exit> {
    let session = session(file)?;
    let tried = serve::runtime()?.block_on(async {
        let trial = Trial::start(global, id).await?;
        Ok::<_, anyhow::Error>(trial.ask(&session).await)
    })?;
    let stopped = tried.iter().any(|one| one.decision >= Action::Ask);
    match global.format() {
        Format::Table => {
            for one in &tried {
                show(one)?;
            }
        }
        format => output::value(format, &serde_json::to_value(&tried)?)?,
    }
    if tried.is_empty() {
        output::note("the hook is not asked about such a call");
    }
    Ok(if stopped { Exit::Findings } else { Exit::Fine })
}

fn show(one: &Tried) -> Result<()> {
    let decision = serde_json::to_value(one.decision)?;
    let decision = decision.as_str().unwrap_or_default();
    output::line(&format!("{} {}: {decision}", one.phase, one.call))?;
    for finding in &one.findings {
        output::line(&format!("  {}: {}", finding.rule, finding.reason))?;
    }
    if let Some(changed) = &one.changed {
        output::line(&format!("  changed to: {}", output::flat(changed)))?;
    }
    for header in &one.added_headers {
        output::line(&format!("  adds header `{header}`"))?;
    }
    for left in &one.hook_metadata {
        output::line(&format!("  on record: {}", output::flat(&left.data)))?;
    }
    Ok(())
}

fn bench(global: &Global, id: &str, file: Option<&Path>, times: u32) -> Result<Exit> {
    let session = match file {
        Some(file) => session(file)?,
        None => sample()?,
    };
    let (mut took, undecided) = serve::runtime()?.block_on(async {
        let trial = Trial::start(global, id).await?;
        let mut took = Vec::new();
        let mut undecided = 0_usize;
        for _ in 0..times {
            let began = Instant::now();
            let tried = trial.ask(&session).await;
            took.push(began.elapsed());
            // A call is asked about twice, before it leaves and with its answer, and counts once.
            undecided += usize::from(tried.iter().any(|one| is_undecided(id, one)));
        }
        Ok::<_, anyhow::Error>((took, undecided))
    })?;
    took.sort_unstable();
    let at = |percent: usize| {
        let place = took.len().saturating_sub(1) * percent / 100;
        millis(took.get(place).copied().unwrap_or_default())
    };
    let figures = json!({
        "hook": id,
        "asked": took.len(),
        "undecided": undecided,
        "p50_ms": at(50),
        "p95_ms": at(95),
        "p99_ms": at(99),
        "max_ms": at(100),
    });
    output::value(global.format(), &figures)?;
    Ok(Exit::Fine)
}

/// Tells whether a hook failed rather than decided.
fn is_undecided(id: &str, tried: &Tried) -> bool {
    let failed = format!("hook `{id}` did not decide");
    let mut findings = tried.findings.iter();
    findings.any(|finding| finding.reason.as_str().starts_with(&failed))
}

fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

fn session(file: &Path) -> Result<Session> {
    let text = policy::read(file)?;
    let place = file.display();
    let text = match recorded(&text) {
        None => text,
        Some(call) if call.get("args").is_none_or(Value::is_null) => {
            let hint = "keep what calls say with `activity.bodies: true`";
            let message = format!("`{place}`: the record has no arguments");
            return Err(bad_input(message, Some(hint)));
        }
        Some(call) => call.to_string(),
    };
    let hint = "give one call {server, tool, args, result}, {calls: [...]}, or a record as \
                `mcpproxy activity show ID --json` prints it";
    let session = Session::read(&text)
        .map_err(|fault| bad_input(format!("`{place}`: {fault}"), Some(hint)))?;
    if session.calls.is_empty() {
        return Err(bad_input(
            format!("`{place}`: there is no call in it"),
            Some(hint),
        ));
    }
    Ok(session)
}

/// Makes a call of a record of the activity log, if it is one. The log may not keep what calls say;
/// where it does, it keeps JSON as text.
fn recorded(text: &str) -> Option<Value> {
    let record: Value = serde_json::from_str(text).ok()?;
    let (server, tool) = (record.get("server_name")?, record.get("tool_name")?);
    let said = |name: &str| {
        let kept = record.get(name)?;
        let read = kept
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        Some(read.unwrap_or_else(|| kept.clone()))
    };
    let (args, result) = (said("arguments"), said("response"));
    Some(json!({ "server": server, "tool": tool, "args": args, "result": result }))
}

/// A call of about a kilobyte, and an answer to it.
fn sample() -> Result<Session> {
    let text = "a line of plain text that says nothing. ".repeat(25);
    let call =
        json!({ "server": "sample", "tool": "echo", "args": { "text": text }, "result": text });
    Ok(Session::read(&call.to_string())?)
}
