//! `hook status`: what is installed for which agent, what is wrong with it, and whether the gateway
//! can be asked.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use mcpproxy_agents::hook::{self, FailMode, HookStatus, Trust};
use mcpproxy_agents::{Places, Scope};
use mcpproxy_front::evaluate;
use serde_json::{Value, json};

use super::install::{named, scope_name};
use super::missed::Missed;
use crate::args::{Format, Global};
use crate::commands::client::request_within;
use crate::daemon::{SOCKET, configuration, data_dir, flags};
use crate::exit::Exit;
use crate::output;
use crate::places::{elsewhere, repository};

/// How long the gateway is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which hooks to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Only those of these agents.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
}

/// Shows the hooks that are installed.
pub(crate) fn run(global: &Global, args: &Status) -> Result<Exit> {
    let report = Report::gather(global, args)?;
    match global.format() {
        Format::Table => report.table()?,
        format => output::value(format, &report.json())?,
    }
    Ok(if report.is_wrong() {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// All that is looked at.
struct Report {
    hooks: Vec<Seen>,
    places: Places,
    gateway: Reached,
    /// What the configuration says about failures, if it can be loaded.
    wanted: Option<FailMode>,
    /// Whether the configuration has hooks answered.
    is_on: bool,
    missed: Option<Missed>,
}

/// The hook of one agent, and who hears it.
struct Seen {
    status: HookStatus,
    /// Where the installed command asks, which may be elsewhere than we would.
    asked: Option<Reached>,
    last_event: Option<String>,
}

impl Report {
    fn gather(global: &Global, args: &Status) -> Result<Self> {
        let flags = flags(global, None);
        let folder = data_dir(&flags);
        let mut gateway = Reached::try_at(folder.join(SOCKET));
        let told = gateway.is_reachable;
        let told = told.then(|| request_within(PATIENCE, global, "/status").ok());
        let told = told.flatten();
        // One that hangs takes connections and answers none.
        gateway.is_reachable = told.is_some();
        // A configuration that cannot be loaded is for `config check` to explain.
        let hooks = configuration(&flags).ok();
        let hooks = hooks.map(|loaded| loaded.config.security.agent_hooks);
        let places = repository()?;
        let seen = |status: HookStatus| Seen {
            asked: Reached::by(&status).map(|asked| gateway.or(asked)),
            last_event: last_event(told.as_ref(), &status),
            status,
        };
        Ok(Self {
            hooks: found(&args.agents, &places)?
                .into_iter()
                .map(seen)
                .collect(),
            places,
            wanted: hooks.as_ref().map(|hooks| {
                if hooks.fail_open {
                    FailMode::Open
                } else {
                    FailMode::Closed
                }
            }),
            is_on: hooks.is_none_or(|hooks| hooks.enabled),
            missed: Missed::found(told.as_ref(), Some(&folder)),
            gateway,
        })
    }

    /// Tells whether something keeps a hook from doing what it is there for.
    fn is_wrong(&self) -> bool {
        let wrong = |seen: &Seen| {
            let status = &seen.status;
            // Where a file does not tell the command, it is one that asks as we would.
            let asked = seen.asked.as_ref().unwrap_or(&self.gateway);
            let is_faulty = !status.faults.is_empty() || status.trust == Trust::Missing;
            is_faulty || (status.is_installed && !(asked.is_reachable && self.is_on))
        };
        self.hooks.iter().any(wrong)
    }

    fn json(&self) -> Value {
        let gateway = &self.gateway;
        json!({
            "gateway": { "socket": gateway.socket, "reachable": gateway.is_reachable },
            "project": self.places.project,
            "enabled": self.is_on,
            "configured_fail": self.wanted.map(FailMode::name),
            "gaps": self.missed.as_ref().map(Missed::json),
            "hooks": self.hooks.iter().map(row).collect::<Vec<Value>>(),
        })
    }

    fn table(&self) -> Result<()> {
        let installed = || self.hooks.iter().filter(|seen| seen.status.is_installed);
        if installed().next().is_none() {
            let project = self.places.project.display();
            output::line(&format!(
                "no hook is installed for this user or in `{project}`; \
                 `mcpproxy hook install --agent NAME` installs one"
            ))?;
        }
        for seen in &self.hooks {
            show(&seen.status, self.wanted)?;
            let asked = seen.asked.as_ref();
            if let Some(asked) = asked.filter(|asked| asked.socket != self.gateway.socket) {
                output::line(&format!("  asks another gateway: {}", asked.sentence()))?;
            }
            if let Some(last) = &seen.last_event {
                output::line(&format!("  last event: {}", output::flat(last)))?;
            }
        }
        let has_project = installed().any(|seen| seen.status.scope == Scope::Project);
        if let Some(note) = elsewhere(&self.places).filter(|_| has_project) {
            output::line(&format!("note: {note}"))?;
        }
        output::line(&format!("gateway: {}", self.gateway.sentence()))?;
        if let Some(missed) = &self.missed {
            output::line(&format!("{}; {}", missed.sentence(), missed.hint()))?;
        }
        if !self.is_on {
            let hint = "set `security.agent_hooks.enabled: true`";
            output::line(&format!(
                "hooks are switched off in the configuration; {hint}"
            ))?;
        }
        Ok(())
    }
}

/// Returns when the gateway last heard from an agent.
fn last_event(told: Option<&Value>, status: &HookStatus) -> Option<String> {
    let agents = told?.pointer("/hooks/agents")?.as_array()?;
    let name = status.agent.name();
    let agent = agents
        .iter()
        .find(|one| one.get("agent").and_then(Value::as_str) == Some(name))?;
    Some(agent.get("last_event")?.as_str()?.to_owned())
}

fn found(names: &[String], places: &Places) -> Result<Vec<HookStatus>> {
    let agents = named(names)?;
    if agents.is_empty() {
        return Ok(hook::status_all(places));
    }
    let each = agents.into_iter().flat_map(|agent| {
        let scopes = hook::scopes(agent, places).into_iter();
        scopes.map(move |scope| hook::status(agent, scope, places))
    });
    Ok(each.collect())
}

/// Whether the gateway can be asked.
pub(crate) struct Reached {
    pub(crate) socket: PathBuf,
    pub(crate) is_reachable: bool,
}

impl Reached {
    /// Tries where the installed command of an agent asks.
    pub(crate) fn by(status: &HookStatus) -> Option<Self> {
        let options = &status.command.as_ref()?.options;
        evaluate::socket_of(options).map(Self::try_at)
    }

    /// Takes what is known already of the same gateway.
    fn or(&self, asked: Self) -> Self {
        Self {
            is_reachable: if asked.socket == self.socket {
                self.is_reachable
            } else {
                asked.is_reachable
            },
            ..asked
        }
    }

    fn try_at(socket: PathBuf) -> Self {
        let is_reachable = UnixStream::connect(&socket).is_ok();
        Self {
            socket,
            is_reachable,
        }
    }

    fn sentence(&self) -> String {
        let socket = self.socket.display();
        if self.is_reachable {
            format!("reachable at {socket}")
        } else {
            format!("not reachable at {socket}; start it with `mcpproxy serve`")
        }
    }
}

fn show(status: &HookStatus, wanted: Option<FailMode>) -> Result<()> {
    let (agent, scope) = (status.agent, scope_name(status.scope));
    let state = match (status.is_installed, status.fail) {
        (false, _) => "not installed".to_owned(),
        (true, None) => "installed".to_owned(),
        (true, Some(fail)) => format!("installed, fails {}", fail.name()),
    };
    output::line(&format!("{agent} ({scope}): {state}"))?;
    let line = |text: &str| output::line(&format!("  {}", output::flat(text)));
    for path in status.files.iter().filter(|_| status.is_installed) {
        line(&path.display().to_string())?;
    }
    for fault in &status.faults {
        line(&format!("fault: {fault}"))?;
    }
    match status.trust {
        Trust::Missing => line(&format!(
            "fault: {agent} does not run it until it is trusted"
        ))?,
        Trust::Unknown => line(&format!("note: whether {agent} trusts it cannot be told"))?,
        Trust::NotAsked | Trust::Given => {}
    }
    for path in &status.also_in {
        line(&also(path))?;
    }
    if let (Some(fail), Some(wanted)) = (status.fail, wanted)
        && fail != wanted
    {
        let name = wanted.name();
        line(&format!(
            "note: the configuration says {name}; install it again to follow"
        ))?;
    }
    Ok(())
}

fn also(path: &Path) -> String {
    format!("note: runs a second time from {}", path.display())
}

fn row(seen: &Seen) -> Value {
    let Seen {
        status,
        asked,
        last_event,
    } = seen;
    json!({
        "socket": asked.as_ref().map(|asked| &asked.socket),
        "reachable": asked.as_ref().map(|asked| asked.is_reachable),
        "last_event": last_event,
        "agent": status.agent.name(),
        "scope": scope_name(status.scope),
        "installed": status.is_installed,
        "sound": status.is_sound(),
        "files": status.files,
        "faults": status.faults,
        "trust": status.trust.name(),
        "program": status.command.as_ref().map(|command| &command.program),
        "runnable": status.is_runnable,
        "fail": status.fail.map(FailMode::name),
        "timeout_ms": status.timeout_ms,
        "also_in": status.also_in,
    })
}
