//! Claude Desktop: `claude_desktop_config.json`, which can only start commands.
//!
//! Its remote connectors are kept by the service, not in this file.

use crate::agent::{Adapter, stdio_entry};
use crate::endpoint::Endpoint;
use crate::entry::Fields;
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct ClaudeDesktop;

impl Adapter for ClaudeDesktop {
    fn locations(&self, places: &Places) -> Vec<Location> {
        vec![places.at_config("Claude/claude_desktop_config.json")]
    }

    fn dialect(&self) -> Dialect {
        Dialect::Literal
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        fields.skip(&["type"]);
        fields.stdio().map(Some)
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        Node::map(stdio_entry(endpoint))
    }
}
