//! What the files will say, what the upstreams will be called, and what the user will see.

use mcpproxy_agents::{AgentKind, Endpoint, Plan, blank, plan};

use crate::home::{FILES, Home, fixture, http, launch};

/// Returns what a file says after a plan was carried out.
fn after(home: &Home, endpoint: &Endpoint, place: &str) -> String {
    let plan = plan(&home.found(), endpoint);
    let folders = mcpproxy_agents::MissingFolder::Refuse;
    mcpproxy_agents::apply(&plan, &home.backups(), "now", folders).unwrap();
    home.read(place)
}

fn names(plan: &Plan) -> Vec<String> {
    let held = plan.upstreams.iter();
    held.map(|held| format!("{} x{}", held.upstream.name, held.origins.len()))
        .collect()
}

#[test]
fn every_file_becomes_what_it_should() {
    let home = Home::full();
    let plan = home.plan();
    mcpproxy_agents::apply(
        &plan,
        &home.backups(),
        "now",
        mcpproxy_agents::MissingFolder::Refuse,
    )
    .unwrap();
    for (name, place) in FILES {
        assert_eq!(
            home.read(place),
            fixture(&format!("{name}.after")),
            "{name}"
        );
    }
}

#[test]
fn a_command_serves_every_agent() {
    let check = |place: &str, text: &str, expect: &str| {
        let home = Home::empty();
        home.write(place, text);
        assert_eq!(
            after(&home, &Endpoint::Stdio(launch()), place),
            expect,
            "{place}"
        );
    };
    let json = |list: &str, kind: &str| {
        let args = "\"args\": [\"stdio\"]";
        let entry =
            format!("{{{kind}\n      \"command\": \"/usr/bin/mcpproxy\",\n      {args}\n    }}");
        format!("{{\n  \"{list}\": {{\n    \"mcpproxy\": {entry}\n  }}\n}}")
    };
    let typed = "\n      \"type\": \"stdio\",";
    check("home/.claude.json", "{}", &json("mcpServers", typed));
    check(
        "home/.config/Claude/claude_desktop_config.json",
        "{}",
        &json("mcpServers", ""),
    );
    check("home/.cursor/mcp.json", "{}", &json("mcpServers", ""));
    check(
        "home/.config/Code/User/mcp.json",
        "{}",
        &json("servers", typed),
    );
    check("home/.gemini/settings.json", "{}", &json("mcpServers", ""));
    check(
        "home/.codeium/windsurf/mcp_config.json",
        "{}",
        &json("mcpServers", ""),
    );
    let toml = "[mcp_servers.mcpproxy]\ncommand = \"/usr/bin/mcpproxy\"\nargs = [\"stdio\"]\n";
    check("home/.codex/config.toml", "", toml);
    let yaml = "extensions:\n  mcpproxy:\n    enabled: true\n    type: stdio\n    cmd: \
                \"/usr/bin/mcpproxy\"\n    args: [\"stdio\"]\n    name: mcpproxy\n    description: \
                \"All upstreams, through mcpproxy\"\n    timeout: 300\n";
    check("home/.config/goose/config.yaml", "", yaml);
}

#[test]
fn planning_again_changes_nothing() {
    let home = Home::full();
    let first = home.plan();
    assert_eq!(first.changes().count(), FILES.len());
    mcpproxy_agents::apply(
        &first,
        &home.backups(),
        "now",
        mcpproxy_agents::MissingFolder::Refuse,
    )
    .unwrap();
    for endpoint in [
        http(),
        Endpoint::Http {
            url: "http://localhost:8080/mcp/all".into(),
            bridge: launch(),
        },
    ] {
        let again = plan(&home.found(), &endpoint);
        assert_eq!(again.changes().count(), 0, "{again:?}");
        assert!(
            again.upstreams.is_empty() && again.notes.is_empty(),
            "{again:?}"
        );
    }
}

#[test]
fn one_name_has_one_content() {
    let plan = Home::full().plan();
    assert_eq!(
        names(&plan),
        [
            "github x1",
            "airtable x1",
            "shop-db x1",
            "old-tracker x1",
            "api x1",
            "linter x1",
            "filesystem x3",
            "github-claude-desktop x1",
            "remote x1",
            "github-cursor x1",
            "events x1",
            "local x1",
            "docs x1",
            "io.example-tools x1",
            "build x1",
            "context7 x1",
            "figma x1",
            "old x1",
            "git x1",
            "search x1",
            "stream x1",
            "py x1",
            "figma-windsurf x1",
            "zapier x1",
            "github-goose x1",
            "research x1",
        ]
    );
    let notes: Vec<String> = plan.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "`github` of Claude Desktop is called `github-claude-desktop`, since a different upstream has its name",
            "`github` of Cursor is called `github-cursor`, since a different upstream has its name",
            "`io.example/tools` of VS Code is called `io.example-tools`, since its name is not valid here",
            "`figma` of Windsurf is called `figma-windsurf`, since a different upstream has its name",
            "`github` of Goose is called `github-goose`, since a different upstream has its name",
        ]
    );
}

#[test]
fn what_leads_here_already_is_kept() {
    let check = |entry: &str, changes: bool, notes: usize| {
        let home = Home::empty();
        home.write(
            "home/.cursor/mcp.json",
            &format!("{{\"mcpServers\": {{{entry}}}}}"),
        );
        let plan = home.plan();
        assert_eq!(plan.changes().count() == 1, changes, "{entry}");
        assert_eq!(plan.notes.len(), notes, "{entry}");
        assert!(plan.upstreams.is_empty(), "{entry}");
    };
    check(
        r#""mcpproxy": {"url": "http://127.0.0.1:8080/mcp"}"#,
        false,
        0,
    );
    check(
        r#""mcpproxy": {"url": "http://localhost:8080/mcp/all", "headers": {"A": "b"}}"#,
        false,
        0,
    );
    check(r#""gate": {"url": "http://127.0.0.1:8080/mcp"}"#, false, 0);
    check(
        r#""gate": {"command": "mcpproxy", "args": ["stdio"]}"#,
        false,
        0,
    );
    check(
        r#""mcpproxy": {"url": "http://127.0.0.1:9999/mcp"}"#,
        true,
        1,
    );
    check(r#""mcpproxy": {"url": "${input:x}"}"#, true, 1);
}

#[test]
fn files_of_projects_receive_an_entry_only_in_exchange() {
    let home = Home::empty();
    home.write("shop/.gemini/settings.json", "{\"ui\": {}}");
    home.write("shop/.mcp.json", "{\"mcpServers\": {}}");
    assert_eq!(home.plan().changes().count(), 0);
    home.write("home/.gemini/settings.json", "{\"ui\": {}}");
    assert_eq!(home.plan().changes().count(), 1);
}

#[test]
fn an_upstream_that_is_deselected_stays() {
    let home = Home::full();
    let mut found = home.found();
    for found in &mut found {
        found.upstreams.retain(|upstream| upstream.name != "docs");
    }
    let plan = plan(&found, &http());
    assert!(
        plan.upstreams
            .iter()
            .all(|held| held.upstream.name != "docs")
    );
    let diff = plan
        .diff(&home.path("home/.config/Code/User/mcp.json"))
        .unwrap();
    assert!(
        !diff.contains("-\t\t\"docs\"") && diff.contains("+\t\t\"mcpproxy\""),
        "{diff}"
    );
}

#[test]
fn a_file_that_cannot_be_changed_keeps_its_upstreams() {
    let home = Home::empty();
    let text = "extensions: {a: {type: stdio, cmd: x, args: [], name: a}}\n";
    home.write("home/.config/goose/config.yaml", text);
    let plan = home.plan();
    assert!(plan.upstreams.is_empty() && plan.files.is_empty());
    let notes: Vec<String> = plan
        .notes
        .iter()
        .map(|note| home.steady(&note.to_string()))
        .collect();
    let expect = "`/home/.config/goose/config.yaml` of Goose stays as it is: `extensions` is written in braces";
    assert_eq!(notes, [expect]);
}

#[test]
fn an_obstacle_is_named() {
    let home = Home::empty();
    home.write(
        "home/.gemini/settings.json",
        r#"{"mcp": {"allowed": ["git"]}}"#,
    );
    let problems = &home.found()[0].problems;
    let expect = "`mcp.allowed` or `mcp.excluded` keeps `mcpproxy` switched off";
    assert_eq!(problems[0].to_string(), expect);
}

#[test]
fn the_diff_shows_no_secrets() {
    let home = Home::full();
    let found = home.found();
    let plan = plan(&found, &http());
    let mut shown = vec![format!("{found:?}"), format!("{plan:?}")];
    for file in &plan.files {
        let diff = file.diff();
        assert!(diff.contains("mcpproxy"), "{diff}");
        shown.push(diff);
    }
    for shown in shown {
        assert!(!shown.contains("SECRET"), "{shown}");
        assert!(!shown.contains("k3yk3y"), "{shown}");
    }
}

#[test]
fn the_diff_is_unified() {
    let home = Home::empty();
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"env\": { \"T\": \"s\" }\n    }\n  }\n}\n";
    home.write("home/.cursor/mcp.json", text);
    let diff = home
        .plan()
        .diff(&home.path("home/.cursor/mcp.json"))
        .unwrap();
    let expect = "--- /home/.cursor/mcp.json\n+++ /home/.cursor/mcp.json\n@@ -1,8 +1,7 @@\n {\n   \
                  \"mcpServers\": {\n-    \"a\": {\n-      \"command\": \"x\",\n-      \"env\": { \
                  \"T\": \"***\" }\n+    \"mcpproxy\": {\n+      \"url\": \
                  \"http://127.0.0.1:8080/mcp\"\n     }\n   }\n }\n";
    assert_eq!(home.steady(&diff), expect);
    let found: Vec<_> = blank(AgentKind::Windsurf, &home.places())
        .into_iter()
        .collect();
    let diff = plan(&found, &http()).files[0].diff();
    assert!(diff.starts_with("--- /dev/null\n"), "{diff}");
}
