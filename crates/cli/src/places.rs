//! Where the agents of this user keep their files, from the environment.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mcpproxy_agents::{Os, Places};

use crate::exit::bad_input;

/// Returns the folders of this user and of the repository at hand; the current folder is the project
/// where there is none.
pub(crate) fn repository() -> Result<Places> {
    let mut places = places()?;
    // The system names the current folder without links.
    let home = places.home.canonicalize();
    let home = home.unwrap_or_else(|_| places.home.clone());
    places.project = if places.project == home {
        places.home.clone()
    } else {
        root(&places.project, &home).to_owned()
    };
    Ok(places)
}

/// Finds the nearest folder with `.git`, which is a file in a worktree. The home folder is no project
/// because somebody keeps their settings with git.
fn root<'a>(current: &'a Path, home: &Path) -> &'a Path {
    let mut folders = current
        .ancestors()
        .take_while(|folder| *folder != home && folder.parent().is_some());
    let root = folders.find(|folder| folder.join(".git").exists());
    root.unwrap_or(current)
}

/// Says so where the project's files are not those of the current folder.
pub(crate) fn elsewhere(places: &Places) -> Option<String> {
    let current = std::env::current_dir().ok()?;
    let project = places.project.canonicalize().ok()?;
    (project != current).then(|| {
        let project = places.project.display();
        format!(
            "the project is `{project}`: start the agent there, since some (Claude Code) read \
             only the files of the folder in which they are started"
        )
    })
}

/// Returns the folders of this user, with the current folder as the project.
pub(crate) fn places() -> Result<Places> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = variable("HOME").map(PathBuf::from);
    let home = home.ok_or_else(|| bad_input("the home folder is not known", Some("set `HOME`")))?;
    let project = std::env::current_dir().context("cannot tell the current folder")?;
    let os = if cfg!(target_os = "macos") {
        Os::MacOs
    } else {
        Os::Linux
    };
    let mut places = Places::usual(&home, &project, os);
    let config_home = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    if let (Os::Linux, Some(folder)) = (os, config_home.filter(|folder| folder.is_absolute())) {
        places.config_home = folder;
    }
    let codex_home = variable("CODEX_HOME").map(PathBuf::from);
    if let Some(folder) = codex_home.filter(|folder| folder.is_absolute()) {
        places.codex_home = folder;
    }
    Ok(places)
}
