//! Where the rules come from: the files of the scanners, and the kinds that scanners know by heart.

use std::collections::{BTreeMap, BTreeSet};

use mcpproxy_core::Severity;
use serde::Deserialize;

use super::{Card, Rules};
use crate::audience::Audience;
use crate::detection::{Category, Detection, Scan};
use crate::error::DetectError;
use crate::files::{FileRule, Files};
use crate::hidden::Hidden;
use crate::hostile::Hostile;
use crate::mask::is_value;
use crate::pii::{self, Pii};
use crate::secrets::{self, Rule, Secrets, Validator};
use crate::settings::Settings;
use crate::{detector, tool};

/// Examples for scanners whose rules are code or patterns over ideas.
const EXAMPLES: &str = include_str!("../../rules/examples.json");

/// The examples of one rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    id: String,
    yes: Vec<String>,
    no: Vec<String>,
}

/// Adds all rules, scanner by scanner.
pub(super) fn collect(rules: &mut Rules) -> Result<(), DetectError> {
    let secrets = Secrets::new(Settings::default().entropy_threshold)?;
    for rule in secrets.rules() {
        let (yes, no): (Vec<_>, Vec<_>) = (rule.positives().collect(), rule.negatives().collect());
        rules.add(of_secret(rule), &yes, &no, &secrets);
    }
    let files = Files::new()?;
    for rule in files.rules() {
        rules.add(of_file(rule), &rule.positive, &rule.negative, &files);
    }
    let mut examples = examples()?;
    let mut shown = |family: &str| examples.remove(family).unwrap_or_default();
    let pii = Pii::new();
    let listed = shown("pii");
    let kinds = pii::kinds().filter(|(kind, ..)| {
        let id = pii::rule_of(kind);
        listed.iter().all(|one| one.id != id)
    });
    let kinds: Vec<Card> = kinds
        .map(|(kind, name, severity)| {
            bare(&pii::rule_of(kind), kind, Category::Pii, severity, name)
        })
        .collect();
    demonstrated(rules, listed, &pii)?;
    rules.cards.extend(kinds);
    demonstrated(rules, shown("hidden"), &Hidden::new(Audience::Descriptor))?;
    let hostile = Hostile::new(Audience::Descriptor)?;
    let first = rules.cards.len();
    demonstrated(rules, shown("hostile"), &hostile)?;
    acts(rules, first);
    let structural = tool::RULES.iter();
    rules.cards.extend(
        structural
            .map(|(id, severity, reason)| bare(id, id, Category::HostileText, *severity, reason)),
    );
    let unread = detector::rules().into_iter();
    rules
        .cards
        .extend(unread.map(|found| of_detection(&found.rule, &found)));
    Ok(())
}

/// Returns the types of values. Those of personal data that scanners know by heart are named by their
/// examples.
pub(super) fn value_kinds() -> Result<BTreeSet<String>, DetectError> {
    let secrets = secrets::rules().iter();
    let secrets = secrets.filter(|rule| is_value(rule.category));
    let mut kinds: BTreeSet<String> = secrets.map(|rule| rule.kind.to_owned()).collect();
    kinds.extend(pii::kinds().map(|(kind, ..)| kind.to_owned()));
    let shown = examples()?.remove("pii").unwrap_or_default().into_iter();
    kinds.extend(shown.filter_map(|one| pii::kind_of(&one.id)));
    Ok(kinds)
}

fn examples() -> Result<BTreeMap<String, Vec<Shown>>, DetectError> {
    serde_json::from_str(EXAMPLES).map_err(|fault| fault_of("examples", &fault.to_string()))
}

fn fault_of(rule: &str, reason: &str) -> DetectError {
    DetectError::Rule {
        file: "examples.json".to_owned(),
        rule: rule.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Adds rules that are known by what their first example makes of them.
fn demonstrated(
    rules: &mut Rules,
    examples: Vec<Shown>,
    scanner: &dyn Scan,
) -> Result<(), DetectError> {
    for Shown { id, yes, no } in examples {
        let mut seen = Vec::new();
        for text in &yes {
            scanner.scan(text, &mut seen);
        }
        let found = seen.into_iter().find(|one| super::is_of(one, &id));
        let found = found.ok_or_else(|| fault_of(&id, "its examples do not show it"))?;
        rules.add(of_detection(&id, &found), &yes, &no, scanner);
    }
    Ok(())
}

/// Gives the acts from `first` on their patterns, and adds those without examples.
fn acts(rules: &mut Rules, first: usize) {
    for (act, reason, tags, patterns) in Hostile::acts() {
        let listed = rules.cards.iter_mut().skip(first);
        if let Some(card) = listed.into_iter().find(|card| card.id == act) {
            card.patterns = patterns;
            continue;
        }
        let mut card = bare(&act, &act, Category::HostileText, Severity::High, reason);
        card.patterns = patterns;
        card.tags = tags.to_vec();
        rules.cards.push(card);
    }
}

fn of_secret(rule: &Rule) -> Card {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut card = bare(
        rule.id,
        rule.kind,
        rule.category,
        rule.severity,
        rule.reason,
    );
    card.confidence = Some(rule.confidence);
    card.patterns.extend(
        Some(rule.pattern)
            .filter(|pattern| !pattern.is_empty())
            .map(str::to_owned),
    );
    card.keywords = owned(&rule.keywords);
    card.near = owned(&rule.near);
    card.validator = Some(rule.validator).filter(|validator| *validator != Validator::None);
    card
}

fn of_file(rule: &FileRule) -> Card {
    let severity = rule.severity.into();
    let mut card = bare(
        &rule.id,
        &rule.kind,
        Category::SensitiveFile,
        severity,
        &rule.reason,
    );
    let endings = rule.endings.iter().map(|ending| format!("*{ending}"));
    card.patterns = rule.any.iter().cloned().chain(endings).collect();
    card
}

fn of_detection(id: &str, found: &Detection) -> Card {
    let reason = found.reason.as_str();
    let mut card = bare(id, &found.kind, found.category, found.severity, reason);
    card.tags = found.tags.to_vec();
    card
}

fn bare(id: &str, kind: &str, category: Category, severity: Severity, reason: &str) -> Card {
    Card {
        id: id.to_owned(),
        kind: kind.to_owned(),
        category,
        severity,
        reason: reason.to_owned(),
        confidence: None,
        patterns: Vec::new(),
        validator: None,
        keywords: Vec::new(),
        near: Vec::new(),
        tags: Vec::new(),
        positive: Vec::new(),
        negative: Vec::new(),
    }
}
