//! Where a sample's messages go: lines on an output here, streams in `http`.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use mcpproxy_mcp::line::push_line;

use crate::lock;

/// Takes messages for one downstream.
pub(crate) trait Outlet: Send + Sync {
    /// Sends a notification or a question.
    fn put(&self, message: Bytes);

    /// Sends the answer to the request that the outlet was made for.
    fn finish(&self, answer: Bytes) {
        self.put(answer);
    }

    /// Tells whether somebody still hears it.
    fn is_open(&self) -> bool;
}

/// An output that takes one message a line, whole, from many threads.
pub(crate) struct Lines<W> {
    output: Mutex<W>,
    broken: AtomicBool,
}

impl<W: Write> Lines<W> {
    /// Wraps an output.
    pub(crate) fn new(output: W) -> Self {
        Self {
            output: Mutex::new(output),
            broken: AtomicBool::new(false),
        }
    }
}

impl<W: Write + Send> Outlet for Lines<W> {
    fn put(&self, message: Bytes) {
        let mut line = Vec::with_capacity(message.len() + 1);
        push_line(&mut line, &message);
        let mut output = lock(&self.output);
        let written = output.write_all(&line).and_then(|()| output.flush());
        if written.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    fn is_open(&self) -> bool {
        !self.broken.load(Ordering::Relaxed)
    }
}
