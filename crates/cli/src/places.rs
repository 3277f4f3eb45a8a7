//! Where the agents of this user keep their files, from the environment.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use mcpproxy_agents::{Os, Places};

use crate::exit::bad_input;

/// Returns the folders of this user and of the project at hand.
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
