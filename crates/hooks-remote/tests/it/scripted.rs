//! A service that does exactly what it is told, byte for byte, and nothing more.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// What is done with a question once it was read.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers and keeps the connection.
    Answer(String),
    /// Answers and closes the connection, without having said so.
    AnswerAndClose(String),
    /// Answers one byte after the other, slowly.
    Drip(String),
    /// Never answers.
    Hang,
    /// Cuts the connection off after these bytes.
    Reset(String),
}

/// A service on a loopback port until it is dropped.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    accepting: AbortHandle,
}

impl Scripted {
    pub(crate) async fn start(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, act)
    }

    pub(crate) fn on(listener: TcpListener, act: Act) -> Self {
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(perform(stream, act.clone()));
            }
        });
        Self {
            address,
            connections,
            accepting: accepting.abort_handle(),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/scan", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// An answer with a length.
pub(crate) fn http(head: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An answer of the published form.
pub(crate) fn decision(body: &str) -> String {
    http("200 OK\r\ncontent-type: application/json", body)
}

async fn perform(mut stream: TcpStream, act: Act) {
    while read_question(&mut stream).await.is_some() {
        match &act {
            Act::Answer(text) => {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Act::AnswerAndClose(text) => {
                let sent = stream.write_all(text.as_bytes()).await;
                assert!(sent.is_ok());
                return;
            }
            Act::Drip(text) => {
                for byte in text.bytes() {
                    if stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            Act::Hang => std::future::pending().await,
            Act::Reset(text) => {
                let sent = stream.write_all(text.as_bytes()).await;
                assert!(sent.is_ok());
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
}

/// Reads one question to its end.
async fn read_question(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream
            .read(&mut buffer)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        read.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            return Some(text);
        }
    }
}
