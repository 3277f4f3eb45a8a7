//! Tables over what `init` adds to our own configuration.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;

fn entries() -> Vec<(String, Entry)> {
    let entry = json!({ "command": "npx", "env": { "TOKEN": "hunter2" } });
    vec![("github".to_owned(), entry.as_object().unwrap().clone())]
}

#[test]
fn only_what_is_added_is_shown_and_without_secrets() {
    let check = |name: &str, before: Option<&str>, expect: &[&str]| {
        let own = OwnFile {
            path: name.into(),
            before: before.map(str::to_owned),
        };
        let diff = own.diff(&entries()).unwrap();
        let lines: Vec<_> = diff.lines().skip(2).map(str::trim_end).collect();
        assert_eq!(lines, expect, "{diff}");
        assert!(
            !diff.contains("hunter2") && !diff.contains("old-secret"),
            "{diff}"
        );
    };
    let yaml = [
        "+  github:",
        "+    command: npx",
        "+    env:",
        "+      TOKEN: \"***\"",
    ];
    let whole = [&["+mcpServers:"][..], &yaml].concat();
    check("mcpproxy.yaml", None, &whole);
    check(
        "mcpproxy.yaml",
        Some("api_key: old-secret-0123456789\n"),
        &whole,
    );
    let other = "mcpServers:\n  a:\n    command: a\n    env: {T: old-secret}\n";
    check("mcpproxy.yaml", Some(other), &yaml);
    let json = "{\n  \"api_key\": \"old-secret-0123456789\"\n}\n";
    let diff = OwnFile {
        path: "mcpproxy.json".into(),
        before: Some(json.to_owned()),
    };
    let diff = diff.diff(&entries()).unwrap();
    assert!(
        diff.contains("+  \"mcpServers\": {\n") && !diff.contains("secret"),
        "{diff}"
    );
    let line = r#"{"mcpServers": {"a": {"command": "a", "env": {"T": "old-secret"}}}}"#;
    let spelled = [
        "+{",
        "+  \"github\": {",
        "+    \"command\": \"npx\",",
        "+    \"env\": {",
    ];
    let rest = ["+      \"TOKEN\": \"***\"", "+    }", "+  }", "+}"];
    check("mcpproxy.json", Some(line), &[spelled, rest].concat());
}

#[test]
fn the_file_is_replaced_whole_and_keeps_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("below/mcpproxy.yaml");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let own = OwnFile::read(&path).unwrap();
    own.write("listen: 127.0.0.1:1\n").unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    // It was read before it was there.
    let fault = own.write("listen: 127.0.0.1:2\n").unwrap_err();
    assert!(
        fault.to_string().contains("changed by somebody else"),
        "{fault}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let own = OwnFile::read(&path).unwrap();
    own.write("listen: 127.0.0.1:3\n").unwrap();
    assert_eq!(mode(&path), 0o640);
    assert_eq!(fs::read_to_string(&path).unwrap(), "listen: 127.0.0.1:3\n");
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "a leftover: {names:?}");
}

#[test]
fn a_text_that_would_not_load_is_told() {
    let own = OwnFile {
        path: "mcpproxy.yaml".into(),
        before: None,
    };
    own.check(&own.with(&entries()).unwrap()).unwrap();
    assert!(own.check("mcpServers: {a: {comand: x}}").is_err());
}
