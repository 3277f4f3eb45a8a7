//! `hook status`: what is installed for which agent, what is wrong with it, and whether the gateway
//! can be asked.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::Result;
use mcpproxy_agents::hook::{self, FailMode, HookStatus, Trust};
use mcpproxy_agents::{Places, Scope};
use mcpproxy_front::evaluate;
use serde_json::{Value, json};

use super::install::{named, scope_name};
use crate::args::{Format, Global};
use crate::daemon::{SOCKET, configuration, data_dir, flags};
use crate::exit::Exit;
use crate::output;
use crate::places::places;

/// Which hooks to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Only those of these agents.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
}

/// Shows the hooks that are installed.
pub(crate) fn run(global: &Global, args: &Status) -> Result<Exit> {
    let found = found(&args.agents, &places()?)?;
    let flags = flags(global, None);
    let gateway = Reached::try_at(data_dir(&flags).join(SOCKET));
    // A configuration that cannot be loaded is for `config check` to explain.
    let hooks = configuration(&flags).ok();
    let hooks = hooks.map(|loaded| loaded.config.security.agent_hooks);
    let wanted = hooks.as_ref().map(|hooks| {
        if hooks.fail_open {
            FailMode::Open
        } else {
            FailMode::Closed
        }
    });
    let is_off = hooks.is_some_and(|hooks| !hooks.enabled);
    let asked: Vec<Option<Reached>> = found.iter().map(Reached::by).collect();
    if global.format() == Format::Table {
        table(&found, &asked, &gateway, wanted)?;
        if is_off {
            let hint = "set `security.agent_hooks.enabled: true`";
            output::line(&format!(
                "hooks are switched off in the configuration; {hint}"
            ))?;
        }
    } else {
        let hooks = found.iter().zip(&asked);
        let hooks: Vec<Value> = hooks
            .map(|(status, asked)| row(status, asked.as_ref()))
            .collect();
        let gateway = json!({ "socket": gateway.socket, "reachable": gateway.is_reachable });
        let fail = wanted.map(FailMode::name);
        let all = json!({
            "gateway": gateway, "enabled": !is_off, "configured_fail": fail, "hooks": hooks,
        });
        output::value(global.format(), &all)?;
    }
    let is_faulty =
        |status: &HookStatus| !status.faults.is_empty() || status.trust == Trust::Missing;
    let installed = found.iter().any(|status| status.is_installed);
    // Where a file does not tell the command, it is one that asks as we would.
    let is_cut_off = |(status, asked): (&HookStatus, &Option<Reached>)| {
        let asked = asked.as_ref().unwrap_or(&gateway);
        status.is_installed && !asked.is_reachable
    };
    let is_wrong = found.iter().any(is_faulty)
        || found.iter().zip(&asked).any(is_cut_off)
        || (is_off && installed);
    Ok(if is_wrong { Exit::Findings } else { Exit::Fine })
}

fn found(names: &[String], places: &Places) -> Result<Vec<HookStatus>> {
    let agents = named(names)?;
    if agents.is_empty() {
        return Ok(hook::status_all(places));
    }
    let scopes = [Scope::User, Scope::Project];
    let each = agents
        .into_iter()
        .flat_map(|agent| scopes.map(|scope| hook::status(agent, scope, places)));
    Ok(each.collect())
}

/// Whether the gateway can be asked.
struct Reached {
    socket: PathBuf,
    is_reachable: bool,
}

impl Reached {
    /// Tries where the installed command asks, which may be elsewhere than we would.
    fn by(status: &HookStatus) -> Option<Self> {
        let options = &status.command.as_ref()?.options;
        evaluate::socket_of(options).map(Self::try_at)
    }

    fn try_at(socket: PathBuf) -> Self {
        let is_reachable = UnixStream::connect(&socket).is_ok();
        Self {
            socket,
            is_reachable,
        }
    }
}

fn table(
    found: &[HookStatus],
    asked: &[Option<Reached>],
    gateway: &Reached,
    wanted: Option<FailMode>,
) -> Result<()> {
    if !found.iter().any(|status| status.is_installed) {
        output::line("no hook is installed; `mcpproxy hook install --agent NAME` installs one")?;
    }
    for (status, asked) in found.iter().zip(asked) {
        show(status, wanted)?;
        let elsewhere = asked
            .as_ref()
            .filter(|asked| asked.socket != gateway.socket);
        if let Some(asked) = elsewhere {
            let word = if asked.is_reachable {
                "reachable"
            } else {
                "not reachable"
            };
            let socket = asked.socket.display();
            output::line(&format!("  asks another gateway: {word} at {socket}"))?;
        }
    }
    let socket = gateway.socket.display();
    output::line(&if gateway.is_reachable {
        format!("gateway: reachable at {socket}")
    } else {
        format!("gateway: not reachable at {socket}; start it with `mcpproxy serve`")
    })
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

fn row(status: &HookStatus, asked: Option<&Reached>) -> Value {
    json!({
        "socket": asked.map(|asked| &asked.socket),
        "reachable": asked.map(|asked| asked.is_reachable),
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
