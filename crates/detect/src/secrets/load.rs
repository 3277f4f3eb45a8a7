//! Reads the rule files. They are TOML, cut down to what rules need: `[[rule]]` tables of literal
//! strings, numbers and lists of literal strings. So nothing is copied and nothing unescaped, and
//! the whole set is read in well under a millisecond at every start.

use mcpproxy_core::Severity;

use super::rule::{Form, Rule};
use super::validate::Validator;
use crate::{Category, DetectError};

/// How far beyond its keyword a pattern may reach unless the rule says otherwise.
const AHEAD: usize = 256;

enum Value {
    Text(&'static str),
    Number(usize),
    List(Vec<&'static str>),
}

type Fields = Vec<(&'static str, Value)>;

/// Reads all rules of one file.
pub(super) fn rules(file: &str, text: &'static str) -> Result<Vec<Rule>, DetectError> {
    let mut rules = Vec::new();
    for (number, table) in tables(text).enumerate() {
        let fault = |rule: &str, reason: &str| DetectError::Rule {
            file: file.to_owned(),
            rule: rule.to_owned(),
            reason: reason.to_owned(),
        };
        let number = (number + 1).to_string();
        let fields = fields(table).map_err(|reason| fault(&number, &reason))?;
        let id = text_of(&fields, "id").unwrap_or(&number).to_owned();
        rules.push(rule(&fields).map_err(|reason| fault(&id, &reason))?);
    }
    Ok(rules)
}

/// Cuts a file at its `[[rule]]` lines; what stands before the first is comment.
fn tables(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("\n[[rule]]\n").skip(1)
}

fn rule(fields: &Fields) -> Result<Rule, String> {
    known(fields)?;
    let rule = Rule {
        id: needed(fields, "id")?,
        kind: needed(fields, "type")?,
        category: category(needed(fields, "category")?)?,
        severity: severity(needed(fields, "severity")?)?,
        confidence: u8::try_from(number_of(fields, "confidence").unwrap_or(95))
            .ok()
            .filter(|percent| *percent <= 100)
            .ok_or("`confidence` is over 100")?,
        form: Form::named(text_of(fields, "form").unwrap_or("token")).ok_or("unknown `form`")?,
        keywords: list_of(fields, "keywords"),
        pattern: text_of(fields, "pattern").unwrap_or(""),
        back: number_of(fields, "back").unwrap_or(0),
        ahead: number_of(fields, "ahead").unwrap_or(AHEAD),
        near: list_of(fields, "near"),
        validator: Validator::named(text_of(fields, "validator").unwrap_or("none"))
            .ok_or("unknown `validator`")?,
        reason: needed(fields, "reason")?,
        yes: list_of(fields, "yes"),
        no: list_of(fields, "no"),
    };
    let patterned = matches!(rule.form, Form::Token | Form::Keyed);
    if patterned == rule.pattern.is_empty() {
        return Err("`pattern` belongs to the forms `token` and `keyed`".to_owned());
    }
    if rule.keywords.iter().any(|word| word.len() < 3) {
        return Err("`keywords` have at least three characters".to_owned());
    }
    if rule
        .keywords
        .iter()
        .any(|word| word.bytes().any(|byte| byte.is_ascii_uppercase()))
    {
        return Err("`keywords` are in lower case".to_owned());
    }
    Ok(rule)
}

fn known(fields: &Fields) -> Result<(), String> {
    const KNOWN: [&str; 15] = [
        "id",
        "type",
        "category",
        "severity",
        "confidence",
        "form",
        "keywords",
        "pattern",
        "back",
        "ahead",
        "near",
        "validator",
        "reason",
        "yes",
        "no",
    ];
    match fields.iter().find(|(key, _)| !KNOWN.contains(key)) {
        Some((key, _)) => Err(format!("unknown field `{key}`")),
        None => Ok(()),
    }
}

fn needed(fields: &Fields, key: &str) -> Result<&'static str, String> {
    text_of(fields, key).ok_or_else(|| format!("`{key}` is missing"))
}

fn text_of(fields: &Fields, key: &str) -> Option<&'static str> {
    fields.iter().find_map(|(name, value)| match value {
        Value::Text(text) if *name == key => Some(*text),
        _ => None,
    })
}

fn number_of(fields: &Fields, key: &str) -> Option<usize> {
    fields.iter().find_map(|(name, value)| match value {
        Value::Number(number) if *name == key => Some(*number),
        _ => None,
    })
}

fn list_of(fields: &Fields, key: &str) -> Vec<&'static str> {
    fields
        .iter()
        .find_map(|(name, value)| match value {
            Value::List(list) if *name == key => Some(list.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

fn fields(table: &'static str) -> Result<Fields, String> {
    let mut fields = Fields::new();
    let mut rest = blank(table);
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or("a line has no `=`")?;
        let key = key.trim();
        let (value, after) =
            value(after.trim_start()).map_err(|reason| format!("`{key}` {reason}"))?;
        fields.push((key, value));
        rest = blank(after);
    }
    Ok(fields)
}

/// Skips white space and comments.
fn blank(mut rest: &'static str) -> &'static str {
    loop {
        rest = rest.trim_start();
        match rest.strip_prefix('#') {
            Some(comment) => rest = comment.split_once('\n').map_or("", |(_, after)| after),
            None => return rest,
        }
    }
}

fn value(rest: &'static str) -> Result<(Value, &'static str), &'static str> {
    if let Some(inner) = rest.strip_prefix('[') {
        return list(inner);
    }
    if rest.starts_with('\'') {
        let (text, after) = literal(rest)?;
        return Ok((Value::Text(text), after));
    }
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at_checked(end).ok_or("is cut")?;
    let number = digits
        .parse()
        .map_err(|_| "is neither a literal string, a number nor a list")?;
    Ok((Value::Number(number), after))
}

fn list(mut rest: &'static str) -> Result<(Value, &'static str), &'static str> {
    let mut items = Vec::new();
    loop {
        rest = blank(rest);
        if let Some(after) = rest.strip_prefix(']') {
            return Ok((Value::List(items), after));
        }
        let (text, after) = literal(rest)?;
        items.push(text);
        let after = blank(after);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

fn literal(rest: &'static str) -> Result<(&'static str, &'static str), &'static str> {
    if let Some(inner) = rest.strip_prefix("'''") {
        // TOML drops the line break that follows the opening quotes.
        let inner = inner.strip_prefix('\n').unwrap_or(inner);
        return inner.split_once("'''").ok_or("has no closing quotes");
    }
    let inner = rest.strip_prefix('\'').ok_or("is not a literal string")?;
    inner.split_once('\'').ok_or("has no closing quote")
}

fn category(name: &str) -> Result<Category, String> {
    Ok(match name {
        "cloud_credentials" => Category::CloudCredentials,
        "private_key" => Category::PrivateKey,
        "api_token" => Category::ApiToken,
        "auth_token" => Category::AuthToken,
        "database_credential" => Category::DatabaseCredential,
        "high_entropy" => Category::HighEntropy,
        _ => return Err(format!("unknown category `{name}`")),
    })
}

fn severity(name: &str) -> Result<Severity, String> {
    Ok(match name {
        "low" => Severity::Low,
        "medium" => Severity::Medium,
        "high" => Severity::High,
        "critical" => Severity::Critical,
        _ => return Err(format!("unknown severity `{name}`")),
    })
}
