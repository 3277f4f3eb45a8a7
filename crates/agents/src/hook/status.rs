//! Looks at what is installed and says what is wrong with it. Changes nothing.
//!
//! Whether the daemon runs and whether events arrive is not known here.

use std::path::{Path, PathBuf};

use super::command::{DEADLINE, FailMode, HookCommand, quoted};
use super::merge;
use super::plan::{read, refused, scopes, targets};
use super::spot::{self, Spot};
use super::target::{Body, MARK, Setting, Target};
use super::{HookAgent, command::Own};
use crate::error::Error;
use crate::files;
use crate::places::{Os, Places, Scope};
use crate::tree::{Node, Value};

/// Whether an agent runs our hook, as far as it asks its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The agent does not ask.
    NotAsked,
    /// The user has said yes.
    Given,
    /// The user has not said yes: the hook does not run.
    Missing,
    /// It cannot be told from here.
    Unknown,
}

impl Trust {
    /// Returns the name for people and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAsked => "not asked",
            Self::Given => "given",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// What is installed for one agent in one scope.
#[derive(Clone, Debug)]
pub struct HookStatus {
    /// The agent.
    pub agent: HookAgent,
    /// Whom the files speak for.
    pub scope: Scope,
    /// Where the hook stands, or would.
    pub files: Vec<PathBuf>,
    /// Whether anything of ours is there.
    pub is_installed: bool,
    /// What is wrong, each with what to do about it.
    pub faults: Vec<String>,
    /// Whether the agent runs it.
    pub trust: Trust,
    /// The command that is installed.
    pub command: Option<HookCommand>,
    /// Whether its program is there and can be run.
    pub is_runnable: bool,
    /// What it answers when the daemon does not.
    pub fail: Option<FailMode>,
    /// After how many milliseconds the agent gives it up, where the file says so.
    pub timeout_ms: Option<u64>,
    /// Other files from which the agent also runs our hook.
    pub also_in: Vec<PathBuf>,
    /// The data folder of the gateway that it asks, as it is written on a command line, where it is
    /// not the usual one.
    folder: Option<String>,
}

/// Looks at the hook of one agent in one scope.
pub fn status(agent: HookAgent, scope: Scope, places: &Places) -> HookStatus {
    let mut status = HookStatus {
        agent,
        scope,
        files: Vec::new(),
        is_installed: false,
        faults: Vec::new(),
        trust: Trust::NotAsked,
        command: None,
        is_runnable: false,
        fail: None,
        timeout_ms: None,
        also_in: Vec::new(),
        folder: None,
    };
    // An agent that has no hooks in a scope has nothing installed there.
    let Ok(targets) = targets(agent, scope, places) else {
        return status;
    };
    for target in &targets {
        status.files.push(target.path.clone());
        if let Err(error) = status.look(target, places) {
            let remedy = error.remedy().map(|remedy| format!("; {remedy}"));
            let fault = format!("{error}{}", remedy.unwrap_or_default());
            status.faults.push(fault);
        }
    }
    status.finish(places);
    status
}

/// Looks at the hooks of all agents in all scopes; those with nothing to say are left out.
pub fn status_all(places: &Places) -> Vec<HookStatus> {
    let all = HookAgent::ALL.into_iter().flat_map(|agent| {
        let scopes = scopes(agent, places).into_iter();
        scopes.map(move |scope| status(agent, scope, places))
    });
    all.filter(|status| status.is_installed || !status.faults.is_empty())
        .collect()
}

impl HookStatus {
    /// Says whether the hook is installed and nothing is known to be wrong with it.
    pub fn is_sound(&self) -> bool {
        self.is_installed && self.faults.is_empty() && self.trust != Trust::Missing
    }

    /// Returns the command that writes it anew as it is: no weaker, and asking the same gateway.
    pub fn remedy(&self) -> String {
        self.install(self.fail, self.folder.as_deref())
    }

    /// Returns the command that writes it anew to fail as the configuration says.
    pub fn renewal(&self) -> String {
        self.install(None, self.folder.as_deref())
    }

    /// Returns the command that writes it anew to ask the gateway of another data folder.
    pub fn moved(&self, folder: &Path, os: Os) -> String {
        let folder = quoted(&folder.display().to_string(), os);
        self.install(self.fail, Some(&folder))
    }

    fn install(&self, fail: Option<FailMode>, folder: Option<&str>) -> String {
        let scope = match self.scope {
            Scope::User => "",
            Scope::Project => " --scope project",
        };
        let fail = match fail {
            Some(FailMode::Closed) => " --fail-closed",
            // The configuration decides, and can only be stricter.
            Some(FailMode::Open) | None => "",
        };
        let folder = folder.map(|folder| format!(" --data-dir {folder}"));
        let (agent, folder) = (self.agent.name(), folder.unwrap_or_default());
        format!("mcpproxy hook install --agent {agent}{scope}{fail}{folder}")
    }

    fn again(&self, fault: &str) -> String {
        format!("{fault}; run `{}` again", self.remedy())
    }

    fn look(&mut self, target: &Target, places: &Places) -> Result<(), Error> {
        let Some(text) = read(&target.path)? else {
            return Ok(());
        };
        match &target.body {
            Body::Json { .. } => self.look_at_json(target, &text, places),
            Body::Text { is_executable, .. } => {
                self.look_at_text(target, &text, *is_executable, places);
                Ok(())
            }
        }
    }

    fn look_at_json(&mut self, target: &Target, text: &str, places: &Places) -> Result<(), Error> {
        let root = merge::parse(text).map_err(|refusal| refused(&target.path, refusal))?;
        let spots = spot::find(&root);
        let Some(first) = spots.first() else {
            return Ok(());
        };
        self.is_installed = true;
        self.learn(&first.own, places);
        let adapter = self.agent.adapter();
        self.faults.extend(adapter.obstacles(&root));
        if adapter.is_strict()
            && let Err(fault) = serde_json::from_str::<serde::de::IgnoredAny>(text)
        {
            let (agent, path) = (self.agent, target.path.display());
            self.faults.push(format!(
                "{agent} takes only strict JSON and rejects `{path}`: {fault}"
            ));
        }
        self.twice(target, &spots, &first.own, places);
        self.trust = adapter.trust(places, self.scope, &spots);
        self.compare(target, &root, &first.own, places);
        let timeouts = spots.iter().filter_map(|spot| self.timeout(&root, spot));
        self.timeout_ms = timeouts.min();
        Ok(())
    }

    fn look_at_text(&mut self, target: &Target, text: &str, must_run: bool, places: &Places) {
        if !text.contains(MARK) {
            return;
        }
        self.is_installed = true;
        let wanted = match in_text(text) {
            Some(own) => {
                self.learn(&own, places);
                self.wanted(&own.command, places)
            }
            // Not every text holds the command; then it is always the same.
            None => targets(self.agent, self.scope, places).unwrap_or_default(),
        };
        let same = wanted.iter().any(|wanted| {
            let is_text = matches!(&wanted.body, Body::Text { text: it, .. } if it == text);
            wanted.path == target.path && is_text
        });
        if !same {
            self.differs(&target.path, "the text");
        }
        if must_run && !files::is_executable(&target.path) {
            let path = target.path.display();
            self.faults
                .push(format!("`{path}` cannot be run; `chmod +x` it"));
        }
    }

    fn learn(&mut self, own: &Own, places: &Places) {
        self.folder = unusual(&own.command.options, places);
        self.is_runnable = files::is_executable(Path::new(&own.command.program));
        self.fail = Some(own.command.fail);
        self.command = Some(own.command.clone());
        if !own.says_fail {
            let fault = "the command does not say what to answer without the daemon";
            let fault = self.again(fault);
            self.faults.push(fault);
        }
    }

    /// Compares what stands in the file with what would be written for the same command.
    fn compare(&mut self, target: &Target, root: &Node, own: &Own, places: &Places) {
        for wanted in self.wanted(&own.command, places) {
            let Body::Json { entries, .. } = &wanted.body else {
                continue;
            };
            for entry in entries.iter().filter(|_| wanted.path == target.path) {
                let items = root.at(&entry.list).and_then(Node::items);
                let mut items = items.unwrap_or_default().iter();
                if !items.any(|item| holds(item, &entry.item)) {
                    let place = entry.list.last().map_or("hooks", String::as_str);
                    self.differs(&target.path, &format!("`{place}`"));
                }
            }
        }
    }

    /// Finds lists in which more of ours stands than we write.
    fn twice(&mut self, target: &Target, spots: &[Spot], own: &Own, places: &Places) {
        for wanted in self.wanted(&own.command, places) {
            let Body::Json { entries, .. } = &wanted.body else {
                continue;
            };
            let mut lists: Vec<_> = entries.iter().map(|entry| &entry.list).collect();
            lists.dedup();
            for list in lists.into_iter().filter(|_| wanted.path == target.path) {
                let meant = entries.iter().filter(|entry| entry.list == *list).count();
                let found = spots.iter().filter(|spot| spot.is_in(list)).count();
                if found > meant {
                    let place = list.last().map_or("hooks", String::as_str);
                    let path = target.path.display();
                    let fault = format!("`{place}` in `{path}` runs our hook {found} times");
                    let fault = self.again(&fault);
                    self.faults.push(fault);
                }
            }
        }
    }

    fn wanted(&self, command: &HookCommand, places: &Places) -> Vec<Target> {
        let setting = Setting {
            agent: self.agent,
            places,
            scope: self.scope,
            command,
        };
        self.agent.adapter().targets(&setting).unwrap_or_default()
    }

    fn timeout(&self, root: &Node, spot: &Spot) -> Option<u64> {
        let item = spot.item(root)?;
        let inner = item.get("hooks").and_then(Node::items);
        let handler = inner.and_then(<[_]>::first).unwrap_or(item);
        self.agent.adapter().timeout(handler)
    }

    fn differs(&mut self, path: &Path, what: &str) {
        let fault = format!("{what} in `{}` is not as we write it", path.display());
        let fault = self.again(&fault);
        self.faults.push(fault);
    }

    /// Looks at what can only be told when all files were seen.
    fn finish(&mut self, places: &Places) {
        if !self.is_installed {
            return;
        }
        for path in self.files.clone() {
            if !has_hook(&path) {
                let fault = format!("`{}` holds nothing of ours", path.display());
                let fault = self.again(&fault);
                self.faults.push(fault);
            }
        }
        if let Some(command) = self.command.as_ref().filter(|_| !self.is_runnable) {
            let fault = format!("`{}` is not there or cannot be run", command.program);
            let fault = self.again(&fault);
            self.faults.push(fault);
        }
        let deadline = u64::try_from(DEADLINE.as_millis()).unwrap_or(u64::MAX);
        if self.timeout_ms.is_some_and(|timeout| timeout <= deadline) {
            let fault = "the agent gives the hook up before it has answered";
            let fault = self.again(fault);
            self.faults.push(fault);
        }
        self.faults.extend(self.switched_off(places));
        self.also_in = self.others(places);
    }

    /// Finds what keeps the hook from running in files in which it does not stand. One that cannot
    /// be read says nothing about it.
    fn switched_off(&self, places: &Places) -> Vec<String> {
        let adapter = self.agent.adapter();
        let mut files = adapter.settings(places);
        files.retain(|path| !self.files.contains(path));
        files.dedup();
        let found = files.iter().filter_map(|path| {
            let root = merge::parse(&read(path).ok().flatten()?).ok()?;
            let faults = adapter.obstacles(&root).into_iter();
            Some(faults.map(move |fault| format!("`{}`: {fault}", path.display())))
        });
        found.flatten().collect()
    }

    /// Finds other files from which the agent also runs our hook.
    fn others(&self, places: &Places) -> Vec<PathBuf> {
        let other = match self.scope {
            Scope::User => Scope::Project,
            Scope::Project => Scope::User,
        };
        let own = targets(self.agent, other, places).unwrap_or_default();
        let own = own.into_iter().filter(runs).map(|target| target.path);
        let files = own.chain(self.agent.adapter().borrows(places));
        let mut others = Vec::new();
        for path in files.filter(|path| !self.files.contains(path) && has_hook(path)) {
            // In the home folder the user's file is the project's, too.
            if !others.contains(&path) {
                others.push(path);
            }
        }
        others
    }
}

/// Returns the data folder that a command names, where `hook install` would not take it anyway.
fn unusual(options: &[String], places: &Places) -> Option<String> {
    let at = options.iter().position(|option| option == "--data-dir")?;
    let folder = options.get(at + 1)?;
    let path = Path::new(folder);
    let is_usual = path == places.home.join(".mcpproxy");
    (path.is_absolute() && !is_usual).then(|| quoted(folder, places.os))
}

/// Says whether an item is what we write. Others may have put handlers of theirs beside ours: the
/// agent runs all of a group.
fn holds(item: &Node, wanted: &Node) -> bool {
    let Some(handlers) = item.get("hooks").and_then(Node::items) else {
        return item.same(wanted);
    };
    let ours = handlers.iter().filter(|handler| spot::is_ours(handler));
    let ours = Node::new(Value::List(ours.cloned().collect()));
    let members = item.members().unwrap_or_default().iter();
    let members = members.map(|member| match member.key.as_str() {
        "hooks" => ("hooks", ours.clone()),
        key => (key, member.value.clone()),
    });
    Node::map(members).same(wanted)
}

/// Says whether an agent runs something for what we write into a file.
fn runs(target: &Target) -> bool {
    match &target.body {
        Body::Json { entries, .. } => !entries.is_empty(),
        Body::Text { text, .. } => in_text(text).is_some(),
    }
}

/// Says whether a file holds something of ours.
fn has_hook(path: &Path) -> bool {
    let Ok(Some(text)) = read(path) else {
        return false;
    };
    let found = merge::parse(&text).is_ok_and(|root| !spot::find(&root).is_empty());
    found || text.contains(MARK)
}

/// Finds the command in a whole text of ours: a list of words, or a line that is run.
fn in_text(text: &str) -> Option<Own> {
    text.lines().find_map(|line| {
        let list = line.split_once("COMMAND = ").map(|(_, list)| list);
        let words = list.and_then(|list| serde_json::from_str(list.trim_end_matches(';')).ok());
        let words: Option<Vec<String>> = words;
        words.map_or_else(|| Own::in_line(line), |words| Own::in_words(&words))
    })
}
