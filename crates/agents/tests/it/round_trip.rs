//! Writing and putting back: all or nothing, and never over somebody else's change.

use std::fs;

use mcpproxy_agents::{
    AgentKind, Applied, Error, MissingFolder, OnConflict, Plan, apply, blank, plan, undo,
};

use crate::home::{FILES, Home, fixture, http};

const CURSOR: &str = "home/.cursor/mcp.json";

fn write(home: &Home, plan: &Plan) -> Result<Applied, Error> {
    apply(
        plan,
        &home.backups(),
        "2026-11-15T09:00:00Z",
        MissingFolder::Refuse,
    )
}

fn put_back(home: &Home) -> mcpproxy_agents::Undone {
    undo(&home.backups(), OnConflict::Report).unwrap()
}

#[test]
fn undo_gives_back_every_byte() {
    let home = Home::full();
    let applied = write(&home, &home.plan()).unwrap();
    assert_eq!(applied.written.len(), FILES.len());
    let undone = put_back(&home);
    assert_eq!(undone.restored, applied.written);
    assert!(undone.conflicts.is_empty());
    for (name, place) in FILES {
        assert_eq!(home.read(place), fixture(name), "{name}");
    }
    let again = undo(&home.backups(), OnConflict::Report);
    assert!(
        matches!(again, Err(Error::NothingToUndo { .. })),
        "{again:?}"
    );
}

#[test]
fn changes_are_taken_back_newest_first() {
    let home = Home::empty();
    let first = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    home.write(CURSOR, first);
    write(&home, &home.plan()).unwrap();
    let second = home.read(CURSOR).replace("8080", "9090");
    home.write(CURSOR, &second);
    write(&home, &home.plan()).unwrap();
    put_back(&home);
    assert_eq!(home.read(CURSOR), second);
    // The first change is not what the file says now, since somebody changed the port.
    let undone = put_back(&home);
    assert_eq!(undone.conflicts[0].path, home.path(CURSOR));
    let backup = undone.conflicts[0].backup.clone().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), first);
    assert_eq!(home.read(CURSOR), second);
    let undone = undo(&home.backups(), OnConflict::Overwrite).unwrap();
    assert_eq!(undone.restored, [home.path(CURSOR)]);
    assert_eq!(home.read(CURSOR), first);
}

#[test]
fn a_file_the_agent_rewrote_loses_only_our_change() {
    let check = |place: &str, theirs: (&str, &str)| {
        let home = Home::full();
        let before = home.found();
        write(&home, &home.plan()).unwrap();
        home.write(place, &home.read(place).replace(theirs.0, theirs.1));
        let undone = undo(&home.backups(), OnConflict::Merge).unwrap();
        assert_eq!(undone.merged, [home.path(place)]);
        assert!(undone.conflicts.is_empty());
        let text = home.read(place);
        assert!(
            text.contains(theirs.1) && !text.contains("\"http://127.0.0.1"),
            "{text}"
        );
        // What is configured is what was configured, in whichever order.
        let listed = |found: Vec<mcpproxy_agents::Found>| {
            let one = found
                .into_iter()
                .find(|found| found.path == home.path(place))
                .unwrap();
            let mut upstreams = one.upstreams;
            upstreams.sort_by(|left, right| left.name.cmp(&right.name));
            upstreams
        };
        assert_eq!(listed(home.found()), listed(before), "{text}");
    };
    check(
        "home/.claude.json",
        ("\"numStartups\": 412", "\"numStartups\": 413"),
    );
    check("home/.gemini/settings.json", ("\"Default\"", "\"GitHub\""));
    check("home/.codex/config.toml", ("\"gpt-5-codex\"", "\"gpt-6\""));
    check("home/.config/goose/config.yaml", ("smart_approve", "auto"));
    check(
        "home/.config/Code/User/mcp.json",
        ("// Servers", "// My servers"),
    );
}

#[test]
fn what_cannot_be_merged_is_reported() {
    let home = Home::full();
    write(&home, &home.plan()).unwrap();
    home.write(CURSOR, "{ broken");
    let undone = undo(&home.backups(), OnConflict::Merge).unwrap();
    assert_eq!(undone.conflicts[0].path, home.path(CURSOR));
    assert_eq!(home.read(CURSOR), "{ broken");
}

#[test]
fn a_name_given_away_again_is_kept() {
    let home = Home::empty();
    home.write(
        CURSOR,
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#,
    );
    write(&home, &home.plan()).unwrap();
    let theirs = r#"{"mcpServers": {"mcpproxy": {"url": "http://127.0.0.1:8080/mcp"}, "a": {"command": "new"}}}"#;
    home.write(CURSOR, theirs);
    undo(&home.backups(), OnConflict::Merge).unwrap();
    let expect = r#"{"mcpServers": {"b": { "command": "y" }, "a": {"command": "new"}}}"#;
    assert_eq!(home.read(CURSOR), expect);
}

#[test]
fn nothing_to_change_leaves_no_record() {
    let home = Home::empty();
    let applied = write(&home, &home.plan()).unwrap();
    assert_eq!(
        applied,
        Applied {
            written: Vec::new(),
            manifest: None
        }
    );
    assert!(!home.backups().exists());
}

#[test]
fn a_file_changed_since_stops_everything() {
    let home = Home::full();
    let plan = home.plan();
    home.write("home/.config/goose/config.yaml", "extensions: {}\n");
    let error = write(&home, &plan).unwrap_err();
    assert!(
        matches!(&error, Error::Changed { path } if path.ends_with("config.yaml")),
        "{error}"
    );
    assert_eq!(home.read(CURSOR), fixture("cursor.json"));
    assert!(!home.backups().exists());
}

#[test]
fn a_failure_midway_restores_what_was_changed() {
    let home = Home::full();
    let mut plan = home.plan();
    // The same file twice: the second write finds what the first has written.
    let cursor = plan
        .files
        .iter()
        .find(|file| file.path == home.path(CURSOR))
        .cloned();
    plan.files.extend(cursor);
    let error = write(&home, &plan).unwrap_err();
    assert!(matches!(&error, Error::Changed { .. }), "{error}");
    for (name, place) in FILES {
        assert_eq!(home.read(place), fixture(name), "{name}");
    }
    let undone = undo(&home.backups(), OnConflict::Report);
    assert!(
        matches!(undone, Err(Error::NothingToUndo { .. })),
        "{undone:?}"
    );
}

#[test]
fn a_read_only_file_is_left_alone() {
    let home = Home::full();
    let path = home.path(CURSOR);
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let error = write(&home, &home.plan()).unwrap_err();
    assert_eq!(
        home.steady(&error.to_string()),
        "`/home/.cursor/mcp.json` is read-only"
    );
    assert_eq!(home.read("home/.claude.json"), fixture("claude_code.json"));
}

#[test]
fn a_new_file_needs_its_folder() {
    let home = Home::empty();
    let found: Vec<_> = blank(AgentKind::Cursor, &home.places())
        .into_iter()
        .collect();
    let plan = plan(&found, &http());
    let error = write(&home, &plan).unwrap_err();
    let expect = "the folder of `/home/.cursor/mcp.json` does not exist";
    assert_eq!(home.steady(&error.to_string()), expect);
    assert!(!home.path("home/.cursor").exists());
    apply(&plan, &home.backups(), "now", MissingFolder::Create).unwrap();
    assert!(home.read(CURSOR).contains("mcpproxy"));
    put_back(&home);
    assert!(!home.path(CURSOR).exists());
}

#[test]
fn a_damaged_record_is_refused() {
    let home = Home::full();
    let manifest = write(&home, &home.plan()).unwrap().manifest.unwrap();
    let backup = manifest.with_file_name("00-claude-code");
    let original = fs::read(&backup).unwrap();
    fs::write(&backup, "{}").unwrap();
    let error = undo(&home.backups(), OnConflict::Overwrite).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the copy of the original was changed"),
        "{error}"
    );
    fs::write(&backup, original).unwrap();
    fs::write(&manifest, "{\"version\": 9, \"made\": \"\", \"files\": []}").unwrap();
    let error = undo(&home.backups(), OnConflict::Report).unwrap_err();
    assert!(
        error.to_string().ends_with("version 9 is not known"),
        "{error}"
    );
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &std::path::Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_link_is_kept_and_its_target_changed() {
        let home = Home::empty();
        home.write(
            "dotfiles/cursor.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
        );
        fs::create_dir(home.path("home/.cursor")).unwrap();
        symlink(home.path("dotfiles/cursor.json"), home.path(CURSOR)).unwrap();
        write(&home, &home.plan()).unwrap();
        assert!(home.path(CURSOR).is_symlink());
        assert!(home.read("dotfiles/cursor.json").contains("mcpproxy"));
        put_back(&home);
        assert!(home.path(CURSOR).is_symlink());
        assert!(home.read("dotfiles/cursor.json").contains("\"a\""));
    }

    #[test]
    fn a_link_to_nowhere_is_reported() {
        let home = Home::empty();
        fs::create_dir(home.path("home/.cursor")).unwrap();
        symlink(home.path("nowhere"), home.path(CURSOR)).unwrap();
        let found = home.found();
        assert!(
            found[0].problems[0]
                .to_string()
                .starts_with("cannot be read: ")
        );
        assert!(home.plan().files.is_empty());
    }

    #[test]
    fn modes_are_kept_and_copies_are_private() {
        let home = Home::full();
        fs::set_permissions(home.path(CURSOR), fs::Permissions::from_mode(0o640)).unwrap();
        let manifest = write(&home, &home.plan()).unwrap().manifest.unwrap();
        assert_eq!(mode(&home.path(CURSOR)), 0o640);
        assert_eq!(mode(manifest.parent().unwrap()), 0o700);
        for entry in fs::read_dir(manifest.parent().unwrap()).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
        put_back(&home);
        assert_eq!(mode(&home.path(CURSOR)), 0o640);
    }

    #[test]
    fn nothing_is_left_beside_the_files() {
        let home = Home::full();
        write(&home, &home.plan()).unwrap();
        let names = fs::read_dir(home.path("home/.cursor")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["mcp.json"]);
    }
}
