//! `demo`: a real gateway, two real upstreams and an agent, with nothing installed.
//!
//! Nothing that is shown is made up: every answer is what came back over HTTP, and a step that
//! does not come out as it should ends the demo with an error.

mod agent;
mod narrator;
mod stage;
mod story;

use std::time::Duration;

use anyhow::Result;

use self::narrator::Narrator;
use self::stage::Stage;
use crate::args::Global;
use crate::commands::serve;
use crate::exit::{Exit, failed};

/// How long the demo may take, without its end.
const PATIENCE: Duration = Duration::from_secs(25);

/// Plays the demo.
pub(crate) fn run(global: &Global) -> Result<Exit> {
    let runtime = serve::runtime()?;
    let ended = runtime.block_on(play(global));
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

async fn play(global: &Global) -> Result<Exit> {
    let mut narrator = Narrator::new(global.format());
    let told = serve::until_told()?;
    let stage = Stage::open().await?;
    let played = tokio::select! {
        played = tokio::time::timeout(PATIENCE, story::tell(&stage, &mut narrator)) => played,
        () = told => Ok(Err(failed("the demo was interrupted", None))),
    };
    stage.close().await;
    // What was seen so far is shown also where the story broke off.
    let finished = narrator.finish();
    played.unwrap_or_else(|_| {
        let message = format!("the demo took longer than {} seconds", PATIENCE.as_secs());
        Err(failed(message, Some("is the machine very busy?")))
    })?;
    finished?;
    Ok(Exit::Fine)
}
