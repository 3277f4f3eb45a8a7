//! `serve`: runs the gateway until it is told to stop.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_control::Created;
use mcpproxy_core::{Later, PrincipalKind};
use mcpproxy_detect::{Audience, Context, Detector, Settings};
use mcpproxy_engine::Happening;
use mcpproxy_gateway::{Gateway, Listening, rest, serve};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Global, Serve};
use crate::daemon::{ConfigFiles, Daemon, SOCKET, configuration, flags, reload_and_log};
use crate::exit::{Exit, bad_input};
use crate::logging;

/// How long what goes on by itself may take once the gateway has ended.
const LAST: Duration = Duration::from_secs(1);

/// Runs the gateway.
pub(crate) fn run(global: &Global, serve: &Serve) -> Result<Exit> {
    thread::spawn(read_rules);
    let runtime = runtime()?;
    let ended = runtime.block_on(run_async(global, serve));
    // What somebody asked for and no longer hears, a trial of a configuration, say, ends with us.
    runtime.shutdown_timeout(LAST);
    ended
}

/// Reads the rules of the detectors ahead: they are half of what a start computes, and the first to
/// need them finds them read.
fn read_rules() {
    if let Ok(detector) = Detector::new(&Settings::default()) {
        let context = Context {
            audience: Some(Audience::Descriptor),
            ..Context::default()
        };
        drop(detector.text_in("read ahead", context));
    }
}

/// Makes the runtime that commands with a gateway use.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.context("cannot start the runtime")
}

async fn run_async(global: &Global, args: &Serve) -> Result<Exit> {
    let flags = flags(global, args.listen.as_deref());
    let loaded = configuration(&flags)?;
    let settings = loaded.config.gateway.clone();
    let level = logging::start(&settings.log);
    let daemon = Daemon::start(flags, loaded).await?;
    daemon.files.log_with(level);
    for notice in &daemon.loaded.notices {
        tracing::warn!("{notice}");
    }
    let socket = settings.data_dir.join(SOCKET);
    let listening = Listening::bind(&settings, Some(&socket))
        .await
        .map_err(|fault| {
            let hint = match &fault {
                mcpproxy_gateway::Error::Unprotected { .. } => {
                    "set `require_auth: true`, or listen on 127.0.0.1"
                }
                mcpproxy_gateway::Error::Runs { .. } => {
                    "`mcpproxy status` tells of it; stop it, or choose another with `--data-dir`"
                }
                _ => "another program may use it; choose another with `--listen`",
            };
            bad_input(fault.to_string(), Some(hint))
        })?;
    let address = listening.address;
    let listening = with_pages(listening, &daemon.gateway);
    let scheme = settings.scheme();
    let clock = &daemon.gateway.clock;
    let announce = |what: &str| logging::announce(settings.log.format, &**clock, what);
    announce(&format!("mcpproxy listens on {scheme}://{address}/mcp"));
    if daemon.key == Created::New {
        let file = settings.data_dir.join("api_key");
        announce(&format!("an API key was made in {}", file.display()));
    }
    tokio::spawn(Daemon::watch(
        Arc::clone(&daemon.files),
        daemon.loaded.watch.clone(),
    ));
    tokio::spawn(reload_on_hangup(Arc::clone(&daemon.files)));
    let engine = &daemon.gateway.engine;
    engine.chronicle(Happening::Started).await;
    serve(Arc::clone(&daemon.gateway), listening, until_told()?).await;
    engine.chronicle(Happening::Stopped).await;
    daemon.finish().await;
    tracing::info!("stopped");
    Ok(Exit::Fine)
}

/// Adds the dashboard, with nothing but the REST interface behind it.
fn with_pages(listening: Listening, gateway: &Arc<Gateway>) -> Listening {
    let control = Arc::clone(gateway.access.control());
    let is_key = move |presented: &str| {
        let known = control.authenticate(presented);
        known.is_some_and(|who| who.kind == PrincipalKind::Owner)
    };
    listening.with_pages(mcpproxy_web::app(mcpproxy_web::Parts {
        api: rest::router(Arc::clone(gateway)),
        is_key: Arc::new(is_key),
        clock: Arc::clone(&gateway.clock),
        others: others(gateway),
    }))
}

/// Returns with whom the dashboard shares its logins, where gateways act as one.
fn others(gateway: &Arc<Gateway>) -> Option<mcpproxy_web::Others> {
    let store = Arc::clone(gateway.live()?);
    let teller = Arc::clone(gateway);
    let tell = move |login| -> Later<'static, ()> {
        let gateway = Arc::clone(&teller);
        Box::pin(async move { gateway.logged_out(login).await })
    };
    Some(mcpproxy_web::Others {
        store,
        key: gateway.access.control().api_key().clone(),
        tell: Arc::new(tell),
        ended: gateway.logouts(),
    })
}

/// Resolves at SIGINT or SIGTERM.
pub(crate) fn until_told() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

async fn reload_on_hangup(files: Arc<ConfigFiles>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return;
    };
    while hangup.recv().await.is_some() {
        reload_and_log(&files);
    }
}
