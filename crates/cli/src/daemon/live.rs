//! The state that gateways share: where the configuration has it, and what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_config::Loaded;
use mcpproxy_core::{Id128, LiveStore};
use mcpproxy_engine::{Engine, OnLoss};
use mcpproxy_gateway::settings::{LiveSettings, OnLoss as Told};
use mcpproxy_store::{Error, LiveOptions, Redis};

/// How long the store may take to answer at the start.
const START: Duration = Duration::from_secs(5);

/// Opens the store that the configuration wants, if it wants one. One that does not answer at the
/// start is a mistake in its address more often than not.
pub(super) async fn store(loaded: &Loaded) -> Result<Option<Arc<dyn LiveStore>>> {
    let Some(settings) = &loaded.config.gateway.live else {
        return Ok(None);
    };
    let redis = Redis::open(&options(settings))?;
    redis.connected(START).await?;
    Ok(Some(Arc::new(redis)))
}

/// Says what is wrong with the settings of the store, if anything; nothing is connected to.
pub(crate) fn check(settings: &LiveSettings) -> Result<(), Error> {
    Redis::check(&options(settings))
}

/// Connects once to the store for live state, as a gateway does at its start.
pub(crate) async fn reach(settings: &LiveSettings) -> Result<(), Error> {
    Redis::open(&options(settings))?.connected(START).await
}

fn options(settings: &LiveSettings) -> LiveOptions {
    LiveOptions {
        url: settings.url.clone(),
        key: settings.key.clone(),
        patience: settings.timeout.into(),
    }
}

/// Has an engine share what it follows.
pub(super) fn sharing(
    engine: Engine,
    store: Arc<dyn LiveStore>,
    settings: &LiveSettings,
) -> Result<Engine> {
    let random: [u8; 16] = mcpproxy_mcp::seal::random().context("there is no randomness")?;
    let on_loss = match settings.on_loss {
        Told::Local => OnLoss::Local,
        Told::Closed => OnLoss::Closed,
    };
    Ok(engine.with_live(store, Id128::from_bytes(random), on_loss))
}
