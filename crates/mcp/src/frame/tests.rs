//! Tables over what is a message and what is refused, and the property that splicing an id
//! changes nothing else.

use proptest::prelude::*;

use super::*;

fn parse(message: &str) -> Result<Frame, Refusal> {
    Frame::parse(
        Bytes::copy_from_slice(message.as_bytes()),
        Limits::default(),
    )
}

#[test]
fn messages_are_told_apart() {
    let check = |message: &str, kind, id: Option<&str>| {
        let frame = parse(message).unwrap();
        assert_eq!((frame.kind(), frame.id()), (kind, id), "{message}");
    };
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        FrameKind::Request,
        Some("1"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1.50,"method":"x"}"#,
        FrameKind::Request,
        Some("1.50"),
    );
    check(
        r#"{"jsonrpc":"2.0","method":"n","params":{}}"#,
        FrameKind::Notification,
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
        FrameKind::Result,
        Some("\"a\""),
    );
    check(
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":1}}"#,
        FrameKind::Error,
        Some("2"),
    );
    check(
        r#"{"jsonrpc":"2.0","error":{"code":1}}"#,
        FrameKind::Error,
        None,
    );
}

#[test]
fn what_could_be_read_two_ways_is_refused() {
    let check = |message: &str, code, expect: &str| {
        let refusal = parse(message).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.message.as_str()),
            (code, expect),
            "{message}"
        );
    };
    check(
        "{",
        PARSE_ERROR,
        "invalid JSON: expected a key in quotes at byte 1",
    );
    check(
        "[]",
        INVALID_REQUEST,
        "batches are not supported; send one message",
    );
    check("3", INVALID_REQUEST, "a message must be a JSON object");
    check(
        r#"{"id":1,"method":"x"}"#,
        INVALID_REQUEST,
        "`jsonrpc` must be \"2.0\"",
    );
    check(
        r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
        INVALID_REQUEST,
        "`jsonrpc` must be \"2.0\"",
    );
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
        INVALID_REQUEST,
        "`id` must not be null",
    );
    check(
        r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
        INVALID_REQUEST,
        "`id` must be a string or a number",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#,
        INVALID_REQUEST,
        "duplicate key `id` at byte 25",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","Method":"y"}"#,
        INVALID_REQUEST,
        "member `Method` differs from `method` only in case or Unicode form",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{},"METHOD":"tools/call"}"#,
        INVALID_REQUEST,
        "member `METHOD` differs from `method` only in case or Unicode form",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","param\u017f":{}}"#,
        INVALID_REQUEST,
        "member `param\u{17f}` differs from `params` only in case or Unicode form",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}"#,
        INVALID_REQUEST,
        "member `Arguments` differs from `arguments` only in case or Unicode form",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"URI":"a:b"}}"#,
        INVALID_REQUEST,
        "member `URI` differs from `uri` only in case or Unicode form",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","NAME":"b"}}"#,
        INVALID_REQUEST,
        "keys `NAME` and `name` differ only in case or Unicode form at byte 46",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"\u005f_proto__":{}}}"#,
        INVALID_REQUEST,
        "a member must not be called `__proto__`",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#,
        INVALID_REQUEST,
        "a message is either a request or a response, not both",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#,
        INVALID_REQUEST,
        "`params` must be an object",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"params":{},"result":{}}"#,
        INVALID_REQUEST,
        "a response has no `params`",
    );
    let refusal = parse(r#"{"jsonrpc":"1.0","id":"q","method":"x"}"#).unwrap_err();
    assert_eq!(refusal.id.as_deref(), Some(b"\"q\"".as_slice()));
}

#[test]
fn a_nul_in_what_decides_who_acts_is_refused() {
    let base = r#""jsonrpc":"2.0","id":1,"method":"#;
    for (rest, message) in [
        (r#""tools/call\u0000x""#, "the method must not hold a NUL"),
        (
            r#""tools/call","params":{"name":"a\u0000x"}"#,
            "name must not hold a NUL",
        ),
        (
            r#""x","params":{"name":"a","name\u0000":"b"}"#,
            "the name of a member must not hold a NUL",
        ),
        (
            r#""x","method\u0000":"y""#,
            "the name of a member must not hold a NUL",
        ),
    ] {
        let refusal = parse(&format!("{{{base}{rest}}}")).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.message.as_str()),
            (INVALID_REQUEST, message)
        );
    }
    let kept = r#""tools/call","params":{"name":"a","arguments":{"b":"\u0000"}}"#;
    parse(&format!("{{{base}{kept}}}")).unwrap();
}

#[test]
fn parameters_are_found_in_place() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"e\u0063ho","arguments":{"x":1}}}"#;
    let frame = parse(message).unwrap();
    assert_eq!(frame.parameter(&["name"]).unwrap(), "echo");
    let span = frame.parameter_span(&["arguments"]).unwrap();
    assert_eq!(message.get(span).unwrap(), r#"{"x":1}"#);
    assert_eq!(
        frame.with_id("77"),
        message.replace("\"id\":1", "\"id\":77")
    );
}

proptest! {
    #[test]
    fn another_id_changes_nothing_else(id in "[1-9][0-9]{0,8}|\"[a-z]{0,9}\"", extra in "[a-z ]{0,20}", number in "-?[1-9][0-9]{0,20}(\\.[0-9]{1,5})?(e[0-9]{1,3})?") {
        let message = format!(
            "{{ \"x{extra}\":\"{extra}\", \"jsonrpc\":\"2.0\",\"id\":{id} ,\"result\":{{\"n\":{number}}}}}"
        );
        let frame = parse(&message).unwrap();
        let expect = message.replacen(&format!("\"id\":{id}"), "\"id\":5", 1);
        prop_assert_eq!(frame.with_id("5"), &expect);
        let renumbered = frame.renumbered(5);
        prop_assert_eq!(renumbered.raw(), &expect);
        prop_assert_eq!(renumbered.id(), Some("5"));
        prop_assert_eq!(renumbered.payload(), frame.payload());
        prop_assert_eq!(frame.payload(), format!("{{\"n\":{number}}}"));
    }
}
