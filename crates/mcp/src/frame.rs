//! One JSON-RPC message over the exact bytes it was read from.
//!
//! Parsing is strict: what another parser might read differently is refused. Changing a frame is
//! splicing spans and reading the result again; nothing is ever re-serialized.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_core::Wire;
use mcpproxy_text::{self as text, Fault, FaultKind, Limits, Splice};

use crate::era::{INVALID_REQUEST, PARSE_ERROR, name_parameter};

/// One message.
#[derive(Clone, Debug)]
pub struct Frame {
    raw: Bytes,
    kind: FrameKind,
    id: Option<Range<usize>>,
    method: Arc<str>,
    params: Option<Range<usize>>,
    payload: Option<Range<usize>>,
}

/// What kind of message a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Has a method and an id.
    Request,
    /// Has a method and no id.
    Notification,
    /// Has a result.
    Result,
    /// Has an error.
    Error,
}

/// Why bytes were not taken as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The JSON-RPC code.
    pub code: i64,
    /// What is wrong, safe to send back.
    pub message: String,
    /// The id of the message, where it could be told.
    pub id: Option<Bytes>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let code = match fault.kind {
            FaultKind::NotUtf8 | FaultKind::Syntax(_) | FaultKind::TooDeep(_) => PARSE_ERROR,
            FaultKind::DuplicateKey(_) | FaultKind::TwinKeys(..) => INVALID_REQUEST,
        };
        Self {
            code,
            message: fault.to_string(),
            id: None,
        }
    }
}

fn invalid(message: &str) -> Refusal {
    Refusal {
        code: INVALID_REQUEST,
        message: message.to_owned(),
        id: None,
    }
}

impl Frame {
    /// Reads one message.
    pub fn parse(raw: Bytes, limits: Limits) -> Result<Self, Refusal> {
        let parts = Parts::read(text::check(&raw, limits)?)?;
        let id = parts
            .id
            .clone()
            .and_then(|span| raw.get(span).map(Bytes::copy_from_slice));
        parts
            .frame(raw)
            .map_err(|refusal| Refusal { id, ..refusal })
    }

    /// Returns what kind of message it is.
    pub fn kind(&self) -> FrameKind {
        self.kind
    }

    /// Returns the whole message.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// Returns the whole message as text.
    pub fn text(&self) -> &str {
        as_text(&self.raw)
    }

    /// Returns the id as it is spelled; nothing for notifications.
    pub fn id(&self) -> Option<&str> {
        self.id.clone().map(|span| self.slice(span))
    }

    /// Returns the method; empty for responses.
    pub fn method(&self) -> &Arc<str> {
        &self.method
    }

    /// Returns the parameters; an absent object reads as `{}`.
    pub fn params(&self) -> &str {
        self.params.clone().map_or("{}", |span| self.slice(span))
    }

    /// Returns where the parameters stand.
    pub fn params_span(&self) -> Option<Range<usize>> {
        self.params.clone()
    }

    /// Returns the result or error value of a response.
    pub fn payload(&self) -> &str {
        self.payload.clone().map_or("", |span| self.slice(span))
    }

    /// Returns the result or error value as bytes that share the frame's memory.
    pub fn payload_bytes(&self) -> Bytes {
        self.payload
            .clone()
            .map_or_else(Bytes::new, |span| self.raw.slice(span))
    }

    /// Returns where the result or error stands.
    pub fn payload_span(&self) -> Option<Range<usize>> {
        self.payload.clone()
    }

    /// Reads a string parameter.
    pub fn parameter(&self, path: &[&str]) -> Option<Cow<'_, str>> {
        text::get(self.params(), path).and_then(|(value, _)| text::string(value))
    }

    /// Returns where a value below the parameters stands in the whole message.
    pub fn parameter_span(&self, path: &[&str]) -> Option<Range<usize>> {
        let base = self.params.clone()?.start;
        let (_, span) = text::get(self.params(), path)?;
        Some(base + span.start..base + span.end)
    }

    /// Returns the message with another id, everything else byte for byte.
    pub fn with_id(&self, id: &str) -> Bytes {
        replace(&self.raw, self.id.clone(), id.as_bytes())
    }

    /// Returns the message after `splice`, read again.
    pub fn edited(&self, splice: Splice, limits: Limits) -> Result<Self, Refusal> {
        if splice.is_empty() {
            return Ok(self.clone());
        }
        Self::parse(splice.apply(&self.raw).into(), limits)
    }

    /// Returns the message under the gateway's own id. Spans move by the difference in length;
    /// a number in place of an id cannot change anything else, so nothing is read again.
    #[must_use]
    pub fn renumbered(&self, ticket: u64) -> Self {
        let Some(id) = self.id.clone() else {
            return self.clone();
        };
        let number = ticket.to_string();
        let moved = |span: &Range<usize>| {
            if span.start < id.end {
                return span.clone();
            }
            let shift = |at: usize| at - id.len() + number.len();
            shift(span.start)..shift(span.end)
        };
        Self {
            raw: replace(&self.raw, Some(id.clone()), number.as_bytes()),
            kind: self.kind,
            id: Some(id.start..id.start + number.len()),
            method: self.method.clone(),
            params: self.params.as_ref().map(moved),
            payload: self.payload.as_ref().map(moved),
        }
    }

    /// Returns the bytes that leave, for the engine to judge; for a request, its id is the
    /// gateway's own.
    pub fn wire(&self) -> Wire {
        let ticket = match self.kind {
            FrameKind::Request => self.id().and_then(|id| id.parse().ok()),
            FrameKind::Notification | FrameKind::Result | FrameKind::Error => None,
        };
        Wire {
            raw: self.raw.clone(),
            ticket,
        }
    }

    /// Reads the code of an error response.
    pub fn error_code(&self) -> Option<i64> {
        if self.kind != FrameKind::Error {
            return None;
        }
        text::get(self.payload(), &["code"])?.0.parse().ok()
    }

    fn slice(&self, span: Range<usize>) -> &str {
        self.raw.get(span).map_or("", as_text)
    }
}

/// Replaces the bytes of one span.
pub fn replace(raw: &Bytes, span: Option<Range<usize>>, with: &[u8]) -> Bytes {
    let Some(span) = span else { return raw.clone() };
    let mut out = Vec::with_capacity(raw.len() + with.len());
    out.extend_from_slice(raw.get(..span.start).unwrap_or_default());
    out.extend_from_slice(with);
    out.extend_from_slice(raw.get(span.end..).unwrap_or_default());
    out.into()
}

fn as_text(bytes: &[u8]) -> &str {
    // INVARIANT: frames are only made from text that passed `text::check`.
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The names of an envelope's members.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The members of an envelope, before it is known what they add up to.
#[derive(Default)]
struct Parts {
    id: Option<Range<usize>>,
    id_problem: Option<&'static str>,
    method: Option<Arc<str>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    version_2: bool,
}

impl Parts {
    fn read(message: &str) -> Result<Self, Refusal> {
        match message.trim_start().as_bytes().first() {
            Some(b'{') => {}
            Some(b'[') => return Err(invalid("batches are not supported; send one message")),
            _ => return Err(invalid("a message must be a JSON object")),
        }
        let mut parts = Self::default();
        let mut keys = Vec::with_capacity(6);
        for member in text::members(message) {
            let value = message.get(member.value.clone()).unwrap_or_default();
            match member.key.as_ref() {
                "jsonrpc" => parts.version_2 = value == "\"2.0\"",
                "id" => {
                    parts.id_problem = id_problem(value);
                    parts.id = Some(member.value);
                }
                "method" => parts.method = text::string(value).map(Into::into),
                "params" => {
                    distinct_when_folded(value, member.value.start)?;
                    parts.params = Some(member.value);
                }
                "result" => parts.result = Some(member.value),
                "error" => parts.error = Some(member.value),
                other => refuse_alike(other, &ENVELOPE)?,
            }
            keys.push(member.key);
        }
        refuse_ambiguous(&keys, 0)?;
        Ok(parts)
    }

    fn frame(self, raw: Bytes) -> Result<Frame, Refusal> {
        if !self.version_2 {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        if let Some(problem) = self.id_problem {
            return Err(invalid(problem));
        }
        let params_are_object = self
            .params
            .as_ref()
            .is_none_or(|span| raw.get(span.start) == Some(&b'{'));
        if !params_are_object {
            return Err(invalid("`params` must be an object"));
        }
        // What the gateway owns stands in `_meta`: one that it cannot read it could not take out.
        let params = self.params.clone().and_then(|span| raw.get(span));
        let meta = params.and_then(|params| text::get(as_text(params), &["_meta"]));
        if meta.is_some_and(|(meta, _)| !meta.starts_with('{')) {
            return Err(invalid("`_meta` must be an object"));
        }
        let (kind, payload) = match (&self.method, self.result, self.error) {
            (Some(_), None, None) if self.id.is_some() => (FrameKind::Request, None),
            (Some(_), None, None) => (FrameKind::Notification, None),
            (None, Some(result), None) => (FrameKind::Result, Some(result)),
            (None, None, Some(error)) => (FrameKind::Error, Some(error)),
            (None, None, None) => return Err(invalid("a message needs a method or a result")),
            _ => {
                return Err(invalid(
                    "a message is either a request or a response, not both",
                ));
            }
        };
        let response = matches!(kind, FrameKind::Result | FrameKind::Error);
        if response && self.id.is_none() && kind == FrameKind::Result {
            return Err(invalid("a result needs an id"));
        }
        if response && self.params.is_some() {
            return Err(invalid("a response has no `params`"));
        }
        let method = self.method.unwrap_or_default();
        refuse_nul(&method, "the method")?;
        if let (Some(name), Some(params)) = (name_parameter(&method), params) {
            let own = [name, "arguments", "_meta"];
            let params = as_text(params);
            for member in text::members(params) {
                refuse_alike(&member.key, &own)?;
                let value = params.get(member.value).filter(|_| member.key == name);
                let value = value.and_then(text::string);
                refuse_nul(value.as_deref().unwrap_or_default(), name)?;
            }
        }
        Ok(Frame {
            raw,
            kind,
            id: self.id,
            method,
            params: self.params,
            payload,
        })
    }
}

fn id_problem(value: &str) -> Option<&'static str> {
    match value.as_bytes().first() {
        Some(b'"' | b'-' | b'0'..=b'9') => None,
        Some(b'n') => Some("`id` must not be null"),
        _ => Some("`id` must be a string or a number"),
    }
}

fn distinct_when_folded(object: &str, base: usize) -> Result<(), Refusal> {
    let keys: Vec<_> = text::members(object).map(|member| member.key).collect();
    refuse_ambiguous(&keys, base)
}

/// Refuses a member that a reader who is lax about case would take for one of the protocol's own:
/// what such a reader acts on was not judged.
fn refuse_alike(key: &str, own: &[&str]) -> Result<(), Refusal> {
    if own.contains(&key) {
        return Ok(());
    }
    let folded = text::fold(key);
    match own.iter().find(|own| **own == folded) {
        Some(own) => Err(invalid(&format!(
            "member `{key}` differs from `{own}` only in case or Unicode form"
        ))),
        None => Ok(()),
    }
}

/// Refuses a NUL in what decides who acts: to some readers the text ends there.
fn refuse_nul(text: &str, what: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(invalid(&format!("{what} must not hold a NUL")));
    }
    Ok(())
}

/// Refuses names by which readers are told apart: equal when folded, one that ends early to some, or
/// one that JavaScript drops.
fn refuse_ambiguous(keys: &[Cow<'_, str>], at: usize) -> Result<(), Refusal> {
    for key in keys {
        refuse_nul(key, "the name of a member")?;
    }
    if keys.iter().any(|key| key == "__proto__") {
        return Err(invalid("a member must not be called `__proto__`"));
    }
    match text::fold_twins(keys) {
        Some((one, other)) => {
            let kind = FaultKind::TwinKeys(one.into_owned(), other.into_owned());
            Err(Fault { kind, at }.into())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
