//! Findings as SARIF 2.1.0, for the places where code is reviewed.

use std::collections::BTreeMap;

use mcpproxy_core::Severity;
use mcpproxy_detect::Level;
use serde_json::{Value, json};

use super::file::Region;
use super::finding::Finding;

/// Where the form of such a log is described.
pub(crate) const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Makes a log of one run; `whole` says that everything could be scanned.
pub(super) fn log(findings: &[Finding], whole: bool) -> Value {
    let mut rules: BTreeMap<&str, &Finding> = BTreeMap::new();
    for finding in findings {
        rules.entry(&finding.rule).or_insert(finding);
    }
    let at = |rule: &str| rules.keys().position(|known| *known == rule);
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| result(finding, at(&finding.rule)))
        .collect();
    let driver = json!({
        "name": "mcpproxy",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": rules.values().map(|finding| rule(finding)).collect::<Vec<_>>(),
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": whole }],
            "results": results,
        }],
    })
}

fn rule(finding: &Finding) -> Value {
    let tags: Vec<&str> = std::iter::once("security")
        .chain([finding.category.as_str()])
        .chain(finding.tags.iter().copied())
        .collect();
    json!({
        "id": finding.rule,
        "name": finding.kind,
        "shortDescription": { "text": finding.reason },
        "defaultConfiguration": { "level": level(finding.verdict) },
        "properties": { "tags": tags, "security-severity": score(finding.severity) },
    })
}

fn result(finding: &Finding, rule: Option<usize>) -> Value {
    let (reason, sample) = (&finding.reason, finding.sample.as_str());
    let shown = if sample.is_empty() {
        String::new()
    } else {
        format!(" ({sample})")
    };
    let message = format!("{} {}: {reason}{shown}", finding.subject, finding.field);
    json!({
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": level(finding.verdict),
        "message": { "text": message },
        "locations": [location(finding)],
        "properties": {
            "severity": finding.severity,
            "confidence": f64::from(finding.confidence) / 100.0,
            "type": finding.kind,
        },
    })
}

fn location(finding: &Finding) -> Value {
    let name = if finding.field.is_empty() {
        finding.subject.clone()
    } else {
        format!("{}.{}", finding.subject, finding.field)
    };
    let logical =
        json!([{ "name": finding.subject, "fullyQualifiedName": name, "kind": finding.part }]);
    let Some((file, place)) = &finding.file else {
        return json!({ "logicalLocations": logical });
    };
    let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
    if let (Some(place), Some(physical)) = (place, physical.as_object_mut()) {
        physical.insert("region".to_owned(), region(*place));
    }
    json!({ "physicalLocation": physical, "logicalLocations": logical })
}

fn region(region: Region) -> Value {
    json!({
        "startLine": region.line,
        "startColumn": region.column,
        "endLine": region.end_line,
        "endColumn": region.end_column,
    })
}

/// A file as an address: relative as it was named, absolute with its scheme.
fn uri(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let spelled = file.bytes().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    let scheme = if file.starts_with('/') { "file://" } else { "" };
    std::iter::once(scheme.to_owned()).chain(spelled).collect()
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Block => "error",
        Level::Warn => "warning",
        Level::Note => "note",
    }
}

/// The score that code hosts sort by.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.0",
        Severity::Low => "3.0",
        Severity::Info => "0.0",
    }
}

#[cfg(test)]
mod tests;
