//! `hook install`, `status` and `uninstall`: the agents' files before and after, and the command
//! that stands in them run as the agent would.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::support::{Gateway, Home};

/// Runs a command in a folder of the home.
async fn run(home: &Home, folder: &str, args: &[&str]) -> Output {
    let folder = home.path().join(folder);
    fs::create_dir_all(&folder).unwrap();
    home.command(args)
        .current_dir(folder)
        .output()
        .await
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn settings(home: &Home) -> PathBuf {
    home.path().join("shop/.claude/settings.json")
}

/// Runs the installed command of an event with a payload, as Claude Code would.
async fn hooked(home: &Home, event: &str, payload: &Value) -> Output {
    hooked_in(home, event, payload, &[]).await
}

/// The same, with variables that somebody has set.
async fn hooked_in(home: &Home, event: &str, payload: &Value, set: &[(&str, &str)]) -> Output {
    let settings = json(&settings(home));
    let line = &settings["hooks"][event][0]["hooks"][0]["command"];
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", line.as_str().unwrap()])
        .env_clear()
        .envs(set.iter().copied())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(payload.to_string().as_bytes())
        .await
        .unwrap();
    drop(stdin);
    child.wait_with_output().await.unwrap()
}

#[tokio::test]
async fn us3_1_and_5_the_hook_goes_into_the_project_and_out_again() {
    let home = Home::new(&json!({}));
    let before = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    fs::create_dir_all(home.path().join("shop/.claude")).unwrap();
    fs::write(settings(&home), before).unwrap();
    let args = [
        "hook",
        "install",
        "--agent",
        "claude-code",
        "--scope",
        "project",
    ];
    let dry = run(&home, "shop", &[&args[..], &["--dry-run"]].concat()).await;
    assert!(text(&dry.stdout).contains("+  \"hooks\": {"), "{dry:?}");
    assert_eq!(fs::read_to_string(settings(&home)).unwrap(), before);
    let done = run(&home, "shop", &args).await;
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let after = fs::read_to_string(settings(&home)).unwrap();
    assert!(
        after.contains("// mine") && after.contains("hook evaluate"),
        "{after}"
    );
    assert!(
        after.contains("PreToolUse") && after.contains("PostToolUse"),
        "{after}"
    );
    run(&home, "shop", &args).await;
    assert_eq!(fs::read_to_string(settings(&home)).unwrap(), after);
    let gone = run(&home, "shop", &["hook", "uninstall"]).await;
    assert_eq!(gone.status.code(), Some(0), "{gone:?}");
    assert_eq!(fs::read_to_string(settings(&home)).unwrap(), before);
}

#[tokio::test]
async fn an_unknown_agent_is_told_which_are_known() {
    let home = Home::new(&json!({}));
    let done = run(&home, "shop", &["hook", "install", "--agent", "emacs"]).await;
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    let said = text(&done.stderr);
    assert!(said.contains("unknown agent `emacs`"), "{said}");
    assert!(
        said.contains("claude-code") && said.contains("cursor"),
        "{said}"
    );
}

#[tokio::test]
async fn us3_3_what_is_installed_answers_without_a_gateway_as_it_was_told() {
    let payload = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "transcript_path": "/t",
        "tool_name": "Read", "tool_input": { "file_path": "/x" },
    });
    for (mode, expect) in [("--fail-open", ""), ("--fail-closed", "\"deny\"")] {
        let home = Home::new(&json!({}));
        let args = [
            "hook",
            "install",
            "--agent",
            "claude-code",
            "--scope",
            "project",
            mode,
        ];
        run(&home, "shop", &args).await;
        let said = hooked(&home, "PreToolUse", &payload).await;
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        let stdout = text(&said.stdout);
        assert!(stdout.contains(expect), "{stdout}");
        assert_eq!(stdout.is_empty(), expect.is_empty(), "{stdout}");
    }
}

/// Whoever can write a variable into a start-up file must not turn the hook off by it, nor lose the word
/// of what it could not ask about.
#[tokio::test]
async fn variables_do_not_choose_whom_an_installed_hook_asks() {
    let nowhere = tempfile::tempdir().unwrap();
    let elsewhere = nowhere.path().to_str().unwrap();
    let socket = format!("{elsewhere}/s");
    let payload = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "transcript_path": "/t",
        "tool_name": "Read", "tool_input": { "file_path": "/x" },
    });
    let home = Home::new(&json!({}));
    let at = ["--agent", "claude-code", "--scope", "project"];
    run(&home, "shop", &[&["hook", "install"][..], &at].concat()).await;
    let (data, usual) = (home.data(), home.path().join(".mcpproxy"));
    fs::create_dir_all(&usual).unwrap();
    let written = fs::read_to_string(settings(&home)).unwrap();
    let said = format!("--data-dir {}", data.display());
    assert!(written.contains(&said), "{written}");
    // As the usual folder stands in the file of a project.
    let shared = written.replace(&said, "--data-dir '~/.mcpproxy'");
    for (file, folder) in [(&written, &data), (&shared, &usual)] {
        fs::write(settings(&home), file).unwrap();
        let set = [
            ("HOME", home.path().to_str().unwrap()),
            ("MCPPROXY_DATA_DIR", elsewhere),
            ("MCPPROXY_SOCKET", &socket),
        ];
        let said = hooked_in(&home, "PreToolUse", &payload, &set).await;
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        let left = fs::read_to_string(folder.join("hook-gaps.jsonl")).unwrap();
        assert_eq!(left.lines().count(), 1, "{left}");
        assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn the_configured_mode_is_baked_in_and_a_difference_is_shown() {
    let home = Home::new(&json!({ "security": { "agent_hooks": { "fail_open": false } } }));
    run(
        &home,
        "shop",
        &["hook", "install", "--agent", "codex", "--agent", "goose"],
    )
    .await;
    let codex = fs::read_to_string(home.path().join(".codex/hooks.json")).unwrap();
    assert!(codex.contains("--fail-closed"), "{codex}");
    run(
        &home,
        "shop",
        &["hook", "install", "--agent", "codex", "--fail-open"],
    )
    .await;
    let shown = run(&home, "shop", &["hook", "status", "--agent", "codex"]).await;
    let shown = text(&shown.stdout);
    assert!(shown.contains("the configuration says closed"), "{shown}");
}

/// Nobody is to be talked into a weaker hook by what mends it, nor by the same command without its
/// switch (issue 5).
#[tokio::test]
async fn a_hook_that_fails_closed_is_not_loosened_unsaid() {
    let home = Home::new(&json!({}));
    let install = ["hook", "install", "--agent", "claude-code"];
    run(&home, "shop", &[&install[..], &["--fail-closed"]].concat()).await;
    let file = home.path().join(".claude/settings.json");
    let written = fs::read_to_string(&file).unwrap();
    fs::write(&file, written.replace("\"timeout\": 5", "\"timeout\": 4")).unwrap();
    let data = home.data();
    let expect = format!(
        "{} --fail-closed --data-dir {}",
        install.join(" "),
        data.display()
    );
    let expect = format!("run `mcpproxy {expect}`");
    for args in [&["hook", "status"][..], &["doctor"]] {
        let said = text(&run(&home, "shop", args).await.stdout);
        assert!(said.contains(&expect), "{said}");
    }
    let loosened = "now fails open; it failed closed before: add `--fail-closed` to keep that";
    let check = |mode: &'static [&'static str], said: bool| {
        let (home, args) = (&home, [&install[..], mode].concat());
        async move {
            let done = run(home, "shop", &args).await;
            let told = text(&done.stderr);
            assert_eq!(told.contains(loosened), said, "{mode:?}: {told}");
        }
    };
    check(&["--fail-closed"], false).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
    check(&["--dry-run"], true).await;
    check(&[], true).await;
    check(&[], false).await;
    check(&["--fail-closed"], false).await;
    check(&["--fail-open"], false).await;
}

/// A project is its repository, wherever in it one stands (issue 5).
#[tokio::test]
async fn the_root_of_the_repository_is_the_project() {
    let check = |git: &'static str, folder: &'static str, expect: &'static str| async move {
        let home = Home::new(&json!({}));
        match git {
            "" => {}
            // As a worktree and a submodule have it.
            _ if git.ends_with('+') => {
                let git = home.path().join(git.trim_end_matches('+'));
                fs::create_dir_all(git.parent().unwrap()).unwrap();
                fs::write(git, "gitdir: elsewhere\n").unwrap();
            }
            _ => fs::create_dir_all(home.path().join(git)).unwrap(),
        }
        let file = home.path().join(expect).join(".claude/settings.json");
        let named = file.display().to_string();
        let args = |verb| ["hook", verb, "--agent", "claude-code", "--scope", "project"];
        for done in ["changed", "nothing to be done"] {
            let said = run(&home, folder, &args("install")).await;
            let shown = text(&said.stdout);
            assert!(shown.contains(done) && shown.contains(&named), "{said:?}");
            let told = text(&said.stderr).contains("start the agent there");
            assert_eq!(told, folder != expect, "{said:?}");
        }
        let shown = text(&run(&home, folder, &["hook", "status"]).await.stdout);
        assert!(shown.contains(&named), "{shown}");
        assert_eq!(
            shown.contains("start the agent there"),
            folder != expect,
            "{shown}"
        );
        let doctor = text(&run(&home, folder, &["doctor"]).await.stdout);
        assert!(
            doctor.contains("Hooks: installed (claude-code)"),
            "{doctor}"
        );
        run(&home, folder, &args("uninstall")).await;
        assert!(!file.exists());
        let shown = text(&run(&home, folder, &["hook", "status"]).await.stdout);
        let none = format!(
            "no hook is installed for this user or in `{}`",
            home.path().join(expect).display()
        );
        assert!(shown.contains(&none), "{shown}");
    };
    check("shop/.git", "shop", "shop").await;
    check("shop/.git", "shop/a/b", "shop").await;
    check("shop/.git+", "shop/a", "shop").await;
    check("shop/a/.git+", "shop/a/b", "shop/a").await;
    check("", "shop/a", "shop/a").await;
    // The home folder of somebody who keeps their settings with git is nobody's project.
    check(".git", "shop/a", "shop/a").await;
}

/// What is written for a project that is the home folder is seen there and comes out (issue 5).
#[tokio::test]
async fn a_project_at_home_comes_out_again() {
    let home = Home::new(&json!({}));
    let args = |verb, agent| ["hook", verb, "--agent", agent, "--scope", "project"];
    let done = run(&home, "", &args("install", "copilot-cli")).await;
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    for all in [
        &["hook", "status"][..],
        &["hook", "status", "--agent", "copilot-cli"],
    ] {
        let shown = text(&run(&home, "", all).await.stdout);
        assert!(
            shown.contains("Copilot CLI (project): installed"),
            "{shown}"
        );
    }
    run(&home, "", &args("uninstall", "copilot-cli")).await;
    assert!(!home.path().join(".github/hooks/mcpproxy.json").exists());
    let done = run(&home, "", &args("install", "claude-code")).await;
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    let said = text(&done.stderr);
    assert!(said.contains("leave `--scope project` out"), "{said}");
    assert!(!home.path().join(".claude/settings.json").exists());
}

#[tokio::test]
async fn us3_4_status_says_what_is_installed_and_whether_the_gateway_is_there() {
    let gateway = Gateway::start(&json!({})).await;
    let home = &gateway.home;
    let none = run(home, "shop", &["hook", "status"]).await;
    assert!(
        text(&none.stdout).contains("no hook is installed"),
        "{none:?}"
    );
    run(home, "shop", &["hook", "install", "--agent", "claude-code"]).await;
    let shown = run(home, "shop", &["hook", "status", "--json"]).await;
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["gateway"]["reachable"], true);
    let hook = &shown["hooks"][0];
    assert_eq!(
        (&hook["agent"], &hook["scope"]),
        (&json!("claude-code"), &json!("user"))
    );
    assert_eq!(
        (&hook["sound"], &hook["runnable"]),
        (&json!(true), &json!(true))
    );
    // A command that asks elsewhere is looked for there.
    let file = home.path().join(".claude/settings.json");
    let written = fs::read_to_string(&file).unwrap();
    let data = home.data().display().to_string();
    let elsewhere = written.replace(&data, &format!("{data}-elsewhere"));
    assert_ne!(written, elsewhere);
    fs::write(&file, elsewhere).unwrap();
    let shown = run(home, "shop", &["hook", "status", "--json"]).await;
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["hooks"][0]["reachable"], false, "{shown}");
    fs::write(&file, written).unwrap();
    let untrusted = run(home, "shop", &["hook", "install", "--agent", "codex"]).await;
    assert!(text(&untrusted.stderr).contains("trusted"), "{untrusted:?}");
    let shown = run(home, "shop", &["hook", "status"]).await;
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    assert!(
        text(&shown.stdout).contains("until it is trusted"),
        "{shown:?}"
    );
}

/// One that hangs takes connections, and answers nobody.
#[tokio::test]
async fn status_gives_up_on_a_gateway_that_hangs() {
    let home = Home::new(&json!({}));
    fs::create_dir_all(home.data()).unwrap();
    let _silent = UnixListener::bind(home.data().join("mcpproxy.sock")).unwrap();
    run(
        &home,
        "shop",
        &["hook", "install", "--agent", "windsurf", "--fail-closed"],
    )
    .await;
    let shown = run(&home, "shop", &["hook", "status", "--json"]).await;
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["gateway"]["reachable"], false, "{shown}");
    // What is denied because nobody answers proves nothing, and is no gap either.
    let said = run(&home, "shop", &["doctor"]).await;
    let said = text(&said.stdout);
    assert!(
        said.contains("it denied without the gateway's answer"),
        "{said}"
    );
    assert!(!said.contains("could not be asked about"), "{said}");
}

#[tokio::test]
async fn all_that_are_found_are_installed_and_a_broken_one_stops_no_other() {
    let home = Home::new(&json!({}));
    for folder in [".cursor", ".gemini", ".kiro"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    let broken = home.path().join(".gemini/settings.json");
    fs::write(&broken, "{ \"a\": ").unwrap();
    let done = run(&home, "shop", &["hook", "install", "--all"]).await;
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    let said = text(&done.stderr);
    assert!(
        said.contains("line 1, column 8") && said.contains("hint:"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&broken).unwrap(), "{ \"a\": ");
    let done = text(&done.stdout);
    assert!(
        done.contains("Cursor (user)") && done.contains("Kiro (user)"),
        "{done}"
    );
}
