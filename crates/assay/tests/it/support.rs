//! A proxy that runs, its client, and the folder it writes to.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// An upstream that answers every line with a number for its id, and keeps what it received.
pub(crate) const ANSWERS: &str = r#"tee -a received | sed -u -n 's/.*"id":\([0-9]*\).*/{"jsonrpc":"2.0","id":\1,"result":{"content":[{"type":"text","text":"ok"}],"isError":false}}/p'"#;

/// A folder for one test.
pub(crate) struct Scene {
    folder: TempDir,
}

/// A proxy that runs.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
}

/// What a proxy left behind when it ended.
pub(crate) struct Left {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl std::fmt::Debug for Left {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(formatter, "{:?}\n{stdout}\n{}", self.status, self.stderr)
    }
}

impl Left {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn audit(&self) -> PathBuf {
        self.path().join("audit")
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Prepares the program with the scene's keys.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .current_dir(self.path())
            .env("ASSAY_KEYS_DIR", self.path().join("keys"))
            .env_remove("ASSAY_HASH_PEPPER")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a proxy in front of a shell script.
    pub(crate) fn proxy(&self, flags: &[&str], script: &str) -> Proxy {
        let mut args = vec!["mcp-proxy", "--audit-dir", "audit"];
        args.extend_from_slice(flags);
        args.extend_from_slice(&["--", "sh", "-c", script]);
        let mut child = self.command(&args).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Proxy {
            child,
            stdin,
            stdout,
        }
    }

    /// Runs a proxy on a whole input.
    pub(crate) fn run(&self, flags: &[&str], script: &str, input: &[u8]) -> Left {
        let mut proxy = self.proxy(flags, script);
        let mut stdin = proxy.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let left = proxy.left();
        writer.join().unwrap();
        left
    }

    /// Runs a command that is no proxy.
    pub(crate) fn tool(&self, args: &[&str]) -> Left {
        let output = self.command(args).stdin(Stdio::null()).output().unwrap();
        Left {
            status: output.status,
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns what the upstream received.
    pub(crate) fn received(&self) -> String {
        let bytes = fs::read(self.path().join("received")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns every receipt of every session.
    pub(crate) fn receipts(&self) -> Vec<Value> {
        let mut files = entries(&self.audit().join("receipts"));
        files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
        let lines: Vec<String> = texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the receipts of calls.
    pub(crate) fn calls(&self) -> Vec<Value> {
        let mut receipts = self.receipts();
        receipts.retain(|receipt| receipt["type"] == "mcp_tool_call");
        receipts
    }

    /// Returns tool, outcome and verdict of every call.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        let shown = |call: &Value| {
            let text = |key: &str| call[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {}",
                text("tool_name"),
                text("outcome"),
                text("policy_verdict")
            )
        };
        self.calls().iter().map(shown).collect()
    }

    pub(crate) fn packs(&self) -> Vec<PathBuf> {
        entries(&self.audit().join("packs"))
    }

    /// Verifies every pack and returns how many there are.
    pub(crate) fn verified(&self) -> usize {
        let packs = self.packs();
        for pack in &packs {
            let left = self.tool(&["verify-pack", &pack.display().to_string()]);
            assert_eq!(left.code(), Some(0), "{left:?}");
        }
        packs.len()
    }
}

impl Proxy {
    pub(crate) fn new(
        child: Child,
        stdin: Option<ChildStdin>,
        stdout: BufReader<ChildStdout>,
    ) -> Self {
        Self {
            child,
            stdin,
            stdout,
        }
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// Reads one line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a call and waits for its answer.
    pub(crate) fn call(&mut self, id: u64, tool: &str) -> Value {
        self.send(&call(id, tool, "{}"));
        serde_json::from_str(&self.line()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Closes the input, unless a writer holds it, and waits for the end.
    pub(crate) fn left(mut self) -> Left {
        drop(self.stdin.take());
        let mut stdout = Vec::new();
        self.stdout.read_to_end(&mut stdout).unwrap();
        self.ended(stdout)
    }

    /// Waits for the end with the input open.
    pub(crate) fn ended(mut self, stdout: Vec<u8>) -> Left {
        let mut stderr = String::new();
        let mut source = self.child.stderr.take().unwrap();
        source.read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        Left {
            status,
            stdout,
            stderr,
        }
    }

    /// Closes the output, and does `then`; waits for the end, with the input open if it `stays`.
    pub(crate) fn unheard(self, stays: bool, then: impl FnOnce()) -> Left {
        let Self {
            mut child,
            stdin,
            stdout,
        } = self;
        drop(stdout);
        then();
        let stdin = stdin.filter(|_| stays);
        let mut stderr = String::new();
        let mut source = child.stderr.take().unwrap();
        source.read_to_string(&mut stderr).unwrap();
        let status = child.wait().unwrap();
        drop(stdin);
        Left {
            status,
            stdout: Vec::new(),
            stderr,
        }
    }

    /// Waits for the end with the input open and nothing more to read.
    pub(crate) fn wait(mut self) -> Left {
        let mut stdout = Vec::new();
        self.stdout.read_to_end(&mut stdout).unwrap();
        self.ended(stdout)
    }
}

/// Returns the most memory that a process had at one time, in kB; nothing where the system does not
/// say.
pub(crate) fn peak_memory(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.map(|peak| peak.trim().trim_end_matches("kB").trim());
    peak.map_or(0, |peak| peak.parse().unwrap())
}

/// Returns a hash as receipts have it, made by another program.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    format!("sha256:{}", text.split_whitespace().next().unwrap())
}

/// Composes a call.
pub(crate) fn call(id: u64, tool: &str, arguments: &str) -> String {
    let tool = Value::from(tool);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{tool},"arguments":{arguments}}}}}"#
    )
}

/// Returns what a folder holds, by name; what starts with a dot is left out.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    found.sort();
    found
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "waited for {what}"
        );
        std::thread::yield_now();
    }
}
