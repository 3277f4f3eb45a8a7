//! Where a configuration is looked for: arguments, environment, the project's file, the user's
//! file.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::merge::merge;
use crate::node::{Node, Place};
use crate::shape::layer;
use crate::variables::Environment;

/// Names of a configuration file, of which a folder holds at most one.
const NAMES: [&str; 3] = ["mcpproxy.yaml", "mcpproxy.yml", "mcpproxy.json"];

/// Variables of the environment that set a value, with its path.
const VARIABLES: [(&str, &[&str]); 5] = [
    ("MCPPROXY_LISTEN", &["listen"]),
    ("MCPPROXY_API_KEY", &["api_key"]),
    ("MCPPROXY_STORE", &["store"]),
    ("MCPPROXY_DATA_DIR", &["data_dir"]),
    ("MCPPROXY_LOG_LEVEL", &["log", "level"]),
];

/// What was given on the command line.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--config`: the only file that is read.
    pub config: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--log-level`.
    pub log_level: Option<String>,
}

/// Everything a configuration is made of; nothing else is looked at.
#[derive(Clone)]
pub struct Sources<'a> {
    /// What was given on the command line.
    pub flags: Flags,
    /// Folder of the project's file; empty for the current one.
    pub project_dir: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The lookup of environment variables.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Sources<'a> {
    /// Takes the project from the current folder and the home folder from `HOME`.
    pub fn new(flags: Flags, environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        let home = environment("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from);
        Self {
            flags,
            project_dir: PathBuf::new(),
            home,
            environment,
        }
    }

    /// Returns the only file to be read, where one was named.
    pub(crate) fn explicit(&self) -> Option<PathBuf> {
        let variable = || self.variable("MCPPROXY_CONFIG").map(PathBuf::from);
        self.flags.config.clone().or_else(variable)
    }

    /// Returns the values given on the command line and, below them, in the environment.
    pub(crate) fn layers(&self) -> Node {
        let environment = VARIABLES.iter().filter_map(|(name, path)| {
            let mut node = layer(path, &self.variable(name)?, Place::Environment(name));
            node.each_mut(&mut |node| node.secret = *name == "MCPPROXY_API_KEY");
            Some(node)
        });
        let flags = &self.flags;
        let data_dir = flags
            .data_dir
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let given: [(&'static str, &[&str], Option<&String>); 3] = [
            ("--data-dir", &["data_dir"], data_dir.as_ref()),
            ("--listen", &["listen"], flags.listen.as_ref()),
            ("--log-level", &["log", "level"], flags.log_level.as_ref()),
        ];
        let flags = given.into_iter().filter_map(|(name, path, value)| {
            value.map(|value| layer(path, value, Place::Flag(name)))
        });
        environment.chain(flags).fold(Node::empty_map(), merge)
    }

    /// Returns a variable that is set to something.
    fn variable(&self, name: &str) -> Option<String> {
        let environment: Environment<'_> = self.environment;
        environment(name).filter(|value| !value.is_empty())
    }

    /// Puts the home folder in place of a leading `~`; nothing where it is not known.
    pub(crate) fn expand(&self, path: &Path) -> Option<PathBuf> {
        match path.strip_prefix("~") {
            Ok(rest) => self.home.as_ref().map(|home| home.join(rest)),
            Err(_) => Some(path.to_owned()),
        }
    }
}

/// Returns the files a folder may hold, the first of which is made where there is none.
pub(crate) fn candidates(folder: &Path) -> Vec<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).collect()
}

impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("flags", &self.flags)
            .field("project_dir", &self.project_dir)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}
