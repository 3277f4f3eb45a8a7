//! Trace context, as W3C has it and MCP carries it in `_meta.traceparent`: whose part a call is, and
//! what is part of it in turn. Version 00 alone; what is not sound is no context.

use std::fmt;

use mcpproxy_core::CallId;
use sha2::{Digest as _, Sha256};

/// The member of `_meta` that carries it.
pub const TRACEPARENT: &str = "traceparent";
/// The flags of a trace that begins here: it is kept.
const SAMPLED: &str = "01";

/// A span and the trace that it is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The trace, 32 hexadecimal digits.
    pub trace: String,
    /// The span, 16 hexadecimal digits.
    pub span: String,
    flags: String,
}

impl Context {
    /// Reads one as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace, span, flags] = parts.as_slice() else {
            return None;
        };
        let hex = |part: &str, length: usize| {
            let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            part.len() == length && part.bytes().all(plain)
        };
        let zero = |part: &str| part.bytes().all(|byte| byte == b'0');
        let sound = *version == "00" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
        (sound && !zero(trace) && !zero(span)).then(|| Self {
            trace: (*trace).to_owned(),
            span: (*span).to_owned(),
            flags: (*flags).to_owned(),
        })
    }

    /// Returns the gateway's own span of a call: in the trace of whoever called, or in one of its own.
    ///
    /// It is made of a digest: an upstream sees it, and need not learn ids of the log.
    pub fn of(call: CallId, parent: Option<&Self>) -> Self {
        let digest: [u8; 32] = Sha256::digest(call.to_bytes()).into();
        let (span, rest) = digest.split_first_chunk::<8>().unwrap_or((&[1; 8], &[]));
        let own = rest.first_chunk::<16>().unwrap_or(&[1; 16]);
        let own = || format!("{:032x}", u128::from_be_bytes(*own));
        Self {
            trace: parent.map_or_else(own, |parent| parent.trace.clone()),
            span: format!("{:016x}", u64::from_be_bytes(*span)),
            flags: parent.map_or(SAMPLED, |parent| &parent.flags).to_owned(),
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{}", self.trace, self.span, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00";

    #[test]
    fn only_a_sound_context_is_one() {
        assert_eq!(Context::parse(PARENT).unwrap().to_string(), PARENT);
        for odd in [
            "",
            "00-0123456789abcdef0123456789abcdef-0123456789abcdef",
            "01-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
            "00-0123456789ABCDEF0123456789abcdef-0123456789abcdef-01",
            "00-00000000000000000000000000000000-0123456789abcdef-01",
            "00-0123456789abcdef0123456789abcdef-0000000000000000-01",
        ] {
            assert_eq!(Context::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_call_has_one_span_in_the_trace_of_its_caller_or_in_its_own() {
        let (one, other) = (CallId::new(1, 1), CallId::new(1, 2));
        let parent = Context::parse(PARENT).unwrap();
        let inside = Context::of(one, Some(&parent));
        assert_eq!(Context::parse(&inside.to_string()), Some(inside.clone()));
        assert_eq!(
            (&inside.trace, &inside.flags),
            (&parent.trace, &parent.flags)
        );
        assert_ne!(inside.span, parent.span);
        let alone = Context::of(one, None);
        assert_eq!((&alone.span, &*alone.flags), (&inside.span, "01"));
        assert_eq!(Context::parse(&alone.to_string()), Some(alone.clone()));
        let next = Context::of(other, None);
        assert!(next.span != alone.span && next.trace != alone.trace);
    }
}
