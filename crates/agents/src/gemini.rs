//! Gemini CLI: `settings.json` in `~/.gemini` and in the project's `.gemini`.
//!
//! Streamable HTTP is `httpUrl`; `url` alone was for server-sent events and is now tried both
//! ways. Two lists elsewhere in the file, `mcp.allowed` and `mcp.excluded`, switch entries off.

use crate::agent::{Adapter, List, stdio_entry};
use crate::endpoint::{ENTRY_NAME, Endpoint};
use crate::entry::{Fields, Remote};
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct Gemini;

impl Adapter for Gemini {
    fn locations(&self, places: &Places) -> Vec<Location> {
        vec![
            places.at_home(".gemini/settings.json"),
            places.at_project(".gemini/settings.json"),
        ]
    }

    fn dialect(&self) -> Dialect {
        Dialect::Dollar
    }

    fn lists(&self, root: &Node, location: &Location) -> Vec<List> {
        let members = root
            .get(self.list())
            .and_then(Node::members)
            .unwrap_or_default();
        let entries = members.iter().map(|member| member.key.clone());
        let off = entries.filter(|name| !is_allowed(root, name)).collect();
        let path = vec![self.list().to_owned()];
        vec![List {
            path,
            project: location.project.clone(),
            off,
        }]
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        let kind = fields.text("type")?;
        if let Some(url) = fields.text("httpUrl")? {
            return fields.remote(url, Remote::Http).map(Some);
        }
        let Some(url) = fields.text("url")? else {
            return fields.stdio().map(Some);
        };
        let remote = match kind.as_deref() {
            Some("http") => Remote::Http,
            Some("sse") => Remote::Sse,
            _ => Remote::Guess,
        };
        fields.remote(url, remote).map(Some)
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        match endpoint.url() {
            Some(url) => Node::map([("httpUrl", Node::text(url))]),
            None => Node::map(stdio_entry(endpoint)),
        }
    }

    fn obstacles(&self, root: &Node) -> Vec<String> {
        let blocked = !is_allowed(root, ENTRY_NAME);
        let reason = format!("`mcp.allowed` or `mcp.excluded` keeps `{ENTRY_NAME}` switched off");
        blocked.then_some(reason).into_iter().collect()
    }
}

fn is_allowed(root: &Node, name: &str) -> bool {
    // The second key of each pair is that of older versions, at the root.
    let lists =
        |new: &str, old: &str| [root.get("mcp").and_then(|mcp| mcp.get(new)), root.get(old)];
    let holds = |list: &Node| {
        list.items()
            .unwrap_or_default()
            .iter()
            .any(|item| item.as_text() == Some(name))
    };
    let mut excluded = lists("excluded", "excludeMCPServers").into_iter().flatten();
    let mut allowed = lists("allowed", "allowMCPServers").into_iter().flatten();
    !excluded.any(holds) && allowed.all(holds)
}
