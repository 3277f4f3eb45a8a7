//! Decides what each file will say and which upstreams mcpproxy takes over. Writes nothing.
//!
//! Every agent keeps exactly one entry. Planning on the result of a plan changes nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::agent::AgentKind;
use crate::discover::{Found, Own};
use crate::endpoint::{ENTRY_NAME, Endpoint};
use crate::imported::Imported;
use crate::names::{self, Claim};
use crate::note::{Note, Origin};
use crate::places::Scope;
use crate::secrets;
use crate::shown;
use crate::tree::{Edit, KeyPath, Put};

/// What will be done.
///
/// To leave a file or an upstream out, leave it out of the finds that are planned: its entry then
/// stays where it is.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The files, also those that stay as they are.
    pub files: Vec<PlannedFile>,
    /// The upstreams that mcpproxy takes over, with their final names.
    pub upstreams: Vec<PlannedUpstream>,
    /// What the user should know besides the problems of each file.
    pub notes: Vec<Note>,
}

/// An upstream that mcpproxy takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedUpstream {
    /// The upstream, under its final name.
    pub upstream: Imported,
    /// Where it was configured; several agents may have had the same.
    pub origins: Vec<Origin>,
}

/// What one file will say.
#[derive(Clone)]
pub struct PlannedFile {
    /// Whose file it is.
    pub agent: AgentKind,
    /// Where it is.
    pub path: PathBuf,
    /// Whom it speaks for.
    pub scope: Scope,
    /// What it says now; nothing when it is to be made.
    pub(crate) before: Option<String>,
    /// What it will say.
    pub(crate) after: String,
    /// The entries that are taken out, and the one that is put in.
    pub(crate) taken: Vec<KeyPath>,
    pub(crate) put: Option<KeyPath>,
}

impl fmt::Debug for PlannedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedFile")
            .field("agent", &self.agent)
            .field("path", &self.path)
            .field("scope", &self.scope)
            .field("changes", &self.changes())
            .finish_non_exhaustive()
    }
}

impl PlannedFile {
    /// Says whether the file will change.
    pub fn changes(&self) -> bool {
        self.before.as_deref() != Some(self.after.as_str())
    }

    /// Returns a unified diff in which secrets are masked, empty where nothing changes.
    pub fn diff(&self) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let (old, new) = (self.masked(before), self.masked(&self.after));
        let name = self.path.display().to_string();
        let from = if self.before.is_some() {
            name.as_str()
        } else {
            "/dev/null"
        };
        let diff = TextDiff::from_lines(&old, &new);
        diff.unified_diff()
            .context_radius(3)
            .header(from, &name)
            .to_string()
    }

    fn masked(&self, text: &str) -> String {
        // Both texts were parsed when they were planned.
        let root = self.agent.adapter().format().parse(text);
        let masked = root.map(|root| secrets::mask_text(text, &root));
        shown::printable(&masked.unwrap_or_default())
    }
}

impl Plan {
    /// Returns the files that will change.
    pub fn changes(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files.iter().filter(|file| file.changes())
    }

    /// Returns the unified diff of one file, with secrets masked.
    pub fn diff(&self, path: &Path) -> Option<String> {
        self.files
            .iter()
            .find(|file| file.path == path)
            .map(PlannedFile::diff)
    }
}

/// Plans to point the agents at `endpoint` and to take over their upstreams.
///
/// A user's file always receives the entry, since it shows that the agent is in use; a project's
/// file only in exchange for entries of its own.
pub fn plan(found: &[Found], endpoint: &Endpoint) -> Plan {
    let mut plan = Plan {
        files: Vec::new(),
        upstreams: Vec::new(),
        notes: Vec::new(),
    };
    for found in found {
        let Some(text) = &found.text else { continue };
        let change = Change::of(found, endpoint);
        match change.text(found, text) {
            Ok(after) => plan.file(found, after, &change.edit),
            Err(reason) => {
                let (agent, path) = (found.agent, found.path.clone());
                plan.notes.push(Note::Refused {
                    agent,
                    path,
                    reason,
                });
                continue;
            }
        }
        for stray in change.retargeted {
            let name = stray.at.last().cloned().unwrap_or_default();
            plan.notes.push(Note::Retargeted {
                origin: origin(found, name),
            });
        }
        for upstream in change.taken {
            plan.take(found, upstream);
        }
    }
    plan
}

/// What happens to one file.
struct Change<'a> {
    edit: Edit,
    taken: Vec<&'a Imported>,
    retargeted: Vec<&'a Own>,
}

impl<'a> Change<'a> {
    fn of(found: &'a Found, endpoint: &Endpoint) -> Self {
        let reached = |own: &Own| {
            own.transport
                .as_ref()
                .is_some_and(|t| endpoint.reached_by(t))
        };
        let (kept, stray): (Vec<&Own>, Vec<&Own>) = found.own.iter().partition(|own| reached(own));
        let (direct, taken): (Vec<&Imported>, Vec<&Imported>) = found
            .upstreams
            .iter()
            .partition(|upstream| endpoint.reached_by(&upstream.transport));
        let list = vec![found.agent.adapter().list().to_owned()];
        let here = |at: &KeyPath| at.split_last().is_some_and(|(_, parent)| parent == list);
        let has_entry =
            kept.iter().any(|own| here(&own.at)) || direct.iter().any(|up| here(&up.at));
        let gone = taken
            .iter()
            .map(|upstream| &upstream.at)
            .chain(stray.iter().map(|own| &own.at));
        let remove: Vec<KeyPath> = gone.cloned().collect();
        let wanted = found.scope == Scope::User || remove.iter().any(here);
        let put = (wanted && !has_entry).then(|| Put {
            list,
            name: ENTRY_NAME.to_owned(),
            entry: found.agent.adapter().entry(endpoint),
        });
        Self {
            edit: Edit { remove, put },
            taken,
            retargeted: stray,
        }
    }

    fn text(&self, found: &Found, text: &str) -> Result<String, String> {
        if self.edit.remove.is_empty() && self.edit.put.is_none() {
            return Ok(text.to_owned());
        }
        found.agent.adapter().format().edit(text, &self.edit)
    }
}

impl Plan {
    fn file(&mut self, found: &Found, after: String, edit: &Edit) {
        self.files.push(PlannedFile {
            agent: found.agent,
            path: found.path.clone(),
            scope: found.scope,
            before: found.text.clone().filter(|_| !found.new),
            after,
            taken: edit.remove.clone(),
            put: edit.put.as_ref().map(Put::path),
        });
    }

    fn take(&mut self, found: &Found, upstream: &Imported) {
        let origin = origin(found, upstream.name.clone());
        let valid = names::sanitize(&upstream.name);
        let taken = self.upstreams.iter().map(|held| &held.upstream);
        let taken = taken.map(|held| (held.name.as_str(), &held.transport));
        match names::claim(&valid, &upstream.transport, found.agent.slug(), &taken) {
            Claim::Same(at) => {
                if let Some(held) = self.upstreams.get_mut(at) {
                    held.upstream.enabled |= upstream.enabled;
                    held.origins.push(origin);
                }
            }
            Claim::Free(name) => {
                if name != upstream.name {
                    let origin = origin.clone();
                    self.notes.push(Note::Sanitized {
                        origin,
                        name: name.clone(),
                    });
                }
                self.add(upstream, name, origin);
            }
            Claim::Renamed(name) => {
                self.notes.push(Note::Renamed {
                    origin: origin.clone(),
                    name: name.clone(),
                });
                self.add(upstream, name, origin);
            }
        }
    }

    fn add(&mut self, upstream: &Imported, name: String, origin: Origin) {
        let upstream = Imported {
            name,
            ..upstream.clone()
        };
        self.upstreams.push(PlannedUpstream {
            upstream,
            origins: vec![origin],
        });
    }
}

fn origin(found: &Found, name: String) -> Origin {
    Origin {
        agent: found.agent,
        path: found.path.clone(),
        scope: found.scope,
        name,
    }
}
