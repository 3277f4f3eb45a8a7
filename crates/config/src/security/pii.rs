//! The section `security.pii_detection`, as the specification prints it, and what it means for the
//! detector, which has a section of its own.
//!
//! Not here: when recorded values are blanked, which is a matter of the store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_core::Severity;
use mcpproxy_detect::Category;
use mcpproxy_detect::settings::{CustomPattern as Pattern, Settings as Detector};

use super::SecuritySettings;

/// Personal data in calls and answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PiiDetection {
    /// Whether it is looked for.
    pub enabled: bool,
    /// Kinds that are looked for.
    pub patterns: Vec<PiiPattern>,
    /// Kinds of one's own.
    pub custom_patterns: Vec<CustomPattern>,
    /// Days after which records that hold such data lose what they say in words.
    pub auto_redact_after_days: Option<u32>,
}

/// A kind of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PiiPattern {
    /// Addresses of electronic mail.
    Email,
    /// United States social security numbers.
    Ssn,
    /// Numbers of payment cards.
    CreditCard,
    /// Telephone numbers.
    Phone,
    /// Keys and tokens of services.
    ApiKey,
}

/// A kind of personal data of one's own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomPattern {
    /// Name under which it is reported.
    pub name: String,
    /// Regular expression that finds it.
    pub regex: String,
    /// How bad it is when it leaves.
    #[serde(default)]
    pub severity: PatternSeverity,
}

/// How bad it is when a value leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatternSeverity {
    /// Worth a line in the log.
    Info,
    /// Little harm.
    Low,
    /// Some harm.
    #[default]
    Medium,
    /// Much harm.
    High,
    /// Must not happen.
    Critical,
}

impl Default for PiiDetection {
    fn default() -> Self {
        use PiiPattern::{ApiKey, CreditCard, Email, Phone, Ssn};
        Self {
            enabled: true,
            patterns: vec![Email, Ssn, CreditCard, Phone, ApiKey],
            custom_patterns: Vec::new(),
            auto_redact_after_days: Some(30),
        }
    }
}

impl PiiPattern {
    const ALL: [Self; 5] = [
        Self::Email,
        Self::Ssn,
        Self::CreditCard,
        Self::Phone,
        Self::ApiKey,
    ];
}

impl SecuritySettings {
    /// Returns what is looked for: the section `detector`, narrowed and widened by
    /// `pii_detection`. A family that `detector.categories` names stays as it is named there.
    pub fn detection(&self) -> Detector {
        let mut detector = self.detector.clone();
        let pii = &self.pii_detection;
        let mut off = |category| {
            detector.categories.entry(category).or_insert(false);
        };
        if !pii.enabled {
            off(Category::Pii);
            off(Category::CreditCard);
            return detector;
        }
        let missing = |pattern: &PiiPattern| !pii.patterns.contains(pattern);
        for pattern in PiiPattern::ALL.into_iter().filter(missing) {
            match pattern {
                PiiPattern::CreditCard => off(Category::CreditCard),
                PiiPattern::ApiKey => off(Category::ApiToken),
                PiiPattern::Email => detector.silent.extend(["email"]),
                PiiPattern::Ssn => detector.silent.extend(["ssn"]),
                PiiPattern::Phone => detector.silent.extend(["phone"]),
            }
        }
        detector
            .custom_patterns
            .extend(pii.custom_patterns.iter().map(own));
        detector
    }
}

/// A pattern of one's own, in the words of the detector.
fn own(pattern: &CustomPattern) -> Pattern {
    Pattern {
        name: pattern.name.clone(),
        regex: Some(pattern.regex.clone()),
        keywords: Vec::new(),
        severity: match pattern.severity {
            PatternSeverity::Info => Severity::Info,
            PatternSeverity::Low => Severity::Low,
            PatternSeverity::Medium => Severity::Medium,
            PatternSeverity::High => Severity::High,
            PatternSeverity::Critical => Severity::Critical,
        },
        category: Category::Pii,
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_detect::Detector;

    use super::*;

    /// One of each kind, and a number of one's own.
    const TEXT: &str = "ines.roth@mail-corner.org, ssn: 219-09-9998, card 4539 1488 0343 6467, \
                        call +49 30 901820, EMP-482017";

    fn check(section: &str, expect: &[&str]) {
        let security: SecuritySettings = serde_json::from_str(section).unwrap();
        let detector = Detector::new(&security.detection()).unwrap();
        let found = detector.text(TEXT).detections;
        let mut kinds: Vec<_> = found
            .iter()
            .map(|one| one.detection.kind.as_ref())
            .collect();
        kinds.sort_unstable();
        assert_eq!(kinds, expect, "{section}");
    }

    #[test]
    fn each_key_says_what_is_looked_for() {
        let all = &["credit_card", "email", "phone", "ssn"];
        check("{}", all);
        check(r#"{"pii_detection": {"enabled": true}}"#, all);
        check(r#"{"pii_detection": {"enabled": false}}"#, &[]);
        check(
            r#"{"pii_detection": {"patterns": ["ssn", "phone"]}}"#,
            &["phone", "ssn"],
        );
        check(r#"{"pii_detection": {"patterns": ["email"]}}"#, &["email"]);
        check(
            r#"{"pii_detection": {"patterns": ["credit_card"]}}"#,
            &["credit_card"],
        );
        check(
            r#"{"pii_detection": {"patterns": [], "custom_patterns": [
                {"name": "employee_id", "regex": "EMP-\\d{6}", "severity": "high"}]}}"#,
            &["employee_id"],
        );
        check(
            r#"{"detector": {"categories": {"credit_card": true}},
                "pii_detection": {"enabled": false}}"#,
            &["credit_card"],
        );
    }

    #[test]
    fn keys_of_services_are_switched_as_a_family() {
        let check = |patterns: &str, expect: bool| {
            let section = format!(r#"{{"pii_detection": {{"patterns": {patterns}}}}}"#);
            let security: SecuritySettings = serde_json::from_str(&section).unwrap();
            let looks = security
                .detection()
                .looks_for(Category::ApiToken, "github_pat");
            assert_eq!(looks, expect, "{patterns}");
        };
        check(r#"["api_key"]"#, true);
        check(r#"["email"]"#, false);
    }

    #[test]
    fn the_severity_of_a_pattern_is_kept() {
        let check = |name: &str, expect: Severity| {
            let section = format!(
                r#"{{"pii_detection": {{"custom_patterns":
                    [{{"name": "x", "regex": "y", "severity": "{name}"}}]}}}}"#
            );
            let security: SecuritySettings = serde_json::from_str(&section).unwrap();
            let patterns = security.detection().custom_patterns;
            assert_eq!(patterns.first().map(|one| one.severity), Some(expect));
        };
        check("info", Severity::Info);
        check("low", Severity::Low);
        check("medium", Severity::Medium);
        check("high", Severity::High);
        check("critical", Severity::Critical);
    }
}
