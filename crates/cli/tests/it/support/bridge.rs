//! `mcpproxy stdio` as a process, spoken to in lines.

use std::process::Stdio;

use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::{META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, MODERN};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{Home, within};

/// A running `mcpproxy stdio`.
pub(crate) struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    next: u64,
}

impl Bridge {
    /// Starts one for the gateway of a folder, or with `--standalone` one of its own.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(&[&["stdio"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.take();
        Self {
            child,
            input,
            output,
            next: 1,
        }
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
        let line = within("a line", self.output.next_line()).await.unwrap()?;
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
