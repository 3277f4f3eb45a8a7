//! Runs the rules: one pass for all keywords, then the one rule in a bounded window at the
//! keyword. A regular expression is compiled when its keyword is first met, so that a start costs
//! nothing for rules that are never needed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use super::assign::{self, Assignment, Bond};
use super::bare::{self, Look};
use super::name::{self, Head, Promise};
use super::rule::{Form, Rule};
use super::value::{
    Shape, is_hex, is_made, is_moment, is_password, is_placeholder, is_random, is_reference,
};
use super::words::Words;
use super::{load, url};
use crate::DetectError;

/// How far around a secret a word may stand that makes it one.
const NEAR: usize = 2048;
/// A pattern that reaches further than this is of great reach.
const LONG: usize = 1024;
/// What a name adds to the belief that a value is random, in bits a character.
const NAMED: f64 = 1.25;

/// The rule files, one for each family of issuers.
pub(super) const FILES: &[(&str, &str)] = &[
    ("cloud.toml", include_str!("../../rules/secrets/cloud.toml")),
    ("code.toml", include_str!("../../rules/secrets/code.toml")),
    ("ai.toml", include_str!("../../rules/secrets/ai.toml")),
    (
        "payment.toml",
        include_str!("../../rules/secrets/payment.toml"),
    ),
    ("chat.toml", include_str!("../../rules/secrets/chat.toml")),
    ("mail.toml", include_str!("../../rules/secrets/mail.toml")),
    (
        "observability.toml",
        include_str!("../../rules/secrets/observability.toml"),
    ),
    (
        "database.toml",
        include_str!("../../rules/secrets/database.toml"),
    ),
    (
        "identity.toml",
        include_str!("../../rules/secrets/identity.toml"),
    ),
    (
        "business.toml",
        include_str!("../../rules/secrets/business.toml"),
    ),
    ("keys.toml", include_str!("../../rules/secrets/keys.toml")),
    ("auth.toml", include_str!("../../rules/secrets/auth.toml")),
    (
        "generic.toml",
        include_str!("../../rules/secrets/generic.toml"),
    ),
];

/// The rules, ready to run.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) rules: Vec<Rule>,
    words: Words,
    /// For each look of a bare run its rule, since a search through all rules takes longer than to
    /// judge the run.
    bare: Vec<(Look, usize)>,
    compiled: Vec<OnceLock<Option<Regex>>>,
}

/// A secret and the rule that found it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) rule: usize,
    pub(super) span: Range<usize>,
}

impl Engine {
    /// Reads the embedded rules and builds the search for their keywords.
    pub(super) fn load() -> Result<Self, DetectError> {
        let mut rules = Vec::new();
        for (file, text) in FILES {
            rules.extend(load::rules(file, text)?);
        }
        let mut words: BTreeMap<Cow<'static, str>, Vec<usize>> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate() {
            for word in rule
                .keywords
                .iter()
                .flat_map(|word| spellings(rule.form, word))
            {
                words.entry(word).or_default().push(index);
            }
        }
        Ok(Self {
            compiled: rules.iter().map(|_| OnceLock::new()).collect(),
            words: Words::new(words),
            bare: bare_rules(&rules),
            rules,
        })
    }

    /// Returns the rule's expression; the tests see to it that each compiles.
    pub(super) fn regex(&self, rule: usize) -> Option<&Regex> {
        let compiled = self.compiled.get(rule)?;
        compiled
            .get_or_init(|| compile(self.rules.get(rule)?))
            .as_ref()
    }

    /// Adds what is seen in a text.
    pub(super) fn scan(&self, text: &str, threshold: f64, out: &mut Vec<Candidate>) {
        let mut pass = Pass {
            engine: self,
            text,
            threshold,
            read: None,
            done: Vec::new(),
            out,
        };
        self.words.find(text.as_bytes(), |hit, owners| {
            for rule in owners {
                pass.try_rule(*rule, &hit);
            }
        });
        self.scan_bare(text, threshold, out);
    }

    fn scan_bare(&self, text: &str, threshold: f64, out: &mut Vec<Candidate>) {
        bare::scan(text, threshold, |look, span| {
            let mut known = self.bare.iter();
            if let Some(&(_, rule)) = known.find(|(known, _)| *known == look) {
                out.push(Candidate { rule, span });
            }
        });
    }

    /// Tells whether a rule for assignments has a keyword in the name of a field.
    pub(super) fn heeds(&self, key: &str) -> bool {
        let mut heeded = false;
        self.words.find(key.as_bytes(), |_, owners| {
            let mut rules = owners.iter().filter_map(|index| self.rules.get(*index));
            heeded |=
                rules.any(|rule| matches!(rule.form, Form::Keyed | Form::Password | Form::Secret));
        });
        heeded
    }

    /// Adds what the value of a field is by the field's name.
    pub(super) fn scan_keyed(
        &self,
        key: &str,
        value: &str,
        threshold: f64,
        out: &mut Vec<Candidate>,
    ) {
        let start = value.len() - value.trim_start().len();
        let span = start..start + value.trim().len();
        self.words.find(key.as_bytes(), |_, owners| {
            for index in owners {
                if let Some(span) = self.judge(*index, key, value, span.clone(), threshold) {
                    out.push(Candidate { rule: *index, span });
                }
            }
        });
    }

    /// Returns the secret that a rule for assignments sees in a value.
    fn judge(
        &self,
        index: usize,
        name: &str,
        text: &str,
        span: Range<usize>,
        threshold: f64,
    ) -> Option<Range<usize>> {
        let rule = self.rules.get(index)?;
        let value = text.get(span.clone())?;
        match rule.form {
            // Values are judged first: most are words, and names cost more to read.
            Form::Keyed => self
                .fits(index, rule, text, span)
                .filter(|_| !name::is_harmless(name)),
            Form::Password if !is_password(value) && !is_named(name, value) => None,
            Form::Password => {
                let promised = match name::promise(name)? {
                    Promise::Password => "password",
                    Promise::DatabasePassword => "database_password",
                    Promise::Secret | Promise::Key => return None,
                };
                (promised == rule.kind).then_some(span)
            }
            Form::Secret => {
                // A signed token is for the rule that reads it.
                let signed = value.starts_with("eyJ") && value.contains('.');
                let random = !signed && is_random(value, threshold - NAMED);
                if !random && !is_named(name, value) {
                    return None;
                }
                match name::promise(name)? {
                    Promise::Secret => Some(span),
                    Promise::Key => (random && is_cased(value)).then_some(span),
                    Promise::Password | Promise::DatabasePassword => None,
                }
            }
            Form::Token | Form::Url | Form::Bare => None,
        }
    }

    /// Matches a whole value.
    fn fits(
        &self,
        index: usize,
        rule: &Rule,
        text: &str,
        span: Range<usize>,
    ) -> Option<Range<usize>> {
        let whole = text.get(span.clone())?;
        let (_, group) = self.captured(index, &Input::new(whole).anchored(Anchored::Yes))?;
        let secret = span.start + group.start..span.start + group.end;
        let value = text.get(secret.clone())?;
        let good = !is_reference(value) && is_real(rule, value);
        good.then_some(secret)
    }

    /// Returns the whole match and the secret in it.
    fn captured(&self, index: usize, input: &Input<'_>) -> Option<(Range<usize>, Range<usize>)> {
        let regex = self.regex(index)?;
        regex.search_half(input)?;
        let mut captures = regex.create_captures();
        regex.search_captures(input, &mut captures);
        let whole = captures.get_match()?.range();
        let secret = captures
            .get_group(1)
            .map_or(whole.clone(), |group| group.range());
        Some((whole, secret))
    }
}

/// Returns the rule for each look that a bare run can have.
fn bare_rules(rules: &[Rule]) -> Vec<(Look, usize)> {
    let looks = [
        (Look::AwsSecret, "aws_secret_key"),
        (Look::TwilioKey, "twilio_key"),
        (Look::DiscordToken, "discord_token"),
        (Look::AirtableToken, "airtable_token"),
        (Look::Random, "high_entropy"),
    ];
    let rule_of = |kind: &str| {
        let wanted = |rule: &Rule| rule.form == Form::Bare && rule.kind == kind;
        rules.iter().position(wanted)
    };
    let known = looks.into_iter();
    known
        .filter_map(|(look, kind)| Some((look, rule_of(kind)?)))
        .collect()
}

/// Returns a keyword as it stands in names of every style: `db_key`, `db-key`, `db key`, `dbKey`.
fn spellings(form: Form, word: &'static str) -> impl Iterator<Item = Cow<'static, str>> {
    let inner = word.trim_matches('_').contains('_') && word.trim_matches('_') == word;
    let named = form == Form::Keyed && word.contains('_') && !word.starts_with('_');
    let others = named
        .then(|| [Some("-"), Some(" "), inner.then_some("")])
        .into_iter()
        .flatten();
    let others = others
        .flatten()
        .map(move |joint| Cow::Owned(word.replace('_', joint)));
    std::iter::once(Cow::Borrowed(word)).chain(others)
}

/// Compiles a pattern for bytes; that of a keyed rule has to fit to the end.
fn compile(rule: &Rule) -> Option<Regex> {
    let pattern = match rule.form {
        Form::Keyed => format!(r"(?:{})\z", rule.pattern),
        Form::Token | Form::Url | Form::Password | Form::Secret | Form::Bare => {
            rule.pattern.to_owned()
        }
    };
    Regex::builder()
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .configure(
            Regex::config()
                .utf8_empty(false)
                .hybrid_cache_capacity(1 << 18),
        )
        .build(&pattern)
        .ok()
}

/// One way through one text.
struct Pass<'a> {
    engine: &'a Engine,
    text: &'a str,
    threshold: f64,
    /// The name read last and what it is assigned, since many keywords stand in one name and many
    /// rules have the same keyword.
    read: Option<(Range<usize>, Option<Assignment>)>,
    /// Up to where each rule has read, so that no text is matched twice by one rule.
    done: Vec<usize>,
    out: &'a mut Vec<Candidate>,
}

impl Pass<'_> {
    fn try_rule(&mut self, index: usize, hit: &Range<usize>) {
        let Some(rule) = self.engine.rules.get(index) else {
            return;
        };
        let span = match rule.form {
            Form::Token => self.token(index, rule, hit),
            Form::Url => starts_clean(self.text.as_bytes(), hit.start)
                .then(|| url::password(self.text, hit.end))
                .flatten(),
            Form::Keyed | Form::Password | Form::Secret => self.assigned(index, hit),
            Form::Bare => None,
        };
        if let Some(span) = span {
            self.out.push(Candidate { rule: index, span });
        }
    }

    fn token(&mut self, index: usize, rule: &Rule, hit: &Range<usize>) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let start = hit.start.saturating_sub(rule.back);
        let end = hit.end.saturating_add(rule.ahead).min(bytes.len());
        let anchored = if rule.back == 0 {
            Anchored::Yes
        } else {
            Anchored::No
        };
        let known = self.done.get(index).is_some_and(|done| hit.start < *done);
        if known
            || rule.back == 0 && !starts_clean(bytes, start)
            || rule.ahead > LONG && is_inside(bytes, start)
        {
            return None;
        }
        let input = Input::new(self.text).span(start..end).anchored(anchored);
        let (whole, secret) = self.engine.captured(index, &input)?;
        if self.done.is_empty() {
            self.done.resize(self.engine.rules.len(), 0);
        }
        if let Some(done) = self.done.get_mut(index) {
            *done = whole.end;
        }
        let clean = starts_clean(bytes, whole.start) && ends_clean(bytes, whole.end);
        let value = self.text.get(secret.clone())?;
        (clean && is_real(rule, value) && self.near(rule, &secret)).then_some(secret)
    }

    fn near(&self, rule: &Rule, secret: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let end = secret.end.saturating_add(NEAR).min(bytes.len());
        let around = bytes
            .get(secret.start.saturating_sub(NEAR)..end)
            .unwrap_or_default();
        rule.near.is_empty()
            || rule
                .near
                .iter()
                .any(|word| memchr::memmem::find(around, word.as_bytes()).is_some())
    }

    fn assigned(&mut self, index: usize, hit: &Range<usize>) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let known = self
            .read
            .as_ref()
            .is_some_and(|(name, _)| name.start <= hit.start && hit.end <= name.end);
        if !known {
            let name = assign::name_around(bytes, hit);
            let assignment = assign::read(bytes, &name).filter(|one| is_bound(self.text, one));
            self.read = Some((name, assignment));
        }
        let (_, assignment) = self.read.as_ref()?;
        let Assignment { name, value, .. } = assignment.clone()?;
        let name = self.text.get(name)?;
        self.engine
            .judge(index, name, self.text, value, self.threshold)
    }
}

/// Tells whether a value is what its name is assigned, and not merely the next word.
fn is_bound(text: &str, assignment: &Assignment) -> bool {
    let shown = text.get(assignment.value.clone());
    shown.is_some_and(|shown| match assignment.bond {
        Bond::Firm => true,
        Bond::Told => is_no_word(shown),
        Bond::Loose => speaks_for_itself(shown),
    })
}

/// Tells whether a value has letters of both cases and digits, as keys of tables seldom do.
fn is_cased(value: &str) -> bool {
    let shape = Shape::of(value.as_bytes());
    let joined = value.contains(['.', '_']);
    value.len() >= 20 && shape.lower > 2 && shape.upper > 2 && shape.digits > 1 && !joined
}

/// Tells whether a value that shows little by itself is a secret by its name, which has to end in
/// the word for one.
fn is_named(name: &str, value: &str) -> bool {
    is_made(value)
        && match name::head(name) {
            Some(Head::Password | Head::Key) => true,
            Some(Head::Token) => !is_moment(value),
            None => false,
        }
}

/// Tells whether a value that a sentence leads up to is none of its words, nor a technical term
/// with a number in it such as `Base64-encoded`.
fn is_no_word(value: &str) -> bool {
    let shape = Shape::of(value.as_bytes());
    let mixed = shape.symbols > 0 || shape.changes * 3 >= value.len();
    shape.classes() > 2 && mixed || shape.digits > 0 && is_made(value)
}

/// Tells whether a value that merely follows a name is no word of the same sentence.
fn speaks_for_itself(value: &str) -> bool {
    let shape = Shape::of(value.as_bytes());
    let password = shape.classes() > 2 && shape.symbols > 0 && is_password(value);
    let restless = shape.changes * 5 >= value.len() * 2 && shape.joints < 3;
    let token = value.len() >= 20 && restless && shape.digits > 1 && !is_hex(value.as_bytes());
    password || token
}

/// Tells whether `at` lies within a run of token characters. Patterns of great reach begin at the
/// run's start only, or a run full of keywords would be read once for each.
fn is_inside(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_some_and(|byte| matches!(byte, b'-' | b'_'))
        && bytes.get(at).is_some_and(u8::is_ascii_alphanumeric)
}

/// Tells whether nothing that belongs to a longer word stands before `at`.
fn starts_clean(bytes: &[u8], at: usize) -> bool {
    if !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
        return true;
    }
    match bytes.get(at.saturating_sub(3)..at).unwrap_or_default() {
        // A percent-encoded character ends there, or an escaped line break.
        [.., b'\\', b'n' | b'r' | b't'] | [] => true,
        [b'%', high, low] if high.is_ascii_hexdigit() => low.is_ascii_hexdigit(),
        [.., last] => !last.is_ascii_alphanumeric(),
    }
}

/// Tells whether a word that ends before `at` does not go on.
fn ends_clean(bytes: &[u8], at: usize) -> bool {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let last = at.checked_sub(1).and_then(|at| bytes.get(at));
    !(last.is_some_and(word) && bytes.get(at).is_some_and(word))
}

/// Tells whether a value is a secret and not what marks the place of one. A checksum that is right
/// outweighs a word such as `fake`, which a generator makes by chance.
fn is_real(rule: &Rule, value: &str) -> bool {
    let checked = rule.validator.is_checksum();
    rule.validator.holds(value) && (checked || !is_placeholder(value))
}
