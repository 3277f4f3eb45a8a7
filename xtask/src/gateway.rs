//! Starts `mcpproxy serve` in front of given upstreams, for suites, benches and soaks.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::probe::answers_ok;
use crate::process::{Guarded, free_address, wait_for};

const START_LIMIT: Duration = Duration::from_secs(20);
const LOG_TAIL: usize = 20;

/// What the gateway is put in front of.
#[derive(Clone, Debug)]
pub(crate) enum Upstream {
    Http {
        url: String,
    },
    Stdio {
        program: PathBuf,
        arguments: Vec<String>,
    },
}

/// The gateway's `routing_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Routing {
    Single,
    All,
}

/// A running gateway; it stops when this goes out of scope.
#[derive(Debug)]
pub(crate) struct Gateway {
    process: Guarded,
    address: SocketAddr,
    log: PathBuf,
}

impl Gateway {
    /// Starts the gateway on a port of the kernel's choice and waits until it is healthy.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        routing: Routing,
        upstreams: &[(&str, Upstream)],
    ) -> Result<Self> {
        Self::start_with(&json!({}), program, folder, routing, upstreams)
    }

    /// Starts the gateway as `start` does, with more in its configuration.
    pub(crate) fn start_with(
        more: &Value,
        program: &Path,
        folder: &Path,
        routing: Routing,
        upstreams: &[(&str, Upstream)],
    ) -> Result<Self> {
        // A port that was free a moment ago is another's when forty of us start at once.
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut gateway = Self::spawn_at(any, more, program, folder, routing, upstreams)?;
        gateway.wait_listening()?;
        gateway.wait_healthy()?;
        Ok(gateway)
    }

    /// Starts the gateway on a port that is free now and does not wait for it.
    pub(crate) fn spawn(
        program: &Path,
        folder: &Path,
        routing: Routing,
        upstreams: &[(&str, Upstream)],
    ) -> Result<Self> {
        let free = free_address()?;
        Self::spawn_at(free, &json!({}), program, folder, routing, upstreams)
    }

    /// Writes a configuration into `folder` and starts the gateway.
    fn spawn_at(
        address: SocketAddr,
        more: &Value,
        program: &Path,
        folder: &Path,
        routing: Routing,
        upstreams: &[(&str, Upstream)],
    ) -> Result<Self> {
        let data = folder.join("data");
        fs::create_dir_all(&data).with_context(|| format!("cannot create {}", data.display()))?;
        let file = folder.join("mcpproxy.json");
        let mut config = configuration(address, &data, routing, upstreams);
        let both = config.as_object_mut().zip(more.as_object());
        if let Some((config, more)) = both {
            config.extend(more.clone());
        }
        let text = config.to_string();
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        let mut command = Command::new(program);
        command.arg("serve").arg("--config").arg(&file);
        command
            .arg("--listen")
            .arg(address.to_string())
            .arg("--data-dir")
            .arg(&data);
        let log = folder.join("mcpproxy.log");
        let process = Guarded::start("mcpproxy serve", &mut command, &log)?;
        Ok(Self {
            process,
            address,
            log,
        })
    }

    /// Waits until the gateway says where it listens.
    fn wait_listening(&mut self) -> Result<()> {
        let Self {
            process,
            address,
            log,
        } = self;
        let heard = wait_for(START_LIMIT, || {
            process.check_alive()?;
            let said = fs::read_to_string(&*log).unwrap_or_default();
            let Some(found) = said.lines().find_map(listening) else {
                return Ok(false);
            };
            *address = found;
            Ok(true)
        });
        self.started("did not listen", heard)
    }

    /// Waits until the gateway says that it is healthy.
    pub(crate) fn wait_healthy(&mut self) -> Result<()> {
        let Self {
            process, address, ..
        } = self;
        let healthy = wait_for(START_LIMIT, || {
            process.check_alive()?;
            Ok(answers_ok(*address, "/healthz"))
        });
        self.started("was not healthy", healthy)
    }

    /// Turns the end of a wait into an error that shows what the gateway said.
    fn started(&self, failure: &str, wait: Result<bool>) -> Result<()> {
        match wait {
            Ok(true) => Ok(()),
            Ok(false) => bail!(
                "mcpproxy serve {failure} in time; its log ends:\n{}",
                self.tail()
            ),
            Err(error) => Err(error.context(format!("the log of mcpproxy ends:\n{}", self.tail()))),
        }
    }

    /// Returns where the gateway listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the MCP endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the id of the process that serves.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the process that serves.
    pub(crate) fn process(&mut self) -> &mut Guarded {
        &mut self.process
    }

    fn tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines
            .get(lines.len().saturating_sub(LOG_TAIL)..)
            .unwrap_or_default()
            .join("\n")
    }
}

/// Reads the address from the line in which the gateway says it.
fn listening(line: &str) -> Option<SocketAddr> {
    let url = line.strip_prefix("mcpproxy listens on http://")?;
    url.strip_suffix("/mcp")?.parse().ok()
}

fn configuration(
    address: SocketAddr,
    data: &Path,
    routing: Routing,
    upstreams: &[(&str, Upstream)],
) -> Value {
    let servers: Map<String, Value> = upstreams
        .iter()
        .map(|(name, upstream)| ((*name).to_owned(), entry(upstream)))
        .collect();
    json!({
        "routing_mode": match routing { Routing::Single => "single", Routing::All => "all" },
        "listen": address.to_string(),
        "data_dir": data,
        "mcpServers": servers,
    })
}

fn entry(upstream: &Upstream) -> Value {
    match upstream {
        Upstream::Http { url } => json!({ "url": url }),
        Upstream::Stdio { program, arguments } => json!({ "command": program, "args": arguments }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_the_address_is_read() {
        let address = listening("mcpproxy listens on http://127.0.0.1:46555/mcp");
        assert_eq!(address, "127.0.0.1:46555".parse().ok());
        assert_eq!(listening("an API key was made in /tmp/x/api_key"), None);
        assert_eq!(listening("mcpproxy listens on http://127.0.0.1:46"), None);
    }
}
