//! What the native guards are told: the switches of the quarantine, and the entries of
//! `security.hooks` that have their ids.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use mcpproxy_core::{Phases, Trust};
use mcpproxy_detect::mask::is_value;
use mcpproxy_detect::rules::value_kinds;
use mcpproxy_detect::settings::KEYWORD;
use mcpproxy_hooks::FailureMode;
use mcpproxy_hooks::guards::poisoning::answers::{OnHidden, OnOrders};
use mcpproxy_hooks::guards::watch::{KINDS, Kind, Place};
use mcpproxy_hooks::guards::{
    Settings, abuse, access, behaviour, contents, context, dlp, poisoning, rug_pull, shadowing,
    spoofing,
};
use mcpproxy_upstream::settings::Span;

use super::{HookKind, HookSettings, SecuritySettings, ToolQuarantine, hooks};
use crate::path::Path;

/// `config` of `tool-poisoning-detector`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Poisoning {
    strict_mode: bool,
    hidden_in_results: OnHidden,
    orders_in_results: OnOrders,
}

impl Default for Poisoning {
    fn default() -> Self {
        let poisoning::Settings {
            strict_mode,
            hidden_in_results,
            orders_in_results,
        } = poisoning::Settings::default();
        Self {
            strict_mode,
            hidden_in_results,
            orders_in_results,
        }
    }
}

/// `config` of `rug-pull-detector`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RugPull {
    baseline_store: Option<String>,
    check_interval: Option<Span>,
}

/// `config` of `tool-shadowing-detector`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Shadowing {
    namespace_isolation: bool,
}

/// `config` of `server-spoofing-detector`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Spoofing {
    allowed_servers: Option<Vec<AllowedServer>>,
}

/// An upstream that is let in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowedServer {
    name: String,
    command: Option<String>,
    package: Option<String>,
    url: Option<String>,
    pin: Option<String>,
}

/// Where baselines may be said to live.
const STORES: [&str; 5] = ["sqlite", "sqlite:", "file:", "redis:", "postgres"];

impl SecuritySettings {
    /// Returns what the guards over listings are told.
    pub fn guards(&self) -> Settings {
        let ToolQuarantine {
            enabled,
            auto_quarantine_new_tools,
            rug_pull_detection,
            trust,
        } = self.tool_quarantine;
        let mut settings = Settings {
            enabled,
            trust,
            ..Settings::default()
        };
        if !auto_quarantine_new_tools {
            settings.trust = Trust::Auto;
        }
        let native = self
            .hooks
            .iter()
            .filter(|hook| hook.kind == HookKind::Native);
        for hook in native {
            // What is wrong here was said when the configuration was checked.
            drop(apply(&mut settings, hook));
        }
        if !rug_pull_detection {
            settings.rug_pull = None;
        }
        settings
    }
}

/// Says what is wrong with what a guard is told.
pub(crate) fn check(hook: &HookSettings) -> Result<(), String> {
    match hook.kind {
        HookKind::Native => apply(&mut Settings::default(), hook),
        HookKind::ExternalGrpc | HookKind::Webhook | HookKind::Wasm => Ok(()),
    }
}

/// Says which type a rule of `dlp-scanner` names that nobody knows: it would protect nothing.
pub(crate) fn unknown_type(hook: &HookSettings, security: &SecuritySettings) -> Option<String> {
    if hook.kind != HookKind::Native || hook.id != dlp::ID {
        return None;
    }
    let told: dlp::Settings = read(hook).ok()?;
    if told.rules.iter().all(|rule| rule.types.is_empty()) {
        return None;
    }
    // Without its rules the program does not start; that is said elsewhere.
    let kinds = value_kinds().ok()?;
    let detector = security.detection();
    let own = |name: &str| {
        let mut patterns = detector.custom_patterns.iter();
        name == KEYWORD || patterns.any(|one| one.name == name && is_value(one.category))
    };
    let mut rules = told.rules.iter();
    let name =
        rules.find_map(|rule| rule.unknown_type(|name| kinds.contains(name) || own(name)))?;
    Some(format!(
        "`types`: `{name}` is no type or category of a value, and no pattern of your own"
    ))
}

/// Returns the names in what guards are told that must be those of upstreams, each with its place.
pub(crate) fn upstreams_named(hook: &HookSettings) -> Vec<(Path, String)> {
    let base = Path::default().key("config");
    let mut named = Vec::new();
    match (hook.kind, hook.id.as_str()) {
        (HookKind::Native, dlp::ID) => {
            let told: dlp::Settings = read(hook).unwrap_or_default();
            for (number, rule) in told.rules.into_iter().enumerate() {
                let place = base.key("rules").index(number).key("servers");
                let servers = rule.servers.into_iter().enumerate();
                let servers = servers.filter(|(_, name)| !dlp::CLASSES.contains(&name.as_str()));
                named.extend(servers.map(|(at, name)| (place.index(at), name)));
            }
        }
        (HookKind::Native, abuse::ID) => {
            let told: abuse::Settings = read(hook).unwrap_or_default();
            let costs = told.costs.into_keys().map(|tool| {
                let upstream = tool.split(':').next().unwrap_or_default().to_owned();
                (base.key("costs").key(&tool), upstream)
            });
            named.extend(costs);
        }
        _ => {}
    }
    named
}

/// Tells whether an id is that of a guard that is on where nobody says anything about it.
pub(crate) fn is_on_by_itself(id: &str) -> bool {
    let usual = Settings {
        enabled: true,
        ..Settings::default()
    };
    KINDS
        .iter()
        .any(|kind| kind.id == id && (kind.is_on)(&usual))
}

/// Tells whether an entry makes no guard milder than it is by itself.
pub(crate) fn tightens(hook: &HookSettings) -> bool {
    let usual = Settings::default();
    let mut told = usual.clone();
    if apply(&mut told, hook).is_err() {
        return false;
    }
    let strict = told.poisoning.is_some_and(|told| {
        let hidden = told.hidden_in_results != OnHidden::Tag;
        told.strict_mode && hidden && told.orders_in_results != OnOrders::Tag
    });
    let often = match (&told.rug_pull, &usual.rug_pull) {
        (Some(told), Some(usual)) => told.check_interval <= usual.check_interval,
        (told, _) => told.is_some(),
    };
    // Another store knows nothing of what was approved and blocked, or of anybody's habits.
    let stores = [
        told.rug_pull
            .as_ref()
            .and_then(|told| told.baseline_store.as_ref()),
        told.behaviour
            .as_ref()
            .and_then(|told| told.baseline_store.as_ref()),
    ];
    let same_stores = stores.iter().all(Option::is_none);
    let at_work = told.places.iter().all(|(id, place)| {
        let kind = KINDS.iter().find(|kind| kind.id == *id);
        let closed = place.failure_mode == FailureMode::Closed;
        closed && kind.is_some_and(|kind| covers(place.runs_on, kind.phases))
    });
    strict && often && same_stores && at_work && told.shadowing.is_some() && told.spoofing.is_some()
}

/// Tells whether a guard that runs on `told` runs wherever it has something to look at.
fn covers(told: Phases, needed: Phases) -> bool {
    (told.request || !needed.request)
        && (told.response || !needed.response)
        && (told.listing || !needed.listing)
}

fn apply(settings: &mut Settings, hook: &HookSettings) -> Result<(), String> {
    tell(settings, hook)?;
    if let Some(kind) = KINDS.iter().find(|kind| kind.id == hook.id) {
        settings.places.insert(kind.id, place(kind, hook)?);
    }
    Ok(())
}

/// Says where a guard stands, or that it would have nothing to look at there.
fn place(kind: &Kind, hook: &HookSettings) -> Result<Place, String> {
    let (can, may) = (kind.phases, hook.phases());
    let looks =
        can.request && may.request || can.response && may.response || can.listing && may.listing;
    if !looks {
        return Err(format!(
            "`runs_on`: `{}` has nothing to look at there",
            kind.id
        ));
    }
    Ok(Place {
        priority: (hook.priority != hooks::last()).then_some(hook.priority),
        runs_on: may,
        failure_mode: hook.mode(),
    })
}

fn tell(settings: &mut Settings, hook: &HookSettings) -> Result<(), String> {
    match hook.id.as_str() {
        poisoning::ID => {
            let Poisoning {
                strict_mode,
                hidden_in_results,
                orders_in_results,
            } = read(hook)?;
            settings.poisoning = hook.enabled.then_some(poisoning::Settings {
                strict_mode,
                hidden_in_results,
                orders_in_results,
            });
        }
        rug_pull::ID => {
            let told: RugPull = read(hook)?;
            known_store(told.baseline_store.as_deref())?;
            let usual = rug_pull::Settings::default().check_interval;
            let check_interval = told.check_interval.map_or(usual, Into::into);
            if check_interval.is_zero() {
                return Err("`check_interval` must be greater than zero".to_owned());
            }
            settings.rug_pull = hook.enabled.then_some(rug_pull::Settings {
                check_interval,
                baseline_store: told.baseline_store,
            });
        }
        shadowing::ID => {
            let Shadowing {
                namespace_isolation,
            } = read(hook)?;
            let told = shadowing::Settings {
                namespace_isolation,
            };
            settings.shadowing = hook.enabled.then_some(told);
        }
        spoofing::ID => {
            let Spoofing { allowed_servers } = read(hook)?;
            let allowed = allowed_servers.map(|all| all.into_iter().map(allowed).collect());
            let told = spoofing::Settings {
                allowed_servers: allowed,
            };
            settings.spoofing = hook.enabled.then_some(told);
        }
        abuse::ID => {
            let told: abuse::Settings = read(hook)?;
            told.check()?;
            settings.abuse = hook.enabled.then_some(told);
        }
        behaviour::ID => {
            let told: behaviour::Settings = read(hook)?;
            known_store(told.baseline_store.as_deref())?;
            settings.behaviour = Some(told).filter(|_| hook.enabled);
        }
        contents::ID => settings.contents = Some(read(hook)?).filter(|_| hook.enabled),
        context::ID => settings.context = Some(read(hook)?).filter(|_| hook.enabled),
        dlp::ID => settings.dlp = Some(read(hook)?).filter(|_| hook.enabled),
        access::ID => {
            let told: access::Settings = read(hook)?;
            told.check()?;
            settings.access = hook.enabled.then_some(told);
        }
        other => {
            let known = KINDS.each_ref().map(|kind| kind.id).join("`, `");
            return Err(format!(
                "there is no native guard `{other}`; there are `{known}`"
            ));
        }
    }
    Ok(())
}

fn allowed(server: AllowedServer) -> spoofing::Allowed {
    spoofing::Allowed {
        name: server.name,
        command: server.command,
        package: server.package,
        url: server.url,
        pin: server.pin,
    }
}

/// Where baselines are to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselinePlace {
    /// Where the records are.
    Records,
    /// In a file of their own.
    File(PathBuf),
    /// In a PostgreSQL database, by its address.
    Postgres(String),
    /// In Redis, which keeps nothing for certain: they stay where the records are.
    Redis,
}

/// Returns where a guard's `baseline_store` says that baselines are to be kept.
pub fn baseline_place(store: Option<&str>) -> BaselinePlace {
    let store = store.unwrap_or_default();
    if store.starts_with("postgres") {
        return BaselinePlace::Postgres(store.to_owned());
    }
    if store.starts_with("redis:") {
        return BaselinePlace::Redis;
    }
    let path = store
        .strip_prefix("sqlite:")
        .or(store.strip_prefix("file:"))
        .map(|path| path.strip_prefix("//").unwrap_or(path));
    match path {
        Some(path) if !path.is_empty() => BaselinePlace::File(path.into()),
        Some(_) | None => BaselinePlace::Records,
    }
}

fn known_store(store: Option<&str>) -> Result<(), String> {
    match store {
        Some(store) if !STORES.iter().any(|known| store.starts_with(known)) => Err(format!(
            "`baseline_store` is `{store}`; use `sqlite` or the address of a store"
        )),
        Some(_) | None => Ok(()),
    }
}

fn read<T: DeserializeOwned>(hook: &HookSettings) -> Result<T, String> {
    let config = Value::Object(hook.config.clone());
    serde_json::from_value(config).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn told(hooks: &Value) -> Settings {
        let settings: SecuritySettings = serde_json::from_value(json!({ "hooks": hooks })).unwrap();
        settings.guards()
    }

    #[test]
    fn every_key_is_heeded() {
        let native =
            |id: &str, config: Value| json!([{ "id": id, "type": "native", "config": config }]);
        let found = told(&native(poisoning::ID, json!({ "strict_mode": false })));
        assert!(!found.poisoning.unwrap().strict_mode);
        let config = json!({ "hidden_in_results": "block", "orders_in_results": "tag" });
        let found = told(&native(poisoning::ID, config)).poisoning.unwrap();
        assert_eq!(found.hidden_in_results, OnHidden::Block);
        assert_eq!(found.orders_in_results, OnOrders::Tag);
        let config =
            json!({ "check_interval": "5s", "baseline_store": "redis://localhost:6379/0" });
        let found = told(&native(rug_pull::ID, config)).rug_pull.unwrap();
        assert_eq!(found.check_interval, Duration::from_secs(5));
        let found = told(&native(
            shadowing::ID,
            json!({ "namespace_isolation": true }),
        ));
        assert!(found.shadowing.unwrap().namespace_isolation);
        let config = json!({ "allowed_servers": [{ "name": "a", "package": "a-mcp" }] });
        let found = told(&native(spoofing::ID, config)).spoofing.unwrap();
        assert_eq!(found.allowed_servers.unwrap()[0].name, "a");
        let config = json!({ "per_tool": { "calls_per_minute": 5 } });
        let found = told(&native(abuse::ID, config)).abuse.unwrap();
        assert_eq!(found.per_tool.calls_per_minute, 5);
        let config = json!({ "learning_calls": 7, "baseline_store": "file:habits.db" });
        let found = told(&native(behaviour::ID, config)).behaviour.unwrap();
        assert_eq!(found.learning_calls, 7);
        let place = baseline_place(found.baseline_store.as_deref());
        assert_eq!(place, BaselinePlace::File("habits.db".into()));
        let found = told(&native(contents::ID, json!({ "max_body_size": "1MB" })));
        assert_eq!(found.contents.unwrap().max_body_size.bytes(), 1_000_000);
        let config = json!({ "immutable": ["doc://*"], "check_versions": false, "on_change": "warn", "cross_session": "off", "spotlighting": { "external": "delimit" } });
        let found = told(&native(context::ID, config)).context.unwrap();
        assert_eq!(found.immutable, ["doc://*"]);
        assert!(!found.check_versions);
        assert_eq!(found.on_change, context::Reaction::Warn);
        assert_eq!(found.cross_session, context::Reaction::Off);
        assert_ne!(found.spotlighting, context::Spotlighting::default());
        let found = told(&native(dlp::ID, json!({ "rules": [{ "action": "mask" }] })));
        assert_eq!(found.dlp.unwrap().rules.len(), 1);
        let config = json!({ "policy_file": "/etc/mcpproxy/access.cedar" });
        let found = told(&native(access::ID, config)).access.unwrap();
        let file = std::path::Path::new("/etc/mcpproxy/access.cedar");
        assert_eq!(found.policy_file.as_deref(), Some(file));
        let off = json!([{ "id": spoofing::ID, "type": "native", "enabled": false }]);
        assert_eq!(told(&off).spoofing, None);
        assert_eq!(told(&json!([])), Settings::default());
    }

    #[test]
    fn order_phases_and_failure_mode_are_heeded() {
        let hook = json!([{
            "id": dlp::ID, "type": "native", "priority": 5, "failure_mode": "fail_open",
            "runs_on": "response",
        }]);
        let place = told(&hook).places[dlp::ID];
        assert_eq!(place.priority, Some(5));
        assert_eq!(place.failure_mode, FailureMode::Open);
        assert!(place.runs_on.response && !place.runs_on.request);
        let hook = json!([{ "id": dlp::ID, "type": "native" }]);
        let place = told(&hook).places[dlp::ID];
        assert_eq!(
            (place.priority, place.failure_mode),
            (None, FailureMode::Closed)
        );
        let nowhere = json!({ "id": abuse::ID, "type": "native", "runs_on": "response" });
        let said = super::check(&serde_json::from_value(nowhere).unwrap()).unwrap_err();
        assert!(said.contains("nothing to look at"), "{said}");
    }

    #[test]
    fn baselines_are_kept_where_the_configuration_says() {
        use BaselinePlace::{File, Postgres, Records, Redis};
        let check = |store: Option<&str>, expect: BaselinePlace| {
            assert_eq!(baseline_place(store), expect, "{store:?}");
        };
        check(None, Records);
        check(Some("sqlite"), Records);
        check(Some("sqlite:"), Records);
        check(Some("sqlite:///var/lib/a.db"), File("/var/lib/a.db".into()));
        check(Some("file:a.db"), File("a.db".into()));
        check(Some("redis://localhost:6379/0"), Redis);
        let address = "postgresql://localhost/x";
        check(Some(address), Postgres(address.to_owned()));
    }

    #[test]
    fn the_switches_of_the_quarantine_are_heeded() {
        let guards = |quarantine: Value| {
            let settings = json!({ "tool_quarantine": quarantine });
            serde_json::from_value::<SecuritySettings>(settings)
                .unwrap()
                .guards()
        };
        assert!(!guards(json!({ "enabled": false })).enabled);
        assert_eq!(guards(json!({ "trust": "manual" })).trust, Trust::Manual);
        let auto = guards(json!({ "auto_quarantine_new_tools": false }));
        assert_eq!(auto.trust, Trust::Auto);
        assert_eq!(
            guards(json!({ "rug_pull_detection": false })).rug_pull,
            None
        );
    }

    #[test]
    fn what_a_guard_does_not_know_is_wrong() {
        let check = |id: &str, config: Value, expect: &str| {
            let hook = json!({ "id": id, "type": "native", "config": config });
            let said = super::check(&serde_json::from_value(hook).unwrap()).unwrap_err();
            assert!(said.contains(expect), "{said}");
        };
        check(
            poisoning::ID,
            json!({ "strict": true }),
            "unknown field `strict`",
        );
        check(
            rug_pull::ID,
            json!({ "check_interval": "0s" }),
            "greater than zero",
        );
        check(
            rug_pull::ID,
            json!({ "baseline_store": "ftp://x" }),
            "`ftp://x`",
        );
        check(
            spoofing::ID,
            json!({ "allowed_servers": [{}] }),
            "missing field `name`",
        );
        check(abuse::ID, json!({ "per_user": {} }), "unknown field");
        check(
            abuse::ID,
            json!({ "per_principal": { "burst": 5 } }),
            "`per_principal`: `burst` is no limit without `calls_per_minute`",
        );
        check(
            behaviour::ID,
            json!({ "baseline_store": "memory" }),
            "`memory`",
        );
        check(behaviour::ID, json!({ "deny_at": 300 }), "300");
        check(contents::ID, json!({ "max_body_size": "many" }), "a size");
        check(
            context::ID,
            json!({ "on_change": "ask" }),
            "unknown variant `ask`",
        );
        check(dlp::ID, json!({ "rules": [{}] }), "missing field `action`");
        check(access::ID, json!({}), "needs `policy_file` or `policies`");
        check(
            "rate-limits",
            json!({}),
            "there are `tool-poisoning-detector`",
        );
    }
}
