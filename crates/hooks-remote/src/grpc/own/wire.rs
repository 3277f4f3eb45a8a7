//! The messages of `proto/mcpproxy/hook/v1/hook.proto`, written by hand: a test holds them
//! against that file, so that no compiler of protocol buffers is needed to build.

use bytes::Bytes;
use prost::{Enumeration, Message, Oneof};

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Inspection {
    #[prost(message, optional, tag = "1")]
    pub(crate) context: Option<Context>,
    #[prost(oneof = "Subject", tags = "2, 3, 4")]
    pub(crate) subject: Option<Subject>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum Subject {
    #[prost(message, tag = "2")]
    Request(Request),
    #[prost(message, tag = "3")]
    Response(Response),
    #[prost(message, tag = "4")]
    Message(Said),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Context {
    #[prost(string, tag = "1")]
    pub(crate) hook_id: String,
    #[prost(string, tag = "2")]
    pub(crate) correlation_id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) session: Option<Session>,
    #[prost(message, optional, tag = "4")]
    pub(crate) identity: Option<Identity>,
    #[prost(message, optional, tag = "5")]
    pub(crate) arrival: Option<Arrival>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) earlier: Vec<Metadata>,
    #[prost(uint64, tag = "7")]
    pub(crate) timeout_ms: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Session {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) server_id: String,
    #[prost(string, tag = "3")]
    pub(crate) server_name: String,
    #[prost(string, tag = "4")]
    pub(crate) protocol_version: String,
    #[prost(uint64, tag = "5")]
    pub(crate) established_at_ms: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Identity {
    #[prost(string, tag = "1")]
    pub(crate) user_id: String,
    #[prost(string, optional, tag = "2")]
    pub(crate) agent_id: Option<String>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) roles: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) scopes: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) attributes: Vec<Pair>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Arrival {
    #[prost(string, tag = "1")]
    pub(crate) method: String,
    #[prost(string, tag = "2")]
    pub(crate) path: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) headers: Vec<Pair>,
    #[prost(string, optional, tag = "4")]
    pub(crate) remote_addr: Option<String>,
    #[prost(uint64, tag = "5")]
    pub(crate) at_ms: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Pair {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Metadata {
    #[prost(string, tag = "1")]
    pub(crate) hook_id: String,
    #[prost(string, tag = "2")]
    pub(crate) json: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Request {
    #[prost(string, tag = "1")]
    pub(crate) method: String,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) params: Bytes,
    #[prost(string, optional, tag = "4")]
    pub(crate) id: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Response {
    #[prost(message, optional, tag = "1")]
    pub(crate) request: Option<Request>,
    #[prost(enumeration = "Kind", tag = "2")]
    pub(crate) kind: i32,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Kind {
    Unspecified = 0,
    Result = 1,
    Error = 2,
    Listing = 3,
}

/// `Message` in the file, where the name is not taken.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Said {
    #[prost(bool, tag = "1")]
    pub(crate) to_upstream: bool,
    #[prost(bool, tag = "2")]
    pub(crate) wants_answer: bool,
    #[prost(string, tag = "3")]
    pub(crate) method: String,
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) params: Bytes,
}

/// `Decision` in the file.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Answer {
    #[prost(oneof = "Decision", tags = "1, 2, 3, 4, 5")]
    pub(crate) decision: Option<Decision>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum Decision {
    #[prost(message, tag = "1")]
    Allow(Nothing),
    #[prost(message, tag = "2")]
    Modify(Modification),
    #[prost(message, tag = "3")]
    Ask(Violation),
    #[prost(message, tag = "4")]
    RequireAuth(RequireAuth),
    #[prost(message, tag = "5")]
    Deny(Violation),
}

/// `Allow` and `Received` in the file.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Nothing {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct RequireAuth {
    #[prost(string, tag = "1")]
    pub(crate) what: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Modification {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) params: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) result: Option<Bytes>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) headers: Vec<Pair>,
    #[prost(string, optional, tag = "4")]
    pub(crate) audit: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Violation {
    #[prost(string, tag = "1")]
    pub(crate) rule_id: String,
    #[prost(enumeration = "Severity", tag = "2")]
    pub(crate) severity: i32,
    #[prost(enumeration = "Threat", tag = "3")]
    pub(crate) threat_type: i32,
    #[prost(string, tag = "4")]
    pub(crate) description: String,
    #[prost(string, tag = "5")]
    pub(crate) evidence: String,
    #[prost(string, tag = "6")]
    pub(crate) recommended_action: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Severity {
    Unspecified = 0,
    Info = 1,
    Low = 2,
    Medium = 3,
    High = 4,
    Critical = 5,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Threat {
    Unspecified = 0,
    ToolPoisoning = 1,
    RugPull = 2,
    ToolShadowing = 3,
    ServerSpoofing = 4,
    UnauthorizedAccess = 5,
    PromptInjection = 6,
    CommandInjection = 7,
    DataExfiltration = 8,
    SessionHijacking = 9,
    ContextPoisoning = 10,
    RateLimitExceeded = 11,
    AnomalousBehavior = 12,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Batch {
    #[prost(message, repeated, tag = "1")]
    pub(crate) inspections: Vec<Inspection>,
    #[prost(uint64, tag = "2")]
    pub(crate) lost: u64,
}
