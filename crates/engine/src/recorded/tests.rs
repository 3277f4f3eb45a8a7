//! Records judged again under another policy.

use std::sync::Arc;

use mcpproxy_core::{ActivitySink, Durability, Later, Record, SinkFault, SystemClock};
use serde_json::{Value, json};

use super::*;

#[derive(Debug)]
struct Nowhere;

impl ActivitySink for Nowhere {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A record of private text on its way to `slack`, about which somebody was asked.
fn leaving() -> Value {
    json!({
        "id": "01K0000000000000000000000A", "type": "tool_call", "server_name": "slack",
        "tool_name": "post_message", "method": "tools/call", "decision": "ask",
        "enforcement": "enforced", "flow_type": "internal→external", "declared": {},
        "findings": [{
            "rule": "internal_to_external", "source": "flow", "wants": "ask",
            "severity": "medium", "confidence": 100, "threat": "data_exfiltration",
            "reason": "", "evidence": {
                "evidence": "exact", "place": "/text", "shared": 80, "weight": "notable",
                "sample": "", "origin": {
                    "call": "01K0000000000000000000000B", "upstream": "notes", "tool": "read",
                    "at": "2026-01-01T00:00:00.000Z", "side": "inside",
                },
            },
        }],
    })
}

fn check(record: &Value, change: impl FnOnce(&mut EngineSettings), expect: &str) {
    let settings = EngineSettings::default();
    let clock = Arc::new(SystemClock::start());
    let engine = Engine::new(settings.clone(), Arc::new(Nowhere), clock).unwrap();
    let mut after = settings;
    change(&mut after);
    let said = match Recorded::new(&engine, after).judge(&record.to_string()) {
        Again::Same => "same".to_owned(),
        Again::Changed { before, after, .. } => format!("{before:?} to {after:?}"),
        Again::Skipped(why) => format!("skipped: {why}"),
    };
    assert!(said.starts_with(expect), "{said}, not {expect}");
}

#[test]
fn a_policy_that_is_stricter_or_milder_shows() {
    check(&leaving(), |_| {}, "same");
    let deny = |settings: &mut EngineSettings| {
        settings.policy.flow.internal_to_external = Action::Deny;
    };
    check(&leaving(), deny, "Ask to Deny");
    let allow = |settings: &mut EngineSettings| {
        settings.policy.flow.internal_to_external = Action::Allow;
    };
    check(&leaving(), allow, "Ask to Allow");
    let off = |settings: &mut EngineSettings| settings.enabled = false;
    check(&leaving(), off, "Ask to Allow");
}

#[test]
fn a_secret_that_strayed_after_orders_is_judged_as_it_was() {
    let mut record = leaving();
    record["server_name"] = json!("acme");
    record["tool_name"] = json!("get_entry");
    record["decision"] = json!("deny");
    let finding = &mut record["findings"][0];
    finding["rule"] = json!("secret_after_orders");
    finding["wants"] = json!("deny");
    finding["evidence"]["weight"] = json!("sensitive");
    finding["evidence"]["label"] = json!({
        "kind": "gitlab_token", "word": "api_token", "nature": "secret", "severity": "critical",
        "validated": true,
    });
    check(&record, |_| {}, "same");
    let milder = |settings: &mut EngineSettings| {
        settings.policy.flow.sensitive_data_external = Action::Ask;
    };
    check(&record, milder, "Deny to Ask");
}

#[test]
fn what_a_record_does_not_say_is_not_guessed() {
    let with = |name: &str, value: Value| {
        let mut record = leaving();
        record[name] = value;
        record
    };
    let none = |_: &mut EngineSettings| {};
    check(&json!({}), none, "skipped: the record is not understood");
    check(
        &with("type", json!("hook_evaluation")),
        none,
        "skipped: what an agent does",
    );
    check(
        &with("decision", json!("deny")),
        none,
        "skipped: the record does not say",
    );
    check(
        &with("findings", json!([])),
        none,
        "skipped: the record does not say",
    );
    let unkept = json!([{
        "rule": "suspicious_endpoint", "source": "flow", "wants": "deny", "severity": "critical",
        "confidence": 100, "threat": "data_exfiltration", "reason": "",
    }]);
    check(&with("findings", unkept), none, "skipped: a rule looked at");
    // No policy lets a token reach further.
    let mut beyond = with("decision", json!("deny"));
    beyond["findings"] = json!([{
        "rule": "scope", "source": "static", "wants": "deny", "severity": "info",
        "confidence": 100, "threat": "unauthorized_access", "reason": "",
    }]);
    let allowed = |settings: &mut EngineSettings| {
        let tools = &mut settings.policy.flow.tool_overrides;
        tools.insert("slack:post_message".to_owned(), Action::Allow);
    };
    check(&beyond, allowed, "skipped: the scope of a token");
}

#[test]
fn what_others_than_the_policy_found_stands() {
    let mut record = leaving();
    record["decision"] = json!("deny");
    let guard = json!({
        "rule": "dlp-scanner", "source": "static", "wants": "deny", "severity": "high",
        "confidence": 100, "threat": "data_exfiltration", "reason": "",
    });
    record["findings"].as_array_mut().unwrap().push(guard);
    let allow = |settings: &mut EngineSettings| {
        settings.policy.flow.internal_to_external = Action::Allow;
    };
    check(&record, allow, "same");
}

/// Regression for #8: the preview of a rule said that it cannot tell, of the calls that the rule settles.
#[test]
fn an_override_settles_whatever_else_was_looked_at() {
    let found = |rule: &str, wants: &str| {
        let mut record = leaving();
        record["decision"] = json!(wants);
        record["findings"] = json!([{
            "rule": rule, "source": "flow", "wants": wants, "severity": "high",
            "confidence": 100, "threat": "data_exfiltration", "reason": "",
        }]);
        record
    };
    let with = |action: Action| {
        move |settings: &mut EngineSettings| {
            let overrides = &mut settings.policy.flow.tool_overrides;
            overrides.insert("slack:post_message".to_owned(), action);
        }
    };
    let contradiction = found("contradiction", "ask");
    check(&contradiction, |_| {}, "skipped: a rule looked at");
    check(&contradiction, with(Action::Deny), "Ask to Deny");
    check(&contradiction, with(Action::Allow), "Ask to Allow");
    check(&contradiction, with(Action::Ask), "same");
    // What is stronger than an override, and what may always tighten, stays.
    let endpoint = found("suspicious_endpoint", "deny");
    check(&endpoint, with(Action::Allow), "same");
    check(&found("data_volume", "ask"), with(Action::Allow), "same");
}

/// Regression for #8: the preview of a rule said that somebody would be asked about a leak which the
/// rule lets out at once, since it took the score over from the record.
#[test]
fn an_override_takes_from_the_score_what_it_silences() {
    let finding = |rule: &str, source: &str, wants: &str, severity: &str| {
        json!({
            "rule": rule, "source": source, "wants": wants, "severity": severity,
            "confidence": 100, "threat": "data_exfiltration", "reason": "",
        })
    };
    let score = |wants: &str| finding("risk_score", "operator", wants, "info");
    let with = |decision: &str, findings: Value| {
        let mut record = leaving();
        record["decision"] = json!(decision);
        record["findings"] = findings;
        record
    };
    let allow = |settings: &mut EngineSettings| {
        let overrides = &mut settings.policy.flow.tool_overrides;
        overrides.insert("slack:post_message".to_owned(), Action::Allow);
    };
    let leak = finding("sensitive_data_external", "flow", "deny", "critical");
    let secret = with("deny", json!([leak, score("ask")]));
    check(&secret, allow, "Deny to Allow");
    let private = finding("internal_to_external", "flow", "ask", "high");
    let private = with("ask", json!([private, score("warn")]));
    check(&private, allow, "Ask to Allow");
    // What an override does not silence makes the score that it makes of a call.
    let guard = finding("dlp-scanner", "flow", "allow", "critical");
    let guarded = with("deny", json!([leak, guard, score("ask")]));
    check(&guarded, allow, "Deny to Ask");
}
