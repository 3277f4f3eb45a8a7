//! Units, filters and checks of upstream settings.

use super::*;

fn size(text: &str, expect: Result<&str, &str>) {
    let found = text
        .parse::<ByteSize>()
        .map(|size| size.to_string())
        .map_err(|e| e.to_string());
    assert_eq!(
        found,
        expect.map(str::to_owned).map_err(str::to_owned),
        "{text}"
    );
}

fn span(text: &str, expect: Result<&str, &str>) {
    let found = text
        .parse::<Span>()
        .map(|span| span.to_string())
        .map_err(|e| e.to_string());
    assert_eq!(
        found,
        expect.map(str::to_owned).map_err(str::to_owned),
        "{text}"
    );
}

#[test]
fn sizes() {
    size("0", Ok("0"));
    size("7", Ok("7"));
    size("512B", Ok("512"));
    size("16MB", Ok("16MB"));
    size("16 MiB", Ok("16MiB"));
    size("64kib", Ok("64KiB"));
    size("1024", Ok("1KiB"));
    size("1k", Ok("1KB"));
    size("2g", Ok("2GB"));
    size("", Err("`` is not a size such as `512`, `64KiB` or `16MB`"));
    size(
        "MB",
        Err("`MB` is not a size such as `512`, `64KiB` or `16MB`"),
    );
    size(
        "1.5MB",
        Err("`1.5MB` is not a size such as `512`, `64KiB` or `16MB`"),
    );
    size(
        "-1",
        Err("`-1` is not a size such as `512`, `64KiB` or `16MB`"),
    );
    size(
        "1XB",
        Err("`1XB` is not a size such as `512`, `64KiB` or `16MB`"),
    );
    size("99999999999TB", Err("`99999999999TB` is too large"));
}

#[test]
fn spans() {
    span("100ms", Ok("100ms"));
    span("1500ms", Ok("1500ms"));
    span("10s", Ok("10s"));
    span("10", Ok("10s"));
    span("60s", Ok("1m"));
    span("90s", Ok("90s"));
    span("5m", Ok("5m"));
    span("1h", Ok("1h"));
    span("0", Ok("0s"));
    span(
        "1d",
        Err("`1d` is not a duration such as `100ms`, `10s`, `5m` or `1h`"),
    );
    span(
        "s",
        Err("`s` is not a duration such as `100ms`, `10s`, `5m` or `1h`"),
    );
    span("9999999h", Err("`9999999h` is too large"));
    span(
        "18446744073709551615h",
        Err("`18446744073709551615h` is too large"),
    );
}

#[test]
fn units_are_read_from_numbers_too() {
    assert_eq!(
        serde_json::from_str::<Span>("30").unwrap(),
        Span::from_secs(30)
    );
    assert_eq!(
        serde_json::from_str::<ByteSize>("30").unwrap(),
        ByteSize::new(30)
    );
    for text in ["-1", "1.5", "true", "null", "[]"] {
        assert!(serde_json::from_str::<Span>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<ByteSize>(text).is_err(), "{text}");
    }
}

#[test]
fn filters() {
    let check = |allow: &[&str], deny: &[&str], tool: &str, expect: bool| {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let filter = ToolFilter {
            allow: own(allow),
            deny: own(deny),
        };
        assert_eq!(filter.admits(tool), expect, "{allow:?} {deny:?} {tool}");
    };
    check(&[], &[], "read", true);
    check(&["read"], &[], "read", true);
    check(&["read"], &[], "reads", false);
    check(&["read*"], &[], "reads", true);
    check(&["*"], &["delete_*"], "delete_all", false);
    check(&[], &["*_file"], "read_file", false);
    check(&["*a*b*"], &[], "xxaxxbxx", true);
    check(&["*a*b*"], &[], "xxbxxaxx", false);
    check(&["a*a"], &[], "a", false);
    check(&["a*a"], &[], "aa", true);
    check(&["a**b"], &[], "ab", true);
    check(&["a*b*c"], &[], "abc", true);
    check(&["a*bc*c"], &[], "abc", false);
    check(&[""], &[], "a", false);
}

#[test]
fn names() {
    for name in [
        "github",
        "my-server",
        "a.b_c",
        "A1",
        "x".repeat(64).as_str(),
    ] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in [
        "",
        "a b",
        "a:b",
        "a__b",
        ".",
        "..",
        "é",
        "a/b",
        "x".repeat(65).as_str(),
    ] {
        assert!(check_name(name).is_err(), "{name}");
    }
}

fn faults(json: &str) -> String {
    let settings: UpstreamSettings = serde_json::from_str(json).unwrap();
    let line = |fault: Fault| format!("{}: {}", fault.key, fault.message);
    settings
        .check()
        .into_iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn checks() {
    assert_eq!(faults(r#"{"command": "a", "type": "stdio"}"#), "");
    assert_eq!(
        faults(r#"{"url": "https://a/mcp?x=1", "transport": "streamableHttp"}"#),
        ""
    );
    assert_eq!(faults(r#"{"url": "http://[::1]:80"}"#), "");
    assert_eq!(faults("{}"), ": neither `command` nor `url` is given");
    assert_eq!(
        faults(r#"{"command": " "}"#),
        "command: the program to start is empty"
    );
    for (given, key) in [
        (r#""args": ["b\u0000"]"#, "args"),
        (r#""env": {"A": "b\u0000"}"#, "env"),
        (r#""working_dir": "/b\u0000""#, "working_dir"),
    ] {
        assert_eq!(
            faults(&format!(r#"{{"command": "a", {given}}}"#)),
            format!("{key}: what a program is given has no null characters")
        );
    }
    assert_eq!(
        faults(r#"{"url": "https://a", "headers": {"A": "b\nc"}}"#),
        "headers: the value of `A` has characters that cannot stand in a header"
    );
    assert_eq!(
        faults(r#"{"command": "a", "url": "http://b"}"#),
        ": both `command` and `url` are given"
    );
    assert_eq!(
        faults(r#"{"url": "a.com"}"#),
        "url: the address has no scheme `http` or `https`"
    );
    assert_eq!(
        faults(r#"{"url": "https://"}"#),
        "url: the address has no host"
    );
    assert_eq!(
        faults(r#"{"url": "https://a b"}"#),
        "url: the address contains white space"
    );
    assert_eq!(
        faults(r#"{"url": "https://u@a"}"#),
        "url: the address carries a user name or password"
    );
    assert_eq!(
        faults(r#"{"url": "https://a", "type": "stdio"}"#),
        "transport: transport `stdio` needs `command`"
    );
    assert_eq!(
        faults(r#"{"command": "a", "type": "sse"}"#),
        "transport: transport `sse` needs `url`"
    );
    assert_eq!(
        faults(r#"{"url": "https://a", "env": {"A": "b"}}"#),
        "env: `env` has no effect without `command`"
    );
    assert_eq!(
        faults(r#"{"command": "a", "env": {"A=": "b"}}"#),
        "env: `A=` is no name for an environment variable"
    );
    assert_eq!(
        faults(r#"{"command": "a", "start_timeout": 0}"#),
        "start_timeout: must be greater than zero"
    );
}

#[test]
fn logins_and_keys_are_checked() {
    let check = |oauth: &str, expect: &str| {
        let json = format!(r#"{{"url": "https://a", {oauth}}}"#);
        assert_eq!(faults(&json), expect, "{oauth}");
    };
    check(r#""oauth": {}"#, "");
    check(r#""oauth": {"client_id": "a", "scopes": ["b"]}"#, "");
    let machine = r#""oauth": {"grant": "client_credentials", "client_id": "a""#;
    check(
        &format!(r#"{machine}, "client_secret": "b", "issuer": "https://c"}}"#),
        "",
    );
    check(
        &format!(r#"{machine}, "client_secret": "b"}}"#),
        "oauth: `client_secret` needs `issuer`",
    );
    check(
        &format!("{machine}}}"),
        "oauth: `grant: client_credentials` needs `client_secret`",
    );
    check(
        r#""oauth": {"client_secret": "b"}"#,
        "oauth: `client_secret` needs `client_id`",
    );
    check(
        r#""oauth": {}, "headers": {"authorization": "b"}"#,
        "oauth: `oauth` and a header `Authorization` cannot both be shown",
    );
    check(
        r#""oauth": {"scopes": ["a b"]}"#,
        "oauth.scopes: a scope is one word",
    );
    check(
        r#""oauth": {"redirect_port": 0}"#,
        "oauth.redirect_port: must be greater than zero",
    );
    let pin = format!("sha256/{}=", "A".repeat(43));
    check(&format!(r#""tls": {{"pin": "{pin}"}}"#), "");
    check(
        &format!(r#""tls": {{"pin": ["{pin}"], "self_signed": true}}"#),
        "",
    );
    check(r#""tls": {}"#, "tls: `tls` without `pin` changes nothing");
    check(
        r#""tls": {"pin": "sha256/x"}"#,
        "tls.pin: `sha256/x` is no pin",
    );
    let plain = format!(r#"{{"url": "http://a", "tls": {{"pin": "{pin}"}}}}"#);
    let expect = "tls: `tls` has no effect without an address with `https`";
    assert_eq!(faults(&plain), expect);
    let child = r#"{"command": "a", "oauth": {}}"#;
    assert_eq!(faults(child), "oauth: `oauth` has no effect without `url`");
}

#[test]
fn the_transport_decides_the_scope() {
    let check = |json: &str, transport, scope| {
        let settings: UpstreamSettings = serde_json::from_str(json).unwrap();
        assert_eq!(
            (settings.effective_transport(), settings.effective_scope()),
            (transport, scope)
        );
    };
    check(r#"{"command": "a"}"#, Transport::Stdio, Scope::Shared);
    check(r#"{"url": "https://a"}"#, Transport::Http, Scope::Session);
    check(
        r#"{"url": "https://a", "type": "sse"}"#,
        Transport::Sse,
        Scope::Session,
    );
    check(
        r#"{"command": "a", "scope": "principal"}"#,
        Transport::Stdio,
        Scope::Principal,
    );
}

#[test]
fn debug_shows_no_secret() {
    let json = r#"{"url": "https://a.com/s3cret?s3cret", "headers": {"A": "s3cret"}, "args": ["s3cret"],
            "oauth": {"client_id": "a", "client_secret": "s3cret"}}"#;
    let settings: UpstreamSettings = serde_json::from_str(json).unwrap();
    let shown = format!("{settings:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("https://a.com"), "{shown}");
}
