//! How far a role has come: what it has counted, which of its versions is on, and what its tools
//! look like and answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::scenario::{Era, Role, TriggerKind};

/// Members of an entry that are not listed.
const UNLISTED: [&str; 5] = ["result", "error", "asks", "text", "task"];

/// What a role has counted.
#[derive(Debug, Default)]
pub(super) struct Stage {
    listings: usize,
    calls: usize,
    hellos: usize,
    began: Option<Instant>,
    questions: usize,
    answered: HashMap<String, usize>,
}

impl Stage {
    /// Counts a message. Where the role turns because of it, returns after what time: none where
    /// messages are counted, and from the first message on where the clock decides.
    pub(super) fn counted(&mut self, role: &Role, method: &str) -> Option<Duration> {
        let before = self.turns(role);
        match method {
            "tools/list" => self.listings += 1,
            "tools/call" => self.calls += 1,
            "initialize" | "server/discover" => self.hellos += 1,
            _ => {}
        }
        let first = self.began.is_none();
        self.began.get_or_insert_with(Instant::now);
        match &role.trigger {
            Some(trigger) if trigger.kind == TriggerKind::ElapsedMs => {
                let after = u64::try_from(trigger.threshold).unwrap_or(u64::MAX);
                first.then_some(Duration::from_millis(after))
            }
            _ => (before < self.turns(role)).then_some(Duration::ZERO),
        }
    }

    /// Takes up where an earlier process of the same role stopped: conversations are counted over all.
    pub(super) fn resume(&mut self, hellos: usize) {
        self.hellos = hellos;
    }

    /// Returns the version that is on for a client.
    pub(super) fn version<'a>(
        &self,
        role: &'a Role,
        client: &str,
        era: Era,
    ) -> Option<&'a Map<String, Value>> {
        let trigger = role.trigger.as_ref()?;
        let last = role.versions.len().saturating_sub(1);
        let turned = |on: bool| if on { last } else { 0 };
        role.versions.at(match trigger.kind {
            TriggerKind::Client => turned(client == trigger.client),
            TriggerKind::Era => turned(Some(era) == trigger.era),
            TriggerKind::CallCount
            | TriggerKind::ElapsedMs
            | TriggerKind::Reconnect
            | TriggerKind::Listings => self.turns(role),
        })
    }

    /// Returns how often a tool has answered before, and counts it.
    pub(super) fn nth(&mut self, tool: &str) -> usize {
        let count = self.answered.entry(tool.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    /// Returns the number of the next question.
    pub(super) fn question(&mut self) -> usize {
        self.questions += 1;
        self.questions
    }

    /// Returns how often the role has turned.
    fn turns(&self, role: &Role) -> usize {
        let Some(trigger) = &role.trigger else {
            return 0;
        };
        let elapsed = || {
            let began = self.began.map(|began| began.elapsed().as_millis());
            began
                .and_then(|spent| usize::try_from(spent).ok())
                .unwrap_or_default()
        };
        let counted = match trigger.kind {
            TriggerKind::CallCount => self.calls,
            TriggerKind::ElapsedMs => elapsed(),
            TriggerKind::Reconnect => self.hellos,
            TriggerKind::Listings => self.listings,
            TriggerKind::Client | TriggerKind::Era => return 0,
        };
        let most = role.versions.len().saturating_sub(1);
        (counted / trigger.threshold.max(1)).min(most)
    }
}

/// Returns the tools of a role in one of its versions. A version that has `tools` replaces them all;
/// otherwise its members take the place of those of the first tool.
pub(super) fn tools(role: &Role, version: Option<&Map<String, Value>>) -> Vec<Map<String, Value>> {
    let mut tools = role.tools.clone();
    let Some(version) = version else {
        return tools;
    };
    if let Some(other) = version.get("tools").and_then(Value::as_array) {
        let other = other.iter().filter_map(Value::as_object);
        return other.cloned().collect();
    }
    if let Some(first) = tools.first_mut() {
        let changed = version.iter().filter(|(key, _)| *key != "instructions");
        first.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
    }
    tools
}

/// Returns entries as they are listed.
pub(super) fn listed(entries: &[Map<String, Value>]) -> Vec<Value> {
    let shown = entries.iter().map(|entry| {
        let mut shown = entry.clone();
        shown.retain(|key, _| !UNLISTED.contains(&&**key));
        if shown.contains_key("name") && !shown.contains_key("uri") && entry.get("text").is_none() {
            let any = || json!({ "type": "object" });
            shown.entry("inputSchema").or_insert_with(any);
        }
        Value::Object(shown)
    });
    shown.collect()
}

/// Returns what a tool answers the `nth` time: a text, a whole result, or the next of a list.
pub(super) fn result(tool: &Map<String, Value>, nth: usize) -> Value {
    if let Some(error) = tool.get("error") {
        return json!({ "content": [{ "type": "text", "text": error }], "isError": true });
    }
    let said = match tool.get("result") {
        Some(Value::Array(all)) => all.get(nth).or_else(|| all.last()),
        other => other,
    };
    match said {
        Some(Value::String(text)) => json!({ "content": [{ "type": "text", "text": text }] }),
        Some(whole) if whole.get("content").is_some() => whole.clone(),
        Some(fields) => json!({ "content": [], "structuredContent": fields }),
        None => json!({ "content": [{ "type": "text", "text": "done" }] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(value: Value) -> Role {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_role_turns_when_its_trigger_says() {
        let check = |trigger: Value, methods: &[&str], expect: &str| {
            let role = role(json!({
                "name": "a", "trigger": trigger, "tools": [{ "name": "t", "description": "0" }],
                "versions": { "v1": { "description": "1" }, "v2": { "description": "2" } },
            }));
            let mut stage = Stage::default();
            for method in methods {
                stage.counted(&role, method);
            }
            let tools = tools(&role, stage.version(&role, "me", Era::Modern));
            assert_eq!(tools[0]["description"], expect, "{trigger}");
        };
        let calls = json!({ "type": "call_count", "threshold": 2 });
        check(calls.clone(), &["tools/call"], "1");
        check(calls, &["tools/call", "tools/call"], "2");
        let reconnect = json!({ "type": "reconnect", "threshold": 2 });
        check(reconnect.clone(), &["initialize", "tools/call"], "1");
        check(reconnect, &["initialize", "initialize"], "2");
        check(json!({ "type": "client", "client": "me" }), &[], "2");
        check(json!({ "type": "client", "client": "you" }), &[], "1");
        check(json!({ "type": "era", "era": "modern" }), &[], "2");
        check(json!({ "type": "era", "era": "legacy" }), &[], "1");
        check(
            json!({ "type": "listings", "threshold": 1 }),
            &["tools/list"],
            "2",
        );
    }

    #[test]
    fn a_role_with_more_versions_turns_more_than_once() {
        let role = role(json!({
            "name": "a", "tools": [{ "name": "t" }],
            "trigger": { "type": "call_count", "threshold": 2 },
            "versions": {
                "safe": { "description": "1" }, "evil": { "description": "2" },
                "clean": { "description": "3" },
            },
        }));
        let mut stage = Stage::default();
        let turns = |stage: &mut Stage| stage.counted(&role, "tools/call").is_some();
        let seen: Vec<(bool, Value)> = (0..7)
            .map(|_| {
                let turned = turns(&mut stage);
                let version = stage.version(&role, "me", Era::Modern).unwrap();
                (turned, version["description"].clone())
            })
            .collect();
        let expect = [
            (false, "1"),
            (true, "2"),
            (false, "2"),
            (true, "3"),
            (false, "3"),
            (false, "3"),
            (false, "3"),
        ];
        assert_eq!(seen, expect.map(|(turned, text)| (turned, json!(text))));
    }

    #[test]
    fn by_the_clock_a_role_turns_when_the_time_is_over_and_not_before() {
        let role = |wait: u64| {
            role(json!({
                "name": "a", "trigger": { "type": "elapsed_ms", "threshold": wait },
                "versions": { "v1": { "description": "1" }, "v2": { "description": "2" } },
            }))
        };
        let shown = |stage: &Stage, role: &Role| {
            let version = stage.version(role, "me", Era::Modern).unwrap();
            version["description"].as_str().unwrap().to_owned()
        };
        // However many messages come: it is time that counts.
        let (patient, mut stage) = (role(60_000), Stage::default());
        let minute = Some(Duration::from_mins(1));
        assert_eq!(stage.counted(&patient, "tools/call"), minute);
        for _ in 0..70_000 {
            assert_eq!(stage.counted(&patient, "tools/call"), None);
        }
        assert_eq!(shown(&stage, &patient), "1");
        let (hasty, mut stage) = (role(40), Stage::default());
        // Before anybody came no time has begun.
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(shown(&stage, &hasty), "1");
        stage.counted(&hasty, "ping");
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(shown(&stage, &hasty), "2");
    }

    #[test]
    fn what_is_answered_is_not_listed() {
        let role = role(json!({
            "name": "a", "tools": [{ "name": "t", "result": ["one", {"content": []}] }],
        }));
        assert_eq!(
            listed(&role.tools),
            [json!({ "name": "t", "inputSchema": { "type": "object" } })]
        );
        assert_eq!(result(&role.tools[0], 0)["content"][0]["text"], "one");
        assert_eq!(result(&role.tools[0], 7), json!({ "content": [] }));
    }
}
