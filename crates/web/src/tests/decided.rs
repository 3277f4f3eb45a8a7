//! What a person decides about and what is shown of it first: questions, tools, servers and changes of
//! the policy.

use serde_json::{Value, json};

use super::hostile::hostile;
use super::stage::Stage;

/// Regression for #8: of an approved tool only the first line could be read, and no page led to it.
#[tokio::test]
async fn all_that_a_tool_says_is_there_and_what_is_folded_is_marked() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let list = stage.get("/ui/tools", &cookie).await;
    let folded = "<summary>One line.…</summary><p class=\"wrapped\">One line.\n&lt;img";
    assert!(list.text.contains(folded), "{}", list.text);
    assert!(
        list.text.contains("<a href=\"/ui/tools/s/t\">"),
        "{}",
        list.text
    );
    let own = stage.get("/ui/tools/s/t", &cookie).await;
    assert!(own.text.contains("One line.\n&lt;img"), "{}", own.text);
}

/// Regression for #8: names that differ after eighty characters looked alike, and of cut arguments
/// nothing said that the rest is approved unseen.
#[tokio::test]
async fn a_question_shows_what_is_approved_or_says_what_is_not_shown() {
    let name = format!("{}_the_end", "a".repeat(100));
    let tool = name.clone();
    let stage = Stage::new(move |path| match path {
        "/api/v1/approvals" => json!({ "approvals": [
            { "id": "7", "server_name": "s", "tool_name": tool, "arguments": "{\"text\":\"x",
              "arguments_truncated": true },
        ] }),
        "/api/v1/tools" => json!([{ "name": format!("s:{tool}"), "state": "approved" }]),
        other => hostile(other),
    });
    let cookie = stage.login().await;
    for path in ["/ui/approvals", "/ui/approvals/7/rule", "/ui/tools"] {
        let page = stage.get(path, &cookie).await;
        let heading = format!("<span class=\"quiet\">:</span>{name}</span>");
        assert!(page.text.contains(&heading), "{path}: {}", page.text);
    }
    let page = stage.get("/ui/approvals", &cookie).await;
    let unseen = "only the first 10 bytes. The rest would leave as well";
    assert!(page.text.contains(unseen), "{}", page.text);
}

/// Regression for #8: nothing said where what cannot be read stands, when it is not in the arguments.
#[tokio::test]
async fn a_question_says_where_it_stands_what_is_asked_about() {
    let stage = Stage::new(|path| match path {
        "/api/v1/approvals" => json!({ "approvals": [{ "id": "7", "findings": [
            { "reason": "Data that cannot be read.", "place": "params.name" },
            { "reason": "Read before.", "place": "params.x", "evidence": { "place": "params.x" } },
            { "reason": "It was often denied." },
        ] }] }),
        other => hostile(other),
    });
    let page = stage.get("/ui/approvals", &stage.login().await).await;
    let said = "Data that cannot be read. It stands in <code>params.name</code>, the name of the tool itself.";
    assert!(page.text.contains(said), "{}", page.text);
    assert_eq!(
        page.text.matches("It stands in").count(),
        1,
        "{}",
        page.text
    );
}

/// Regression for #8: what was edited after its effect was shown was saved unseen.
#[tokio::test]
async fn a_change_is_saved_only_as_it_was_shown() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let token = stage
        .get("/ui/policy/change", &cookie)
        .await
        .token()
        .to_owned();
    let edited = "act=save&patch=%7B%22a%22%3A2%7D";
    for shown in ["", "&shown=%7B%22a%22%3A1%7D", "&shown=%7B"] {
        let form = format!("token={token}&{edited}{shown}");
        let page = stage.post("/ui/policy/change", &cookie, &form).await;
        assert!(page.text.contains("nothing was saved"), "{}", page.text);
        assert!(
            page.text
                .contains("name=\"shown\" value=\"{&quot;a&quot;:2}\""),
            "{}",
            page.text
        );
    }
    assert_eq!(stage.asked("POST /api/v1/config/apply").len(), 0);
    let replayed = stage.asked("POST /api/v1/policy/replay");
    assert!(
        replayed
            .iter()
            .all(|one| one.body["patch"] == json!({ "a": 2 }))
    );
    assert_eq!(replayed.len(), 3);
}

/// Regression for #8: of a misspelled server, and of one whose calls are stopped, it said "allow".
#[tokio::test]
async fn a_tried_call_says_what_refuses_it_before_the_policy() {
    let stage = Stage::new(|path| match path {
        "/api/v1/servers/s" | "/api/v1/servers/held" => json!({ "enabled": true }),
        "/api/v1/servers/off" => json!({ "enabled": false }),
        "/api/v1/stops" => json!(["upstream:held", "session:s"]),
        "/api/v1/servers/nosuch" => Value::Null,
        other => hostile(other),
    });
    let cookie = stage.login().await;
    let token = stage.get("/ui/", &cookie).await.token().to_owned();
    for (server, expect) in [
        ("s", None),
        ("off", Some("`off` is disabled")),
        ("held", Some("calls are stopped (`upstream:held`)")),
        ("nosuch", Some("no server is named `nosuch`")),
    ] {
        let form = format!("token={token}&server={server}&tool=t");
        let page = stage.post("/ui/policy/try", &cookie, &form).await;
        let refused = page.text.contains("A real call would be refused");
        assert_eq!(refused, expect.is_some(), "{}", page.text);
        assert!(
            page.text.contains(expect.unwrap_or_default()),
            "{}",
            page.text
        );
    }
}

/// Regression for #8: both were offered, whatever the state.
#[tokio::test]
async fn a_server_is_put_away_or_let_out_and_never_both() {
    for (state, offered, other) in [
        ("quarantined", "unquarantine", "quarantine"),
        ("approved", "quarantine", "unquarantine"),
    ] {
        let stage = Stage::new(move |path| match path {
            "/api/v1/servers/s/tools" => json!({ "quarantine": [
                { "kind": "tool", "state": "blocked" }, { "kind": "server", "state": state } ] }),
            other => hostile(other),
        });
        let page = stage.get("/ui/tools/s", &stage.login().await).await;
        let button = |act: &str| page.text.contains(&format!("value=\"{act}\""));
        assert!(button(offered) && !button(other), "{state}: {}", page.text);
    }
}

/// Regression for #8: an approved tool was on no page that led to where it can be blocked.
#[tokio::test]
async fn the_tools_of_a_server_lead_to_where_they_are_judged() {
    let stage = Stage::new(|path| match path {
        "/api/v1/tools" => json!([
            { "name": "s:t", "state": "approved" }, { "name": "s2:elsewhere", "state": "approved" },
        ]),
        other => hostile(other),
    });
    let cookie = stage.login().await;
    let page = stage.get("/ui/tools/s", &cookie).await;
    assert!(
        page.text.contains("href=\"/ui/tools/s/t\""),
        "{}",
        page.text
    );
    assert!(!page.text.contains("elsewhere"), "{}", page.text);
    let own = stage.get("/ui/tools/s/t", &cookie).await;
    assert!(own.text.contains("value=\"block\""), "{}", own.text);
}

/// Regression for #8: "disable an upstream (`host`) by `owner`" stood there as what was done.
#[tokio::test]
async fn what_was_done_is_said_in_a_sentence() {
    let stage = Stage::new(hostile);
    let cookie = stage.login().await;
    let token = stage.get("/ui/", &cookie).await.token().to_owned();
    for (act, expect) in [
        ("disable", "`s` is disabled."),
        ("unquarantine", "`s` is out of quarantine."),
    ] {
        let form = format!("token={token}&act={act}&next=/ui/tools/s");
        stage.post("/ui/tools/s", &cookie, &form).await;
        let page = stage.get("/ui/tools/s", &cookie).await;
        assert!(page.text.contains(expect), "{}", page.text);
    }
}
