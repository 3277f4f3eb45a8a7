//! `mcpproxy stdio` as a process, spoken to in lines.

use std::os::fd::OwnedFd;
use std::process::Stdio;

use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::{META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, MODERN};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::io::{AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::process::Child;

use super::{Home, within};

type Input = Box<dyn AsyncWrite + Send + Unpin>;
type Output = Box<dyn AsyncRead + Send + Unpin>;

/// What an agent gives its child as standard streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wiring {
    /// As most do.
    Pipes,
    /// As agents written in Node do.
    Sockets,
    /// A person who tries it out: a pipe in, a terminal out.
    Terminal,
}

/// A running `mcpproxy stdio`.
pub(crate) struct Bridge {
    child: Child,
    input: Option<Input>,
    output: Lines<BufReader<Output>>,
    next: u64,
}

impl Bridge {
    /// Starts one for the gateway of a folder, or with `--standalone` one of its own.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_with(Wiring::Pipes, home, args)
    }

    /// Starts one with standard streams of some kind.
    pub(crate) fn start_with(wiring: Wiring, home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(&[&["stdio"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut ours: (Option<Input>, Option<Output>) = (None, None);
        match wiring {
            Wiring::Pipes => {}
            Wiring::Sockets => {
                let (near, far) = pair();
                command.stdin(far);
                ours.0 = Some(Box::new(near));
                let (near, far) = pair();
                command.stdout(far);
                ours.1 = Some(Box::new(near));
            }
            Wiring::Terminal => {
                let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
                unlockpt(&near).unwrap();
                let far = ioctl_tiocgptpeer(&near, OpenptFlags::RDWR | OpenptFlags::NOCTTY);
                command.stdout(far.unwrap());
                ours.1 = Some(Box::new(tokio::fs::File::from(std::fs::File::from(near))));
            }
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // The command holds the far ends; with it they would never be seen to close.
        drop(command);
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let input = ours.0.or(input.map(|input| Box::new(input) as Input));
        let output = ours.1.or(output.map(|output| Box::new(output) as Output));
        Self {
            child,
            input,
            output: BufReader::new(output.unwrap()).lines(),
            next: 1,
        }
    }

    /// The id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Kills the process and leaves its streams as they are.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits for the process to end, and returns its code and what it said about it.
    pub(crate) async fn verdict(&mut self) -> (Option<i32>, String) {
        let status = within("the bridge to end", self.child.wait()).await;
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut said).await.unwrap();
        (status.unwrap().code(), said)
    }

    /// Sends a message as it is.
    pub(crate) async fn send(&mut self, message: &[u8]) {
        let line = [message, b"\n"].concat();
        let input = self.input.as_mut().unwrap();
        input.write_all(&line).await.unwrap();
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let message = compose::request(&id.to_string(), method, &params.to_string());
        self.send(&message).await;
        id
    }

    /// Returns the next message, or nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        // A terminal whose other end has closed is an error to read.
        let line = within("a line", self.output.next_line()).await.ok()??;
        let value = serde_json::from_str(&line);
        Some(value.unwrap_or_else(|_| panic!("not JSON: {line}")))
    }

    /// Reads on until the answer to a request, and returns it.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self
                .next()
                .await
                .expect("the bridge ended without an answer");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Makes a request and returns its result.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, &params).await;
        let answer = self.answer(id).await;
        let result = answer.get("result");
        result.unwrap_or_else(|| panic!("failed: {answer}")).clone()
    }

    /// Opens a legacy conversation and returns the result of `initialize`.
    pub(crate) async fn open_legacy(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = self.ask("initialize", params).await;
        let ready = compose::notification("notifications/initialized", "{}");
        self.send(&ready).await;
        hello
    }

    /// Parameters with the envelope of the modern era.
    pub(crate) fn modern(mut params: Value) -> Value {
        params["_meta"] = json!({
            META_VERSION: MODERN,
            META_CAPABILITIES: {},
            META_CLIENT_INFO: { "name": "test", "version": "1" },
        });
        params
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params).await
    }

    /// Closes its output, and goes on writing.
    pub(crate) fn deafen(&mut self) {
        let nothing: Output = Box::new(tokio::io::empty());
        self.output = BufReader::new(nothing).lines();
    }

    /// Closes its input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the process to end, whatever it still says.
    pub(crate) async fn gone(&mut self) {
        while self.next().await.is_some() {}
        within("the bridge to end", self.child.wait())
            .await
            .unwrap();
    }

    /// Waits for the process to end well, with nothing more to say that is an answer.
    pub(crate) async fn ends(&mut self) {
        while let Some(message) = self.next().await {
            assert!(message.get("id").is_none(), "said at the end: {message}");
        }
        let status = within("the bridge to end", self.child.wait()).await;
        let status = status.unwrap();
        assert!(status.success(), "{status}");
    }
}

fn pair() -> (UnixStream, OwnedFd) {
    let (near, far) = UnixStream::pair().unwrap();
    let far = far.into_std().unwrap();
    far.set_nonblocking(false).unwrap();
    (near, far.into())
}
