//! What each rule reports, and what each key of the configuration changes about the verdict.

use mcpproxy_core::Action::{Allow, Ask, Deny, Warn};
use mcpproxy_core::{
    Askable, Contradiction, Declared, FlowType, Moved, Opaque, Reduced, RiskLevel, Suspicious,
    Taint, ToolName, ToolRef, UpstreamId, Verdict,
};

use super::*;
use crate::answer;
use crate::decide;
use crate::samples::{call, facts, inside, label, outside, read, value};
use crate::settings::{DecisionLevel, Trifecta};

const PRIVATE: Taint = Taint {
    private: true,
    untrusted: false,
    outside: true,
};

/// A call, what is known about it, and the policy; the default is a plain call outside.
struct Scene {
    policy: Policy,
    call: Call,
    facts: Facts,
}

impl Scene {
    fn new(facts: Facts) -> Self {
        Self {
            policy: Policy::default(),
            call: call(),
            facts,
        }
    }

    fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    fn declared(mut self, change: impl FnOnce(&mut Declared)) -> Self {
        change(&mut self.call.declared);
        self
    }

    fn facts(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(&mut self.facts);
        self
    }

    fn verdict(&self) -> Verdict {
        let found = judge(&self.policy, &self.call, &self.facts);
        decide(&self.policy, &self.call, &self.facts, found)
    }
}

/// Checks what is decided and by which rule.
#[track_caller]
fn check(scene: &Scene, expect: (Action, &str)) {
    let verdict = scene.verdict();
    let rule = verdict.decided_by.map(|at| &*verdict.findings[at].rule);
    assert_eq!(
        (verdict.action, rule.unwrap_or("")),
        expect,
        "{:#?}",
        verdict.findings
    );
}

#[track_caller]
fn check_risk(scene: &Scene, expect: (FlowType, RiskLevel)) {
    let verdict = scene.verdict();
    assert_eq!((verdict.flow, verdict.risk.level), expect);
}

fn flow(facts: Facts, weight: Weight) -> Scene {
    Scene::new(facts).facts(|facts| facts.flow.matches.push(read(Side::Inside, weight)))
}

fn leak() -> Scene {
    flow(outside(), Weight::Sensitive)
}

fn summary() -> Scene {
    flow(outside(), Weight::Notable)
}

#[test]
fn the_sentence_of_the_specification() {
    let verdict = leak().verdict();
    assert_eq!(
        verdict.reason(),
        Some(
            "Sensitive data (api_token) flowing from internal source (github) \
             to external destination (slack)."
        )
    );
}

#[test]
fn sensitive_data_external_is_heeded() {
    check(&leak(), (Deny, "sensitive_data_external"));
    check(
        &leak().policy(|policy| policy.flow.sensitive_data_external = Ask),
        (Ask, "sensitive_data_external"),
    );
    // The score is critical whatever the policy for the flow says.
    let warned = leak().policy(|policy| policy.flow.sensitive_data_external = Warn);
    check(&warned, (Ask, "risk_score"));
    check(
        &warned.policy(|policy| policy.risk.enabled = false),
        (Warn, "sensitive_data_external"),
    );
    check(&flow(inside(), Weight::Sensitive), (Allow, ""));
}

#[test]
fn a_secret_for_an_upstream_that_nobody_knows_is_asked_about() {
    let unproven = || facts(Sink::Unproven, "unknown");
    let stray = || flow(unproven(), Weight::Sensitive);
    check(&stray(), (Ask, "sensitive_data_external"));
    check_risk(
        &stray(),
        (FlowType::InternalToExternal, RiskLevel::Critical),
    );
    let set = |action| stray().policy(|policy| policy.flow.sensitive_data_external = action);
    check(&set(Warn), (Warn, "sensitive_data_external"));
    // The score is high whatever the policy for the flow says.
    check(&set(Allow), (Warn, "risk_score"));
    let with = |change: fn(&mut Match)| stray().facts(|facts| change(&mut facts.flow.matches[0]));
    let passes = [
        with(|one| one.origin.upstream = UpstreamId::new("slack")),
        with(|one| one.origin.side = Side::Outside),
        with(|one| one.label = Some(label(Nature::Typed, Severity::High))),
        with(|one| one.label = Some(label(Nature::Secret, Severity::Medium))),
        flow(unproven(), Weight::Notable),
        flow(inside(), Weight::Sensitive),
    ];
    for scene in &passes {
        check(scene, (Allow, ""));
        assert_ne!(scene.verdict().flow, FlowType::InternalToExternal);
    }
    let card = with(|one| one.label = Some(label(Nature::Personal, Severity::High)));
    check(&card, (Ask, "sensitive_data_external"));
}

#[test]
fn a_secret_that_strays_after_orders_is_denied_where_nobody_can_be_asked() {
    let unproven = || facts(Sink::Unproven, "unknown");
    let scene = |ordered, askable, facts: Facts, weight| {
        let mut scene = flow(facts, weight).facts(|facts| facts.history.ordered = ordered);
        scene.call.askable = askable;
        scene
    };
    let stray = |ordered, askable| scene(ordered, askable, unproven(), Weight::Sensitive);
    check(&stray(true, Askable::Nobody), (Deny, "secret_after_orders"));
    // Either sign alone, and a person who can say otherwise, leave it at the question.
    let decided = stray(false, Askable::Nobody).verdict();
    assert_eq!((decided.wanted, decided.action), (Ask, Warn));
    check(
        &stray(true, Askable::AgentPrompt),
        (Ask, "sensitive_data_external"),
    );
    for passes in [
        scene(true, Askable::Nobody, unproven(), Weight::Notable),
        scene(true, Askable::Nobody, inside(), Weight::Sensitive),
    ] {
        check(&passes, (Allow, ""));
    }
    let milder = stray(true, Askable::Nobody);
    check(
        &milder.policy(|policy| policy.flow.sensitive_data_external = Warn),
        (Warn, "risk_score"),
    );
}

#[test]
fn each_kind_of_sensitive_data_is_reported_once() {
    let twice = leak().facts(|facts| {
        facts
            .flow
            .matches
            .push(read(Side::Inside, Weight::Sensitive));
        let mut other = read(Side::Inside, Weight::Sensitive);
        other.origin.upstream = UpstreamId::new("vault");
        facts.flow.matches.push(other);
    });
    let verdict = twice.verdict();
    let of_rule = |rule| verdict.findings.iter().filter(move |one| one.rule == rule);
    assert_eq!(of_rule("sensitive_data_external").count(), 2);
}

#[test]
fn internal_to_external_is_heeded() {
    check(&summary(), (Ask, "internal_to_external"));
    for action in [Warn, Deny] {
        check(
            &summary().policy(|policy| policy.flow.internal_to_external = action),
            (action, "internal_to_external"),
        );
    }
    check(
        &summary().policy(|policy| policy.flow.internal_to_external = Allow),
        (Allow, ""),
    );
    // A ticket number is an edge in the log and no more.
    check(&flow(outside(), Weight::Trace), (Allow, ""));
    check(&flow(inside(), Weight::Notable), (Allow, ""));
}

/// FR-023 and FR-024.
#[test]
fn every_flow_has_its_type_and_its_risk() {
    use FlowType::{
        ExternalToExternal, ExternalToInternal, InternalToExternal, InternalToInternal,
    };
    let strange = |facts| {
        Scene::new(facts).facts(|facts| {
            facts
                .flow
                .matches
                .push(read(Side::Outside, Weight::Notable));
        })
    };
    check_risk(&Scene::new(outside()), (FlowType::None, RiskLevel::None));
    let expect = (InternalToInternal, RiskLevel::None);
    check_risk(&flow(inside(), Weight::Sensitive), expect);
    check_risk(&strange(outside()), (ExternalToExternal, RiskLevel::None));
    check_risk(&strange(inside()), (ExternalToInternal, RiskLevel::None));
    check_risk(&summary(), (InternalToExternal, RiskLevel::Medium));
    check_risk(&leak(), (InternalToExternal, RiskLevel::Critical));
    let again = || summary().facts(|facts| facts.history.unjustified = true);
    check_risk(&again(), (InternalToExternal, RiskLevel::High));
    let lied =
        summary().declared(|declared| declared.flow_destination_type = Some("internal".into()));
    check_risk(&lied, (InternalToExternal, RiskLevel::High));
    let leaked_again = leak().facts(|facts| facts.history.unjustified = true);
    check_risk(&leaked_again, (InternalToExternal, RiskLevel::Critical));
}

#[test]
fn a_destination_that_nobody_knows_is_outside_at_medium_risk() {
    let to_unknown = |weight| flow(facts(Sink::Assumed, "unknown"), weight);
    let again = to_unknown(Weight::Notable).facts(|facts| facts.history.unjustified = true);
    check(&again, (Ask, "internal_to_external"));
    check_risk(&again, (FlowType::InternalToExternal, RiskLevel::Medium));
    let leak = to_unknown(Weight::Sensitive);
    check(&leak, (Deny, "sensitive_data_external"));
    check_risk(&leak, (FlowType::InternalToExternal, RiskLevel::Critical));
    assert_eq!(
        leak.verdict().reason(),
        Some(
            "Sensitive data (api_token) flowing from internal source (github) \
             to unknown destination (slack)."
        )
    );
    let nameless = leak.facts(|facts| facts.destination.name = "".into());
    let verdict = nameless.verdict();
    assert!(
        verdict
            .reason()
            .unwrap()
            .ends_with("to unknown destination.")
    );
}

#[test]
fn require_justification_is_heeded() {
    let level = |scene: &Scene| scene.verdict().risk;
    let again = || summary().facts(|facts| facts.history.unjustified = true);
    let said = again().declared(|declared| declared.flow_justification = Some("asked".into()));
    let blank = again().declared(|declared| declared.flow_justification = Some(" ".into()));
    let free = again().policy(|policy| policy.flow.require_justification = false);
    assert_eq!(level(&again()).level, RiskLevel::High);
    assert_eq!(level(&blank).level, RiskLevel::High);
    assert_eq!(level(&said).level, RiskLevel::Medium);
    assert_eq!(level(&free).level, RiskLevel::Medium);
    assert!(level(&again()).score > level(&said).score);
    let remedy = |scene: &Scene| {
        let verdict = scene.verdict();
        answer(&scene.policy, &scene.call, &scene.facts, &verdict)
            .remedy
            .unwrap_or_default()
            .contains("flow_justification")
    };
    let variant = |scene: Scene| scene.declared(|said| said.operation = Some(Operation::Write));
    assert!(remedy(&variant(summary())));
    // A tool that is called by its own name takes none.
    assert!(!remedy(&summary()) && !remedy(&variant(said)) && !remedy(&variant(free)));
}

#[test]
fn suspicious_endpoints_are_denied_and_lookalikes_warned_of() {
    let named = |listed| {
        Scene::new(outside()).facts(|facts| {
            facts.suspicious.push(Suspicious {
                host: "a.webhook.site".into(),
                listed,
                place: "/url".into(),
            });
        })
    };
    check(&named(true), (Deny, "suspicious_endpoint"));
    check(&named(false), (Warn, "likely_collector"));
    let allowed = |listed| {
        named(listed).policy(|policy| {
            let overrides = &mut policy.flow.tool_overrides;
            overrides.insert("post_message".to_owned(), Allow);
        })
    };
    check(&allowed(true), (Deny, "suspicious_endpoint"));
    check(&allowed(false), (Warn, "likely_collector"));
}

#[test]
fn an_override_goes_by_any_name_of_the_tool() {
    let check = |name: &str, tool: (&str, &str), expect| {
        let mut scene = leak().policy(|policy| {
            policy.flow.tool_overrides.insert(name.to_owned(), Allow);
        });
        scene.call.tool = ToolRef {
            upstream: UpstreamId::new(tool.0),
            tool: ToolName::new(tool.1),
        };
        let allowed = scene.verdict().action == Allow;
        assert_eq!(allowed, expect, "{name} {tool:?}");
    };
    let post = ("slack", "post_message");
    check("post_message", post, true);
    check("slack:post_message", post, true);
    check("mcp__slack__post_message", post, true);
    check("slack__post_message", post, true);
    check("WebSearch", ("claude-code", "WebSearch"), true);
    let hooked = ("claude-code", "mcp__slack__post_message");
    check("slack:post_message", hooked, true);
    check("mcp__slack__post_message", hooked, true);
    check("post_message", hooked, false);
    check("post", post, false);
    check("slack:post", post, false);
    check("mail:post_message", post, false);
    check("slack", post, false);
}

#[test]
fn of_two_overrides_the_stricter_wins() {
    let both = leak().policy(|policy| {
        let overrides = &mut policy.flow.tool_overrides;
        overrides.insert("post_message".to_owned(), Allow);
        overrides.insert("slack:post_message".to_owned(), Ask);
    });
    check(&both, (Ask, "tool_override"));
}

fn contradicted(severity: u8) -> Scene {
    Scene::new(outside()).facts(|facts| {
        facts.contradictions.push(Contradiction {
            signal1: "agent_intent",
            signal2: "name_heuristic",
            claim1: "read",
            claim2: "destructive",
            severity,
            confidence: 80,
            quarantines: false,
            explanation: Masked::from_safe("the agent says read, the name says delete"),
        });
    })
}

#[test]
fn contradictions_follow_the_matrix_and_the_policy() {
    for severity in [70, 75, 80, 90] {
        check(&contradicted(severity), (Deny, "contradiction"));
    }
    check(&contradicted(50), (Ask, "contradiction"));
    check(&contradicted(10), (Warn, "contradiction"));
    check(
        &contradicted(90).policy(|policy| policy.tools.contradiction = Warn),
        (Warn, "contradiction"),
    );
    check(
        &contradicted(90).policy(|policy| policy.tools.contradiction = Allow),
        (Allow, ""),
    );
}

#[test]
fn what_the_agent_declares_is_held_against_the_facts() {
    let says = |facts, what: &str| {
        Scene::new(facts).declared(|declared| declared.flow_destination_type = Some(what.into()))
    };
    check(&says(outside(), "Internal "), (Ask, "contradiction"));
    check(&says(outside(), "external"), (Allow, ""));
    check(&says(outside(), "a chat"), (Allow, ""));
    check(&says(inside(), "external"), (Warn, "contradiction"));
    check(
        &says(facts(Sink::Assumed, "unknown"), "internal"),
        (Allow, ""),
    );
    let lied =
        summary().declared(|declared| declared.flow_destination_type = Some("internal".into()));
    check(&lied, (Deny, "contradiction"));
    let public = |nature| {
        Scene::new(inside())
            .facts(|facts| facts.sensitive.push(value(nature, Severity::Medium, 90)))
            .declared(|declared| declared.sensitivity = Some("public".into()))
    };
    check(&public(Nature::Personal), (Ask, "contradiction"));
    check(&public(Nature::Typed), (Allow, ""));
    // What was read inside is not public, and going out with that word is a higher risk.
    let said = summary().declared(|declared| declared.sensitivity = Some("public".into()));
    assert_eq!(said.verdict().risk.level, RiskLevel::High);
    check(&said, (Ask, "contradiction"));
}

#[test]
fn a_secret_of_unknown_origin() {
    let typed = |nature, severity, confidence, taint| {
        Scene::new(outside()).facts(|facts| {
            facts.sensitive.push(value(nature, severity, confidence));
            facts.flow.taint = taint;
        })
    };
    let clean = Taint::default();
    let sure = |taint| typed(Nature::Secret, Severity::Critical, 95, taint);
    check(&sure(PRIVATE), (Deny, "secret_to_external"));
    check_risk(
        &sure(PRIVATE),
        (FlowType::InternalToExternal, RiskLevel::Critical),
    );
    check(&sure(clean), (Warn, "secret_to_external"));
    check_risk(&sure(clean), (FlowType::None, RiskLevel::None));
    let guess = |taint| typed(Nature::Secret, Severity::Medium, 40, taint);
    check(&guess(PRIVATE), (Warn, "secret_to_external"));
    check(&guess(clean), (Allow, ""));
    let inside = sure(PRIVATE).facts(|facts| facts.destination = self::inside().destination);
    check(&inside, (Allow, ""));
    check(
        &sure(PRIVATE).policy(|policy| policy.flow.sensitive_data_external = Ask),
        (Ask, "secret_to_external"),
    );
    // What came from outside may go outside.
    let known = sure(PRIVATE).facts(|facts| {
        facts
            .flow
            .matches
            .push(read(Side::Outside, Weight::Sensitive));
    });
    check(&known, (Allow, ""));
}

#[test]
fn personal_data_of_unknown_origin() {
    let sent = |severity| {
        Scene::new(outside())
            .facts(|facts| facts.sensitive.push(value(Nature::Personal, severity, 90)))
    };
    check(&sent(Severity::Medium), (Allow, ""));
    check(&sent(Severity::Critical), (Warn, "pii_to_external"));
    let quiet = |policy: &mut Policy| policy.alerts.pii_exposure = false;
    check(&sent(Severity::High).policy(quiet), (Allow, ""));
    // It is as bad as the data, and says which data goes where.
    for severity in [Severity::Medium, Severity::High, Severity::Critical] {
        let found = sent(severity).verdict().findings;
        let of = |one: &&Finding| one.rule == "pii_to_external";
        let found = found.iter().find(of).unwrap();
        let said = "Personal data (email) is sent to external destination (slack).";
        assert_eq!((found.severity, found.reason.as_str()), (severity, said));
        assert_eq!(found.place.as_deref(), Some("/text"));
    }
}

#[test]
fn a_flow_from_inside_names_both_upstreams_and_scores_by_what_is_known_of_it() {
    let check = |scene: Scene, rule: &str, score: u8, reason: &str| {
        let verdict = scene.verdict();
        let of = |one: &&Finding| one.rule == rule;
        let found = verdict.findings.iter().find(of).unwrap();
        assert_eq!((verdict.risk.score, found.reason.as_str()), (score, reason));
    };
    let plain = "Data flowing from internal source (github) to external destination (slack).";
    check(summary(), "internal_to_external", 50, plain);
    let again = summary().facts(|facts| facts.history.unjustified = true);
    check(again, "internal_to_external", 75, plain);
    let sensitive = "Sensitive data (api_token) flowing from internal source (github) \
                     to external destination (slack).";
    check(leak(), "sensitive_data_external", 100, sensitive);
    // Not every agent tells which upstream gave it (issue 5).
    let nameless = |scene: Scene| {
        scene.facts(|facts| {
            for one in &mut facts.flow.matches {
                one.origin.upstream = UpstreamId::new("");
            }
        })
    };
    let plain = "Data flowing from internal source to external destination (slack).";
    check(nameless(summary()), "internal_to_external", 50, plain);
    let sensitive = "Sensitive data (api_token) flowing from internal source to external \
                     destination (slack).";
    check(nameless(leak()), "sensitive_data_external", 100, sensitive);
}

#[test]
fn what_cannot_be_read_is_asked_about() {
    let blob = |taint| {
        Scene::new(outside()).facts(|facts| {
            facts.flow.taint = taint;
            facts.flow.opaque.push(Opaque {
                place: "/text".into(),
                bytes: 64,
            });
        })
    };
    check(&blob(PRIVATE), (Ask, "unread_to_external"));
    check_risk(
        &blob(PRIVATE),
        (FlowType::InternalToExternal, RiskLevel::Medium),
    );
    check(&blob(Taint::default()), (Allow, ""));
    let policy = |action| move |policy: &mut Policy| policy.flow.internal_to_external = action;
    check(
        &blob(PRIVATE).policy(policy(Allow)),
        (Ask, "unread_to_external"),
    );
    check(
        &blob(PRIVATE).policy(policy(Deny)),
        (Deny, "unread_to_external"),
    );
    let reduced = |how, facts: Facts| Scene::new(facts).facts(|facts| facts.flow.reduced.push(how));
    check(
        &reduced(Reduced::Decoding, outside()),
        (Ask, "unread_to_external"),
    );
    check(
        &reduced(Reduced::Size, outside()),
        (Ask, "unread_to_external"),
    );
    check(&reduced(Reduced::Size, inside()), (Allow, ""));
    let evicted = reduced(Reduced::Evicted, outside());
    check(&evicted, (Allow, ""));
    assert_eq!(evicted.verdict().findings.len(), 1);
}

#[test]
fn the_lethal_trifecta_is_spoken_of_at_its_moment() {
    let at = |facts: Facts, taint, operation, wanted| {
        Scene::new(facts)
            .facts(|facts| {
                facts.flow.taint = taint;
                facts.operation = Some(operation);
            })
            .policy(|policy| policy.flow.lethal_trifecta = wanted)
    };
    let read = Operation::Read;
    let (two, all) = (
        PRIVATE,
        Taint {
            untrusted: true,
            ..PRIVATE
        },
    );
    for (wanted, action) in [
        (Trifecta::Warn, Warn),
        (Trifecta::Ask, Ask),
        (Trifecta::Deny, Deny),
    ] {
        check(
            &at(outside(), two, read, wanted),
            (action, "lethal_trifecta"),
        );
    }
    let logged = at(outside(), two, read, Trifecta::Log);
    check(&logged, (Allow, ""));
    assert_eq!(logged.verdict().findings[0].rule, "lethal_trifecta");
    // The third leg may be the private data, or the way outside.
    let strange = Taint {
        private: false,
        ..all
    };
    check(
        &at(inside(), strange, read, Trifecta::Ask),
        (Ask, "lethal_trifecta"),
    );
    let no_way_out = Taint {
        outside: false,
        ..all
    };
    check(
        &at(outside(), no_way_out, Operation::Write, Trifecta::Ask),
        (Ask, "lethal_trifecta"),
    );
    // Once it was asked about, it is not asked about again; nothing leaves where it is denied.
    check(&at(outside(), all, read, Trifecta::Ask), (Allow, ""));
    check(
        &at(outside(), all, read, Trifecta::Deny),
        (Deny, "lethal_trifecta"),
    );
    check(&at(inside(), two, read, Trifecta::Deny), (Allow, ""));
}

#[test]
fn tool_policy_goes_by_the_worst_that_is_known() {
    let of = |known, declared| {
        Scene::new(inside())
            .facts(|facts| facts.operation = known)
            .declared(|said| said.operation = declared)
    };
    let (read, write, destroy) = (
        Some(Operation::Read),
        Some(Operation::Write),
        Some(Operation::Destructive),
    );
    check(&of(read, None), (Allow, ""));
    check(&of(write, None), (Allow, ""));
    check(&of(destroy, None), (Deny, "tool_policy"));
    check(&of(destroy, read), (Deny, "tool_policy"));
    check(&of(read, destroy), (Deny, "tool_policy"));
    let strict = |known: Option<Operation>, change: fn(&mut Policy)| of(known, None).policy(change);
    check(
        &strict(read, |policy| policy.tools.read = Warn),
        (Warn, "tool_policy"),
    );
    check(
        &strict(write, |policy| policy.tools.write = Ask),
        (Ask, "tool_policy"),
    );
    check(
        &strict(None, |policy| policy.tools.write = Ask),
        (Ask, "tool_policy"),
    );
    check(
        &strict(destroy, |policy| policy.tools.destructive = Allow),
        (Allow, ""),
    );
    let mut message = strict(None, |policy| policy.tools.write = Ask);
    message.call.kind = mcpproxy_core::MessageKind::Request("ping".into());
    check(&message, (Allow, ""));
}

#[test]
fn thresholds_alarm_and_block_only_where_configured() {
    let busy = |change: fn(&mut Facts)| Scene::new(outside()).facts(change);
    let calls = || busy(|facts| facts.recent.outside_calls = 11);
    let sends = || busy(|facts| facts.recent.personal_sends = 4);
    let bytes = || busy(|facts| facts.recent.outside_bytes = 1_048_577);
    check(&calls(), (Warn, "rapid_external_sends"));
    check(&sends(), (Warn, "pii_external_sends"));
    check(&bytes(), (Warn, "data_volume"));
    for scene in [
        busy(|facts| facts.recent.outside_calls = 10),
        busy(|facts| facts.recent.personal_sends = 3),
        busy(|facts| facts.recent.outside_bytes = 1_048_576),
        calls().facts(|facts| facts.destination = inside().destination),
        calls().policy(|policy| policy.exfiltration.max_external_calls_per_minute = 11),
        sends().policy(|policy| policy.exfiltration.max_pii_external_sends = 4),
        bytes().policy(|policy| policy.exfiltration.max_data_volume_bytes = 2_000_000),
        calls().policy(|policy| policy.alerts.exfiltration_detection = false),
        bytes().policy(|policy| policy.alerts.exfiltration_detection = false),
        sends().policy(|policy| policy.alerts.pii_exposure = false),
    ] {
        check(&scene, (Allow, ""));
    }
    check(
        &calls().policy(|policy| policy.exfiltration.action = Deny),
        (Deny, "rapid_external_sends"),
    );
    let window = bytes().policy(|policy| policy.exfiltration.window_minutes = 7);
    assert!(window.verdict().reason().unwrap().contains("7 minutes"));
}

#[test]
fn denials_do_not_teach() {
    let after = |denials, scene: Scene| scene.facts(|facts| facts.history.denials = denials);
    let plain = |denials| after(denials, Scene::new(outside()));
    check(&plain(2), (Allow, ""));
    check(&plain(3), (Ask, "after_denials"));
    check(
        &plain(3).facts(|facts| facts.operation = Some(Operation::Read)),
        (Allow, ""),
    );
    check(&after(3, Scene::new(inside())), (Allow, ""));
    let told = |scene: &Scene| answer(&scene.policy, &scene.call, &scene.facts, &scene.verdict());
    assert!(told(&after(2, leak())).reason.contains("github"));
    assert!(told(&after(2, leak())).remedy.is_some());
    let terse = told(&after(3, leak()));
    assert_eq!(
        (&*terse.reason, terse.remedy),
        ("This call was stopped by policy.", None)
    );
    let asked = told(&plain(3));
    assert_eq!(asked.reason, "This call needs the approval of a person.");
    // The record keeps the reason.
    assert!(
        after(3, leak())
            .verdict()
            .reason()
            .unwrap()
            .contains("github")
    );
}

#[test]
fn log_level_is_heeded() {
    use DecisionLevel::{Debug, Error, Info, Warn};
    let check = |scene: Scene, level, expect| {
        let scene = scene.policy(|policy| policy.tools.log_level = level);
        assert_eq!(scene.policy.logged_at(&scene.verdict()), expect);
    };
    check(leak(), Error, Some(Error));
    check(summary(), Error, None);
    check(summary(), Warn, Some(Warn));
    check(flow(outside(), Weight::Trace), Warn, None);
    check(flow(outside(), Weight::Trace), Info, Some(Info));
    check(Scene::new(outside()), Info, None);
    check(Scene::new(outside()), Debug, Some(Debug));
    let warned = || {
        let read = |facts: &mut Facts| facts.operation = Some(Operation::Read);
        let scene = Scene::new(inside()).facts(read);
        scene.policy(|policy| policy.tools.read = Action::Warn)
    };
    check(warned(), Warn, Some(Warn));
    check(warned(), Error, None);
}

#[test]
fn a_command_is_judged_by_what_it_takes_along() {
    let moved = |what: &str, sensitive: bool, usual: bool| Moved {
        what: what.into(),
        sensitive,
        usual,
        to: Some("collector.example".into()),
    };
    let with = |moves: Vec<Moved>| Scene::new(outside()).facts(|facts| facts.moves = moves);
    let rule = "command_external";
    check(
        &with(vec![moved("aws_credentials", true, false)]),
        (Deny, rule),
    );
    check(&with(vec![moved("file", false, false)]), (Ask, rule));
    check(&with(vec![moved("file", false, true)]), (Allow, ""));
    // The worst of it counts.
    let both = vec![moved("file", false, true), moved("env", true, false)];
    check(&with(both), (Deny, rule));
    let verdict = with(vec![moved("aws_credentials", true, false)]).verdict();
    assert_eq!(verdict.risk.level, RiskLevel::Critical);
    assert_eq!(verdict.flow, FlowType::InternalToExternal);
    assert_eq!(
        verdict.reason().unwrap(),
        "Sensitive data (aws_credentials) flowing from this machine by a command to external destination (collector.example)."
    );
    let published = with(vec![moved("file", false, true)]).verdict();
    assert_eq!(
        (published.flow, published.risk.level),
        (FlowType::None, RiskLevel::None)
    );
    let softer = with(vec![moved("env", true, false)])
        .policy(|policy| policy.flow.sensitive_data_external = Ask);
    check(&softer, (Ask, rule));
}

#[test]
fn what_an_agent_starts_is_for_its_user_to_say() {
    let rewires = || Some(Masked::from_safe("The agent adds a server."));
    let scene = Scene::new(inside()).facts(|facts| facts.rewiring = rewires());
    check(&scene, (Ask, "agent_configuration"));
}

#[test]
fn what_guards_an_agent_is_not_its_own_to_change() {
    let tampering = || Some(Masked::from_safe("The agent reaches for its guard."));
    let scene = Scene::new(inside()).facts(|facts| facts.tampering = tampering());
    check(&scene, (Deny, "own_guard"));
    let allowed = scene.policy(|policy| {
        let overrides = &mut policy.flow.tool_overrides;
        overrides.insert("post_message".to_owned(), Allow);
    });
    check(&allowed, (Deny, "own_guard"));
}
