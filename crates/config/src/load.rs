//! From sources to a checked configuration: the one place that knows the order of the steps.

mod files;

use std::path::{Path as FilePath, PathBuf};

use mcpproxy_upstream::settings::UpstreamSettings;

use self::files::Files;
pub(crate) use self::files::{text_of, too_large};
use crate::check;
use crate::config::Config;
use crate::decode::decode;
use crate::error::Problems;
use crate::merge::merge;
use crate::node::{Entry, Node, Place, Value};
use crate::notice::{Notice, masked, notices, strangers};
use crate::origin::{Origin, Origins};
use crate::path::Path;
use crate::report::Report;
use crate::shape;
use crate::source::Texts;
use crate::sources::Sources;
use crate::variables;

/// Keys at the top level that are not the gateway's.
const SECTIONS: [&str; 3] = ["mcpServers", "security", "tool_policy"];

/// A checked configuration and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Where each value came from.
    pub origins: Origins,
    /// What was given and does nothing in this version.
    pub notices: Vec<Notice>,
    /// The files that were read, the strongest first.
    pub files: Vec<PathBuf>,
    /// The files that were looked for; a [`crate::Fingerprint`] of them changes with the
    /// configuration.
    pub watch: Vec<PathBuf>,
    /// The file in which something new is written.
    pub target: PathBuf,
}

impl Loaded {
    /// Returns the file in which an upstream is given, the strongest where there are several.
    pub fn file_of(&self, upstream: &str) -> Option<PathBuf> {
        match self
            .origins
            .of(&Path::of(["mcpServers", upstream]).to_string())
        {
            Origin::File { path, .. } => Some(path),
            Origin::Default | Origin::Environment(_) | Origin::Flag(_) => None,
        }
    }
}

/// Loads and checks a configuration; every mistake that can be found is in the error.
pub fn load(sources: &Sources<'_>) -> Result<Loaded, Problems> {
    let mut files = Files::new(sources.environment);
    let found = find(sources, &mut files);
    finish(sources, files, found)
}

/// Returns the data folder, also of a configuration that is wrong elsewhere: a gateway that runs
/// with the last good one is found there.
pub fn data_dir(sources: &Sources<'_>) -> PathBuf {
    let mut files = Files::new(sources.environment);
    let mut layers = find(sources, &mut files).layers;
    layers.push(sources.layers());
    let root = layers.into_iter().fold(Node::empty_map(), merge);
    folder_in(sources, root.get("data_dir"))
}

/// Returns the file in which something new is written, also while what stands in it is wrong.
pub fn target(sources: &Sources<'_>) -> PathBuf {
    find(sources, &mut Files::new(sources.environment)).target
}

/// Loads and checks a text as if it were the only file; nothing is read from disk.
pub fn load_text(sources: &Sources<'_>, file: &FilePath, text: &str) -> Result<Loaded, Problems> {
    let mut files = Files::new(sources.environment);
    let layer = files.text(file, text.to_owned());
    let found = Found {
        layers: layer.into_iter().collect(),
        target: file.to_owned(),
        floor: None,
    };
    finish(sources, files, found)
}

/// Loads and checks a configuration as it would be if a file held this text; nothing is written.
pub fn load_with(sources: &Sources<'_>, file: &FilePath, text: &str) -> Result<Loaded, Problems> {
    let mut files = Files::new(sources.environment).instead(file, text);
    let found = find(sources, &mut files);
    finish(sources, files, found)
}

/// The files that were found.
struct Found {
    /// Their trees, the weakest first.
    layers: Vec<Node>,
    /// The file in which something new is written.
    target: PathBuf,
    /// What the user's own file says, where a project's file lies over it, which can only tighten.
    floor: Option<Node>,
}

/// Lays the layers over each other and checks the result.
fn finish(sources: &Sources<'_>, files: Files<'_>, found: Found) -> Result<Loaded, Problems> {
    let Found {
        mut layers,
        target,
        floor,
    } = found;
    let Files {
        texts,
        mut report,
        read,
        watch,
        broken,
        ..
    } = files;
    layers.push(sources.layers());
    // Each layer is read by itself, so that a mistake is found even where a stronger layer hides
    // it.
    for layer in &layers {
        assemble(&mut layer.clone(), &texts, &mut report);
    }
    let mut root = layers.into_iter().fold(Node::empty_map(), merge);
    let floor = floor.map(|floor| {
        let mut floor = merge(floor, sources.layers());
        assemble(&mut floor, &texts, &mut Report::default())
    });
    if let Some(floor) = &floor {
        grow(&mut root, &floor.security.flow_policy.suspicious_endpoints);
    }
    let mut notices = notices(&root, &texts);
    let origins = origins(&root, &texts);
    let mut config = assemble(&mut root, &texts, &mut Report::default());
    // With a part missing from the picture, what seems to be wrong may be right.
    if !broken && !report.is_full() {
        check::check(&config, &root, &texts, &mut report);
        if let Some(floor) = &floor {
            check::check_tighter(floor, &config, &root, &texts, &mut report);
        }
    }
    notices.extend(masked(&config.security.hooks, &root, &texts));
    notices.extend(strangers(&config, &root, &texts));
    expand(&mut config, sources, &root, &texts, &mut report);
    report.finish()?;
    Ok(Loaded {
        config,
        origins,
        notices,
        files: read,
        watch,
        target,
    })
}

/// Checks one upstream that stands in no file, as it would be in one.
pub fn check_upstream(
    name: &str,
    entry: &serde_json::Value,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<UpstreamSettings, Problems> {
    let mut report = Report::default();
    let texts = Texts::default();
    let path = Path::of(["mcpServers", name]);
    let mut node = Node::from(entry);
    variables::resolve(&mut node, &path, &texts, environment, &mut report);
    shape::upstream(&mut node, &path, &texts, &mut report);
    let settings = decode(&mut node, &path, &["disabled"], &texts, &mut report);
    check::check_upstream(name, &settings, &mut report);
    report.finish().map(|()| settings)
}

/// Reads the files, the weakest first: either the one that was named, or the user's and the
/// project's.
fn find(sources: &Sources<'_>, files: &mut Files<'_>) -> Found {
    if let Some(file) = sources.explicit() {
        return Found {
            layers: files.required(&file).into_iter().collect(),
            target: file,
            floor: None,
        };
    }
    let (project, project_file) = files.folder(&sources.project_dir);
    let folder = user_folder(sources, project.as_ref());
    let (user, user_file) = files.folder(&folder);
    let floor = project
        .as_ref()
        .and_then(|_| floor(sources, &folder, user.as_ref()));
    // Something new goes where the reader of the configuration would look first.
    let target = if project.is_some() {
        project_file
    } else {
        user_file
    };
    Found {
        layers: user.into_iter().chain(project).collect(),
        target,
        floor,
    }
}

/// Returns what the user's own file says; nothing where the project's file is the user's.
///
/// A project that names another data folder does not thereby replace the user's file: the one there
/// is the project's too.
fn floor(sources: &Sources<'_>, folder: &FilePath, user: Option<&Node>) -> Option<Node> {
    let own = user_folder(sources, None);
    let same = |one: &FilePath, other: &FilePath| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    };
    let project = if sources.project_dir.as_os_str().is_empty() {
        FilePath::new(".")
    } else {
        &sources.project_dir
    };
    if same(project, &own) {
        return None;
    }
    let below = if same(folder, &own) {
        user.cloned()
    } else {
        Files::new(sources.environment).folder(&own).0
    };
    Some(below.unwrap_or_else(Node::empty_map))
}

/// Adds what a list has without the project's file.
fn grow(root: &mut Node, below: &[String]) {
    let path = Path::of(["security", "flow_policy", "suspicious_endpoints"]);
    let Some(node) = root.at_mut(path.segments()) else {
        return;
    };
    if matches!(node.value, Value::Null) {
        node.value = Value::List(Vec::new());
    }
    if let Value::List(items) = &mut node.value {
        let is_there = |items: &[Node], text: &str| {
            let mut items = items.iter();
            items.any(|item| matches!(&item.value, Value::Text(given) if given == text))
        };
        for host in below {
            if !is_there(items, host) {
                items.push(Node::text(host, Place::Nowhere));
            }
        }
    }
}

/// Returns the folder of the user's file, which is the data folder as far as it is known by then.
fn user_folder(sources: &Sources<'_>, project: Option<&Node>) -> PathBuf {
    let layers = sources.layers();
    let given = layers.get("data_dir").or_else(|| project?.get("data_dir"));
    folder_in(sources, given)
}

fn folder_in(sources: &Sources<'_>, given: Option<&Node>) -> PathBuf {
    let folder = match given.map(|node| &node.value) {
        Some(Value::Text(folder)) => PathBuf::from(folder),
        _ => Config::default().gateway.data_dir,
    };
    sources.expand(&folder).unwrap_or(folder)
}

/// Turns the tree into the owners' types.
fn assemble(root: &mut Node, texts: &Texts, report: &mut Report) -> Config {
    let mut config = Config::default();
    if let Some(section) = root.get_mut("mcpServers") {
        let path = Path::of(["mcpServers"]);
        match &mut section.value {
            Value::Map(entries) => {
                for Entry { key, node, .. } in entries {
                    let settings = decode(node, &path.key(key), &["disabled"], texts, report);
                    config.upstreams.insert(key.clone(), settings);
                    config.order.push(key.clone());
                }
            }
            Value::Null | Value::Removed => {}
            _ => report.add(
                texts,
                &path,
                section.place,
                "expected a map or a list",
                None,
            ),
        }
    }
    if let Some(section) = root.get_mut("security") {
        config.security = decode(section, &Path::of(["security"]), &[], texts, report);
    }
    let mut top = root.clone();
    for section in SECTIONS {
        drop(top.take(section));
    }
    config.gateway = decode(&mut top, &Path::default(), &SECTIONS, texts, report);
    config
}

/// Puts the home folder where a path begins with `~`.
fn expand(
    config: &mut Config,
    sources: &Sources<'_>,
    root: &Node,
    texts: &Texts,
    report: &mut Report,
) {
    let mut home = |path: &mut PathBuf, at: &Path| {
        if let Some(expanded) = sources.expand(path) {
            *path = expanded;
            return;
        }
        let place = root.place_of(at.segments()).unwrap_or(Place::Nowhere);
        let message = "`~` is used and the home folder is not known";
        report.add(texts, at, place, message, Some("set `HOME`".to_owned()));
    };
    home(&mut config.gateway.data_dir, &Path::of(["data_dir"]));
    let receipts = &mut config.gateway.receipts;
    for (key, folder) in [
        ("audit_dir", &mut receipts.audit_dir),
        ("keys_dir", &mut receipts.keys_dir),
    ] {
        if let Some(folder) = folder {
            home(folder, &Path::of(["receipts", key]));
        }
    }
    for (name, upstream) in &mut config.upstreams {
        let at = Path::of(["mcpServers", name]);
        if let Some(folder) = &mut upstream.working_dir {
            home(folder, &at.key("working_dir"));
        }
        if let Some(command) = upstream.command.as_mut().filter(|c| c.starts_with("~/")) {
            let mut path = FilePath::new(command).to_owned();
            home(&mut path, &at.key("command"));
            *command = path.to_string_lossy().into_owned();
        }
    }
}

fn origins(root: &Node, texts: &Texts) -> Origins {
    let mut origins = Origins::default();
    root.walk(&Path::default(), root.place, &mut |path, place, node| {
        if !path.segments().is_empty() {
            origins.insert(path.to_string(), place.origin(texts), node.secret);
        }
    });
    origins
}

#[cfg(test)]
mod tests;
