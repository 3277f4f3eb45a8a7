//! Claude Code: `~/.claude.json`, with one list for the user and one for each project, and
//! `.mcp.json` in the project.
//!
//! `~/.claude.json` also holds history and sign-in data, which stay as they are. Servers brought
//! by plugins or by claude.ai are not in these files.

use std::path::PathBuf;

use crate::agent::{Adapter, List, stdio_entry};
use crate::endpoint::Endpoint;
use crate::entry::{Fields, Remote};
use crate::imported::Transport;
use crate::places::{Location, Places, Scope};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn locations(&self, places: &Places) -> Vec<Location> {
        vec![
            places.at_home(".claude.json"),
            places.at_project(".mcp.json"),
        ]
    }

    fn dialect(&self) -> Dialect {
        Dialect::Braces
    }

    fn lists(&self, root: &Node, location: &Location) -> Vec<List> {
        let path = vec![self.list().to_owned()];
        let mut lists = vec![List {
            path,
            project: location.project.clone(),
            off: Vec::new(),
        }];
        let projects = root
            .get("projects")
            .and_then(Node::members)
            .unwrap_or_default();
        // Only the user's file has a list for each project.
        for member in projects.iter().filter(|_| location.scope == Scope::User) {
            lists.push(List {
                path: vec![
                    "projects".to_owned(),
                    member.key.clone(),
                    self.list().to_owned(),
                ],
                project: Some(PathBuf::from(&member.key)),
                off: member.value.names("disabledMcpServers"),
            });
        }
        lists
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        let kind = fields.text("type")?;
        let remote = match kind.as_deref() {
            None | Some("stdio") => return fields.stdio().map(Some),
            Some("http" | "streamable-http") => Remote::Http,
            Some("sse") => Remote::Sse,
            Some(other) => return Err(format!("mcpproxy has no transport of type `{other}`")),
        };
        let url = fields.text("url")?.ok_or("it has no `url`")?;
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
