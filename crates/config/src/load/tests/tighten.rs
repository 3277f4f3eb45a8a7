//! Under `security` a project's file can only tighten.

use std::fs;

use super::World;

/// Keys under `security`: a milder value, and one that is as strict as the defaults or stricter.
const KEYS: [(&str, &str, &str); 59] = [
    ("enabled", "false", "true"),
    ("mode", "shadow", "enforce"),
    ("flow_tracking.enabled", "false", "true"),
    ("flow_tracking.scope", "session", "principal"),
    ("flow_tracking.session_timeout_minutes", "29", "31"),
    ("flow_tracking.max_origins_per_session", "9999", "10001"),
    ("flow_tracking.hash_min_length", "21", "19"),
    ("flow_tracking.max_response_hash_bytes", "65535", "65537"),
    ("flow_policy.internal_to_external", "warn", "deny"),
    ("flow_policy.internal_to_external", "allow", "ask"),
    ("flow_policy.sensitive_data_external", "ask", "deny"),
    ("flow_policy.require_justification", "false", "true"),
    ("flow_policy.tool_overrides", "{a: allow}", "{a: deny}"),
    ("flow_policy.tool_overrides", "{a: ask}", "{}"),
    ("tool_policy.destructive", "approve", "deny"),
    ("tool_policy.contradiction", "warn", "deny"),
    ("tool_policy.log_level", "error", "debug"),
    ("risk_assessment.enabled", "false", "true"),
    ("risk_assessment.auto_flag_threshold", "71", "10"),
    ("risk_assessment.require_approval_threshold", "86", "84"),
    ("exfiltration.max_external_calls_per_minute", "11", "9"),
    ("exfiltration.max_pii_external_sends", "4", "0"),
    ("exfiltration.max_data_volume_bytes", "1048577", "1"),
    ("exfiltration.window_minutes", "4", "6"),
    ("exfiltration.action", "allow", "deny"),
    ("alerts.exfiltration_detection", "false", "true"),
    ("alerts.pii_exposure", "false", "true"),
    ("alerts.webhook_url", "https://example.com", ""),
    (
        "alerts.signing_keys",
        "[a key of more than twenty-four bytes]",
        "[]",
    ),
    ("alerts.syslog", "udp://localhost:514", "null"),
    ("tool_quarantine.enabled", "false", "true"),
    ("tool_quarantine.auto_quarantine_new_tools", "false", "true"),
    ("tool_quarantine.rug_pull_detection", "false", "true"),
    ("tool_quarantine.trust", "auto", "manual"),
    (
        "hooks",
        "[{id: rug-pull-detector, type: native, enabled: false}]",
        "[{id: rug-pull-detector, type: native}]",
    ),
    (
        "hooks",
        "[{id: tool-poisoning-detector, type: native, config: {strict_mode: false}}]",
        "[{id: tool-shadowing-detector, type: native, config: {namespace_isolation: true}}]",
    ),
    (
        "hooks",
        "[{id: rug-pull-detector, type: native, config: {baseline_store: 'file:other.db'}}]",
        "[{id: rug-pull-detector, type: native, config: {check_interval: 1m}}]",
    ),
    (
        "hooks",
        "[{id: tool-poisoning-detector, type: native, runs_on: [listing]}]",
        "[{id: tool-poisoning-detector, type: native, runs_on: [listing, response]}]",
    ),
    (
        "hooks",
        "[{id: tool-poisoning-detector, type: native, failure_mode: fail_open}]",
        "[{id: tool-poisoning-detector, type: native, failure_mode: fail_closed}]",
    ),
    ("detector.enabled", "false", "true"),
    ("detector.scan_requests", "false", "true"),
    ("detector.scan_responses", "false", "true"),
    ("detector.max_payload_size_kb", "1023", "1025"),
    ("detector.entropy_threshold", "4.6", "4.4"),
    ("detector.allowlist", "[{value: abc}]", "[]"),
    ("detector.categories", "{pii: false}", "{pii: true}"),
    ("pii_detection.enabled", "false", "true"),
    (
        "pii_detection.patterns",
        "[email]",
        "[email, ssn, credit_card, phone, api_key]",
    ),
    ("pii_detection.auto_redact_after_days", "31", "29"),
    ("agent_hooks.enabled", "false", "true"),
    ("audit_logging.destination", "https://example.com", ""),
    ("classification.default_unknown", "external", "internal"),
    ("classification.server_overrides", "{slack: internal}", "{}"),
    (
        "classification.server_overrides",
        "{github: external}",
        "{own: external}",
    ),
    (
        "classification.server_overrides",
        "{own: internal}",
        "{own: external}",
    ),
    (
        "classification.tool_overrides",
        "{'github:get': external}",
        "{'own:get': external}",
    ),
    (
        "classification.tool_overrides",
        "{'own:post': internal}",
        "{'own:post': external}",
    ),
    (
        "hooks",
        "[{id: a, type: webhook, url: 'https://example.com'}]",
        "[{id: rate-limiter, type: native}]",
    ),
    ("approvals.timeout", "0", "1m"),
];

/// Stricter than the defaults, so that the way back to them is milder.
const STRICT: [(&str, &str, &str); 11] = [
    ("flow_policy.lethal_trifecta", "deny", "ask"),
    ("flow_policy.tool_overrides", "{a: ask}", "{a: warn}"),
    ("tool_policy.read", "ask", "allow"),
    ("tool_policy.write", "deny", "ask"),
    ("risk_assessment.block_on_critical", "true", "false"),
    ("agent_hooks.fail_open", "false", "true"),
    ("approvals.mode", "queue", "off"),
    (
        "audit_logging",
        "{enabled: true, destination: 'https://example.com'}",
        "{enabled: false, destination: 'https://example.com'}",
    ),
    ("detector.sensitive_keywords", "[bluebird]", "[redbird]"),
    (
        "pii_detection.custom_patterns",
        "[{name: a, regex: b}]",
        "[]",
    ),
    ("hooks", "[{id: rate-limiter, type: native}]", "[]"),
];

fn section(key: &str, value: &str) -> String {
    let key = key
        .split('.')
        .fold(String::new(), |text, key| format!("{text}{{{key}: "));
    let closing = "}".repeat(key.matches('{').count());
    format!("security: {key}{value}{closing}\nmcpServers: {{own: {{command: x}}}}\n")
}

#[test]
fn every_key_can_be_tightened_and_none_loosened() {
    for (key, milder, strict) in KEYS {
        let world = World::new().project(&section(key, milder));
        let problems = world.problems();
        assert!(
            problems.contains(key.split('.').next().unwrap()),
            "{key}: {problems}"
        );
        let world = World::new().project(&section(key, strict));
        assert!(
            world.load().is_ok(),
            "{key}: {strict}: {}",
            world.problems()
        );
        // In the user's own file anything goes.
        if key != "approvals.timeout" {
            let world = World::new().user(&section(key, milder));
            assert!(
                world.load().is_ok(),
                "{key}: {milder}: {}",
                world.problems()
            );
        }
    }
}

#[test]
fn the_user_s_file_is_the_floor() {
    for (key, strict, milder) in STRICT {
        let user = || World::new().user(&section(key, strict));
        let problems = user().project(&section(key, milder)).problems();
        assert!(problems.contains("can only tighten"), "{key}: {problems}");
        let same = user().project(&section(key, strict));
        assert!(same.load().is_ok(), "{key}: {}", same.problems());
    }
    // What the user made milder, a project may take up as it is.
    let mild = section("tool_policy.destructive", "allow");
    assert!(World::new().user(&mild).project(&mild).load().is_ok());
}

#[test]
fn suspicious_endpoints_only_grow() {
    let hosts = |world: &World| {
        let flow_policy = world.load().unwrap().config.security.flow_policy;
        flow_policy.suspicious_endpoints
    };
    let own = section(
        "flow_policy.suspicious_endpoints",
        "[one.example, 'https://two.example/']",
    );
    let grown = hosts(&World::new().project(&own));
    assert_eq!(grown.len(), 7);
    assert!(grown.contains(&"webhook.site".to_owned()));
    let empty = section("flow_policy.suspicious_endpoints", "[]");
    assert_eq!(hosts(&World::new().user(&own).project(&empty)).len(), 2);
    assert_eq!(hosts(&World::new().user(&own)).len(), 2);
}

/// Whoever says one of these has the owner's key, or what was recorded.
#[test]
fn who_comes_in_and_who_learns_of_it_is_for_the_user_to_say() {
    let check = |key: &str, value: &str| {
        let text = format!("{key}: {value}\n");
        let problems = World::new().project(&text).problems();
        let expect = format!("{key}: a project's file cannot say");
        assert!(problems.contains(&expect), "{text}: {problems}");
        let both = World::new().user(&text).project(&text);
        assert!(both.load().is_ok(), "{text}: {}", both.problems());
    };
    check("api_key", "known-to-whoever-wrote-this");
    check("store", "postgres://h/d");
    check("telemetry", "{otlp_endpoint: 'https://collector.example'}");
    check("allowed_hosts", "[gate.example]");
    check("allowed_origins", "['https://page.example']");
    check("listen", "0.0.0.0:8080");
    let moved = World::new().project("data_dir: here\n").problems();
    assert!(
        moved.contains("data_dir: a project's file cannot say"),
        "{moved}"
    );
    // What a variable says is not the project's.
    let given = World::new()
        .project("log: {level: warn}\n")
        .variable("MCPPROXY_API_KEY", "known-to-the-one-who-starts-it");
    assert!(given.load().is_ok(), "{}", given.problems());
    assert!(World::new().project("listen: 127.0.0.1:1\n").load().is_ok());
}

#[test]
fn a_project_can_only_have_more_recorded() {
    let check = |user: &str, project: &str, expect: Option<&str>| {
        let section = |keys: &str| format!("activity: {{{keys}}}\n");
        let world = World::new().user(&section(user)).project(&section(project));
        match expect {
            None => assert!(world.load().is_ok(), "{project}: {}", world.problems()),
            Some(key) => {
                let expect = format!("activity.{key}: a project's file can only have more");
                let problems = world.problems();
                assert!(problems.contains(&expect), "{project}: {problems}");
            }
        }
    };
    check("", "enabled: false", Some("enabled"));
    check(
        "durability: strict",
        "durability: relaxed",
        Some("durability"),
    );
    check(
        "",
        "durability: strict, bodies: true, max_bytes: 100GB",
        None,
    );
    check("", "max_bytes: 1MB", Some("max_bytes"));
    check("", "max_records: 10", Some("max_records"));
    check("max_age_days: 30", "max_age_days: 1", Some("max_age_days"));
    check("max_age_days: 30", "max_age_days: 60", None);
}

/// A folder of the project's choice is the project's too.
#[test]
fn another_data_folder_is_no_way_round() {
    let mild = "security: {tool_policy: {destructive: allow}}\n";
    let strict = "security: {tool_policy: {read: ask}}\n";
    let moved = |world: &World| {
        let folder = world.folder.path().join("project/data");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mcpproxy.yaml"), mild).unwrap();
        let text = format!("data_dir: {}\n", folder.display());
        fs::write(world.folder.path().join("project/mcpproxy.yaml"), text).unwrap();
    };
    let world = World::new().user(strict);
    moved(&world);
    let problems = world.problems();
    assert!(problems.contains("tool_policy.destructive"), "{problems}");
    assert!(problems.contains("tool_policy.read"), "{problems}");
}

#[test]
fn a_named_file_and_the_user_s_own_folder_are_no_project() {
    let mild = "security: {mode: shadow}\n";
    let mut world = World::new().project(mild);
    world.flags.config = Some(world.folder.path().join("project/mcpproxy.yaml"));
    assert!(world.load().is_ok());
    let mut world = World::new().project(mild);
    world.flags.data_dir = Some(world.folder.path().join("project"));
    assert!(world.load().is_ok());
}

#[test]
fn a_project_lets_nobody_in_without_a_credential() {
    let open = "require_auth: false\n";
    let oauth = "oauth: {issuer: 'https://id.example', audience: gate, jwks_url: 'https://id.example/keys'}\n";
    let callers = "tls: {certificate: /c, key: /k, callers: {roots: /r}}\n";
    for strict in ["require_auth: true\n", oauth, callers] {
        let problems = World::new().user(strict).project(open).problems();
        assert!(problems.contains("no credential"), "{problems}");
    }
    assert!(World::new().user(open).project(open).load().is_ok());
    assert!(World::new().project(open).load().is_ok());
}

/// Whoever names the authority says who comes in.
#[test]
fn a_project_says_nothing_about_certificates() {
    let tls =
        |roots: &str| format!("tls: {{certificate: /c, key: /k, callers: {{roots: {roots}}}}}\n");
    let problems = World::new().project(&tls("/r")).problems();
    assert!(problems.contains("whose certificates"), "{problems}");
    let changed = World::new().user(&tls("/r")).project(&tls("/other"));
    assert!(changed.problems().contains("whose certificates"));
    let loaded = World::new().user(&tls("/r")).load().unwrap();
    let callers = loaded.config.gateway.tls.unwrap().callers.unwrap();
    assert_eq!(
        (callers.roots.to_str(), callers.required),
        (Some("/r"), false)
    );
}

/// Whoever names the issuer says who comes in.
#[test]
fn a_project_names_no_issuer() {
    let oauth = |audience: &str| {
        format!(
            "oauth: {{issuer: 'https://id.example', audience: {audience}, \
             jwks_url: 'https://id.example/keys'}}\n"
        )
    };
    let problems = World::new().project(&oauth("gate")).problems();
    assert!(problems.contains("whose access tokens"), "{problems}");
    let changed = World::new().user(&oauth("gate")).project(&oauth("other"));
    assert!(changed.problems().contains("whose access tokens"));
    let world = World::new().user(&oauth("gate"));
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.gateway.oauth.unwrap().audience, "gate");
    let wrong = World::new().user(&oauth("''")).problems();
    assert!(wrong.contains("oauth.audience"), "{wrong}");
}

#[test]
fn with_whom_live_state_is_shared_is_for_the_user_to_say() {
    let live = |url: &str, length: usize, more: &str| {
        let key = "k".repeat(length);
        format!("live: {{url: '{url}', key: {key}{more}}}\n")
    };
    let good = live("redis://127.0.0.1", 32, "");
    let problems = World::new().project(&good).problems();
    assert!(
        problems.contains("with whom live state is shared"),
        "{problems}"
    );
    let loaded = World::new().user(&good).load().unwrap();
    let settings = loaded.config.gateway.live.unwrap();
    assert_eq!(settings.timeout.to_string(), "1s");
    let check = |text: &str, expect: &str| {
        let wrong = World::new().user(text).problems();
        assert!(wrong.contains(expect), "{text}: {wrong}");
        assert!(!wrong.contains("kkkkk"), "{wrong}");
    };
    check(&live("redis://127.0.0.1", 31, ""), "live.key");
    check(&live("memcached://127.0.0.1", 32, ""), "live.url");
    check(&live("redis://h", 32, ", timeout: 0s"), "live.timeout");
    check(&live("redis://h", 32, ", timeout: 31s"), "live.timeout");
    check(&live("redis://h", 32, ", on_loss: open"), "on_loss");
    check("live: {url: 'redis://h'}\n", "key");
}

#[test]
fn receipts_can_be_switched_on_and_nothing_taken_from_them() {
    let check = |user: &str, project: &str, expect: Option<&str>| {
        let world = World::new().user(user).project(project);
        match expect {
            None => assert!(world.load().is_ok(), "{project}: {}", world.problems()),
            Some(key) => {
                let problems = world.problems();
                let found = problems.contains(&format!("receipts.{key}: a project's file"));
                assert!(found, "{project}: {problems}");
            }
        }
    };
    let strict = "receipts: {enabled: true, durability: strict}";
    check("", "receipts: enabled", None);
    check("receipts: enabled", strict, None);
    check("receipts: enabled", "receipts: disabled", Some("enabled"));
    check(
        strict,
        "receipts: {durability: relaxed}",
        Some("durability"),
    );
    check("", "receipts: {audit_dir: here}", Some("audit_dir"));
    check("", "receipts: {store_args: true}", Some("store_args"));
    check(strict, "receipts: {pack_interval: 5m}", None);
}
