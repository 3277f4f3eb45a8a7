//! What the pages about flows say of sessions with more records than one page of the log.

use serde_json::{Value, json};

use super::stage::Stage;

/// Parts of the question for records of what moved.
const FLOWS: &str = "flow_type=internal_to_internal,";

fn record(id: &str, session: &str, status: &str) -> Value {
    json!({
        "id": id, "type": "tool_call", "server_name": "files", "tool_name": "read",
        "session_id": session, "status": status, "risk_level": "none", "flow_type": "none",
        "timestamp": "2026-01-01T00:00:00.000Z",
    })
}

/// A leak of `files:read` to `slack`.
fn leak(id: &str, session: &str, status: &str, risk: &str) -> Value {
    let mut leak = record(id, session, status);
    for (name, value) in [
        ("server_name", json!("slack")),
        ("tool_name", json!("post")),
        ("risk_level", json!(risk)),
        ("flow_type", json!("internal→external")),
        (
            "findings",
            json!([{ "evidence": { "evidence": "exact", "shared": 40,
                "origin": { "upstream": "files", "tool": "read" } } }]),
        ),
    ] {
        leak[name] = value;
    }
    leak
}

fn closing(session: &str, edges: u64) -> Value {
    let mut closing = record("closing", session, "success");
    closing["type"] = json!("flow_summary");
    closing["risk_level"] = json!("critical");
    closing["flow_type"] = json!("internal→external");
    closing["summary"] = json!({ "edges": edges, "risk_levels": { "critical": 1, "none": 7 } });
    closing
}

/// So many harmless calls; there are more.
fn harmless(session: &str) -> Value {
    let calls = (0..100).map(|at| record(&format!("call{at}"), session, "success"));
    json!({ "activities": calls.collect::<Vec<_>>(), "next_cursor": "7" })
}

fn edge(call: &str, status: &Value, risk: &str) -> Value {
    json!({ "activity_id": call, "from": { "upstream": "files", "tool": "read" }, "to": "slack",
        "evidence": "exact", "weight": "sensitive", "shared": 40, "status": status,
        "risk_level": risk })
}

async fn shown(
    path: &str,
    respond: impl Fn(&str) -> Value + Clone + Send + Sync + 'static,
) -> String {
    let stage = Stage::new(respond);
    let cookie = stage.login().await;
    stage.get(path, &cookie).await.text
}

/// Regression for #8: what is not among the newest hundred records was shown as waiting.
#[tokio::test]
async fn a_leak_that_was_stopped_is_stopped_however_much_followed() {
    let page = shown("/ui/flows/9", |path| match path {
        "/api/v1/sessions/9/flow" => json!({
            "edges_total": 1, "edges": [edge("leak", &json!("blocked"), "critical")],
        }),
        path if path.starts_with("/api/v1/activity?session_id=9") => harmless("9"),
        _ => json!({}),
    })
    .await;
    assert!(page.contains("to slack, critical, stopped"), "{page}");
    assert!(page.contains("class=\"cross\""), "{page}");
    assert!(!page.contains("slack, critical, waits"), "{page}");
    assert!(!page.contains("movements are shown"), "{page}");
}

/// Regression for #8: what is not known was guessed.
#[tokio::test]
async fn what_is_not_known_is_said_to_be_and_what_is_harmless_is_not_drawn_as_a_risk() {
    let page = shown("/ui/flows/9", |path| match path {
        "/api/v1/sessions/9/flow" => json!({
            "edges_total": 2, "edges": [
                edge("lost", &Value::Null, "critical"),
                edge("fine", &json!("success"), "none"),
            ],
        }),
        path if path.starts_with("/api/v1/activity?session_id=9") => harmless("9"),
        _ => json!({}),
    })
    .await;
    assert!(
        page.contains("critical, not known what became of it"),
        "{page}"
    );
    assert!(page.contains("</span>unknown</span>"), "{page}");
    assert!(page.contains("to slack, none, arrived"), "{page}");
    assert!(page.contains("class=\"edge none\""), "{page}");
    for guess in [", waits<", "pending", "class=\"edge medium\""] {
        assert!(!page.contains(guess), "{guess}: {page}");
    }
}

/// Regression for #8: of an ended session only the newest hundred records were looked at.
#[tokio::test]
async fn an_ended_session_is_drawn_from_all_that_is_on_record_of_its_flows() {
    let page = shown("/ui/flows/9", |path| match path {
        "/api/v1/sessions/9/flow" => Value::Null,
        path if path.contains("type=flow_summary") => {
            json!({ "activities": [closing("9", 5)] })
        }
        path if path.contains(FLOWS) => {
            json!({ "activities": [leak("leak", "9", "blocked", "critical")] })
        }
        path if path.starts_with("/api/v1/activity?session_id=9") => harmless("9"),
        _ => json!({}),
    })
    .await;
    assert!(page.contains("to slack, critical, stopped"), "{page}");
    assert!(!page.contains("seen to go anywhere"), "{page}");
    assert!(page.contains("1 of 5 movements are shown"), "{page}");
}

/// Regression for #8: of thousands of movements some were shown, and nothing said so.
#[tokio::test]
async fn what_the_gateway_no_longer_follows_comes_from_the_log_and_the_rest_is_counted() {
    let page = shown("/ui/flows/9", |path| match path {
        "/api/v1/sessions/9/flow" => json!({
            "edges_total": 3048, "edges": [edge("new", &json!("success"), "medium")],
        }),
        // There is no end to what is harmless; the leak is found by its risk.
        path if path.contains(FLOWS) && path.contains("risk_level=critical") => {
            json!({ "activities": [leak("leak", "9", "blocked", "critical")] })
        }
        path if path.starts_with("/api/v1/activity?session_id=9") => harmless("9"),
        _ => json!({}),
    })
    .await;
    assert!(page.contains("to slack, critical, stopped"), "{page}");
    assert!(page.contains("to slack, medium, arrived"), "{page}");
    assert!(page.contains("2 of 3048 movements are shown"), "{page}");
    assert!(page.contains("Not every record of this session"), "{page}");
}

/// The rows of the table of sessions in which data moved.
fn rows(page: &str) -> Vec<&str> {
    let (_, rest) = page.split_once("id=\"moved\"").unwrap();
    let (table, _) = rest.split_once("</section>").unwrap();
    let rows = table.split("<tr role=\"row\"><td");
    rows.skip(1).collect()
}

/// Regression for #8: one session filled the list and hid the others, and what closed a session
/// stood for what it did.
#[tokio::test]
async fn every_session_in_which_data_moved_is_listed_with_the_worst_that_it_did() {
    let page = shown("/ui/flows", |path| {
        let full = || (0..100).map(|at| leak(&format!("a{at}"), "busy", "success", "medium"));
        let others = ["one", "two"].into_iter().flat_map(|session| {
            let of = |status| leak(&format!("{session}{status}"), session, status, "critical");
            [of("success"), of("blocked")]
        });
        match path {
            path if !path.starts_with("/api/v1/activity?") => json!({}),
            path if path.contains("type=flow_summary") => json!({ "activities": [] }),
            // What closed the sessions has their direction and comes first.
            path if path.contains("cursor=") => {
                let closings = ["one", "two", "gone"].map(|session| closing(session, 2));
                let closings = closings.into_iter();
                json!({ "activities": closings.chain(others).collect::<Vec<_>>() })
            }
            _ => json!({ "activities": full().collect::<Vec<_>>(), "next_cursor": "7" }),
        }
    })
    .await;
    let rows = rows(&page);
    assert_eq!(rows.len(), 3, "{page}");
    for (row, session) in rows.iter().zip(["busy", "one", "two"]) {
        assert!(row.contains(&format!("/ui/flows/{session}\"")), "{row}");
    }
    for row in &rows[1..] {
        assert!(row.contains("critical") && row.contains("blocked"), "{row}");
        assert!(
            row.contains("slack") && row.contains("internal→external"),
            "{row}"
        );
    }
    assert!(!page.contains("Not everything on record"), "{page}");
}

/// Regression for #8.
#[tokio::test]
async fn a_session_without_end_hides_no_ended_one_and_the_page_says_that_there_is_more() {
    let page = shown("/ui/flows", |path| {
        let busy = (0..100).map(|at| leak(&format!("a{at}"), "busy", "success", "medium"));
        match path {
            path if !path.starts_with("/api/v1/activity?") => json!({}),
            path if path.contains("type=flow_summary") => {
                json!({ "activities": [closing("busy", 9), closing("ended", 2)] })
            }
            path if path.contains("session_id=ended") && path.contains("status=blocked") => {
                let leak = leak("leak", "ended", "blocked", "critical");
                json!({ "activities": [closing("ended", 2), leak] })
            }
            _ => json!({ "activities": busy.collect::<Vec<_>>(), "next_cursor": "7" }),
        }
    })
    .await;
    let rows = rows(&page);
    assert_eq!(rows.len(), 2, "{page}");
    assert!(rows[1].contains("/ui/flows/ended\""), "{}", rows[1]);
    assert!(rows[1].contains("blocked"), "{}", rows[1]);
    assert!(
        page.contains("Not everything on record was looked at"),
        "{page}"
    );
}

/// Regression for #8: of hundreds of ended sessions fifty were shown, and nothing said so.
#[tokio::test]
async fn ended_sessions_beyond_a_page_are_told_of_and_on_the_next() {
    let listed = |path: &str| match path {
        path if !path.contains("type=flow_summary&limit=50") => json!({}),
        path if path.contains("cursor=7%202") => json!({ "activities": [closing("older", 1)] }),
        _ => json!({ "activities": [closing("newer", 1)], "next_cursor": "7 2" }),
    };
    let told = "Older sessions are on record";
    let first = shown("/ui/flows", listed).await;
    assert!(
        first.contains("/ui/flows/newer\"") && first.contains(told),
        "{first}"
    );
    assert!(first.contains("href=\"/ui/flows?ended=7%202\""), "{first}");
    let next = shown("/ui/flows?ended=7%202", listed).await;
    assert!(next.contains("/ui/flows/older\""), "{next}");
    assert!(
        !next.contains("/ui/flows/newer\"") && !next.contains(told),
        "{next}"
    );
    assert!(next.contains("href=\"/ui/flows\">Newest"), "{next}");
}

/// Regression for #8: figures of a part of the time looked like those of all of it.
#[tokio::test]
async fn the_overview_says_from_when_on_it_counts() {
    let told = "There is more on record than is counted at once";
    for (complete, expect) in [(false, true), (true, false)] {
        let page = shown("/ui/", move |path| {
            let summary = path.starts_with("/api/v1/activity/summary");
            let counted =
                json!({ "complete": complete, "counted_from": "2026-01-01T10:11:12.000Z" });
            if summary { counted } else { json!({}) }
        })
        .await;
        assert_eq!(page.contains(told), expect, "{page}");
        assert_eq!(page.contains("10:11:12"), expect, "{page}");
    }
}

/// Regression for #8: a page of the log can be empty and not the last.
#[tokio::test]
async fn a_page_without_records_leads_on_where_there_are_more() {
    let page = shown("/ui/activity?status=pending", |path| {
        let empty = json!({ "activities": [], "next_cursor": "7" });
        if path.starts_with("/api/v1/activity?") {
            empty
        } else {
            json!({})
        }
    })
    .await;
    assert!(
        page.contains("cursor=7") && page.contains("Older"),
        "{page}"
    );
    assert!(!page.contains("No record fits these filters"), "{page}");
}

/// Regression for #8: every question stood there as pending, however it was answered.
#[tokio::test]
async fn the_approvals_page_shows_how_each_question_was_answered() {
    let of = |call: &str, method: &str, by: &str| {
        let term = if call == "yes" { "session" } else { "once" };
        json!({ "id": format!("{call}{method}"), "type": "approval", "parent_id": call,
            "method": method, "principal": by, "server_name": "slack", "tool_name": call,
            "approval": { "term": term, "by": by } })
    };
    let page = shown("/ui/approvals", move |path| {
        if path == "/api/v1/approvals" {
            return json!({ "approvals": [{ "id": "open" }] });
        }
        if !path.starts_with("/api/v1/activity?type=approval") {
            return json!({});
        }
        json!({ "activities": [
            of("open", "requested", "agent"), of("gone", "requested", "agent"),
            of("late", "lapsed", "who asked"), of("yes", "approved", "owner"),
            of("form", "denied", "agent"), of("yes", "requested", "agent"),
        ] })
    })
    .await;
    let rows: Vec<_> = page.split("<tr ").skip(2).collect();
    let check = |row: usize, call: &str, answer: &str| {
        let found = rows[row];
        assert!(found.contains(call) && found.contains(answer), "{found}");
    };
    assert_eq!(rows.len(), 5, "{page}");
    // Regression for #8: what waits had "no answer", and what lapsed was answered by who had asked.
    check(0, "open", "waits");
    check(1, "gone", "no answer");
    check(2, "late", "lapsed");
    assert!(!rows[2].contains("who asked"), "{page}");
    check(3, "yes", "approved");
    check(3, "yes", "owner");
    // Regression for #8: nothing told it from an answer that counts once.
    check(3, "yes", "for the session");
    assert!(!rows[4].contains("for the session"), "{page}");
    check(3, "yes", "/ui/activity/yesrequested");
    check(4, "form", "denied");
}

/// Regression for #8: the page named a setting that the configuration refuses.
#[tokio::test]
async fn an_empty_queue_names_the_setting_that_fills_it() {
    let page = shown("/ui/approvals", |_| json!({ "approvals": [] })).await;
    assert!(
        page.contains("where `security.approvals.mode` is `queue`"),
        "{page}"
    );
}
