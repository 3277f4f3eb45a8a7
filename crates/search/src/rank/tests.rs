//! Tests of single effects on the order; how well they work together is in `tests/relevance.rs`.

use super::*;
use crate::document::{Document, Field};
use crate::found::{Ignored, Kind};
use crate::query::MAX_QUERY_CHARACTERS;

/// Builds an index from `upstream:name` with descriptions.
fn index(tools: &[(&str, &'static str)]) -> Index {
    let mut by_upstream: BTreeMap<&str, Vec<Document<'_>>> = BTreeMap::new();
    for (id, description) in tools {
        let (upstream, name) = id.split_once(':').unwrap();
        let document = Document {
            name,
            description: Some(description),
            ..Document::default()
        };
        by_upstream.entry(upstream).or_default().push(document);
    }
    let mut index = Index::default();
    for (upstream, documents) in by_upstream {
        index.replace(upstream, documents);
    }
    index
}

fn sample() -> Index {
    let mut index = index(&[
        ("github:create_issue", "Opens a new issue in a repository"),
        ("github:create_issue_comment", "Adds a comment to an issue"),
        ("github:create_pull_request", "Opens a pull request"),
        (
            "gitlab:create_issue",
            "Opens a new issue in a project, an issue being a task",
        ),
        ("files:deleteFile", "Removes a file"),
        ("files:get_configuration", "Returns what is set"),
        ("who:who", "Tells the account in use"),
    ]);
    let parameters = vec![("recipient", Some("Mailbox of the addressee"))];
    let title = Some("Courier");
    index.replace(
        "post",
        [Document {
            name: "send",
            title,
            description: None,
            parameters,
        }],
    );
    index
}

fn names(found: &Found<'_>) -> Vec<String> {
    found
        .hits
        .iter()
        .map(|hit| format!("{}:{}", hit.upstream, hit.name))
        .collect()
}

/// Checks which tools come first.
fn check(query: &str, expect: &[&str]) {
    let index = sample();
    let names = names(&index.search(query, expect.len().max(1)));
    assert_eq!(names, expect, "{query}");
}

#[test]
fn a_tool_called_by_its_name_comes_first() {
    check("github:create_issue", &["github:create_issue"]);
    check("gitlab:create_issue", &["gitlab:create_issue"]);
    check("gitlab__create_issue", &["gitlab:create_issue"]);
    check("gitlab.createIssue", &["gitlab:create_issue"]);
    check("mcp__gitlab__create_issue", &["gitlab:create_issue"]);
    check(
        "please file it with gitlab:create_issue, a comment on a pull request",
        &["gitlab:create_issue"],
    );
    check("delete-file", &["files:deleteFile"]);
    check("DELETE FILE", &["files:deleteFile"]);
    check("who", &["who:who"]);
}

#[test]
fn a_query_that_means_nothing_finds_nothing() {
    for query in ["", "  ", "?!", "xyzzyqwv"] {
        check(query, &[]);
    }
}

#[test]
fn an_upstream_cannot_take_the_name_of_another() {
    let stuffed = "create issue github create issue github create issue github";
    let index = index(&[
        ("github:create_issue", "Opens an issue"),
        ("evil:github_create_issue", stuffed),
        ("evil:create_issue_github", stuffed),
    ]);
    for query in [
        "github:create_issue",
        "use github:create_issue",
        "github create issue",
    ] {
        assert_eq!(
            names(&index.search(query, 1)),
            ["github:create_issue"],
            "{query}"
        );
    }
}

#[test]
fn repeating_words_does_not_buy_a_place() {
    let stuffed = "send message send message send message send message send message send message";
    let index = index(&[
        ("chat:send_message", "Sends a message"),
        ("evil:helper", stuffed),
    ]);
    assert_eq!(
        names(&index.search("send a message", 2)),
        ["chat:send_message", "evil:helper"]
    );
}

#[test]
fn a_rare_synonym_is_worth_less_than_the_word_itself() {
    let common = (0..20).map(|n| format!("a:delete_{n}")).collect::<Vec<_>>();
    let mut tools: Vec<(&str, &str)> = common.iter().map(|id| (id.as_str(), "")).collect();
    tools.extend([
        ("a:delete_cache", ""),
        ("a:purge_cache", ""),
        ("a:other", ""),
    ]);
    let names = names(&index(&tools).search("delete the cache entry", 2));
    assert_eq!(names, ["a:delete_cache", "a:purge_cache"]);
}

#[test]
fn equals_are_in_order_of_their_names() {
    let index = index(&[("b:tool", "same"), ("a:tool", "same"), ("c:also", "same")]);
    let found = index.search("same", 9);
    assert_eq!(names(&found), ["c:also", "a:tool", "b:tool"]);
    assert_eq!(names(&index.search("same", 2)), ["c:also", "a:tool"]);
}

#[test]
fn what_may_not_be_shown_takes_no_place() {
    let index = sample();
    let found = index.search_where("create issue", 1, |upstream, _| upstream != "github");
    assert_eq!(names(&found), ["gitlab:create_issue"]);
    let all = index.search("create issue", 0);
    assert_eq!((all.hits.len(), found.total), (0, all.total - 3));
}

/// Checks why the first tool was found: term, word, field and kind.
fn check_match(query: &str, expect: (&str, &str, Field, Kind)) {
    let index = sample();
    let found = index.search(query, 1);
    let mut matched = found.hits[0].matched.iter();
    let first = matched.find(|it| it.term == expect.0).unwrap();
    assert_eq!(
        (first.term.as_str(), first.word, first.field, first.kind),
        expect,
        "{query}"
    );
}

#[test]
fn a_hit_says_why() {
    check_match("issue", ("issue", "issue", Field::Name, Kind::Exact));
    check_match("requests", ("requests", "request", Field::Name, Kind::Stem));
    check_match("erase", ("erase", "delete", Field::Name, Kind::Synonym));
    check_match("isue", ("isue", "issue", Field::Name, Kind::Typo));
    check_match("erasse", ("erasse", "delete", Field::Name, Kind::Typo));
    check_match("conf", ("conf", "configuration", Field::Name, Kind::Prefix));
    check_match(
        "configurations2",
        (
            "configurations2",
            "configuration",
            Field::Name,
            Kind::Prefix,
        ),
    );
    check_match("pullrequest", ("pull", "pull", Field::Name, Kind::Compound));
    check_match(
        "git lab",
        ("gitlab", "gitlab", Field::Upstream, Kind::Compound),
    );
    check_match(
        "repositories",
        ("repositories", "repository", Field::Description, Kind::Stem),
    );
    check_match("courier", ("courier", "courier", Field::Title, Kind::Exact));
    check_match(
        "recipient",
        ("recipient", "recipient", Field::Parameter, Kind::Exact),
    );
    check_match(
        "addressee",
        (
            "addressee",
            "addressee",
            Field::ParameterDescription,
            Kind::Exact,
        ),
    );
}

#[test]
fn points_add_up_to_the_score() {
    let index = sample();
    for query in [
        "create a comment on an isue",
        "remove file",
        "get configuration",
        "issue",
    ] {
        for hit in index.search(query, 9).hits {
            let points: f64 = hit.matched.iter().map(|it| it.points).sum();
            let bonus = if hit.mention.is_some() {
                hit.score.floor()
            } else {
                0.0
            };
            assert!(
                (points + bonus - hit.score).abs() < 1e-9,
                "{query}: {hit:?}"
            );
            assert!((0.0..=1.0).contains(&points), "{query}: {hit:?}");
        }
    }
}

#[test]
fn an_explanation_agrees_with_the_search() {
    let index = sample();
    let query = "create issue comment zzzzqqqq";
    let found = index.search(query, 99);
    for (at, hit) in found.hits.iter().enumerate() {
        let explanation = index
            .explain_where(query, hit.upstream, hit.name, |_, _| true)
            .unwrap();
        assert_eq!(
            (explanation.rank, explanation.total),
            (Some(at + 1), found.total)
        );
        assert_eq!(&explanation.hit, hit);
        assert!(explanation.missed.contains(&"zzzzqqqq".to_owned()));
    }
    let absent = index
        .explain_where(query, "who", "who", |_, _| true)
        .unwrap();
    assert_eq!(
        (absent.rank, absent.hit.score, absent.missed.len()),
        (None, 0.0, 4)
    );
    assert_eq!(index.explain_where(query, "who", "none", |_, _| true), None);
}

#[test]
fn what_was_not_looked_at_is_reported() {
    let query = format!("pulls {}", "x".repeat(MAX_QUERY_CHARACTERS));
    let index = sample();
    let found = index.search(&query, 1);
    assert_eq!(
        found.ignored,
        Ignored {
            characters: 6,
            terms: 0
        }
    );
    assert_eq!(found.hits[0].name, "create_pull_request");
    assert_eq!(
        index
            .explain_where(&query, "who", "who", |_, _| true)
            .unwrap()
            .ignored,
        found.ignored
    );
}
