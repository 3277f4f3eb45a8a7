//! Checks of the `security` section.

use std::collections::BTreeSet;

use mcpproxy_detect::settings::{Settings as Detector, Step};
use mcpproxy_policy::settings::RiskAssessment;
use mcpproxy_upstream::settings::Span;

use super::Checker;
use crate::path::{Path, Segment};
use crate::security::{HookKind, HookSettings, PiiDetection, SecuritySettings, guards};

impl Checker<'_> {
    pub(super) fn security(&mut self, settings: &SecuritySettings) {
        let base = Path::of(["security"]);
        if !is_header(&settings.correlation_id_header) {
            let path = base.key("correlation_id_header");
            let message = format!(
                "`{}` is no name for a header",
                settings.correlation_id_header
            );
            self.wrong(&path, message, None);
        }
        self.flow(settings);
        self.patterns(
            &settings.pii_detection,
            &base.key("pii_detection").key("custom_patterns"),
        );
        self.detector(&settings.detector, &base.key("detector"));
        self.risk(&settings.risk_assessment, &base.key("risk_assessment"));
        if let Some(url) = &settings.alerts.webhook_url
            && !has_scheme(url.expose(), &["http", "https"])
        {
            let path = base.key("alerts").key("webhook_url");
            self.wrong(&path, "the address has no scheme `http` or `https`", None);
        }
        if let Some(place) = &settings.alerts.syslog
            && !has_scheme(place, &["udp", "unix"])
        {
            let path = base.key("alerts").key("syslog");
            self.wrong(&path, "the place has no scheme `udp` or `unix`", None);
        }
        let audit = &settings.audit_logging;
        if audit.enabled && audit.destination.is_none() {
            let message = "is switched on and has no `destination`, so that nobody would be told";
            self.wrong(&base.key("audit_logging"), message, None);
        }
        if let Some(place) = &audit.destination
            && !has_scheme(place, &["grpc", "grpcs", "http", "https"])
        {
            let path = base.key("audit_logging").key("destination");
            let message = "the address has no scheme `grpc`, `grpcs`, `http` or `https`";
            self.wrong(&path, message, None);
        }
        self.hooks(settings, &base.key("hooks"));
    }

    fn flow(&mut self, settings: &SecuritySettings) {
        let tracking = &settings.flow_tracking;
        let zero = [
            (
                "session_timeout_minutes",
                tracking.session_timeout_minutes == 0,
            ),
            (
                "max_origins_per_session",
                tracking.max_origins_per_session == 0,
            ),
            ("hash_min_length", tracking.hash_min_length == 0),
            (
                "max_response_hash_bytes",
                tracking.max_response_hash_bytes == 0,
            ),
        ];
        for (key, _) in zero.into_iter().filter(|(_, zero)| *zero) {
            let path = Path::of(["security", "flow_tracking", key]);
            self.wrong(&path, "must be greater than zero", None);
        }
        if settings.exfiltration.window_minutes == 0 {
            let path = Path::of(["security", "exfiltration", "window_minutes"]);
            self.wrong(&path, "must be greater than zero", None);
        }
        if settings.approvals.timeout.is_zero() {
            let path = Path::of(["security", "approvals", "timeout"]);
            self.wrong(&path, "must be greater than zero", None);
        }
        let overrides = Path::of(["security", "flow_policy", "tool_overrides"]);
        for name in settings.flow_policy.tool_overrides.keys() {
            if name.is_empty() || name.contains(char::is_whitespace) {
                let hint = Some("for example `WebSearch` or `slack:post_message`");
                let message = format!("`{name}` is no name of a tool");
                self.wrong(&overrides.key(name), message, hint);
            }
        }
        let hosts = Path::of(["security", "flow_policy", "suspicious_endpoints"]);
        for (index, host) in self.complete(&hosts, &settings.flow_policy.suspicious_endpoints) {
            if !is_endpoint(host) {
                let message = format!("`{host}` is no host name or address");
                self.wrong(&hosts.index(index), message, None);
            }
        }
    }

    fn patterns(&mut self, settings: &PiiDetection, base: &Path) {
        let mut seen = BTreeSet::new();
        for (index, pattern) in self.complete(base, &settings.custom_patterns) {
            let path = base.index(index);
            if pattern.name.is_empty() || !seen.insert(pattern.name.as_str()) {
                let message = format!("the name `{}` is empty or taken", pattern.name);
                self.wrong(&path.key("name"), message, None);
            }
            if regex_syntax::parse(&pattern.regex).is_err() {
                let message = "this is no valid regular expression";
                self.wrong(&path.key("regex"), message, None);
            }
        }
    }

    fn detector(&mut self, settings: &Detector, base: &Path) {
        // What follows from a mistake in the same section would only confuse.
        if self.report.touches(base) {
            return;
        }
        for fault in settings.check() {
            let steps = fault.path.iter().map(|step| match step {
                Step::Key(key) => Segment::Key((*key).to_owned()),
                Step::Index(index) => Segment::Index(*index),
            });
            self.wrong(&base.join(steps), fault.message, fault.hint);
        }
    }

    fn risk(&mut self, settings: &RiskAssessment, base: &Path) {
        let (flag, approve) = (
            settings.auto_flag_threshold,
            settings.require_approval_threshold,
        );
        for (key, score) in [
            ("auto_flag_threshold", flag),
            ("require_approval_threshold", approve),
        ] {
            if score > 100 {
                self.wrong(&base.key(key), "a risk score is at most 100", None);
            }
        }
        if approve < flag && !self.report.touches(base) {
            let message = "calls would need approval before they are flagged";
            let hint = Some("make it at least `auto_flag_threshold`");
            self.wrong(&base.key("require_approval_threshold"), message, hint);
        }
    }

    fn hooks(&mut self, settings: &SecuritySettings, base: &Path) {
        let mut seen = BTreeSet::new();
        for (index, hook) in self.complete(base, &settings.hooks) {
            let path = base.index(index);
            if hook.id.is_empty() || !seen.insert(hook.id.as_str()) {
                let message = format!("the id `{}` is empty or taken", hook.id);
                self.wrong(&path.key("id"), message, None);
            }
            if !hook.id.chars().all(is_in_id) {
                let message = "an id is made of letters, digits, `-`, `_` and `.`";
                self.wrong(&path.key("id"), message, None);
            }
            if hook.kind != HookKind::Native && guards::is_on_by_itself(&hook.id) {
                let message = format!("`{}` is a guard that is on without being told", hook.id);
                let hint = Some("choose another id for a hook of your own");
                self.wrong(&path.key("id"), message, hint);
            }
            if hook.timeout.is_some_and(Span::is_zero) {
                self.wrong(&path.key("timeout"), "must be greater than zero", None);
            }
            if hook.runs_on.is_empty() {
                let hint = Some("use `enabled: false` to switch the hook off");
                self.wrong(&path.key("runs_on"), "the hook would never run", hint);
            }
            for (key, given) in [
                ("max_concurrency", hook.max_concurrency),
                ("rate", hook.rate),
            ] {
                if given == Some(0) {
                    self.wrong(&path.key(key), "must be greater than zero", None);
                }
            }
            if let Some(message) = hook.problem() {
                self.wrong(&path.key("config"), message, None);
            }
            self.address(hook, &path);
            if let Err(message) = guards::check(hook) {
                self.wrong(&path.key("config"), message, None);
            }
            if let Some(message) = guards::unknown_type(hook, settings) {
                let hint = Some("`mcpproxy rules list` shows all types and categories");
                self.wrong(&path.key("config"), message, hint);
            }
        }
    }

    /// Each kind of hook has its own address and nothing of the others.
    fn address(&mut self, hook: &HookSettings, path: &Path) {
        let (kind, needs): (&str, &[&str]) = match hook.kind {
            HookKind::Native => ("native", &[]),
            HookKind::ExternalGrpc => ("external-grpc", &["endpoint", "protocol", "headers"]),
            HookKind::Webhook => ("webhook", &["url", "method", "headers"]),
            HookKind::Wasm => ("wasm", &["path"]),
        };
        // A guard runs to its end within the call, and sees what it is there for.
        let bounds: &[&str] = match hook.kind {
            HookKind::Native => &[],
            HookKind::ExternalGrpc | HookKind::Webhook | HookKind::Wasm => {
                &["timeout", "sees", "max_concurrency", "rate"]
            }
        };
        let given = [
            ("endpoint", hook.endpoint.is_some()),
            ("protocol", hook.protocol.is_some()),
            ("path", hook.path.is_some()),
            ("url", hook.url.is_some()),
            ("method", hook.method.is_some()),
            ("headers", !hook.headers.is_empty()),
            ("timeout", hook.timeout.is_some()),
            ("sees", hook.sees.is_some()),
            ("max_concurrency", hook.max_concurrency.is_some()),
            ("rate", hook.rate.is_some()),
        ];
        for (key, _) in given
            .iter()
            .filter(|(key, given)| *given && !needs.contains(key) && !bounds.contains(key))
        {
            let message = format!("has no effect on a hook of type `{kind}`");
            self.wrong(&path.key(key), message, None);
        }
        let (key, address, schemes): (_, _, &[&str]) = match hook.kind {
            HookKind::Native => return,
            HookKind::Wasm => {
                if hook.path.is_none() {
                    self.wrong(path, "a hook of type `wasm` needs `path`", None);
                }
                return;
            }
            HookKind::ExternalGrpc => (
                "endpoint",
                &hook.endpoint,
                &["grpc", "grpcs", "http", "https"],
            ),
            HookKind::Webhook => ("url", &hook.url, &["http", "https"]),
        };
        match address {
            None => self.wrong(path, format!("a hook of type `{kind}` needs `{key}`"), None),
            Some(address) if !has_scheme(address, schemes) => {
                let schemes: Vec<_> = schemes.iter().map(|s| format!("`{s}`")).collect();
                let message = format!("the address has no scheme {}", schemes.join(" or "));
                self.wrong(&path.key(key), message, None);
            }
            Some(_) => {}
        }
    }
}

fn is_in_id(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// A host, `*.host`, or a whole address; how it is spelled does not matter.
fn is_endpoint(text: &str) -> bool {
    let text = text.trim();
    let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = bare.split(['/', '?', '#']).next().unwrap_or_default();
    host.contains(char::is_alphanumeric) && !host.contains(char::is_whitespace)
}

fn has_scheme(address: &str, schemes: &[&str]) -> bool {
    address.split_once("://").is_some_and(|(scheme, rest)| {
        let known = schemes
            .iter()
            .any(|known| known.eq_ignore_ascii_case(scheme));
        known && !rest.is_empty() && !rest.contains(char::is_whitespace)
    })
}

/// RFC 9110, 5.6.2: a header's name is a token.
fn is_header(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}
