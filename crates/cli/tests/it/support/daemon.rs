//! `mcpproxy serve` as a process of its own, with its own folders, killed when dropped.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;

use mcpproxy_core::ActivityReader as _;
use mcpproxy_store::Reader;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;

use super::{Http, program, until, within};

/// A folder with a configuration file and a data folder, for one gateway after another.
#[derive(Clone)]
pub(crate) struct Home(Arc<TempDir>);

impl Home {
    /// Makes a folder with a configuration.
    pub(crate) fn new(config: &Value) -> Self {
        let home = Self(Arc::new(TempDir::new().unwrap()));
        home.configure(&config.to_string());
        home
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The configuration file.
    pub(crate) fn config(&self) -> PathBuf {
        self.path().join("mcpproxy.yaml")
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Replaces the configuration file at once, as editors do.
    pub(crate) fn configure(&self, text: &str) {
        let fresh = self.path().join("mcpproxy.yaml.new");
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(fresh, self.config()).unwrap();
    }

    /// The key that the gateway made at its first start.
    pub(crate) fn key(&self) -> String {
        let key = std::fs::read_to_string(self.data().join("api_key")).unwrap();
        key.trim().to_owned()
    }

    /// The activity log.
    pub(crate) fn log(&self) -> PathBuf {
        self.data().join(mcpproxy_store::FILE)
    }

    /// The records of calls and messages so far, oldest first: those about the gateway itself are
    /// left out.
    pub(crate) fn activity(&self) -> Vec<Value> {
        let about_itself = |record: &Value| {
            let kind = record["type"].as_str().unwrap_or_default();
            let system = kind.starts_with("system_");
            system || ["config_change", "server_change", "approval"].contains(&kind)
        };
        let mut records = self.records();
        records.retain(|record| !about_itself(record));
        records
    }

    /// Everything in the activity log so far, oldest first.
    pub(crate) fn records(&self) -> Vec<Value> {
        let Ok(reader) = Reader::open(&self.log()) else {
            return Vec::new();
        };
        let page = reader.tail(0, usize::MAX).unwrap();
        let records = page.records.iter();
        records
            .map(|record| serde_json::from_str(record).unwrap())
            .collect()
    }

    /// A command of the program for this folder, in an environment that has nothing else.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .arg("--config")
            .arg(self.config())
            .arg("--data-dir")
            .arg(self.data())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs a command of the program to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Output {
        within("a command", self.command(args).output())
            .await
            .unwrap()
    }
}

/// A running gateway.
pub(crate) struct Gateway {
    /// Where it listens, as `127.0.0.1:12345`.
    pub(crate) address: String,
    /// Its folders.
    pub(crate) home: Home,
    child: Child,
    log: watch::Receiver<Vec<String>>,
}

/// A gateway that did not start.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard error.
    pub(crate) said: String,
}

impl Gateway {
    /// Starts a gateway whose upstreams have all been tried.
    pub(crate) async fn start(config: &Value) -> Self {
        Self::start_in(Home::new(config)).await
    }

    /// Starts a gateway in a folder that is there already.
    pub(crate) async fn start_in(home: Home) -> Self {
        let gateway = Self::launch(home, &[])
            .await
            .unwrap_or_else(|refused| panic!("the gateway did not start: {}", refused.said));
        gateway.until_ready().await;
        gateway
    }

    /// Starts a gateway, or returns what it said when it ended instead.
    pub(crate) async fn launch(home: Home, args: &[&str]) -> Result<Self, Refused> {
        let mut whole = vec!["serve"];
        if !args.contains(&"--listen") {
            whole.extend(["--listen", "127.0.0.1:0"]);
        }
        whole.extend(args);
        let mut child = home
            .command(&whole)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, log) = watch::channel(Vec::new());
        tokio::spawn(keep(child.stderr.take().unwrap(), sender));
        let address = within("the gateway to listen", listening(log.clone())).await;
        let Some(address) = address else {
            let status = within("the gateway to end", child.wait()).await.unwrap();
            let (code, said) = (status.code(), log.borrow().join("\n"));
            return Err(Refused { code, said });
        };
        Ok(Self {
            address,
            home,
            child,
            log,
        })
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A client of the REST interface and of what needs no session, without a credential.
    pub(crate) fn http(&self) -> Http {
        Http::new(&self.url(""))
    }

    /// A client with the owner's key.
    pub(crate) fn owner(&self) -> Http {
        self.http().with("x-api-key", &self.home.key())
    }

    /// Makes an agent's token for these upstreams and returns a client that carries it.
    pub(crate) async fn token(&self, name: &str, upstreams: &Value) -> Http {
        let body = json!({ "name": name, "upstreams": upstreams });
        let (status, made) = self.owner().post("/api/v1/tokens", &body).await;
        assert_eq!(status, 200, "{made}");
        let token = made["data"]["token"].as_str().unwrap();
        assert!(token.starts_with("mcp_agt_"));
        self.http()
            .with("authorization", &format!("Bearer {token}"))
    }

    /// Asks the REST interface as the owner and returns the data.
    pub(crate) async fn api(&self, path: &str) -> Value {
        let (status, answer) = self.owner().get(&format!("/api/v1{path}")).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer["data"].clone()
    }

    /// Waits until every upstream was tried.
    pub(crate) async fn until_ready(&self) {
        let http = self.http();
        until("readiness", || async {
            (http.get("/readyz").await.0 == 200).then_some(())
        })
        .await;
    }

    /// What was logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.borrow().join("\n")
    }

    /// Waits until a line was logged that contains `text`.
    pub(crate) async fn until_logged(&self, text: &str) -> String {
        let mut log = self.log.clone();
        let found = async {
            loop {
                let lines = log.borrow_and_update().clone();
                if let Some(line) = lines.into_iter().find(|line| line.contains(text)) {
                    return line;
                }
                log.changed().await.expect("the gateway has ended");
            }
        };
        within(&format!("`{text}` in the log"), found).await
    }

    /// The id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Sends a signal, as `HUP`.
    pub(crate) async fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.pid().to_string()])
            .status()
            .await;
        assert!(sent.unwrap().success());
    }

    /// Ends the gateway politely and waits for it.
    pub(crate) async fn stop(mut self) -> Home {
        self.signal("TERM").await;
        let status = within("the gateway to end", self.child.wait()).await;
        assert!(status.unwrap().success(), "{}", self.log());
        self.home.clone()
    }

    /// Kills the gateway and waits for it.
    pub(crate) async fn kill(mut self) -> Home {
        within("the gateway to die", self.child.kill())
            .await
            .unwrap();
        self.home.clone()
    }
}

async fn keep(stderr: ChildStderr, log: watch::Sender<Vec<String>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.send_modify(|log| log.push(line));
    }
}

/// Waits for the address in the log; nothing if the log ends before.
async fn listening(mut log: watch::Receiver<Vec<String>>) -> Option<String> {
    loop {
        let found = log.borrow_and_update().iter().find_map(|line| {
            // In JSON it stands within the line.
            let (_, rest) = line.split_once("mcpproxy listens on ")?;
            let (_, rest) = rest.split_once("://")?;
            let (address, _) = rest.split_once("/mcp")?;
            Some(address.to_owned())
        });
        if found.is_some() {
            return found;
        }
        log.changed().await.ok()?;
    }
}

/// The password in addresses that must not be shown.
pub(crate) const PASSWORD: &str = "correct-horse";

/// Checks that a gateway with this configuration does not start, and names `place` without the
/// password.
pub(crate) async fn refuses_without_password(config: &Value, place: &str) {
    let refused = Gateway::launch(Home::new(config), &[]).await.err().unwrap();
    let Refused { code, said } = refused;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(place) && !said.contains(PASSWORD), "{said}");
}
