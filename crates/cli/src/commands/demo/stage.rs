//! The stage: a data folder that goes away, a configuration, and a gateway that serves.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_config::Flags;
use mcpproxy_core::ActivityReader as _;
use mcpproxy_gateway::{Listening, serve};
use mcpproxy_store::Reader;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::daemon::{self, Daemon};

/// How long the gateway may take to end.
const END: Duration = Duration::from_secs(4);

/// A running gateway with two sample upstreams.
pub(super) struct Stage {
    /// Where it listens.
    pub(super) address: SocketAddr,
    folder: TempDir,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Stage {
    /// Starts the gateway on a free port of this machine.
    pub(super) async fn open() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("mcpproxy-demo-")
            .tempdir()?;
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let program = program
            .to_str()
            .context("the path of this program is not UTF-8")?;
        let file = folder.path().join("mcpproxy.json");
        let slack = folder.path().join(RECEIVED);
        let text = serde_json::to_string_pretty(&configuration(program, &slack.to_string_lossy()))?;
        std::fs::write(&file, text)?;
        let flags = Flags {
            config: Some(file),
            data_dir: Some(folder.path().to_owned()),
            listen: Some("127.0.0.1:0".to_owned()),
            log_level: None,
        };
        let loaded = daemon::configuration(&flags)?;
        let daemon = Daemon::start(flags, loaded).await?;
        let listening = Listening::bind(&daemon.loaded.config.gateway, None).await?;
        let address = listening.address;
        let (stop, stopped) = oneshot::channel::<()>();
        let gateway = Arc::clone(&daemon.gateway);
        let served = tokio::spawn(serve(gateway, listening, async { drop(stopped.await) }));
        Ok(Self {
            address,
            folder,
            stop,
            served,
        })
    }

    /// Returns the calls that the outside upstream received, as it wrote them down itself.
    pub(super) fn received(&self) -> Result<Vec<Value>> {
        let all = lines(&self.folder.path().join(RECEIVED))?;
        let call = |message: &Value| message.get("method") == Some(&json!("tools/call"));
        Ok(all.into_iter().filter(call).collect())
    }

    /// Returns the activity log, oldest record first.
    pub(super) fn records(&self) -> Result<Vec<Value>> {
        let reader = Reader::open(&self.folder.path().join(mcpproxy_store::FILE))?;
        let page = reader.tail(0, 1000)?;
        let records = page.records.iter();
        records
            .map(|record| Ok(serde_json::from_str(record)?))
            .collect()
    }

    /// Ends the gateway and with it the upstreams; the folder goes away.
    pub(super) async fn close(self) {
        drop(self.stop);
        // Past its time it is left behind: its children end with this process all the same.
        drop(tokio::time::timeout(END, self.served).await);
        drop(self.folder.close());
    }
}

/// What the outside upstream received, a message a line.
const RECEIVED: &str = "slack.ndjson";

fn configuration(program: &str, received: &str) -> Value {
    json!({
        "routing_mode": "call",
        "activity": { "durability": "strict" },
        "limits": { "shutdown_grace": "2s" },
        "mcpServers": {
            "github": { "command": program, "args": ["sample", "github"] },
            "slack": { "command": program, "args": ["sample", "slack", "--record", received] },
        },
    })
}

fn lines(path: &PathBuf) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    text.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mcpproxy_config::{Sources, load_text};

    use super::*;

    #[test]
    fn the_configuration_loads_and_all_of_it_counts() {
        let sources = Sources::new(Flags::default(), &|_| None);
        let mut text = configuration("/bin/mcpproxy", "/nowhere/received").to_string();
        text.insert_str(1, r#""data_dir": "/nowhere","#);
        let loaded = load_text(&sources, Path::new("mcpproxy.json"), &text).unwrap();
        assert_eq!(loaded.notices, []);
        assert_eq!(loaded.config.upstreams.len(), 2);
    }
}
