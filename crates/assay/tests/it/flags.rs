//! Flags that are wrong, and what is said about them.

use crate::support::Scene;

fn check(args: &[&str], expect: &str) {
    let scene = Scene::new();
    scene.file(
        "other.yaml",
        "version: 1\ndefault: allow\ntools:\n  deny: [shell]\n",
    );
    let left = scene.tool(args);
    assert_eq!(left.code(), Some(3), "{args:?}: {}", left.stderr);
    assert!(left.stderr.contains(expect), "{args:?}: {}", left.stderr);
}

#[test]
fn bad_input_ends_with_three() {
    let end = ["--", "cat"];
    let with = |flags: &[&str], expect: &str| {
        let mut args = vec!["mcp-proxy"];
        args.extend_from_slice(flags);
        args.extend_from_slice(&end);
        check(&args, expect);
    };
    check(&["mcp-proxy"], "required");
    check(&[], "Usage");
    with(
        &["--profile", "escrow"],
        "`escrow` is reserved and not implemented",
    );
    with(&["--profile", "other"], "known are `audit` and `guard`");
    with(
        &["--profile", "guard"],
        "profile `guard` needs `--policy FILE`",
    );
    with(&["--policy", "/dev/zero"], "it is longer than");
    with(&["--policy", "none.yaml"], "cannot read policy `none.yaml`");
    with(
        &["--profile", "guard", "--policy", "other.yaml"],
        "cannot use policy `other.yaml`: line 3: unknown key `tools`",
    );
    with(
        &["--pack-interval", "5h"],
        "expected `session`, `Nm` (minutes) or `Nr` (receipts)",
    );
    with(
        &["--upstream-url", "http://localhost/"],
        "cannot be used with",
    );
    with(&["--header", "Name: value"], "cannot be used with");
    with(&["--nothing"], "unexpected argument");
    with(&["--hash-pepper", "@none"], "cannot read pepper `none`");
    with(&["--hash-pepper", " "], "the pepper is empty");
    for wait in ["soon", "-1", "nan", "inf", "1e12", "1e300"] {
        let flags = [format!("--call-timeout={wait}")];
        with(&[&flags[0]], "expected a number of seconds, up to a year");
        let flags = [format!("--shutdown-timeout={wait}")];
        with(&[&flags[0]], "expected a number of seconds, up to a year");
    }
    check(
        &["mcp-proxy", "--", "no-such-program-here"],
        "cannot start `no-such-program-here`",
    );
    for header in [
        "Content-Length: 5",
        "transfer-encoding: chunked",
        "Connection: close",
        "Mcp-Session-Id: x",
        "Mcp-Param-Region: x",
    ] {
        let name = header.split(':').next().unwrap().to_ascii_lowercase();
        check(
            &[
                "mcp-proxy",
                "--upstream-url",
                "http://127.0.0.1:1/",
                "--header",
                header,
            ],
            &format!("header `{name}` is written by the proxy for each request; leave it out"),
        );
    }
    check(
        &["mcp-proxy", "--upstream-url", "ftp://x"],
        "`ftp://x` is no address that starts with http or https",
    );
}

#[test]
fn every_command_in_the_book_is_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/assay.md");
    let page = std::fs::read_to_string(page).unwrap();
    let scene = Scene::new();
    let mut seen = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("assay ")) {
        // Only lines of examples begin with the program.
        let line = line.split(" #").next().unwrap();
        let mut args: Vec<&str> = line.split_whitespace().collect();
        args.push("--help");
        let left = scene.tool(&args);
        assert_eq!(left.code(), Some(0), "{line}: {}", left.stderr);
        seen += 1;
    }
    assert!(seen >= 7, "{seen}");
}

#[test]
fn mistakes_are_json_where_that_is_asked_for() {
    let scene = Scene::new();
    let left = scene.tool(&["--json", "mcp-proxy", "--call-timeout", "x", "--", "cat"]);
    assert_eq!(left.code(), Some(3), "{left:?}");
    let said: serde_json::Value = serde_json::from_str(&left.stderr).unwrap();
    assert_eq!(said["event"], "error", "{said}");
    assert!(
        said["message"].as_str().unwrap().contains("--call-timeout"),
        "{said}"
    );
}
