//! Where to look: the folders of one user and one project, given by the caller.
//!
//! Nothing here reads the environment or the disk.

use std::path::{Path, PathBuf};

/// The system whose conventions decide where agents keep their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux and other systems that follow the XDG folders.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// The folders in which agents keep their configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The user's home folder.
    pub home: PathBuf,
    /// The folder of the project at hand.
    pub project: PathBuf,
    /// Where applications keep settings: `$XDG_CONFIG_HOME`, `Application Support` or `%APPDATA%`.
    pub config_home: PathBuf,
    /// Where Codex keeps its files: `$CODEX_HOME`.
    pub codex_home: PathBuf,
    /// The system whose conventions apply.
    pub os: Os,
}

impl Places {
    /// Makes the places of a user whose folders are where the system puts them.
    pub fn usual(home: &Path, project: &Path, os: Os) -> Self {
        let config_home = match os {
            Os::Linux => home.join(".config"),
            Os::MacOs => home.join("Library").join("Application Support"),
            Os::Windows => home.join("AppData").join("Roaming"),
        };
        Self {
            home: home.to_owned(),
            project: project.to_owned(),
            config_home,
            codex_home: home.join(".codex"),
            os,
        }
    }

    /// Makes a location below the home folder.
    pub(crate) fn at_home(&self, path: &str) -> Location {
        Location::user(self.home.join(path))
    }

    /// Makes a location below the settings folder.
    pub(crate) fn at_config(&self, path: &str) -> Location {
        Location::user(self.config_home.join(path))
    }

    /// Makes a location below the project folder.
    pub(crate) fn at_project(&self, path: &str) -> Location {
        Location {
            path: self.project.join(path),
            scope: Scope::Project,
            project: Some(self.project.clone()),
        }
    }
}

/// Whom a configuration file speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One user, in every project.
    User,
    /// One project, often shared by a team.
    Project,
}

/// A file an agent may read.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
    /// The folder in which entries of this file are started, where the agent fixes one.
    pub(crate) project: Option<PathBuf>,
}

impl Location {
    pub(crate) fn user(path: PathBuf) -> Self {
        Self {
            path,
            scope: Scope::User,
            project: None,
        }
    }
}
