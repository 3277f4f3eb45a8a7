//! `${VAR}` in values: the environment put in, the missing named, the escaped left alone.
//!
//! Keys are not looked at, and what came from the environment is marked so that nothing prints it.

use crate::node::{Node, Place, Value};
use crate::path::Path;
use crate::report::Report;
use crate::source::Texts;

/// Bytes of text at most that all references of one file expand to.
const MOST_TEXT: usize = 4 << 20;

/// The lookup of a variable; tests and callers hand it in.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Replaces every reference in the values of the tree at `base`.
pub(crate) fn resolve(
    root: &mut Node,
    base: &Path,
    texts: &Texts,
    environment: Environment<'_>,
    report: &mut Report,
) {
    let mut expander = Expander {
        texts,
        environment,
        report,
        left: Some(MOST_TEXT),
    };
    expander.node(root, base);
}

/// A part of a value.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Literal(&'a str),
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
}

struct Expander<'a> {
    texts: &'a Texts,
    environment: Environment<'a>,
    report: &'a mut Report,
    /// Bytes that may still be put in; none once that is exceeded and said.
    left: Option<usize>,
}

impl Expander<'_> {
    fn node(&mut self, node: &mut Node, path: &Path) {
        let place = node.place;
        match &mut node.value {
            Value::Map(entries) => {
                for entry in entries {
                    let path = path.key(&entry.key);
                    self.node(&mut entry.node, &path);
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.node(item, &path.index(index));
                }
            }
            Value::Text(text) if text.contains("${") => match self.expand(text, place, path) {
                Some((expanded, secret)) => {
                    *text = expanded;
                    node.secret |= secret;
                }
                None => node.value = Value::Removed,
            },
            _ => {}
        }
    }

    /// Returns the text with its references replaced and whether there were any; nothing where one
    /// failed.
    fn expand(&mut self, text: &str, place: Place, path: &Path) -> Option<(String, bool)> {
        let parts = match split(text) {
            Ok(parts) => parts,
            Err(message) => {
                let hint = "write `$${` for a literal `${`".to_owned();
                self.report
                    .add(self.texts, path, place, message, Some(hint));
                return None;
            }
        };
        let mut expanded = String::new();
        let (mut secret, mut complete) = (false, true);
        for part in parts {
            match part {
                Part::Literal(literal) => expanded.push_str(literal),
                Part::Variable { name, default } => {
                    secret = true;
                    if let Some(value) = self.look_up(name, default) {
                        complete &= self.append(&mut expanded, &value, place, path);
                    } else {
                        self.missing(name, place, path);
                        complete = false;
                    }
                }
            }
        }
        complete.then_some((expanded, secret))
    }

    fn look_up(&self, name: &str, default: Option<&str>) -> Option<String> {
        let value = (self.environment)(name);
        match default {
            // As in a shell, the default also stands in for a variable that is empty.
            Some(default) => Some(
                value
                    .filter(|v| !v.is_empty())
                    .unwrap_or(default.to_owned()),
            ),
            None => value,
        }
    }

    fn append(&mut self, expanded: &mut String, value: &str, place: Place, path: &Path) -> bool {
        let Some(left) = self.left else {
            return false;
        };
        let Some(left) = left.checked_sub(value.len()) else {
            let message = format!("environment references expand to more than {MOST_TEXT} bytes");
            self.report.add(self.texts, path, place, message, None);
            self.left = None;
            return false;
        };
        self.left = Some(left);
        expanded.push_str(value);
        true
    }

    fn missing(&mut self, name: &str, place: Place, path: &Path) {
        let message = format!("environment variable `{name}` is not set");
        let hint = format!("set it, or give a default with `${{{name}:-default}}`");
        let place = self.reference(name, place);
        self.report
            .add(self.texts, path, place, message, Some(hint));
    }

    /// Narrows the place of a value to the reference in it.
    fn reference(&self, name: &str, place: Place) -> Place {
        let Place::Text { text, start, end } = place else {
            return place;
        };
        let source = self
            .texts
            .get(text)
            .and_then(|source| source.text().get(start..end));
        let at = source.and_then(|source| source.find(&format!("${{{name}")));
        Place::Text {
            text,
            start: start + at.unwrap_or(0),
            end,
        }
    }
}

/// Splits a value into its literal parts and its references.
fn split(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(literal) = before.strip_suffix('$') {
            parts.extend([Part::Literal(literal), Part::Literal("${")]);
            rest = after;
            continue;
        }
        let (inside, behind) = after.split_once('}').ok_or("`${` without `}`")?;
        parts.extend([Part::Literal(before), reference(inside)?]);
        rest = behind;
    }
    parts.push(Part::Literal(rest));
    Ok(parts)
}

fn reference(inside: &str) -> Result<Part<'_>, String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!(
            "`${{{inside}}}` is no reference to an environment variable"
        ));
    }
    Ok(Part::Variable { name, default })
}

#[cfg(test)]
mod tests;
