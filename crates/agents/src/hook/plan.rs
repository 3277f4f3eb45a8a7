//! Decides what an agent's files will say with our hook, or without it, and carries that out.
//!
//! Files are written in one step after copies of the originals have been made. A file that says
//! what we wrote gets its original back, byte for byte; from one that somebody changed since, only
//! our entries go.

use std::fs;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::command::HookCommand;
use super::merge::{self, Refusal};
use super::original::{Original, original};
use super::target::{Body, MARK, Setting, Target};
use super::{FailMode, HookAgent, spot};
use crate::apply::{self, Applied, Change, MissingFolder};
use crate::error::Error;
use crate::files;
use crate::places::{Places, Scope};
use crate::tree::Node;
use crate::{secrets, shown};

/// What will be done to the files of one agent.
#[derive(Clone, Debug)]
pub struct HookPlan {
    /// Whose files.
    pub agent: HookAgent,
    /// Whom they speak for.
    pub scope: Scope,
    /// The files, also those that stay as they are.
    pub files: Vec<HookFile>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What will be done to one file.
#[derive(Clone)]
pub struct HookFile {
    /// Where it is.
    pub path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    is_json: bool,
    is_executable: bool,
}

impl std::fmt::Debug for HookFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What the file says may hold secrets.
        f.debug_struct("HookFile")
            .field("path", &self.path)
            .field("changes", &self.changes())
            .finish_non_exhaustive()
    }
}

impl HookFile {
    /// Says whether the file will change.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// Returns a unified diff in which secrets are masked, empty where nothing changes.
    pub fn diff(&self) -> String {
        let shown = |text: &Option<String>| self.shown(text.as_deref().unwrap_or_default());
        let (old, new) = (shown(&self.before), shown(&self.after));
        let name = self.path.display().to_string();
        let header = |text: &Option<String>| text.as_ref().map_or("/dev/null", |_| name.as_str());
        let diff = TextDiff::from_lines(&old, &new);
        diff.unified_diff()
            .context_radius(3)
            .header(header(&self.before), header(&self.after))
            .to_string()
    }

    fn shown(&self, text: &str) -> String {
        if !self.is_json {
            return shown::printable(text);
        }
        // Both texts were parsed when they were planned.
        let masked = merge::parse(text).map(|root| secrets::mask_text(text, &root));
        shown::printable(&masked.unwrap_or_default())
    }
}

impl HookPlan {
    /// Returns the files that will change.
    pub fn changes(&self) -> impl Iterator<Item = &HookFile> {
        self.files.iter().filter(|file| file.changes())
    }
}

/// Plans to install the hook of an agent.
pub fn plan_install(
    agent: HookAgent,
    scope: Scope,
    places: &Places,
    command: &HookCommand,
) -> Result<HookPlan, Error> {
    if !scopes(agent, places).contains(&scope) {
        return Err(Error::NoHook {
            agent: agent.title(),
            reason: "in the home folder a project's file is the user's; leave `--scope project` out",
        });
    }
    let setting = Setting {
        agent,
        places,
        scope,
        command,
    };
    let mut plan = HookPlan::new(agent, scope);
    for target in agent.adapter().targets(&setting)? {
        let before = read(&target.path)?;
        let after = match &target.body {
            Body::Json { head, entries, .. } => {
                let text = before.as_deref().unwrap_or_default();
                let after = merge::install(text, head, entries)
                    .map_err(|refusal| refused(&target.path, refusal))?;
                let root = merge::parse(&after).unwrap_or_else(|_| Node::map([]));
                plan.notes.extend(agent.adapter().obstacles(&root));
                after
            }
            Body::Text { text, .. } => {
                check_ours(&target.path, before.as_deref())?;
                text.clone()
            }
        };
        plan.file(&target, before, Some(after));
    }
    plan.notes.extend(agent.adapter().after_install());
    Ok(plan)
}

/// Plans to take the hook of an agent out; `backups` is where the originals were kept.
pub fn plan_uninstall(
    agent: HookAgent,
    scope: Scope,
    places: &Places,
    backups: &Path,
) -> Result<HookPlan, Error> {
    let mut plan = HookPlan::new(agent, scope);
    for target in targets(agent, scope, places)? {
        let Some(before) = read(&target.path)? else {
            continue;
        };
        let after = match &target.body {
            Body::Json { .. } => without(&target, &before, backups)?,
            Body::Text { .. } if before.contains(MARK) => None,
            Body::Text { .. } => Some(before.clone()),
        };
        plan.file(&target, Some(before), after);
    }
    Ok(plan)
}

/// Carries a plan out. Copies of the originals go below `backups`; `now` labels them.
pub fn carry_out(plan: &HookPlan, backups: &Path, now: &str) -> Result<Vec<PathBuf>, Error> {
    let files: Vec<&HookFile> = plan.changes().collect();
    let changes: Vec<Change<'_>> = files
        .iter()
        .map(|file| Change {
            agent: plan.agent.name(),
            path: &file.path,
            before: file.before.as_deref(),
            after: file.after.as_deref(),
            is_executable: file.is_executable,
            taken: &[],
            put: None,
        })
        .collect();
    let Applied { written, .. } = apply::carry_out(&changes, backups, now, MissingFolder::Create)?;
    for file in files.iter().filter(|file| file.after.is_none()) {
        prune(&file.path);
    }
    Ok(written)
}

/// Lists the scopes in which an agent has files of their own: where the project is the home folder,
/// its files may be the user's.
pub fn scopes(agent: HookAgent, places: &Places) -> Vec<Scope> {
    let files = |scope: Scope| -> Vec<PathBuf> {
        let targets = targets(agent, scope, places).unwrap_or_default();
        targets.into_iter().map(|target| target.path).collect()
    };
    let mut scopes = vec![Scope::User, Scope::Project];
    if files(Scope::User) == files(Scope::Project) {
        scopes.pop();
    }
    scopes
}

/// Says whether there are signs that the user has the agent.
pub fn is_present(agent: HookAgent, places: &Places) -> bool {
    let traces = agent.adapter().traces(places);
    traces.iter().any(|trace| trace.exists())
}

impl HookPlan {
    fn new(agent: HookAgent, scope: Scope) -> Self {
        Self {
            agent,
            scope,
            files: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn file(&mut self, target: &Target, before: Option<String>, after: Option<String>) {
        let is_executable = match target.body {
            Body::Json { .. } => false,
            Body::Text { is_executable, .. } => is_executable,
        };
        self.files.push(HookFile {
            path: target.path.clone(),
            before,
            after,
            is_json: matches!(target.body, Body::Json { .. }),
            is_executable,
        });
    }
}

/// Returns the files of an agent's hook, whatever command they run.
pub(super) fn targets(
    agent: HookAgent,
    scope: Scope,
    places: &Places,
) -> Result<Vec<Target>, Error> {
    let command = HookCommand {
        program: "mcpproxy".to_owned(),
        fail: FailMode::Open,
        options: Vec::new(),
    };
    agent.adapter().targets(&Setting {
        agent,
        places,
        scope,
        command: &command,
    })
}

/// Reads a file; nothing where there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    let Some(bytes) = files::read(path)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).map_err(|_| Error::Broken {
        path: path.to_owned(),
        line: 1,
        column: 1,
        message: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some(text))
}

/// Says why a text was not changed.
pub(super) fn refused(path: &Path, refusal: Refusal) -> Error {
    let path = path.to_owned();
    match refusal {
        Refusal::Syntax(syntax) => Error::Broken {
            path,
            line: syntax.line,
            column: syntax.column,
            message: syntax.message,
        },
        Refusal::Shape { place, reason } => Error::Shape {
            path,
            place,
            reason,
        },
    }
}

fn check_ours(path: &Path, before: Option<&str>) -> Result<(), Error> {
    if before.is_some_and(|before| !before.contains(MARK)) {
        return Err(Error::Foreign {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Returns what a JSON file says without our entries; nothing where it goes.
fn without(target: &Target, before: &str, backups: &Path) -> Result<Option<String>, Error> {
    let refused = |refusal| refused(&target.path, refusal);
    if spot::find(&merge::parse(before).map_err(refused)?).is_empty() {
        return Ok(Some(before.to_owned()));
    }
    match original(&target.path, before, backups)? {
        Original::None => return Ok(None),
        Original::Text(text) => return Ok(Some(text)),
        Original::Unknown => {}
    }
    let after = merge::uninstall(before).map_err(refused)?;
    let root = merge::parse(&after).map_err(refused)?;
    let Body::Json { head, is_ours, .. } = &target.body else {
        return Ok(Some(after));
    };
    let mut members = root.members().unwrap_or_default().iter();
    let is_bare = members.all(|member| head.iter().any(|(key, _)| *key == member.key));
    Ok((!(*is_ours && is_bare)).then_some(after))
}

/// Removes the folders that were only there for a file of ours, as long as they are empty.
fn prune(path: &Path) {
    let folders = path.ancestors().skip(1);
    let is_ours = |folder: &&Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        matches!(name, Some("hooks" | "mcpproxy"))
    };
    for folder in folders.take_while(is_ours) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}
