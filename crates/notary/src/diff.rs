//! Two sessions side by side: tools that came or went, calls that changed their number, their
//! verdict or their result.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Json;
use crate::tally::{by_tool, shown};
use crate::view::Session;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs: `session`, `tool`, `verdict` or `result`.
    pub kind: &'static str,
    /// Where.
    pub subject: String,
    /// How it was.
    pub before: String,
    /// How it is.
    pub after: String,
}

/// Lists how two sessions differ.
pub fn diff(before: &Session, after: &Session) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |kind: &'static str, subject: &str, before: String, after: String| {
        if before != after {
            found.push(Difference {
                kind,
                subject: subject.to_owned(),
                before,
                after,
            });
        }
    };
    let none = || "none".to_owned();
    add(
        "session",
        "upstream",
        before.server_id.clone(),
        after.server_id.clone(),
    );
    // A pack that does not begin with its session does not say what the profile is.
    if let (Some(was), Some(is)) = (&before.profile, &after.profile) {
        add("session", "profile", was.clone(), is.clone());
    }
    // A session has one policy; a part of it that names none has no calls.
    let one = !before.session_id.is_empty() && before.session_id == after.session_id;
    let part = before.policy.is_none() || after.policy.is_none();
    if !(one && part) {
        let optional = |text: &Option<String>| text.clone().unwrap_or_else(none);
        add(
            "session",
            "policy",
            optional(&before.policy),
            optional(&after.policy),
        );
    }
    add(
        "session",
        "complete",
        whether(before.complete),
        whether(after.complete),
    );
    let (one, other) = (by_tool(&before.calls), by_tool(&after.calls));
    let tools: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for tool in tools {
        let counts = |tools: &BTreeMap<String, crate::tally::Tally>| {
            tools.get(tool).map_or_else(none, |tally| {
                format!(
                    "{} forwarded, {} denied, {} failed, {} unanswered",
                    tally.forwarded, tally.denied, tally.errors, tally.timeouts
                )
            })
        };
        add("tool", tool, counts(&one), counts(&other));
    }
    let (one, other) = (same_calls(before), same_calls(after));
    for (key, was) in &one {
        if let Some(is) = other.get(key) {
            let (tool, arguments) = key;
            let subject = format!("{tool} with arguments {arguments}");
            add(
                "verdict",
                &subject,
                joined(&was.verdicts),
                joined(&is.verdicts),
            );
            add(
                "result",
                &subject,
                joined(&was.results),
                joined(&is.results),
            );
        }
    }
    found
}

fn whether(complete: Option<bool>) -> String {
    let word = match complete {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    word.to_owned()
}

/// What calls of one tool with the same arguments came to.
#[derive(Default)]
struct Same {
    verdicts: BTreeSet<String>,
    results: BTreeSet<String>,
}

fn same_calls(session: &Session) -> BTreeMap<(&str, &str), Same> {
    let mut calls: BTreeMap<(&str, &str), Same> = BTreeMap::new();
    for call in &session.calls {
        let same = calls.entry((&call.tool, &call.arguments)).or_default();
        same.verdicts
            .insert(format!("{} {}", call.verdict, call.outcome));
        same.results.extend(call.result.clone());
    }
    calls
}

fn joined(values: &BTreeSet<String>) -> String {
    values
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Tells the differences in words, one a line.
pub fn text(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "no difference\n".to_owned();
    }
    let line = |one: &Difference| {
        let subject = shown(&one.subject);
        format!(
            "{} {subject}: {} -> {}\n",
            one.kind,
            shown(&one.before),
            shown(&one.after)
        )
    };
    differences.iter().map(line).collect::<Vec<_>>().concat()
}

/// Returns the same for machines.
pub fn json(differences: &[Difference]) -> Json {
    let rows = differences.iter().map(|one| {
        Json::Object(vec![
            ("kind", Json::text(one.kind)),
            ("subject", Json::text(&one.subject)),
            ("before", Json::text(&one.before)),
            ("after", Json::text(&one.after)),
        ])
    });
    Json::Object(vec![("differences", Json::List(rows.collect()))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::CallView;

    fn session(calls: &[(&str, &str, &str)]) -> Session {
        let call = |(tool, outcome, result): &(&str, &str, &str)| CallView {
            tool: (*tool).to_owned(),
            outcome: (*outcome).to_owned(),
            verdict: "allowed".to_owned(),
            arguments: "sha256:a".to_owned(),
            result: Some((*result).to_owned()),
            ..CallView::default()
        };
        Session {
            calls: calls.iter().map(call).collect(),
            ..Session::default()
        }
    }

    #[test]
    fn parts_of_one_session_do_not_differ_in_what_only_its_start_says() {
        let part = Session {
            session_id: "mcp_1".to_owned(),
            ..session(&[("a", "forwarded", "1")])
        };
        let start = Session {
            profile: Some("guard".to_owned()),
            policy: Some("sha256:p".to_owned()),
            ..part.clone()
        };
        assert_eq!(diff(&start, &part), []);
        assert_eq!(diff(&part, &start), []);
        let other = Session {
            session_id: "mcp_2".to_owned(),
            profile: Some("audit".to_owned()),
            policy: None,
            ..part.clone()
        };
        assert_eq!(
            text(&diff(&start, &other)),
            "session profile: guard -> audit\nsession policy: sha256:p -> none\n"
        );
    }

    #[test]
    fn sessions_are_compared_by_tool_verdict_and_result() {
        let one = session(&[("a", "forwarded", "1"), ("b", "forwarded", "1")]);
        assert_eq!(text(&diff(&one, &one)), "no difference\n");
        let other = session(&[("a", "forwarded", "2"), ("c", "error", "1")]);
        let ended = Session {
            complete: Some(true),
            ..one.clone()
        };
        assert_eq!(
            text(&diff(&one, &ended)),
            "session complete: unknown -> yes\n"
        );
        let found = diff(&one, &other);
        let kinds: Vec<_> = found
            .iter()
            .map(|one| (one.kind, one.subject.as_str()))
            .collect();
        let expect = [
            ("tool", "b"),
            ("tool", "c"),
            ("result", "a with arguments sha256:a"),
        ];
        assert_eq!(kinds, expect);
        assert!(text(&found).contains("result a with arguments sha256:a: 1 -> 2\n"));
        assert!(json(&found).pretty().contains("\"kind\": \"tool\""));
    }
}
