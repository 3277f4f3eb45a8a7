//! The protocol's two eras, their versions, and the names that they give to things.

use mcpproxy_text as text;

/// The newest version that opens with `initialize`.
pub const LEGACY_LATEST: &str = "2025-11-25";
/// The stateless version.
pub const MODERN: &str = "2026-07-28";
/// The versions that open with `initialize`, oldest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY_LATEST];
/// The versions without a handshake.
pub const MODERN_VERSIONS: [&str; 1] = [MODERN];

/// The `_meta` key that carries the version in the modern era.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key that carries the downstream's capabilities in the modern era.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key that names the downstream in the modern era.
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The `_meta` key that names the upstream in a modern result.
pub const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The `_meta` key that asks for log messages in the modern era.
pub const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The `_meta` key that ties a notification to a `subscriptions/listen` request.
pub const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// JSON-RPC: not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: parameters are wrong.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: our fault.
pub const INTERNAL_ERROR: i64 = -32603;
/// MCP: a header disagrees with the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// MCP: the downstream did not declare a capability that the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// MCP: the version is not spoken here.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// Ours: the upstream is down, slow or broke the protocol. Outside the ranges the specs reserve.
pub const UPSTREAM_FAILED: i64 = -31001;
/// Ours: the call was stopped by policy or by the kill switch.
pub const DENIED: i64 = -31002;
/// Ours: the gateway is busy; trying again later is safe.
pub const OVERLOADED: i64 = -31003;
/// Ours: the deadline passed before an answer came.
pub const TIMED_OUT: i64 = -31004;

/// One of the protocol's two eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Opens with `initialize`; requests go both ways.
    Legacy,
    /// Stateless; input is asked for in results.
    Modern,
}

impl Era {
    /// Tells the era of a version; an unknown one has none.
    pub fn of(version: &str) -> Option<Self> {
        if MODERN_VERSIONS.contains(&version) {
            Some(Self::Modern)
        } else if LEGACY_VERSIONS.contains(&version) {
            Some(Self::Legacy)
        } else {
            None
        }
    }
}

/// Chooses the legacy version to answer a proposal with: the proposal if it is spoken here, else
/// the newest.
pub fn negotiate(proposed: &str) -> &'static str {
    LEGACY_VERSIONS
        .into_iter()
        .find(|&version| version == proposed)
        .unwrap_or(LEGACY_LATEST)
}

/// Tells whether streams of this version may be closed by the gateway while a call still runs.
pub fn can_poll(version: &str) -> bool {
    version >= "2025-11-25"
}

/// The parameter that a method's `Mcp-Name` header repeats.
pub fn name_parameter(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// The capability that answering `method` needs, where it is a question that the protocol knows.
pub fn capability(method: &str) -> Option<&'static str> {
    match method {
        "elicitation/create" => Some("elicitation"),
        "sampling/createMessage" => Some("sampling"),
        "roots/list" => Some("roots"),
        _ => None,
    }
}

/// Tells whether a capabilities object declares the capability that answering `method` needs.
pub fn declares(capabilities: &str, method: &str) -> bool {
    let name = capability(method);
    name.is_some_and(|name| text::member(capabilities, name).is_some())
}

/// The HTTP status that an error code is answered with in the modern era.
pub fn http_status(code: i64) -> u16 {
    match code {
        PARSE_ERROR | INVALID_REQUEST | INVALID_PARAMS | HEADER_MISMATCH | MISSING_CAPABILITY
        | UNSUPPORTED_VERSION => 400,
        METHOD_NOT_FOUND => 404,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_belong_to_eras() {
        assert_eq!(Era::of("2026-07-28"), Some(Era::Modern));
        assert_eq!(Era::of("2024-11-05"), Some(Era::Legacy));
        assert_eq!(Era::of("v999"), None);
        assert_eq!(negotiate("2025-06-18"), "2025-06-18");
        assert_eq!(negotiate("2030-01-01"), LEGACY_LATEST);
    }
}
