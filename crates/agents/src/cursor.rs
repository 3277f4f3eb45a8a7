//! Cursor: `mcp.json` in `~/.cursor` and in the project's `.cursor`.
//!
//! Cursor keeps its switches for single tools elsewhere; they are not read.

use crate::agent::{Adapter, stdio_entry};
use crate::endpoint::Endpoint;
use crate::entry::{Fields, Remote};
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct Cursor;

impl Adapter for Cursor {
    fn locations(&self, places: &Places) -> Vec<Location> {
        vec![
            places.at_home(".cursor/mcp.json"),
            places.at_project(".cursor/mcp.json"),
        ]
    }

    fn dialect(&self) -> Dialect {
        Dialect::Prefixed
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        let kind = fields.text("type")?;
        let Some(url) = fields.text("url")? else {
            return fields.stdio().map(Some);
        };
        let remote = match kind.as_deref() {
            Some("sse") => Remote::Sse,
            Some("http" | "streamable-http" | "streamableHttp") => Remote::Http,
            _ => Remote::Guess,
        };
        fields.remote(url, remote).map(Some)
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        match endpoint.url() {
            Some(url) => Node::map([("url", Node::text(url))]),
            None => Node::map(stdio_entry(endpoint)),
        }
    }
}
