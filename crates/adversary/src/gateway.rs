//! A gateway: this same program as a process of its own, with folders that go away, and what its
//! owner asks it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use http::{Method, Uri};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::Dialer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::agent::header_map;
use crate::error::Error;

/// The file of the configuration and the folder of state, in the folder of the gateway.
const CONFIG: &str = "mcpproxy.json";
const DATA: &str = "data";
/// How long the gateway may take to listen, and its upstreams to be tried, for each of them.
const START: Duration = Duration::from_secs(40);
const TRIED: Duration = Duration::from_millis(300);
/// How long an answer to the owner may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often is looked whether something has happened.
const GLANCE: Duration = Duration::from_millis(15);
/// The largest answer to the owner.
const MOST: usize = 64 * 1024 * 1024;
/// How often is looked whether a killed gateway has ended, and how many times.
const DYING: Duration = Duration::from_millis(5);
const LOOKS: usize = 200;

/// A running gateway; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// Where it listens, as `127.0.0.1:12345`.
    pub(crate) address: String,
    key: String,
    dialer: Dialer,
    process: Process,
}

/// The process of a gateway and the folder in which it writes; both end with this.
#[derive(Debug)]
struct Process {
    child: Child,
    folder: TempDir,
}

impl Drop for Process {
    /// Kills the process and waits until it has ended: who still writes would keep the folder, which is
    /// removed right after this.
    fn drop(&mut self) {
        drop(self.child.start_kill());
        for _ in 0..LOOKS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(DYING);
        }
    }
}

impl Gateway {
    /// Starts one with a configuration, and waits until its upstreams were tried.
    pub(crate) async fn start(program: &Path, config: &Value) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("mcpproxy-adversary-")
            .tempdir()?;
        let mut process = launch(program, folder, config)?;
        let stderr = process.child.stderr.take();
        let listening = async {
            match stderr {
                Some(stderr) => listening(stderr).await,
                None => Err("it has no standard error".to_owned()),
            }
        };
        let address = tokio::time::timeout(START, listening).await;
        let address = address
            .unwrap_or_else(|_| Err("it did not listen in time".to_owned()))
            .map_err(Error::Gateway)?;
        let key = match config.get("api_key").and_then(Value::as_str) {
            Some(chosen) => chosen.replace("$${", "${"),
            None => std::fs::read_to_string(process.folder.path().join(DATA).join("api_key"))?,
        };
        let gateway = Self {
            address,
            key: key.trim().to_owned(),
            dialer: Dialer::default(),
            process,
        };
        let upstreams = config.get("mcpServers").and_then(Value::as_object);
        let upstreams = upstreams.map_or(0, serde_json::Map::len);
        let upstreams = u32::try_from(upstreams).unwrap_or(u32::MAX);
        gateway.until_ready(START + TRIED * upstreams).await?;
        Ok(gateway)
    }

    /// Returns the key of its owner.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Makes a token for an agent that may use these upstreams, or all where none is named.
    pub(crate) async fn token(&self, name: &str, upstreams: &[&str]) -> Result<String, Error> {
        let mut body = json!({ "name": name });
        if let (false, Some(body)) = (upstreams.is_empty(), body.as_object_mut()) {
            body.insert("upstreams".to_owned(), json!(upstreams));
        }
        let made = self.post("/tokens", &body).await?;
        let token = made.get("token").and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| Error::Owner {
            path: "/tokens".to_owned(),
            why: "there is no token in the answer".to_owned(),
        })
    }

    /// Asks the REST interface as the owner and returns the data.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.owner(Method::GET, path, String::new()).await
    }

    /// Orders something as the owner and returns the data.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.owner(Method::POST, path, body.to_string()).await
    }

    /// Returns the folder in which it runs: a home for whoever works with it.
    pub(crate) fn folder(&self) -> &Path {
        self.process.folder.path()
    }

    /// Returns the file of its configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder().join(CONFIG)
    }

    /// Returns the folder of its state.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder().join(DATA)
    }

    async fn until_ready(&self, patience: Duration) -> Result<(), Error> {
        let ready = async {
            loop {
                let uri = format!("http://{}/readyz", self.address);
                let uri: Uri = uri.parse().unwrap_or_default();
                let sent = self
                    .dialer
                    .send(Method::GET, &uri, http::HeaderMap::new(), "".into());
                if sent.await.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(GLANCE).await;
            }
        };
        let ready = tokio::time::timeout(patience, ready).await;
        ready.map_err(|_| Error::Gateway("its upstreams were not tried in time".to_owned()))
    }

    async fn owner(&self, method: Method, path: &str, body: String) -> Result<Value, Error> {
        let headers = [("x-api-key", &*self.key)];
        let (status, mut said) = self.send(method, path, &headers, body).await?;
        match said.get_mut("data") {
            Some(data) => Ok(data.take()),
            None => Err(Error::Owner {
                path: path.to_owned(),
                why: format!("{status}: {said}"),
            }),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<(u16, Value), Error> {
        let fault = |why: String| Error::Owner {
            path: path.to_owned(),
            why,
        };
        let uri = format!("http://{}/api/v1{path}", self.address);
        let uri: Uri = uri
            .parse()
            .map_err(|_| fault("not an address".to_owned()))?;
        let mut all = header_map(headers.iter().copied());
        all.extend(header_map(
            [("content-type", "application/json")].into_iter(),
        ));
        let sent = self.dialer.send(method, &uri, all, body.into()).await;
        let answer = sent.map_err(|why| fault(why.to_string()))?;
        let status = answer.status().as_u16();
        let read = read_bounded(answer.into_body(), MOST, PATIENCE).await;
        let read = read.map_err(|why| fault(why.to_string()))?;
        Ok((status, serde_json::from_slice(&read).unwrap_or_default()))
    }
}

/// A command of the program, in an environment that has nothing else.
pub(crate) fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

fn launch(program: &Path, folder: TempDir, config: &Value) -> Result<Process, Error> {
    let file: PathBuf = folder.path().join(CONFIG);
    std::fs::write(&file, config.to_string())?;
    let child = command(program, folder.path())
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(&file)
        .arg("--data-dir")
        .arg(folder.path().join(DATA))
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(Process { child, folder })
}

/// Reads standard error until it says the address, and goes on reading so that nobody waits.
async fn listening(stderr: impl AsyncRead + Unpin + Send + 'static) -> Result<String, String> {
    let mut lines = BufReader::new(stderr).lines();
    let mut said = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        let rest = line.strip_prefix("mcpproxy listens on http://");
        if let Some(address) = rest.and_then(|rest| rest.strip_suffix("/mcp")) {
            let address = address.to_owned();
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(address);
        }
        said.push(line);
    }
    Err(said.join("; "))
}
