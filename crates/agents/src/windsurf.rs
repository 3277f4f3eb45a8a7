//! Windsurf, also called Devin Desktop: `mcp_config.json` below `~/.codeium`.
//!
//! There is no file for a project. A remote address is `serverUrl`; `url` is read as well.

use crate::agent::{Adapter, stdio_entry};
use crate::endpoint::Endpoint;
use crate::entry::{Fields, Remote};
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct Windsurf;

impl Adapter for Windsurf {
    fn locations(&self, places: &Places) -> Vec<Location> {
        // The editor, its preview, and the plugin for JetBrains editors.
        [
            ".codeium/windsurf/mcp_config.json",
            ".codeium/windsurf-next/mcp_config.json",
            ".codeium/mcp_config.json",
        ]
        .map(|path| places.at_home(path))
        .into()
    }

    fn dialect(&self) -> Dialect {
        Dialect::Prefixed
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        fields.skip(&["type"]);
        let (new, old) = (fields.text("serverUrl")?, fields.text("url")?);
        match new.or(old) {
            Some(url) => fields.remote(url, Remote::Guess).map(Some),
            None => fields.stdio().map(Some),
        }
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        match endpoint.url() {
            Some(url) => Node::map([("serverUrl", Node::text(url))]),
            None => Node::map(stdio_entry(endpoint)),
        }
    }
}
