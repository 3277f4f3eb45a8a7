//! Upstreams and their classes: the specifications' examples, the well-known ones, the traps.

use proptest::prelude::*;

use super::*;
use crate::class::Method;

fn class(name: &str) -> Class {
    let about = Upstream {
        name,
        ..Upstream::default()
    };
    upstream(&about, &Classification::default())
}

fn check(kind: Kind, least: u8, names: &str) {
    for name in names.split_whitespace() {
        let found = class(name);
        assert_eq!(found.kind, kind, "{name}: {}", found.reason);
        assert!(
            found.confidence.as_percent() >= least,
            "{name}: {:?}",
            found.confidence
        );
        assert_eq!(found.method, Method::Heuristic);
    }
}

#[test]
fn us2_1_a_database_by_name_is_internal() {
    check(Kind::Internal, 80, "postgres-db");
}

#[test]
fn us2_2_a_chat_by_name_is_external() {
    check(Kind::External, 80, "slack-notifications");
}

#[test]
fn us2_6_the_operator_is_believed_before_the_name() {
    let settings = Classification {
        server_overrides: [("my-private-slack".to_owned(), Kind::Internal)].into(),
        ..Classification::default()
    };
    let about = Upstream {
        name: "my-private-slack",
        ..Upstream::default()
    };
    let found = upstream(&about, &settings);
    assert_eq!((found.kind, found.method), (Kind::Internal, Method::Config));
    assert_eq!(found.confidence.as_percent(), 100);
    check(Kind::External, 80, "my-private-slack");
}

#[test]
fn the_lists_of_the_specifications_hold() {
    check(
        Kind::External,
        80,
        "slack discord teams telegram email smtp sendgrid mailgun webhook zapier ifttt http https
         api rest sms twilio vonage s3-public gcs-public",
    );
    check(
        Kind::Internal,
        80,
        "database db postgres mysql mongo redis file filesystem fs github gitlab bitbucket jira
         confluence notion s3-private gcs-private",
    );
}

#[test]
fn well_known_upstreams_have_their_class() {
    check(
        Kind::Internal,
        75,
        "linear sqlite sentry datadog supabase kubernetes docker memory sequential-thinking time
         obsidian airtable figma mcp-server-sqlite server-filesystem mongodb-mcp-server k8s-prod
         my-db users-database GitHub github-enterprise acme_gitlab postgres15 bitwarden git
         azure-devops asana everything MyPostgresServer elasticsearch",
    );
    check(
        Kind::External,
        75,
        "brave-search fetch mcp-server-fetch exa tavily firecrawl perplexity context7 twitter x
         x-twitter reddit linkedin whatsapp-mcp http-client rest-api acme-slack-bot
         line-bot-mcp-server email-sender emails duckduckgo microsoft-teams youtube",
    );
    check(
        Kind::Hybrid,
        75,
        "gmail google-drive gdrive googleDrive puppeteer playwright browser chrome-devtools-mcp
         aws cloudflare digital-ocean digitalocean stripe hubspot salesforce shopify outlook
         google-calendar s3 shell vercel netlify ms365 zendesk",
    );
}

#[test]
fn an_owner_speaks_only_where_the_name_does_not() {
    check(
        Kind::External,
        80,
        "@upstash/context7-mcp io.github.someone/fetch",
    );
    check(Kind::Hybrid, 80, "@hubspot/mcp-server");
    check(Kind::Unknown, 0, "io.github.someone/frobnicate");
}

#[test]
fn words_are_not_found_inside_other_words() {
    // What peers get wrong: `ses` in these, `git` in `digital`, `fs` in `offset`.
    check(
        Kind::Unknown,
        0,
        "processes sessions-api offset legitimate digitalis restaurant apiary",
    );
    check(
        Kind::Unknown,
        0,
        "profile-store rapid https-docs-x dbase foo bar-baz mcp server tools x2",
    );
    check(
        Kind::Unknown,
        0,
        "time-travel note-taker-x lineage signalling team-board linear-algebra",
    );
}

#[test]
fn two_sides_in_one_name_are_never_internal() {
    check(
        Kind::External,
        80,
        "github-webhook jira-email notion-notifications",
    );
    check(
        Kind::Hybrid,
        70,
        "jira-slack-bridge slack-github webhook-github-relay email-db",
    );
    // The name of a product says more than a common word.
    check(Kind::External, 80, "slack-files discord-db");
    check(Kind::Internal, 80, "github-api github-http postgres-rest");
}

#[test]
fn package_and_host_speak_where_the_name_does_not() {
    let check = |name: &str, line: &str, url: Option<&str>, kind: Kind| {
        let mut parts = line.split_whitespace().map(ToOwned::to_owned);
        let command = parts.next();
        let args: Vec<String> = parts.collect();
        let about = Upstream {
            name,
            command: command.as_deref(),
            args: &args,
            url,
        };
        let found = upstream(&about, &Classification::default());
        assert_eq!(found.kind, kind, "{name} {line} {url:?}: {}", found.reason);
    };
    check(
        "work",
        "npx -y @modelcontextprotocol/server-slack",
        None,
        Kind::External,
    );
    check(
        "one",
        "npx -y @modelcontextprotocol/server-github",
        None,
        Kind::Internal,
    );
    check("two", "uvx mcp-server-fetch", None, Kind::External);
    check(
        "three",
        "docker run -i --rm mcp/postgres",
        None,
        Kind::Internal,
    );
    check("four", "docker run -i --rm acme/own", None, Kind::Unknown);
    check(
        "five",
        "npx mcp-remote https://mcp.linear-app.example/sse",
        None,
        Kind::Internal,
    );
    check("six", "", Some("https://mcp.slack.com/mcp"), Kind::External);
    check(
        "seven",
        "",
        Some("https://mcp.acme.example/mcp"),
        Kind::External,
    );
    check(
        "eight",
        "",
        Some("http://127.0.0.1:9000/mcp"),
        Kind::Unknown,
    );
    check("nine", "", Some("http://10.0.0.7/mcp"), Kind::Unknown);
    check(
        "ten",
        "",
        Some("https://slack.evil.example/"),
        Kind::External,
    );
    check(
        "postgres",
        "",
        Some("https://mcp.acme.example/mcp"),
        Kind::Internal,
    );
    // A name that hides what is started.
    check(
        "my-db",
        "npx -y @modelcontextprotocol/server-slack",
        None,
        Kind::Hybrid,
    );
    check("filesystem", "uvx mcp-server-fetch", None, Kind::Hybrid);
}

#[test]
fn agreement_makes_surer() {
    let args = [
        "-y".to_owned(),
        "@modelcontextprotocol/server-slack".to_owned(),
    ];
    let about = Upstream {
        name: "acme-slack",
        command: Some("npx"),
        args: &args,
        url: None,
    };
    let found = upstream(&about, &Classification::default());
    assert!(found.confidence > class("acme-slack").confidence);
}

#[test]
fn the_table_is_whole() {
    let table = include_str!("../../rules/upstreams.txt");
    let names: Vec<&str> = sections(table)
        .flat_map(crate::rules::Section::names)
        .collect();
    assert!(names.len() >= 200, "{}", names.len());
    assert_eq!(parse(table).len(), names.len(), "a name stands twice");
    for section in sections(table) {
        assert!(parse_header(section.header).is_some(), "{section:?}");
    }
    for name in names {
        let words = Words::of(name);
        assert!(words.len() <= WIDEST, "{name}");
        let found = hits(&words);
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].known.name, name);
    }
}

proptest! {
    #[test]
    fn an_override_always_wins(name in "\\PC{1,40}", command in "\\PC{0,20}", url in "\\PC{0,30}") {
        for kind in [Kind::Internal, Kind::External, Kind::Hybrid, Kind::Unknown] {
            let settings = Classification {
                server_overrides: [(name.clone(), kind)].into(),
                ..Classification::default()
            };
            let args = [command.clone()];
            let about = Upstream {
                name: &name,
                command: Some(&command),
                args: &args,
                url: Some(&url),
            };
            let found = upstream(&about, &settings);
            prop_assert_eq!((found.kind, found.method), (kind, Method::Config));
        }
    }

    #[test]
    fn any_name_and_command_are_taken(name in "\\PC{0,60}", args in prop::collection::vec("\\PC{0,20}", 0..5)) {
        let about = Upstream { name: &name, command: Some("npx"), args: &args, url: args.first().map(String::as_str) };
        let found = upstream(&about, &Classification::default());
        prop_assert!(found.confidence.as_percent() <= 98);
    }
}

#[test]
fn a_browser_is_told_by_its_name() {
    for name in ["playwright", "my-browser", "chrome-devtools-mcp"] {
        assert!(super::is_browser(name), "{name}");
    }
    for name in ["gmail", "computer-use", "github"] {
        assert!(!super::is_browser(name), "{name}");
    }
}
