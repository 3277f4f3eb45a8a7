//! What no single key can tell: keys that need or exclude each other, values within their range.

mod security;
mod tighten;

use std::net::{IpAddr, SocketAddr};

use mcpproxy_core::Secret;
use mcpproxy_gateway::settings::{RoutingMode, Settings};
use mcpproxy_upstream::settings::{UpstreamSettings, check_name};

use crate::config::Config;
use crate::node::{Node, Place};
use crate::path::{Path, Segment};
use crate::report::Report;
use crate::security::SecuritySettings;
use crate::source::Texts;

/// Adds everything that is wrong with a configuration whose keys and types are right.
pub(crate) fn check(config: &Config, root: &Node, texts: &Texts, report: &mut Report) {
    let mut checker = Checker {
        root,
        base: Path::default(),
        texts,
        report,
    };
    checker.listen(&config.gateway);
    checker.gateway(&config.gateway);
    checker.limits(&config.gateway);
    checker.oauth(&config.gateway);
    checker.live(&config.gateway);
    for (name, settings) in &config.upstreams {
        checker.upstream(name, settings);
    }
    checker.routing(config);
    checker.security(&config.security);
}

/// Adds what is wrong with a `security` section that stands in no configuration.
pub(crate) fn check_security(
    settings: &SecuritySettings,
    root: &Node,
    texts: &Texts,
    report: &mut Report,
) {
    Checker {
        root,
        base: Path::default(),
        texts,
        report,
    }
    .security(settings);
}

/// Adds what a project's file made milder: `floor` is the configuration without it.
pub(crate) fn check_tighter(
    floor: &Config,
    config: &Config,
    root: &Node,
    texts: &Texts,
    report: &mut Report,
) {
    let brings =
        |name: &str| config.upstreams.contains_key(name) && !floor.upstreams.contains_key(name);
    let mut checker = Checker {
        root,
        base: Path::default(),
        texts,
        report,
    };
    checker.same_owner(&floor.gateway, &config.gateway);
    checker.tighter(&floor.security, &config.security, &brings);
    checker.more_recorded(&floor.gateway.activity, &config.gateway.activity);
    checker.same_receipts(&floor.gateway.receipts, &config.gateway.receipts);
}

/// Adds what is wrong with one upstream that stands in no file.
pub(crate) fn check_upstream(name: &str, settings: &UpstreamSettings, report: &mut Report) {
    let root = Node::empty_map();
    let texts = Texts::default();
    Checker {
        root: &root,
        base: Path::default(),
        texts: &texts,
        report,
    }
    .upstream(name, settings);
}

/// Where mistakes are looked up and put.
struct Checker<'a> {
    root: &'a Node,
    base: Path,
    texts: &'a Texts,
    report: &'a mut Report,
}

impl Checker<'_> {
    /// Reports a mistake about the value at `path`, unless something in it is reported already.
    fn wrong(&mut self, path: &Path, message: impl Into<String>, hint: Option<&str>) {
        if self.report.touches(path) {
            return;
        }
        let place = self.place(path.segments());
        self.report
            .add(self.texts, path, place, message, hint.map(str::to_owned));
    }

    /// Returns the items of a list with their numbers; none where an item could not be read, since
    /// the numbers of the others would be wrong.
    fn complete<'b, T>(
        &self,
        path: &Path,
        items: &'b [T],
    ) -> impl Iterator<Item = (usize, &'b T)> + use<'b, T> {
        let items = if self.report.touches(path) {
            &[]
        } else {
            items
        };
        items.iter().enumerate()
    }

    /// Returns the place of a value, or of the nearest one around it where it is a default.
    fn place(&self, path: &[Segment]) -> Place {
        self.root
            .place_of(path)
            .unwrap_or_else(|| match path.split_last() {
                Some((_, outer)) => self.place(outer),
                None => Place::Nowhere,
            })
    }

    fn listen(&mut self, settings: &Settings) {
        let path = self.base.key("listen");
        let Some(loopback) = is_loopback(&settings.listen) else {
            let message = "expected an address and a port";
            return self.wrong(&path, message, Some("for example `127.0.0.1:8080`"));
        };
        if !loopback && settings.require_auth == Some(false) {
            let path = self.base.key("require_auth");
            let message = "`listen` is not a loopback address, so anyone on the network could call";
            self.wrong(
                &path,
                message,
                Some("listen on `127.0.0.1`, or leave `require_auth` out"),
            );
        }
    }

    fn gateway(&mut self, settings: &Settings) {
        let store = settings.store.as_ref().map(Secret::expose);
        let known = |url: &str| {
            ["postgres://", "postgresql://"]
                .iter()
                .any(|one| url.starts_with(one))
        };
        if store.is_some_and(|url| !known(url)) {
            let hint = Some("leave it out to use SQLite in the data folder");
            let message = "must be an address such as `postgres://user:password@host/database`";
            self.wrong(&self.base.key("store"), message, hint);
        }
        if let Some(key) = &settings.api_key {
            let path = self.base.key("api_key");
            if key.expose().is_empty() {
                self.wrong(
                    &path,
                    "the key is empty",
                    Some("leave it out to have one made"),
                );
            } else if !key.expose().bytes().all(|b| b.is_ascii_graphic()) {
                let message = "the key has characters that cannot stand in a header";
                self.wrong(
                    &path,
                    message,
                    Some("use letters, digits and ASCII punctuation"),
                );
            }
        }
        if settings.data_dir.as_os_str().is_empty() {
            self.wrong(&self.base.key("data_dir"), "the folder is empty", None);
        }
        let hosts = self.base.key("allowed_hosts");
        for (index, host) in self.complete(&hosts, &settings.allowed_hosts) {
            if host.is_empty() || host.contains(|c: char| c == '/' || c.is_whitespace()) {
                self.wrong(
                    &hosts.index(index),
                    format!("`{host}` is no host name"),
                    None,
                );
            }
        }
        let origins = self.base.key("allowed_origins");
        for (index, origin) in self.complete(&origins, &settings.allowed_origins) {
            if !is_origin(origin) {
                let hint = Some("for example `https://example.com`, without a path");
                self.wrong(
                    &origins.index(index),
                    format!("`{origin}` is no origin"),
                    hint,
                );
            }
        }
    }

    fn oauth(&mut self, settings: &Settings) {
        let base = Path::of(["oauth"]);
        // What follows from a mistake in the same section would only confuse.
        let Some(oauth) = settings
            .oauth
            .as_ref()
            .filter(|_| !self.report.touches(&base))
        else {
            return;
        };
        for (key, message) in oauth.check() {
            self.wrong(&base.key(key), message, None);
        }
    }

    fn live(&mut self, settings: &Settings) {
        let base = Path::of(["live"]);
        let live = settings.live.as_ref();
        let Some(live) = live.filter(|_| !self.report.touches(&base)) else {
            return;
        };
        for (key, message) in live.check() {
            self.wrong(&base.key(key), message, None);
        }
    }

    fn limits(&mut self, settings: &Settings) {
        let limits = &settings.limits;
        let zero = [
            ("body_bytes", limits.body_bytes.bytes() == 0),
            ("response_bytes", limits.response_bytes.bytes() == 0),
            ("header_bytes", limits.header_bytes.bytes() == 0),
            ("nesting", limits.nesting == 0),
            ("connections", limits.connections == 0),
            ("sessions", limits.sessions == 0),
            ("session_idle", limits.session_idle.is_zero()),
            ("header_timeout", limits.header_timeout.is_zero()),
            ("body_timeout", limits.body_timeout.is_zero()),
            ("write_timeout", limits.write_timeout.is_zero()),
            ("call_timeout", limits.call_timeout.is_zero()),
            ("calls_in_flight", limits.calls_in_flight == 0),
            ("calls_per_caller", limits.calls_per_caller == 0),
            ("pending_input", limits.pending_input.is_zero()),
        ];
        for (key, _) in zero.into_iter().filter(|(_, zero)| *zero) {
            self.wrong(
                &Path::of(["limits", key]),
                "must be greater than zero",
                None,
            );
        }
        let receipts = &settings.receipts;
        if receipts.store_args && !receipts.store_fields.is_empty() {
            let hint = Some("keep one of them");
            let message = "`store_args` keeps all members already";
            self.wrong(&Path::of(["receipts", "store_fields"]), message, hint);
        }
        let pepper = receipts.hash_pepper.as_ref().map(Secret::expose);
        if pepper.is_some_and(|pepper| pepper.trim().is_empty()) {
            let path = Path::of(["receipts", "hash_pepper"]);
            self.wrong(&path, "the key is empty", None);
        }
        let activity = &settings.activity;
        for (key, zero) in [
            ("max_bytes", activity.max_bytes.bytes() == 0),
            ("max_records", activity.max_records == Some(0)),
            ("max_age_days", activity.max_age_days == Some(0)),
        ] {
            if zero {
                let hint = Some("use `enabled: false` to keep no log");
                let path = Path::of(["activity", key]);
                self.wrong(&path, "must be greater than zero", hint);
            }
        }
    }

    fn upstream(&mut self, name: &str, settings: &UpstreamSettings) {
        let path = Path::of(["mcpServers", name]);
        if let Err(message) = check_name(name) {
            self.wrong(&path, message, None);
        }
        // What follows from a mistake in the same upstream would only confuse.
        if self.report.touches(&path) {
            return;
        }
        for fault in settings.check() {
            let keys = fault.key.split('.').filter(|key| !key.is_empty());
            let path = path.join(keys.map(|key| Segment::Key(key.to_owned())));
            self.wrong(&path, fault.message, fault.hint);
        }
    }

    fn routing(&mut self, config: &Config) {
        let enabled = config
            .upstreams
            .values()
            .filter(|upstream| upstream.enabled)
            .count();
        let broken = self.report.touches(&Path::of(["mcpServers"]));
        if config.gateway.routing_mode == RoutingMode::Single && enabled != 1 && !broken {
            let message =
                format!("`single` needs exactly one enabled upstream, and there are {enabled}");
            self.wrong(&Path::of(["routing_mode"]), message, None);
        }
    }
}

/// Tells whether an address to listen on is loopback; `None` where it is no address with a port.
fn is_loopback(listen: &str) -> Option<bool> {
    if let Ok(address) = listen.parse::<SocketAddr>() {
        return Some(address.ip().is_loopback());
    }
    let (host, port) = listen.rsplit_once(':')?;
    let port: Result<u16, _> = port.parse();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    // What looks like an IP address and was not read as one above is a mistake, not a name.
    let named = !host.is_empty() && host.chars().all(plain) && host.parse::<IpAddr>().is_err();
    let digits = host.chars().all(|c| c.is_ascii_digit() || c == '.');
    (port.is_ok() && named && !digits).then(|| host.eq_ignore_ascii_case("localhost"))
}

/// RFC 6454, 6.2: scheme, host and port, nothing behind.
fn is_origin(origin: &str) -> bool {
    let Some((scheme, host)) = origin.split_once("://") else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let odd = |c: char| matches!(c, '/' | '?' | '#' | '@') || c.is_whitespace() || c.is_control();
    !scheme.is_empty() && scheme.chars().all(plain) && !host.is_empty() && !host.contains(odd)
}
