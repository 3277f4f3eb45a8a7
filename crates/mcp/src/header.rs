//! What the HTTP headers must say: the modern era's routing headers repeat the body, and a
//! disagreement is refused (Streamable HTTP, "Standard request headers").

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_text as text;

use crate::Frame;
use crate::era::{HEADER_MISMATCH, name_parameter};
use crate::frame::Refusal;

/// The header that carries the protocol's version.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The header that carries a legacy session's id.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that repeats the method.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The header that repeats the tool, prompt or resource.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The header that names the last event seen of a stream.
pub const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The prefix of headers that repeat single arguments.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// Writes a value so that it survives a header: as it is, or in the base64 form.
pub fn encode(value: &str) -> Option<HeaderValue> {
    let plain = value.bytes().all(|byte| (0x20..0x7F).contains(&byte))
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if plain {
        return HeaderValue::from_str(value).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", BASE64.encode(value))).ok()
}

/// Reads a value back; a broken base64 form is nothing.
pub fn decode(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let value = value.to_str().ok()?.trim();
    let Some(inner) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = BASE64.decode(inner).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Refuses a message whose headers and body disagree.
pub fn mismatch(frame: &Frame, message: String) -> Refusal {
    let id = frame
        .id()
        .map(|id| bytes::Bytes::copy_from_slice(id.as_bytes()));
    Refusal {
        code: HEADER_MISMATCH,
        message,
        id,
    }
}

/// Checks that no header by which a message is routed appears twice: two readers could each go by
/// another one.
pub fn check_single(headers: &HeaderMap, frame: &Frame) -> Result<(), Refusal> {
    for name in [&VERSION, &SESSION, &METHOD, &NAME] {
        if headers.get_all(name).iter().count() > 1 {
            let message = format!("header `{name}` appears more than once");
            return Err(mismatch(frame, message));
        }
    }
    Ok(())
}

/// Checks that the routing headers of a modern request repeat its body.
pub fn check(headers: &HeaderMap, frame: &Frame, version: &str) -> Result<(), Refusal> {
    let says = |name: &HeaderName| headers.get(name).and_then(decode);
    if says(&VERSION).as_deref() != Some(version) {
        let message = format!("header `{VERSION}` does not repeat the version in `_meta`");
        return Err(mismatch(frame, message));
    }
    if says(&METHOD).as_deref() != Some(frame.method()) {
        return Err(mismatch(
            frame,
            format!("header `{METHOD}` does not repeat the method"),
        ));
    }
    let Some(parameter) = name_parameter(frame.method()) else {
        return Ok(());
    };
    if says(&NAME) != frame.parameter(&[parameter]) {
        let message = format!("header `{NAME}` does not repeat parameter `{parameter}`");
        return Err(mismatch(frame, message));
    }
    Ok(())
}

/// Returns the routing headers of a modern request.
pub fn routing(frame: &Frame, version: &str) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::with_capacity(3);
    headers.extend(encode(version).map(|value| (VERSION, value)));
    headers.extend(encode(frame.method()).map(|value| (METHOD, value)));
    if let Some(named) = name_parameter(frame.method()).and_then(|name| frame.parameter(&[name])) {
        headers.extend(encode(&named).map(|value| (NAME, value)));
    }
    headers
}

/// One argument that a tool's schema wants repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The property's path below `arguments`.
    pub path: Vec<String>,
    /// The header.
    pub header: HeaderName,
    /// Whether numbers are compared by value.
    pub integer: bool,
}

/// Reads the `x-mcp-header` annotations of a tool's input schema.
///
/// Only those count that are reached through `properties` alone, sit on a string, an integer or a
/// boolean, and name a header token; a schema that breaks this rule has none.
pub fn param_headers(schema: &str) -> Vec<ParamHeader> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found);
    let mut names: Vec<_> = found.iter().map(|param| param.header.clone()).collect();
    names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    if names.len() == found.len() {
        found
    } else {
        Vec::new()
    }
}

fn collect(schema: &str, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) {
    let Some((properties, _)) = text::get(schema, &["properties"]) else {
        return;
    };
    for member in text::members(properties) {
        let Some(property) = properties.get(member.value.clone()) else {
            continue;
        };
        path.push(member.key.into_owned());
        let wanted =
            text::get(property, &["x-mcp-header"]).and_then(|(value, _)| text::string(value));
        let kind = text::get(property, &["type"]).and_then(|(value, _)| text::string(value));
        if let (Some(token), Some("string" | "integer" | "boolean")) = (wanted, kind.as_deref())
            && let Ok(header) = HeaderName::try_from(format!("{PARAM_PREFIX}{token}"))
        {
            let integer = kind.as_deref() == Some("integer");
            found.push(ParamHeader {
                path: path.clone(),
                header,
                integer,
            });
        }
        collect(property, path, found);
        path.pop();
    }
}

/// The text that an argument is repeated as; `null` and an absent argument are repeated as nothing.
fn rendered<'a>(frame: &'a Frame, param: &ParamHeader) -> Option<Cow<'a, str>> {
    let mut path = vec!["arguments"];
    path.extend(param.path.iter().map(String::as_str));
    let (value, _) = text::get(frame.params(), &path)?;
    match value.as_bytes().first()? {
        b'"' => text::string(value),
        b'{' | b'[' | b'n' => None,
        _ => Some(Cow::Borrowed(value)),
    }
}

/// Returns the headers that repeat a call's arguments.
pub fn params(frame: &Frame, wanted: &[ParamHeader]) -> Vec<(HeaderName, HeaderValue)> {
    let pair =
        |param: &ParamHeader| Some((param.header.clone(), encode(&rendered(frame, param)?)?));
    wanted.iter().filter_map(pair).collect()
}

/// Checks that the headers of a call repeat its arguments.
pub fn check_params(
    headers: &HeaderMap,
    frame: &Frame,
    wanted: &[ParamHeader],
) -> Result<(), Refusal> {
    for param in wanted {
        let name = &param.header;
        let mut given = headers.get_all(name).iter();
        let (first, second) = (given.next(), given.next());
        if second.is_some() {
            return Err(mismatch(
                frame,
                format!("header `{name}` appears more than once"),
            ));
        }
        let header = first.map(|value| decode(value).unwrap_or(Cow::Borrowed("\0")));
        let fits = match (header, rendered(frame, param)) {
            (None, None) => true,
            (Some(header), Some(argument)) => {
                header == argument || (param.integer && same_integer(&header, &argument))
            }
            _ => false,
        };
        if !fits {
            let path = param.path.join(".");
            let message = format!("header `{name}` does not repeat argument `{path}`");
            return Err(mismatch(frame, message));
        }
    }
    Ok(())
}

/// Compares two decimal spellings of an integer without rounding.
fn same_integer(one: &str, other: &str) -> bool {
    fn whole(number: &str) -> Option<(bool, &str)> {
        let (negative, digits) = number
            .strip_prefix('-')
            .map_or((false, number), |d| (true, d));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let decimal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let zeros = fraction.bytes().all(|byte| byte == b'0') && !fraction.is_empty();
        (decimal(whole) && zeros).then(|| (negative, whole.trim_start_matches('0')))
    }
    whole(one).is_some() && whole(one) == whole(other)
}

#[cfg(test)]
mod tests {
    use mcpproxy_text::Limits;

    use super::*;

    fn frame(params: &str) -> Frame {
        let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        Frame::parse(raw.into(), Limits::default()).unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        };
        let mut map = HeaderMap::new();
        for (name, value) in pairs.iter().map(pair) {
            map.append(name, value);
        }
        map
    }

    #[test]
    fn values_survive_a_header() {
        for value in ["plain", " edge ", "ünïcode", "", "a\nb", "=?base64?eA==?="] {
            let encoded = encode(value).unwrap();
            assert_eq!(decode(&encoded).unwrap(), value);
        }
        assert_eq!(decode(&HeaderValue::from_static("=?base64?%%?=")), None);
    }

    #[test]
    fn routing_headers_must_repeat_the_body() {
        let frame = frame(r#"{"name":"echo"}"#);
        let base = [("mcp-protocol-version", "v"), ("mcp-method", "tools/call")];
        let check = |extra: &[(&'static str, &str)], expect: Option<&str>| {
            let all: Vec<_> = base.iter().chain(extra).copied().collect();
            let headers = headers(&all);
            let found = check_single(&headers, &frame)
                .and_then(|()| check(&headers, &frame, "v"))
                .err()
                .map(|refusal| refusal.message);
            assert_eq!(found.as_deref(), expect);
        };
        check(&[("mcp-name", "echo")], None);
        check(
            &[],
            Some("header `mcp-name` does not repeat parameter `name`"),
        );
        check(
            &[("mcp-name", "Echo")],
            Some("header `mcp-name` does not repeat parameter `name`"),
        );
        check(
            &[("mcp-name", "echo"), ("mcp-name", "x")],
            Some("header `mcp-name` appears more than once"),
        );
    }

    #[test]
    fn argument_headers_must_repeat_the_arguments() {
        let schema = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
            "n":{"type":"object","properties":{"k":{"type":"integer","x-mcp-header":"K"}}}}}"#;
        let wanted = param_headers(schema);
        assert_eq!(wanted.len(), 2);
        let frame = frame(r#"{"arguments":{"region":"eu","n":{"k":42.0}}}"#);
        let check = |pairs: &[(&'static str, &str)], expect: bool| {
            assert_eq!(
                check_params(&headers(pairs), &frame, &wanted).is_ok(),
                expect,
                "{pairs:?}"
            );
        };
        check(&[("mcp-param-region", "eu"), ("mcp-param-k", "42")], true);
        check(&[("mcp-param-region", "us"), ("mcp-param-k", "42")], false);
        check(&[("mcp-param-region", "eu")], false);
        assert_eq!(params(&frame, &wanted).len(), 2);
    }
}
