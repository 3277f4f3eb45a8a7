//! A link to a child over its standard input and output, one message a line.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_mcp::line::{LineReader, push_line};
use mcpproxy_mcp::{Error, Frame};
use mcpproxy_text::Limits;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use crate::child::Started;
use crate::link::{FromUpstream, Listener};
use crate::switch::Switch;

/// Messages that may wait for the child to read them.
const QUEUE: usize = 256;
/// Bytes gathered for one write at most.
const GATHER: usize = 256 * 1024;

/// A link to a child. Dropping it closes the child's input, which ends the child.
#[derive(Debug)]
pub struct StdioLink {
    queue: mpsc::Sender<Bytes>,
    switch: Arc<Switch>,
    process: Option<u32>,
}

impl StdioLink {
    /// Takes over a started child.
    pub fn new(
        started: Started,
        listener: Arc<dyn Listener>,
        limits: Limits,
        max_message: usize,
    ) -> Self {
        let Started {
            stdin,
            stdout,
            process,
        } = started;
        let id = process.id();
        let switch = Arc::new(Switch::new(listener, limits));
        let (queue, messages) = mpsc::channel(QUEUE);
        tokio::spawn(write(stdin, messages, Arc::clone(&switch)));
        let replies = queue.downgrade();
        tokio::spawn(read(
            stdout,
            process,
            Arc::clone(&switch),
            replies,
            max_message,
        ));
        Self {
            queue,
            switch,
            process: id,
        }
    }

    /// Sends a request and waits for its answer.
    pub async fn call(
        &self,
        ticket: u64,
        message: Bytes,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, Error> {
        let waiting = self.switch.wait(ticket, events)?;
        self.send(message).await?;
        waiting.answer().await
    }

    /// Sends a message that is not answered.
    pub async fn send(&self, message: Bytes) -> Result<(), Error> {
        let ended = || Error::Transport(self.ended().unwrap_or_else(|| "it has ended".to_owned()));
        self.queue.send(message).await.map_err(|_| ended())
    }

    /// Returns the id of the process that watches over the child.
    pub fn process(&self) -> Option<u32> {
        self.process
    }

    /// Returns why the link has ended, once it has.
    pub fn ended(&self) -> Option<String> {
        self.switch.ended()
    }
}

/// Writes messages as lines, gathering what is ready into one write.
async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Bytes>, switch: Arc<Switch>) {
    let mut lines = Vec::new();
    while let Some(message) = messages.recv().await {
        lines.clear();
        push_line(&mut lines, &message);
        while lines.len() < GATHER
            && let Ok(more) = messages.try_recv()
        {
            push_line(&mut lines, &more);
        }
        if let Err(fault) = stdin.write_all(&lines).await {
            switch.end(&format!("its input is closed: {fault}"));
            return;
        }
        lines.shrink_to(GATHER);
    }
}

async fn read(
    stdout: ChildStdout,
    mut process: tokio::process::Child,
    switch: Arc<Switch>,
    replies: mpsc::WeakSender<Bytes>,
    max_message: usize,
) {
    let mut lines = LineReader::new(stdout, max_message);
    let why = loop {
        match lines.next().await {
            Ok(Some(line)) => {
                // The reader must not keep the queue open: dropping the link closes the input.
                if let (Some(reply), Some(replies)) = (switch.sort(line), replies.upgrade()) {
                    drop(replies.try_send(reply));
                }
            }
            Ok(None) => break None,
            Err(fault) => break Some(fault.to_string()),
        }
    };
    if let Some(why) = why {
        switch.end(&why);
        // The child still writes: what it says can no longer be told apart, so it is ended by
        // closing its input, which happens when the link is dropped.
        return;
    }
    let status = process.wait().await;
    let exit = match status.map(|status| status.code()) {
        Ok(Some(code)) => format!("exited with code {code}"),
        Ok(None) | Err(_) => "was ended by a signal".to_owned(),
    };
    switch.end(&exit);
}
