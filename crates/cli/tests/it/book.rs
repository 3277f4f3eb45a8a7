//! The pages under `docs`: what they link to is there, and what they show works.

use std::path::{Path, PathBuf};

use crate::support::{Gateway, Home, Legacy, played, program, text_of};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages with their texts.
fn pages() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let pages = pages.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    });
    let mut pages: Vec<_> = pages.collect();
    pages.sort();
    pages
}

/// The targets of links on a page, without what stands behind `#`.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.split("](").skip(1);
    let targets = ends.filter_map(|rest| rest.split(')').next());
    let targets = targets.filter_map(|target| target.split('#').next());
    targets.filter(|target| !target.is_empty())
}

/// Those that lead to another page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    targets(text).filter(|target| !target.contains("://"))
}

/// The files of the repository that links lead to.
fn sources(text: &str) -> impl Iterator<Item = &str> {
    let own = targets(text).filter_map(|it| it.strip_prefix(env!("CARGO_PKG_REPOSITORY")));
    own.filter_map(|it| {
        let blob = it.strip_prefix("/blob/main/");
        blob.or_else(|| it.strip_prefix("/tree/main/"))
    })
}

/// The blocks of a page that begin with these words.
fn blocks<'a>(text: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let begin = format!("```{kind}\n");
    let starts: Vec<_> = text
        .match_indices(&begin)
        .map(|(at, _)| at + begin.len())
        .collect();
    starts
        .into_iter()
        .filter_map(|at| text.get(at..)?.split("\n```").next())
}

#[test]
fn every_link_leads_to_a_file_and_every_page_is_in_the_summary() {
    let pages = pages();
    let (_, summary) = pages.iter().find(|(name, _)| name == "SUMMARY.md").unwrap();
    let listed: Vec<_> = links(summary).collect();
    let mut seen = 0;
    for (name, text) in &pages {
        for target in links(text) {
            // The book has the pages of this folder and nothing else.
            assert!(!target.contains(".."), "{name}: {target} leaves the book");
            assert!(folder().join(target).exists(), "{name}: {target}");
        }
        for file in sources(text) {
            assert!(folder().join("..").join(file).exists(), "{name}: {file}");
            seen += 1;
        }
        let in_summary = name == "SUMMARY.md" || listed.contains(&name.as_str());
        assert!(in_summary, "`{name}` is not in SUMMARY.md");
    }
    assert!(seen >= 10, "{seen}");
}

/// What a reader has to be told, since nobody finds it out by trying.
#[test]
fn what_must_be_told_is_told() {
    let pages = pages();
    let check = |page: &str, told: &[&str]| {
        let (_, text) = pages.iter().find(|(name, _)| name == page).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in told {
            assert!(text.contains(words), "{page} does not say: {words}");
        }
    };
    // A plain hash hides no value that can be guessed.
    check(
        "assay.md",
        &[
            "It is not a secret: whoever can guess the value (a flag, a short path) can check the guess.",
            "With `--hash-pepper` it is `hmac-sha256:` and only holders of the key can.",
        ],
    );
    // Where baselines are kept, where decisions are copied to, which hooks need no new program.
    check(
        "configuration.md",
        &[
            "`sqlite` is the data folder, `file:PATH` and `sqlite:PATH` another database, `postgres://...` a PostgreSQL database",
            "`grpc://` or `grpcs://` (protocol `mcpproxy`, in batches), `http://` or `https://`",
            "The files are looked at every second.",
        ],
    );
    check("wasm-hooks.md", &["takes over between two questions"]);
}

/// US1.4: what the gateway cannot see without hooks is said where people read first.
#[test]
fn what_is_not_seen_without_hooks_is_said() {
    let text = std::fs::read_to_string(folder().join("../README.md")).unwrap();
    let section = text.split("\n## What is not seen\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let own = section
        .split("\n- ")
        .find(|point| point.contains("own tools"));
    let own = own.unwrap().replace('\n', " ");
    for word in ["files, shell, web", "hooks", "`mcpproxy doctor`"] {
        assert!(own.contains(word), "{word}: {own}");
    }
}

#[tokio::test]
async fn every_recipe_holds() {
    let home = Home::new(&serde_json::json!({}));
    let mut run = Vec::new();
    for (name, text) in pages() {
        for (number, block) in blocks(&text, "yaml scenario").enumerate() {
            let file = home.path().join(format!("{name}-{number}.yaml"));
            std::fs::write(&file, format!("{block}\n")).unwrap();
            run.push(file.to_string_lossy().into_owned());
        }
    }
    assert!(run.len() >= 6, "{run:?}");
    let mut command = vec!["policy", "test"];
    command.extend(run.iter().map(String::as_str));
    let tested = home.run(&command).await;
    let said = String::from_utf8_lossy(&tested.stdout).into_owned();
    let problems = String::from_utf8_lossy(&tested.stderr).into_owned();
    assert!(tested.status.success(), "{said}{problems}");
}

#[tokio::test]
async fn every_configuration_is_one() {
    let mut seen = 0;
    for (name, text) in pages() {
        for block in blocks(&text, "yaml") {
            let home = Home::new(&serde_json::json!({}));
            home.configure(block);
            let mut check = home.command(&["config", "check"]);
            for variable in block
                .split("${")
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
            {
                // As long as a key that gateways share has to be.
                let value = "made-up-made-up-made-up-made-up-1";
                check.env(variable.split(':').next().unwrap(), value);
            }
            let checked = check.output().await.unwrap();
            let said = String::from_utf8_lossy(&checked.stderr).into_owned();
            assert!(checked.status.success(), "{name}: {block}\n{said}");
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen}");
}

/// The lines of a page on which a program is started, without what is said about them.
fn started<'a>(text: &'a str, program: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut shown = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), shown) {
            (Some(kind), None) => shown = Some(matches!(kind, "" | "sh" | "console")),
            (Some(_), Some(_)) => shown = None,
            (None, Some(true)) => {
                let line = line.strip_prefix("$ ").unwrap_or(line);
                let args = line.strip_prefix(program);
                let args = args.and_then(|rest| rest.strip_prefix(' '));
                found.extend(args.map(|args| args.split(" #").next().unwrap_or(args)));
            }
            (None, _) => {}
        }
    }
    found
}

#[tokio::test]
async fn every_command_that_is_shown_is_understood() {
    let home = Home::new(&serde_json::json!({}));
    let mut seen = 0;
    for (name, text) in pages() {
        for line in started(&text, "mcpproxy") {
            let mut args: Vec<&str> = line.split_whitespace().collect();
            // With this it is read and not carried out; an argument that is not known is an error
            // all the same.
            args.push("--help");
            let said = home.run(&args).await;
            let problems = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.status.success(), "{name}: {line}\n{problems}");
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
    let wrong = home.run(&["hook", "install", "--al", "--help"]).await;
    assert!(!wrong.status.success(), "this test cannot fail");
}

/// Two servers of an agent, as its configuration has them: one knows a secret, one talks to everybody.
fn two_servers() -> serde_json::Value {
    let (gitlab, slack) = (played("gitlab", &[]), played("slack", &[]));
    serde_json::json!({ "mcpServers": { "gitlab": gitlab, "slack": slack } })
}

/// Reads a secret inside and posts it outside; tells whether it was posted.
async fn leaks(gateway: &Gateway) -> bool {
    let agent = Legacy::open(&gateway.url("/mcp/all"), serde_json::json!({})).await;
    let path = serde_json::json!({ "path": "deploy.env" });
    let read = agent.call("gitlab__get_file", path).await;
    let text = serde_json::json!({ "channel": "all", "text": text_of(&read) });
    let posted = agent.call("slack__post_message", text).await;
    text_of(&posted) == "posted"
}

/// What a newcomer is told to do, done in that order, does what the page says.
#[tokio::test]
async fn whoever_follows_the_first_page_gets_there() {
    let text = std::fs::read_to_string(folder().join("getting-started.md")).unwrap();
    let home = Home::new(&serde_json::json!({}));
    home.configure("");
    let agent = home.path().join(".cursor/mcp.json");
    std::fs::create_dir_all(agent.parent().unwrap()).unwrap();
    std::fs::write(&agent, two_servers().to_string()).unwrap();
    let run = async |line: &str| {
        let mut args: Vec<&str> = line.split_whitespace().collect();
        // Whoever is asked says yes.
        if line == "init" {
            args.push("--yes");
        }
        let done = home.run(&args).await;
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let problems = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{line}: {said}{problems}");
        said
    };
    let commands = started(&text, "mcpproxy");
    let serves = commands.iter().position(|line| line.trim() == "serve");
    let (before, after) = commands.split_at(serves.expect("the page starts a gateway"));
    for line in before {
        run(line.trim()).await;
    }
    assert!(
        std::fs::read_to_string(&agent)
            .unwrap()
            .contains("mcpproxy")
    );
    let imported = std::fs::read_to_string(home.config()).unwrap();
    let mut shown = blocks(&text, "yaml");
    let (shadow, enforce) = (shown.next().unwrap(), shown.next().unwrap());
    home.configure(&format!("{imported}\n{shadow}\n"));
    let gateway = Gateway::start_in(home.clone()).await;
    assert!(leaks(&gateway).await, "shadow mode lets everything pass");
    let mut looked = String::new();
    for line in after.iter().skip(1) {
        looked.push_str(&run(line.trim()).await);
    }
    let denied = looked.lines().find(|line| line.contains("post_message"));
    let denied = denied.unwrap_or_else(|| panic!("what would have been denied: {looked}"));
    assert!(denied.contains("deny"), "{denied}");
    for (name, class) in [("gitlab", "internal"), ("slack", "external")] {
        let listed = |line: &&str| line.starts_with(name) && line.contains(class);
        assert!(looked.lines().any(|line| listed(&line)), "{name}: {looked}");
    }
    let home = gateway.stop().await;
    home.configure(&format!("{imported}\n{enforce}\n"));
    let gateway = Gateway::start_in(home).await;
    assert!(!leaks(&gateway).await, "now it is denied");
}

#[tokio::test]
async fn every_access_policy_is_one() {
    let mut seen = 0;
    for (name, text) in pages() {
        for block in blocks(&text, "cedar") {
            let guard = serde_json::json!({
                "id": "rbac-enforcer", "type": "native", "config": { "policies": block },
            });
            let config = serde_json::json!({ "security": { "hooks": [guard] } });
            let checked = Home::new(&config).run(&["config", "check"]).await;
            let said = String::from_utf8_lossy(&checked.stderr).into_owned();
            assert!(checked.status.success(), "{name}: {block}\n{said}");
            seen += 1;
        }
    }
    assert!(seen >= 1, "{seen}");
}

#[tokio::test]
async fn every_attack_that_is_shown_can_be_played() {
    let home = Home::new(&serde_json::json!({}));
    let mut seen = 0;
    for (name, text) in pages() {
        for block in blocks(&text, "yaml adversary") {
            let file = home.path().join("shown.yaml");
            std::fs::write(&file, format!("{block}\n")).unwrap();
            let mut play = tokio::process::Command::new(program());
            play.args(["adversary", "serve", "--scenario"]).arg(&file);
            play.env("HOME", home.path());
            play.stdin(std::process::Stdio::null());
            let played = play.output().await.unwrap();
            let said = String::from_utf8_lossy(&played.stderr).into_owned();
            assert!(played.status.success(), "{name}: {block}\n{said}");
            seen += 1;
        }
    }
    assert!(seen >= 1, "{seen}");
}

#[test]
fn every_document_that_is_shown_is_json() {
    let mut seen = 0;
    for (name, text) in pages() {
        for block in blocks(&text, "json") {
            let documents = serde_json::Deserializer::from_str(block).into_iter();
            for document in documents {
                let document: Result<serde_json::Value, _> = document;
                assert!(document.is_ok(), "{name}: {block}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "{seen}");
}
