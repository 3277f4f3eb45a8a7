//! Tables of policies, calls and verdicts.

mod constraints;
mod machine;
mod problems;

use std::net::IpAddr;

use Verdict::{Allowed, Denied};
use proptest::prelude::*;

use super::*;

const SAMPLE: &str = r#"
version: "1"
default: deny
allowlist:
  - web_search
  - web_fetch
  - read_file
  - shell_exec
denylist:
  - shell_exec
  - file_delete
constraints:
  web_fetch:
    deny_private_hosts: true
  read_file:
    allowed_paths:
      - "/workspace/*"
      - "!**/.env"
  unlisted:
    deny_private_hosts: true
"#;

/// Knows a few names; `/workspace/link` leads to `/etc`, `/workspace/loop` nowhere.
#[derive(Debug)]
struct Fake;

impl Resolver for Fake {
    fn resolve(&self, name: &str) -> Vec<IpAddr> {
        let addresses: &[&str] = match name {
            "example.com" => &["93.184.216.34", "2606:2800:21f:cb07::1"],
            "rebind.example" => &["93.184.216.34", "127.0.0.1"],
            "inside.example" => &["10.1.2.3"],
            "six.example" => &["::ffff:192.168.0.1"],
            _ => &[],
        };
        addresses.iter().map(|one| one.parse().unwrap()).collect()
    }
}

impl Files for Fake {
    fn folder(&self) -> Option<String> {
        Some("/workspace".to_owned())
    }

    fn home(&self) -> Option<String> {
        Some("/home/ada".to_owned())
    }

    fn real(&self, path: &str) -> Option<String> {
        match path.strip_prefix("/workspace/link") {
            Some(rest) => Some(format!("/etc{rest}")),
            None if path.contains("loop") => None,
            None => Some(path.to_owned()),
        }
    }
}

fn judge(policy: &str, tool: &str, arguments: &str) -> Ruling {
    let world = World {
        resolver: &Fake,
        files: &Fake,
    };
    Policy::parse(policy).unwrap().judge(tool, arguments, world)
}

#[test]
fn the_first_opinion_decides() {
    let check = |tool: &str, arguments: &str, verdict: Verdict, rule: &str| {
        let ruling = judge(SAMPLE, tool, arguments);
        assert_eq!(
            (ruling.verdict, ruling.rule.as_str()),
            (verdict, rule),
            "{tool}"
        );
    };
    let inside = r#"{"url":"http://127.0.0.1/"}"#;
    let outside = r#"{"url":"https://example.com/"}"#;
    check("web_search", "{}", Allowed, "allowlist:web_search");
    // The deny list wins over the allow list, in every case.
    check("shell_exec", "{}", Denied, "denylist:shell_exec");
    check("Shell_EXEC", "{}", Denied, "denylist:shell_exec");
    check("ｓhell_exec", "{}", Denied, "denylist:shell_exec");
    check(" shell_exec\t", "{}", Denied, "denylist:shell_exec");
    check(
        "\u{455}h\u{435}ll_exec",
        "{}",
        Denied,
        "denylist:shell_exec",
    );
    check("shell_exec\0", "{}", Denied, "denylist:shell_exec");
    check("file_delete", "{}", Denied, "denylist:file_delete");
    // Constraints win over the allow list, and passing them allows nothing by itself.
    check(
        "web_fetch",
        inside,
        Denied,
        "constraints:web_fetch.deny_private_hosts",
    );
    check("web_fetch", outside, Allowed, "allowlist:web_fetch");
    check(
        "unlisted",
        inside,
        Denied,
        "constraints:unlisted.deny_private_hosts",
    );
    check("unlisted", outside, Denied, "default:deny");
    // The allow list is exact: a spelling of its own is another tool.
    check("Web_Search", "{}", Denied, "default:deny");
    check("anything", "{}", Denied, "default:deny");
    check("", "{}", Denied, "default:deny");
}

#[test]
fn an_open_default_allows_what_no_list_names() {
    let policy = "version: 1\ndefault: allow\ndenylist: [a]";
    assert_eq!(judge(policy, "b", "{}").rule, "default:allow");
    assert_eq!(judge(policy, "a", "{}").verdict, Verdict::Denied);
}

#[test]
fn reasons_hold_no_value_of_an_argument() {
    let arguments = r#"{"url":"http://hunter2@127.0.0.1/?k=hunter2"}"#;
    let ruling = judge(SAMPLE, "web_fetch", arguments);
    assert_eq!(ruling.reason, "argument `url` leads to this machine");
    // A caller may make anything the name of a field.
    let arguments = r#"{"http://me:hunter2@127.0.0.1/":1}"#;
    let ruling = judge(SAMPLE, "web_fetch", arguments);
    assert_eq!(ruling.reason, "an argument leads to this machine");
}

#[test]
fn an_excluded_file_is_excluded_under_look_alikes_too() {
    let policy = "version: 1\ndefault: allow\nconstraints:\n  r:\n    allowed_paths: [\"/ws/**\", \"!**/.env\"]";
    let verdict = |path: &str| judge(policy, "r", &format!(r#"{{"path":"{path}"}}"#)).verdict;
    assert_eq!(verdict("/ws/a"), Allowed);
    assert_eq!(verdict("/ws/.env"), Denied);
    assert_eq!(verdict("/ws/.\u{435}nv"), Denied);
}

proptest! {
    #[test]
    fn any_text_is_a_policy_or_a_problem(text in "\\PC{0,200}") {
        drop(Policy::parse(&text));
    }

    #[test]
    fn any_value_is_judged(value in "\\PC{0,100}") {
        let arguments = format!("{{\"url\":{value:?},\"path\":{value:?}}}");
        drop(judge(SAMPLE, "web_fetch", &arguments));
        drop(judge(SAMPLE, "read_file", &arguments));
    }
}
