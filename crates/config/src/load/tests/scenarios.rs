//! Scenario files: what is read, and the exact messages of what is not.

use insta::assert_snapshot;
use mcpproxy_core::Action;

use crate::read_scenario;

fn problems(text: &str) -> String {
    let read = read_scenario("f.yaml".as_ref(), text);
    read.map_or_else(|problems| problems.to_string(), |scenario| scenario.name)
}

#[test]
fn a_scenario_is_read() {
    let text = "\
name: a key does not leave
config:
  flow_policy: {sensitive_data_external: deny}
upstreams:
- {name: github, class: internal, tools: [{name: get_file}]}
- {name: slack}
steps:
- call: github:get_file
  args: {path: .env, depth: 2}
  result: 'KEY=${NOT_A_VARIABLE}'
- call: slack:post_message
  operation: write
  args: {text: 'KEY=${NOT_A_VARIABLE}'}
  expect: {decision: deny, risk: critical, flow: internal→external, reason_contains: github}
";
    let scenario = read_scenario("f.yaml".as_ref(), text).unwrap();
    assert_eq!(
        scenario.config.flow_policy.sensitive_data_external,
        Action::Deny
    );
    assert_eq!(scenario.upstreams.len(), 2);
    let [read, send] = scenario.steps.as_slice() else {
        panic!("two steps");
    };
    assert_eq!(read.args["depth"], 2);
    assert_eq!(read.result, Some("KEY=${NOT_A_VARIABLE}".into()));
    assert_eq!(send.expect.decision, Some(Action::Deny));
}

#[test]
fn mistakes_have_their_line() {
    let text = "\
nam: x
config: {flow_polcy: {}, exfiltration: {window_minutes: 0}}
upstreams:
- {name: a, class: outside}
steps:
- call: ''
  expect: {decision: block, flow: inward, risks: high}
- args: {}
";
    assert_snapshot!(problems(text), @"
    f.yaml:1:1: nam: unknown key
      hint: did you mean `name`?
    f.yaml:1:1: name: the scenario has no name
    f.yaml:2:10: config.flow_polcy: unknown key
      hint: did you mean `flow_policy`?
    f.yaml:2:57: security.exfiltration.window_minutes: must be greater than zero
    f.yaml:4:20: upstreams[0].class: unknown value `outside`
      hint: use one of `internal`, `external`, `hybrid`, `unknown`
    f.yaml:6:9: steps[0].call: the step calls nothing
    f.yaml:7:22: steps[0].expect.decision: unknown value `block`
      hint: use one of `allow`, `warn`, `ask`, `deny`
    f.yaml:7:35: steps[0].expect.flow: unknown value `inward`
      hint: use one of `none`, `internal->internal`, `internal→internal`, `external->external`, `external→external`, `external->internal`, `external→internal`, `internal->external`, `internal→external`
    f.yaml:7:43: steps[0].expect.risks: unknown key
      hint: did you mean `risk`?
    f.yaml:8:3: steps[1]: `call` is missing
    ");
    assert_snapshot!(problems("name: x\nsteps: []\n"), @"f.yaml:2:1: steps: the scenario has no steps");
    assert_snapshot!(problems("- a\n"), @"
    f.yaml:1:1: expected a map, found a list
    f.yaml:1:1: name: the scenario has no name
    f.yaml:1:1: steps: the scenario has no steps
    ");
    assert_snapshot!(problems("name: [\n"), @"f.yaml:2:1: this is no valid YAML: while parsing a node, did not find expected node content");
}
