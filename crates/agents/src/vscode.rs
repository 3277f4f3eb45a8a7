//! VS Code: `.vscode/mcp.json` in the project and `mcp.json` in each user profile, with a list
//! called `servers` and comments allowed.
//!
//! Entries that ask the user for a value (`${input:...}`) stay: nobody else can ask.

use std::path::{Path, PathBuf};

use crate::agent::{Adapter, stdio_entry};
use crate::endpoint::Endpoint;
use crate::entry::{Fields, Remote};
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct VsCode;

impl Adapter for VsCode {
    fn locations(&self, places: &Places) -> Vec<Location> {
        let mut locations = Vec::new();
        for product in ["Code", "Code - Insiders"] {
            let user = places.config_home.join(product).join("User");
            locations.push(Location::user(user.join("mcp.json")));
            locations.extend(profiles(&user).into_iter().map(Location::user));
        }
        locations.push(places.at_project(".vscode/mcp.json"));
        locations
    }

    fn dialect(&self) -> Dialect {
        Dialect::Prefixed
    }

    fn list(&self) -> &'static str {
        "servers"
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        let kind = fields.text("type")?;
        let Some(url) = fields.text("url")? else {
            return fields.stdio().map(Some);
        };
        if !url.starts_with("http") && !url.starts_with('$') {
            // VS Code also takes `unix:` and `pipe:`.
            return Err("mcpproxy reaches upstreams over http and https only".to_owned());
        }
        let remote = if kind.as_deref() == Some("sse") {
            Remote::Sse
        } else {
            Remote::Guess
        };
        fields.remote(url, remote).map(Some)
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        match endpoint.url() {
            Some(url) => Node::map([("type", Node::text("http")), ("url", Node::text(url))]),
            None => Node::map(
                [("type", Node::text("stdio"))]
                    .into_iter()
                    .chain(stdio_entry(endpoint)),
            ),
        }
    }
}

/// Finds the files of further profiles, whose folders have made-up names.
fn profiles(user: &Path) -> Vec<PathBuf> {
    let Ok(folders) = user.join("profiles").read_dir() else {
        return Vec::new();
    };
    let files = folders
        .flatten()
        .map(|folder| folder.path().join("mcp.json"));
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.sort();
    files
}
