//! The state that gateways share: where the configuration has it, and what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_config::Loaded;
use mcpproxy_core::{Id128, LiveStore};
use mcpproxy_engine::{Engine, OnLoss};
use mcpproxy_gateway::settings::{LiveSettings, OnLoss as Told};
use mcpproxy_store::{LiveOptions, Redis};

/// How long the store may take to answer at the start.
const START: Duration = Duration::from_secs(5);

/// Opens the store that the configuration wants, if it wants one. One that does not answer at the
/// start is a mistake in its address more often than not.
pub(super) async fn store(loaded: &Loaded) -> Result<Option<Arc<dyn LiveStore>>> {
    let Some(settings) = &loaded.config.gateway.live else {
        return Ok(None);
    };
    let redis = Redis::open(&LiveOptions {
        url: settings.url.clone(),
        key: settings.key.clone(),
        patience: settings.timeout.into(),
    })?;
    redis.connected(START).await?;
    Ok(Some(Arc::new(redis)))
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
