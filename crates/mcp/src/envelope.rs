//! What a modern request says about itself in `params._meta`, and putting it there.

use mcpproxy_text::{self as text, Limits, Splice};
use serde_json::{Value, json};

use crate::Frame;
use crate::compose::quoted;
use crate::era::{
    INVALID_PARAMS, META_CAPABILITIES, META_CLIENT_INFO, META_LOG_LEVEL, META_VERSION,
    MODERN_VERSIONS, UNSUPPORTED_VERSION,
};
use crate::frame::Refusal;

/// What a modern request says about its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The version.
    pub version: String,
    /// The raw capabilities object.
    pub capabilities: String,
    /// The raw object that names the sender, if given.
    pub client_info: Option<String>,
}

/// Why a modern request was refused, with the data that its error carries.
#[derive(Clone, Debug)]
pub struct EnvelopeRefusal {
    /// The refusal.
    pub refusal: Refusal,
    /// The error's data; boxed, since few refusals have any.
    pub data: Option<Box<Value>>,
}

impl Envelope {
    /// Reads the required keys of `params._meta`.
    pub fn read(frame: &Frame) -> Result<Self, EnvelopeRefusal> {
        let refuse = |code, message: String, data| {
            let id = frame
                .id()
                .map(|id| bytes::Bytes::copy_from_slice(id.as_bytes()));
            EnvelopeRefusal {
                refusal: Refusal { code, message, id },
                data,
            }
        };
        let missing = |key: &str| refuse(INVALID_PARAMS, format!("`_meta` lacks `{key}`"), None);
        let raw = |key: &str| text::get(frame.params(), &["_meta", key]).map(|(value, _)| value);
        let version = raw(META_VERSION).ok_or_else(|| missing(META_VERSION))?;
        let capabilities = raw(META_CAPABILITIES).ok_or_else(|| missing(META_CAPABILITIES))?;
        let Some(version) = text::string(version) else {
            return Err(refuse(
                INVALID_PARAMS,
                format!("`{META_VERSION}` must be a string"),
                None,
            ));
        };
        if !capabilities.starts_with('{') {
            let message = format!("`{META_CAPABILITIES}` must be an object");
            return Err(refuse(INVALID_PARAMS, message, None));
        }
        Ok(Self {
            version: version.into_owned(),
            capabilities: capabilities.to_owned(),
            client_info: raw(META_CLIENT_INFO).map(ToOwned::to_owned),
        })
    }

    /// Refuses a version that is not spoken here, listing those that are.
    pub fn check_version(version: &str, id: Option<&str>) -> Result<(), EnvelopeRefusal> {
        if MODERN_VERSIONS.contains(&version) {
            return Ok(());
        }
        let id = id.map(|id| bytes::Bytes::copy_from_slice(id.as_bytes()));
        let message = format!("protocol version `{version}` is not supported");
        Err(EnvelopeRefusal {
            refusal: Refusal {
                code: UNSUPPORTED_VERSION,
                message,
                id,
            },
            data: Some(Box::new(
                json!({ "requested": version, "supported": MODERN_VERSIONS }),
            )),
        })
    }

    /// Prints the members that a modern request of this sender carries in `_meta`.
    pub fn members(&self) -> String {
        let mut members = format!(
            "{}:{},{}:{}",
            quoted(META_VERSION),
            quoted(&self.version),
            quoted(META_CAPABILITIES),
            self.capabilities
        );
        if let Some(info) = &self.client_info {
            members.extend([",", &quoted(META_CLIENT_INFO), ":", info]);
        }
        members
    }
}

/// Puts raw members into a request's `params._meta`, making both objects where they are absent.
pub fn insert_meta(frame: &Frame, members: &str, limits: Limits) -> Result<Frame, Refusal> {
    let mut splice = Splice::default();
    let object_start = |span: std::ops::Range<usize>| span.start + 1;
    if let Some(meta) = frame.parameter_span(&["_meta"]) {
        let empty = text::get(frame.params(), &["_meta"])
            .is_none_or(|(value, _)| text::members(value).next().is_none());
        let comma = if empty { "" } else { "," };
        let at = object_start(meta);
        splice.replace(at..at, format!("{members}{comma}"));
    } else if let Some(params) = frame.params_span() {
        let comma = if text::members(frame.params()).next().is_none() {
            ""
        } else {
            ","
        };
        let at = object_start(params);
        splice.replace(at..at, format!(r#""_meta":{{{members}}}{comma}"#));
    } else {
        let at = frame.text().trim_end().len() - 1;
        splice.replace(at..at, format!(r#","params":{{"_meta":{{{members}}}}}"#));
    }
    frame.edited(splice, limits)
}

/// Takes the modern era's own keys out of a request's `params._meta`, for a legacy upstream.
pub fn strip_meta(frame: &Frame, limits: Limits) -> Result<Frame, Refusal> {
    const OWNED: [&str; 4] = [
        META_VERSION,
        META_CAPABILITIES,
        META_CLIENT_INFO,
        META_LOG_LEVEL,
    ];
    remove(frame, &["_meta"], &OWNED, limits)
}

/// Removes members from the object at `path` below the parameters.
pub fn remove(
    frame: &Frame,
    path: &[&str],
    names: &[&str],
    limits: Limits,
) -> Result<Frame, Refusal> {
    let Some((object, _)) = text::get(frame.params(), path) else {
        return Ok(frame.clone());
    };
    let base = if path.is_empty() {
        frame.params_span()
    } else {
        frame.parameter_span(path)
    };
    let base = base.map_or(0, |span| span.start);
    let members: Vec<_> = text::members(object).collect();
    let mut splice = Splice::default();
    let kept = members
        .iter()
        .filter(|member| !names.contains(&member.key.as_ref()))
        .count();
    let mut left = kept;
    for (index, member) in members.iter().enumerate() {
        if !names.contains(&member.key.as_ref()) {
            left -= 1;
            continue;
        }
        // The comma that goes with a member stands after it while something kept follows it,
        // and before it otherwise.
        let next = members.get(index + 1).map(|next| next.key_span.start);
        let span = match next {
            Some(next) if left > 0 => member.key_span.start..next,
            _ => {
                let before = index.checked_sub(1).and_then(|before| members.get(before));
                let start = if kept == 0 {
                    None
                } else {
                    before.map(|before| before.value.end)
                };
                let end = if kept == 0 { next } else { None };
                start.unwrap_or(member.key_span.start)..end.unwrap_or(member.value.end)
            }
        };
        splice.replace(base + span.start..base + span.end, Vec::new());
    }
    frame.edited(splice, limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(params: &str) -> Frame {
        let params = if params.is_empty() {
            String::new()
        } else {
            format!(",\"params\":{params}")
        };
        let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x"{params}}}"#);
        Frame::parse(raw.into(), Limits::default()).unwrap()
    }

    #[test]
    fn meta_is_inserted_where_it_belongs() {
        let check = |params: &str, expect: &str| {
            let changed = insert_meta(&frame(params), "\"k\":1", Limits::default()).unwrap();
            assert_eq!(changed.params(), expect);
        };
        check("", r#"{"_meta":{"k":1}}"#);
        check("{}", r#"{"_meta":{"k":1}}"#);
        check(r#"{"a":2}"#, r#"{"_meta":{"k":1},"a":2}"#);
        check(r#"{"_meta":{}}"#, r#"{"_meta":{"k":1}}"#);
        check(
            r#"{"_meta":{"z":0},"a":2}"#,
            r#"{"_meta":{"k":1,"z":0},"a":2}"#,
        );
    }

    #[test]
    fn members_are_removed_with_their_commas() {
        let check = |params: &str, expect: &str| {
            let changed = remove(&frame(params), &[], &["a", "b"], Limits::default()).unwrap();
            assert_eq!(changed.params(), expect);
        };
        check(r#"{"a":1}"#, "{}");
        check(r#"{"a":1,"b":2}"#, "{}");
        check(r#"{"a":1,"c":3}"#, r#"{"c":3}"#);
        check(r#"{"c":3,"a":1}"#, r#"{"c":3}"#);
        check(r#"{"c":3,"a":1,"b":2}"#, r#"{"c":3}"#);
        check(r#"{"a":1,"c":3,"b":2}"#, r#"{"c":3}"#);
        check(r#"{"c":3,"a":1,"d":4}"#, r#"{"c":3,"d":4}"#);
        check(r#"{"c":3}"#, r#"{"c":3}"#);
    }
}
