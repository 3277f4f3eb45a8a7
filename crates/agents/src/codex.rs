//! Codex: tables `[mcp_servers.NAME]` in `config.toml`, in `$CODEX_HOME` and in the project.
//!
//! Codex names the variables of secrets instead of expanding references, so that they become
//! references here. The project's file counts only where the user trusts the project.

use crate::agent::{Adapter, stdio_entry};
use crate::endpoint::Endpoint;
use crate::entry::{Fields, Reference, References};
use crate::format::Format;
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::Node;
use crate::vars::Dialect;

pub(crate) struct Codex;

impl Adapter for Codex {
    fn locations(&self, places: &Places) -> Vec<Location> {
        vec![
            Location::user(places.codex_home.join("config.toml")),
            places.at_project(".codex/config.toml"),
        ]
    }

    fn format(&self) -> Format {
        Format::Toml
    }

    fn dialect(&self) -> Dialect {
        Dialect::Literal
    }

    fn list(&self) -> &'static str {
        "mcp_servers"
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        let Some(url) = fields.text("url")? else {
            return fields.stdio().map(Some);
        };
        Ok(Some(Transport::Http {
            url,
            headers: fields.pairs("http_headers")?,
        }))
    }

    fn references(&self, fields: &mut Fields<'_>) -> Result<References, String> {
        let mut found = References::new();
        for name in fields.texts("env_vars")? {
            found.insert(
                name.clone(),
                Reference {
                    scheme: "",
                    variable: name,
                },
            );
        }
        for (header, variable) in fields.pairs("env_http_headers")? {
            found.insert(
                header,
                Reference {
                    scheme: "",
                    variable,
                },
            );
        }
        if let Some(variable) = fields.text("bearer_token_env_var")? {
            found.insert(
                "Authorization".to_owned(),
                Reference {
                    scheme: "Bearer ",
                    variable,
                },
            );
        }
        Ok(found)
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        match endpoint.url() {
            Some(url) => Node::map([("url", Node::text(url))]),
            None => Node::map(stdio_entry(endpoint)),
        }
    }
}
