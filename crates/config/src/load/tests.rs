//! Whole loads: what is reported, what wins, what is shown.

mod problems;
mod random;
mod scenarios;
mod tighten;

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;
use crate::show::show;
use crate::sources::Flags;

/// A folder with a home and a project in it, and an environment.
struct World {
    folder: TempDir,
    variables: BTreeMap<String, String>,
    flags: Flags,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.mcpproxy", "project"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            variables: BTreeMap::new(),
            flags: Flags::default(),
        }
    }

    fn project(self, text: &str) -> Self {
        self.file("project/mcpproxy.yaml", text)
    }

    fn user(self, text: &str) -> Self {
        self.file("home/.mcpproxy/mcpproxy.yaml", text)
    }

    fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    fn load(&self) -> Result<Loaded, Problems> {
        let environment = |name: &str| self.variables.get(name).cloned();
        load(&Sources {
            flags: self.flags.clone(),
            project_dir: self.folder.path().join("project"),
            home: Some(self.folder.path().join("home")),
            environment: &environment,
        })
    }

    /// Returns the mistakes, with the folder's name left out.
    fn problems(&self) -> String {
        self.plain(&self.load().unwrap_err().to_string())
    }

    /// Returns the given values with their origins, without the defaults.
    fn given(&self) -> String {
        let loaded = self.load().unwrap_or_else(|problems| panic!("{problems}"));
        let rows = show(&loaded, true).into_iter();
        let rows = rows.filter(|row| row.origin != Some(Origin::Default));
        let line =
            |row: crate::Row| format!("{} = {} ({})\n", row.path, row.value, row.origin.unwrap());
        self.plain(&rows.map(line).collect::<String>())
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

#[test]
fn upstreams_stand_in_the_order_of_the_files() {
    let world = World::new()
        .user("mcpServers:\n  zeta: {command: z}\n  beta: {command: b}\n")
        .project("mcpServers: {alpha: {command: a}, zeta: {args: [x]}}\n");
    let config = world.load().unwrap().config;
    assert_eq!(config.order, ["zeta", "beta", "alpha"]);
}

#[test]
fn no_file_gives_the_defaults() {
    let world = World::new();
    let loaded = world.load().unwrap();
    let mut expect = Config::default();
    expect.gateway.data_dir = world.folder.path().join("home/.mcpproxy");
    assert_eq!(loaded.config, expect);
    assert_eq!(loaded.files, Vec::<PathBuf>::new());
    assert_eq!(loaded.watch.len(), 6);
    assert_eq!(
        loaded.target,
        world.folder.path().join("home/.mcpproxy/mcpproxy.yaml")
    );
    assert_eq!(loaded.notices, []);
}

#[test]
fn what_hooks_are_told_in_secret_is_not_shown() {
    let given = World::new()
        .user("security:\n  hooks:\n  - {id: dlp, type: webhook, url: 'https://a.example/?k=1', config: {signing_keys: [hunter2hunter2hunter2hunter2], max_body_size: 1MB}}\n")
        .given();
    assert!(
        !given.contains("hunter2") && given.contains("signing_keys = [***]"),
        "{given}"
    );
    assert!(given.contains("max_body_size = 1MB"), "{given}");
}

#[test]
fn layers() {
    let world = World::new()
        .user("listen: 127.0.0.1:1\nlog: {level: debug, format: json}\nallowed_hosts: [a, b]\nmcpServers:\n  a: {command: x, args: [1a, 2b]}\n  b: {command: y}\n")
        .project("log: {level: warn}\nallowed_hosts: [b]\nmcpServers:\n  - {name: a, args: [3c]}\n  - {name: c, url: https://c}\nlimits:\n")
        .variable("MCPPROXY_LISTEN", "127.0.0.1:2")
        .variable("MCPPROXY_API_KEY", "hidden")
        .variable("MCPPROXY_DATA_DIR", "");
    assert_snapshot!(world.given(), @"
    allowed_hosts = [b] (project/mcpproxy.yaml:2)
    api_key = *** (env MCPPROXY_API_KEY)
    listen = 127.0.0.1:2 (env MCPPROXY_LISTEN)
    log.format = json (home/.mcpproxy/mcpproxy.yaml:2)
    log.level = warn (project/mcpproxy.yaml:1)
    mcpServers.a.args = [3c] (project/mcpproxy.yaml:4)
    mcpServers.a.command = x (home/.mcpproxy/mcpproxy.yaml:5)
    mcpServers.b.command = y (home/.mcpproxy/mcpproxy.yaml:6)
    mcpServers.c.url = https://c (project/mcpproxy.yaml:5)
    ");
    let world = world.flags(Flags {
        listen: Some("127.0.0.1:3".to_owned()),
        log_level: Some("trace".to_owned()),
        ..Flags::default()
    });
    assert_snapshot!(world.given(), @"
    allowed_hosts = [b] (project/mcpproxy.yaml:2)
    api_key = *** (env MCPPROXY_API_KEY)
    listen = 127.0.0.1:3 (flag --listen)
    log.format = json (home/.mcpproxy/mcpproxy.yaml:2)
    log.level = trace (flag --log-level)
    mcpServers.a.args = [3c] (project/mcpproxy.yaml:4)
    mcpServers.a.command = x (home/.mcpproxy/mcpproxy.yaml:5)
    mcpServers.b.command = y (home/.mcpproxy/mcpproxy.yaml:6)
    mcpServers.c.url = https://c (project/mcpproxy.yaml:5)
    ");
}

#[test]
fn one_named_file_replaces_both() {
    let world = World::new()
        .user("log: {level: debug}\n")
        .project("log: {level: warn}\n")
        .file("other.json", "{\"log\": {\"format\": \"json\"}}");
    let config = world.folder.path().join("other.json");
    let named = World {
        flags: Flags {
            config: Some(config.clone()),
            ..Flags::default()
        },
        ..world
    };
    assert_snapshot!(named.given(), @"log.format = json (other.json:1)");
    let variable = World {
        flags: Flags::default(),
        ..named
    }
    .variable("MCPPROXY_CONFIG", &config.display().to_string());
    assert_snapshot!(variable.given(), @"log.format = json (other.json:1)");
    assert_eq!(variable.load().unwrap().target, config);
}

#[test]
fn the_data_folder_leads_to_the_user_file() {
    let world = World::new().file("data.yaml", "");
    fs::create_dir(world.folder.path().join("data")).unwrap();
    let world = world.file("data/mcpproxy.yaml", "log: {level: error}\n");
    let folder = world.folder.path().join("data").display().to_string();
    let expect = "log.level = error (data/mcpproxy.yaml:1)\n";
    let by_variable = world.variable("MCPPROXY_DATA_DIR", &folder);
    assert!(by_variable.given().ends_with(expect));
}

#[test]
fn home_is_put_in() {
    let world = World::new()
        .user("data_dir: ~/x\nmcpServers: {a: {command: ~/bin/a, cwd: ~/}, b: {command: '~'}}\n");
    let config = world.load().unwrap().config;
    let home = world.folder.path().join("home");
    assert_eq!(config.gateway.data_dir, home.join("x"));
    let a = &config.upstreams["a"];
    assert_eq!(a.command.as_deref(), home.join("bin/a").to_str());
    assert_eq!(a.working_dir.as_deref(), Some(home.as_path()));
    assert_eq!(config.upstreams["b"].command.as_deref(), Some("~"));
}

#[test]
fn references_are_resolved_and_never_shown() {
    let text = "\
listen: 127.0.0.1:${PORT}
management_tools: ${TOOLS}
limits: {nesting: '${DEPTH}', call_timeout: '${WAIT:-2m}'}
mcpServers:
  a:
    command: npx
    args: [-y, '--token=${TOKEN}', '$${TOKEN}']
    env: {TOKEN: '${TOKEN}', PLAIN: text}
    disabled: ${OFF}
  b: {url: 'https://example.com/mcp?key=abc'}
";
    let world = World::new()
        .project(text)
        .variable("PORT", "9090")
        .variable("TOOLS", "false")
        .variable("DEPTH", "12")
        .variable("OFF", "true")
        .variable("TOKEN", "s3cret");
    let loaded = world.load().unwrap();
    let config = &loaded.config;
    assert_eq!(config.gateway.listen, "127.0.0.1:9090");
    assert!(!config.gateway.management_tools);
    assert_eq!(config.gateway.limits.nesting, 12);
    assert_eq!(config.gateway.limits.call_timeout.to_string(), "2m");
    assert_eq!(
        config.upstreams["a"].args,
        ["-y", "--token=s3cret", "${TOKEN}"]
    );
    assert_eq!(config.upstreams["a"].env["TOKEN"].expose(), "s3cret");
    assert!(!config.upstreams["a"].enabled);
    assert_snapshot!(world.given(), @"
    limits.call_timeout = *** (project/mcpproxy.yaml:3)
    limits.nesting = *** (project/mcpproxy.yaml:3)
    listen = *** (project/mcpproxy.yaml:1)
    management_tools = *** (project/mcpproxy.yaml:2)
    mcpServers.a.args = [-y, ***, ${TOKEN}] (project/mcpproxy.yaml:7)
    mcpServers.a.command = npx (project/mcpproxy.yaml:6)
    mcpServers.a.enabled = *** (project/mcpproxy.yaml:9)
    mcpServers.a.env.PLAIN = *** (project/mcpproxy.yaml:8)
    mcpServers.a.env.TOKEN = *** (project/mcpproxy.yaml:8)
    mcpServers.b.url = https://example.com/mcp?*** (project/mcpproxy.yaml:10)
    ");
    for shown in [format!("{loaded:?}"), world.given()] {
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(!shown.contains("key=abc"), "{shown}");
    }
}

#[test]
fn what_does_nothing_is_said() {
    let text = "\
tool_policy: {read: allow}
security:
  enabled: true
  correlation_id_header: X-Id
  flow_tracking: {enabled: true, max_response_hash_bytes: 1}
  flow_policy: {internal_to_external: deny, require_justification: false}
  classification: {server_overrides: {a: external}, default_unknown: external}
  tool_quarantine: {enabled: true}
  hooks: {enabled: true}
  alerts: {}
";
    let world = World::new().user(text);
    let notices = world.load().unwrap().notices;
    let notices: Vec<_> = notices
        .iter()
        .map(|n| format!("{n} ({})\n", n.origin))
        .collect();
    assert_snapshot!(world.plain(&notices.concat()), @r"
    ");
}

#[test]
fn a_hook_that_does_not_say_what_it_sees_is_told_of() {
    let text = r"
security:
  hooks:
  - {id: dlp-scanner, type: webhook, url: http://127.0.0.1:8085/scan}
  - {id: roles, type: external-grpc, endpoint: grpc://127.0.0.1:9000, sees: [identity]}
  - {id: off, type: webhook, url: http://127.0.0.1:8085/scan, enabled: false}
  - {id: rug-pull-detector, type: native}
";
    let notices = World::new().user(text).load().unwrap().notices;
    let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
    let told = "`security.hooks[0]` does not say what the hook `sees`: secrets and personal data are \
                masked for it; a scanner that looks for them needs `secrets` in `sees`";
    assert_eq!(notices, [told]);
}

#[test]
fn a_name_that_no_upstream_has_is_told_of() {
    let text = r#"
mcpServers: {github: {command: npx}}
security:
  hooks:
  - id: dlp-scanner
    type: native
    config: {rules: [{servers: [github, external, unknown, hybrid, githbu], action: block}]}
  - {id: rate-limiter, type: native, config: {costs: {"github:search": 2, "githbu:search": 2}}}
"#;
    let notices = World::new().user(text).load().unwrap().notices;
    let notices: Vec<_> = notices.iter().map(|one| one.path.as_str()).collect();
    let expect = [
        "security.hooks[0].config.rules[0].servers[4]",
        "security.hooks[1].config.costs.githbu:search",
    ];
    assert_eq!(notices, expect);
}

#[test]
fn a_slip_in_the_name_of_an_upstream_is_told_of() {
    let text = r#"
mcpServers: {slack: {command: npx}}
security:
  classification: {server_overrides: {slak: internal, theirs: external}, tool_overrides: {"slakc:post": external}}
  flow_policy: {tool_overrides: {"slak:post": allow, WebSearch: allow, "slack:read": allow}}
"#;
    let notices = World::new().user(text).load().unwrap().notices;
    let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
    let of = |path: &str| {
        format!("`security.{path}` names no upstream of this configuration; was `slack` meant?")
    };
    let expect = [
        of("classification.server_overrides.slak"),
        of("classification.tool_overrides.slakc:post"),
        of("flow_policy.tool_overrides.slak:post"),
    ];
    assert_eq!(notices, expect);
}

#[test]
fn what_could_never_work_stops_the_start_in_either_mode() {
    let check = |text: &str, expect: bool| {
        let loaded = World::new().user(text).load();
        assert_eq!(loaded.is_ok(), expect, "{text}: {:?}", loaded.err());
    };
    check("security: {audit_logging: {enabled: true}}", false);
    check("security: {audit_logging: {enabled: false}}", true);
    for (place, expect) in [
        ("file:///var/log/audit", false),
        ("udp://127.0.0.1:514", false),
        ("https://example.com/audit", true),
        ("grpc://127.0.0.1:9000", true),
    ] {
        let text =
            format!("security: {{audit_logging: {{enabled: true, destination: '{place}'}}}}");
        check(&text, expect);
    }
    for (protocol, phases, expect) in [
        ("ext_authz", "request, response", false),
        ("ext_authz", "request", true),
        ("ext_mcp", "request, response", true),
        ("ext_mcp", "request, notification", false),
        ("mcpproxy", "request, response, notification", true),
    ] {
        for mode in ["fail_open", "fail_closed"] {
            let hook = format!(
                "{{id: opa, type: external-grpc, endpoint: 'grpc://127.0.0.1:9000', protocol: {protocol}, runs_on: [{phases}], failure_mode: {mode}}}"
            );
            check(&format!("security: {{hooks: [{hook}]}}"), expect);
        }
    }
}

#[test]
fn a_type_that_nobody_knows_is_refused() {
    let check = |kind: &str, expect: bool| {
        let text = format!(
            r#"
security:
  pii_detection: {{custom_patterns: [{{name: order, regex: "ORD-[0-9]+"}}]}}
  detector: {{custom_patterns: [{{name: hull, regex: "HULL-[0-9]+"}}], sensitive_keywords: [tide]}}
  hooks:
  - {{id: dlp-scanner, type: native, config: {{rules: [{{types: [{kind}], action: block}}]}}}}
"#
        );
        let loaded = World::new().user(&text).load();
        assert_eq!(loaded.is_ok(), expect, "{kind}: {:?}", loaded.err());
    };
    for known in [
        "email",
        "api_token",
        "pii",
        "github_pat",
        "iban",
        "order",
        "hull",
    ] {
        check(known, true);
    }
    check("sensitive_keyword", true);
    for unknown in ["emial", "Email", "sensitive_file", "hostile_text", "HULL"] {
        check(unknown, false);
    }
}

#[test]
fn asking_has_another_name_in_a_tool_policy() {
    let world = World::new().user("tool_policy: {destructive: approve, write: warn}\n");
    let policy = world.load().unwrap().config.security.tool_policy;
    assert_eq!(policy.destructive, mcpproxy_core::Action::Ask);
    assert_eq!(policy.write, mcpproxy_core::Action::Warn);
}

#[test]
fn one_upstream_by_itself() {
    let environment = |name: &str| (name == "KEY").then(|| "k".to_owned());
    let check = |entry: serde_json::Value| match check_upstream("a", &entry, &environment) {
        Ok(settings) => format!("{settings:?}"),
        Err(problems) => problems.to_string(),
    };
    let good =
        serde_json::json!({"url": "https://a", "headers": {"X": "${KEY}"}, "disabled": true});
    assert_snapshot!(check(good), @r#"UpstreamSettings { command: None, args: 0, env: {}, url: Some("https://a"), headers: {"X": ***}, oauth: None, tls: None, transport: Auto, enabled: false, scope: None, era: Auto, start: Eager, .. }"#);
    assert_snapshot!(check(serde_json::json!({"comand": "x", "env": {"A": "${NO}"}})), @"
    mcpServers.a.env.A: environment variable `NO` is not set
      hint: set it, or give a default with `${NO:-default}`
    mcpServers.a.comand: unknown key
      hint: did you mean `command`?
    ");
    assert_snapshot!(check(serde_json::json!({})), @"
    mcpServers.a: neither `command` nor `url` is given
      hint: give the program to start as `command`, or the address as `url`
    ");
}

#[test]
fn the_file_of_an_upstream() {
    let world = World::new()
        .user("mcpServers: {a: {command: x}, b: {command: y}}\n")
        .project("mcpServers: {b: {enabled: false}}\n");
    let loaded = world.load().unwrap();
    let file = |name| {
        loaded
            .file_of(name)
            .map(|file| world.plain(&file.display().to_string()))
    };
    assert_eq!(file("a").as_deref(), Some("home/.mcpproxy/mcpproxy.yaml"));
    assert_eq!(file("b").as_deref(), Some("project/mcpproxy.yaml"));
    assert_eq!(file("c"), None);
    assert_eq!(
        loaded.target,
        world.folder.path().join("project/mcpproxy.yaml")
    );
}

#[test]
fn the_same_file_is_read_once() {
    let world = World::new().user("allowed_hosts: [a]\n");
    let environment = |_: &str| None;
    let loaded = load(&Sources {
        flags: Flags::default(),
        project_dir: world.folder.path().join("home/.mcpproxy"),
        home: Some(world.folder.path().join("home")),
        environment: &environment,
    });
    assert_eq!(loaded.unwrap().files.len(), 1);
}

#[test]
fn a_text_is_loaded_like_a_file() {
    let environment = |_: &str| None;
    let sources = Sources {
        home: Some("/home/user".into()),
        ..Sources::new(Flags::default(), &environment)
    };
    let load = |text: &str| load_text(&sources, FilePath::new("mcpproxy.yaml"), text);
    assert_eq!(
        load("log: {level: debug}\n")
            .unwrap()
            .config
            .gateway
            .log
            .level
            .as_str(),
        "debug"
    );
    assert_snapshot!(load("lgo: {}\n").unwrap_err(), @"
    mcpproxy.yaml:1:1: lgo: unknown key
      hint: did you mean `log`?
    ");
    assert_snapshot!(load(&"# x\n".repeat(300_000)).unwrap_err(), @"mcpproxy.yaml: the file is larger than 1048576 bytes");
}
