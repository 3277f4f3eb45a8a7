//! Messages that the gateway itself writes: its own requests, errors and results.

use bytes::Bytes;
use serde_json::Value;

/// Composes a request around raw parameters.
pub fn request(id: &str, method: &str, params: &str) -> Bytes {
    let method = quoted(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#).into()
}

/// Composes a notification around raw parameters.
pub fn notification(method: &str, params: &str) -> Bytes {
    let method = quoted(method);
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#).into()
}

/// Composes a result around a raw value.
pub fn result(id: &str, result: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

/// Composes an error; a message whose id could not be told is answered with `null`.
pub fn error(id: Option<&str>, code: i64, message: &str, data: Option<&Value>) -> Bytes {
    let id = id.unwrap_or("null");
    let message = quoted(message);
    let data = data
        .map(|data| format!(r#","data":{data}"#))
        .unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#)
        .into()
}

/// Composes the result of a tool call that says it is an error.
pub fn tool_error(text: &str) -> String {
    let text = quoted(text);
    format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true}}"#)
}

/// Prints a JSON string.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_messages_are_frames() {
        let check = |bytes: Bytes, expect: &str| {
            assert_eq!(bytes, expect);
            assert!(crate::Frame::parse(bytes, mcpproxy_text::Limits::default()).is_ok());
        };
        check(
            request("1", "a\"b", "{}"),
            r#"{"jsonrpc":"2.0","id":1,"method":"a\"b","params":{}}"#,
        );
        check(
            error(Some("\"x\""), -1, "no\n", Some(&Value::from(3))),
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no\n","data":3}}"#,
        );
        assert_eq!(
            tool_error("a"),
            r#"{"content":[{"type":"text","text":"a"}],"isError":true}"#
        );
    }
}
