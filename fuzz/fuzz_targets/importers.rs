//! Agents' configuration files: any text is imported or left alone with a problem, and planning on
//! what a plan wrote changes nothing.

#![no_main]

use std::fs;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mcpproxy_agents::{
    AgentKind, Endpoint, Launch, MissingFolder, Os, Places, apply, blank, discover, plan,
};

fuzz_target!(|data: (u8, &str)| {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let root = FOLDER
        // In memory where there is such a folder: every change is synced.
        .get_or_init(|| {
            let quick = tempfile::tempdir_in("/dev/shm");
            quick.or_else(|_| tempfile::tempdir()).expect("a folder")
        })
        .path();
    let places = Places::usual(&root.join("home"), &root.join("project"), Os::Linux);
    let (which, text) = data;
    let agent = AgentKind::ALL[usize::from(which) % AgentKind::ALL.len()];
    let file = root.join("home").join("none");
    let path = blank(agent, &places).map_or(file, |found| found.path);
    fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    let bridge = Launch {
        command: "/usr/bin/mcpproxy".to_owned(),
        args: vec!["stdio".to_owned()],
    };
    let url = "http://127.0.0.1:8080/mcp".to_owned();
    let endpoint = Endpoint::Http { url, bridge };
    let first = plan(&discover(&places), &endpoint);
    let backups = root.join("backups");
    apply(&first, &backups, "now", MissingFolder::Create).expect("a plan that can be carried out");
    let again = plan(&discover(&places), &endpoint);
    for file in again.changes() {
        panic!("planned twice: {}", again.diff(&file.path).unwrap_or_default());
    }
    fs::remove_dir_all(root.join("backups")).ok();
    fs::remove_file(&path).expect("the file is still there");
});
