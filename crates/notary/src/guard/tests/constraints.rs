//! Spellings of hosts and paths.

use serde_json::json;

use super::*;

const HOSTS: &str = "version: 1\ndefault: allow\nconstraints: { t: { deny_private_hosts: true } }";
const PATHS: &str = r#"
version: 1
default: allow
constraints:
  t:
    allowed_paths: ["/workspace/**", "~/notes/*.md", "!.env", "!**/secrets", "!/workspace/private/"]
"#;

fn check(policy: &str, arguments: &serde_json::Value, expect: Verdict) {
    let ruling = judge(policy, "t", &arguments.to_string());
    assert_eq!(ruling.verdict, expect, "{arguments} {}", ruling.reason);
}

/// Whichever reader is meant.
#[test]
fn what_some_readers_take_for_an_inner_host_is_denied() {
    for host in [
        "[64:ff9b:1:7f00:0:100:808:808]",
        "[fec0::1]",
        "[100::1]",
        "[5f00::1]",
        "[3fff::1]",
        "010.0.0.1",
        "0127.0.0.1",
        "02130706433",
    ] {
        for url in [
            format!("http://{host}/"),
            format!("see http://{host}:8080/x"),
        ] {
            check(HOSTS, &json!({ "url": url }), Verdict::Denied);
            check(HOSTS, &json!({ "x": [url] }), Verdict::Denied);
        }
        check(HOSTS, &json!({ "host": host }), Verdict::Denied);
    }
    for url in [
        "http://8.8.8.8#@127.0.0.1/",
        "get http://8.8.8.8?@10.0.0.1:80/x",
    ] {
        check(HOSTS, &json!({ "url": url }), Verdict::Denied);
    }
    for url in [
        "http://8.8.8.8/?at=@127.0.0.1",
        "http://8.8.8.8?to=a@example.com",
    ] {
        check(HOSTS, &json!({ "url": url }), Verdict::Allowed);
    }
    check(HOSTS, &json!({ "host": "08.8.8.8" }), Verdict::Denied);
    check(HOSTS, &json!({ "host": "8.8.8.8" }), Verdict::Allowed);
}

#[test]
fn every_spelling_of_an_inner_host_is_denied() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "１２７.0.0.1",
        "127。0。0。1",
        "%31%32%37.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        "0",
        "localhost",
        "LOCALHOST",
        "a.localhost",
        "localhost.",
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fd00::1]",
        "[fe80::1]",
        "metadata.google.internal",
        "db.internal",
        "printer.local",
        "127.0.0.1.nip.io",
        "10-0-0-1.sslip.io",
        "224.0.0.1",
        "redis",
        "rebind.example",
        "inside.example",
        "six.example",
        "unknown.example",
        "user@127.0.0.1",
        "example.com@127.0.0.1",
        "127.0.0.1:8080",
        "127.0.0.1%20",
        "1.2.3.4.5",
    ] {
        for url in [
            format!("http://{host}/"),
            format!("HTTP:\\\\{host}\\x"),
            format!("https:{host}"),
            format!("ws:///{host}?q"),
            format!("ht\ttp://{host}/"),
        ] {
            check(HOSTS, &json!({ "url": url }), Verdict::Denied);
            check(
                HOSTS,
                &json!({ "options": { "list": [1, { "x": url }] } }),
                Verdict::Denied,
            );
        }
        check(HOSTS, &json!({ "host": host }), Verdict::Denied);
    }
    check(HOSTS, &json!({ "host": 2_130_706_433 }), Verdict::Denied);
    check(
        HOSTS,
        &json!({ "url": "file:///etc/passwd" }),
        Verdict::Denied,
    );
    check(
        HOSTS,
        &json!({ "url": "gopher://127.0.0.1:6379/_x" }),
        Verdict::Denied,
    );
    check(
        HOSTS,
        &json!({ "q": "please get 169.254.169.254 now" }),
        Verdict::Denied,
    );
    check(
        HOSTS,
        &json!({ "q": "see http://10.0.0.1/x." }),
        Verdict::Denied,
    );
    check(HOSTS, &json!({ "page": "127.0.0.1:80/x" }), Verdict::Denied);
    check(HOSTS, &json!({ "address": "::1" }), Verdict::Denied);
    for url in [
        "http://example.com\\@127.0.0.1/",
        "http://127.0.0.1\\@example.com/",
        "see http://example.com\\@127.0.0.1/ now",
    ] {
        check(HOSTS, &json!({ "url": url }), Verdict::Denied);
        check(HOSTS, &json!({ "q": url }), Verdict::Denied);
    }
}

#[test]
fn what_is_outside_passes() {
    for arguments in [
        json!({ "url": "https://example.com/a?b#c" }),
        json!({ "url": "https://example.com:8443" }),
        json!({ "host": "example.com" }),
        json!({ "url": "https://8.8.8.8/" }),
        json!({ "url": "https://[2606:4700::1111]/" }),
        json!({ "url": "https://example.com/", "limit": 10, "q": "a b", "name": "report" }),
        json!({ "url": "https://example.com/", "timeout": 10.5 }),
        json!({}),
    ] {
        check(HOSTS, &arguments, Verdict::Allowed);
    }
}

#[test]
fn a_call_resolves_a_bounded_number_of_names() {
    let urls: Vec<_> = (0..100).map(|n| format!("https://h{n}.example/")).collect();
    let ruling = judge(HOSTS, "t", &json!({ "urls": urls }).to_string());
    assert_eq!(ruling.reason, "the arguments name more than 16 hosts");
}

#[test]
fn paths_are_judged_where_they_lead() {
    use Verdict::{Allowed, Denied};
    for (path, expect) in [
        ("/workspace/a.txt", Allowed),
        ("/workspace/a/b/c.txt", Allowed),
        ("/workspace", Allowed),
        ("a.txt", Allowed),
        ("./a/../b", Allowed),
        ("file:///workspace/a", Allowed),
        ("~/notes/x.md", Allowed),
        ("/home/ada/notes/x.md", Allowed),
        ("~/notes/deep/x.md", Denied),
        ("~bob/notes/x.md", Denied),
        ("/etc/passwd", Denied),
        ("/workspace/../etc/passwd", Denied),
        ("/workspace/a/../../etc/passwd", Denied),
        ("../etc/passwd", Denied),
        ("/workspace/..\\..\\etc\\passwd", Denied),
        ("\\etc\\passwd", Denied),
        ("/workspace/%2e%2e/%2e%2e/etc/passwd", Denied),
        ("/workspace/\u{ff0e}\u{ff0e}/etc/passwd", Denied),
        ("/workspace/\u{2024}\u{2024}/x", Denied),
        ("/workspace/a\u{2044}b", Allowed),
        ("/workspace/\u{ff0f}etc", Denied),
        ("/workspace/link/passwd", Denied),
        ("/workspace/loop", Denied),
        ("/workspace/$HOME/x", Denied),
        ("/workspace/a\u{0}.txt", Denied),
        (" /workspace/a", Denied),
        ("", Denied),
        ("file://other/workspace/a", Denied),
        ("C:\\Windows\\x", Denied),
        ("/Workspace/a", Denied),
        ("/workspacex/a", Denied),
        // Exclusions hold in every case and form, and for all that stands below.
        ("/workspace/.env", Denied),
        ("/workspace/.ENV", Denied),
        ("/workspace/．env", Denied),
        ("/workspace/.e\u{200b}nv", Denied),
        ("/workspace/.env.", Denied),
        ("/workspace/.env ::$DATA", Denied),
        ("/workspace/.env/x", Denied),
        ("/workspace/.environment", Allowed),
        ("/workspace/a/Secrets/key", Denied),
        ("/workspace/private/a", Denied),
        ("/workspace/privateer", Allowed),
    ] {
        check(PATHS, &json!({ "path": path }), expect);
        check(PATHS, &json!({ "edits": [{ "filePath": path }] }), expect);
    }
    let long = format!("/workspace/{}", "a".repeat(5000));
    check(PATHS, &json!({ "path": long }), Denied);
}

#[test]
fn paths_are_found_under_any_name() {
    use Verdict::{Allowed, Denied};
    let with = |name: &str, value: &str| json!({ "path": "/workspace/a", name: value });
    check(PATHS, &with("also", "/etc/passwd"), Denied);
    check(PATHS, &with("also", "etc/../../x"), Denied);
    check(PATHS, &with("also", "~/.ssh/id"), Denied);
    check(PATHS, &with("pattern", ".env"), Denied);
    check(PATHS, &with("also", " /etc/passwd"), Denied);
    check(PATHS, &with("also", "/etc/passwd\n"), Denied);
    check(PATHS, &with("also", "\t~/.ssh/id\n"), Denied);
    check(PATHS, &with("also", "x y/../../../etc/passwd"), Denied);
    check(PATHS, &with("also", "x://../../../etc/passwd"), Denied);
    check(
        PATHS,
        &with("also", "http://../../../../etc/passwd"),
        Denied,
    );
    check(PATHS, &with("also", "/etc/passwd://"), Denied);
    check(
        PATHS,
        &with("also", "read https://example.com/x now"),
        Allowed,
    );
    check(PATHS, &with("/etc/passwd", "x"), Denied);
    check(PATHS, &with("content", "/etc/passwd"), Allowed);
    check(PATHS, &with("encoding", "utf-8"), Allowed);
    check(PATHS, &with("link", "https://example.com/x"), Allowed);
    check(
        PATHS,
        &json!({ "paths": ["/workspace/a", "/etc/passwd"] }),
        Denied,
    );
    // A tool that must keep to paths and names none is not judged by guessing.
    check(PATHS, &json!({}), Denied);
    check(PATHS, &json!({ "id": 5 }), Denied);
}
