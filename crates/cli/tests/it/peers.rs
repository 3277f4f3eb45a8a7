//! Programs that others wrote, through one gateway: the servers of the MCP project behind it, the
//! inspector, the Python SDK and rmcp in front of it.
//!
//! They are installed by `cargo xtask test`, which tells in the environment where. Without that
//! there is nothing to talk to, and the tests say so.

mod inspector;
mod python;
mod python_tools;
mod reading;
mod rust;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::support::{Gateway, until, within};

/// What stands in the file that the filesystem server reads.
const NOTE: &str = "a note on disk";
/// The message of the only commit that the git server knows.
const COMMIT: &str = "begin at the beginning";

/// The foreign programs.
struct Tools {
    python: PathBuf,
    node: PathBuf,
    node_modules: PathBuf,
}

impl Tools {
    /// Finds the programs, or says how to get them.
    fn find() -> Option<Self> {
        let place = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let found = || {
            Some(Self {
                python: place("MCPPROXY_TOOLS_PYTHON")?,
                node: place("MCPPROXY_TOOLS_NODE")?,
                node_modules: place("MCPPROXY_TOOLS_NODE_MODULES")?,
            })
        };
        let found = found();
        if found.is_none() {
            eprintln!("not run: the programs of others are set up by `cargo xtask test`");
        }
        found
    }

    fn package(&self, path: &str) -> PathBuf {
        self.node_modules.join("@modelcontextprotocol").join(path)
    }
}

/// A gateway in front of four servers, and what they work on.
struct Setting {
    tools: Tools,
    gateway: Gateway,
    folder: TempDir,
}

impl Setting {
    async fn start() -> Option<Self> {
        let tools = Tools::find()?;
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        std::fs::write(folder.path().join("files/note.txt"), NOTE).unwrap();
        commit(&folder.path().join("repository")).await;
        let config = config(&tools, folder.path());
        let gateway = Gateway::start(&config).await;
        until("all servers to be up", || async {
            let servers = gateway.api("/servers").await;
            let up = servers
                .as_array()?
                .iter()
                .all(|server| server["status"] == "up");
            up.then_some(())
        })
        .await;
        Some(Self {
            tools,
            gateway,
            folder,
        })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a foreign program that must end well, and returns what it printed.
    async fn run<A: AsRef<OsStr>>(&self, program: &Path, args: &[A]) -> Value {
        let mut command = Command::new(program);
        command.args(args).kill_on_drop(true);
        // It may keep files of its own at home.
        command.env("HOME", self.folder.path());
        let output = within("a foreign program", command.output()).await.unwrap();
        parsed(&output)
    }
}

fn parsed(output: &Output) -> Value {
    let (said, why) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}\n{why}");
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("not JSON: {said}\n{why}"))
}

fn config(tools: &Tools, folder: &Path) -> Value {
    let node = |package: &str| json!([tools.package(package).join("dist/index.js")]);
    let mut files = node("server-filesystem");
    files
        .as_array_mut()
        .unwrap()
        .push(json!(folder.join("files")));
    let repository = folder.join("repository");
    json!({
        "routing_mode": "all",
        "mcpServers": {
            "files": { "command": tools.node, "args": files },
            "memory": {
                "command": tools.node,
                "args": node("server-memory"),
                "env": { "MEMORY_FILE_PATH": folder.join("memory.json") },
            },
            // What it asks must find the one who called.
            "everything": {
                "command": tools.node,
                "args": node("server-everything"),
                "scope": "session",
            },
            "git": {
                "command": tools.python,
                "args": ["-m", "mcp_server_git", "--repository", repository],
            },
        },
    })
}

/// Makes a repository with one commit.
async fn commit(repository: &Path) {
    let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let record = ["commit", "--quiet", "--allow-empty", "-m", COMMIT];
    for args in [
        ["init", "--quiet"].as_slice(),
        &[author.as_slice(), &record].concat(),
    ] {
        std::fs::create_dir_all(repository).unwrap();
        let mut git = Command::new("git");
        git.current_dir(repository).args(args);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(within("git", git.status()).await.unwrap().success());
    }
}
