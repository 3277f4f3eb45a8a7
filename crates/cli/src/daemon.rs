//! Putting the product together: configuration in, a gateway out, and what is needed to change
//! the configuration of a running one.

pub(crate) mod access;
pub(crate) mod activity;
mod alerts;
mod changes;
mod families;
pub(crate) mod live;
pub(crate) mod pipeline;
mod receipts;
mod telemetry;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_config::{
    ApprovalMode, Fingerprint, Flags, Loaded, Sources, baseline_place, edit, load,
};
use mcpproxy_control::{
    ApiKey, Applied, ChangeFault, ConfigChange, Configurer, Control, Created, Orders, ReloadReport,
    Shown, Tokens, prepare_data_dir,
};
use mcpproxy_core::{AccessRules, Clock, Durability, SystemClock, UpstreamId};
use mcpproxy_detect::{Audience, Hostile};
use mcpproxy_engine::{Engine, EngineSettings, HookSettings};
use mcpproxy_gateway::access::Access;
use mcpproxy_gateway::settings::{Durability as LogDurability, OnFailure};
use mcpproxy_gateway::tls::Tls;
use mcpproxy_gateway::{Active, Gateway, GatewayParts};
use mcpproxy_mcp::dial::Dialer;
use mcpproxy_store::Sink;
use mcpproxy_text::Limits;
use mcpproxy_upstream::FleetSettings;
use mcpproxy_upstream::child::Supervisor;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tracing_subscriber::{EnvFilter, Registry, reload};

use self::activity::{ActivityLog, baselines, retention};
use self::alerts::Alerts;
use self::pipeline::Pipeline;
use self::receipts::Receipts;
use crate::args::Global;
use crate::exit::{bad_input, failed};
use crate::logins::logins;

pub(crate) use mcpproxy_front::SOCKET;

/// How often the configuration files are looked at.
const WATCH: Duration = Duration::from_secs(1);

/// Returns the flags that the configuration knows.
pub(crate) fn flags(global: &Global, listen: Option<&str>) -> Flags {
    Flags {
        config: global.config.clone(),
        data_dir: global.data_dir.clone(),
        listen: listen.map(str::to_owned),
        log_level: global.log_level.clone(),
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Loads the configuration, or says everything that is wrong with it.
pub(crate) fn configuration(flags: &Flags) -> Result<Loaded> {
    let sources = Sources::new(flags.clone(), &environment);
    load(&sources).map_err(|problems| {
        let hint = "run `mcpproxy config check`, or see `mcpproxy config schema`";
        bad_input(problems.to_string(), Some(hint))
    })
}

/// Finds the data folder, also where the configuration is wrong.
pub(crate) fn data_dir(flags: &Flags) -> PathBuf {
    mcpproxy_config::data_dir(&Sources::new(flags.clone(), &environment))
}

/// Reads the access policies, and warns of what they name that is not there.
fn named_rules(loaded: &Loaded) -> Result<Option<Arc<dyn AccessRules>>, String> {
    let checked = access::checked(loaded)?;
    Ok(checked.map(|checked| {
        for line in checked.strange {
            tracing::warn!("{line}");
        }
        checked.rules
    }))
}

/// A gateway with everything around it.
pub(crate) struct Daemon {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) files: Arc<ConfigFiles>,
    pub(crate) loaded: Loaded,
    pub(crate) key: Created,
    receipts: Option<Arc<Receipts>>,
}

impl Daemon {
    /// Puts a gateway together; its upstreams begin to start. The log is best started before, so that
    /// it has what goes wrong here.
    pub(crate) async fn start(flags: Flags, loaded: Loaded) -> Result<Self> {
        if loaded.config.security.enabled {
            // The first list of tools would wait for these rules; files are opened meanwhile.
            tokio::task::spawn_blocking(|| drop(Hostile::new(Audience::Result)));
        }
        let settings = &loaded.config.gateway;
        let folder = &settings.data_dir;
        prepare_data_dir(folder).map_err(with_remedy)?;
        let (key, created) = match &settings.api_key {
            Some(secret) => (ApiKey::from_secret(secret.clone()), Created::Existing),
            None => match ApiKey::load_or_create(folder) {
                Ok((key, created)) => (Ok(key), created),
                Err(fault) => (Err(fault), Created::Existing),
            },
        };
        let key = key.map_err(with_remedy)?;
        let clock = Arc::new(SystemClock::start());
        let log = ActivityLog::open(&loaded, Arc::clone(&clock) as _)?;
        let ActivityLog { sink, reader, kept } = log;
        let engine = Engine::new(engine_settings(&loaded), sink, Arc::clone(&clock) as _);
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let receipts = Receipts::open(&loaded, &shared)?;
        let mut engine = remembering(engine?, &loaded)?;
        if let Some(receipts) = &receipts {
            engine = engine.with_receipts(Arc::clone(receipts) as _);
        }
        let live = live::store(&loaded).await?;
        if let (Some(store), Some(settings)) = (&live, &settings.live) {
            engine = live::sharing(engine, Arc::clone(store), settings)?;
        }
        if let Some(tracer) = telemetry::tracer(&settings.telemetry)? {
            engine = engine.with_traces(tracer);
        }
        let engine = Arc::new(engine);
        tokio::spawn(Arc::clone(&engine).tend());
        let alerts = Alerts::start(&loaded, &engine, &shared);
        let rules = named_rules(&loaded).map_err(|why| bad_input(why, None))?;
        engine.set_access(rules);
        let pipeline = Pipeline::default();
        let started = pipeline.apply(&loaded, &engine, &shared).await;
        started.map_err(|why| {
            let hint = "make it `failure_mode: fail_open`, or switch it off with `enabled: false`";
            bad_input(why, Some(hint))
        })?;
        let now = mcpproxy_core::Clock::wall(&*clock);
        let orders = Orders::open(folder, engine.stops(), now);
        let tokens = Tokens::open(folder).map_err(with_remedy)?;
        let files = Arc::new(ConfigFiles {
            flags,
            running: OnceLock::new(),
            log: OnceLock::new(),
        });
        let mut control = Control::new(
            key,
            tokens,
            orders,
            Arc::clone(&engine),
            Arc::clone(&files) as _,
            Arc::clone(&clock) as _,
        )
        .with_families(families::types_of);
        if let Some(reader) = reader {
            control = control.with_activity(reader);
        }
        let control = Arc::new(control);
        for problem in control.problems() {
            tracing::warn!("{problem}");
        }
        let parts = GatewayParts {
            active: active(&loaded).map_err(|fault| bad_input(fault.to_string(), None))?,
            engine: Arc::clone(&engine),
            fleet: fleet(&loaded)?,
            access: Access::new(control),
            clock,
            live,
        };
        let gateway = Gateway::new(parts)?;
        tokio::spawn(Arc::clone(&gateway).hear_others());
        tokio::spawn(Arc::clone(&gateway).relay());
        tokio::spawn(Arc::clone(&gateway).tell_others());
        let running = Running {
            gateway: Arc::downgrade(&gateway),
            engine,
            pipeline,
            alerts,
            receipts: receipts.clone(),
            log: kept,
            clock: shared,
            named: Mutex::new(named(&loaded)),
        };
        drop(files.running.set(running));
        Ok(Self {
            gateway,
            files,
            loaded,
            key: created,
            receipts,
        })
    }

    /// Writes down what the sessions came to, waits until everything is on disk, and packs receipts.
    pub(crate) async fn finish(&self) {
        finish(&self.gateway).await;
        if let Some(running) = self.files.running.get() {
            running.alerts.finish().await;
        }
        if let Some(receipts) = &self.receipts {
            receipts.finish().await;
        }
    }

    /// Watches the configuration files and puts changes in force, for as long as the gateway runs.
    pub(crate) async fn watch(files: Arc<ConfigFiles>, paths: Vec<PathBuf>) {
        let mut seen = Fingerprint::of(&files.watched(&paths));
        loop {
            tokio::time::sleep(WATCH).await;
            let now = Fingerprint::of(&files.watched(&paths));
            if now == seen {
                continue;
            }
            seen = now;
            reload_and_log(&files);
        }
    }
}

/// Gives an engine its baselines, from where the configuration keeps them.
fn remembering(engine: Engine, loaded: &Loaded) -> Result<Engine> {
    let settings = &loaded.config.gateway;
    let guards = loaded.config.security.guards();
    let open = |told: Option<String>| baselines(settings, baseline_place(told.as_deref()));
    let offers = guards.rug_pull.and_then(|told| told.baseline_store);
    let habits = guards.behaviour.and_then(|told| told.baseline_store);
    let engine = engine.with_baselines(open(offers)?)?;
    Ok(engine.with_habits(open(habits)?)?)
}

/// Reads the files again and logs what came of it.
pub(crate) fn reload_and_log(files: &ConfigFiles) {
    match files.reload() {
        Ok(report) => {
            tracing::info!("configuration reloaded: {}", summary(&report));
            for key in &report.needs_restart {
                tracing::warn!("`{key}` changed, which takes effect only after a restart");
            }
        }
        Err(fault) => {
            // There may be several mistakes, and a line of the log is one event.
            let fault = fault.to_string();
            let fault: Vec<_> = fault.lines().map(str::trim).collect();
            let fault = fault.join("; ");
            tracing::error!("configuration not reloaded, the last good one stays: {fault}");
        }
    }
}

/// How long the end may wait for the last records.
const FLUSH: Duration = Duration::from_secs(5);

async fn finish(gateway: &Gateway) {
    gateway.engine.finish().await;
    match tokio::time::timeout(FLUSH, gateway.engine.flush()).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => tracing::error!("records were lost: {fault}"),
        Err(_) => tracing::error!("records may be lost: the log was not written in time"),
    }
}

fn summary(report: &ReloadReport) -> String {
    format!(
        "{} added, {} removed, {} changed",
        report.added.len(),
        report.removed.len(),
        report.changed.len()
    )
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn with_remedy(fault: mcpproxy_control::Error) -> anyhow::Error {
    failed(fault.to_string(), fault.remedy().as_deref())
}

/// Returns the files that a configuration names and that are read again when they change.
fn named(loaded: &Loaded) -> Vec<PathBuf> {
    let mut files: Vec<_> = access::file(loaded).into_iter().collect();
    if let Some(tls) = &loaded.config.gateway.tls {
        let roots = tls.callers.as_ref().map(|callers| callers.roots.clone());
        files.extend([tls.certificate.clone(), tls.key.clone()]);
        files.extend(roots);
    }
    files
}

fn active(loaded: &Loaded) -> Result<Active, mcpproxy_gateway::Error> {
    let tls = loaded.config.gateway.tls.as_ref().map(Tls::read);
    Ok(Active {
        settings: loaded.config.gateway.clone(),
        tls: tls.transpose()?.map(Arc::new),
        upstreams: loaded.config.upstreams.clone(),
        correlation_header: loaded.config.security.correlation_id_header.parse().ok(),
    })
}

/// Returns what the engine is told by a configuration.
pub(crate) fn engine_settings(loaded: &Loaded) -> EngineSettings {
    let security = &loaded.config.security;
    let activity = &loaded.config.gateway.activity;
    let upstreams = loaded.config.order.iter().map(String::as_str);
    EngineSettings {
        enabled: security.enabled,
        classification: security.classification.clone(),
        policy: security.policy(),
        detector: security.detection(),
        approvals: match security.approvals.mode {
            ApprovalMode::Off => None,
            ApprovalMode::Queue => Some(security.approvals.timeout.into()),
        },
        flow_tracking: security.flow_tracking.clone(),
        hooks: HookSettings {
            enabled: security.agent_hooks.enabled,
            correlation_ttl_seconds: security.agent_hooks.correlation_ttl_seconds,
            own: own(loaded),
            port: port(&loaded.config.gateway.listen),
        },
        guards: security.guards(),
        upstreams: upstreams.map(UpstreamId::new).collect(),
        durability: match activity.durability {
            LogDurability::Relaxed => Durability::Relaxed,
            LogDurability::Strict => Durability::Strict,
        },
        refuse_unrecorded: activity.on_failure == OnFailure::Closed,
        bodies: activity.bodies,
    }
}

/// Returns what agents keep their hands off: the data folder, and the files that say who may do what, by
/// whom the gateway is known, and what judges calls.
fn own(loaded: &Loaded) -> Vec<Box<str>> {
    let hooks = loaded.config.security.hooks.iter();
    let mut own = vec![loaded.config.gateway.data_dir.clone()];
    own.extend(named(loaded));
    own.extend(hooks.filter_map(|hook| hook.path.clone()));
    let whole = own.iter().filter_map(|path| std::path::absolute(path).ok());
    whole.map(|path| path.to_string_lossy().into()).collect()
}

/// Returns the port of an address to listen at; nothing where the system chooses one.
fn port(listen: &str) -> Option<u16> {
    let (_, port) = listen.rsplit_once(':')?;
    port.parse().ok().filter(|port| *port != 0)
}

/// Returns how often lists are read again although nobody said that they changed.
fn check_interval(loaded: &Loaded) -> Option<Duration> {
    let guards = loaded.config.security.guards();
    let rug_pull = guards.rug_pull.filter(|_| guards.enabled);
    rug_pull.map(|rug_pull| rug_pull.check_interval)
}

/// Returns what all upstreams share.
pub(crate) fn fleet(loaded: &Loaded) -> Result<FleetSettings> {
    let limits = &loaded.config.gateway.limits;
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    Ok(FleetSettings {
        supervisor: Supervisor {
            program,
            args: vec!["supervise".into()],
        },
        limits: Limits {
            depth: limits.nesting,
        },
        max_message: limits.response_bytes.as_usize(),
        dialer: Dialer::default(),
        logins: logins(&loaded.config.gateway.data_dir),
        check_interval: watch::Sender::new(check_interval(loaded)),
    })
}

/// The configuration files of a running gateway.
#[derive(Debug)]
pub(crate) struct ConfigFiles {
    flags: Flags,
    running: OnceLock<Running>,
    log: OnceLock<LogLevel>,
}

/// What changes the level of the log while it is written.
pub(crate) type LogLevel = reload::Handle<EnvFilter, Registry>;

#[derive(Debug)]
struct Running {
    gateway: Weak<Gateway>,
    engine: Arc<Engine>,
    pipeline: Pipeline,
    alerts: Arc<Alerts>,
    receipts: Option<Arc<Receipts>>,
    log: Option<Arc<Sink>>,
    clock: Arc<dyn Clock>,
    /// The files that the configuration names and that are watched like itself: access policies,
    /// certificates.
    named: Mutex<Vec<PathBuf>>,
}

impl ConfigFiles {
    /// Takes what changes the level of the log.
    pub(crate) fn log_with(&self, level: LogLevel) {
        drop(self.log.set(level));
    }

    /// Adds the files that the configuration names to those that it stands in.
    fn watched(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let named = self.running.get().map(|running| {
            let named = running.named.lock();
            named.unwrap_or_else(PoisonError::into_inner).clone()
        });
        let named = named.unwrap_or_default();
        paths.iter().cloned().chain(named).collect()
    }

    fn loaded(&self) -> Result<Loaded, ChangeFault> {
        let sources = Sources::new(self.flags.clone(), &environment);
        load(&sources).map_err(|problems| ChangeFault::Invalid {
            reason: problems.to_string(),
            hint: Some("run `mcpproxy config check`".to_owned()),
        })
    }

    fn edit(
        &self,
        name: &str,
        change: impl FnOnce(&Path) -> Result<(), mcpproxy_config::Error>,
    ) -> Result<(), ChangeFault> {
        let loaded = self.loaded()?;
        let file = loaded.file_of(name).unwrap_or(loaded.target);
        let reload = || self.reload().map(drop).map_err(NotMade::Reload);
        edit::tried(&file, change, reload).map_err(|fault| self.not_made(fault, name))
    }

    fn not_made(&self, fault: NotMade, name: &str) -> ChangeFault {
        match fault {
            NotMade::Edit(fault) => change_fault(&fault, name),
            NotMade::Reload(fault) => {
                // The file is as it was: the gateway need not go on saying that it is bad.
                drop(self.reload());
                fault
            }
        }
    }
}

/// Why a change of the files was not made.
enum NotMade {
    Edit(mcpproxy_config::Error),
    Reload(ChangeFault),
}

impl From<mcpproxy_config::Error> for NotMade {
    fn from(fault: mcpproxy_config::Error) -> Self {
        Self::Edit(fault)
    }
}

fn as_object(settings: Value) -> Result<Map<String, Value>, ChangeFault> {
    match settings {
        Value::Object(settings) => Ok(settings),
        _ => Err(ChangeFault::Invalid {
            reason: "the settings of an upstream must be an object".to_owned(),
            hint: None,
        }),
    }
}

fn change_fault(fault: &mcpproxy_config::Error, name: &str) -> ChangeFault {
    use mcpproxy_config::Error;
    let name = name.to_owned();
    match fault {
        Error::Exists { .. } => ChangeFault::Exists { name },
        Error::Absent { .. } => ChangeFault::Unknown { name },
        Error::Name(reason) => ChangeFault::Name {
            reason: reason.clone(),
        },
        Error::Write { source, .. } => {
            use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
            let kept = matches!(source.kind(), ReadOnlyFilesystem | PermissionDenied);
            let hint =
                "the configuration is read-only here: change it where it is kept, and reload";
            ChangeFault::Failed {
                reason: format!("{fault}: {source}"),
                hint: kept.then(|| hint.to_owned()),
            }
        }
        other => ChangeFault::Invalid {
            reason: other.to_string(),
            hint: None,
        },
    }
}

impl Configurer for ConfigFiles {
    fn add_upstream(&self, name: &str, settings: Value) -> Result<(), ChangeFault> {
        let settings = as_object(settings)?;
        self.edit(name, |file| edit::add_upstream(file, name, &settings))
    }

    fn change_upstream(&self, name: &str, settings: Value) -> Result<(), ChangeFault> {
        let settings = as_object(settings)?;
        self.edit(name, |file| edit::patch_upstream(file, name, &settings))
    }

    fn remove_upstream(&self, name: &str) -> Result<(), ChangeFault> {
        self.edit(name, |file| edit::remove_upstream(file, name))
    }

    fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), ChangeFault> {
        self.edit(name, |file| edit::set_enabled(file, name, enabled))
    }

    /// Reads the files again. A bad file keeps the last good configuration, and the gateway says
    /// so until it is mended.
    fn reload(&self) -> Result<ReloadReport, ChangeFault> {
        let stopped = || ChangeFault::Failed {
            reason: "the gateway has stopped".into(),
            hint: None,
        };
        let running = self.running.get().ok_or_else(stopped)?;
        let gateway = running.gateway.upgrade().ok_or_else(stopped)?;
        let loaded = match self.loaded() {
            Ok(loaded) => loaded,
            Err(fault) => {
                gateway
                    .reload_problem
                    .store(Arc::new(Some(fault.to_string())));
                return Err(fault);
            }
        };
        let report = compare(&gateway.active(), &loaded);
        let Running {
            engine,
            pipeline,
            clock,
            named: files,
            ..
        } = running;
        // Certificates, policies and hooks first: where one cannot be used, everything stays as it
        // is. The files are watched from now on: the mistake may be mended in one of them.
        *files.lock().unwrap_or_else(PoisonError::into_inner) = named(&loaded);
        let active = active(&loaded).map_err(|fault| fault.to_string());
        let changed = active.and_then(|active| {
            let rules = named_rules(&loaded)?;
            pipeline.apply_now(&loaded, engine, clock)?;
            let reloaded = engine.reload(engine_settings(&loaded));
            reloaded.map_err(|fault| fault.to_string())?;
            engine.set_access(rules);
            Ok(active)
        });
        let active = changed.map_err(|reason| {
            gateway.reload_problem.store(Arc::new(Some(reason.clone())));
            ChangeFault::Invalid { reason, hint: None }
        })?;
        if let Some(Err(fault)) = running.receipts.as_ref().map(|one| one.apply(&loaded)) {
            // Receipts go on naming the policy before it, of which there is a copy.
            tracing::error!("{fault:#}");
        }
        if let Some(log) = &running.log {
            log.retain(retention(&loaded));
        }
        running.alerts.apply(&loaded);
        gateway.fleet.check_every(check_interval(&loaded));
        gateway.reload(active);
        if let Some(log) = self.log.get() {
            let level = loaded.config.gateway.log.level.as_str();
            // The log ends with the process, so that its level can be changed until then.
            drop(log.reload(EnvFilter::new(level)));
        }
        Ok(report)
    }

    fn show(&self) -> Result<Shown, ChangeFault> {
        Ok(changes::shown(&self.loaded()?))
    }

    fn check(&self, change: &ConfigChange) -> Result<Vec<String>, ChangeFault> {
        self.changed(change).map(|changed| match changed.loaded {
            Ok(_) => Vec::new(),
            Err(problems) => problems,
        })
    }

    fn apply(&self, change: &ConfigChange) -> Result<Applied, ChangeFault> {
        self.put(change)
    }

    fn preview(&self, change: &ConfigChange) -> Result<EngineSettings, ChangeFault> {
        let changed = self.changed(change)?;
        let loaded = changed
            .loaded
            .map_err(|problems| changes::invalid(&problems))?;
        Ok(engine_settings(&loaded))
    }
}

fn compare(before: &Active, after: &Loaded) -> ReloadReport {
    let mut report = ReloadReport::default();
    for (name, settings) in &after.config.upstreams {
        match before.upstreams.get(name) {
            None => report.added.push(name.clone()),
            Some(old) if old != settings => report.changed.push(name.clone()),
            Some(_) => {}
        }
    }
    let gone = before
        .upstreams
        .keys()
        .filter(|name| !after.config.upstreams.contains_key(*name));
    report.removed = gone.cloned().collect();
    let (old, new) = (&before.settings, &after.config.gateway);
    for (key, changed) in [
        ("listen", old.listen != new.listen),
        ("data_dir", old.data_dir != new.data_dir),
        ("api_key", old.api_key != new.api_key),
        ("store", old.store != new.store),
        ("live", old.live != new.live),
        (
            "activity.enabled",
            old.activity.enabled != new.activity.enabled,
        ),
        ("receipts", old.receipts != new.receipts),
        ("telemetry", old.telemetry != new.telemetry),
        (
            "limits.connections",
            old.limits.connections != new.limits.connections,
        ),
        (
            "limits.header_bytes",
            old.limits.header_bytes != new.limits.header_bytes,
        ),
        (
            "limits.header_timeout",
            old.limits.header_timeout != new.limits.header_timeout,
        ),
        (
            "limits.write_timeout",
            old.limits.write_timeout != new.limits.write_timeout,
        ),
        (
            "limits.response_bytes",
            old.limits.response_bytes != new.limits.response_bytes,
        ),
    ] {
        if changed {
            report.needs_restart.push(key.to_owned());
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Regression for #8: every shipped deployment has a read-only configuration, and nobody was told.
    #[test]
    fn what_cannot_be_written_is_told_with_the_cause_and_a_remedy() {
        let check = |kind: io::ErrorKind, expect: bool| {
            let source = io::Error::from(kind);
            let cause = source.to_string();
            let path = "/etc/mcpproxy/mcpproxy.yaml.bak".into();
            let fault = mcpproxy_config::Error::Write { path, source };
            let ChangeFault::Failed { reason, hint } = change_fault(&fault, "") else {
                panic!("it is not the caller's fault");
            };
            assert!(reason.contains("mcpproxy.yaml.bak") && reason.ends_with(&cause));
            assert_eq!(hint.is_some_and(|hint| hint.contains("reload")), expect);
        };
        check(io::ErrorKind::ReadOnlyFilesystem, true);
        check(io::ErrorKind::PermissionDenied, true);
        check(io::ErrorKind::StorageFull, false);
    }
}
