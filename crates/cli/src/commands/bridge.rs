//! `stdio`: connects an agent that knows only stdio to the running gateway, or runs one of its own.

use std::io::ErrorKind;

use anyhow::{Context as _, Result};
use http::Request;
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use mcpproxy_core::Principal;
use mcpproxy_gateway::lines;
use mcpproxy_gateway::settings::RoutingMode;
use tokio::io::AsyncWriteExt as _;

use crate::args::{Global, Mode, Stdio};
use crate::commands::{client, serve};
use crate::daemon::{Daemon, flags};
use crate::exit::{Exit, failed};

/// Serves standard input and output.
pub(crate) fn run(global: &Global, stdio: &Stdio) -> Result<Exit> {
    if stdio.standalone {
        let runtime = serve::runtime()?;
        let ended = runtime.block_on(standalone(global, stdio.mode));
        // A read of standard input cannot be given up; the process ends without waiting for it.
        runtime.shutdown_background();
        return ended;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(bridge(global, stdio.mode));
    runtime.shutdown_background();
    ended
}

async fn standalone(global: &Global, mode: Option<Mode>) -> Result<Exit> {
    let daemon = Daemon::start(flags(global, None))?;
    let settings = &daemon.loaded.config.gateway;
    serve::start_logging(&settings.log, &daemon.files);
    let mode = match mode {
        Some(Mode::Call) => RoutingMode::Call,
        Some(Mode::All) => RoutingMode::All,
        None => settings.routing_mode,
    };
    let gateway = std::sync::Arc::clone(&daemon.gateway);
    let who = Principal::local();
    let served = lines::serve(gateway, who, mode, tokio::io::stdin(), tokio::io::stdout());
    tokio::pin!(served);
    tokio::select! {
        () = &mut served => {}
        () = serve::until_told()? => {
            daemon.gateway.stop();
            served.await;
        }
    }
    daemon.gateway.fleet.retire();
    crate::daemon::finish(&daemon.gateway).await;
    Ok(Exit::Fine)
}

/// Copies bytes between the standard streams and the gateway's line door.
async fn bridge(global: &Global, mode: Option<Mode>) -> Result<Exit> {
    let stream = client::connect(&client::socket(global)).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection.with_upgrades());
    let path = match mode {
        None => "/mcp",
        Some(Mode::Call) => "/mcp/call",
        Some(Mode::All) => "/mcp/all",
    };
    let request = Request::builder()
        .uri(path)
        .header("host", "localhost")
        .header("connection", "upgrade")
        .header("upgrade", "mcp-lines")
        .body(Empty::<bytes::Bytes>::new())?;
    let response = sender.send_request(request).await?;
    if response.status() != http::StatusCode::SWITCHING_PROTOCOLS {
        let message = format!("the gateway answered {}", response.status());
        return Err(failed(message, Some("is it of the same version?")));
    }
    let upgraded = hyper::upgrade::on(response)
        .await
        .context("the gateway hung up")?;
    let (mut from, mut to) = tokio::io::split(TokioIo::new(upgraded));
    let up = async {
        tokio::io::copy(&mut tokio::io::stdin(), &mut to).await?;
        to.shutdown().await
    };
    let down = async {
        let mut stdout = tokio::io::stdout();
        tokio::io::copy(&mut from, &mut stdout).await?;
        stdout.flush().await
    };
    // The gateway closes once everything in flight is answered; until then answers are passed on.
    tokio::pin!(up, down);
    tokio::select! {
        ended = &mut down => unless_gone(ended)?,
        ended = &mut up => {
            unless_gone(ended)?;
            unless_gone(down.await)?;
        }
    }
    Ok(Exit::Fine)
}

/// Takes it for an end that the other side has stopped: what it had not read yet makes a write or
/// a read fail, and everything that it said was passed on by then.
fn unless_gone(ended: std::io::Result<()>) -> std::io::Result<()> {
    match ended {
        Err(fault)
            if matches!(
                fault.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            ) =>
        {
            Ok(())
        }
        ended => ended,
    }
}
