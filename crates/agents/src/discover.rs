//! Finds the agents' files and what they configure. Reads only.
//!
//! Nothing here fails: what cannot be read or understood is a problem of the file it stands in, and
//! such a file is never changed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::agent::{Adapter, AgentKind, List};
use crate::endpoint::{ENTRY_NAME, is_bridge};
use crate::entry::{self, Fields};
use crate::imported::{Imported, Transport};
use crate::places::{Location, Places, Scope};
use crate::problem::Problem;
use crate::shown::printable;
use crate::tree::{KeyPath, Member, Node, Syntax, Value};
use crate::vars::Context;

/// More than any agent writes; Claude Code's file, with its history, reaches some tens of MB.
const MAX_BYTES: u64 = 64 << 20;

/// A configuration file of an agent.
#[derive(Clone)]
pub struct Found {
    /// Whose file it is.
    pub agent: AgentKind,
    /// Where it is.
    pub path: PathBuf,
    /// Whom it speaks for.
    pub scope: Scope,
    /// The upstreams that can be imported. One that is taken out of here stays in the file.
    pub upstreams: Vec<Imported>,
    /// What the user should know.
    pub problems: Vec<Problem>,
    /// Entries that lead to mcpproxy already.
    pub(crate) own: Vec<Own>,
    /// The text, where the file exists and can be changed.
    pub(crate) text: Option<String>,
    /// Whether the file is to be made.
    pub(crate) new: bool,
}

/// An entry that leads to mcpproxy already, by its name or by its command.
#[derive(Clone)]
pub(crate) struct Own {
    pub(crate) at: KeyPath,
    /// Where it leads, when that can be read.
    pub(crate) transport: Option<Transport>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found")
            .field("agent", &self.agent)
            .field("path", &self.path)
            .field("scope", &self.scope)
            .field("upstreams", &self.upstreams)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

/// Finds every configuration file that exists, in the order in which names are claimed.
pub fn discover(places: &Places) -> Vec<Found> {
    // A project that is the home folder, or a link, must not lead to one file being changed twice.
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for agent in AgentKind::ALL {
        for location in agent.adapter().locations(places) {
            let real = fs::canonicalize(&location.path).unwrap_or_else(|_| location.path.clone());
            if fs::symlink_metadata(&location.path).is_err() {
                continue;
            }
            if leads_out(&location, &real) {
                all.push(unreadable(
                    agent,
                    &location,
                    "it is a link out of the project",
                ));
            } else if seen.insert(real) {
                all.push(open(agent, &location, places));
            }
        }
    }
    all
}

/// Says whether a project's file is a link to somewhere else. Whoever wrote the project could have
/// one of the user's own files read and changed as if it were the project's.
fn leads_out(location: &Location, real: &Path) -> bool {
    let project = location
        .project
        .as_deref()
        .filter(|_| location.scope == Scope::Project);
    project.is_some_and(|project| {
        let project = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        !real.starts_with(project)
    })
}

/// Makes the find for an agent that has no file yet, so that a plan can give it one.
///
/// Where the file exists it is read as `discover` does.
pub fn blank(agent: AgentKind, places: &Places) -> Option<Found> {
    let location = agent.adapter().locations(places).into_iter().next()?;
    if fs::symlink_metadata(&location.path).is_ok() {
        return Some(open(agent, &location, places));
    }
    let found = Found::new(agent, &location);
    Some(Found {
        text: Some(String::new()),
        new: true,
        ..found
    })
}

fn open(agent: AgentKind, location: &Location, places: &Places) -> Found {
    let text = match read(&location.path) {
        Ok(text) => text,
        Err(error) => return unreadable(agent, location, &error.to_string()),
    };
    let mut found = Found::new(agent, location);
    match agent.adapter().format().parse(&text) {
        Ok(root) => {
            found.scan(&root, location, places);
            let mut problems = found.problems.iter();
            if !problems.any(|problem| matches!(problem, Problem::Shape { .. })) {
                found.text = Some(text);
            }
        }
        Err(Syntax {
            line,
            column,
            message,
        }) => {
            found.problems.push(Problem::Syntax {
                line,
                column,
                message,
            });
        }
    }
    found
}

fn unreadable(agent: AgentKind, location: &Location, reason: &str) -> Found {
    let mut found = Found::new(agent, location);
    found.problems.push(Problem::Unreadable {
        reason: reason.to_owned(),
    });
    found
}

fn read(path: &Path) -> io::Result<String> {
    // Looked at before it is opened, since opening a pipe would wait for a writer.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {} MB",
            MAX_BYTES >> 20
        )));
    }
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

impl Found {
    fn new(agent: AgentKind, location: &Location) -> Self {
        Self {
            agent,
            path: location.path.clone(),
            scope: location.scope,
            upstreams: Vec::new(),
            problems: Vec::new(),
            own: Vec::new(),
            text: None,
            new: false,
        }
    }

    fn scan(&mut self, root: &Node, location: &Location, places: &Places) {
        let adapter = self.agent.adapter();
        if !matches!(root.value, Value::Map(_) | Value::Null) {
            self.shape("it does not hold a map".to_owned());
            return;
        }
        for list in adapter.lists(root, location) {
            match root
                .at(&list.path)
                .map(|node| (&node.value, node.members()))
            {
                None | Some((Value::Null, _)) => {}
                Some((_, None)) => self.shape(format!("`{}` is not a map", list.path.join("."))),
                Some((_, Some(members))) => {
                    self.check_twins(root, &list);
                    for member in members {
                        self.entry(adapter, member, &list, places);
                    }
                }
            }
        }
        let obstacles = adapter.obstacles(root).into_iter();
        self.problems
            .extend(obstacles.map(|reason| Problem::Obstacle { reason }));
    }

    fn shape(&mut self, reason: String) {
        self.problems.push(Problem::Shape { reason });
    }

    /// A list that is there twice counts once for the agent, and an edit could hit the other.
    fn check_twins(&mut self, root: &Node, list: &List) {
        let mut node = Some(root);
        for key in &list.path {
            let members = node.and_then(Node::members).unwrap_or_default();
            if members.iter().filter(|member| member.key == *key).count() > 1 {
                self.shape(format!("`{key}` is there twice"));
            }
            node = node.and_then(|node| node.get(key));
        }
    }

    fn entry(&mut self, adapter: &dyn Adapter, member: &Member, list: &List, places: &Places) {
        let mut at = list.path.clone();
        at.push(member.key.clone());
        // Of two entries with one name the last counts; both go.
        self.upstreams.retain(|earlier| earlier.at != at);
        let read = import(adapter, member, list, places, at.clone());
        let own = |transport| Own {
            at: at.clone(),
            transport,
        };
        match read {
            Ok(Some(found)) if found.is_own() => self.own.push(own(Some(found.transport))),
            Ok(Some(found)) => self.upstreams.push(found),
            Ok(None) => {}
            Err(_) if member.key == ENTRY_NAME => self.own.push(own(None)),
            Err(reason) => self.problems.push(Problem::Left {
                name: member.key.clone(),
                reason,
            }),
        }
    }
}

impl Imported {
    fn is_own(&self) -> bool {
        let bridge = match &self.transport {
            Transport::Stdio { command, args, .. } => is_bridge(command, args),
            Transport::Http { .. } | Transport::Sse { .. } => false,
        };
        bridge || self.name == ENTRY_NAME
    }
}

fn import(
    adapter: &dyn Adapter,
    member: &Member,
    list: &List,
    places: &Places,
    at: KeyPath,
) -> Result<Option<Imported>, String> {
    let mut fields = Fields::new(&member.value)?;
    let enabled = fields.enabled()? && !list.off.contains(&member.key);
    let Some(mut transport) = adapter.read(&mut fields)? else {
        return Ok(None);
    };
    let mut context = Context {
        dialect: adapter.dialect(),
        home: &places.home,
        project: list.project.as_deref(),
        variables: Vec::new(),
    };
    entry::settle(&mut transport, &mut context)?;
    let mut variables = context.variables;
    let references = adapter.references(&mut fields)?;
    entry::refer(&mut transport, references, &mut variables);
    Ok(Some(Imported {
        name: member.key.clone(),
        transport,
        enabled,
        ignored: fields.rest().iter().map(|key| printable(key)).collect(),
        variables,
        at,
    }))
}
