//! The hook: a component that is asked, and replaced while it is.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;

use mcpproxy_core::activity::Later;
use mcpproxy_core::security::{
    HealthStatus, HookCard, HookFault, OutsideHook, Phases, SecurityContext, SecurityDecision,
    Subject,
};

use crate::loaded::{Binary, Loaded, Question};
use crate::sandbox::Sandbox;
use crate::{Error, WasmSettings};

/// How often the file is looked at.
const WATCH: Duration = Duration::from_secs(2);

/// A security hook that is a WebAssembly component.
#[derive(Debug)]
pub struct WasmHook {
    card: HookCard,
    slot: Arc<Slot>,
    limit: u64,
    watched: AtomicBool,
}

/// What came of looking at the file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The file is the one that runs.
    Unchanged,
    /// Questions from now on go to the new component.
    Swapped,
}

/// Where the component is, and the one that runs.
#[derive(Debug)]
struct Slot {
    path: PathBuf,
    pin: Option<String>,
    /// What the component is told, JSON.
    config: Arc<str>,
    sandbox: Sandbox,
    current: ArcSwap<Loaded>,
    /// Why the file as it is now does not run, where it does not.
    trouble: Mutex<Option<String>>,
}

/// By which a change of the file is noticed before it is read.
type Stamp = Option<(SystemTime, u64)>;

impl WasmHook {
    /// Reads, compiles and tries a component. This takes some tenths of a second.
    pub fn new(
        id: impl Into<Arc<str>>,
        priority: u32,
        runs_on: Phases,
        settings: &WasmSettings,
    ) -> Result<Self, Error> {
        let config = &settings.config;
        config.check()?;
        let sandbox = Sandbox::new(config)?;
        let told = serde_json::Value::Object(config.settings.clone()).to_string();
        let binary = Binary::read(&settings.path, config.sha256.as_deref())?;
        let loaded = Loaded::new(binary, &settings.path, &sandbox, &told)?;
        let file = settings.path.file_name().unwrap_or_default();
        Ok(Self {
            card: HookCard {
                id: id.into(),
                name: "WebAssembly component",
                description: format!("asks the component {}", file.display()),
                priority,
                runs_on,
            },
            slot: Arc::new(Slot {
                path: settings.path.clone(),
                pin: config.sha256.clone(),
                config: told.into(),
                sandbox,
                current: ArcSwap::from_pointee(loaded),
                trouble: Mutex::default(),
            }),
            limit: config.max_body_size.bytes(),
            watched: AtomicBool::new(false),
        })
    }

    /// Looks at the file again and puts it to use if it is another one.
    ///
    /// A file that cannot be used changes nothing: what ran goes on, and health says why.
    pub async fn reload(&self) -> Result<Reload, Error> {
        let slot = Arc::clone(&self.slot);
        let reload = tokio::task::spawn_blocking(move || slot.reload());
        reload
            .await
            .map_err(|why| Error::Sandbox(why.to_string()))?
    }

    fn running(&self) -> HealthStatus {
        let digest = self.slot.current.load().digest.clone();
        let mut message = format!("it runs the component with SHA-256 {digest}");
        if let Some(trouble) = self.slot.trouble().as_deref() {
            message = format!("{message}, since the file cannot be used: {trouble}");
        }
        HealthStatus {
            healthy: true,
            message,
        }
    }
}

impl Slot {
    fn reload(&self) -> Result<Reload, Error> {
        let outcome = self.swap();
        *self.trouble() = outcome.as_ref().err().map(ToString::to_string);
        outcome
    }

    fn swap(&self) -> Result<Reload, Error> {
        let binary = Binary::read(&self.path, self.pin.as_deref())?;
        if binary.digest == self.current.load().digest {
            return Ok(Reload::Unchanged);
        }
        let loaded = Loaded::new(binary, &self.path, &self.sandbox, &self.config)?;
        self.current.store(Arc::new(loaded));
        Ok(Reload::Swapped)
    }

    fn stamp(&self) -> Stamp {
        let file = std::fs::metadata(&self.path).ok()?;
        Some((file.modified().ok()?, file.len()))
    }

    fn trouble(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the file from time to time until the hook is gone.
async fn watch(slot: Weak<Slot>, mut seen: Stamp) {
    loop {
        tokio::time::sleep(WATCH).await;
        let Some(slot) = slot.upgrade() else {
            return;
        };
        let look = tokio::task::spawn_blocking(move || {
            let stamp = slot.stamp();
            if stamp == seen {
                return seen;
            }
            match slot.reload() {
                Ok(Reload::Swapped) => tracing::info!(path = %slot.path.display(), "hook swapped"),
                Ok(Reload::Unchanged) => {}
                Err(why) => tracing::warn!(%why, "changed hook is not used"),
            }
            stamp
        });
        seen = look.await.unwrap_or(seen);
    }
}

impl OutsideHook for WasmHook {
    fn card(&self) -> &HookCard {
        &self.card
    }

    /// Begins to watch the file; the component itself was tried when the hook was made.
    fn start(&self) -> Later<'_, Result<(), HookFault>> {
        Box::pin(async {
            if !self.watched.swap(true, Ordering::Relaxed) {
                // Not what the file is now: it may have changed since it was read.
                tokio::spawn(watch(Arc::downgrade(&self.slot), None));
            }
            Ok(())
        })
    }

    fn ask<'a>(
        &'a self,
        context: &'a SecurityContext,
        subject: Subject<'a>,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        let question = Question {
            hook_id: Arc::clone(&self.card.id),
            config: Arc::clone(&self.slot.config),
            context: context.clone(),
            about: subject.into(),
            limit: self.limit,
        };
        let loaded = self.slot.current.load_full();
        let work = move |room| question.put(&loaded, room);
        Box::pin(self.slot.sandbox.run(context.timeout, work))
    }

    fn health(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(std::future::ready(Ok(self.running())))
    }
}
