//! From the text of a policy file to a policy. Every key is known or a problem: a file in another
//! format must not be read as one that allows everything.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mcpproxy_text::confusable::fold_alike;
use mcpproxy_text::nearest;
use sha2::{Digest as _, Sha256};

use self::tree::{Node, Value};
use super::glob;
use super::paths::Rules;
use super::{Constraints, Policy, Stance};

/// Longest file that is read.
const LONGEST: usize = 1 << 20;
/// Longest pattern of a path.
const PATTERN: usize = 1024;
/// Patterns that one tool may have.
const PATTERNS: usize = 256;
const KEYS: [&str; 5] = ["version", "default", "allowlist", "denylist", "constraints"];
const CONSTRAINTS: [&str; 2] = ["deny_private_hosts", "allowed_paths"];

/// Why a policy file was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl Problem {
    fn at(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Problem {}

/// Reads a policy file.
pub(super) fn policy(text: &str) -> Result<Policy, Problem> {
    if text.len() > LONGEST {
        return Err(Problem::at(1, "the policy is larger than 1 MiB"));
    }
    let root = tree::parse(text)?;
    let members = members(&root, "the policy", &KEYS)?;
    version(&root, members.get("version").copied())?;
    let default = default(&root, members.get("default").copied())?;
    let allow = tools(members.get("allowlist").copied())?;
    let deny = tools(members.get("denylist").copied())?;
    Ok(Policy {
        text: text.to_owned(),
        hash: hex(&Sha256::digest(text.as_bytes())),
        default,
        allow,
        deny: deny
            .into_iter()
            .map(|name| (fold_alike(&name).into_owned(), name))
            .collect(),
        constraints: constraints(members.get("constraints").copied())?,
    })
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let pairs = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    pairs.map(digit).collect()
}

/// Returns the members of a mapping by key; an unknown or repeated key is a problem.
fn members<'a>(
    node: &'a Node,
    what: &str,
    known: &[&'static str],
) -> Result<BTreeMap<&'a str, &'a Node>, Problem> {
    let Value::Map(members) = &node.value else {
        return Err(Problem::at(node.line, format!("{what} must be a mapping")));
    };
    let mut found = BTreeMap::new();
    for (line, key, value) in members {
        if !known.contains(&key.as_str()) {
            return Err(unknown(*line, key, known));
        }
        if found.insert(key.as_str(), value).is_some() {
            return Err(Problem::at(*line, format!("key `{key}` stands twice")));
        }
    }
    Ok(found)
}

fn unknown(line: usize, key: &str, known: &[&'static str]) -> Problem {
    let shown: String = key.chars().take(64).collect();
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; known are `{}`", known.join("`, `")),
    };
    Problem::at(line, format!("unknown key `{shown}`{hint}"))
}

fn version(root: &Node, node: Option<&Node>) -> Result<(), Problem> {
    let Some(node) = node else {
        return Err(Problem::at(root.line, "the policy has no `version`"));
    };
    match &node.value {
        Value::Text(text) if text == "1" => Ok(()),
        _ => Err(Problem::at(node.line, "`version` must be \"1\"")),
    }
}

fn default(root: &Node, node: Option<&Node>) -> Result<Stance, Problem> {
    let Some(node) = node else {
        return Err(Problem::at(
            root.line,
            "the policy has no `default`, which is `allow` or `deny`",
        ));
    };
    match &node.value {
        Value::Text(text) if text == "allow" => Ok(Stance::Allow),
        Value::Text(text) if text == "deny" => Ok(Stance::Deny),
        _ => Err(Problem::at(
            node.line,
            "`default` must be `allow` or `deny`",
        )),
    }
}

/// Reads a list of names of tools; an absent list is empty.
fn tools(node: Option<&Node>) -> Result<BTreeSet<String>, Problem> {
    let Some(node) = node else {
        return Ok(BTreeSet::new());
    };
    let mut names = BTreeSet::new();
    for (line, name) in texts(node, "a list of tools")? {
        tool(line, name)?;
        names.insert(name.to_owned());
    }
    Ok(names)
}

/// Names are exact. A pattern in the deny list, or a blank around a name, would close nothing, and
/// nobody would notice.
fn tool(line: usize, name: &str) -> Result<(), Problem> {
    if name.is_empty() {
        return Err(Problem::at(line, "the name of a tool is empty"));
    }
    if name.trim() != name {
        let message = format!(
            "tool `{name}` begins or ends with a blank; write it as `{}`",
            name.trim()
        );
        return Err(Problem::at(line, message));
    }
    if name.contains(['*', '?', '[']) {
        let message = format!("tool `{name}` looks like a pattern; names of tools are exact");
        return Err(Problem::at(line, message));
    }
    Ok(())
}

fn texts<'a>(node: &'a Node, what: &str) -> Result<Vec<(usize, &'a str)>, Problem> {
    let Value::List(items) = &node.value else {
        return Err(Problem::at(node.line, format!("expected {what}")));
    };
    let read = |item: &'a Node| match &item.value {
        Value::Text(text) => Ok((item.line, text.as_str())),
        Value::List(_) | Value::Map(_) => Err(Problem::at(item.line, format!("expected {what}"))),
    };
    items.iter().map(read).collect()
}

fn constraints(node: Option<&Node>) -> Result<BTreeMap<String, Constraints>, Problem> {
    let mut found = BTreeMap::new();
    let Some(node) = node else {
        return Ok(found);
    };
    let Value::Map(members) = &node.value else {
        return Err(Problem::at(
            node.line,
            "`constraints` must be a mapping of tools",
        ));
    };
    for (line, name, value) in members {
        tool(*line, name)?;
        let read = constraint(name, value)?;
        if found.insert(fold_alike(name).into_owned(), read).is_some() {
            let message =
                format!("tool `{name}` has constraints twice, under case or Unicode folding");
            return Err(Problem::at(*line, message));
        }
    }
    Ok(found)
}

fn constraint(tool: &str, node: &Node) -> Result<Constraints, Problem> {
    let members = members(node, "the constraints of a tool", &CONSTRAINTS)?;
    if members.is_empty() {
        let message = format!("tool `{tool}` has no constraint");
        return Err(Problem::at(node.line, message));
    }
    let deny_private_hosts = match members.get("deny_private_hosts") {
        None => false,
        Some(node) => boolean(node)?,
    };
    let allowed_paths = members.get("allowed_paths").map(|node| rules(node));
    Ok(Constraints {
        tool: tool.to_owned(),
        deny_private_hosts,
        allowed_paths: allowed_paths.transpose()?,
    })
}

fn boolean(node: &Node) -> Result<bool, Problem> {
    match &node.value {
        Value::Text(text) if text == "true" => Ok(true),
        Value::Text(text) if text == "false" => Ok(false),
        _ => Err(Problem::at(
            node.line,
            "`deny_private_hosts` must be `true` or `false`",
        )),
    }
}

fn rules(node: &Node) -> Result<Rules, Problem> {
    let patterns = texts(node, "a list of patterns of paths")?;
    if patterns.len() > PATTERNS {
        let message = format!("more than {PATTERNS} patterns for one tool");
        return Err(Problem::at(node.line, message));
    }
    let mut rules = Rules::default();
    for (line, pattern) in patterns {
        let bare = pattern.strip_prefix('!').unwrap_or(pattern);
        if bare.is_empty() || bare.len() > PATTERN || bare.contains('\\') {
            let message =
                format!("a pattern has 1 to {PATTERN} characters, and slashes between its steps");
            return Err(Problem::at(line, message));
        }
        if bare.trim() != bare {
            let message = format!(
                "pattern `{pattern}` begins or ends with a blank; take it out, or write `[ ]` if it \
                 is meant"
            );
            return Err(Problem::at(line, message));
        }
        if bare.starts_with('~') && bare != "~" && !bare.starts_with("~/") {
            let message = format!("pattern `{pattern}` names a home that is not one's own");
            return Err(Problem::at(line, message));
        }
        if !bare.split('/').all(glob::is_whole) {
            let message =
                format!("pattern `{pattern}` has a `[` without its `]`, or an empty range");
            return Err(Problem::at(line, message));
        }
        rules.add(pattern);
    }
    if rules.allow.is_empty() {
        return Err(Problem::at(
            node.line,
            "`allowed_paths` needs at least one pattern without `!`",
        ));
    }
    Ok(rules)
}
