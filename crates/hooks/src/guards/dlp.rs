//! Data loss prevention: what is done with a secret or with personal data that passes by, by its
//! type, its direction and the upstream on the other side.
//!
//! It scans nothing: what was detected is handed in. What is taken out is taken out of the exact
//! text, so that everything else stays byte for byte; what comes of it is scanned again, and if
//! anything is left the message is stopped. The original is never handed on in place of a failure.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use mcpproxy_core::{Action, Finding, Masked, Severity, Source, Threat, Tier};
use mcpproxy_detect::{Category, Coverage, Found, Reason, Report, mask};
use mcpproxy_text::{self as text, LeafKind, Limits, Splice};
use serde::{Deserialize, Serialize};

use super::watch::Treated;

/// The id by which the configuration knows this guard.
pub const ID: &str = "dlp-scanner";
/// Types that one reason names.
const NAMED: usize = 4;
/// What rules may call an upstream beside its name: on which side it is, and whether it is both or
/// nobody could tell. What nobody could tell is outside, too.
pub const CLASSES: [&str; 4] = ["internal", "external", "hybrid", "unknown"];

/// What is done with what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The rules; of those that speak of a value the strictest counts.
    pub rules: Vec<Rule>,
}

/// What is done with some types of data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Types as `email` or categories as `api_token`; every secret and all personal data where none
    /// is named.
    #[serde(default)]
    pub types: Vec<String>,
    /// Which way the data goes; both where it is not said.
    #[serde(default)]
    pub direction: Option<Way>,
    /// Names of upstreams, or one of [`CLASSES`]; all where none is named.
    #[serde(default)]
    pub servers: Vec<String>,
    /// What is done.
    pub action: Treatment,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// To the upstream.
    Request,
    /// To the agent.
    Response,
}

/// What is done with a value, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// It is named in the record.
    Tag,
    /// A sample takes its place, as `****-****-****-4242`.
    Mask,
    /// Its type takes its place, as `[REDACTED:email]`.
    Redact,
    /// The message is stopped.
    Block,
}

/// Where a message goes or comes from.
#[derive(Clone, Copy, Debug)]
pub struct Between<'a> {
    /// Which way it goes.
    pub way: Way,
    /// The upstream.
    pub upstream: &'a str,
    /// Those of [`CLASSES`] that it is in.
    pub classes: &'a [&'static str],
}

/// The guard at work.
#[derive(Debug)]
pub struct Dlp {
    settings: Settings,
}

impl Dlp {
    /// Takes the rules.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Treats a message in which `report` was found; `scan` looks at what came of it.
    pub fn treat(
        &self,
        between: Between<'_>,
        raw: &str,
        report: &Report,
        scan: impl FnOnce(&str) -> Report,
    ) -> Treated {
        if self.is_cut(between, &report.coverage) {
            return Treated {
                text: None,
                finding: Some(too_large()),
            };
        }
        let treated = |found: &Found| self.treatment(between, found);
        let values = report.detections.iter();
        let chosen: Vec<_> = values
            .filter_map(|one| Some((one, treated(one)?)))
            .collect();
        let Some(worst) = chosen.iter().map(|(_, treatment)| *treatment).max() else {
            return Treated::default();
        };
        let finding = Some(finding(&chosen, worst));
        if worst == Treatment::Tag || worst == Treatment::Block {
            return Treated {
                text: None,
                finding,
            };
        }
        let taken = without(raw, &chosen);
        let left = |report: &Report| {
            let mut left = report.detections.iter().filter_map(treated);
            left.any(|treatment| treatment > Treatment::Tag)
                || self.is_cut(between, &report.coverage)
        };
        match taken {
            Some(text)
                if text::check(text.as_bytes(), Limits::default()).is_ok()
                    && !left(&scan(&text)) =>
            {
                Treated {
                    text: Some(text),
                    finding,
                }
            }
            Some(_) | None => Treated {
                text: None,
                finding: Some(self::finding(&chosen, Treatment::Block)),
            },
        }
    }

    /// Returns the strictest that the rules say of a value.
    fn treatment(&self, between: Between<'_>, found: &Found) -> Option<Treatment> {
        if !mask::is_value(found.detection.category) {
            return None;
        }
        let detection = &found.detection;
        let rules = self.settings.rules.iter();
        let rules = rules.filter(|rule| {
            rule.is_between(between) && rule.speaks_of(&detection.kind, detection.category)
        });
        rules.map(|rule| rule.action).max()
    }

    /// Tells whether something may stand in a message that a rule would not let pass, and nobody
    /// looked. Where the detector is switched off nothing was to be looked for.
    fn is_cut(&self, between: Between<'_>, coverage: &Coverage) -> bool {
        if coverage.is_complete() || coverage.unread.iter().any(|one| one.reason == Reason::Off) {
            return false;
        }
        let rules = self.settings.rules.iter();
        let mut rules =
            rules.filter(|rule| rule.action > Treatment::Tag && rule.is_between(between));
        let mut unread = coverage.unread.iter();
        if coverage.unscanned > 0 || unread.any(|one| one.reason != Reason::Detections) {
            return rules.next().is_some();
        }
        // What was seen and is not told, since there is so much of it, is known by its type.
        let untold = |rule: &Rule| {
            let mut values = coverage.untold.iter();
            values.any(|(kind, of)| mask::is_value(*of) && rule.speaks_of(kind, *of))
        };
        rules.any(untold)
    }
}

impl Rule {
    /// Tells whether the rule is about messages that go this way, to or from this upstream.
    fn is_between(&self, between: Between<'_>) -> bool {
        let servers =
            |name: &String| name == between.upstream || between.classes.contains(&name.as_str());
        self.direction.is_none_or(|of| of == between.way)
            && (self.servers.is_empty() || self.servers.iter().any(servers))
    }

    /// Tells whether the rule is about values of a type.
    fn speaks_of(&self, kind: &str, of: Category) -> bool {
        let family = category(of);
        let types = |name: &String| *name == kind || *name == family;
        self.types.is_empty() || self.types.iter().any(types)
    }

    /// Returns the first of its types that is none: no category of values, and not among `known`.
    pub fn unknown_type(&self, known: impl Fn(&str) -> bool) -> Option<&str> {
        let family = |name: &str| {
            let name = serde_json::Value::from(name);
            let of = serde_json::from_value::<Category>(name).ok();
            of.is_some_and(mask::is_value)
        };
        let mut types = self.types.iter().map(String::as_str);
        types.find(|name| !family(name) && !known(name))
    }
}

/// What follows for a message that was not looked through.
fn too_large() -> Finding {
    let reason = "This message is too large to be looked through for sensitive data";
    Finding {
        source: Source::Pii,
        severity: Severity::Medium,
        threat: Threat::DataExfiltration,
        reason: Masked::from_safe(format!("{reason} (`{ID}`).")),
        ..Finding::new(ID, Tier::Guard, Action::Deny)
    }
}

/// Takes the chosen values out of a text; nothing if one of them cannot be found again.
fn without(raw: &str, chosen: &[(&Found, Treatment)]) -> Option<String> {
    let mut leaves: BTreeMap<usize, Vec<(&Found, Treatment)>> = BTreeMap::new();
    for (found, treatment) in chosen {
        if *treatment > Treatment::Tag {
            let leaf = leaves.entry(found.leaf.start).or_default();
            leaf.push((found, *treatment));
        }
    }
    let mut splice = Splice::default();
    for (number, values) in leaves.values().enumerate() {
        let span = values.first()?.0.leaf.clone();
        let leaf = raw.get(span.clone())?;
        let plain = text::string(leaf).map_or_else(|| leaf.to_owned(), Into::into);
        let is_key = raw.get(span.end..)?.trim_start().starts_with(':');
        let mut plain = shown(&plain, values)?;
        if is_key {
            // Two keys that became the same would make the object ambiguous.
            plain = format!("{plain}#{number}");
        }
        splice.replace(span, serde_json::to_string(&plain).ok()?);
    }
    String::from_utf8(splice.apply(raw.as_bytes())).ok()
}

/// A stretch of a text that is not shown, and what is done with it.
struct Cut<'a> {
    span: Range<usize>,
    treatment: Treatment,
    kind: &'a str,
}

impl Cut<'_> {
    /// The part of it that lies in a stretch of the text, counted from there. A part is no sample of
    /// the whole.
    fn within(&self, place: &Range<usize>) -> Self {
        let span = self.span.start.max(place.start)..self.span.end.min(place.end);
        let treatment = match self.treatment {
            Treatment::Mask if span != self.span => Treatment::Redact,
            treatment => treatment,
        };
        Self {
            span: span.start - place.start..span.end - place.start,
            treatment,
            kind: self.kind,
        }
    }
}

/// Puts what may be shown in the place of each value; a JSON document in a text stays one.
fn shown(plain: &str, values: &[(&Found, Treatment)]) -> Option<String> {
    let cuts = cuts(values);
    if is_document(plain) {
        document_without(plain, &cuts)
    } else {
        rewritten(plain, &cuts)
    }
}

/// The stretches of the values in their order. Where two overlap, what is left of the second is taken
/// out.
fn cuts<'a>(values: &[(&'a Found, Treatment)]) -> Vec<Cut<'a>> {
    let mut values = values.to_vec();
    values.sort_by_key(|(found, treatment)| {
        (found.detection.span.start, std::cmp::Reverse(*treatment))
    });
    let mut cuts: Vec<Cut<'a>> = Vec::with_capacity(values.len());
    for (found, treatment) in values {
        let whole = Cut {
            span: found.detection.span.clone(),
            treatment,
            kind: &found.detection.kind,
        };
        let at = cuts.last().map_or(0, |last| last.span.end);
        if whole.span.end > at {
            let rest = whole.within(&(at..whole.span.end));
            cuts.push(Cut {
                span: at + rest.span.start..at + rest.span.end,
                ..rest
            });
        }
    }
    cuts
}

/// Tells whether a text is a JSON document. A number or a word alone is taken for a text.
fn is_document(plain: &str) -> bool {
    let begins = plain.trim_start().starts_with(['{', '[']);
    begins && text::check(plain.as_bytes(), Limits::default()).is_ok()
}

/// Takes stretches out of a document: what takes the place of a number is a string.
fn document_without(plain: &str, cuts: &[Cut<'_>]) -> Option<String> {
    let mut splice = Splice::default();
    let mut left = cuts;
    let mut keys = 0;
    let mut all_there = true;
    text::visit(plain, |leaf| {
        let place = match leaf.kind {
            LeafKind::Number => leaf.span.clone(),
            LeafKind::Key | LeafKind::Text => leaf.span.start + 1..leaf.span.end - 1,
        };
        let passed = left.iter().take_while(|cut| cut.span.end <= place.start);
        left = left.get(passed.count()..).unwrap_or_default();
        let here = left.iter().take_while(|cut| cut.span.start < place.end);
        let here: Vec<_> = here.map(|cut| cut.within(&place)).collect();
        if here.is_empty() {
            return ControlFlow::Continue(());
        }
        let inner = plain.get(place).and_then(|inner| rewritten(inner, &here));
        let Some(mut inner) = inner else {
            all_there = false;
            return ControlFlow::Break(());
        };
        if leaf.kind == LeafKind::Key {
            // Two keys that became the same would make the object ambiguous.
            inner = format!("{inner}#{keys}");
            keys += 1;
        }
        let mut quoted = format!("\"{inner}\"");
        if text::check(quoted.as_bytes(), Limits::default()).is_err() {
            // A stretch began or ended within an escape.
            let kind = here.first().map_or("", |cut| cut.kind);
            quoted = format!("\"[REDACTED:{kind}]\"");
        }
        splice.replace(leaf.span, quoted);
        ControlFlow::Continue(())
    });
    all_there.then_some(())?;
    let text = String::from_utf8(splice.apply(plain.as_bytes())).ok()?;
    is_document(&text).then_some(text)
}

/// Puts what may be shown in the place of each stretch.
fn rewritten(plain: &str, cuts: &[Cut<'_>]) -> Option<String> {
    let mut out = String::with_capacity(plain.len());
    let mut at = 0;
    for cut in cuts {
        out.push_str(plain.get(at..cut.span.start)?);
        let value = plain.get(cut.span.clone())?;
        match cut.treatment {
            Treatment::Mask => out.push_str(mask::sample(cut.kind, value).as_str()),
            _ => out.extend(["[REDACTED:", cut.kind, "]"]),
        }
        at = cut.span.end;
    }
    out.push_str(plain.get(at..)?);
    Some(out)
}

/// The name of a category, as rules and filters spell it.
fn category(of: Category) -> String {
    let name = serde_json::to_value(of).ok();
    let name = name.as_ref().and_then(serde_json::Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn finding(chosen: &[(&Found, Treatment)], worst: Treatment) -> Finding {
    let mut kinds: Vec<&str> = chosen.iter().map(|(one, _)| &*one.detection.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.truncate(NAMED);
    let kinds = kinds.join(", ");
    let (wants, what) = match worst {
        Treatment::Tag => (Action::Allow, "is in this message"),
        Treatment::Mask => (Action::Allow, "was masked in this message"),
        Treatment::Redact => (Action::Allow, "was taken out of this message"),
        Treatment::Block => (Action::Deny, "may not be in this message"),
    };
    let severities = chosen.iter().map(|(one, _)| one.detection.severity);
    Finding {
        source: Source::Pii,
        severity: severities.max().unwrap_or(Severity::Medium),
        threat: Threat::DataExfiltration,
        reason: Masked::from_safe(format!("Sensitive data ({kinds}) {what}.")),
        ..Finding::new(ID, Tier::Guard, wants)
    }
}

#[cfg(test)]
mod tests;
