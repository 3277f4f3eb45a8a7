//! The pipeline of hooks as the configuration has it: hooks are made, held to their limits and
//! started. What cannot be started stops the start, or keeps the pipeline that is in force.

mod deferred;
mod made;

use std::sync::{Arc, Mutex, PoisonError};

use mcpproxy_config::{HookSettings, Loaded};
use mcpproxy_core::Clock;
use mcpproxy_engine::{Engine, Registry};
use mcpproxy_hooks::{Entry, FailureMode};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use self::deferred::Deferred;
use self::made::made;

/// What the pipeline in force was made of.
#[derive(Debug, Default)]
pub(crate) struct Pipeline(Mutex<Vec<HookSettings>>);

impl Pipeline {
    /// Puts the pipeline of a configuration in force, or says why that cannot be. One that is the
    /// same stays, with everything it has learned about its hooks.
    pub(crate) async fn apply(
        &self,
        loaded: &Loaded,
        engine: &Engine,
        clock: &Arc<dyn Clock>,
    ) -> Result<(), String> {
        let wanted = loaded.config.security.pipeline();
        if *self.lock() == wanted {
            return Ok(());
        }
        let registry = started(&wanted, engine, clock).await?;
        engine.set_hooks(registry.map(Arc::new));
        *self.lock() = wanted;
        Ok(())
    }

    /// The same for callers that cannot wait. Where one thread does everything, hooks cannot be
    /// started meanwhile.
    pub(crate) fn apply_now(
        &self,
        loaded: &Loaded,
        engine: &Engine,
        clock: &Arc<dyn Clock>,
    ) -> Result<(), String> {
        if *self.lock() == loaded.config.security.pipeline() {
            return Ok(());
        }
        let runtime = Handle::current();
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return Err("`security.hooks` changed, which takes effect after a restart".to_owned());
        }
        block_in_place(|| runtime.block_on(self.apply(loaded, engine, clock)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<HookSettings>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn started(
    wanted: &[HookSettings],
    engine: &Engine,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Registry>, String> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut entries = Vec::with_capacity(wanted.len());
    for settings in wanted {
        entries.push(held(settings, clock)?);
    }
    let metrics = Arc::clone(engine.metrics());
    let registry = Registry::start(entries, metrics, clock).await;
    registry.map(Some).map_err(|fault| fault.to_string())
}

/// Makes one hook; one that cannot be made and is fail-open is made later.
fn held(settings: &HookSettings, clock: &Arc<dyn Clock>) -> Result<Entry, String> {
    entry(settings, clock).or_else(|why| match settings.limits() {
        // Why is said when it cannot be started either.
        Ok(limits) if limits.failure_mode == FailureMode::Open => Ok(Entry {
            hook: Arc::new(Deferred::new(settings, clock)),
            limits,
        }),
        Ok(_) | Err(_) => Err(why),
    })
}

/// Makes one hook as the configuration has it.
pub(crate) fn entry(settings: &HookSettings, clock: &Arc<dyn Clock>) -> Result<Entry, String> {
    let id = &settings.id;
    let limits = settings.limits();
    Ok(Entry {
        hook: made(settings, clock).map_err(|why| format!("hook `{id}` cannot be made: {why}"))?,
        limits: limits.map_err(|why| format!("hook `{id}`: {why}"))?,
    })
}
