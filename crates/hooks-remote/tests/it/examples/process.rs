//! A service in Python, which says on its first line where it listens.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A process that ends with the test.
pub(super) struct Process {
    pub(super) port: u16,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Process {
    /// Starts a script of the repository, or says how to set up what it needs.
    pub(super) async fn start(
        script: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        let Some(python) = std::env::var_os("MCPPROXY_TOOLS_SERVICES") else {
            eprintln!("not run: the services are set up by `cargo xtask test`");
            return None;
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut child = Command::new(python)
            .arg(root.join(script))
            .args(arguments)
            .envs(environment.iter().copied())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self {
            port: 0,
            lines,
            _child: child,
        };
        let line = process.line().await;
        process.port = line.strip_prefix("listening on ").unwrap().parse().unwrap();
        Some(process)
    }

    /// Waits for the next line that the service prints.
    pub(super) async fn line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_mins(1), self.lines.next_line()).await;
        line.unwrap().unwrap().unwrap()
    }
}
