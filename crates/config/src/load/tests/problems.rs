//! Tables of bad input with the exact messages.

use std::fmt::Write;
use std::fs;

use insta::assert_snapshot;

use super::World;
use crate::sources::Flags;

/// Loads a project file and returns its mistakes.
fn check(text: &str) -> String {
    World::new()
        .project(text)
        .problems()
        .replace("project/mcpproxy.yaml", "f")
}

#[test]
fn unknown_names() {
    let text = "\
listne: 127.0.0.1:1
mcp_servers: {}
limits:
  body_byte: 1
  colour: red
mcpServers:
  github:
    comand: npx
    disable: true
  fs:
    command: npx
    restart: {backof_min: 1s}
security:
  flow_polices: {}
  flow_policy: {internal_to_extrenal: ask}
  hooks:
  - id: a
    type: webhook
    urll: https://a
";
    assert_snapshot!(check(text), @"
    f:1:1: listne: unknown key
      hint: did you mean `listen`?
    f:2:1: mcp_servers: unknown key
      hint: did you mean `mcpServers`?
    f:4:3: limits.body_byte: unknown key
      hint: did you mean `body_bytes`?
    f:5:3: limits.colour: unknown key
    f:8:5: mcpServers.github.comand: unknown key
      hint: did you mean `command`?
    f:9:5: mcpServers.github.disable: unknown key
      hint: did you mean `disabled`?
    f:12:15: mcpServers.fs.restart.backof_min: unknown key
      hint: did you mean `backoff_min`?
    f:14:3: security.flow_polices: unknown key
      hint: did you mean `flow_policy`?
    f:15:17: security.flow_policy.internal_to_extrenal: unknown key
      hint: did you mean `internal_to_external`?
    f:19:5: security.hooks[0].urll: unknown key
      hint: did you mean `url`?
    ");
}

#[test]
fn wrong_types() {
    let text = "\
listen: 8080
api_key: 12345
management_tools: yes
tool_response_limit: many
routing_mode: [call]
require_auth: 'true'
allowed_hosts: localhost
limits: 5
log: {level: loud, format: true}
activity: {enabled: null}
mcpServers:
  a: npx
  b: {command: npx, args: [-p, 8080], env: {PORT: 3000, DEBUG: true}}
  c: {command: npx, args: -y, max_in_flight: -1}
  d: {command: npx, max_in_flight: 99999999999, max_instances: 1.5, scope: shard}
";
    assert_snapshot!(check(text), @"
    f:1:9: listen: expected text, found a number
      hint: put the value in quotes
    f:2:10: api_key: expected text, found a number
      hint: put the value in quotes
    f:3:19: management_tools: expected `true` or `false`, found text
      hint: write `true`, without quotes
    f:4:22: tool_response_limit: expected a whole number, found text
    f:5:1: routing_mode: expected one of `call`, `all`, `single`, found a list
    f:6:15: require_auth: expected `true` or `false`, found text
      hint: write `true`, without quotes
    f:7:16: allowed_hosts: expected a list, found text
    f:8:9: limits: expected a map, found a whole number
    f:9:14: log.level: unknown value `loud`
      hint: use one of `error`, `warn`, `info`, `debug`, `trace`
    f:9:28: log.format: unknown value `true`
      hint: use one of `text`, `json`
    f:10:12: activity.enabled: expected `true` or `false`, found nothing
    f:12:6: mcpServers.a: expected a map, found text
    f:13:32: mcpServers.b.args[1]: expected text, found a number
      hint: put the value in quotes
    f:13:51: mcpServers.b.env.PORT: expected text, found a number
      hint: put the value in quotes
    f:13:64: mcpServers.b.env.DEBUG: expected text, found `true` or `false`
      hint: put the value in quotes
    f:14:27: mcpServers.c.args: expected a list, found text
    f:14:46: mcpServers.c.max_in_flight: `-1` is less than zero
    f:15:36: mcpServers.d.max_in_flight: `99999999999` is too large
    f:15:64: mcpServers.d.max_instances: expected a whole number, found a fraction
    f:15:76: mcpServers.d.scope: unknown value `shard`
      hint: did you mean `shared`?
    ");
}

#[test]
fn the_detector_has_no_pattern_that_cannot_be_used() {
    let text = "\
security:
  detector:
    max_payload_size_kb: 0
    entropy_threshold: 9.5
    custom_patterns:
    - name: badge
      regex: 'B-(\\d+'
    - {name: badge, keywords: [heron]}
    sensitive_keywords: ['']
    allowlist:
    - sha256: abc
";
    assert_snapshot!(check(text), @"
    f:3:26: security.detector.max_payload_size_kb: must be greater than zero
      hint: use `enabled: false` to scan nothing
    f:4:24: security.detector.entropy_threshold: a byte has between 0 and 8 bits of entropy
    f:7:14: security.detector.custom_patterns[0].regex: this pattern cannot be used: unclosed group
    f:8:14: security.detector.custom_patterns[1].name: the name `badge` is empty or taken
    f:9:26: security.detector.sensitive_keywords[0]: the word is empty
    f:11:15: security.detector.allowlist[0].sha256: expected 64 hexadecimal digits
    ");
    let text = "\
security:
  detector:
    entropy_treshold: 4
    categories: {cloud_credential: false, pii: maybe}
    custom_patterns:
    - {name: badge, regex: x, severity: mild}
";
    assert_snapshot!(check(text), @"
    f:3:5: security.detector.entropy_treshold: unknown key
      hint: did you mean `entropy_threshold`?
    f:4:36: security.detector.categories.cloud_credential: unknown value `cloud_credential`
      hint: did you mean `cloud_credentials`?
    f:4:48: security.detector.categories.pii: expected `true` or `false`, found text
    f:6:41: security.detector.custom_patterns[0].severity: unknown value `mild`
      hint: use one of `info`, `low`, `medium`, `high`, `critical`
    ");
}

#[test]
fn bad_values() {
    let text = "\
listen: localhost
api_key: 'two words'
allowed_hosts: [https://a/b]
allowed_origins: [example.com, 'https://a.com/path']
limits: {call_timeout: 10 parsecs, body_bytes: 0, session_idle: 99999h, header_timeout: -1}
security:
  correlation_id_header: 'X Y'
  tool_policy: {read: alow, log_level: loud}
  classification: {server_overrides: {slack: outside}}
  flow_policy: {internal_to_external: block}
  risk_assessment: {auto_flag_threshold: 170}
  pii_detection:
    patterns: [email, emial]
    custom_patterns:
    - {name: a, regex: '(', severity: mild}
    - {regex: 'x'}
  hooks:
  - {id: a, type: webhok}
";
    assert_snapshot!(check(text), @"
    f:1:9: listen: expected an address and a port
      hint: for example `127.0.0.1:8080`
    f:2:10: api_key: the key has characters that cannot stand in a header
      hint: use letters, digits and ASCII punctuation
    f:3:17: allowed_hosts[0]: `https://a/b` is no host name
    f:4:19: allowed_origins[0]: `example.com` is no origin
      hint: for example `https://example.com`, without a path
    f:4:32: allowed_origins[1]: `https://a.com/path` is no origin
      hint: for example `https://example.com`, without a path
    f:5:24: limits.call_timeout: `10 parsecs` is not a duration such as `100ms`, `10s`, `5m` or `1h`
    f:5:48: limits.body_bytes: must be greater than zero
    f:5:65: limits.session_idle: `99999h` is too large
    f:5:89: limits.header_timeout: `-1` is less than zero
    f:7:26: security.correlation_id_header: `X Y` is no name for a header
    f:8:23: security.tool_policy.read: unknown value `alow`
      hint: did you mean `allow`?
    f:8:40: security.tool_policy.log_level: unknown value `loud`
      hint: use one of `error`, `warn`, `info`, `debug`
    f:9:46: security.classification.server_overrides.slack: unknown value `outside`
      hint: use one of `internal`, `external`, `hybrid`, `unknown`
    f:10:39: security.flow_policy.internal_to_external: unknown value `block`
      hint: use one of `allow`, `warn`, `ask`, `deny`
    f:11:42: security.risk_assessment.auto_flag_threshold: a risk score is at most 100
    f:13:23: security.pii_detection.patterns[1]: unknown value `emial`
      hint: did you mean `email`?
    f:15:39: security.pii_detection.custom_patterns[0].severity: unknown value `mild`
      hint: use one of `info`, `low`, `medium`, `high`, `critical`
    f:16:7: security.pii_detection.custom_patterns[1]: `name` is missing
    f:18:19: security.hooks[0].type: unknown value `webhok`
      hint: did you mean `webhook`?
    ");
}

#[test]
fn hooks_that_would_not_do_what_is_said() {
    let text = "\
security:
  hooks:
  - {id: rug-pull-detector, type: native, timeout: 1s, sees: [results], rate: 5, max_concurrency: 2}
  - {id: tool-poisoning-detector, type: webhook, url: 'https://a.example'}
  - {id: 'a b', type: webhook, url: 'https://a.example', timeout: 1s, rate: 5}
";
    assert_snapshot!(check(text), @"
    f:3:52: security.hooks[0].timeout: has no effect on a hook of type `native`
    f:3:56: security.hooks[0].sees: has no effect on a hook of type `native`
    f:3:79: security.hooks[0].rate: has no effect on a hook of type `native`
    f:3:99: security.hooks[0].max_concurrency: has no effect on a hook of type `native`
    f:4:10: security.hooks[1].id: `tool-poisoning-detector` is a guard that is on without being told
      hint: choose another id for a hook of your own
    f:5:10: security.hooks[2].id: an id is made of letters, digits, `-`, `_` and `.`
    ");
}

#[test]
fn upstreams_that_cannot_be() {
    let text = "\
mcpServers:
  none: {}
  both: {command: a, url: https://b}
  'a__b': {command: a}
  'a:b': {command: a}
  'a b': {command: a}
  ftp: {url: ftp://a}
  user: {url: https://u:p@a/}
  host: {url: 'https:///x'}
  stdio: {url: https://a, type: stdio}
  http: {command: a, transport: streamable-http}
  args: {url: https://a, args: [x]}
  headers: {command: a, headers: {A: b}}
  header: {url: https://a, headers: {'A B': c}}
  backoff: {command: a, restart: {backoff_min: 2m}}
  zero: {command: a, max_in_flight: 0}
  twice: {command: a, type: stdio, transport: stdio}
  onoff: {command: a, enabled: true, disabled: false}
  off: {command: a, disabled: maybe}
";
    assert_snapshot!(check(text), @r#"
    f:2:3: mcpServers.none: neither `command` nor `url` is given
      hint: give the program to start as `command`, or the address as `url`
    f:3:3: mcpServers.both: both `command` and `url` are given
      hint: keep one of them
    f:4:3: mcpServers.a__b: `a__b` is no name for an upstream: `__` separates upstream and tool
    f:5:3: mcpServers.a:b: `a:b` is no name for an upstream: letters, digits, `_`, `.` and `-` only
    f:6:3: mcpServers."a b": `a b` is no name for an upstream: letters, digits, `_`, `.` and `-` only
    f:7:14: mcpServers.ftp.url: the address has no scheme `http` or `https`
      hint: write it out, for example `https://example.com/mcp`
    f:8:15: mcpServers.user.url: the address carries a user name or password
      hint: send credentials with `headers`
    f:9:15: mcpServers.host.url: the address has no host
    f:10:33: mcpServers.stdio.transport: transport `stdio` needs `command`
    f:11:33: mcpServers.http.transport: transport `http` needs `url`
    f:12:26: mcpServers.args.args: `args` has no effect without `command`
    f:13:25: mcpServers.headers.headers: `headers` has no effect without `url`
    f:14:28: mcpServers.header.headers: `A B` is no name for a header
    f:15:25: mcpServers.backoff.restart.backoff_max: `backoff_max` is shorter than `backoff_min`
    f:16:37: mcpServers.zero.max_in_flight: must be greater than zero
    f:17:23: mcpServers.twice.type: means the same as `transport`, which is given too
      hint: keep one of them
    f:18:38: mcpServers.onoff.disabled: means the same as `enabled`, which is given too
      hint: keep one of them
    f:19:31: mcpServers.off.disabled: expected `true` or `false`
    "#);
}

#[test]
fn texts_that_are_no_configuration() {
    assert_snapshot!(check("- a\n- b\n"), @"f:1:1: the configuration must be a map of keys and values");
    assert_snapshot!(check("listen: [\n"), @"f:2:1: this is no valid YAML: while parsing a node, did not find expected node content");
    assert_snapshot!(check("a: 1\n\tb: 2\n"), @"f:1:4: this is no valid YAML: while scanning a plain scalar, found a tab");
    assert_snapshot!(check("listen: a:1\nlisten: b:2\n"), @"f:2:1: listen: duplicate key; it is given on line 1 already");
    assert_snapshot!(check("listen: a:1\n---\nlisten: b:2\n"), @"f:2:1: a second document starts here; one is read");
    assert_snapshot!(check("listen: !secret a:1\n"), @"f:1:9: listen: the tag `!secret` is not supported");
    assert_snapshot!(check("? [a]\n: b\n"), @"f:1:3: a key must be text");
    assert_snapshot!(check("a: &a [*a]\n"), @"f:1:8: this alias stands inside what it refers to");
    assert_snapshot!(check(&"[".repeat(1000)), @"f:1:256: this is no valid YAML: recursion limit exceeded");
    // Regression for #8: what stands for a key has no path of its own, and ended the process.
    assert_snapshot!(check(&"? ".repeat(5000)), @"f:1:131: lists and maps nest deeper than 64 levels");
    assert_snapshot!(check(&"- ".repeat(1000)), @"f:1:131: lists and maps nest deeper than 64 levels");
    assert_snapshot!(check(&"# x\n".repeat(300_000)), @"f: the file is larger than 1048576 bytes");
}

#[test]
fn aliases_are_bounded() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..10 {
        let inner = format!("*a{}, ", n - 1).repeat(10);
        writeln!(text, "a{n}: &a{n} [{inner}]").unwrap();
    }
    assert_snapshot!(check(&text), @"f:5:35: the file has more than 100000 values");
    let many = "*a, ".repeat(10_000);
    let text = format!("a: &a {}\nb: [{many}]\n", "x".repeat(100_000));
    assert_snapshot!(check(&text), @"f:2:161: the file expands to more than 4194304 bytes");
}

#[test]
fn a_file_that_is_no_text() {
    let world = World::new();
    fs::write(
        world.folder.path().join("project/mcpproxy.yaml"),
        b"a: b\nc: \xff",
    )
    .unwrap();
    assert_snapshot!(world.problems(), @"project/mcpproxy.yaml:2:4: the file is not UTF-8 text");
}

#[test]
fn a_file_that_is_not_there() {
    let flags = Flags {
        config: Some("/nowhere/mcpproxy.yaml".into()),
        ..Flags::default()
    };
    assert_snapshot!(World::new().flags(flags).problems(), @"/nowhere/mcpproxy.yaml: there is no such file");
    let world = World::new()
        .project("a: 1")
        .file("project/mcpproxy.json", "{}");
    assert_snapshot!(world.problems(), @"
    project/mcpproxy.yaml: `project/mcpproxy.json` is there too; keep one of them
    project/mcpproxy.yaml:1:1: a: unknown key
    ");
}

#[test]
fn mistakes_of_all_files_are_reported() {
    let world = World::new()
        .user("listen: 5\n")
        .project("limits: {nesting: x}\n")
        .variable("MCPPROXY_LOG_LEVEL", "loud")
        .flags(Flags {
            listen: Some("here".to_owned()),
            ..Flags::default()
        });
    assert_snapshot!(world.problems(), @"
    home/.mcpproxy/mcpproxy.yaml:1:9: listen: expected text, found a number
      hint: put the value in quotes
    project/mcpproxy.yaml:1:19: limits.nesting: expected a whole number, found text
    MCPPROXY_LOG_LEVEL: log.level: unknown value `loud`
      hint: use one of `error`, `warn`, `info`, `debug`, `trace`
    ");
}

#[test]
fn more_mistakes_than_anyone_reads() {
    let text = (0..500).fold(String::new(), |text, n| text + &format!("key{n}: 1\n"));
    assert_eq!(check(&text).lines().count(), 100);
}

#[test]
fn references_that_fail() {
    let text = "\
listen: 127.0.0.1:${PORT}
mcpServers:
  a:
    url: https://${HOST}/${PATH_PART}
    headers:
      Authorization: Bearer ${TOKEN
limits:
  nesting: ${DEEP}
  call_timeout: ${LONG}
log: {level: '${LEVEL}'}
";
    let world = World::new()
        .project(text)
        .variable("DEEP", "s3cret")
        .variable("LONG", "s3cret")
        .variable("LEVEL", "s3cret");
    assert_snapshot!(world.problems(), @"
    project/mcpproxy.yaml:1:19: listen: environment variable `PORT` is not set
      hint: set it, or give a default with `${PORT:-default}`
    project/mcpproxy.yaml:4:18: mcpServers.a.url: environment variable `HOST` is not set
      hint: set it, or give a default with `${HOST:-default}`
    project/mcpproxy.yaml:4:26: mcpServers.a.url: environment variable `PATH_PART` is not set
      hint: set it, or give a default with `${PATH_PART:-default}`
    project/mcpproxy.yaml:6:22: mcpServers.a.headers.Authorization: `${` without `}`
      hint: write `$${` for a literal `${`
    project/mcpproxy.yaml:8:12: limits.nesting: expected a whole number, found text
    project/mcpproxy.yaml:9:17: limits.call_timeout: `***` is not a duration such as `100ms`, `10s`, `5m` or `1h`
    project/mcpproxy.yaml:10:14: log.level: unknown value `***`
      hint: use one of `error`, `warn`, `info`, `debug`, `trace`
    ");
}

#[test]
fn two_spellings_of_one_thing() {
    let text = "\
tool_policy: {read: deny}
security:
  tool_policy: {read: allow}
  agent_hooks: {enabled: true}
  hooks: {enabled: false}
mcpServers:
  - {name: a, command: x}
  - {name: a, command: y}
  - {command: z}
  - {name: 5, command: z}
  - text
";
    assert_snapshot!(check(text), @"
    f:1:1: tool_policy: means the same as `security.tool_policy`, which is given too
      hint: keep one of them
    f:5:3: security.hooks: means the same as `security.agent_hooks`, which is given too
      hint: keep one of them
    f:8:6: mcpServers[1].name: there is an upstream `a` already
    f:9:5: mcpServers[2]: `name` is missing
    f:10:6: mcpServers[3].name: expected text
    f:11:5: mcpServers[4]: expected a map with `name`
    ");
}

#[test]
fn single_needs_one_upstream() {
    assert_snapshot!(check("routing_mode: single\n"), @"f:1:15: routing_mode: `single` needs exactly one enabled upstream, and there are 0");
    let text =
        "routing_mode: single\nmcpServers: {a: {command: x}, b: {command: y, enabled: false}}\n";
    assert!(World::new().project(text).load().is_ok());
}

#[test]
fn nobody_is_let_in_from_outside() {
    assert_snapshot!(check("listen: 0.0.0.0:8080\nrequire_auth: false\n"), @"
    f:1:9: listen: a project's file cannot say that the network can reach the gateway
      hint: put it in the user's file, or name this file with `--config`
    f:2:15: require_auth: `listen` is not a loopback address, so anyone on the network could call
      hint: listen on `127.0.0.1`, or leave `require_auth` out
    ");
    for listen in ["127.0.0.1:1", "'[::1]:80'", "localhost:80"] {
        let text = format!("listen: {listen}\nrequire_auth: false\n");
        assert!(World::new().project(&text).load().is_ok(), "{listen}");
    }
    for listen in [
        "'8080'", "':8080'", "1.2.3:80", "a:99999", "a b:1", "'::1:80'",
    ] {
        let problems = check(&format!("listen: {listen}\n"));
        assert!(
            problems.contains("expected an address and a port"),
            "{listen}: {problems}"
        );
    }
}
