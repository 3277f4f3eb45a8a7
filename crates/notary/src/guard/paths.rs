//! The constraint `allowed_paths`: every path among the arguments must match a pattern, and none
//! that starts with `!`.
//!
//! A path is judged as it is spelled, with `..` taken out, and again with its links followed. What
//! is ambiguous (escapes, variables, look-alikes of dots and slashes) is refused.

use std::ops::ControlFlow;

use mcpproxy_text::confusable::fold_alike;
use mcpproxy_text::fold;
use mcpproxy_text::leaves::{LeafKind, visit};

use super::hosts::WEB;
use super::{Files, fields, glob};

/// Longest path that is judged; a longer one is refused.
const LONGEST: usize = 4096;

/// Patterns of paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// What is allowed.
    pub(super) allow: Vec<String>,
    /// What is not, even if it is allowed; without the `!`.
    pub(super) except: Vec<String>,
}

impl Rules {
    /// Adds a pattern as the file has it: a final slash stands for all below, and an exclusion
    /// that names no folder holds in every one.
    pub(super) fn add(&mut self, pattern: &str) {
        let (except, pattern) = match pattern.strip_prefix('!') {
            Some(pattern) => (true, pattern),
            None => (false, pattern),
        };
        let bare = pattern.strip_suffix('/').unwrap_or(pattern);
        match (except, bare.contains('/')) {
            (true, false) => self.except.push(format!("**/{bare}")),
            (true, true) => self.except.push(bare.to_owned()),
            (false, _) if bare == pattern => self.allow.push(bare.to_owned()),
            (false, _) => self.allow.push(format!("{bare}/**")),
        }
    }
}

/// The rules on this machine, as steps.
struct Placed {
    allow: Vec<Vec<String>>,
    except: Vec<Vec<String>>,
}

/// How a value is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is a path.
    Path,
    /// It may be the name of a file.
    Name,
    /// It is none.
    Other,
}

/// Says which argument breaks the rules, and how.
pub(super) fn check(rules: &Rules, arguments: &str, files: &dyn Files) -> Result<(), String> {
    let lost = |pattern: &String| absolute(pattern, files).is_none();
    if rules.except.iter().any(lost) {
        return Err("an excluded path cannot be placed on this machine".to_owned());
    }
    let placed = Placed::new(rules, files);
    let mut seen = false;
    let mut fault = None;
    visit(arguments, |leaf| {
        let name = leaf.path.name().unwrap_or_default();
        let judged = match kind(leaf.kind, &name, &leaf.text) {
            Kind::Path => {
                seen = true;
                placed.judge(&leaf.text, files)
            }
            Kind::Name if placed.excludes(&fold_alike(&leaf.text)) => Err("is excluded"),
            Kind::Name | Kind::Other => Ok(()),
        };
        match judged {
            Ok(()) => ControlFlow::Continue(()),
            Err(what) => {
                fault = Some(format!("{} {what}", fields::told(&leaf.path)));
                ControlFlow::Break(())
            }
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None if seen => Ok(()),
        None => Err("no argument is a path that can be judged".to_owned()),
    }
}

fn kind(leaf: LeafKind, name: &str, text: &str) -> Kind {
    // Readers trim what they take for a path.
    let bare = text.trim();
    let rooted = bare.starts_with(['/', '\\', '~', '$']) || bare.starts_with("..") || drive(bare);
    let single = !bare.contains(['\n', '\r']);
    let climbs = text.split(['/', '\\']).any(|step| step.trim() == "..");
    let url = is_web_url(bare) && !climbs;
    let value = leaf == LeafKind::Text;
    if leaf == LeafKind::Number
        || (value && !is_file_url(text) && (fields::is_content(name) || url))
    {
        return Kind::Other;
    }
    let named = value && fields::is_path(name);
    let steps = value && text.contains(['/', '\\']) && !text.contains(char::is_whitespace);
    if named || steps || climbs || (rooted && single) || (value && is_file_url(text)) {
        return Kind::Path;
    }
    if value && !text.contains(char::is_whitespace) {
        return Kind::Name;
    }
    Kind::Other
}

fn is_web_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| WEB.iter().any(|web| scheme.eq_ignore_ascii_case(web)))
}

fn is_file_url(text: &str) -> bool {
    let scheme = text.trim_start().get(..5);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

fn drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

impl Placed {
    fn new(rules: &Rules, files: &dyn Files) -> Self {
        let place = |patterns: &[String]| {
            let placed = patterns
                .iter()
                .filter_map(|pattern| absolute(pattern, files));
            let both = placed.flat_map(|pattern| {
                let real = real_pattern(&pattern, files);
                [Some(pattern), real].into_iter().flatten()
            });
            both.map(|pattern| lexical(&pattern)).collect()
        };
        let folded = |steps: Vec<String>| {
            steps
                .iter()
                .map(|step| fold_alike(step).into_owned())
                .collect()
        };
        let except: Vec<Vec<String>> = place(&rules.except);
        Self {
            allow: place(&rules.allow),
            except: except.into_iter().map(folded).collect(),
        }
    }

    fn judge(&self, text: &str, files: &dyn Files) -> Result<(), &'static str> {
        let path = plain(text)?;
        let path = absolute(&path, files).ok_or("is a path that cannot be placed")?;
        let real = files
            .real(&path)
            .ok_or("is a path whose links cannot be followed")?;
        for form in [path.as_str(), real.as_str()] {
            let steps = lexical(form);
            if self.excludes(&fold_alike(&steps.join("/"))) {
                return Err("is excluded");
            }
            if !self.allow.iter().any(|pattern| matches(pattern, &steps)) {
                return Err("is outside the allowed paths");
            }
        }
        Ok(())
    }

    /// Tells whether a folded path, or a folder that it stands in, is excluded.
    fn excludes(&self, folded: &str) -> bool {
        let steps: Vec<String> = folded.split('/').map(loose).collect();
        (1..=steps.len()).any(|length| {
            let front = steps.get(..length).unwrap_or_default();
            self.except.iter().any(|pattern| matches(pattern, front))
        })
    }
}

fn matches(pattern: &[String], steps: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    glob::matches(&pattern, &steps)
}

/// Drops what some systems drop from the end of a name: dots, blanks, the name of a stream.
fn loose(step: &str) -> String {
    let name = step.split(':').next().unwrap_or(step);
    let trimmed = name.trim_end_matches([' ', '.']);
    let kept = if trimmed.is_empty() { step } else { trimmed };
    kept.to_owned()
}

/// Undoes the spelling of a path, or says why it is ambiguous.
fn plain(text: &str) -> Result<String, &'static str> {
    if text.len() > LONGEST {
        return Err("is a path that is too long");
    }
    if text.trim() != text {
        return Err("is a path with blanks around it");
    }
    let mut text = text;
    if is_file_url(text) {
        let rest = text.get(5..).unwrap_or_default();
        text = match rest.strip_prefix("//") {
            Some(rest) if rest.starts_with('/') => rest,
            Some(rest) => rest
                .strip_prefix("localhost")
                .filter(|rest| rest.starts_with('/'))
                .ok_or("is a file on another host")?,
            None => rest,
        };
    }
    if text.is_empty() {
        return Err("is an empty path");
    }
    if text.contains(char::is_control) {
        return Err("is a path with a control character");
    }
    if text.contains(['%', '$', '`']) {
        return Err("is a path with an escape or a variable");
    }
    let path = text.replace('\\', "/");
    let folded = fold(&path).replace('\\', "/");
    let dots = |path: &str| path.split('/').filter(|step| *step == "..").count();
    if folded.matches('/').count() != path.matches('/').count() || dots(&folded) != dots(&path) {
        return Err("is a path with look-alikes of dots or slashes");
    }
    Ok(path)
}

/// Puts a path or pattern where it starts: at the root, at home, or in the upstream's folder.
fn absolute(path: &str, files: &dyn Files) -> Option<String> {
    if path.starts_with('/') || path.starts_with("**") || drive(path) {
        return Some(path.to_owned());
    }
    if let Some(rest) = path.strip_prefix('~') {
        let home = files
            .home()
            .filter(|_| rest.is_empty() || rest.starts_with('/'))?;
        return Some(format!("{home}{rest}"));
    }
    Some(format!("{}/{path}", files.folder()?))
}

/// Follows the links in the part of a pattern before its first star.
fn real_pattern(pattern: &str, files: &dyn Files) -> Option<String> {
    let special = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    let front = pattern.get(..special)?;
    let slash = if special == pattern.len() {
        special
    } else {
        front.rfind('/')?
    };
    let (front, rest) = pattern.split_at_checked(slash)?;
    let real = files.real(front).filter(|_| !front.is_empty())?;
    let real = format!("{}{rest}", real.strip_suffix('/').unwrap_or(&real));
    (real != pattern).then_some(real)
}

/// Splits a path into steps without empty ones, `.` and `..`.
fn lexical(path: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step.to_owned()),
        }
    }
    steps
}
