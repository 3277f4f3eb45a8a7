//! All rules side by side, whichever scanner runs them: what each looks for, why it counts, and
//! examples that show it. Only lists and checks; running them is the scanners' business.

mod sources;

use std::collections::BTreeSet;

use mcpproxy_core::{Masked, Severity};
use serde::{Serialize, Serializer};

use crate::detection::{Category, Detection, Scan};
use crate::error::DetectError;
use crate::mask::mask_in;
use crate::secrets::Validator;

/// One rule, ready to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Card {
    /// The stable name.
    pub id: String,
    /// What it finds, in the words filters use.
    #[serde(rename = "type")]
    pub kind: String,
    /// The family it belongs to.
    pub category: Category,
    /// How bad it is if true, at worst.
    pub severity: Severity,
    /// Why it counts.
    pub reason: String,
    /// How sure it is, in percent, where that is the same each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<u8>,
    /// What is looked for, in the rule's own language; none where code does it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// What else has to hold of a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<Validator>,
    /// Words without one of which it is not tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Words of which one has to stand nearby.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<String>,
    /// Ids in public taxonomies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<&'static str>,
    /// Texts in which it has to fire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub positive: Vec<Example>,
    /// Texts in which it must not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub negative: Vec<Example>,
}

/// An example, shown without the values in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    text: String,
    shown: Masked,
}

impl Serialize for Example {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown.serialize(serializer)
    }
}

/// An example that did not do what its rule promises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The rule.
    pub rule: String,
    /// The example.
    pub example: Example,
    /// Whether the rule should have fired.
    pub should_fire: bool,
    /// The rules that fired.
    pub fired: Vec<String>,
}

/// Returns the types of values that the rules of the program find: secrets and personal data, in the
/// words filters use. Runs nothing.
pub fn value_kinds() -> Result<BTreeSet<String>, DetectError> {
    sources::value_kinds()
}

/// All rules that come with the program.
#[derive(Debug)]
pub struct Rules {
    cards: Vec<Card>,
    failures: Vec<Failure>,
    examples: usize,
}

impl Rules {
    /// Collects the rules and runs their examples, each with the scanner that has the rule.
    pub fn new() -> Result<Self, DetectError> {
        let mut rules = Self {
            cards: Vec::new(),
            failures: Vec::new(),
            examples: 0,
        };
        sources::collect(&mut rules)?;
        Ok(rules)
    }

    /// Returns all rules, those of one scanner together.
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// Finds a rule by its id; a way of an act, such as `override.prior`, is found with its act.
    pub fn get(&self, id: &str) -> Option<&Card> {
        let named = |id: &str| self.cards.iter().find(|card| card.id == id);
        named(id).or_else(|| named(id.split_once('.')?.0))
    }

    /// Returns how many examples were run.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Returns the examples that did not do what their rule promises.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Runs the examples of a rule and adds it.
    fn add(&mut self, mut card: Card, yes: &[String], no: &[String], scanner: &dyn Scan) {
        for (texts, should_fire) in [(yes, true), (no, false)] {
            for text in texts {
                let example = self.run(&card, text, should_fire, scanner);
                let side = if should_fire {
                    &mut card.positive
                } else {
                    &mut card.negative
                };
                side.push(example);
            }
        }
        self.cards.push(card);
    }

    fn run(&mut self, card: &Card, text: &str, should_fire: bool, scanner: &dyn Scan) -> Example {
        self.examples += 1;
        let mut seen = Vec::new();
        scanner.scan(text, &mut seen);
        let shown = Masked::from_safe(printable(&mask_in(text, &seen)));
        let text = text.to_owned();
        let example = Example { text, shown };
        if seen.iter().any(|one| is_of(one, &card.id)) != should_fire {
            let fired = seen.into_iter().map(|one| one.rule.into_owned());
            self.failures.push(Failure {
                rule: card.id.clone(),
                example: example.clone(),
                should_fire,
                fired: fired.collect(),
            });
        }
        example
    }
}

/// Whether a detection was made by the rule, or by a way of the act, of that name.
fn is_of(detection: &Detection, id: &str) -> bool {
    let rule = detection.rule.as_ref();
    rule == id || rule.split_once('.').is_some_and(|(act, _)| act == id)
}

/// Spells out characters that a terminal would act on or nobody would see.
fn printable(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        if letter == ' ' || letter.is_ascii_graphic() || letter.is_alphanumeric() {
            plain.push(letter);
        } else {
            plain.extend(letter.escape_default());
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a rule is about the shape of a descriptor, or about data that was not read, so that
    /// no single text can show it; these have tables of their own in `tool` and `detector`.
    fn without_text(id: &str) -> bool {
        let unread = crate::detector::rules();
        let structural = crate::tool::RULES.iter().any(|(known, ..)| *known == id);
        structural || unread.iter().any(|one| one.rule == id)
    }

    #[test]
    fn the_types_of_values_are_known_without_running_a_rule() {
        let kinds = value_kinds().unwrap();
        let rules = Rules::new().unwrap();
        let values = rules.cards().iter();
        let values = values.filter(|card| crate::mask::is_value(card.category));
        let values: BTreeSet<_> = values.map(|card| card.kind.clone()).collect();
        assert_eq!(kinds, values);
    }

    #[test]
    fn every_rule_is_listed_once_and_its_examples_hold() {
        let rules = Rules::new().unwrap();
        assert_eq!(rules.failures(), []);
        let ids: BTreeSet<_> = rules.cards().iter().map(|card| &card.id).collect();
        assert_eq!(ids.len(), rules.cards().len());
        assert!(rules.cards().len() > 350, "{}", rules.cards().len());
        for card in rules.cards() {
            assert!(!card.reason.is_empty() && !card.kind.is_empty(), "{card:?}");
            let shown = !card.positive.is_empty() && !card.negative.is_empty();
            assert!(
                shown || without_text(&card.id),
                "{} lacks examples",
                card.id
            );
            let shown = card.positive.iter().map(|one| one.shown.as_str());
            for shown in shown.chain(card.negative.iter().map(|one| one.shown.as_str())) {
                assert!(!shown.contains(char::is_control), "{shown:?}");
            }
        }
    }

    #[test]
    fn a_rule_is_found_by_its_id_and_by_a_way_of_its_act() {
        let rules = Rules::new().unwrap();
        let check = |id: &str, expect: Option<&str>| {
            assert_eq!(rules.get(id).map(|card| card.id.as_str()), expect, "{id}");
        };
        check("file-ssh-key", Some("file-ssh-key"));
        check("zero_width", Some("zero_width"));
        check("override.prior", Some("override"));
        check("pii-email", Some("pii-email"));
        check("nothing.at-all", None);
    }

    #[test]
    fn the_types_that_filters_know_have_rules_with_examples_of_both_kinds() {
        let rules = Rules::new().unwrap();
        let check = |category: Category, kinds: &[&str]| {
            for kind in kinds {
                let of_kind = |card: &&Card| card.category == category && card.kind == *kind;
                let shown = |card: &Card| !card.positive.is_empty() && !card.negative.is_empty();
                let mut cards = rules.cards().iter().filter(of_kind);
                assert!(cards.any(shown), "{category:?} {kind}");
            }
        };
        check(
            Category::CloudCredentials,
            &[
                "aws_access_key",
                "aws_secret_key",
                "gcp_api_key",
                "gcp_service_account",
                "azure_client_secret",
                "azure_connection_string",
            ],
        );
        check(
            Category::PrivateKey,
            &["rsa", "ec", "dsa", "openssh", "pgp", "pkcs8", "encrypted"],
        );
        check(
            Category::ApiToken,
            &[
                "github_pat",
                "github_oauth",
                "github_app",
                "github_refresh",
                "gitlab_pat",
                "slack_token",
                "stripe_key",
                "openai_key",
                "anthropic_key",
                "google_ai_key",
                "sendgrid_key",
                "huggingface_token",
            ],
        );
        check(Category::AuthToken, &["jwt_token", "bearer_token"]);
        check(
            Category::DatabaseCredential,
            &[
                "mysql_connection",
                "postgres_connection",
                "mongodb_connection",
                "redis_connection",
                "jdbc_connection",
                "database_password",
            ],
        );
        check(Category::Pii, &["email", "ssn", "phone", "iban"]);
        check(
            Category::SensitiveFile,
            &[
                "ssh_private_key",
                "aws_credentials",
                "kubeconfig",
                "docker_config",
                "env_file",
                "git_credentials",
                "linux_shadow",
                "keychains",
            ],
        );
        check(Category::CreditCard, &["credit_card"]);
    }

    /// The values of examples that have a rule of their own are never shown whole.
    #[test]
    fn examples_of_secrets_are_masked() {
        let rules = Rules::new().unwrap();
        let secret = |card: &&Card| {
            !matches!(
                card.category,
                Category::SensitiveFile | Category::HiddenText | Category::HostileText
            )
        };
        for card in rules.cards().iter().filter(secret) {
            for example in &card.positive {
                assert_ne!(example.shown.as_str(), example.text, "{}", card.id);
            }
        }
    }
}
