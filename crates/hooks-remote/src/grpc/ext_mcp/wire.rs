//! The messages of `agentgateway.dev.ext_mcp`, by the field numbers of the published interface.

use bytes::Bytes;
use prost::{Enumeration, Message, Oneof};
use prost_types::Struct;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct McpRequest {
    #[prost(string, repeated, tag = "1")]
    pub(crate) service_names: Vec<String>,
    #[prost(string, tag = "2")]
    pub(crate) method: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) metadata_context: Option<Struct>,
    /// `mcp_request` in the interface.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub(crate) params: Option<Bytes>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) headers: Vec<McpHeader>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct McpResponse {
    #[prost(string, repeated, tag = "1")]
    pub(crate) service_names: Vec<String>,
    #[prost(string, tag = "2")]
    pub(crate) method: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) metadata_context: Option<Struct>,
    /// `mcp_response` in the interface.
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) result: Bytes,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct McpHeader {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

/// `McpRequestResult` in the interface; `McpResponseResult` is the same with less in it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Answer {
    #[prost(oneof = "Outcome", tags = "1, 2, 3")]
    pub(crate) outcome: Option<Outcome>,
    #[prost(message, optional, tag = "4")]
    pub(crate) header_mutation: Option<HeaderMutation>,
    #[prost(message, optional, tag = "5")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum Outcome {
    #[prost(message, tag = "1")]
    Pass(Pass),
    #[prost(bytes = "bytes", tag = "2")]
    Mutated(Bytes),
    #[prost(message, tag = "3")]
    Error(AuthorizationError),
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Pass {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct HeaderMutation {
    #[prost(message, repeated, tag = "1")]
    pub(crate) set: Vec<McpHeader>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct AuthorizationError {
    #[prost(enumeration = "Code", tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) reason: String,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) mcp_error: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(crate) enum Code {
    Unknown = 0,
    PermissionDenied = 1,
    ResourceExhausted = 2,
    Invalid = 3,
}
