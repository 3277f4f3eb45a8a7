//! What the holder of a token may call, and until when.

use mcpproxy_core::{Operation, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::shown;

/// The longest name of a token or an upstream.
const LONGEST_NAME: usize = 64;
/// The most upstreams that a scope names.
const MOST_UPSTREAMS: usize = 256;
/// Milliseconds up to 1973. A time before that is one of today in seconds.
const SECONDS: u64 = 100_000_000_000;

/// The name under which a credential says that its holder may look at the audit.
pub(crate) const AUDIT: &str = "audit:read";

/// What the holder of a token may call, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenScope {
    /// The upstreams that may be called; all where nothing is said.
    #[serde(default)]
    pub upstreams: Option<Vec<String>>,
    /// The operations that may be carried out; all where nothing is said.
    #[serde(default)]
    pub operations: Option<Vec<Operation>>,
    /// When the token ends, in milliseconds since the beginning of 1970 (UTC); never where nothing is
    /// said.
    #[serde(default, deserialize_with = "expires")]
    #[schemars(with = "Option<u64>")]
    pub expires: Option<Wall>,
    /// Whether it is for looking at the audit. Such a token calls nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
}

impl TokenScope {
    /// The scope of a token that is no longer there: nothing is allowed.
    pub fn nothing() -> Self {
        Self {
            upstreams: Some(Vec::new()),
            operations: Some(Vec::new()),
            expires: None,
            audit: false,
        }
    }

    /// Says whether an upstream may be called.
    pub fn allows_upstream(&self, upstream: &str) -> bool {
        let named = self.upstreams.as_ref();
        !self.audit && named.is_none_or(|names| names.iter().any(|name| name == upstream))
    }

    /// Says whether an operation may be carried out.
    pub fn allows_operation(&self, operation: Operation) -> bool {
        let named = self.operations.as_ref();
        !self.audit && named.is_none_or(|named| named.contains(&operation))
    }

    /// Names what it is limited to, as access rules read it: `upstream:git`, `operation:read`.
    pub fn names(&self) -> Vec<String> {
        let upstreams = self.upstreams.iter().flatten();
        let upstreams = upstreams.map(|name| format!("upstream:{name}"));
        let operations = self.operations.iter().flatten();
        let operations = operations.map(|one| format!("operation:{}", one.name()));
        let audit = self.audit.then(|| AUDIT.to_owned());
        upstreams.chain(operations).chain(audit).collect()
    }

    /// Says what it is limited to and until when, for records.
    pub(crate) fn limits(&self) -> Vec<String> {
        let mut limits = self.names();
        if limits.is_empty() {
            limits.push("unlimited".to_owned());
        }
        let ends = self.expires.map(Wall::rfc3339);
        limits.extend(ends.map(|time| format!("expires:{time}")));
        limits
    }

    /// Says whether the token has ended.
    pub fn expired(&self, now: Wall) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Tells what is wrong with a scope that is to be kept, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.audit && (self.upstreams.is_some() || self.operations.is_some()) {
            return Err("a token for the audit calls nothing".to_owned());
        }
        if let Some(upstreams) = &self.upstreams {
            if upstreams.is_empty() {
                return Err("it names no upstream".to_owned());
            }
            if upstreams.len() > MOST_UPSTREAMS {
                return Err(format!("it names more than {MOST_UPSTREAMS} upstreams"));
            }
            if let Some(odd) = upstreams.iter().find(|name| !is_name(name)) {
                return Err(format!("`{}` is no name of an upstream", shown(odd)));
            }
        }
        if self.operations.as_ref().is_some_and(Vec::is_empty) {
            return Err("it names no operation".to_owned());
        }
        Ok(())
    }

    /// Tells what is wrong with the end of a token that is made now, if anything.
    pub(super) fn check_end(&self, now: Wall) -> Result<(), String> {
        match self.expires {
            Some(Wall(expires)) if expires < SECONDS && expires < now.0 => Err(format!(
                "`expires` is in milliseconds since 1970, and {expires} looks like seconds"
            )),
            Some(expires) if expires <= now => Err(format!(
                "`expires` is in the past: {expires} is {time}, in milliseconds since 1970",
                expires = expires.0,
                time = expires.rfc3339(),
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// Says whether a text can name a token or an upstream.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(plain)
}

fn expires<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Wall>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Wall))
}
