//! The section `security.detector`: what is looked for, how much is read, and what never alarms.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mcpproxy_core::{Secret, Severity};

use crate::allow;
use crate::custom;
use crate::detection::Category;

/// The type under which words of one's own are reported.
pub const KEYWORD: &str = "sensitive_keyword";

/// What the detector looks for, and where.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DetectorSettings")]
pub struct Settings {
    /// Whether anything is scanned.
    pub enabled: bool,
    /// Whether calls are scanned.
    pub scan_requests: bool,
    /// Whether answers are scanned.
    pub scan_responses: bool,
    /// Most that is scanned of one message, in KB; what is beyond is reported as unread.
    #[schemars(range(min = 1))]
    pub max_payload_size_kb: u32,
    /// Bits of entropy in a character from which a value in the place of a secret is suspicious.
    #[schemars(range(min = 0.0, max = 8.0))]
    pub entropy_threshold: f64,
    /// Families that are looked for; one that is not named is on.
    pub categories: BTreeMap<Category, bool>,
    /// Patterns of one's own.
    pub custom_patterns: Vec<CustomPattern>,
    /// Words of one's own that are always reported.
    pub sensitive_keywords: Vec<String>,
    /// What never alarms.
    pub allowlist: Vec<AllowEntry>,
    /// Types that are not looked for; other sections name them.
    #[serde(skip)]
    pub silent: BTreeSet<&'static str>,
}

/// A pattern of one's own: a regular expression, or words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DetectorPattern")]
pub struct CustomPattern {
    /// Name under which it is reported, unique in the list.
    pub name: String,
    /// Regular expression that finds it; classes such as `\w` are ASCII.
    #[serde(default)]
    pub regex: Option<String>,
    /// Words that find it, whole and in any case, instead of an expression.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// How bad it is.
    #[serde(default = "medium")]
    #[schemars(with = "SeverityName")]
    pub severity: Severity,
    /// Family under which it is reported and switched.
    #[serde(default = "own")]
    pub category: Category,
}

/// A way out of a false alarm: whatever fits all that is given here is not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AllowEntry {
    /// The very value.
    #[schemars(with = "Option<String>")]
    pub value: Option<Secret>,
    /// SHA-256 of the value in hexadecimal, for one that should not stand in a file.
    pub sha256: Option<String>,
    /// Regular expression that is found in the value.
    pub regex: Option<String>,
    /// Place in the message, such as `arguments.items[*].id`, with `*` for any run of characters.
    pub path: Option<String>,
    /// Tool, such as `github:*`, with `*` for any run of characters.
    pub tool: Option<String>,
    /// Rule, type or family of the detection.
    pub rule: Option<String>,
}

/// The names of [`Severity`] for the schema; `core` knows no schemas.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "describes the file in the schema and is never made"
)]
enum SeverityName {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

fn medium() -> Severity {
    Severity::Medium
}

fn own() -> Category {
    Category::Custom
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            scan_requests: true,
            scan_responses: true,
            max_payload_size_kb: 1024,
            entropy_threshold: 4.5,
            categories: BTreeMap::new(),
            custom_patterns: Vec::new(),
            sensitive_keywords: Vec::new(),
            allowlist: Vec::new(),
            silent: BTreeSet::new(),
        }
    }
}

/// One thing wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The way to the value at fault, from the section on.
    pub path: Vec<Step>,
    /// What is wrong, ready to print.
    pub message: String,
    /// What would make it right, where that is known.
    pub hint: Option<&'static str>,
}

/// One step to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a map.
    Key(&'static str),
    /// Into a list.
    Index(usize),
}

impl Settings {
    /// Tells whether a type of a family is looked for.
    pub fn looks_for(&self, category: Category, kind: &str) -> bool {
        let family = self.categories.get(&category).copied().unwrap_or(true);
        family && !self.silent.contains(kind)
    }

    /// Returns everything that is wrong and that no single key can tell.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.max_payload_size_kb == 0 {
            let hint = Some("use `enabled: false` to scan nothing");
            add(
                &mut faults,
                &[Step::Key("max_payload_size_kb")],
                "must be greater than zero",
                hint,
            );
        }
        if !(0.0..=8.0).contains(&self.entropy_threshold) {
            let path = [Step::Key("entropy_threshold")];
            add(
                &mut faults,
                &path,
                "a byte has between 0 and 8 bits of entropy",
                None,
            );
        }
        self.check_patterns(&mut faults);
        for (index, _) in self
            .sensitive_keywords
            .iter()
            .enumerate()
            .filter(|(_, word)| word.trim().is_empty())
        {
            let path = [Step::Key("sensitive_keywords"), Step::Index(index)];
            add(&mut faults, &path, "the word is empty", None);
        }
        for (index, entry) in self.allowlist.iter().enumerate() {
            if let Err((key, message)) = allow::check(entry) {
                let at = [Step::Key("allowlist"), Step::Index(index)];
                let path: Vec<_> = at.into_iter().chain(key.map(Step::Key)).collect();
                add(&mut faults, &path, message, None);
            }
        }
        faults
    }

    fn check_patterns(&self, faults: &mut Vec<Fault>) {
        let mut seen = BTreeSet::new();
        for (index, pattern) in self.custom_patterns.iter().enumerate() {
            let at = |key| {
                [
                    Step::Key("custom_patterns"),
                    Step::Index(index),
                    Step::Key(key),
                ]
            };
            if pattern.name.is_empty() || !seen.insert(pattern.name.as_str()) {
                let message = format!("the name `{}` is empty or taken", pattern.name);
                add(faults, &at("name"), message, None);
            }
            match (&pattern.regex, pattern.keywords.is_empty()) {
                (None, true) => {
                    let hint = Some("give `regex` or `keywords`");
                    let path = [Step::Key("custom_patterns"), Step::Index(index)];
                    add(faults, &path, "the pattern would find nothing", hint);
                }
                (Some(_), false) => {
                    let message = "has no effect beside `regex`";
                    add(
                        faults,
                        &at("keywords"),
                        message,
                        Some("make it two patterns"),
                    );
                }
                (None, false) if pattern.keywords.iter().any(|word| word.trim().is_empty()) => {
                    add(faults, &at("keywords"), "a word is empty", None);
                }
                (None, false) => {}
                (Some(regex), true) => {
                    if let Err(reason) = custom::compile(regex) {
                        add(
                            faults,
                            &at("regex"),
                            format!("this pattern cannot be used: {reason}"),
                            None,
                        );
                    }
                }
            }
        }
    }
}

fn add(
    faults: &mut Vec<Fault>,
    path: &[Step],
    message: impl Into<String>,
    hint: Option<&'static str>,
) {
    faults.push(Fault {
        path: path.to_vec(),
        message: message.into(),
        hint,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(json: &str) -> Vec<String> {
        let settings: Settings = serde_json::from_str(json).unwrap();
        let shown = settings.check().into_iter().map(|fault| {
            let path = fault.path.iter().map(|step| match step {
                Step::Key(key) => format!(".{key}"),
                Step::Index(index) => format!("[{index}]"),
            });
            format!("{}: {}", path.collect::<String>(), fault.message)
        });
        shown.collect()
    }

    #[test]
    fn defaults_are_those_of_the_surface() {
        let settings: Settings = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, Settings::default());
        assert_eq!(settings.check(), []);
        assert_eq!(
            (settings.max_payload_size_kb, settings.entropy_threshold),
            (1024, 4.5)
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let check = |json: &str, expect: &[&str]| assert_eq!(faults(json), expect, "{json}");
        check(r#"{"categories":{"pii":false,"high_entropy":true}}"#, &[]);
        check(
            r#"{"max_payload_size_kb":0}"#,
            &[".max_payload_size_kb: must be greater than zero"],
        );
        check(
            r#"{"entropy_threshold":9}"#,
            &[".entropy_threshold: a byte has between 0 and 8 bits of entropy"],
        );
        check(
            r#"{"custom_patterns":[{"name":"a","regex":"x"},{"name":"b","regex":"(x"}]}"#,
            &[".custom_patterns[1].regex: this pattern cannot be used: unclosed group"],
        );
        check(
            r#"{"custom_patterns":[{"name":"a","regex":"\\w{1000}{1000}"}]}"#,
            &[".custom_patterns[0].regex: this pattern cannot be used: the pattern is too large"],
        );
        check(
            r#"{"custom_patterns":[{"name":"a","keywords":["x"]},{"name":"a"}]}"#,
            &[
                ".custom_patterns[1].name: the name `a` is empty or taken",
                ".custom_patterns[1]: the pattern would find nothing",
            ],
        );
        check(
            r#"{"sensitive_keywords":[" "]}"#,
            &[".sensitive_keywords[0]: the word is empty"],
        );
        check(
            r#"{"allowlist":[{},{"sha256":"12"},{"regex":"["},{"tool":"a"}]}"#,
            &[
                ".allowlist[0]: the entry is empty",
                ".allowlist[1].sha256: expected 64 hexadecimal digits",
                ".allowlist[2].regex: this pattern cannot be used: unclosed character class",
            ],
        );
        let unknown = serde_json::from_str::<Settings>(r#"{"categories":{"nothing":true}}"#);
        assert!(unknown.is_err());
    }
}
