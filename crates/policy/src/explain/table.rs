//! The explanation as a table for people.

use std::fmt;

use mcpproxy_core::{Enforcement, Match};

use super::{Explanation, Spoke, TierLine};
use crate::risk::{Band, Point};
use crate::words;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "call       {}", self.call)?;
        let decision = words::action(self.decision);
        match self.enforcement {
            Enforcement::Enforced => writeln!(f, "decision   {decision}")?,
            Enforcement::Degraded => writeln!(
                f,
                "decision   {decision}, done as {}: there is nobody to ask",
                words::action(self.effective)
            )?,
            Enforcement::Shadow => writeln!(
                f,
                "decision   {decision}, done as {}: shadow mode enforces nothing",
                words::action(self.effective)
            )?,
            Enforcement::Unheard => writeln!(
                f,
                "decision   {decision}, done as {}: whoever asked did not wait for it",
                words::action(self.effective)
            )?,
        }
        match &self.decided_by {
            Some(rule) => writeln!(f, "decided by {rule}. {}", self.why)?,
            None => writeln!(f, "decided by nothing. {}", self.why)?,
        }
        let (flow, level) = (self.flow_type.name(), self.risk_level.name());
        writeln!(f, "flow       {flow}, risk {level}: {}", self.risk_reason)?;
        writeln!(f, "\ntiers, strongest first")?;
        self.tiers.iter().try_for_each(|line| tier(f, line))?;
        let band = band(self.band);
        writeln!(f, "\nrisk score {} ({band})", self.risk_score)?;
        self.points.iter().try_for_each(|one| point(f, one))
    }
}

fn tier(f: &mut fmt::Formatter<'_>, line: &TierLine) -> fmt::Result {
    let name = words::tier(line.tier);
    if line.findings.is_empty() {
        return writeln!(f, "  {name:<21} -");
    }
    for (at, spoke) in line.findings.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        let Spoke {
            rule,
            wants,
            reason,
            ..
        } = spoke;
        let mark = match (spoke.decided, spoke.silenced) {
            (true, _) => " <- decides",
            (false, true) => " (silenced by the override)",
            (false, false) => "",
        };
        let wants = words::action(*wants);
        writeln!(f, "  {name:<21} {wants:<5} {rule}: {reason}{mark}")?;
        if let Some(evidence) = &spoke.evidence {
            writeln!(f, "  {:<27} {}", "", shown(evidence))?;
        }
    }
    Ok(())
}

/// Returns how data was recognized: likeness, undone encodings, origin, place, length, sample.
fn shown(evidence: &Match) -> String {
    let how = words::likeness(evidence.how);
    let via = match evidence.via.join(", ") {
        none if none.is_empty() => none,
        chain => format!(" ({chain})"),
    };
    let origin = &evidence.origin;
    let (upstream, tool) = (&origin.upstream, &origin.tool);
    format!(
        "{how}{via} of {upstream}:{tool} at {}, {} characters, {}",
        evidence.place, evidence.shared, evidence.sample
    )
}

fn point(f: &mut fmt::Formatter<'_>, one: &Point) -> fmt::Result {
    let (rule, source) = (&one.rule, words::source(one.source));
    let mark = if one.silenced { " (silenced)" } else { "" };
    writeln!(
        f,
        "  {:>3}  {rule}: confidence {}% x severity {}% x {source} {}%{mark}",
        one.points, one.confidence, one.severity, one.weight
    )
}

fn band(band: Band) -> &'static str {
    match band {
        Band::Low => "low",
        Band::Medium => "medium",
        Band::High => "high",
        Band::Critical => "critical",
    }
}
