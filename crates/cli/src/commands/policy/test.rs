//! `policy test`: scenario files, and whether the policy comes to the verdicts that they expect.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use mcpproxy_config::{Expectation, Scenario, ScenarioStep, load_scenario};
use mcpproxy_core::{Askable, ToolName, UpstreamId, Verdict};
use mcpproxy_engine::replay::{Replay, Session, Step};
use mcpproxy_engine::{Described, EngineSettings, Profile};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::block_on;
use crate::args::{Format, Global};
use crate::exit::{Exit, bad_input};
use crate::output;

/// Plays every scenario and prints what came out otherwise than expected.
pub(crate) fn run(global: &Global, files: &[PathBuf]) -> Result<Exit> {
    let (mut played, mut failed) = (0_usize, 0_usize);
    let mut rows = Vec::new();
    for file in files {
        let text = super::read(file)?;
        let scenario = load_scenario(file, &text);
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

fn tell(file: &Path, scenario: &Scenario, wrong: &[String]) -> Result<()> {
    let mark = if wrong.is_empty() { "ok" } else { "FAILED" };
    output::line(&format!("{mark:6}  {}  {}", file.display(), scenario.name))?;
    wrong
        .iter()
        .try_for_each(|line| output::line(&format!("        {line}")))
}

fn shown(file: &Path, scenario: &Scenario, wrong: &[String]) -> Value {
    json!({
        "file": file.display().to_string(),
        "name": scenario.name,
        "passed": wrong.is_empty(),
        "failures": wrong,
    })
}

/// Plays a scenario and returns what came out otherwise than expected.
fn play(scenario: &Scenario) -> Result<Vec<String>> {
    let security = &scenario.security;
    let mut classification = security.classification.clone();
    for (name, server) in &scenario.servers {
        if let Some(class) = server.class {
            classification.server_overrides.insert(name.clone(), class);
        }
    }
    let settings = EngineSettings {
        enabled: security.enabled,
        classification,
        policy: security.policy(),
        detector: security.detector.clone(),
        flow_tracking: security.flow_tracking.clone(),
        ..EngineSettings::default()
    };
    let askable = match scenario.askable {
        true => Askable::AgentPrompt,
        false => Askable::Nobody,
    };
    let replay = Replay::new(settings, askable);
    let replay = replay.map_err(|fault| bad_input(fault.to_string(), None))?;
    for (name, server) in &scenario.servers {
        let listed = server.tools.iter().map(described).collect();
        let upstream = UpstreamId::new(name.as_str());
        replay.engine().learn(&upstream, Profile::default(), listed);
    }
    let steps = scenario.steps.iter().map(step).collect::<Result<_>>()?;
    let session = Session {
        id: scenario.name.clone(),
        calls: steps,
    };
    let verdicts = block_on(replay.run(&session))??;
    let judged = scenario.steps.iter().zip(&verdicts).enumerate();
    Ok(judged
        .flat_map(|(at, (step, verdict))| differences(at + 1, step, verdict))
        .collect())
}

fn described(descriptor: &Value) -> Described {
    let name = descriptor.get("name").and_then(Value::as_str);
    Described {
        name: ToolName::new(name.unwrap_or_default()),
        descriptor: descriptor.to_string().into(),
    }
}

fn step(step: &ScenarioStep) -> Result<Step> {
    let raw = |value: &Value| {
        let raw = RawValue::from_string(value.to_string());
        raw.context("a value cannot be written as JSON")
    };
    let args = match &step.args {
        Value::Null => None,
        args => Some(raw(args)?),
    };
    Ok(Step {
        server: Some(step.server.clone()),
        tool: step.tool.clone(),
        args,
        result: Some(raw(&step.result)?),
        operation: step.operation,
        flow_justification: step.flow_justification.as_deref().map(Into::into),
        flow_destination_type: step.flow_destination_type.as_deref().map(Into::into),
        at_ms: step.at_ms,
    })
}

/// Says what a verdict has otherwise than expected.
fn differences(number: usize, step: &ScenarioStep, verdict: &Arc<Verdict>) -> Vec<String> {
    let Expectation {
        decision,
        effective,
        risk_level,
        flow_type,
        evidence,
        reason,
    } = &step.expect;
    let mut wrong = Vec::new();
    let mut compare = |what: &str, wanted: Option<Value>, found: Value| {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            let (server, tool) = (&step.server, &step.tool);
            wrong.push(format!(
                "step {number} ({server}:{tool}): {what} is {found}, expected {wanted}"
            ));
        }
    };
    compare(
        "decision",
        decision.map(|it| json!(it)),
        json!(verdict.wanted),
    );
    compare(
        "effective",
        effective.map(|it| json!(it)),
        json!(verdict.action),
    );
    let level = json!(verdict.risk.level);
    compare("risk_level", risk_level.map(|it| json!(it)), level);
    compare(
        "flow_type",
        flow_type.map(|it| json!(it)),
        json!(verdict.flow),
    );
    let seen = verdict
        .findings
        .iter()
        .filter_map(|one| one.evidence.as_ref());
    let mut seen = seen.map(|matched| matched.how);
    let found = evidence.and_then(|wanted| seen.find(|how| *how == wanted));
    compare("evidence", evidence.map(|it| json!(it)), json!(found));
    let said = verdict.reason().unwrap_or_default();
    let missing = reason
        .as_ref()
        .filter(|words| !said.contains(words.as_str()));
    compare("reason", missing.map(|it| json!(it)), json!(said));
    wrong
}
