//! What people see: exit code, standard output and standard error of the command line, with
//! ports, paths, times and tokens replaced by their names.

use std::path::PathBuf;

use insta::assert_snapshot;
use mcpproxy_testkit::{EraSupport, Sample};
use serde_json::json;

use crate::support::{Gateway, Home, Over, Upstream};

/// Runs a command and returns the screen.
async fn screen(home: &Home, args: &[&str]) -> String {
    let output = home.run(args).await;
    let mut screen = format!("$ mcpproxy {}\n", args.join(" "));
    for (name, text) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8_lossy(text);
        if !text.is_empty() {
            screen = format!("{screen}--- {name}\n{text}");
        }
    }
    let code = output.status.code().unwrap();
    filtered(&format!("{screen}--- exit {code}"), home)
}

fn filtered(screen: &str, home: &Home) -> String {
    let screen = screen.replace(home.path().to_str().unwrap(), "[HOME]");
    // Trailing space is nothing that anybody sees, and editors remove it from snapshots.
    let lines = screen.lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces what follows `before` up to the next space or the end of the line.
fn hidden(screen: &str, before: &str, name: &str) -> String {
    let lines = screen.lines().map(|line| match line.split_once(before) {
        Some((start, rest)) => {
            let rest = rest.trim_start_matches(|char| char != ' ');
            format!("{start}{before}{name}{rest}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn written(text: &str) -> Home {
    let home = Home::new(&json!({}));
    home.configure(text);
    home
}

async fn running() -> (Gateway, Upstream) {
    let github = Upstream::start(Sample::Github, EraSupport::Both, Over::Shared).await;
    let config = json!({ "mcpServers": { "github": github.settings } });
    (Gateway::start(&config).await, github)
}

#[tokio::test]
async fn help_names_the_commands() {
    let home = written("");
    assert_snapshot!(screen(&home, &["-h"]).await, @r"
    $ mcpproxy -h
    --- stdout
    Firewall and flight recorder for agents that use the Model Context Protocol

    Usage: mcpproxy [OPTIONS] <COMMAND>

    Commands:
      serve         Run the gateway
      stdio         Connect an agent that knows only stdio to the running gateway
      wrap          Record the calls to one upstream, without a gateway; the same as `assay mcp-proxy`
      init          Find the MCP configurations of agents, import their servers, point them here
      doctor        Show what works, what does not, and what to do about it
      status        Show how the running gateway is doing
      ui            Print a link that opens the dashboard once
      upstream      Manage upstream MCP servers
      tools         Look at tools
      activity      Look at what is on record about calls
      call          Call a tool through the running gateway
      stop-calls    Stop calls at once: all of them, or those of one upstream, session or principal
      resume-calls  Let stopped calls pass again
      approvals     Answer for calls that wait for a person
      policy        Check, test and explain the policy
      token         Manage the tokens that agents authenticate with
      config        Check and show the configuration
      detect        Judge JSON lines on standard input: texts, tools, results, arguments and messages
      rules         Look at the rules of the detectors
      scan          Look for attacks and exposed secrets in tools, configurations and upstreams
      hook          Answer agents' hooks, install them, and look at them
      hooks         Look at the security hooks that every call passes, and try them out
      demo          Start sample servers and show a call going through, with nothing installed
      adversary     Play attacks on a gateway of their own, or be a hostile server
      completions   Print a completion script
      man           Print the manual page
      help          Print this message or the help of the given subcommand(s)

    Options:
      -c, --config <FILE>      The only configuration file that is read
      -d, --data-dir <DIR>     Folder for state, socket and user configuration
      -o, --output <OUTPUT>    Form of the output [default: table] [possible values: table, json, yaml,
                               jsonl, sarif]
          --json               The same as `--output json`
          --log-level <LEVEL>  Least weight of an event that is logged: error, warn, info, debug or
                               trace
      -h, --help               Print help (see more with '--help')
      -V, --version            Print version
    --- exit 0
    ");
}

#[tokio::test]
async fn mistakes_in_the_command_line_are_explained() {
    let home = written("");
    assert_snapshot!(screen(&home, &["upstrem", "list"]).await, @r"
    $ mcpproxy upstrem list
    --- stderr
    error: unrecognized subcommand 'upstrem'

      tip: a similar subcommand exists: 'upstream'

    Usage: mcpproxy [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 3
    ");
    assert_snapshot!(screen(&home, &["upstream", "add", "x"]).await, @r"
    $ mcpproxy upstream add x
    --- stderr
    error: give either an address or a program
    hint: mcpproxy upstream add NAME --url URL, or mcpproxy upstream add NAME -- PROGRAM ARGS
    --- exit 3
    ");
    assert_snapshot!(screen(&home, &["call", "tool-read", "github:get_file", "[1]"]).await, @r#"
    $ mcpproxy call tool-read github:get_file [1]
    --- stderr
    error: the arguments must be a JSON object
    hint: give an object, as '{"path": "README.md"}'
    --- exit 3
    "#);
}

#[tokio::test]
async fn a_bad_configuration_is_explained() {
    let home = written(
        "listne: 127.0.0.1:0\nmcpServers:\n  github:\n    command: mcp-github\n    env:\n      \
         TOKEN: ${GITHUB_TOKEN}\n",
    );
    assert_snapshot!(screen(&home, &["config", "check"]).await, @r"
    $ mcpproxy config check
    --- stderr
    error: [HOME]/mcpproxy.yaml:1:1: listne: unknown key
      hint: did you mean `listen`?
    error: [HOME]/mcpproxy.yaml:6:14: mcpServers.github.env.TOKEN: environment variable `GITHUB_TOKEN` is not set
      hint: set it, or give a default with `${GITHUB_TOKEN:-default}`
    hint: see `mcpproxy config schema`
    --- exit 3
    ");
}

/// Regression for #8: what was said would make it right was another address to listen on.
#[tokio::test]
async fn a_second_gateway_is_told_who_has_the_data_folder() {
    let gateway = Gateway::start(&json!({})).await;
    let expect = "another mcpproxy is running with this data folder\nhint: `mcpproxy status` tells of \
        it; stop it, or choose another with `--data-dir`\n--- exit 3";
    let same = gateway.address.clone();
    for said in [
        screen(&gateway.home, &["serve"]).await,
        screen(&gateway.home, &["serve", "--listen", &same]).await,
    ] {
        assert!(said.contains(expect), "{said}");
    }
}

/// Regression for #8: the gateway refused at its start what the check had found fine.
#[tokio::test]
async fn addresses_of_databases_are_read_by_the_check() {
    let check = async |config: &str, expect: &str| {
        let said = screen(&written(config), &["config", "check"]).await;
        let expect = format!("$ mcpproxy config check\n--- stderr\nerror: {expect}\n--- exit 3");
        assert_eq!(said, expect);
    };
    check(
        "store: postgres://logger:pass@word@127.0.0.1:port/log\n",
        "`store`: the address of the store is wrong: invalid value for option `port`",
    )
    .await;
    check(
        "store: postgres://logger:secret@127.0.0.1/log?sslmode=maybe\n",
        "`store`: the address of the store is wrong: `sslmode` is `maybe`",
    )
    .await;
    let key = "0123456789abcdef0123456789abcdef";
    check(
        &format!("live: {{ url: \"redis://127.0.0.1:1/zero\", key: {key} }}\n"),
        "`live`: the address of the store is wrong: invalid client config",
    )
    .await;
}

/// Regression for #8: a database that nobody reaches was seen only when the gateway did not start.
#[tokio::test]
async fn databases_that_do_not_answer_are_found_by_the_doctor() {
    let key = "0123456789abcdef0123456789abcdef";
    let home = written(&format!(
        "store: postgres://logger:hidden@127.0.0.1:9/log\n\
         live: {{ url: \"redis://:hidden@127.0.0.1:9/0\", key: {key}, timeout: 200ms }}\n"
    ));
    let found = home.run(&["doctor"]).await;
    let said = String::from_utf8_lossy(&found.stdout).into_owned();
    for part in ["the activity log: cannot use", "live state: cannot use"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("hidden"), "{said}");
    assert_eq!(found.status.code(), Some(1), "{said}");
}

/// Regression for #8: a log that nobody can read was fine for the doctor, and the gateway said thrice why it
/// did not start.
#[tokio::test]
async fn a_log_that_cannot_be_read_is_found_by_the_doctor_and_told_once() {
    let home = written("routing_mode: all\n");
    std::fs::create_dir_all(home.data()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(home.data(), private).unwrap();
    std::fs::write(home.log(), "no database at all\n".repeat(1000)).unwrap();
    let found = home.run(&["doctor"]).await;
    let said = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(said.contains("file is not a database"), "{said}");
    assert_eq!(found.status.code(), Some(1), "{said}");
    let refused = home.run(&["serve", "--listen", "127.0.0.1:0"]).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(said.matches("file is not a database").count(), 1, "{said}");
}

#[tokio::test]
async fn a_good_configuration_is_shown_with_its_origins() {
    let home = written("routing_mode: all\nmcpServers:\n  files:\n    command: mcp-files\n");
    assert_snapshot!(screen(&home, &["config", "check"]).await, @r"
    $ mcpproxy config check
    --- stderr
    read [HOME]/mcpproxy.yaml
    the configuration is fine
    --- exit 0
    ");
    let shown = screen(&home, &["config", "show", "--origin"]).await;
    let given = shown.lines().filter(|line| !line.ends_with(" default"));
    let given: Vec<String> = given
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_snapshot!(given.join("\n"), @r"
    $ mcpproxy config show --origin
    --- stdout
    KEY VALUE ORIGIN
    data_dir [HOME]/data flag --data-dir
    mcpServers.files.command mcp-files [HOME]/mcpproxy.yaml:4
    routing_mode all [HOME]/mcpproxy.yaml:1
    --- exit 0
    ");
}

#[tokio::test]
async fn short_flags_mean_the_same() {
    let home = written("routing_mode: all\n");
    let (config, data) = (home.config(), home.path().join("elsewhere"));
    let mut command = tokio::process::Command::new(crate::support::program());
    command.arg("-c").arg(&config).arg("-d").arg(&data);
    command.args(["config", "show", "--origin", "--json"]);
    command.env_clear().env("HOME", home.path());
    let shown = command.output().await.unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let rows = shown.as_array().unwrap();
    let origin = |key: &str, origin: &str| {
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        assert!(row["origin"].as_str().unwrap().contains(origin), "{row}");
    };
    origin("routing_mode", config.to_str().unwrap());
    origin("data_dir", "flag --data-dir");
}

#[tokio::test]
async fn upstreams_are_managed_without_a_gateway() {
    let home = written("# Ours.\nmcpServers:\n  files:\n    command: mcp-files # local\n");
    let url = "http://127.0.0.1:9/mcp";
    assert_snapshot!(screen(&home, &["upstream", "add", "notes", "--url", url]).await, @r"
    $ mcpproxy upstream add notes --url http://127.0.0.1:9/mcp
    --- stderr
    changed [HOME]/mcpproxy.yaml
    --- exit 0
    ");
    assert_snapshot!(screen(&home, &["upstream", "disable", "files"]).await, @r"
    $ mcpproxy upstream disable files
    --- stderr
    changed [HOME]/mcpproxy.yaml
    --- exit 0
    ");
    assert_snapshot!(screen(&home, &["upstream", "list"]).await, @r"
    $ mcpproxy upstream list
    --- stdout
    NAME   STATUS       CLASS  TRANSPORT  TOOLS  PROTOCOL_VERSION
    files  disabled     -      stdio      -      -
    notes  not running  -      http       -      -
    --- stderr
    no gateway is running; this is what the configuration says
    --- exit 0
    ");
    assert_snapshot!(screen(&home, &["upstream", "remove", "notes"]).await, @r"
    $ mcpproxy upstream remove notes
    --- stderr
    changed [HOME]/mcpproxy.yaml
    --- exit 0
    ");
    assert_snapshot!(screen(&home, &["upstream", "remove", "nots"]).await, @r"
    $ mcpproxy upstream remove nots
    --- stderr
    error: `[HOME]/mcpproxy.yaml` has no upstream `nots`
    --- exit 3
    ");
    assert_snapshot!(std::fs::read_to_string(home.config()).unwrap(), @r"
    # Ours.
    mcpServers:
      files:
        command: mcp-files # local
        enabled: false
    ");
}

#[tokio::test]
async fn without_a_gateway_there_is_a_hint() {
    let home = written("");
    assert_snapshot!(screen(&home, &["status"]).await, @r"
    $ mcpproxy status
    --- stderr
    error: no gateway answers at `[HOME]/data/mcpproxy.sock`: No such file or directory (os error 2)
    hint: start one with `mcpproxy serve`
    --- exit 2
    ");
}

#[tokio::test]
async fn a_running_gateway_is_shown() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    let status = screen(home, &["status"]).await;
    assert!(status.contains(&gateway.address), "{status}");
    let status = status.replace(&gateway.address, "[ADDRESS]");
    let status = hidden(&status, "flow_tracking_since  ", "[TIME]");
    assert_snapshot!(hidden(&status, "since                ", "[TIME]"), @r#"
    $ mcpproxy status
    --- stdout
    activity_problem     -
    approvals            0
    calls_in_flight      0
    config_problem       -
    flow_tracking_since  [TIME]
    hooks                {"agents":[],"enabled":true,"gaps":{"count":0,"last":null},"window_seconds":1800}
    hooks_active         false
    listen               [ADDRESS]
    live_problem         -
    live_shared          false
    logins               {}
    routing_mode         call
    scheme               http
    security_coverage    proxy_only
    sessions             0
    since                [TIME]
    stopped              []
    upstreams            {"total":1,"up":1}
    version              0.1.0
    --- exit 0
    "#);
    assert_snapshot!(screen(home, &["upstream", "list"]).await, @r"
    $ mcpproxy upstream list
    --- stdout
    NAME    STATUS  CLASS     TRANSPORT  TOOLS  PROTOCOL_VERSION
    github  up      internal  stdio      3      2026-07-28
    --- exit 0
    ");
    assert_snapshot!(screen(home, &["tools", "list"]).await, @r"
    $ mcpproxy tools list
    --- stdout
    NAME                 STATE     DESCRIPTION
    github:get_file      approved  Read a file of the repository acme/billing.
    github:list_files    approved  List the files of the repository acme/billing.
    github:create_issue  approved  Open an issue in the repository acme/billing.
    --- exit 0
    ");
    assert_snapshot!(screen(home, &["tools", "list", "open a ticket"]).await, @r"
    $ mcpproxy tools list open a ticket
    --- stdout
    NAME                 SCORE
    github:create_issue  0.59
    github:get_file      0.11
    --- exit 0
    ");
}

#[tokio::test]
async fn tools_are_called() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    let call = async |tool, arguments| screen(home, &["call", "tool-read", tool, arguments]).await;
    assert_snapshot!(call("github:list_files", "{}").await, @r"
    $ mcpproxy call tool-read github:list_files {}
    --- stdout
    README.md
    config/production.env
    docs/on-call.md
    src/invoice.py
    src/retry.rs
    --- exit 0
    ");
    assert_snapshot!(call("github:get_file", r#"{"path":"nowhere"}"#).await, @r#"
    $ mcpproxy call tool-read github:get_file {"path":"nowhere"}
    --- stdout
    no file is called `nowhere`
    --- exit 1
    "#);
    assert_snapshot!(call("github:no_such_tool", "{}").await, @r"
    $ mcpproxy call tool-read github:no_such_tool {}
    --- stderr
    error: unknown tool `no_such_tool`
    --- exit 3
    ");
    assert_snapshot!(call("gitlab:list_files", "{}").await, @r"
    $ mcpproxy call tool-read gitlab:list_files {}
    --- stderr
    error: no upstream is named `gitlab`
    --- exit 3
    ");
}

#[tokio::test]
async fn calls_are_stopped_and_resumed() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    let list = ["call", "tool-read", "github:list_files"];
    assert_snapshot!(screen(home, &["stop-calls", "upstream:github"]).await, @r"
    $ mcpproxy stop-calls upstream:github
    --- stderr
    stopped: upstream:github; let calls pass again with `mcpproxy resume-calls upstream:github`
    --- exit 0
    ");
    assert_snapshot!(screen(home, &list).await, @r"
    $ mcpproxy call tool-read github:list_files
    --- stdout
    denied by mcpproxy: calls are stopped by the operator (upstream:github)
    --- exit 1
    ");
    assert_snapshot!(screen(home, &["resume-calls", "upstream:github"]).await, @r"
    $ mcpproxy resume-calls upstream:github
    --- stderr
    resumed: upstream:github
    --- exit 0
    ");
    assert_snapshot!(screen(home, &["resume-calls", "upstream:github"]).await, @r"
    $ mcpproxy resume-calls upstream:github
    --- stderr
    error: calls of `upstream:github` are not stopped
    --- exit 3
    ");
    assert!(screen(home, &list).await.ends_with("--- exit 0"));
}

/// The gateway goes on with the last good configuration, and so must whoever watches over it.
#[tokio::test]
async fn a_running_gateway_is_found_although_its_file_became_wrong() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    home.configure("listne: 127.0.0.1:0\n");
    gateway.until_logged("configuration not reloaded").await;
    let status = screen(home, &["status"]).await;
    let problem = status.lines().find(|line| line.contains("config_problem"));
    assert_snapshot!(problem.unwrap(), @r"config_problem       [HOME]/mcpproxy.yaml:1:1: listne: unknown key   hint: did you mean `listen`?");
    assert_snapshot!(screen(home, &["stop-calls"]).await, @r"
    $ mcpproxy stop-calls
    --- stderr
    stopped: all; let calls pass again with `mcpproxy resume-calls all`
    --- exit 0
    ");
}

#[tokio::test]
async fn tokens_are_made_shown_and_revoked() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    let wanted = ["--upstream", "github", "--operation", "read"];
    let made = screen(home, &[&["token", "create", "ci"][..], &wanted].concat()).await;
    assert_snapshot!(hidden(&made, "mcp_agt_", "[TOKEN]"), @r"
    $ mcpproxy token create ci --upstream github --operation read
    --- stdout
    mcp_agt_[TOKEN]
    --- stderr
    this is the only time that the token is shown
    --- exit 0
    ");
    assert_snapshot!(screen(home, &["token", "create", "ci"]).await, @r"
    $ mcpproxy token create ci
    --- stderr
    error: there is a token `ci` already
    --- exit 3
    ");
    let listed = screen(home, &["token", "list"]).await;
    assert_snapshot!(hidden(&listed, "ci    ", "[TIME]"), @r"
    $ mcpproxy token list
    --- stdout
    NAME  CREATED                   EXPIRES  UPSTREAMS  OPERATIONS
    ci    [TIME]  never    github     read
    --- exit 0
    ");
    assert_snapshot!(screen(home, &["token", "revoke", "ci"]).await, @r"
    $ mcpproxy token revoke ci
    --- stderr
    revoked `ci`
    --- exit 0
    ");
    assert_snapshot!(screen(home, &["token", "revoke", "ci"]).await, @r"
    $ mcpproxy token revoke ci
    --- stderr
    error: there is no token `ci`
    --- exit 3
    ");
}

#[tokio::test]
async fn data_comes_in_the_form_that_is_asked_for() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    let check = async |form: &[&str], expect: &str| {
        let output = home.run(&[&["upstream", "list"], form].concat()).await;
        assert!(output.stderr.is_empty(), "{form:?}: data alone is printed");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(expect), "{form:?}: {shown}");
        shown
    };
    check(&["-o", "table"], "NAME").await;
    check(&["-o", "yaml"], "\"name\": \"github\"").await;
    let whole = check(&["-o", "json"], "github").await;
    assert_eq!(check(&["--json"], "github").await, whole);
    let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole[0]["name"], "github");
    let lines = check(&["-o", "jsonl"], "github").await;
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["name"], "github");
}

#[tokio::test]
async fn every_variant_calls_and_the_log_of_an_upstream_is_shown() {
    let (gateway, _github) = running().await;
    let home = &gateway.home;
    // What declares itself destructive is denied unless the policy says otherwise.
    for (variant, code) in [("tool-read", 0), ("tool-write", 0), ("tool-destructive", 1)] {
        let output = home
            .run(&["call", variant, "github:list_files", "{}"])
            .await;
        assert_eq!(output.status.code(), Some(code), "{variant}");
    }
    for command in [
        &["upstream", "restart", "github"],
        &["upstream", "logs", "github"],
    ] {
        let output = home.run(command).await;
        assert_eq!(output.status.code(), Some(0), "{command:?}");
    }
}

#[tokio::test]
async fn the_manual_and_the_completions_are_printed() {
    let home = written("");
    let man = screen(&home, &["man"]).await;
    assert!(man.contains(".TH mcpproxy"), "{man}");
    for shell in ["bash", "zsh", "fish"] {
        let script = screen(&home, &["completions", shell]).await;
        assert!(script.contains("mcpproxy"), "{shell}");
    }
}

#[tokio::test]
async fn the_demo_shows_a_call_going_through() {
    let home = written("");
    let shown = home.run(&["demo"]).await;
    assert_eq!(shown.status.code(), Some(0));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("github") && shown.contains("slack"),
        "{shown}"
    );
}

/// Writes the configuration of an agent with one server; returns its place and what it says.
fn cursor(home: &Home) -> (PathBuf, &'static str) {
    let agent = home.path().join(".cursor").join("mcp.json");
    std::fs::create_dir_all(agent.parent().unwrap()).unwrap();
    let text = r#"{"mcpServers":{"files":{"command":"mcp-files","args":["."]}}}"#;
    std::fs::write(&agent, text).unwrap();
    (agent, text)
}

#[tokio::test]
async fn an_agent_is_pointed_here_and_back_again() {
    let home = written("");
    let (agent, before) = cursor(&home);
    let dry = home.run(&["init", "--dry-run"]).await;
    assert_eq!(dry.status.code(), Some(0), "{dry:?}");
    assert_eq!(std::fs::read_to_string(&agent).unwrap(), before);
    let done = home.run(&["init", "--yes"]).await;
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let after = std::fs::read_to_string(&agent).unwrap();
    assert!(
        after.contains("mcpproxy") && !after.contains("mcp-files"),
        "{after}"
    );
    let listed = screen(&home, &["upstream", "list"]).await;
    assert!(listed.contains("files"), "{listed}");
    let undone = home.run(&["init", "--undo", "--yes"]).await;
    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert_eq!(std::fs::read_to_string(&agent).unwrap(), before);
}

#[tokio::test]
async fn servers_of_an_agent_are_imported_and_its_file_is_left_alone() {
    let home = written("");
    let (agent, before) = cursor(&home);
    let done = home.run(&["upstream", "import", "cursor"]).await;
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let listed = screen(&home, &["upstream", "list"]).await;
    assert!(listed.contains("files"), "{listed}");
    assert_eq!(std::fs::read_to_string(&agent).unwrap(), before);
    let again = screen(&home, &["upstream", "import"]).await;
    assert!(again.contains("there is nothing to import"), "{again}");
}

#[tokio::test]
async fn what_is_wrong_is_found_by_the_doctor() {
    let (gateway, _github) = running().await;
    let fine = gateway.home.run(&["doctor"]).await;
    assert_eq!(fine.status.code(), Some(0), "{fine:?}");
    let home = written("listne: 1\n");
    let ill = home.run(&["doctor"]).await;
    assert_eq!(ill.status.code(), Some(1), "{ill:?}");
    let said = String::from_utf8_lossy(&ill.stdout).into_owned();
    assert!(said.contains("did you mean `listen`"), "{said}");
}
