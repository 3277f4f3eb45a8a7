//! The files of `tests/capabilities`: for each capability an attack and a twin that means no harm, in
//! one conversation through the real gateway. With the defence off the attack arrives. What a
//! conversation of one caller cannot show is a test of its own there.

#[path = "../../../../tests/capabilities/08-context-integrity.rs"]
mod context_integrity;
#[path = "../../../../tests/capabilities/07-tokens-and-sessions.rs"]
mod tokens_and_sessions;

use std::path::{Path, PathBuf};

use mcpproxy_config::read_scenario;

use crate::scenarios::{Cast, Mode, Stage, Turn};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/capabilities");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let is_scenario = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "yaml");
    let mut files: Vec<_> = files.filter(is_scenario).collect();
    files.sort();
    files
}

async fn play(mode: Mode) {
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        // What an upstream turns into stands behind the scenario, as a document of its own.
        let (scenario, turn) = match text.split_once("\n---\n") {
            Some((scenario, turn)) => (scenario, Some(turn)),
            None => (&*text, None),
        };
        let plan = read_scenario(&path, scenario).unwrap_or_else(|wrong| panic!("{wrong}"));
        let turn: Option<Turn> = turn.map(|turn| serde_json::from_str(turn).unwrap());
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let cast = Cast {
            turn,
            strangers: true,
        };
        let stage = Stage::start_as(file, plan, mode, cast).await;
        stage.play().await;
    }
}

#[tokio::test]
async fn every_attack_is_stopped_and_its_twin_passes() {
    play(Mode::Proxy).await;
}

#[tokio::test]
async fn with_the_defence_off_every_attack_arrives() {
    play(Mode::Open).await;
}
