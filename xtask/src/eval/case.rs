//! What is asked, what should come of it, and what came of it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Detector {
    /// Hidden characters, terminal escapes, decoded payloads.
    Hidden,
    /// Orders in descriptors and instructions.
    Poisoning,
    /// Honest descriptors that speak of security: none may be flagged.
    HardNegatives,
    /// Both by somebody who knows no rule: orders as people would word them, some hard to tell from
    /// honest ones, and honest texts that come close to them.
    Natural,
    /// Changes of descriptors.
    RugPull,
    /// Secrets whose value is known.
    Secrets,
    /// The examples of other scanners' rules, many of them placeholders.
    SecretExamples,
    /// Personal data with a form that can be checked.
    Pii,
    /// Phone numbers.
    Phones,
    /// Personal data that only its surroundings show.
    OtherPii,
    /// Orders in results.
    Results,
    /// Paths of credentials in arguments.
    Paths,
    /// Whole messages.
    Frames,
}

impl Detector {
    /// All, in the order of the report.
    pub(crate) const ALL: [Self; 13] = [
        Self::Hidden,
        Self::Poisoning,
        Self::HardNegatives,
        Self::Natural,
        Self::RugPull,
        Self::Secrets,
        Self::SecretExamples,
        Self::Pii,
        Self::Phones,
        Self::OtherPii,
        Self::Results,
        Self::Paths,
        Self::Frames,
    ];

    /// Returns what the report calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hidden => "hidden and decoded",
            Self::Poisoning => "explicit poisoning",
            Self::HardNegatives => "hard negatives",
            Self::Natural => "in natural words",
            Self::RugPull => "rug pull",
            Self::Secrets => "secrets",
            Self::SecretExamples => "secrets, rule examples",
            Self::Pii => "structured PII",
            Self::Phones => "phones",
            Self::OtherPii => "PII of other kinds",
            Self::Results => "injected results",
            Self::Paths => "credential paths",
            Self::Frames => "frames",
        }
    }
}

/// Where a case comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Set {
    /// Made here.
    Own,
    /// A folder that was given.
    Corpus,
    /// Ordinary files of this machine: what is flagged in them is a false alarm.
    Machine,
}

/// One question to the door, and what it is asked for.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) set: Set,
    pub(crate) id: String,
    pub(crate) source: String,
    /// `kind` and the payload of that kind.
    pub(crate) question: Value,
    pub(crate) marks: Vec<Mark>,
}

/// What one detector should make of a case.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) detector: Detector,
    pub(crate) expect: Expect,
}

/// What should come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// It is flagged, and where this is known, there.
    Flagged(Option<Range<usize>>),
    /// It is not.
    Clean,
}

impl Case {
    /// Makes a case that one detector is asked for.
    pub(crate) fn own(
        detector: Detector,
        flagged: bool,
        source: &str,
        id: String,
        question: Value,
    ) -> Self {
        let expect = if flagged {
            Expect::Flagged(None)
        } else {
            Expect::Clean
        };
        Self {
            set: Set::Own,
            id,
            source: source.to_owned(),
            question,
            marks: vec![Mark { detector, expect }],
        }
    }

    /// The same case, asked of another detector, too.
    pub(crate) fn also(mut self, detector: Detector) -> Self {
        let expect = self.marks.first().map(|mark| mark.expect.clone());
        self.marks
            .extend(expect.map(|expect| Mark { detector, expect }));
        self
    }
}

/// What the door said.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    #[serde(default)]
    pub(crate) verdict: Level,
    #[serde(default)]
    pub(crate) findings: Vec<Finding>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

/// One thing that was seen.
#[derive(Debug, Deserialize)]
pub(crate) struct Finding {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) category: String,
    pub(crate) confidence: f64,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) level: Level,
    #[serde(default)]
    via: Vec<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    #[default]
    #[serde(alias = "clean")]
    Note,
    Warn,
    Block,
}

const SECRETS: &[&str] = &[
    "cloud_credentials",
    "private_key",
    "api_token",
    "auth_token",
    "database_credential",
    "high_entropy",
];

impl Answer {
    /// Tells whether a detector flags the case at a level or above; a place narrows it down.
    pub(crate) fn flags(&self, detector: Detector, tier: Level, at: Option<&Range<usize>>) -> bool {
        let here = |finding: &Finding| {
            at.is_none_or(|at| finding.start < at.end && at.start < finding.end)
        };
        match detector {
            Detector::Hidden => {
                let hides = |one: &Finding| {
                    one.level >= Level::Warn
                        && (one.category == "hidden_text"
                            || one.category == "opaque"
                            || !one.via.is_empty())
                };
                self.verdict >= tier && self.findings.iter().any(hides)
            }
            Detector::Results => self.verdict >= tier && self.gives_orders(),
            Detector::Secrets | Detector::SecretExamples => {
                let secret = |one: &Finding| SECRETS.contains(&one.category.as_str());
                let mut secrets = self.findings.iter().filter(|one| secret(one) && here(one));
                secrets.any(|one| one.level >= tier)
            }
            Detector::Pii | Detector::Phones | Detector::OtherPii => {
                let mut data = self.findings.iter().filter(|one| one.is_pii() && here(one));
                let phones = |one: &Finding| (detector == Detector::Phones) == one.is_phone();
                // Where a value is known, whatever sees it has seen it.
                data.any(|one| one.level >= tier && (at.is_some() || phones(one)))
            }
            Detector::Poisoning
            | Detector::HardNegatives
            | Detector::Natural
            | Detector::RugPull
            | Detector::Paths
            | Detector::Frames => self.verdict >= tier,
        }
    }

    /// Tells whether it is words, and not data, that the verdict rests on.
    fn gives_orders(&self) -> bool {
        let text = |one: &&Finding| matches!(one.category.as_str(), "hostile_text" | "hidden_text");
        let texts = || self.findings.iter().filter(text);
        let weight: f64 = texts().map(|one| one.confidence).sum();
        texts().any(|one| one.level >= Level::Warn) || weight >= 0.5
    }
}

impl Finding {
    fn is_pii(&self) -> bool {
        matches!(self.category.as_str(), "pii" | "credit_card")
    }

    fn is_phone(&self) -> bool {
        self.kind.contains("phone")
    }
}
