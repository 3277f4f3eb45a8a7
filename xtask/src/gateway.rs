//! Starts `mcpproxy serve` in front of given upstreams, for suites, benches and soaks.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::probe::answers_ok;
use crate::process::{Guarded, free_address, wait_for};

const START_LIMIT: Duration = Duration::from_secs(20);
const START_ATTEMPTS: usize = 3;
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
    /// Starts the gateway and waits until it is healthy.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        routing: Routing,
        upstreams: &[(&str, Upstream)],
    ) -> Result<Self> {
        for _ in 1..START_ATTEMPTS {
            let mut gateway = Self::spawn(program, folder, routing, upstreams)?;
            match gateway.wait_healthy() {
                Ok(()) => return Ok(gateway),
                // Somebody took the port that was free a moment ago; that is nobody's fault.
                Err(_) if gateway.tail().to_lowercase().contains("already in use") => {}
                Err(error) => return Err(error),
            }
        }
        let mut gateway = Self::spawn(program, folder, routing, upstreams)?;
        gateway.wait_healthy()?;
        Ok(gateway)
    }

    /// Writes a configuration into `folder`, starts the gateway and does not wait for it.
    pub(crate) fn spawn(
        program: &Path,
        folder: &Path,
        routing: Routing,
        upstreams: &[(&str, Upstream)],
    ) -> Result<Self> {
        let address = free_address()?;
        let data = folder.join("data");
        fs::create_dir_all(&data).with_context(|| format!("cannot create {}", data.display()))?;
        let file = folder.join("mcpproxy.json");
        let text = configuration(address, &data, routing, upstreams).to_string();
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

    /// Waits until the gateway says that it is healthy.
    pub(crate) fn wait_healthy(&mut self) -> Result<()> {
        let Self {
            process, address, ..
        } = self;
        let healthy = wait_for(START_LIMIT, || {
            process.check_alive()?;
            Ok(answers_ok(*address, "/healthz"))
        });
        match healthy {
            Ok(true) => Ok(()),
            Ok(false) => bail!(
                "mcpproxy serve was not healthy in time; its log ends:\n{}",
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
