//! `policy test`: scenario files, and whether the policy comes to the verdicts that they expect.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mcpproxy_classify::Kind;
use mcpproxy_config::{SecuritySettings, read_scenario};
use mcpproxy_core::{Askable, OfferKind, ToolName, UpstreamId};
use mcpproxy_engine::replay::{Replay, Session, Step};
use mcpproxy_engine::{Described, EngineSettings, Extent, Offered, Profile};
use mcpproxy_policy::scenario::{ClassName, Scenario, ScenarioUpstream, Step as ScenarioStep};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::block_on;
use crate::args::{Format, Global};
use crate::daemon::access;
use crate::exit::{Exit, bad_input};
use crate::output;

type Plan = Scenario<SecuritySettings>;

/// Plays every scenario and prints what came out otherwise than expected.
pub(crate) fn run(global: &Global, files: &[PathBuf]) -> Result<Exit> {
    let (mut played, mut failed) = (0_usize, 0_usize);
    let mut rows = Vec::new();
    for file in files {
        let text = super::read(file)?;
        let scenario = read_scenario(file, &text);
        let scenario = scenario.map_err(|problems| bad_input(problems.to_string(), None))?;
        let wrong = play(&scenario)?;
        played += 1;
        failed += usize::from(!wrong.is_empty());
        rows.push(shown(file, &scenario, &wrong));
        if global.format() == Format::Table {
            tell(file, &scenario, &wrong)?;
        }
    }
    if global.format() != Format::Table {
        output::rows(global.format(), &[], &rows)?;
    }
    output::note(&format!("{played} scenarios, {failed} failed"));
    Ok(if failed == 0 {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

fn tell(file: &Path, scenario: &Plan, wrong: &[String]) -> Result<()> {
    let mark = if wrong.is_empty() { "ok" } else { "FAILED" };
    output::line(&format!("{mark:6}  {}  {}", file.display(), scenario.name))?;
    wrong
        .iter()
        .try_for_each(|line| output::line(&format!("        {line}")))
}

fn shown(file: &Path, scenario: &Plan, wrong: &[String]) -> Value {
    json!({
        "file": file.display().to_string(),
        "name": scenario.name,
        "passed": wrong.is_empty(),
        "failures": wrong,
    })
}

/// Plays a scenario, as if nobody could be asked, and returns what came out otherwise than
/// expected.
fn play(scenario: &Plan) -> Result<Vec<String>> {
    let replay = Replay::new(settings(scenario), Askable::Nobody);
    let replay = replay.map_err(|fault| bad_input(fault.to_string(), None))?;
    let rules = access::told(&scenario.config).map_err(|why| bad_input(why, None))?;
    replay.engine().set_access(rules);
    for upstream in &scenario.upstreams {
        offer(&replay, upstream);
    }
    let calls = scenario.steps.iter().map(step).collect::<Result<_>>()?;
    let session = Session {
        id: scenario.name.clone(),
        caller: scenario.caller.clone(),
        calls,
    };
    let ran = block_on(replay.run(&session))??;
    let mut wrong = Vec::new();
    for (at, (step, ran)) in scenario.steps.iter().zip(&ran).enumerate() {
        let differences = step.expect.compare(&ran.verdict, ran.answer);
        let place = format!("step {} ({})", at + 1, step.call);
        wrong.extend(differences.iter().map(|one| format!("{place}: {one}")));
    }
    Ok(wrong)
}

/// Has an upstream list its tools, which guards judge as they would those of a real one.
fn offer(replay: &Replay, upstream: &ScenarioUpstream) {
    let listed: Vec<_> = upstream.tools.iter().map(described).collect();
    let offers = listed.iter().map(|tool| Offered {
        kind: OfferKind::Tool,
        name: tool.name.as_str().into(),
        raw: tool.descriptor.clone(),
    });
    let (name, offers) = (UpstreamId::new(upstream.name.as_str()), offers.collect());
    let (engine, profile) = (replay.engine(), Profile::default());
    if !listed.is_empty() {
        // Nobody listens: what was withheld is seen when it is called.
        drop(engine.judge_offers(&name, &profile, offers, Extent::Whole));
    }
    engine.learn(&name, profile, listed);
}

fn settings(scenario: &Plan) -> EngineSettings {
    let security = &scenario.config;
    let mut classification = security.classification.clone();
    for upstream in &scenario.upstreams {
        if let Some(class) = upstream.class {
            let kind = match class {
                ClassName::Internal => Kind::Internal,
                ClassName::External => Kind::External,
                ClassName::Hybrid => Kind::Hybrid,
                ClassName::Unknown => Kind::Unknown,
            };
            classification
                .server_overrides
                .insert(upstream.name.clone(), kind);
        }
    }
    let upstreams = scenario.upstreams.iter().map(|one| one.name.as_str());
    EngineSettings {
        enabled: security.enabled,
        classification,
        policy: security.policy(),
        detector: security.detection(),
        flow_tracking: security.flow_tracking.clone(),
        guards: security.guards(),
        upstreams: upstreams.map(UpstreamId::new).collect(),
        ..EngineSettings::default()
    }
}

fn described(descriptor: &Map<String, Value>) -> Described {
    let name = descriptor.get("name").and_then(Value::as_str);
    Described {
        name: ToolName::new(name.unwrap_or_default()),
        descriptor: Value::Object(descriptor.clone()).to_string().into(),
    }
}

fn step(step: &ScenarioStep) -> Result<Step> {
    let raw = |value: &Value| {
        let raw = RawValue::from_string(value.to_string());
        raw.context("a value cannot be written as JSON")
    };
    let call = step
        .call
        .split_once("__")
        .filter(|_| !step.call.contains(':'));
    let (server, tool) = match call {
        Some((server, tool)) => (Some(server.to_owned()), tool.to_owned()),
        None => (None, step.call.clone()),
    };
    Ok(Step {
        server,
        tool,
        args: Some(raw(&Value::Object(step.args.clone()))?),
        result: step.result.as_ref().map(raw).transpose()?,
        operation: step.operation.map(Into::into),
        sensitivity: step.intent_data_sensitivity.as_deref().map(Into::into),
        flow_justification: step.flow_justification.as_deref().map(Into::into),
        flow_destination_type: step.flow_destination_type.as_deref().map(Into::into),
        at_ms: None,
    })
}
