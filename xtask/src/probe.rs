//! A small blocking HTTP and MCP client that asks whether a process is up yet.
//!
//! It is for questions that are asked again and again while nobody may be listening, so every
//! failure is the same answer: nothing. The bench measures with a client of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(500);
const ANSWER_LIMIT: u64 = 64 * 1024;

/// An MCP session of the legacy era.
#[derive(Debug)]
pub(crate) struct Probe {
    address: SocketAddr,
    path: String,
    session: String,
}

impl Probe {
    /// Opens a session; none if that does not work now.
    pub(crate) fn open(address: SocketAddr, path: &str) -> Option<Self> {
        let mut probe = Self {
            address,
            path: path.to_owned(),
            session: String::new(),
        };
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"1"}}}"#;
        let answer = probe.request(hello, "protocolVersion")?;
        let header = |line: &&str| line.to_ascii_lowercase().starts_with("mcp-session-id:");
        if let Some(line) = answer.lines().find(header) {
            probe.session = format!("{line}\r\n");
        }
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        probe.request(ready, "\r\n\r\n")?;
        Some(probe)
    }

    /// Sends one message and returns the answer as soon as `wanted` is in it.
    pub(crate) fn request(&self, body: &str, wanted: &str) -> Option<String> {
        let Self {
            address,
            path,
            session,
        } = self;
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2025-11-25\r\n{session}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(*address, &request, wanted)
    }
}

/// Says whether anything accepts connections at `address`.
pub(crate) fn accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, TIMEOUT).is_ok()
}

/// Says whether `GET path` is answered with 200.
pub(crate) fn answers_ok(address: SocketAddr, path: &str) -> bool {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    exchange(address, &request, "HTTP/1.1 200").is_some()
}

fn exchange(address: SocketAddr, request: &str, wanted: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut stream = stream.take(ANSWER_LIMIT);
    let mut answer = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let length = stream.read(&mut buffer).ok()?;
        answer.extend_from_slice(buffer.get(..length)?);
        let text = String::from_utf8_lossy(&answer);
        if text.contains(wanted) {
            return Some(text.into_owned());
        }
        if length == 0 {
            return None;
        }
    }
}
