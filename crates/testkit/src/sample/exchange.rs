//! One request and what its answer needs to know.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcpproxy_mcp::era::{Era, INVALID_PARAMS, METHOD_NOT_FOUND};
use mcpproxy_mcp::{Frame, compose};
use mcpproxy_text as text;
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::outlet::Outlet;
use super::tool;
use crate::lock;

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The protocol was not kept.
    Protocol {
        code: i64,
        message: String,
        data: Option<Value>,
    },
    /// A tool could not do what it was asked to; told as a result that says so.
    Tool(String),
}

/// What a request is answered with.
pub(crate) type Answer = Result<Value, Fault>;

/// When a request is answered.
pub(crate) enum Outcome {
    /// At once.
    Now(Answer),
    /// By a thread of its own; one that was cancelled has no answer.
    Later(fn(&Exchange) -> Option<Answer>),
    /// Not before it is cancelled.
    Never,
    /// Not at all: the process ends.
    Crash,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        Self::Now(answer)
    }
}

impl Fault {
    /// Refuses parameters.
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::protocol(INVALID_PARAMS, message)
    }

    /// Refuses a method.
    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::protocol(METHOD_NOT_FOUND, format!("unknown method `{method}`"))
    }

    /// Refuses with a code.
    pub(crate) fn protocol(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Protocol {
            code,
            message,
            data: None,
        }
    }

    /// Composes the message that tells it.
    pub(crate) fn compose(&self, id: &str) -> Bytes {
        match self {
            Self::Protocol {
                code,
                message,
                data,
            } => compose::error(Some(id), *code, message, data.as_ref()),
            Self::Tool(why) => compose::result(id, &compose::tool_error(why)),
        }
    }
}

/// One request under way.
pub(crate) struct Exchange {
    pub(crate) frame: Frame,
    pub(crate) era: Era,
    /// What the downstream declared, raw.
    pub(crate) capabilities: String,
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) outlet: Arc<dyn Outlet>,
    pub(crate) flight: Arc<Flight>,
}

impl Exchange {
    /// Returns the raw id.
    pub(crate) fn id(&self) -> &str {
        self.frame.id().unwrap_or("null")
    }

    /// Returns the id as a value that can stand in another message.
    pub(crate) fn id_value(&self) -> Value {
        serde_json::from_str(self.id()).unwrap_or_default()
    }

    /// Reads a value below the parameters.
    pub(crate) fn parameter(&self, path: &[&str]) -> Option<Value> {
        let (raw, _) = text::get(self.frame.params(), path)?;
        serde_json::from_str(raw).ok()
    }

    /// Reads a string below the parameters, or refuses the request.
    pub(crate) fn string(&self, path: &[&str]) -> Result<String, Fault> {
        let found = self.frame.parameter(path).map(Into::into);
        found.ok_or_else(|| Fault::params(format!("`{}` must be a string", path.join("."))))
    }

    /// Reads a string argument of a tool.
    pub(crate) fn text(&self, name: &str) -> Result<String, Fault> {
        let found = self.frame.parameter(&["arguments", name]).map(Into::into);
        found.ok_or_else(|| Fault::Tool(format!("argument `{name}` must be a string")))
    }

    /// Reads a whole number of at most `most` as an argument of a tool.
    pub(crate) fn count(&self, name: &str, most: u64) -> Result<u64, Fault> {
        let found = self.parameter(&["arguments", name]);
        let found = found.and_then(|value| value.as_u64());
        found
            .filter(|&count| count <= most)
            .ok_or_else(|| Fault::Tool(format!("argument `{name}` must be from 0 to {most}")))
    }

    /// Sends a notification that belongs to this request.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let message = compose::notification(method, &params.to_string());
        self.outlet.put(message);
    }

    /// Sends how far the request has come, if its sender asked for that.
    pub(crate) fn progress(&self, done: u32, total: u32) {
        if let Some(token) = self.parameter(&["_meta", "progressToken"]) {
            let params = json!({ "progressToken": token, "progress": done, "total": total });
            self.notify("notifications/progress", &params);
        }
    }

    /// Sends the answer.
    pub(crate) fn reply(&self, answer: Answer) {
        let result = match answer {
            Ok(result) => result,
            Err(Fault::Tool(why)) => tool::failed(&why),
            Err(fault) => return self.outlet.finish(fault.compose(self.id())),
        };
        let result = self.dressed(result).to_string();
        self.outlet.finish(compose::result(self.id(), &result));
    }

    /// Adds what every modern result says about itself.
    fn dressed(&self, mut result: Value) -> Value {
        if let (Era::Modern, Some(members)) = (self.era, result.as_object_mut()) {
            let absent = || Value::from("complete");
            members.entry("resultType").or_insert_with(absent);
        }
        result
    }
}

/// Whether a request was cancelled or the question it asked was answered, and waiting for that.
#[derive(Default)]
pub(crate) struct Flight {
    news: Mutex<News>,
    changed: Condvar,
}

#[derive(Default)]
struct News {
    cancelled: bool,
    answer: Option<Frame>,
}

/// What a wait ended with.
pub(crate) enum Waited {
    /// The time is over.
    Out,
    /// Nobody wants the request any more.
    Cancelled,
    /// The question was answered.
    Answered(Frame),
}

impl Flight {
    /// Cancels the request.
    pub(crate) fn cancel(&self) {
        lock(&self.news).cancelled = true;
        self.changed.notify_all();
    }

    /// Brings the answer to the request's question.
    pub(crate) fn answer(&self, frame: Frame) {
        lock(&self.news).answer = Some(frame);
        self.changed.notify_all();
    }

    /// Waits for one of the two.
    pub(crate) fn wait(&self, span: Duration) -> Waited {
        let started = Instant::now();
        let mut news = lock(&self.news);
        loop {
            if news.cancelled {
                return Waited::Cancelled;
            }
            if let Some(frame) = news.answer.take() {
                return Waited::Answered(frame);
            }
            let left = span.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Waited::Out;
            }
            let waited = self.changed.wait_timeout(news, left);
            news = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
