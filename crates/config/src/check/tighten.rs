//! Under `security` a project's file can only tighten: who clones a repository, or lets an agent
//! write into one, has not thereby switched off the firewall.

use mcpproxy_classify::Kind;
use mcpproxy_core::Action;
use mcpproxy_flow::Scope;
use mcpproxy_gateway::settings::{
    ActivitySettings, Durability, ReceiptSettings, Settings, TelemetrySettings,
};

use super::{Checker, is_loopback};
use crate::path::{Path, Segment};
use crate::security::{ApprovalMode, HookKind, SecuritySettings, guards};

const MILDER: &str =
    "a project's file can only tighten `security`, and this is milder than without";
const REMEDY: Option<&str> = Some("put it in the user's file, or name this file with `--config`");

/// A key, and whether it says less than it does without the project's file.
type Line = (&'static str, bool);

impl Checker<'_> {
    /// Adds what the project's file made milder. `floor` is the section without it; `brings` tells
    /// which upstreams only the project knows.
    pub(crate) fn tighter(
        &mut self,
        floor: &SecuritySettings,
        given: &SecuritySettings,
        brings: &dyn Fn(&str) -> bool,
    ) {
        let lines = [
            switches(floor, given),
            actions(floor, given),
            numbers(floor, given),
            lists(floor, given),
            addresses(floor, given),
        ];
        for (key, _) in lines.concat().iter().filter(|(_, milder)| *milder) {
            let keys = key.split('.').map(|key| Segment::Key(key.to_owned()));
            self.wrong(&Path::of(["security"]).join(keys), MILDER, REMEDY);
        }
        self.tool_overrides(floor, given);
        self.classes(floor, given, brings);
        self.kept_hooks(floor, given);
    }

    /// Who comes in, and who learns of what went on, is for the user alone to say: whoever says it holds
    /// the owner's key.
    pub(crate) fn same_owner(&mut self, floor: &Settings, given: &Settings) {
        let required = floor.require_auth.unwrap_or(floor.asks_who());
        let reached = |settings: &Settings| is_loopback(&settings.listen) == Some(false);
        let to = |settings: &Settings| {
            let TelemetrySettings {
                otlp_endpoint,
                headers,
                ..
            } = settings.telemetry.clone();
            (otlp_endpoint, headers)
        };
        let lines = [
            (
                "oauth",
                floor.oauth != given.oauth,
                "whose access tokens are taken",
            ),
            (
                "tls",
                floor.tls != given.tls,
                "whose certificates are shown and taken",
            ),
            (
                "live",
                floor.live != given.live,
                "with whom live state is shared",
            ),
            (
                "api_key",
                floor.api_key != given.api_key,
                "which key is the owner's",
            ),
            (
                "data_dir",
                floor.data_dir != given.data_dir,
                "where the owner's key and records lie",
            ),
            (
                "store",
                floor.store != given.store,
                "where records are kept",
            ),
            (
                "telemetry",
                to(floor) != to(given),
                "where traces and metrics go",
            ),
            (
                "listen",
                !reached(floor) && reached(given),
                "that the network can reach the gateway",
            ),
            (
                "allowed_hosts",
                lost(&given.allowed_hosts, &floor.allowed_hosts),
                "under which other names the gateway is called",
            ),
            (
                "allowed_origins",
                lost(&given.allowed_origins, &floor.allowed_origins),
                "which web pages may call",
            ),
        ];
        for (key, _, what) in lines.iter().filter(|(_, differs, _)| *differs) {
            let message = format!("a project's file cannot say {what}");
            self.wrong(&Path::of([*key]), message, REMEDY);
        }
        if required && given.require_auth == Some(false) {
            let message = "a project's file cannot let in who shows no credential";
            self.wrong(&Path::of(["require_auth"]), message, REMEDY);
        }
    }

    /// The record is the user's: a project may have more of it, and for longer.
    pub(crate) fn more_recorded(&mut self, floor: &ActivitySettings, given: &ActivitySettings) {
        let relaxed = |settings: &ActivitySettings| settings.durability == Durability::Relaxed;
        let fewer = |below: Option<u64>, above: Option<u64>| {
            above.unwrap_or(u64::MAX) < below.unwrap_or(u64::MAX)
        };
        let days = |settings: &ActivitySettings| settings.max_age_days.map(u64::from);
        let lines = [
            ("enabled", floor.enabled && !given.enabled),
            ("durability", !relaxed(floor) && relaxed(given)),
            ("on_failure", floor.on_failure != given.on_failure),
            ("max_bytes", given.max_bytes < floor.max_bytes),
            ("max_records", fewer(floor.max_records, given.max_records)),
            ("max_age_days", fewer(days(floor), days(given))),
        ];
        for (key, _) in lines.iter().filter(|(_, less)| *less) {
            let message = "a project's file can only have more recorded, and for longer";
            self.wrong(&Path::of(["activity", key]), message, REMEDY);
        }
    }

    /// Evidence is the user's: a project may have it written and more durably, and nothing less.
    pub(crate) fn same_receipts(&mut self, floor: &ReceiptSettings, given: &ReceiptSettings) {
        let relaxed = |settings: &ReceiptSettings| settings.durability == Durability::Relaxed;
        let lines = [
            ("enabled", floor.enabled && !given.enabled),
            ("durability", !relaxed(floor) && relaxed(given)),
            ("audit_dir", floor.audit_dir != given.audit_dir),
            ("keys_dir", floor.keys_dir != given.keys_dir),
            ("store_args", floor.store_args != given.store_args),
            ("store_fields", floor.store_fields != given.store_fields),
            ("store_results", floor.store_results != given.store_results),
            ("hash_pepper", floor.hash_pepper != given.hash_pepper),
        ];
        for (key, _) in lines.iter().filter(|(_, differs)| *differs) {
            let message = "a project's file can only switch `receipts` on or make them strict";
            self.wrong(&Path::of(["receipts", key]), message, REMEDY);
        }
    }

    /// An override of a tool replaces what the flow would lead to, so that a new one tightens only
    /// where it denies.
    fn tool_overrides(&mut self, floor: &SecuritySettings, given: &SecuritySettings) {
        let base = Path::of(["security", "flow_policy", "tool_overrides"]);
        let below = &floor.flow_policy.tool_overrides;
        for (tool, action) in &given.flow_policy.tool_overrides {
            if action < below.get(tool).unwrap_or(&Action::Deny) {
                self.wrong(&base.key(tool), MILDER, REMEDY);
            }
        }
    }

    /// Any other class can be milder, for what is read there or for what is sent there. Of the upstreams
    /// that it brings a project may say that they are outside: what goes there has left.
    fn classes(
        &mut self,
        floor: &SecuritySettings,
        given: &SecuritySettings,
        brings: &dyn Fn(&str) -> bool,
    ) {
        let base = Path::of(["security", "classification"]);
        let (below, above) = (&floor.classification, &given.classification);
        if above.default_unknown != below.default_unknown && above.default_unknown != Kind::Internal
        {
            self.wrong(&base.key("default_unknown"), MILDER, REMEDY);
        }
        for (upstream, class) in &above.server_overrides {
            let stricter = *class == Kind::External && brings(upstream);
            if below.server_overrides.get(upstream) != Some(class) && !stricter {
                let path = base.key("server_overrides").key(upstream);
                self.wrong(&path, MILDER, REMEDY);
            }
        }
        for (tool, class) in &above.tool_overrides {
            let upstream = tool.split(':').next().unwrap_or_default();
            let stricter = *class == Kind::External && brings(upstream);
            if below.tool_overrides.get(tool) != Some(class) && !stricter {
                let path = base.key("tool_overrides").key(tool);
                self.wrong(&path, MILDER, REMEDY);
            }
        }
    }

    /// A hook that is there stays as it is; a new one must not carry calls to an address.
    fn kept_hooks(&mut self, floor: &SecuritySettings, given: &SecuritySettings) {
        let kept = floor.hooks.iter().all(|hook| given.hooks.contains(hook));
        let harmless = |hook: &crate::security::HookSettings| match hook.kind {
            HookKind::Native => floor.hooks.contains(hook) || guards::tightens(hook),
            HookKind::ExternalGrpc | HookKind::Webhook | HookKind::Wasm => {
                floor.hooks.contains(hook)
            }
        };
        if !kept || !given.hooks.iter().all(harmless) {
            self.wrong(&Path::of(["security", "hooks"]), MILDER, REMEDY);
        }
    }
}

fn switches(floor: &SecuritySettings, given: &SecuritySettings) -> Vec<Line> {
    let off = |below: bool, above: bool| below && !above;
    let (f, g) = (floor, given);
    let (risk, set_risk) = (&f.risk_assessment, &g.risk_assessment);
    let (keep, set_keep) = (&f.tool_quarantine, &g.tool_quarantine);
    let (alerts, set_alerts) = (&f.alerts, &g.alerts);
    let (scan, set_scan) = (&f.detector, &g.detector);
    vec![
        ("enabled", off(f.enabled, g.enabled)),
        (
            "flow_tracking.enabled",
            off(f.flow_tracking.enabled, g.flow_tracking.enabled),
        ),
        // What was read in one session is a secret in the next one, too.
        (
            "flow_tracking.scope",
            f.flow_tracking.scope != g.flow_tracking.scope
                && g.flow_tracking.scope == Scope::Session,
        ),
        (
            "flow_policy.require_justification",
            off(
                f.flow_policy.require_justification,
                g.flow_policy.require_justification,
            ),
        ),
        (
            "risk_assessment.enabled",
            off(risk.enabled, set_risk.enabled),
        ),
        (
            "risk_assessment.block_on_critical",
            off(risk.block_on_critical, set_risk.block_on_critical),
        ),
        (
            "tool_quarantine.enabled",
            off(keep.enabled, set_keep.enabled),
        ),
        (
            "tool_quarantine.auto_quarantine_new_tools",
            off(
                keep.auto_quarantine_new_tools,
                set_keep.auto_quarantine_new_tools,
            ),
        ),
        (
            "tool_quarantine.rug_pull_detection",
            off(keep.rug_pull_detection, set_keep.rug_pull_detection),
        ),
        ("tool_quarantine.trust", set_keep.trust < keep.trust),
        (
            "alerts.exfiltration_detection",
            off(
                alerts.exfiltration_detection,
                set_alerts.exfiltration_detection,
            ),
        ),
        (
            "alerts.pii_exposure",
            off(alerts.pii_exposure, set_alerts.pii_exposure),
        ),
        (
            "pii_detection.enabled",
            off(f.pii_detection.enabled, g.pii_detection.enabled),
        ),
        ("detector.enabled", off(scan.enabled, set_scan.enabled)),
        (
            "detector.scan_requests",
            off(scan.scan_requests, set_scan.scan_requests),
        ),
        (
            "detector.scan_responses",
            off(scan.scan_responses, set_scan.scan_responses),
        ),
        (
            "agent_hooks.enabled",
            off(f.agent_hooks.enabled, g.agent_hooks.enabled),
        ),
        // To go on without us is what weakens here.
        (
            "agent_hooks.fail_open",
            off(g.agent_hooks.fail_open, f.agent_hooks.fail_open),
        ),
        (
            "audit_logging.enabled",
            off(f.audit_logging.enabled, g.audit_logging.enabled),
        ),
    ]
}

fn actions(floor: &SecuritySettings, given: &SecuritySettings) -> Vec<Line> {
    let (flow, set_flow) = (&floor.flow_policy, &given.flow_policy);
    let (tools, set_tools) = (&floor.tool_policy, &given.tool_policy);
    let queue = ApprovalMode::Queue;
    vec![
        (
            "mode",
            floor.mode != given.mode && given.mode == mcpproxy_policy::settings::Mode::Shadow,
        ),
        (
            "flow_policy.internal_to_external",
            set_flow.internal_to_external < flow.internal_to_external,
        ),
        (
            "flow_policy.sensitive_data_external",
            set_flow.sensitive_data_external < flow.sensitive_data_external,
        ),
        (
            "flow_policy.lethal_trifecta",
            set_flow.lethal_trifecta < flow.lethal_trifecta,
        ),
        ("tool_policy.read", set_tools.read < tools.read),
        ("tool_policy.write", set_tools.write < tools.write),
        (
            "tool_policy.destructive",
            set_tools.destructive < tools.destructive,
        ),
        (
            "tool_policy.contradiction",
            set_tools.contradiction < tools.contradiction,
        ),
        (
            "tool_policy.log_level",
            set_tools.log_level < tools.log_level,
        ),
        (
            "exfiltration.action",
            given.exfiltration.action < floor.exfiltration.action,
        ),
        (
            "approvals.mode",
            floor.approvals.mode == queue && given.approvals.mode != queue,
        ),
    ]
}

fn numbers(floor: &SecuritySettings, given: &SecuritySettings) -> Vec<Line> {
    let (risk, set_risk) = (&floor.risk_assessment, &given.risk_assessment);
    let (out, set_out) = (&floor.exfiltration, &given.exfiltration);
    let (track, set_track) = (&floor.flow_tracking, &given.flow_tracking);
    let (scan, set_scan) = (&floor.detector, &given.detector);
    let days = |days: Option<u32>| days.unwrap_or(u32::MAX);
    vec![
        (
            "risk_assessment.auto_flag_threshold",
            set_risk.auto_flag_threshold > risk.auto_flag_threshold,
        ),
        (
            "risk_assessment.require_approval_threshold",
            set_risk.require_approval_threshold > risk.require_approval_threshold,
        ),
        (
            "exfiltration.max_external_calls_per_minute",
            set_out.max_external_calls_per_minute > out.max_external_calls_per_minute,
        ),
        (
            "exfiltration.max_pii_external_sends",
            set_out.max_pii_external_sends > out.max_pii_external_sends,
        ),
        (
            "exfiltration.max_data_volume_bytes",
            set_out.max_data_volume_bytes > out.max_data_volume_bytes,
        ),
        (
            "exfiltration.window_minutes",
            set_out.window_minutes < out.window_minutes,
        ),
        (
            "flow_tracking.session_timeout_minutes",
            set_track.session_timeout_minutes < track.session_timeout_minutes,
        ),
        (
            "flow_tracking.max_origins_per_session",
            set_track.max_origins_per_session < track.max_origins_per_session,
        ),
        (
            "flow_tracking.hash_min_length",
            set_track.hash_min_length > track.hash_min_length,
        ),
        (
            "flow_tracking.max_response_hash_bytes",
            set_track.max_response_hash_bytes < track.max_response_hash_bytes,
        ),
        (
            "detector.max_payload_size_kb",
            set_scan.max_payload_size_kb < scan.max_payload_size_kb,
        ),
        (
            "detector.entropy_threshold",
            set_scan.entropy_threshold > scan.entropy_threshold,
        ),
        (
            "pii_detection.auto_redact_after_days",
            days(given.pii_detection.auto_redact_after_days)
                > days(floor.pii_detection.auto_redact_after_days),
        ),
    ]
}

/// What is looked for can only grow, what is let through can only shrink.
fn lists(floor: &SecuritySettings, given: &SecuritySettings) -> Vec<Line> {
    let (scan, set_scan) = (&floor.detector, &given.detector);
    let (pii, set_pii) = (&floor.pii_detection, &given.pii_detection);
    let is_on = |below| scan.categories.get(below).copied().unwrap_or(true);
    let mut set = set_scan.categories.iter();
    vec![
        (
            "flow_policy.suspicious_endpoints",
            lost(
                &floor.flow_policy.suspicious_endpoints,
                &given.flow_policy.suspicious_endpoints,
            ),
        ),
        (
            "detector.custom_patterns",
            lost(&scan.custom_patterns, &set_scan.custom_patterns),
        ),
        (
            "detector.sensitive_keywords",
            lost(&scan.sensitive_keywords, &set_scan.sensitive_keywords),
        ),
        (
            "detector.allowlist",
            lost(&set_scan.allowlist, &scan.allowlist),
        ),
        (
            "detector.categories",
            set.any(|(category, on)| is_on(category) && !on),
        ),
        (
            "pii_detection.patterns",
            lost(&pii.patterns, &set_pii.patterns),
        ),
        (
            "pii_detection.custom_patterns",
            lost(&pii.custom_patterns, &set_pii.custom_patterns),
        ),
    ]
}

/// Where findings are sent is for the user alone to say: they hold what was found.
fn addresses(floor: &SecuritySettings, given: &SecuritySettings) -> Vec<Line> {
    vec![
        (
            "alerts.webhook_url",
            floor.alerts.webhook_url != given.alerts.webhook_url,
        ),
        (
            "alerts.signing_keys",
            floor.alerts.signing_keys != given.alerts.signing_keys,
        ),
        ("alerts.syslog", floor.alerts.syslog != given.alerts.syslog),
        (
            "audit_logging.destination",
            floor.audit_logging.destination != given.audit_logging.destination,
        ),
    ]
}

fn lost<T: PartialEq>(below: &[T], above: &[T]) -> bool {
    !below.iter().all(|item| above.contains(item))
}
