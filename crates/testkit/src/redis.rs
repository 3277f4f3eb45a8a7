//! A real Redis of its own for a test, on loopback, in a folder that goes with it.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::lock;

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(10);
/// The password that it asks for, made up.
const PASSWORD: &str = "pier-lamp-oil";

/// A server that is stopped, and gone, when dropped.
#[derive(Debug)]
pub struct RedisServer {
    folder: TempDir,
    port: u16,
    child: Mutex<Option<Child>>,
}

impl RedisServer {
    /// Starts one that keeps what it is told on disk; the fault says what is missing.
    pub fn start() -> io::Result<Self> {
        let server = Self {
            folder: tempfile::tempdir()?,
            port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
            child: Mutex::default(),
        };
        server.go_on()?;
        Ok(server)
    }

    /// Returns its address.
    pub fn url(&self) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{}/0", self.port)
    }

    /// Stops it as a crash would.
    pub fn stop(&self) -> io::Result<()> {
        if let Some(mut child) = lock(&self.child).take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Lets it lose everything, once it is stopped.
    pub fn forget(&self) -> io::Result<()> {
        std::fs::remove_dir_all(self.folder.path().join("appendonlydir"))
    }

    /// Starts it again, at the same address.
    pub fn go_on(&self) -> io::Result<()> {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        command.args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ]);
        command.args(["--requirepass", PASSWORD, "--daemonize", "no", "--dir"]);
        command.arg(self.folder.path());
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|fault| {
            let hint = "`redis-server` is not on the PATH; install the package `redis-server`";
            io::Error::other(format!("{hint}: {fault}"))
        })?;
        *lock(&self.child) = Some(child);
        self.answers()
    }

    /// Returns everything that it keeps on disk.
    pub fn kept(&self) -> io::Result<Vec<u8>> {
        let mut kept = Vec::new();
        for file in std::fs::read_dir(self.folder.path().join("appendonlydir"))? {
            kept.extend(std::fs::read(file?.path())?);
        }
        Ok(kept)
    }

    /// Sends a signal, as `STOP` for one that hangs and `CONT` for one that goes on.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let id = lock(&self.child).as_ref().map(Child::id);
        let id = id.ok_or_else(|| io::Error::other("it is not running"))?;
        let mut kill = Command::new("kill");
        let status = kill.args(["-s", name, &id.to_string()]).status()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("`{name}` was not sent: {status}")))
    }

    fn answers(&self) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > until {
                return Err(io::Error::other("`redis-server` does not answer"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // A test may have stopped it.
        drop(self.stop());
    }
}
