//! What is no policy, and what the reader is told.

use super::*;

fn check(text: &str, expect: &str) {
    let problem = Policy::parse(text).map(|policy| policy.hash);
    assert_eq!(
        problem.map_err(|problem| problem.to_string()),
        Err(expect.to_owned()),
        "{text}"
    );
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    check("", "line 1: the policy is empty");
    check("# nothing\n", "line 1: the policy is empty");
    check("allow everything", "line 1: the policy must be a mapping");
    check("[]", "line 1: the policy must be a mapping");
    check("{}", "line 1: the policy has no `version`");
    check(
        "version: \"1\"",
        "line 1: the policy has no `default`, which is `allow` or `deny`",
    );
    check(
        "version: 2\ndefault: deny",
        "line 1: `version` must be \"1\"",
    );
    check(
        "version: 1\ndefault: maybe",
        "line 2: `default` must be `allow` or `deny`",
    );
    check(
        "version: 1\ndefault: deny\ndefault: allow",
        "line 3: key `default` stands twice",
    );
    check(
        "version: 1\ndefault: deny\n\nallow_list: [a]",
        "line 4: unknown key `allow_list`; did you mean `allowlist`?",
    );
    check(
        "version: 1\ndefault: deny\n---\nversion: 1",
        "line 4: a policy is one document",
    );
    check(
        "version: 1\ndefault: deny\nallowlist: a",
        "line 3: expected a list of tools",
    );
    check(
        "version: 1\ndefault: deny\nallowlist: [[a]]",
        "line 3: expected a list of tools",
    );
    check(
        "version: 1\ndefault: deny\ndenylist: ['shell_*']",
        "line 3: tool `shell_*` looks like a pattern; names of tools are exact",
    );
    check(
        "version: 1\ndefault: deny\ndenylist: ['']",
        "line 3: the name of a tool is empty",
    );
    for list in ["denylist", "allowlist"] {
        check(
            &format!("version: 1\ndefault: deny\n{list}: [a, ' shell']"),
            "line 3: tool ` shell` begins or ends with a blank; write it as `shell`",
        );
    }
    check(
        "version: 1\ndefault: deny\ndenylist: [\"shell\u{a0}\"]",
        "line 3: tool `shell\u{a0}` begins or ends with a blank; write it as `shell`",
    );
    check(
        "version: 1\ndefault: deny\nconstraints:\n  'a ':\n    deny_private_hosts: true",
        "line 4: tool `a ` begins or ends with a blank; write it as `a`",
    );
    check(
        "version: 1\ndefault: allow\nconstraints:\n  a:\n    allowed_paths: ['/w/**', '!**/.env ']",
        "line 5: pattern `!**/.env ` begins or ends with a blank; take it out, or write `[ ]` if \
         it is meant",
    );
    check(
        "version: 1\ndefault: &a deny",
        "line 2: tags and anchors are not understood here",
    );
}

#[test]
fn another_format_is_never_an_open_policy() {
    check(
        "version: 1\ndefault: allow\ntools:\n  deny: [shell]\n",
        "line 3: unknown key `tools`; known are `version`, `default`, `allowlist`, `denylist`, \
         `constraints`",
    );
    check(
        "rules:\n  - tool: x\n    action: deny\n",
        "line 1: unknown key `rules`; known are `version`, `default`, `allowlist`, `denylist`, \
         `constraints`",
    );
}

#[test]
fn constraints_are_read_as_strictly() {
    for pattern in ["~bob/x", "!~bob/x"] {
        check(
            &format!(
                "version: 1\ndefault: deny\nconstraints:\n  t:\n    allowed_paths: ['/a', '{pattern}']"
            ),
            &format!("line 5: pattern `{pattern}` names a home that is not one's own"),
        );
    }
    let tool = |body: &str| format!("version: 1\ndefault: deny\nconstraints:\n  t:\n{body}");
    check(
        &tool("    deny_private_host: true"),
        "line 5: unknown key `deny_private_host`; did you mean `deny_private_hosts`?",
    );
    check(
        &tool("    deny_private_hosts: yes"),
        "line 5: `deny_private_hosts` must be `true` or `false`",
    );
    check(
        &tool("    allowed_paths: []"),
        "line 5: `allowed_paths` needs at least one pattern without `!`",
    );
    check(
        &tool("    allowed_paths: ['!x']"),
        "line 5: `allowed_paths` needs at least one pattern without `!`",
    );
    // Without quotes these are a tag and an alias to YAML.
    check(
        &tool("    allowed_paths:\n      - /w/**\n      - !**/.env"),
        "line 7: put a value that starts with `!` in quotes",
    );
    check(
        &tool("    allowed_paths: ['a\\b']"),
        "line 5: a pattern has 1 to 1024 characters, and slashes between its steps",
    );
    check(&tool("    {}"), "line 5: tool `t` has no constraint");
    check(
        &tool("    deny_private_hosts: true\n  T:\n    deny_private_hosts: false"),
        "line 6: tool `T` has constraints twice, under case or Unicode folding",
    );
    check(
        "version: 1\ndefault: deny\nconstraints: [t]",
        "line 3: `constraints` must be a mapping of tools",
    );
}

#[test]
fn a_policy_is_named_by_its_bytes() {
    let policy = Policy::parse("version: 1\ndefault: deny\n").unwrap();
    let expect = "e077564c7da675bb29254aecb31ca7971e506cbc7b28b68a1c77d876a6bd7ad6";
    assert_eq!(policy.hash(), expect);
    let other = Policy::parse("version: 1\ndefault: deny\n\n").unwrap();
    assert_ne!(policy.hash(), other.hash());
}

#[test]
fn a_pattern_that_is_not_whole_is_refused() {
    for pattern in ["/ws/[a", "/ws/[z-a]x"] {
        check(
            &format!(
                "version: 1\ndefault: deny\nconstraints:\n  r:\n    allowed_paths: [\"{pattern}\"]"
            ),
            &format!("line 5: pattern `{pattern}` has a `[` without its `]`, or an empty range"),
        );
    }
}
