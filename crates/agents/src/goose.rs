//! Goose: the `extensions` of `config.yaml`.
//!
//! Extensions that are part of Goose (`builtin`, `platform`) are no upstreams and stay. So do those
//! whose secrets are in the keyring, which only Goose can open.

use crate::agent::Adapter;
use crate::endpoint::{ENTRY_NAME, Endpoint};
use crate::entry::{Fields, Remote};
use crate::format::Format;
use crate::imported::Transport;
use crate::places::{Location, Os, Places};
use crate::tree::{Node, Value};
use crate::vars::Dialect;

pub(crate) struct Goose;

impl Adapter for Goose {
    fn locations(&self, places: &Places) -> Vec<Location> {
        vec![match places.os {
            Os::Windows => places.at_config("Block/goose/config/config.yaml"),
            Os::Linux => places.at_config("goose/config.yaml"),
            // Goose keeps to the XDG folder here too.
            Os::MacOs => places.at_home(".config/goose/config.yaml"),
        }]
    }

    fn format(&self) -> Format {
        Format::Yaml
    }

    fn dialect(&self) -> Dialect {
        Dialect::Literal
    }

    fn list(&self) -> &'static str {
        "extensions"
    }

    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String> {
        fields.skip(&["name", "env_keys"]);
        match fields.text("type")?.as_deref() {
            Some("builtin" | "platform") => Ok(None),
            Some("stdio") => Ok(Some(Transport::Stdio {
                command: fields.text("cmd")?.ok_or("it has no `cmd`")?,
                args: fields.texts("args")?,
                env: fields.pairs("envs")?,
                cwd: None,
            })),
            Some(kind @ ("sse" | "streamable_http")) => {
                let remote = if kind == "sse" {
                    Remote::Sse
                } else {
                    Remote::Http
                };
                let url = fields.text("uri")?.ok_or("it has no `uri`")?;
                fields.remote(url, remote).map(Some)
            }
            Some(other) => Err(format!("mcpproxy has no transport of type `{other}`")),
            None => Err("it has no `type`".to_owned()),
        }
    }

    fn entry(&self, endpoint: &Endpoint) -> Node {
        let launch = endpoint.launch();
        let head = [("enabled", Node::new(Value::Bool(true)))];
        let kind = match endpoint.url() {
            Some(url) => vec![
                ("type", Node::text("streamable_http")),
                ("uri", Node::text(url)),
            ],
            None => vec![
                ("type", Node::text("stdio")),
                ("cmd", Node::text(&launch.command)),
                ("args", Node::texts(&launch.args)),
            ],
        };
        let tail = [
            ("name", Node::text(ENTRY_NAME)),
            ("description", Node::text("All upstreams, through mcpproxy")),
            ("timeout", Node::new(Value::Number("300".to_owned()))),
        ];
        Node::map(head.into_iter().chain(kind).chain(tail))
    }
}
