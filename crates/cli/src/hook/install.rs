//! `hook install` and `hook uninstall`: our hook into the agents' files, and out of them.
//!
//! How an agent's file is read and changed is the `agents` crate's work; here is which agents, with
//! which command, and what the user sees.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use mcpproxy_agents::hook::{self, FailMode, HookAgent, HookCommand, HookPlan, HookStatus};
use mcpproxy_agents::{Error, Places, Scope};
use mcpproxy_config::Loaded;
use mcpproxy_control::prepare_data_dir;
use mcpproxy_core::{Clock as _, SystemClock};
use serde_json::{Value, json};

use crate::args::{Format, Global};
use crate::daemon::{configuration, flags};
use crate::exit::{Exit, bad_input, failed};
use crate::output;
use crate::places::{elsewhere, repository};

/// The folder of originals in the data folder.
const BACKUPS: &str = "hook-backups";

/// What somebody is told whose hook is about to let more pass than before.
const LOOSENED: &str =
    "the hook now fails open; it failed closed before: add `--fail-closed` to keep that";

/// The program as it is called where it is installed.
const PROGRAM: &str = "mcpproxy";

/// How the hook is to be installed.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct Install {
    /// The agent, as `claude-code`; may be given several times.
    #[arg(long = "agent", value_name = "NAME", required_unless_present = "all")]
    agents: Vec<String>,
    /// All agents that are found.
    #[arg(long, conflicts_with = "agents")]
    all: bool,
    /// For this user everywhere, or for the project at hand.
    #[arg(long, value_enum, default_value = "user")]
    scope: ScopeName,
    /// Do not let tools be used while the gateway cannot be asked.
    #[arg(long, conflicts_with = "fail_open")]
    fail_closed: bool,
    /// Let tools be used while the gateway cannot be asked; the configuration decides if neither
    /// is given.
    #[arg(long)]
    fail_open: bool,
    /// Show what would be done and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// From where the hook is to be taken out.
#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {
    /// Only of these agents.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// Only for this user everywhere, or only for the project at hand.
    #[arg(long, value_enum)]
    scope: Option<ScopeName>,
    /// Show what would be done and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Whom a hook is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeName {
    /// One user, in every project.
    User,
    /// One project, for all who work on it.
    Project,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::User => Self::User,
            ScopeName::Project => Self::Project,
        }
    }
}

/// Installs the hook, or shows what that would be.
pub(crate) fn install(global: &Global, args: &Install) -> Result<Exit> {
    let places = repository()?;
    let agents = if args.all {
        let present = HookAgent::ALL.into_iter();
        present
            .filter(|agent| hook::is_present(*agent, &places))
            .collect()
    } else {
        named(&args.agents)?
    };
    if agents.is_empty() {
        let hint = "name one with `--agent`";
        return Err(bad_input("no agent that has hooks was found", Some(hint)));
    }
    let loaded = configuration(&flags(global, None))?;
    let scope = args.scope.into();
    let command = command(args, &loaded, &places, scope)?;
    let plan = |agent: HookAgent| {
        let mut plan = hook::plan_install(agent, scope, &places, &command)?;
        let failed = hook::status(agent, scope, &places).fail;
        let is_open = command.fail == FailMode::Open && !args.fail_open;
        if failed == Some(FailMode::Closed) && is_open {
            plan.notes.push(LOOSENED.to_owned());
        }
        let elsewhere = elsewhere(&places).filter(|_| scope == Scope::Project);
        plan.notes.extend(elsewhere);
        Ok(plan)
    };
    let plans = agents.into_iter().map(|agent| (agent, plan(agent)));
    let change = Change {
        format: global.format(),
        is_dry: args.dry_run,
        data_dir: &loaded.config.gateway.data_dir,
    };
    change.carry_out(plans.collect())
}

/// Takes the hook out, or shows what that would be.
pub(crate) fn uninstall(global: &Global, args: &Uninstall) -> Result<Exit> {
    let places = repository()?;
    let data_dir = crate::daemon::data_dir(&flags(global, None));
    let named = named(&args.agents)?;
    let scope = args.scope.map(Scope::from);
    let mut found = hook::status_all(&places);
    found.retain(|status| named.is_empty() || named.contains(&status.agent));
    found.retain(|status| scope.is_none_or(|scope| scope == status.scope));
    let backups = data_dir.join(BACKUPS);
    let plan = |status: &HookStatus| {
        let (agent, scope) = (status.agent, status.scope);
        (agent, hook::plan_uninstall(agent, scope, &places, &backups))
    };
    let plans: Vec<_> = found.iter().map(plan).collect();
    if plans.is_empty() {
        let project = places.project.display();
        output::note(&format!(
            "no hook of ours is installed for this user or in `{project}`"
        ));
    }
    let change = Change {
        format: global.format(),
        is_dry: args.dry_run,
        data_dir: &data_dir,
    };
    change.carry_out(plans)
}

/// Reads the names of agents.
pub(super) fn named(names: &[String]) -> Result<Vec<HookAgent>> {
    let read = |name: &String| {
        HookAgent::from_name(name).ok_or_else(|| {
            let known = HookAgent::ALL.map(HookAgent::name).join(", ");
            let hint = format!("known are {known}");
            bad_input(format!("unknown agent `{name}`"), Some(&hint))
        })
    };
    names.iter().map(read).collect()
}

/// Returns the name of a scope.
pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Project => "project",
    }
}

/// Makes the command that agents shall run.
fn command(args: &Install, loaded: &Loaded, places: &Places, scope: Scope) -> Result<HookCommand> {
    let program = crate::program::own()?;
    let program = lasting(program, &std::env::var_os("PATH").unwrap_or_default());
    let text = program.to_str().map(str::to_owned);
    let program = text.ok_or_else(|| {
        let message = format!(
            "the path of this program, `{}`, is not UTF-8",
            program.display()
        );
        failed(message, Some("put it into another folder"))
    })?;
    let is_open = loaded.config.security.agent_hooks.fail_open;
    let is_open = args.fail_open || (is_open && !args.fail_closed);
    Ok(HookCommand {
        program,
        fail: if is_open {
            FailMode::Open
        } else {
            FailMode::Closed
        },
        options: data_dir_option(&loaded.config.gateway.data_dir, places, scope)?,
    })
}

/// Returns a path of the program that outlives an update: the place in `PATH` that leads to it,
/// since what it leads to may have a version in its name.
fn lasting(program: PathBuf, search: &OsStr) -> PathBuf {
    let Ok(real) = program.canonicalize() else {
        return program;
    };
    let found = std::env::split_paths(search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(PROGRAM))
        .find(|place| place.canonicalize().is_ok_and(|it| it == real));
    found.unwrap_or(program)
}

/// Says where the data folder is: the command reads no configuration, agents run it with another
/// environment, and whoever can set a variable must not choose who is asked. In the file of a project
/// the usual folder is that of whoever works on it.
fn data_dir_option(data_dir: &Path, places: &Places, scope: Scope) -> Result<Vec<String>> {
    let whole = std::path::absolute(data_dir).context("cannot tell where the data folder is")?;
    if scope == Scope::Project && whole == places.home.join(".mcpproxy") {
        return Ok(["--data-dir", "~/.mcpproxy"].map(str::to_owned).to_vec());
    }
    let text = whole.to_str().map(str::to_owned);
    let text = text.ok_or_else(|| {
        let message = format!("the data folder `{}` is not UTF-8", whole.display());
        failed(message, Some("choose another with `--data-dir`"))
    })?;
    Ok(vec!["--data-dir".to_owned(), text])
}

/// How plans are carried out and shown.
struct Change<'a> {
    format: Format,
    is_dry: bool,
    data_dir: &'a Path,
}

impl Change<'_> {
    /// Carries plans out one by one: an agent whose file is broken does not stop the others.
    fn carry_out(&self, plans: Vec<(HookAgent, Result<HookPlan, Error>)>) -> Result<Exit> {
        let mut exit = Exit::Fine;
        let mut rows = Vec::new();
        for (agent, plan) in plans {
            let done = plan.and_then(|plan| self.one(&plan).map(|written| (plan, written)));
            match done {
                Ok((plan, written)) => rows.push(self.show(&plan, &written)?),
                Err(fault) => {
                    output::error(&fault.to_string(), fault.remedy());
                    rows.push(json!({ "agent": agent.name(), "error": fault.to_string() }));
                    exit = Exit::Error;
                }
            }
        }
        if self.is_dry {
            output::note("nothing was changed; without `--dry-run` this is what would be done");
        }
        if self.format != Format::Table {
            output::rows(self.format, &[], &rows)?;
        }
        Ok(exit)
    }

    fn one(&self, plan: &HookPlan) -> Result<Vec<PathBuf>, Error> {
        if self.is_dry || plan.changes().next().is_none() {
            return Ok(Vec::new());
        }
        prepare_data_dir(self.data_dir).map_err(|fault| Error::Io {
            action: "prepare",
            path: self.data_dir.to_owned(),
            source: std::io::Error::other(fault.to_string()),
        })?;
        let label = SystemClock::start().wall().rfc3339().replace(':', "-");
        hook::carry_out(plan, &self.data_dir.join(BACKUPS), &label)
    }

    fn show(&self, plan: &HookPlan, written: &[PathBuf]) -> Result<Value> {
        let (agent, scope) = (plan.agent, scope_name(plan.scope));
        let table = self.format == Format::Table;
        let is_idle = plan.changes().next().is_none();
        if table && is_idle {
            let files = plan
                .files
                .iter()
                .map(|file| file.path.display().to_string());
            let files = files.collect::<Vec<_>>().join(", ");
            output::line(&format!("{agent} ({scope}): nothing to be done in {files}"))?;
        }
        for file in plan.changes().filter(|_| table) {
            if self.is_dry {
                output::line(file.diff().trim_end())?;
            } else {
                output::line(&format!(
                    "{agent} ({scope}): changed {}",
                    file.path.display()
                ))?;
            }
        }
        for note in &plan.notes {
            output::note(&format!("note: {}", output::flat(note)));
        }
        let diffs: Vec<Value> = plan
            .changes()
            .map(|file| json!({ "path": file.path, "diff": file.diff() }))
            .collect();
        Ok(json!({
            "agent": agent.name(),
            "scope": scope,
            "files": plan.files.iter().map(|file| &file.path).collect::<Vec<_>>(),
            "diffs": diffs,
            "changed": written,
            "notes": plan.notes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn the_program_is_named_by_a_path_that_outlives_an_update() {
        let folder = tempfile::tempdir().unwrap();
        let [real, link, other] = ["real-1.2", "bin", "other"].map(|it| folder.path().join(it));
        for place in [&real, &link, &other] {
            std::fs::create_dir(place).unwrap();
        }
        let program = real.join(PROGRAM);
        std::fs::write(&program, "").unwrap();
        std::fs::write(other.join(PROGRAM), "").unwrap();
        std::os::unix::fs::symlink(&program, link.join(PROGRAM)).unwrap();
        let check = |search: &[&PathBuf], expect: &Path| {
            let search: OsString = std::env::join_paths(search).unwrap();
            assert_eq!(lasting(program.clone(), &search), expect.join(PROGRAM));
        };
        check(&[&other, &link], &link);
        check(&[&other], &real);
        check(&[], &real);
    }

    #[test]
    fn the_data_folder_is_said_whatever_the_environment_says() {
        let os = mcpproxy_agents::Os::Linux;
        let places = Places::usual("/me".as_ref(), "/shop".as_ref(), os);
        let check = |folder: &str, scope: Scope, expect: &str| {
            let said = data_dir_option(folder.as_ref(), &places, scope).unwrap();
            assert_eq!(said, ["--data-dir", expect], "{folder}");
        };
        check("/me/.mcpproxy", Scope::User, "/me/.mcpproxy");
        check("/me/.mcpproxy", Scope::Project, "~/.mcpproxy");
        check("/srv/proxy", Scope::User, "/srv/proxy");
        check("/srv/proxy", Scope::Project, "/srv/proxy");
    }
}
