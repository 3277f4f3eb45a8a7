//! Every configuration block of the specifications loads as it is printed there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;
use std::time::Duration;

use insta::assert_snapshot;
use mcpproxy_config::{Flags, HookKind, Loaded, Origin, SecuritySettings, Sources, load, show};
use mcpproxy_hooks::FailureMode;

fn check(name: &str) -> Loaded {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    let environment = |name: &str| match name {
        "DLP_API_KEY" => Some("s3cret".to_owned()),
        "HOME" => Some("/home/user".to_owned()),
        _ => None,
    };
    let flags = Flags {
        config: Some(file),
        ..Flags::default()
    };
    load(&Sources::new(flags, &environment)).unwrap()
}

fn given(loaded: &Loaded) -> String {
    let rows = show(loaded, true).into_iter();
    let rows = rows.filter(|row| row.origin.as_ref() != Some(&Origin::Default));
    let lines: Vec<_> = rows
        .map(|row| format!("{} = {}", row.path, row.value))
        .collect();
    lines.join("\n")
}

fn notices(loaded: &Loaded) -> String {
    let lines: Vec<_> = loaded.notices.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn data_flow_security() {
    let loaded = check("spec-data-flow-security.json");
    assert_snapshot!(given(&loaded), @"
    security.agent_hooks.correlation_ttl_seconds = 5
    security.agent_hooks.enabled = true
    security.agent_hooks.fail_open = true
    security.classification.default_unknown = internal
    security.flow_policy.internal_to_external = ask
    security.flow_policy.require_justification = true
    security.flow_policy.sensitive_data_external = deny
    security.flow_policy.suspicious_endpoints = [webhook.site, requestbin.com, pipedream.net, hookbin.com, beeceptor.com]
    security.flow_tracking.enabled = true
    security.flow_tracking.hash_min_length = 20
    security.flow_tracking.max_origins_per_session = 10000
    security.flow_tracking.max_response_hash_bytes = 65536
    security.flow_tracking.session_timeout_minutes = 30
    ");
    assert_snapshot!(notices(&loaded), @"");
    // The block prints the defaults.
    assert_eq!(loaded.config.security, SecuritySettings::default());
}

#[test]
fn attack_detection() {
    let loaded = check("spec-attack-detection.json");
    assert_snapshot!(given(&loaded), @r"
    security.alerts.exfiltration_detection = true
    security.alerts.pii_exposure = true
    security.alerts.webhook_url = ***
    security.pii_detection.auto_redact_after_days = 30
    security.pii_detection.custom_patterns[0].name = employee_id
    security.pii_detection.custom_patterns[0].regex = EMP-\d{6}
    security.pii_detection.custom_patterns[0].severity = medium
    security.pii_detection.enabled = true
    security.pii_detection.patterns = [email, ssn, credit_card, phone, api_key]
    security.risk_assessment.auto_flag_threshold = 70
    security.risk_assessment.block_on_critical = false
    security.risk_assessment.enabled = true
    security.risk_assessment.require_approval_threshold = 85
    security.tool_policy.contradiction = deny
    security.tool_policy.destructive = deny
    security.tool_policy.read = allow
    security.tool_policy.write = allow
    security.tool_quarantine.auto_quarantine_new_tools = true
    security.tool_quarantine.enabled = true
    security.tool_quarantine.rug_pull_detection = true
    ");
    assert_snapshot!(notices(&loaded), @"");
}

#[test]
fn attack_detection_tool_policy() {
    let loaded = check("spec-attack-detection-tool-policy.json");
    assert_snapshot!(given(&loaded), @"
    security.tool_policy.contradiction = deny
    security.tool_policy.destructive = deny
    security.tool_policy.log_level = warn
    security.tool_policy.read = allow
    security.tool_policy.write = allow
    ");
    assert_snapshot!(notices(&loaded), @r"");
}

#[test]
fn security_hooks() {
    let loaded = check("spec-security-hooks.yaml");
    assert_snapshot!(given(&loaded), @"
    security.audit_logging.destination = grpc://audit-service:9001
    security.audit_logging.enabled = true
    security.correlation_id_header = X-Correlation-ID
    security.enabled = true
    security.hooks[0].config.strict_mode = true
    security.hooks[0].enabled = true
    security.hooks[0].failure_mode = fail_closed
    security.hooks[0].id = tool-poisoning-detector
    security.hooks[0].priority = 100
    security.hooks[0].runs_on = [response]
    security.hooks[0].type = native
    security.hooks[1].config.baseline_store = redis://localhost:6379/0
    security.hooks[1].config.check_interval = 60s
    security.hooks[1].enabled = true
    security.hooks[1].failure_mode = fail_closed
    security.hooks[1].id = rug-pull-detector
    security.hooks[1].priority = 101
    security.hooks[1].runs_on = [response]
    security.hooks[1].type = native
    security.hooks[2].config.namespace_isolation = true
    security.hooks[2].enabled = true
    security.hooks[2].failure_mode = fail_closed
    security.hooks[2].id = tool-shadowing-detector
    security.hooks[2].priority = 102
    security.hooks[2].runs_on = [response]
    security.hooks[2].type = native
    security.hooks[3].enabled = true
    security.hooks[3].endpoint = grpc://rbac-service:9000
    security.hooks[3].failure_mode = fail_closed
    security.hooks[3].id = rbac-enforcer
    security.hooks[3].priority = 200
    security.hooks[3].runs_on = [request]
    security.hooks[3].timeout = 100ms
    security.hooks[3].type = external-grpc
    security.hooks[4].config.check_request_body = true
    security.hooks[4].config.check_response_body = true
    security.hooks[4].config.max_body_size = 1MB
    security.hooks[4].enabled = true
    security.hooks[4].endpoint = grpc://content-filter:9001
    security.hooks[4].failure_mode = fail_closed
    security.hooks[4].id = content-filter
    security.hooks[4].priority = 201
    security.hooks[4].runs_on = [request, response]
    security.hooks[4].timeout = 150ms
    security.hooks[4].type = external-grpc
    security.hooks[5].enabled = true
    security.hooks[5].failure_mode = fail_open
    security.hooks[5].headers.Authorization = ***
    security.hooks[5].id = dlp-scanner
    security.hooks[5].method = POST
    security.hooks[5].priority = 300
    security.hooks[5].runs_on = [response]
    security.hooks[5].timeout = 200ms
    security.hooks[5].type = webhook
    security.hooks[5].url = https://dlp-service.internal/scan
    security.hooks[6].config.async = true
    security.hooks[6].enabled = true
    security.hooks[6].failure_mode = fail_open
    security.hooks[6].id = anomaly-detector
    security.hooks[6].method = POST
    security.hooks[6].priority = 301
    security.hooks[6].runs_on = [request, response]
    security.hooks[6].timeout = 500ms
    security.hooks[6].type = webhook
    security.hooks[6].url = https://ml-service.internal/analyze
    ");
    assert_snapshot!(notices(&loaded), @r"
    `security.hooks[3]` does not say what the hook `sees`: secrets and personal data are masked for it; a scanner that looks for them needs `secrets` in `sees`
    `security.hooks[4]` does not say what the hook `sees`: secrets and personal data are masked for it; a scanner that looks for them needs `secrets` in `sees`
    `security.hooks[5]` does not say what the hook `sees`: secrets and personal data are masked for it; a scanner that looks for them needs `secrets` in `sees`
    `security.hooks[6]` does not say what the hook `sees`: secrets and personal data are masked for it; a scanner that looks for them needs `secrets` in `sees`
    ");
    let hook = &loaded.config.security.hooks[5];
    assert_eq!(hook.headers["Authorization"].expose(), "Bearer s3cret");
    assert!(!format!("{loaded:?}").contains("s3cret"));
}

#[test]
fn the_printed_native_hooks_stand_where_they_are_printed() {
    let guards = check("spec-security-hooks.yaml").config.security.guards();
    for (id, priority) in [
        ("tool-poisoning-detector", 100),
        ("rug-pull-detector", 101),
        ("tool-shadowing-detector", 102),
    ] {
        let place = guards.places[id];
        assert_eq!(place.priority, Some(priority), "{id}");
        assert_eq!(place.failure_mode, FailureMode::Closed, "{id}");
        let phases = place.runs_on;
        assert!(phases.response && phases.listing && !phases.request, "{id}");
    }
    assert!(guards.poisoning.unwrap().strict_mode);
    let minute = Duration::from_mins(1);
    assert_eq!(guards.rug_pull.unwrap().check_interval, minute);
    assert!(guards.shadowing.unwrap().namespace_isolation);
}

#[test]
fn the_printed_services_are_asked_as_they_are_printed() {
    use FailureMode::{Closed, Open};
    use HookKind::{ExternalGrpc, Webhook};
    let full = check("spec-security-hooks.yaml").config.security.pipeline();
    let single = check("spec-security-hooks-grpc.yaml").config.security;
    let all: Vec<_> = full.into_iter().chain(single.pipeline()).collect();
    let found = |id: &str| {
        let hook = all.iter().find(|hook| hook.id == id).unwrap();
        let (limits, phases) = (hook.limits().unwrap(), hook.phases());
        (
            hook.kind,
            (phases.request, phases.response),
            limits.timeout.as_millis(),
            limits.failure_mode,
            limits.asynchronous,
        )
    };
    let (asks, answers, both) = ((true, false), (false, true), (true, true));
    for (id, expect) in [
        ("rbac-enforcer", (ExternalGrpc, asks, 100, Closed, false)),
        ("content-filter", (ExternalGrpc, both, 150, Closed, false)),
        ("dlp-scanner", (Webhook, answers, 200, Open, false)),
        ("anomaly-detector", (Webhook, both, 500, Open, true)),
        (
            "rbac-policy-service",
            (ExternalGrpc, asks, 100, Closed, false),
        ),
    ] {
        assert_eq!(found(id), expect, "{id}");
    }
    let order: Vec<_> = all.iter().map(|hook| (&*hook.id, hook.priority)).collect();
    let printed = [
        ("rbac-enforcer", 200),
        ("content-filter", 201),
        ("dlp-scanner", 300),
        ("anomaly-detector", 301),
    ];
    assert_eq!(order[..4], printed);
}

#[test]
fn security_hooks_patterns() {
    assert_snapshot!(given(&check("spec-security-hooks-grpc.yaml")), @"
    security.hooks[0].endpoint = grpc://rbac-service:9000
    security.hooks[0].failure_mode = fail_closed
    security.hooks[0].id = rbac-policy-service
    security.hooks[0].runs_on = [request]
    security.hooks[0].timeout = 100ms
    security.hooks[0].type = external-grpc
    ");
    assert_snapshot!(given(&check("spec-security-hooks-webhook.yaml")), @"
    security.hooks[0].failure_mode = fail_open
    security.hooks[0].headers.Authorization = ***
    security.hooks[0].id = dlp-scanner
    security.hooks[0].method = POST
    security.hooks[0].runs_on = [response]
    security.hooks[0].timeout = 200ms
    security.hooks[0].type = webhook
    security.hooks[0].url = https://dlp-service.internal/scan
    ");
}

#[test]
fn notary() {
    assert_snapshot!(given(&check("spec-notary-before.json")), @"
    mcpServers.my-server.args = [my_server.py]
    mcpServers.my-server.command = python
    ");
    assert_snapshot!(given(&check("spec-notary-after.json")), @"
    mcpServers.my-server.args = [mcp-proxy, --, python, my_server.py]
    mcpServers.my-server.command = assay
    ");
}
