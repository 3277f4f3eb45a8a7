//! What `policy explain` prints.

use insta::assert_snapshot;
use mcpproxy_core::{Askable, Side, Weight};

use super::*;
use crate::samples::{call, outside, read};
use crate::settings::Mode;
use crate::{decide, judge};

fn explained(change: impl FnOnce(&mut Policy, &mut Call, &mut Facts)) -> Explanation {
    let (mut policy, mut call, mut facts) = (Policy::default(), call(), outside());
    change(&mut policy, &mut call, &mut facts);
    let verdict = decide(&policy, &call, &facts, judge(&policy, &call, &facts));
    explain(&policy, &call, &facts, &verdict)
}

#[test]
fn a_leak() {
    let explanation = explained(|_, _, facts| {
        let leak = read(Side::Inside, Weight::Sensitive);
        facts.flow.matches.push(leak);
        facts.operation = Some(mcpproxy_core::Operation::Destructive);
    });
    assert_snapshot!(explanation, @"
    call       slack:post_message
    decision   deny
    decided by sensitive_data_external. `deny` is the strictest, and sensitive flow is the strongest tier that wants it.
    flow       internal→external, risk critical: sensitive data leaves

    tiers, strongest first
      suspicious endpoint   -
      quarantine and stops  -
      guards                -
      external hooks        -
      access policy         -
      tool overrides        -
      contradiction         -
      sensitive flow        deny  sensitive_data_external: Sensitive data (api_token) flowing from internal source (github) to external destination (slack). <- decides
                                  exact of github:get_file at /text, 40 characters, gh…
      flow                  -
      tool policy           deny  tool_policy: The call destroys, and the policy for that is `deny`.
      thresholds and risk   ask   risk_score: The risk score is 100, and `require_approval_threshold` is set to act on that.

    risk score 100 (critical)
      100  sensitive_data_external: confidence 100% x severity 100% x flow 100%
    ");
}

#[test]
fn an_override() {
    let explanation = explained(|policy, _, facts| {
        let leak = read(Side::Inside, Weight::Sensitive);
        facts.flow.matches.push(leak);
        let overrides = &mut policy.flow.tool_overrides;
        overrides.insert("slack:post_message".to_owned(), Action::Warn);
    });
    assert_snapshot!(explanation, @"
    call       slack:post_message
    decision   warn
    decided by tool_override. An override settles contradictions, flows and operations; nothing stronger wants more than `warn`.
    flow       internal→external, risk critical: sensitive data leaves

    tiers, strongest first
      suspicious endpoint   -
      quarantine and stops  -
      guards                -
      external hooks        -
      access policy         -
      tool overrides        warn  tool_override: An override for `slack:post_message` applies. <- decides
      contradiction         -
      sensitive flow        deny  sensitive_data_external: Sensitive data (api_token) flowing from internal source (github) to external destination (slack). (silenced by the override)
                                  exact of github:get_file at /text, 40 characters, gh…
      flow                  -
      tool policy           -
      thresholds and risk   -

    risk score 0 (low)
        0  sensitive_data_external: confidence 100% x severity 100% x flow 100% (silenced)
    ");
}

#[test]
fn a_question_that_nobody_can_be_asked() {
    let explanation = explained(|_, call, facts| {
        let flow = read(Side::Inside, Weight::Notable);
        facts.flow.matches.push(flow);
        facts.recent.outside_calls = 20;
        call.askable = Askable::Nobody;
    });
    assert_snapshot!(explanation, @"
    call       slack:post_message
    decision   ask, done as warn: there is nobody to ask
    decided by internal_to_external. `ask` is the strictest, and flow is the strongest tier that wants it.
    flow       internal→external, risk medium: private data leaves that is not known to be sensitive

    tiers, strongest first
      suspicious endpoint   -
      quarantine and stops  -
      guards                -
      external hooks        -
      access policy         -
      tool overrides        -
      contradiction         -
      sensitive flow        -
      flow                  ask   internal_to_external: Data flowing from internal source (github) to external destination (slack). <- decides
                                  exact of github:get_file at /text, 40 characters, gh…
      tool policy           -
      thresholds and risk   warn  rapid_external_sends: 20 calls went outside within a minute, more than 10.
                            ask   risk_score: The risk score is 87, and `require_approval_threshold` is set to act on that.

    risk score 87 (critical)
       50  internal_to_external: confidence 100% x severity 50% x flow 100%
       37  rapid_external_sends: confidence 100% x severity 75% x behavioral 50%
    ");
}

#[test]
fn nothing_in_shadow_mode() {
    let explanation = explained(|policy, _, _| policy.mode = Mode::Shadow);
    assert_snapshot!(explanation, @"
    call       slack:post_message
    decision   allow
    decided by nothing. No rule objects.
    flow       none, risk none: no data that was read before is in it

    tiers, strongest first
      suspicious endpoint   -
      quarantine and stops  -
      guards                -
      external hooks        -
      access policy         -
      tool overrides        -
      contradiction         -
      sensitive flow        -
      flow                  -
      tool policy           -
      thresholds and risk   -

    risk score 0 (low)
    ");
}

#[test]
fn the_explanation_is_data_too() {
    let explanation = explained(|_, _, facts| {
        let flow = read(Side::Inside, Weight::Notable);
        facts.flow.matches.push(flow);
    });
    let value = serde_json::to_value(&explanation).unwrap();
    assert_eq!(value["decision"], "ask");
    assert_eq!(value["decided_by"], "internal_to_external");
    assert_eq!(value["tiers"].as_array().unwrap().len(), 11);
    assert_eq!(value["tiers"][8]["tier"], "flow");
    assert_eq!(value["tiers"][8]["findings"][0]["decided"], true);
    assert_eq!(value["points"][0]["points"], 50);
    assert_eq!(value["band"], "high");
}
