//! `rules`: what the detectors look for, and whether they find it in the rules' own examples.

use anyhow::Result;
use mcpproxy_detect::Rules;
use mcpproxy_detect::rules::Card;
use serde_json::{Value, json};

use crate::args::{Format, Global, RulesCommand};
use crate::exit::{Exit, bad_input};
use crate::output;

/// Lists, shows or checks the rules.
pub(crate) fn run(global: &Global, command: &RulesCommand) -> Result<Exit> {
    let rules = Rules::new()?;
    match command {
        RulesCommand::List => list(global, &rules),
        RulesCommand::Show { id } => show(global, &rules, id),
        RulesCommand::Check => check(global, &rules),
    }
}

fn list(global: &Global, rules: &Rules) -> Result<Exit> {
    let columns = ["id", "type", "category", "severity", "reason"];
    let row = |card: &Card| {
        json!({
            "id": card.id,
            "type": card.kind,
            "category": card.category,
            "severity": card.severity,
            "reason": card.reason,
        })
    };
    let rows: Vec<Value> = rules.cards().iter().map(row).collect();
    output::rows(global.format(), &columns, &rows)?;
    Ok(Exit::Fine)
}

fn show(global: &Global, rules: &Rules, id: &str) -> Result<Exit> {
    let unknown = || {
        let hint = "see `mcpproxy rules list`";
        bad_input(format!("no rule is named `{id}`"), Some(hint))
    };
    let card = serde_json::to_value(rules.get(id).ok_or_else(unknown)?)?;
    match (global.format(), &card) {
        (Format::Table, Value::Object(members)) => {
            for (name, value) in members {
                page(name, value)?;
            }
        }
        (format, card) => output::value(format, card)?,
    }
    Ok(Exit::Fine)
}

/// Prints a member in full, each item of a list on a line.
fn page(name: &str, value: &Value) -> Result<()> {
    let text = |value: &Value| match value {
        Value::String(text) => output::flat(text),
        other => other.to_string(),
    };
    let Value::Array(items) = value else {
        return output::line(&format!("{name:<11} {}", text(value)));
    };
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    names
        .zip(items)
        .try_for_each(|(name, item)| output::line(&format!("{name:<11} {}", text(item))))
}

fn check(global: &Global, rules: &Rules) -> Result<Exit> {
    let failures = rules.failures();
    let shown = rules.cards().iter();
    let shown = shown.filter(|card| !card.positive.is_empty()).count();
    let summary = json!({
        "rules": rules.cards().len(),
        "with_examples": shown,
        "examples": rules.examples(),
        "failures": failures,
    });
    if global.format() == Format::Table {
        for failure in failures {
            let should = if failure.should_fire { "" } else { "not " };
            let example = serde_json::to_string(&failure.example)?;
            let rule = &failure.rule;
            output::line(&format!("`{rule}` should {should}fire in {example}"))?;
        }
        output::line(&format!(
            "{} rules, {shown} of them with examples; {} examples run, {} failed",
            rules.cards().len(),
            rules.examples(),
            failures.len()
        ))?;
    } else {
        output::value(global.format(), &summary)?;
    }
    Ok(if failures.is_empty() {
        Exit::Fine
    } else {
        Exit::Findings
    })
}
