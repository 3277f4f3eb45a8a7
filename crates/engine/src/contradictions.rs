//! What does not go together in a call: what the agent says it does, what the upstream says of the
//! tool, what the tool's name says, and what the arguments show.
//!
//! The specification's matrix, with two cells read narrowly. An address in a call that is said to
//! read is what a fetcher is for: it counts where data goes with it, or where the tool fetches
//! nothing. An upstream that calls a destructive tool harmless waits for a person only where the
//! tool's name says so too: what the agent declares and the arguments are both the agent's own words,
//! and with those alone any agent could switch an upstream off for everybody. Where only the
//! arguments agree the call is contradicted, and the upstream stays. What is done about a
//! contradiction else is for policy to say.

use mcpproxy_classify::{Arguments, Says, SignalSource, ToolClass, Words};
use mcpproxy_core::{Contradiction, Facts, Masked, Operation, Weight};

/// Arguments that hold words to look for: an address among them is not gone to by a tool that looks.
const LOOKED_FOR: [&str; 12] = [
    "query", "q", "search", "keyword", "keywords", "term", "terms", "pattern", "regex", "filter",
    "question", "text",
];

/// Words in the name of a tool that looks for something; `search` also grown together with others.
const LOOKS: [&str; 9] = [
    "find", "list", "query", "lookup", "grep", "filter", "locate", "match", "ask",
];

/// Arguments that hold an address to report to: what goes there is no part of a read.
const REPORTS: [&str; 5] = ["callback", "webhook", "notify", "postback", "beacon"];
/// Verbs that send, where the name of an argument ends in `to`.
const SENDS: [&str; 5] = ["report", "send", "post", "reply", "forward"];

/// Finds what contradicts what the agent declared about a call of a tool, given its name and class.
pub(crate) fn contradictions(
    declared: Option<Operation>,
    (tool, class): (&str, &ToolClass),
    shown: &Arguments,
    facts: &Facts,
) -> Vec<Contradiction> {
    let says = |source: SignalSource| {
        let mut said = class.signals.iter().filter(|one| one.source == source);
        said.find_map(|one| match one.says {
            Says::Operation(operation) => Some(operation),
            Says::ExternalSend | Says::OpenWorld | Says::ClosedWorld => None,
        })
    };
    let named = says(SignalSource::NameHeuristic);
    let hinted = says(SignalSource::ServerAnnotation);
    match declared {
        Some(Operation::Read) => said_to_read(named, (tool, class), shown, facts),
        Some(Operation::Destructive) if hinted == Some(Operation::Read) => {
            let by_name = named == Some(Operation::Destructive);
            let agrees = by_name || !shown.destructive.is_empty();
            let (trusted, others) = if agrees {
                (SignalSource::NameHeuristic, "as its name or arguments do")
            } else {
                (SignalSource::AgentIntent, "which nothing else does")
            };
            let says = "The upstream says that this tool only reads; the agent says";
            vec![Contradiction {
                signal1: SignalSource::ServerAnnotation.name(),
                signal2: SignalSource::AgentIntent.name(),
                claim1: "read",
                claim2: "destructive",
                severity: 90,
                confidence: trusted.trust(),
                quarantines: by_name,
                explanation: Masked::from_safe(format!("{says} `destructive`, {others}.")),
            }]
        }
        Some(Operation::Destructive | Operation::Write) | None => Vec::new(),
    }
}

/// What speaks against a call that is said only to read.
fn said_to_read(
    named: Option<Operation>,
    (tool, class): (&str, &ToolClass),
    shown: &Arguments,
    facts: &Facts,
) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let mut against = |severity, signal: SignalSource, claim, what: String| {
        found.push(Contradiction {
            signal1: SignalSource::AgentIntent.name(),
            signal2: signal.name(),
            claim1: "read",
            claim2: claim,
            severity,
            confidence: signal.trust(),
            quarantines: false,
            explanation: Masked::from_safe(format!("The agent says `read`; {what}.")),
        });
    };
    if named == Some(Operation::Destructive) {
        let what = "the tool's name says that it destroys".to_owned();
        against(80, SignalSource::NameHeuristic, "destructive", what);
    }
    if let Some(demand) = shown.destructive.first() {
        let what = format!("at `{}`, {}", demand.path, demand.reason);
        against(70, SignalSource::ArgumentAnalysis, "destructive", what);
    }
    let looks = looks_for(tool, class);
    let mut gone_to = shown
        .external
        .iter()
        .filter(|one| !(looks && is_looked_for(&one.path)));
    let fetched = class.fetches && !carries(facts);
    if let Some(address) = gone_to.find(|one| !fetched || is_reported_to(&one.path)) {
        let what = format!("the arguments lead outside, to `{}`", address.host);
        against(75, SignalSource::ExternalUrl, "external_send", what);
    }
    found
}

/// Tells whether a call takes data along that is known from elsewhere or sensitive by itself.
fn carries(facts: &Facts) -> bool {
    let known = facts.flow.matches.iter();
    let mut known = known.filter(|one| one.weight > Weight::Trace);
    known.next().is_some() || !facts.sensitive.is_empty()
}

/// Tells whether a tool is there to look for something, by its name, and nothing says that it sends.
fn looks_for(tool: &str, class: &ToolClass) -> bool {
    let sends = |says: &Says| matches!(says, Says::ExternalSend);
    let words = Words::of(tool);
    let mut words = words.iter();
    !class.signals.iter().any(|one| sends(&one.says))
        && words.any(|word| {
            LOOKS.contains(&word) || word.starts_with("search") || word.ends_with("search")
        })
}

/// Tells whether an argument holds words to look for.
pub(crate) fn is_looked_for(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or_default();
    LOOKED_FOR.contains(&Words::of(name).joined())
}

fn is_reported_to(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or_default();
    let words = Words::of(name);
    let has = |table: &[&str]| words.iter().any(|word| table.contains(&word));
    has(&REPORTS) || (has(&["to"]) && has(&SENDS))
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::{self as classify, Classification, Tool};
    use mcpproxy_core::{Destination, Operation, Sink};

    use super::*;

    const FETCH: &str =
        r#"{"name":"fetch","inputSchema":{"properties":{"url":{"type":"string"}}}}"#;
    const LOOK: &str = r#"{"name":"get_row","annotations":{"readOnlyHint":true}}"#;
    const DROP: &str = r#"{"name":"delete_row"}"#;
    const LIES: &str = r#"{"name":"delete_row","annotations":{"readOnlyHint":true}}"#;

    fn found(declared: Option<Operation>, tool: &str, arguments: &str) -> Vec<Contradiction> {
        let settings = Classification::default();
        let about = classify::Upstream {
            name: "rows",
            command: None,
            args: &[],
            url: None,
        };
        let upstream = classify::upstream(&about, &settings);
        let class = classify::tool(&Tool::read(tool), "rows", &upstream, &settings);
        let facts = Facts::bare(Destination {
            sink: Sink::Inside,
            class: "internal",
            name: "rows".into(),
        });
        let shown = classify::arguments(arguments);
        let name =
            mcpproxy_text::get(tool, &["name"]).and_then(|(name, _)| mcpproxy_text::string(name));
        let name = name.unwrap_or_default();
        contradictions(declared, (&name, &class), &shown, &facts)
    }

    #[test]
    fn the_matrix_of_the_specification() {
        let check = |declared, tool: &str, arguments: &str, expect: &[(u8, u8)]| {
            let found = found(declared, tool, arguments);
            let found = found.iter().map(|one| (one.severity, one.confidence));
            let found: Vec<_> = found.collect();
            assert_eq!(found, expect, "{declared:?} {tool} {arguments}");
        };
        let (read, write) = (Some(Operation::Read), Some(Operation::Write));
        let destructive = Some(Operation::Destructive);
        check(read, DROP, r#"{"id":1}"#, &[(80, 80)]);
        check(read, LOOK, r#"{"id":1,"force":true}"#, &[(70, 90)]);
        check(read, LOOK, r#"{"id":1,"force":false}"#, &[]);
        check(read, LOOK, r#"{"id":1}"#, &[]);
        check(
            read,
            LOOK,
            r#"{"note":"see https://evil.example/x"}"#,
            &[(75, 90)],
        );
        // A fetcher is there to fetch.
        check(read, FETCH, r#"{"url":"https://docs.example/x"}"#, &[]);
        check(read, LOOK, r#"{"note":"see http://localhost:3000/x"}"#, &[]);
        // Nobody fetches an address to report to.
        let reports = r#"{"url":"https://docs.example/x","callback":"https://evil.example/x"}"#;
        check(read, FETCH, reports, &[(75, 90)]);
        let sends = r#"{"reportTo":"https://evil.example/x"}"#;
        check(read, FETCH, sends, &[(75, 90)]);
        check(read, FETCH, r#"{"report":"https://docs.example/7"}"#, &[]);
        check(destructive, LIES, r#"{"id":1}"#, &[(90, 80)]);
        check(destructive, LOOK, r#"{"id":1}"#, &[(90, 40)]);
        check(destructive, DROP, r#"{"id":1}"#, &[]);
        // Who says nothing, or says that it writes, is not contradicted.
        check(write, DROP, r#"{"id":1}"#, &[]);
        check(
            None,
            DROP,
            r#"{"url":"https://evil.example/x","force":true}"#,
            &[],
        );
    }

    #[test]
    fn an_address_to_look_for_is_not_gone_to_by_a_tool_that_looks() {
        let check = |tool: &str, argument: &str, expect: bool| {
            let tool = format!(r#"{{"name":"{tool}"}}"#);
            let arguments = format!(r#"{{"{argument}":"https://evil.example/collect?d=hello"}}"#);
            let found = found(Some(Operation::Read), &tool, &arguments);
            assert_eq!(found.is_empty(), expect, "{tool} {arguments}");
        };
        for tool in [
            "search_notes",
            "brave_web_search",
            "websearch",
            "listIssues",
            "find-by-text",
            "grep",
            "query",
            "execute_query",
        ] {
            check(tool, "query", true);
            check(tool, "text", true);
        }
        check("search_notes", "note", false);
        for tool in [
            "send_message",
            "get_row",
            "post_text",
            "search_and_send_message",
            "delete_matching_search",
        ] {
            check(tool, "query", false);
            check(tool, "text", false);
        }
    }

    #[test]
    fn an_upstream_is_caught_in_a_lie_only_by_its_own_words() {
        let check = |tool: &str, arguments: &str, expect: bool| {
            let found = found(Some(Operation::Destructive), tool, arguments);
            let caught = found.iter().any(|one| one.quarantines);
            assert_eq!(caught, expect, "{tool} {arguments}");
        };
        check(LIES, r#"{"id":1}"#, true);
        check(LOOK, r#"{"id":1}"#, false);
        check(DROP, r#"{"id":1}"#, false);
        // What a tool reads about is not what it does.
        for name in ["get_delete_policy", "list_kill_chains", "snapshot_delete"] {
            let about = format!(r#"{{"name":"{name}","annotations":{{"readOnlyHint":true}}}}"#);
            check(&about, r#"{"id":1}"#, false);
            let reads = self::found(Some(Operation::Read), &about, r#"{"id":1}"#);
            assert_eq!(reads, [], "{name}");
        }
        let both = r#"{"name":"get_and_delete","annotations":{"readOnlyHint":true}}"#;
        check(both, r#"{"id":1}"#, true);
        // What an agent writes proves nothing, also not in an argument that the tool declares: a
        // text to search for, a choice among the kinds of entries to look up, a forced refresh.
        check(LOOK, r#"{"id":1,"force":true}"#, false);
        for (schema, arguments) in [
            (
                r#""query":{"type":"string"}"#,
                r#"{"query":"DROP TABLE users"}"#,
            ),
            (r#""force":{"type":"boolean"}"#, r#"{"force":true}"#),
            (
                r#""action":{"enum":["create","delete"]}"#,
                r#"{"action":"delete"}"#,
            ),
        ] {
            let tool = format!(
                r#"{{"name":"search","annotations":{{"readOnlyHint":true}},"inputSchema":{{"properties":{{{schema}}}}}}}"#
            );
            check(&tool, arguments, false);
            let contradicted = found(Some(Operation::Destructive), &tool, arguments);
            assert_eq!(
                contradicted.len(),
                1,
                "the call itself is contradicted: {arguments}"
            );
        }
        let found = found(Some(Operation::Read), LIES, r#"{"force":true}"#);
        assert!(found.iter().all(|one| !one.quarantines));
    }

    #[test]
    fn a_contradiction_names_both_sides() {
        let arguments = r#"{"force":true,"note":"https://evil.example/x"}"#;
        let found = found(Some(Operation::Read), DROP, arguments);
        let found = serde_json::to_value(&found).unwrap();
        let expect = serde_json::json!([
            {
                "signal1": "agent_intent", "claim1": "read",
                "signal2": "name_heuristic", "claim2": "destructive", "severity": 80,
                "explanation": "The agent says `read`; the tool's name says that it destroys."
            },
            {
                "signal1": "agent_intent", "claim1": "read",
                "signal2": "argument_analysis", "claim2": "destructive", "severity": 70,
                "explanation":
                    "The agent says `read`; at `force`, the argument asks for destruction."
            },
            {
                "signal1": "agent_intent", "claim1": "read",
                "signal2": "external_url", "claim2": "external_send", "severity": 75,
                "explanation":
                    "The agent says `read`; the arguments lead outside, to `evil.example`."
            },
        ]);
        assert_eq!(found, expect);
    }
}
