//! What is found where, and what is reported instead of guessed.

use std::fmt::Write;
use std::path::Path;

use mcpproxy_agents::{AgentKind, Found, Imported, Os, Places, Transport, blank};

use crate::home::Home;

/// Shows a find with its values, which `Debug` would hide.
fn shown(found: &Found) -> String {
    let mut out = String::new();
    for Imported {
        name,
        transport,
        enabled,
        ignored,
        variables,
        ..
    } in &found.upstreams
    {
        let transport = match transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let cwd = cwd.as_deref().map(Path::display);
                let cwd = cwd.map(|cwd| format!(" in {cwd}")).unwrap_or_default();
                format!("stdio {command} {args:?} {env:?}{cwd}")
            }
            Transport::Http { url, headers } => format!("http {url} {headers:?}"),
            Transport::Sse { url, headers } => format!("sse {url} {headers:?}"),
        };
        let off = if *enabled { "" } else { " off" };
        writeln!(
            out,
            "{name}{off}: {transport} ignored {ignored:?} needs {variables:?}"
        )
        .unwrap();
    }
    for problem in &found.problems {
        writeln!(out, "! {problem}").unwrap();
    }
    out
}

fn check(home: &Home, place: &str, expect: &str) {
    let found = home.found();
    let one = found
        .iter()
        .find(|found| found.path == home.path(place))
        .unwrap();
    assert_eq!(home.steady(&shown(one)), expect, "{place}");
}

#[test]
fn every_agent_is_read() {
    let home = Home::full();
    check(
        &home,
        "home/.claude.json",
        r#"github: http https://api.example.com/mcp/ {"Authorization": "Bearer SECRET-github"} ignored [] needs []
airtable: stdio npx ["-y", "airtable-mcp"] {"AIRTABLE_API_KEY": "SECRET-airtable"} ignored ["timeout"] needs []
shop-db: stdio uv ["run", "db_server.py", "--dsn", "${SHOP_DSN:-postgres://localhost/shop}"] {} in /home/ada/shop ignored [] needs ["SHOP_DSN"]
old-tracker off: sse https://tracker.example.com/events/sse {} ignored [] needs []
! `vault` stays: its headers come from a `headersHelper`, which only the agent runs
"#,
    );
    check(
        &home,
        "shop/.mcp.json",
        r#"api: http ${API_BASE:-https://api.shop.example}/mcp {"Authorization": "Bearer ${API_TOKEN}"} ignored [] needs ["API_BASE", "API_TOKEN"]
linter: stdio node ["./tools/lint-mcp.js"] {} in /shop ignored [] needs []
"#,
    );
    check(
        &home,
        "home/.config/Claude/claude_desktop_config.json",
        r#"filesystem: stdio npx ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Documents"] {} ignored [] needs []
github: stdio docker ["run", "-i", "--rm", "-e", "TOKEN=SECRET-docker", "example/github-mcp"] {"TOKEN": "SECRET-docker"} ignored [] needs []
remote: stdio npx ["mcp-remote", "https://r.example.com/mcp?key=SECRET-query", "--header", "X-Key: SECRET-header"] {} ignored [] needs []
"#,
    );
    check(
        &home,
        "home/.cursor/mcp.json",
        r#"filesystem: stdio npx ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Documents"] {} ignored [] needs []
github: http https://other.example.com/mcp {"Authorization": "Bearer ${GH_TOKEN}"} ignored [] needs ["GH_TOKEN"]
events: sse https://events.example.com/sse {} ignored [] needs []
! `with file` stays: its variables are in an `envFile`, which mcpproxy does not read
"#,
    );
    check(
        &home,
        "shop/.cursor/mcp.json",
        "local: stdio python [\"-m\", \"shop.mcp\", \"/shop/data\"] {} in /shop ignored [] needs []\n",
    );
}

#[test]
fn every_other_agent_is_read() {
    let home = Home::full();
    check(
        &home,
        "home/.config/Code/User/mcp.json",
        r#"docs: http https://docs.example.com/mcp {} ignored ["gallery"] needs []
io.example/tools: stdio /opt/tools [] {"TOOLS_TOKEN": "SECRET-tools"} ignored [] needs []
! `weather` stays: only the agent can resolve `${input:weather-key}`
"#,
    );
    check(
        &home,
        "shop/.vscode/mcp.json",
        r#"build: stdio /shop/bin/build-mcp [] {} in /shop/tools ignored ["dev"] needs []
! `socket` stays: mcpproxy reaches upstreams over http and https only
"#,
    );
    check(
        &home,
        "home/.codex/config.toml",
        r#"context7: stdio npx ["-y", "context7-mcp"] {"CONTEXT7_API_KEY": "SECRET-context7"} ignored ["startup_timeout_sec"] needs []
figma: http https://figma.example.com/mcp {"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Region": "SECRET-region", "X-Team": "${FIGMA_TEAM}"} ignored [] needs ["FIGMA_TOKEN", "FIGMA_TEAM"]
old off: stdio old-mcp [] {"OLD_HOME": "${OLD_HOME}"} ignored [] needs ["OLD_HOME"]
"#,
    );
    check(
        &home,
        "home/.gemini/settings.json",
        r#"git: stdio uvx ["mcp-server-git"] {} ignored ["trust"] needs []
search: http https://search.example.com/mcp {"X-Key": "${SEARCH_KEY}"} ignored ["timeout"] needs ["SEARCH_KEY"]
stream off: sse https://stream.example.com/sse {} ignored [] needs []
py off: stdio python [] {"DB": "${DB_URL}"} in ./servers ignored [] needs ["DB_URL"]
"#,
    );
    check(
        &home,
        "home/.codeium/windsurf/mcp_config.json",
        r#"filesystem: stdio npx ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Documents"] {} ignored ["disabledTools"] needs []
figma off: http https://figma.example.com/mcp {"API_KEY": "SECRET-windsurf"} ignored [] needs []
zapier: sse https://zap.example.com/mcp/k3yk3yk3yk3yk3yk3y99/sse {} ignored [] needs []
"#,
    );
    check(
        &home,
        "home/.config/goose/config.yaml",
        r#"github: stdio npx ["-y", "github-mcp"] {"GITHUB_TOKEN": "SECRET-goose"} ignored ["description", "timeout"] needs []
research off: http https://research.example.com/mcp {"X-Key": "SECRET-research"} ignored ["description", "timeout"] needs []
! `drive` stays: its secrets (`env_keys`) are in the agent's keyring
"#,
    );
}

#[test]
fn what_cannot_be_understood_is_reported() {
    let check_text = |place: &str, text: &str, expect: &str| {
        let home = Home::empty();
        home.write(place, text);
        check(&home, place, expect);
        assert!(home.plan().files.is_empty(), "{place}");
        assert_eq!(home.read(place), text);
    };
    let cursor = "home/.cursor/mcp.json";
    check_text(
        cursor,
        "{\n  \"mcpServers\": {,}\n}",
        "! line 2, column 18: expected a key in double quotes or `}`\n",
    );
    check_text(cursor, "[]", "! it does not hold a map\n");
    check_text(
        cursor,
        "{\"mcpServers\": []}",
        "! `mcpServers` is not a map\n",
    );
    check_text(
        cursor,
        "{\"mcpServers\": {}, \"mcpServers\": {}}",
        "! `mcpServers` is there twice\n",
    );
    check_text(
        "home/.codex/config.toml",
        "a = \n",
        "! line 1, column 5: string values must be quoted, expected literal string\n",
    );
    check_text(
        "home/.config/goose/config.yaml",
        "a: 1\nb: *x\n",
        "! line 2, column 4: while parsing node, found unknown anchor\n",
    );
}

#[test]
fn odd_entries_stay() {
    let home = Home::empty();
    home.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"a": 1, "b": {}, "c": {"command": ["x"]}, "d": {"command": "x", "args": [{}]},
            "e": {"command": "x", "env": []}, "f": {"url": "https://x/mcp", "disabled": "yes"},
            "g": {"command": "x", "env": {"N": 1, "B": true}}, "h": {"command": "1"}, "h": {"command": "2"}}}"#,
    );
    check(
        &home,
        "home/.cursor/mcp.json",
        r#"g: stdio x [] {"B": "true", "N": "1"} ignored [] needs []
h: stdio 2 [] {} ignored [] needs []
! `a` stays: it is not a map
! `b` stays: it has neither a command nor an address
! `c` stays: `command` is not a text
! `d` stays: `args` is not a list of texts
! `e` stays: `env` is not a map of texts
! `f` stays: `disabled` is neither true nor false
"#,
    );
}

#[test]
fn unreadable_files_are_reported() {
    let home = Home::empty();
    std::fs::create_dir_all(home.path("home/.cursor/mcp.json")).unwrap();
    check(
        &home,
        "home/.cursor/mcp.json",
        "! cannot be read: it is not a file\n",
    );
    let home = Home::empty();
    std::fs::create_dir_all(home.path("home/.cursor")).unwrap();
    std::fs::write(home.path("home/.cursor/mcp.json"), b"{\"a\": \"\xff\"}").unwrap();
    let text = "! cannot be read: stream did not contain valid UTF-8\n";
    check(&home, "home/.cursor/mcp.json", text);
}

#[test]
fn a_project_that_is_the_home_is_found_once() {
    let home = Home::empty();
    home.write("home/.cursor/mcp.json", "{}");
    let places = Places {
        project: home.path("home"),
        ..home.places()
    };
    assert_eq!(mcpproxy_agents::discover(&places).len(), 1);
}

#[cfg(unix)]
#[test]
fn a_project_cannot_lead_to_other_files() {
    let home = Home::empty();
    home.write(
        "home/.cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
    );
    std::os::unix::fs::symlink(
        home.path("home/.cursor/mcp.json"),
        home.path("shop/.mcp.json"),
    )
    .unwrap();
    check(
        &home,
        "shop/.mcp.json",
        "! cannot be read: it is a link out of the project\n",
    );
    check(
        &home,
        "home/.cursor/mcp.json",
        "a: stdio x [] {} ignored [] needs []\n",
    );
    home.write(
        "shop/real.json",
        "{\"mcpServers\": {\"b\": {\"command\": \"y\"}}}",
    );
    std::fs::remove_file(home.path("shop/.mcp.json")).unwrap();
    std::os::unix::fs::symlink("real.json", home.path("shop/.mcp.json")).unwrap();
    check(
        &home,
        "shop/.mcp.json",
        "b: stdio y [] {} in /shop ignored [] needs []\n",
    );
}

#[test]
fn what_strangers_wrote_does_not_reach_the_terminal() {
    let home = Home::empty();
    home.write(
        "shop/.mcp.json",
        r#"{"mcpServers": {"a\u001b[2J": 1, "b": {"command": "x", "\u001b]": 1}}}"#,
    );
    let expect = "b: stdio x [] {} in /shop ignored [\"\u{fffd}]\"] needs []\n! `a\u{fffd}[2J` stays: it is not a map\n";
    check(&home, "shop/.mcp.json", expect);
}

#[test]
fn profiles_of_vs_code_are_found() {
    let home = Home::empty();
    home.write("home/.config/Code/User/profiles/-1a2b/mcp.json", "{}");
    home.write("home/.config/Code/User/profiles/-3c4d/settings.json", "{}");
    let found = home.found();
    assert_eq!(found.len(), 1);
    assert!(found[0].path.ends_with("-1a2b/mcp.json"));
}

#[test]
fn each_system_has_its_places() {
    let check = |os: Os, agent: AgentKind, expect: &str| {
        let places = Places::usual(Path::new("/nowhere/ada"), Path::new("/nowhere/shop"), os);
        let path = blank(agent, &places).unwrap().path;
        assert_eq!(
            path,
            Path::new("/nowhere/ada").join(expect),
            "{agent} on {os:?}"
        );
    };
    check(
        Os::Linux,
        AgentKind::ClaudeDesktop,
        ".config/Claude/claude_desktop_config.json",
    );
    let mac = "Library/Application Support/Claude/claude_desktop_config.json";
    check(Os::MacOs, AgentKind::ClaudeDesktop, mac);
    let windows = "AppData/Roaming/Claude/claude_desktop_config.json";
    check(Os::Windows, AgentKind::ClaudeDesktop, windows);
    check(Os::Linux, AgentKind::VsCode, ".config/Code/User/mcp.json");
    check(
        Os::MacOs,
        AgentKind::VsCode,
        "Library/Application Support/Code/User/mcp.json",
    );
    check(Os::Linux, AgentKind::Goose, ".config/goose/config.yaml");
    check(Os::MacOs, AgentKind::Goose, ".config/goose/config.yaml");
    check(
        Os::Windows,
        AgentKind::Goose,
        "AppData/Roaming/Block/goose/config/config.yaml",
    );
    for os in [Os::Linux, Os::MacOs, Os::Windows] {
        check(os, AgentKind::ClaudeCode, ".claude.json");
        check(os, AgentKind::Cursor, ".cursor/mcp.json");
        check(os, AgentKind::Codex, ".codex/config.toml");
        check(os, AgentKind::Gemini, ".gemini/settings.json");
        check(os, AgentKind::Windsurf, ".codeium/windsurf/mcp_config.json");
    }
}
