//! `init`: finds the agents' configurations, imports their servers and points the agents here; and
//! `upstream import`, which only imports.
//!
//! Our own file is written first and the agents' files last, so that no agent ever points at a
//! gateway that does not have its servers. How an agent's file is read and changed is the `agents`
//! crate's work.

mod additions;
mod endpoint;
mod mask;
mod own;
mod record;
mod show;
mod survey;
mod undo;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use mcpproxy_agents::{
    self as agents, AgentKind, Endpoint, Found, MissingFolder, Note, Plan, Scope,
};
use mcpproxy_config::Loaded;
use mcpproxy_control::prepare_data_dir;
use mcpproxy_core::{Clock as _, SystemClock};

use self::additions::Additions;
use self::own::OwnFile;
use self::record::Record;
use self::show::Screen;
use self::survey::Survey;
use crate::args::{Global, Init};
use crate::exit::{Exit, bad_input, failed};
use crate::output;

/// The folder of backups and records in the data folder.
const BACKUPS: &str = "init-backups";

/// Points the agents here, shows what that would be, or takes it back.
pub(crate) fn run(global: &Global, args: &Init) -> Result<Exit> {
    if args.undo {
        return undo::run(global);
    }
    let named = survey::agents(&args.agents)?;
    let loaded = own::configuration(global)?;
    let endpoint = endpoint::endpoint(&loaded)?;
    let survey = Survey::take(&named, "init")?;
    let mut screen = Screen::new(global.format());
    screen.survey(&survey)?;
    let projects = match (args.yes, args.dry_run) {
        (true, _) if args.project => Projects::Of(named),
        (true, _) => Projects::None("`--project` with `--agent` would"),
        (false, true) => Projects::All,
        (false, false) => Projects::Asked,
    };
    let outlook = Outlook::new(&loaded, survey.found, &projects, &endpoint)?;
    screen.outlook(&outlook)?;
    if !outlook.changes() {
        output::note("nothing is to be done: no file would change");
        return screen.finish(&[]);
    }
    if args.dry_run {
        output::note("nothing was changed; without `--dry-run` this is what would be done");
        return screen.finish(&[]);
    }
    if !args.yes && !agrees("Change these files?")? {
        output::note("nothing was changed");
        return screen.finish(&[]);
    }
    let changed = outlook.carry_out(&loaded.config.gateway.data_dir)?;
    tell(&changed, &loaded);
    screen.finish(&changed)
}

/// Says what was changed, what comes next, and how to take it back.
fn tell(changed: &[PathBuf], loaded: &Loaded) {
    for path in changed {
        output::note(&format!("changed {}", path.display()));
    }
    let options = endpoint::same_options(loaded).join(" ");
    let command = |command: &str| {
        format!("mcpproxy {command} {options}")
            .trim_end()
            .to_owned()
    };
    output::note(&format!(
        "start the gateway with `{}`, then the agents anew",
        command("serve")
    ));
    output::note(&format!(
        "take all of this back with `{}`",
        command("init --undo")
    ));
}

/// Imports the servers of an agent, or of all agents, and leaves the agents' files alone.
pub(crate) fn import(global: &Global, agent: Option<&str>) -> Result<Exit> {
    let named: Vec<String> = agent.map(str::to_owned).into_iter().collect();
    let named = survey::agents(&named)?;
    let loaded = own::configuration(global)?;
    let endpoint = endpoint::endpoint(&loaded)?;
    let survey = Survey::take(&named, "upstream import")?;
    let mut screen = Screen::new(global.format());
    screen.survey(&survey)?;
    let projects = if has_terminal() {
        Projects::Asked
    } else {
        Projects::None("on a terminal you are asked")
    };
    let mut outlook = Outlook::new(&loaded, survey.found, &projects, &endpoint)?;
    outlook.plan.files.clear();
    let kept = |note: &Note| !matches!(note, Note::Retargeted { .. });
    outlook.plan.notes.retain(kept);
    screen.outlook(&outlook)?;
    if !outlook.changes() {
        output::note("there is nothing to import");
        return screen.finish(&[]);
    }
    outlook.own.write(&outlook.text)?;
    let path = outlook.own.path.clone();
    output::note(&format!(
        "changed {}; a running gateway picks it up by itself",
        path.display()
    ));
    screen.finish(&[path])
}

/// From which of the project's files is imported. Whoever wrote the project wrote them.
enum Projects {
    /// From none; the words say how one would.
    None(&'static str),
    /// From those of these agents.
    Of(Vec<AgentKind>),
    /// From all; only ever to show what would be.
    All,
    /// From those for which the user says so.
    Asked,
}

/// What will be done, all of it decided and nothing done yet.
struct Outlook {
    plan: Plan,
    additions: Additions,
    own: OwnFile,
    /// What our own file will say.
    text: String,
    /// Which files of the project take no part.
    skipped: Vec<String>,
}

impl Outlook {
    fn new(
        loaded: &Loaded,
        found: Vec<Found>,
        projects: &Projects,
        endpoint: &Endpoint,
    ) -> Result<Self> {
        let (found, skipped) = choose(found, projects, endpoint)?;
        let plan = agents::plan(&found, endpoint);
        let additions = Additions::beside(&plan.upstreams, &loaded.config.upstreams)?;
        let own = OwnFile::read(&loaded.target)?;
        let text = own.with(&additions.entries())?;
        own.check(&text)?;
        Ok(Self {
            plan,
            additions,
            own,
            text,
            skipped,
        })
    }

    fn changes(&self) -> bool {
        !self.additions.new.is_empty() || self.plan.changes().next().is_some()
    }

    /// Writes our own file, then the agents'. Returns what was changed.
    fn carry_out(&self, data_dir: &Path) -> Result<Vec<PathBuf>> {
        prepare_data_dir(data_dir)
            .map_err(|fault| failed(fault.to_string(), fault.remedy().as_deref()))?;
        let backups = data_dir.join(BACKUPS);
        let label = SystemClock::start().wall().rfc3339().replace(':', "-");
        let entries = self.additions.entries();
        let record = Record::begin(&backups, &label, &self.own, &entries)?;
        let mut changed = Vec::new();
        if !entries.is_empty() {
            // CRASH: from here on the record names upstreams that may not be in the file yet; an
            // undo takes back those that are.
            if let Err(fault) = self.own.write(&self.text) {
                record.discard()?;
                return Err(fault);
            }
            changed.push(self.own.path.clone());
        }
        match agents::apply(&self.plan, &backups, &label, MissingFolder::Refuse) {
            Ok(applied) => changed.extend(applied.written),
            Err(fault) if entries.is_empty() => {
                record.discard()?;
                let hint = Some("mend that and run `mcpproxy init` again");
                return Err(failed(fault.to_string(), hint));
            }
            Err(fault) => return Err(self.half_done(&fault)),
        }
        Ok(changed)
    }

    /// Says what was done when the agents' files could not be changed.
    fn half_done(&self, fault: &agents::Error) -> anyhow::Error {
        let names: Vec<_> = self
            .additions
            .new
            .iter()
            .map(|new| format!("`{}`", new.name))
            .collect();
        let own = format!("`{}` has got {}", self.own.path.display(), names.join(", "));
        let message = match fault {
            agents::Error::Stuck { .. } => format!("{own}, and then: {fault}"),
            _ => format!("{own}, but no agent's file was changed: {fault}"),
        };
        let hint = "run `mcpproxy init` again, or `mcpproxy init --undo` to take it back";
        failed(message, Some(hint))
    }
}

/// Leaves out the project's files from which nothing shall be imported, and says so.
fn choose(
    mut found: Vec<Found>,
    projects: &Projects,
    endpoint: &Endpoint,
) -> Result<(Vec<Found>, Vec<String>)> {
    // The user's own servers claim their names first.
    found.sort_by_key(|file| file.scope == Scope::Project);
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    for file in found {
        let alone = agents::plan(std::slice::from_ref(&file), endpoint);
        let harmless = file.scope == Scope::User || alone.changes().next().is_none();
        match if harmless {
            None
        } else {
            refusal(&file, projects)?
        } {
            Some(why) => skipped.push(format!(
                "nothing is imported from {}, which came with the project ({why})",
                file.path.display()
            )),
            None => chosen.push(file),
        }
    }
    Ok((chosen, skipped))
}

/// Says why nothing is imported from a file of the project, if so.
fn refusal(file: &Found, projects: &Projects) -> Result<Option<&'static str>> {
    Ok(match projects {
        Projects::All => None,
        Projects::None(how) => Some(*how),
        Projects::Of(agents) => {
            (!agents.contains(&file.agent)).then_some("`--agent` does not name its agent")
        }
        Projects::Asked => {
            let (path, count) = (file.path.display(), file.upstreams.len());
            let question =
                format!("Import {count} server(s) of {path}, which came with the project?");
            (!agrees(&question)?).then_some("you said so")
        }
    })
}

fn has_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Asks on the terminal; anything but a yes is a no.
fn agrees(question: &str) -> Result<bool> {
    if !has_terminal() {
        let hint = "use `--yes` to do it without being asked, `--dry-run` to only look";
        return Err(bad_input(
            "files would change, and there is no terminal to ask on",
            Some(hint),
        ));
    }
    output::question(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
