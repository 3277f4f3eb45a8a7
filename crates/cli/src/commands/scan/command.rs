//! What the command of an upstream does before any call is made. The facts come from the shell
//! reader of `classify`; here they become findings.

use std::borrow::Cow;

use mcpproxy_classify::shell::{self, Analysis, Flow, Origin};
use mcpproxy_core::{Masked, Severity};
use mcpproxy_detect::tool::Placed;
use mcpproxy_detect::{Category, Detection, Level};

use crate::output::flat;

/// Looks at a program with its arguments, which stand under `key`.
pub(super) fn inspect(key: &str, program: &str, arguments: &[&str]) -> Vec<Placed> {
    let analysis = shell::read(&line(program, arguments));
    let mut found: Vec<Placed> = analysis
        .flows
        .iter()
        .filter_map(|flow| sends(key, flow))
        .collect();
    found.truncate(1);
    if analysis.fetches_and_runs {
        let reason = Masked::from_safe("runs what it fetches, which may change at any time");
        let sample = Masked::from_safe(programs(&analysis));
        found.push(setting(
            key,
            "fetch_and_run",
            Level::Warn,
            Severity::High,
            reason,
            sample,
        ));
    }
    if let Some(lost) = analysis.destructive.first() {
        let reason = Masked::from_safe(format!("`{}` removes or overwrites", flat(&lost.program)));
        let sample = Masked::from_safe(programs(&analysis));
        found.push(setting(
            key,
            "destroys",
            Level::Warn,
            Severity::High,
            reason,
            sample,
        ));
    }
    found
}

/// One line for a shell, in which each argument is one word. A command with blanks and without
/// arguments is a line already.
fn line(program: &str, arguments: &[&str]) -> String {
    if arguments.is_empty() {
        return program.to_owned();
    }
    let words = std::iter::once(&program).chain(arguments);
    let quoted = words.map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Data of this machine that leaves it.
fn sends(key: &str, flow: &Flow) -> Option<Placed> {
    let from = flow.from.iter().find_map(|origin| match origin {
        Origin::File(name) => Some(format!("the file `{}`", flat(name))),
        Origin::Environment(name) => Some(format!("the variable `{}`", flat(name))),
        Origin::Program(name) => Some(format!("what `{}` prints", flat(name))),
        Origin::Remote(_) => None,
    })?;
    let to = flow
        .to
        .as_deref()
        .map_or("an unknown host".to_owned(), flat);
    let reason = Masked::from_safe(format!("sends {from} to {to}"));
    let sample = Masked::from_safe(flat(&flow.program));
    let (level, severity) = (Level::Block, Severity::Critical);
    Some(setting(key, "sends_data", level, severity, reason, sample))
}

fn programs(analysis: &Analysis) -> String {
    let shown: Vec<_> = analysis
        .programs
        .iter()
        .take(6)
        .map(|name| flat(name))
        .collect();
    shown.join(", ")
}

/// Makes a finding about a setting.
pub(super) fn setting(
    path: &str,
    rule: &'static str,
    level: Level,
    severity: Severity,
    reason: Masked,
    sample: Masked,
) -> Placed {
    let detection = Detection {
        rule: Cow::Borrowed(rule),
        kind: Cow::Borrowed(rule),
        category: Category::Opaque,
        severity,
        confidence: 90,
        level,
        span: 0..0,
        via: Vec::new(),
        reason,
        sample,
        tags: &["MCP05", "ASI05"],
    };
    let path = path.to_owned();
    Placed { path, detection }
}
