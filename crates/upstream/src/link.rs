//! A live connection to an upstream, over any transport.

pub mod http;
pub mod sse;
pub mod stdio;

use std::fmt;
use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use mcpproxy_mcp::{Error, Frame};
use tokio::sync::mpsc;

use self::http::HttpLink;
use self::sse::SseLink;
use self::stdio::StdioLink;
use crate::instance::Instance;

/// What comes from an upstream while a call is under way.
#[derive(Debug)]
pub enum FromUpstream {
    /// A notification or a request that belongs to the call.
    Message(Box<Frame>),
    /// The upstream answers with a stream rather than with one message.
    Streaming,
    /// The upstream closed the call's stream and will go on when it is polled.
    Polling {
        /// The delay it asked for, in milliseconds.
        retry: u64,
    },
}

/// Hears what an upstream says outside any call.
pub trait Listener: Send + Sync + fmt::Debug {
    /// Takes a notification or a request. Returns false for what it can do nothing with; a
    /// request is then refused.
    fn heard(&self, frame: Frame) -> bool;
    /// Tells whether several callers share the conversation, so that a request that names no call
    /// names no caller.
    fn is_shared(&self) -> bool;
    /// Takes the news that the conversation was opened, before anything else is said in it.
    fn opened(&self, _: &Arc<Instance>) {}
    /// Takes the news that the connection has ended.
    fn ended(&self, why: &str);
}

/// Headers to be sent with one message.
pub type Headers = Vec<(HeaderName, HeaderValue)>;

/// A live connection.
#[derive(Debug)]
pub enum Link {
    /// To a child, over its standard input and output.
    Stdio(StdioLink),
    /// Over Streamable HTTP.
    Http(Arc<HttpLink>),
    /// Over the older HTTP+SSE.
    Sse(Box<SseLink>),
}

impl Link {
    /// Sends a request and waits for its answer; what comes before it goes to `events`.
    pub async fn call(
        &self,
        ticket: u64,
        message: Bytes,
        headers: Headers,
        events: mpsc::Sender<FromUpstream>,
    ) -> Result<Frame, Error> {
        match self {
            Self::Stdio(link) => link.call(ticket, message, events).await,
            Self::Http(link) => link.call(ticket, message, headers, events).await,
            Self::Sse(link) => link.call(ticket, message, events).await,
        }
    }

    /// Sends a message that is not answered.
    pub async fn send(&self, message: Bytes, headers: Headers) -> Result<(), Error> {
        match self {
            Self::Stdio(link) => link.send(message).await,
            Self::Http(link) => link.send(message, headers).await,
            Self::Sse(link) => link.send(message).await,
        }
    }

    /// Returns the id of the process that watches over the child, where there is one.
    pub fn process(&self) -> Option<u32> {
        match self {
            Self::Stdio(link) => link.process(),
            Self::Http(_) | Self::Sse(_) => None,
        }
    }

    /// Returns why the connection has ended, once it has.
    pub fn ended(&self) -> Option<String> {
        match self {
            Self::Stdio(link) => link.ended(),
            Self::Http(link) => link.ended(),
            Self::Sse(link) => link.ended(),
        }
    }
}

/// A listener for tests that hears nothing.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Nobody;

#[cfg(test)]
impl Listener for Nobody {
    fn heard(&self, _: Frame) -> bool {
        false
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn ended(&self, _: &str) {}
}
