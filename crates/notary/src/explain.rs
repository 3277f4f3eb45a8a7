//! A person's reading of a pack: what was called, denied and failed, how long it took, and what
//! the pack does and does not prove.

use crate::json::Json;
use crate::tally::{Tally, by_tool, shown, tools_json};
use crate::verify::Report;
use crate::view::{CallView, Session};

/// How many calls of one kind are listed by name.
const LISTED: usize = 20;

/// Tells a session in words, after the judgement on its pack.
pub fn text(session: &Session, report: Option<&Report>) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let (id, upstream) = (shown(&session.session_id), shown(&session.server_id));
    line(format!("Session {id} with upstream `{upstream}`"));
    if let Some((first, last)) = &session.times {
        line(format!("From {} to {}", shown(first), shown(last)));
    }
    line(match report {
        Some(report) => format!("Pack: {}", report.summary()),
        None => "Pack: not verified".to_owned(),
    });
    line(ending(session));
    let mut all = Tally::default();
    session.calls.iter().for_each(|call| all.add(call));
    line(format!("In all: {}", all.text()));
    for (tool, tally) in by_tool(&session.calls) {
        line(format!("  {}: {}", shown(&tool), tally.text()));
    }
    for (title, chosen) in [
        ("Denied", "denied"),
        ("Failed", "error"),
        ("Unanswered", "timeout"),
    ] {
        let calls: Vec<&CallView> = session
            .calls
            .iter()
            .filter(|call| call.outcome == chosen)
            .collect();
        list(title, &calls, &mut line);
    }
    let advisory = |call: &&CallView| call.verdict == "denied" && call.outcome != "denied";
    let calls: Vec<&CallView> = session.calls.iter().filter(advisory).collect();
    list(
        "Forwarded although the policy advised against it",
        &calls,
        &mut line,
    );
    line("This proves what crossed the proxy, not what the upstream did with it.".to_owned());
    out
}

fn ending(session: &Session) -> String {
    let reason = session.reason.as_deref().map(shown).unwrap_or_default();
    match (session.complete, session.open) {
        (Some(true), _) => format!("The session is complete ({reason})"),
        (Some(false), _) => format!("The session is NOT complete ({reason})"),
        (None, _) if !session.chained => {
            "The pack does not say whether the session is complete".to_owned()
        }
        (None, 0) => "The session goes on after this pack".to_owned(),
        (None, open) => format!("The session goes on after this pack; {open} calls are in flight"),
    }
}

fn list(title: &str, calls: &[&CallView], line: &mut impl FnMut(String)) {
    if calls.is_empty() {
        return;
    }
    line(format!("{title}:"));
    for call in calls.iter().take(LISTED) {
        let mut text = format!("  {} {}", shown(&call.at), shown(&call.tool));
        if let Some(rule) = call.rule.as_deref().filter(|_| call.verdict == "denied") {
            text.push_str(&format_rule(rule, call.reason.as_deref()));
        }
        if let Some(duration) = call.duration {
            text.push_str(" after ");
            text.push_str(&duration.to_string());
            text.push_str(" ms");
        }
        if !call.marks.is_empty() {
            text.push_str(" [");
            text.push_str(&shown(&call.marks.join(", ")));
            text.push(']');
        }
        line(text);
    }
    if let Some(more) = calls.len().checked_sub(LISTED).filter(|more| *more > 0) {
        line(format!("  and {more} more"));
    }
}

fn format_rule(rule: &str, reason: Option<&str>) -> String {
    let reason = reason
        .map(|reason| format!(": {}", shown(reason)))
        .unwrap_or_default();
    format!(" by `{}`{reason}", shown(rule))
}

/// Returns the same for machines.
pub fn json(session: &Session, report: Option<&Report>) -> Json {
    let calls = session.calls.iter().map(|call| {
        Json::Object(vec![
            ("receipt_id", Json::text(&call.receipt_id)),
            ("tool", Json::text(&call.tool)),
            ("at", Json::text(&call.at)),
            ("outcome", Json::text(&call.outcome)),
            (
                "duration_ms",
                call.duration.map_or(Json::Null, Json::Number),
            ),
            ("policy_verdict", Json::text(&call.verdict)),
            ("policy_ref", Json::optional(call.rule.clone())),
            ("marks", Json::texts(call.marks.clone())),
        ])
    });
    Json::Object(vec![
        ("session_id", Json::text(&session.session_id)),
        ("server_id", Json::text(&session.server_id)),
        ("profile", Json::optional(session.profile.clone())),
        (
            "session_complete",
            session.complete.map_or(Json::Null, Json::Flag),
        ),
        ("reason", Json::optional(session.reason.clone())),
        (
            "verdict",
            report.map_or(Json::Null, |report| Json::text(report.class.name())),
        ),
        ("in_flight", Json::Number(session.open)),
        ("tools", tools_json(&by_tool(&session.calls))),
        ("calls", Json::List(calls.collect())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::made;

    #[test]
    fn a_pack_is_told_in_words() {
        let made = made();
        let session = Session::load(&made.path).unwrap();
        let told = text(&session, Some(&made.judge()));
        let lines: Vec<&str> = told.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "From 2026-01-02T03:04:05.000Z to 2026-01-02T03:04:05.000Z",
                "Pack: pass: intact, signed by a trusted key",
                "The session is complete (closed)",
                "In all: 1 calls, half within 1 ms, 95 % within 1 ms",
                "  naïve\u{fffd}: 1 calls, half within 1 ms, 95 % within 1 ms",
                "This proves what crossed the proxy, not what the upstream did with it.",
            ]
        );
        let json: serde_json::Value = serde_json::from_str(&json(&session, None).pretty()).unwrap();
        assert_eq!(json["tools"][0]["counts"]["forwarded"], 1);
        assert_eq!(json["calls"][0]["outcome"], "forwarded");
    }

    #[test]
    fn a_pack_of_another_program_is_told_with_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("receipts.jsonl");
        let line = concat!(
            r#"{"outcome":"forwarded","policy_hash":"sha256:p","server_id":"demo","#,
            r#""session_id":"mcp_1","timestamp":"now","tool_name":"t","type":"mcp_tool_call"}"#,
        );
        std::fs::write(&file, format!("{line}\n")).unwrap();
        let session = Session::load(&file).unwrap();
        assert_eq!(session.policy.as_deref(), Some("sha256:p"));
        let told = text(&session, None);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "Session mcp_1 with upstream `demo`",
                "From now to now",
                "Pack: not verified",
                "The pack does not say whether the session is complete",
            ]
        );
    }

    #[test]
    fn denials_and_failures_are_listed_with_their_rule() {
        let call = |outcome: &str, verdict: &str| CallView {
            tool: "t".to_owned(),
            at: "now".to_owned(),
            outcome: outcome.to_owned(),
            verdict: verdict.to_owned(),
            rule: Some("denylist".to_owned()),
            reason: Some("no".to_owned()),
            marks: vec!["batch".to_owned()],
            ..CallView::default()
        };
        let calls = vec![
            call("denied", "denied"),
            call("forwarded", "denied"),
            call("timeout", "allowed"),
        ];
        let told = text(
            &Session {
                calls,
                open: 2,
                chained: true,
                ..Session::default()
            },
            None,
        );
        for expect in [
            "Denied:\n  now t by `denylist`: no [batch]\n",
            "Unanswered:\n  now t [batch]\n",
            "Forwarded although the policy advised against it:\n  now t by `denylist`: no [batch]\n",
            "The session goes on after this pack; 2 calls are in flight\n",
            "Pack: not verified\n",
        ] {
            assert!(told.contains(expect), "{expect} in {told}");
        }
    }
}
