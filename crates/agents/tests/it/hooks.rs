//! Hooks go into the files of all agents and come out again, on a real disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use mcpproxy_agents::hook::{self, FailMode, HookAgent, HookCommand, HookPlan, HookStatus, Trust};
use mcpproxy_agents::{Error, Places, Scope};
use proptest::prelude::*;

use crate::home::Home;

fn put(home: &Home, place: &str, text: &str) -> PathBuf {
    home.write(place, text);
    home.path(place)
}

/// Makes a program that can be run, in a folder with a blank in its name.
fn command(home: &Home, fail: FailMode) -> HookCommand {
    let program = put(home, "home/my apps/mcpproxy", "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    HookCommand {
        program: program.display().to_string(),
        fail,
        options: Vec::new(),
    }
}

fn install(home: &Home, agent: HookAgent, scope: Scope, fail: FailMode) -> Vec<PathBuf> {
    let command = command(home, fail);
    let plan = hook::plan_install(agent, scope, &home.places(), &command).unwrap();
    carry_out(home, &plan)
}

fn uninstall(home: &Home, agent: HookAgent, scope: Scope) -> Vec<PathBuf> {
    let plan = hook::plan_uninstall(agent, scope, &home.places(), &home.backups()).unwrap();
    carry_out(home, &plan)
}

fn carry_out(home: &Home, plan: &HookPlan) -> Vec<PathBuf> {
    hook::carry_out(plan, &home.backups(), "2026-01-01T00-00-00Z").unwrap()
}

fn status(home: &Home, agent: HookAgent, scope: Scope) -> HookStatus {
    hook::status(agent, scope, &home.places())
}

/// Returns a scope in which the agent has hooks.
fn scope_of(agent: HookAgent) -> Scope {
    if agent == HookAgent::ClaudeAgentSdk {
        Scope::Project
    } else {
        Scope::User
    }
}

#[test]
fn every_agent_is_installed_soundly_once_and_comes_out_without_a_trace() {
    for agent in HookAgent::ALL {
        for fail in [FailMode::Open, FailMode::Closed] {
            let home = Home::empty();
            let scope = scope_of(agent);
            let written = install(&home, agent, scope, fail);
            assert!(!written.is_empty(), "{agent}");
            let found = status(&home, agent, scope);
            assert_eq!(found.faults, Vec::<String>::new(), "{agent}");
            assert!(found.is_installed && found.is_runnable, "{agent}");
            assert_eq!(found.fail, Some(fail), "{agent}");
            assert_eq!(found.files, written, "{agent}");
            assert_eq!(found.also_in, Vec::<PathBuf>::new(), "{agent}");
            for path in &written {
                let text = fs::read_to_string(path).unwrap();
                assert!(!text.contains("8080") && !text.contains("http"), "{text}");
            }
            assert_eq!(install(&home, agent, scope, fail), [] as [PathBuf; 0]);
            assert_eq!(uninstall(&home, agent, scope), written, "{agent}");
            assert!(written.iter().all(|path| !path.exists()), "{agent}");
            assert!(!status(&home, agent, scope).is_installed, "{agent}");
            assert_eq!(uninstall(&home, agent, scope), [] as [PathBuf; 0]);
        }
    }
}

#[test]
fn agents_that_can_are_told_to_fail_closed() {
    let check = |agent: HookAgent, mark: &str| {
        let home = Home::empty();
        let text = |written: Vec<PathBuf>| fs::read_to_string(&written[0]).unwrap();
        let open = text(install(&home, agent, scope_of(agent), FailMode::Open));
        let closed = text(install(&home, agent, scope_of(agent), FailMode::Closed));
        assert!(
            !open.contains(mark) && closed.contains(mark),
            "{agent}: {closed}"
        );
    };
    check(HookAgent::ClaudeCode, r#""onFailure": "block""#);
    check(HookAgent::Cursor, r#""failClosed": true"#);
    check(HookAgent::Goose, r#""on_failure": "block""#);
    check(HookAgent::ClaudeAgentSdk, r#"ON_FAILURE = "block""#);
    check(HookAgent::OpenCode, r#"ON_FAILURE: string = "block""#);
}

#[test]
fn a_file_changed_by_both_keeps_what_is_theirs() {
    let home = Home::empty();
    let agent = HookAgent::ClaudeCode;
    let path = put(&home, "home/.claude/settings.json", "{ \"hooks\": { } }");
    install(&home, agent, Scope::User, FailMode::Open);
    install(&home, agent, Scope::User, FailMode::Closed);
    uninstall(&home, agent, Scope::User);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ \"hooks\": { } }");
    install(&home, agent, Scope::User, FailMode::Open);
    let theirs = fs::read_to_string(&path).unwrap();
    fs::write(&path, theirs.replacen('{', "{\n  \"model\": \"x\",", 1)).unwrap();
    uninstall(&home, agent, Scope::User);
    let left = fs::read_to_string(&path).unwrap();
    assert!(
        left.contains("\"model\": \"x\"") && !left.contains("mcpproxy"),
        "{left}"
    );
}

#[test]
fn what_is_broken_or_somebody_elses_stays() {
    let check = |agent: HookAgent, place: &str, text: &str, expect: &str| {
        let home = Home::empty();
        let path = put(&home, place, text);
        let command = command(&home, FailMode::Open);
        let plan = hook::plan_install(agent, Scope::User, &home.places(), &command);
        let error = plan.unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        assert!(
            error
                .to_string()
                .contains(place.rsplit('/').next().unwrap())
        );
        assert!(error.remedy().is_some(), "{error}");
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    };
    let settings = "home/.claude/settings.json";
    check(
        HookAgent::ClaudeCode,
        settings,
        "{\n  \"a\": ",
        "line 2, column 8",
    );
    check(
        HookAgent::ClaudeCode,
        settings,
        "{\"hooks\": 3}",
        "`hooks` is not a map",
    );
    let script = "home/Documents/Cline/Hooks/PreToolUse";
    check(
        HookAgent::Cline,
        script,
        "#!/bin/sh\n",
        "was not written by mcpproxy",
    );
    check(
        HookAgent::Cursor,
        "home/.cursor/hooks.json",
        "[]",
        "is not a map",
    );
}

#[test]
fn a_scope_without_hooks_says_so() {
    let home = Home::empty();
    let command = command(&home, FailMode::Open);
    let agent = HookAgent::ClaudeAgentSdk;
    let error = hook::plan_install(agent, Scope::User, &home.places(), &command).unwrap_err();
    assert!(matches!(error, Error::NoHook { .. }) && error.to_string().contains("project"));
}

#[test]
fn scripts_can_be_run_and_a_script_that_cannot_is_a_fault() {
    let home = Home::empty();
    let written = install(&home, HookAgent::Cline, Scope::User, FailMode::Open);
    for path in &written {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100, "{}", path.display());
    }
    fs::set_permissions(&written[0], fs::Permissions::from_mode(0o644)).unwrap();
    let faults = status(&home, HookAgent::Cline, Scope::User).faults;
    assert!(faults[0].contains("chmod +x"), "{faults:?}");
}

#[test]
fn status_says_what_is_wrong() {
    let check = |agent: HookAgent, from: &str, to: &str, expect: &str| {
        let home = Home::empty();
        let written = install(&home, agent, scope_of(agent), FailMode::Open);
        let text = fs::read_to_string(&written[0]).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&written[0], text.replacen(from, to, 1)).unwrap();
        let found = status(&home, agent, scope_of(agent));
        assert!(!found.is_sound() && found.is_installed);
        let faults = found.faults.join("; ");
        assert!(faults.contains(expect), "{faults}");
    };
    let claude = HookAgent::ClaudeCode;
    check(claude, "Read|Glob", "Glob", "`PreToolUse`");
    check(
        claude,
        "\"timeout\": 5",
        "\"timeout\": 1",
        "before it has answered",
    );
    check(
        claude,
        "{",
        "{\"disableAllHooks\": true,",
        "`disableAllHooks`",
    );
    check(claude, "my apps/mcpproxy", "gone/mcpproxy", "is not there");
    check(claude, " --fail-open", "", "does not say what to answer");
    let cursor = HookAgent::Cursor;
    check(
        cursor,
        "\"hooks\": {",
        "\"hooks\": { \"onSave\": [],",
        "`onSave`",
    );
    check(cursor, "{", "{ \"a\": \"x//y\",", "`//`");
    check(cursor, "\"matcher\"", "\"match\"", "`preToolUse`");
    check(cursor, "\"version\": 1", "\"version\": 2", "\"version\": 1");
    check(HookAgent::Codex, "{", "{ \"note\": 1,", "`note`");
    check(HookAgent::Codex, "{", "{ // ours\n", "strict JSON");
    let gemini = HookAgent::GeminiCli;
    check(
        gemini,
        "{",
        "{ \"hooksConfig\": { \"enabled\": false },",
        "`hooksConfig.enabled`",
    );
    check(gemini, "5000", "1500", "before it has answered");
    check(HookAgent::Goose, "mcpproxy' hook", "x' look", "hooks.json");
    check(HookAgent::OpenCode, "JSON.parse", "eval", "the text");
    check(
        HookAgent::CopilotCli,
        "\"timeoutSec\": 5",
        "\"timeoutSec\": 2",
        "before it has",
    );
}

/// Whoever does what a fault says must get back what was there, and no weaker (issue 5).
#[test]
fn what_mends_a_hook_keeps_how_it_fails_and_whom_it_asks() {
    let check = |(scope, fail), data: &str, expect: &str| {
        let (home, agent) = (Home::empty(), HookAgent::ClaudeCode);
        let mut command = command(&home, fail);
        let usual = home.path("home/.mcpproxy").display().to_string();
        command.options = vec!["--data-dir".to_owned(), data.replace("USUAL", &usual)];
        let plan = hook::plan_install(agent, scope, &home.places(), &command).unwrap();
        let written = carry_out(&home, &plan);
        let text = fs::read_to_string(&written[0]).unwrap();
        fs::write(
            &written[0],
            text.replace("\"timeout\": 5", "\"timeout\": 4"),
        )
        .unwrap();
        let found = status(&home, agent, scope);
        let expect = format!("mcpproxy hook install --agent claude-code{expect}");
        assert_eq!(found.remedy(), expect);
        let told = format!("run `{expect}` again");
        let faults = found.faults.iter();
        assert!(faults.clone().all(|fault| fault.contains(&told)) && faults.len() == 3);
    };
    let (user, project) = (Scope::User, Scope::Project);
    check((user, FailMode::Open), "USUAL", "");
    check((user, FailMode::Closed), "USUAL", " --fail-closed");
    let both = " --scope project --fail-closed";
    check((project, FailMode::Closed), "~/.mcpproxy", both);
    let elsewhere = " --fail-closed --data-dir '/srv/my data'";
    check((user, FailMode::Closed), "/srv/my data", elsewhere);
}

/// Agents run all handlers of a group, so that one of the user's beside ours takes nothing away
/// (issue 5).
#[test]
fn a_handler_of_somebody_else_in_our_group_is_no_fault() {
    let check = |more: &str, sound: bool| {
        let home = Home::empty();
        let written = install(&home, HookAgent::ClaudeCode, Scope::User, FailMode::Open);
        let text = fs::read_to_string(&written[0]).unwrap();
        let mut root: serde_json::Value = serde_json::from_str(&text).unwrap();
        let group = &mut root["hooks"]["PreToolUse"][0];
        let ours = group["hooks"][0].clone();
        let mut late = ours.clone();
        late["timeout"] = 1.into();
        match more {
            "matcher" => group["matcher"] = "Read".into(),
            "changed" => group["hooks"][0] = late.clone(),
            _ => {}
        }
        let more = match more {
            "ours" => ours,
            "ours, changed" => late,
            _ => serde_json::json!({ "type": "command", "command": "mine" }),
        };
        group["hooks"].as_array_mut().unwrap().push(more);
        fs::write(&written[0], root.to_string()).unwrap();
        let found = status(&home, HookAgent::ClaudeCode, Scope::User);
        assert_eq!(found.is_sound(), sound, "{:?}", found.faults);
    };
    check("theirs", true);
    check("matcher", false);
    check("changed", false);
    check("ours", false);
    check("ours, changed", false);
}

#[test]
fn status_of_a_broken_file_names_the_place() {
    let home = Home::empty();
    home.write("home/.gemini/settings.json", "{\n  \"hooks\": [");
    let all = hook::status_all(&home.places());
    assert_eq!(all.len(), 1);
    assert!(!all[0].is_installed && all[0].faults[0].contains("line 2, column 13"));
}

#[test]
fn a_hook_that_runs_twice_is_seen() {
    let home = Home::empty();
    let claude = install(&home, HookAgent::ClaudeCode, Scope::User, FailMode::Open);
    install(&home, HookAgent::Cursor, Scope::User, FailMode::Open);
    let project = install(&home, HookAgent::Cursor, Scope::Project, FailMode::Open);
    let found = status(&home, HookAgent::Cursor, Scope::User);
    assert_eq!(found.also_in, [project, claude].concat());
}

#[test]
fn at_home_the_files_of_both_scopes_are_looked_at_once() {
    let home = Home::empty();
    install(&home, HookAgent::ClaudeCode, Scope::User, FailMode::Open);
    let mut places = home.places();
    places.project.clone_from(&places.home);
    let all = hook::status_all(&places);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].also_in, Vec::<PathBuf>::new());
}

/// What is written for a project that is the home folder is found there, and refused where it would
/// be the user's own file (issue 5).
#[test]
fn at_home_a_project_has_only_what_is_not_the_users() {
    for agent in HookAgent::ALL {
        let home = Home::empty();
        let mut places = home.places();
        places.project.clone_from(&places.home);
        let command = command(&home, FailMode::Open);
        let files = |scope| hook::status(agent, scope, &places).files;
        let plan = hook::plan_install(agent, Scope::Project, &places, &command);
        if files(Scope::User) == files(Scope::Project) {
            let error = plan.unwrap_err().to_string();
            assert!(error.contains("leave `--scope project` out"), "{error}");
            continue;
        }
        carry_out(&home, &plan.unwrap());
        let all = hook::status_all(&places);
        let found: Vec<_> = all.iter().map(|it| (it.agent, it.scope)).collect();
        assert_eq!(found, [(agent, Scope::Project)]);
        assert_eq!(all[0].also_in, Vec::<PathBuf>::new(), "{agent}");
    }
}

#[test]
fn at_home_a_file_that_two_scopes_share_is_told_of_once() {
    let home = Home::empty();
    let claude = install(&home, HookAgent::ClaudeCode, Scope::User, FailMode::Open);
    install(&home, HookAgent::Cursor, Scope::User, FailMode::Open);
    let mut places = home.places();
    places.project.clone_from(&places.home);
    let found = hook::status(HookAgent::Cursor, Scope::User, &places);
    assert_eq!(found.also_in, claude);
}

#[test]
fn codex_runs_only_what_is_trusted() {
    let home = Home::empty();
    let written = install(&home, HookAgent::Codex, Scope::User, FailMode::Open);
    let trust = || status(&home, HookAgent::Codex, Scope::User).trust;
    assert_eq!(trust(), Trust::Missing);
    let state = |hashes: [&str; 2]| {
        let path = written[0].display();
        let labels = ["pre_tool_use", "post_tool_use"];
        let tables = labels.iter().zip(hashes).map(|(label, hash)| {
            format!("[hooks.state.\"{path}:{label}:0:0\"]\ntrusted_hash = \"{hash}\"\n")
        });
        home.write("home/.codex/config.toml", &tables.collect::<String>());
    };
    state(["sha256:00", "sha256:00"]);
    assert_eq!(trust(), Trust::Unknown);
}

#[test]
fn codex_is_found_where_its_variable_says() {
    let home = Home::empty();
    let places = Places {
        codex_home: home.path("elsewhere"),
        ..home.places()
    };
    assert!(!hook::is_present(HookAgent::Codex, &places));
    home.write("elsewhere/config.toml", "");
    assert!(hook::is_present(HookAgent::Codex, &places));
    let files = |scope| hook::status(HookAgent::Codex, scope, &places).files;
    assert_eq!(files(Scope::User), [home.path("elsewhere/hooks.json")]);
    assert_eq!(files(Scope::Project), [home.path("shop/.codex/hooks.json")]);
}

#[test]
fn what_switches_hooks_off_in_another_file_is_found() {
    let check = |agent: HookAgent, file: &str, text: &str, expect: Option<&str>| {
        let home = Home::empty();
        install(&home, agent, Scope::User, FailMode::Open);
        home.write(file, text);
        let status = status(&home, agent, Scope::User);
        let named = home.path(file).display().to_string();
        let found = status.faults.iter().find(|fault| fault.contains(&named));
        let found = found.map(|fault| expect.is_some_and(|expect| fault.contains(expect)));
        assert_eq!(found, expect.map(|_| true), "{file}: {:?}", status.faults);
        assert_eq!(status.is_sound(), expect.is_none(), "{file}");
    };
    let (claude, gemini) = (HookAgent::ClaudeCode, HookAgent::GeminiCli);
    let off = "{\"disableAllHooks\": true}";
    for file in [
        "shop/.claude/settings.json",
        "shop/.claude/settings.local.json",
    ] {
        check(claude, file, off, Some("`disableAllHooks`"));
        check(claude, file, "{\"disableAllHooks\": false}", None);
        check(claude, file, "{", None);
    }
    for agent in [HookAgent::CopilotCli, HookAgent::VsCode] {
        for file in [
            "home/.copilot/settings.json",
            "shop/.github/copilot/settings.json",
        ] {
            check(agent, file, off, Some("`disableAllHooks`"));
            check(agent, file, "{}", None);
        }
    }
    let file = "shop/.gemini/settings.json";
    let off = "{\"hooksConfig\": {\"enabled\": false}}";
    check(gemini, file, off, Some("`hooksConfig.enabled`"));
    check(gemini, file, "{\"hooksConfig\": {\"enabled\": true}}", None);
}

#[test]
fn a_hook_that_stands_twice_in_one_file_is_told() {
    let home = Home::empty();
    let written = install(&home, HookAgent::CopilotCli, Scope::User, FailMode::Open);
    let text = fs::read_to_string(&written[0]).unwrap();
    let mut root: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = root["hooks"]["preToolUse"].as_array_mut().unwrap();
    list.push(list[0].clone());
    fs::write(&written[0], root.to_string()).unwrap();
    let found = status(&home, HookAgent::CopilotCli, Scope::User).faults;
    assert!(
        found
            .iter()
            .any(|fault| fault.contains("runs our hook 2 times")),
        "{found:?}"
    );
    // Installed again, it stands there once.
    install(&home, HookAgent::CopilotCli, Scope::User, FailMode::Open);
    let found = status(&home, HookAgent::CopilotCli, Scope::User).faults;
    assert_eq!(found, [""; 0]);
}

#[test]
fn agents_are_found_by_what_they_leave_behind() {
    let home = Home::empty();
    let found = |agent| hook::is_present(agent, &home.places());
    assert!(!HookAgent::ALL.into_iter().any(found));
    home.write("home/.claude.json", "{}");
    home.write("home/.kiro/settings/mcp.json", "{}");
    let all: Vec<_> = HookAgent::ALL.into_iter().filter(|it| found(*it)).collect();
    assert_eq!(all, [HookAgent::ClaudeCode, HookAgent::Kiro]);
}

#[test]
fn the_diff_shows_our_entry_and_no_secret() {
    let home = Home::empty();
    let text = "{\n  \"env\": { \"ACME_API_KEY\": \"kq83hfo2ns84nd72nd02\" }\n}\n";
    home.write("home/.claude/settings.json", text);
    let command = command(&home, FailMode::Open);
    let places = home.places();
    let plan = hook::plan_install(HookAgent::ClaudeCode, Scope::User, &places, &command);
    let diff = plan.unwrap().files[0].diff();
    assert!(
        diff.contains('+') && diff.contains("hook evaluate"),
        "{diff}"
    );
    assert!(!diff.contains("kq83hfo2ns84nd72nd02"), "{diff}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_layout_comes_back_byte_for_byte(
        blanks in "[ \t\n]{0,3}",
        hooks in prop_oneof![
            Just(""), Just("\"hooks\": {}, "), Just("\"hooks\": {\"PreToolUse\": []}, "),
            Just("\"hooks\":{\"PreToolUse\":[{\"command\":\"a\"},]},"),
            Just("// c\n\"hooks\": null, /* d */"),
        ],
        end in prop_oneof![Just(""), Just("\n"), Just(" // end"), Just("\r\n")],
    ) {
        let home = Home::empty();
        let text = format!("{blanks}{{{blanks}{hooks}{blanks}\"a\": [1,{blanks}2] }}{end}");
        for (agent, place) in [
            (HookAgent::ClaudeCode, "home/.claude/settings.json"),
            (HookAgent::Cursor, "home/.cursor/hooks.json"),
        ] {
            let path = put(&home, place, &text);
            install(&home, agent, Scope::User, FailMode::Open);
            prop_assert!(fs::read_to_string(&path).unwrap().contains("hook evaluate"));
            install(&home, agent, Scope::User, FailMode::Closed);
            uninstall(&home, agent, Scope::User);
            prop_assert_eq!(fs::read_to_string(&path).unwrap(), text.clone());
        }
    }
}
