//! Turns each agent's way of naming variables into mcpproxy's: `${NAME}` and `${NAME:-default}`.
//!
//! A reference that only the agent can resolve, such as a question to the user, is an error: the
//! entry then stays where it is. No variable is read here.

use std::path::Path;

/// How an agent writes references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// None at all; text is taken as it stands.
    Literal,
    /// `${NAME}` and `${NAME:-default}`.
    Braces,
    /// `$NAME`, `${NAME}` and `${NAME:-default}`.
    Dollar,
    /// `${env:NAME}`, `${workspaceFolder}`, `${userHome}` and their like.
    Prefixed,
}

/// What references may stand for besides variables.
pub(crate) struct Context<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) home: &'a Path,
    pub(crate) project: Option<&'a Path>,
    /// The variables met so far, each once.
    pub(crate) variables: Vec<String>,
}

impl Context<'_> {
    /// Translates one value.
    pub(crate) fn translate(&mut self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = after;
            if let Some(body) = after.strip_prefix('{') {
                let Some((inner, behind)) = body.split_once('}') else {
                    return Err("it holds `${` without an end".to_owned());
                };
                out.push_str(&self.reference(inner)?);
                rest = behind;
            } else if let (Dialect::Dollar, name) = (self.dialect, leading_name(after))
                && !name.is_empty()
            {
                out.push_str(&self.variable(name, None));
                rest = after.strip_prefix(name).unwrap_or_default();
            } else {
                out.push('$');
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn reference(&mut self, inner: &str) -> Result<String, String> {
        let unknown = || Err(format!("only the agent can resolve `${{{inner}}}`"));
        match self.dialect {
            Dialect::Literal => Err(format!(
                "mcpproxy would take its plain text `${{{inner}}}` for a variable"
            )),
            Dialect::Braces | Dialect::Dollar => {
                let (name, default) = inner
                    .split_once(":-")
                    .map_or((inner, None), |(name, default)| (name, Some(default)));
                if is_name(name) {
                    Ok(self.variable(name, default))
                } else {
                    unknown()
                }
            }
            Dialect::Prefixed => {
                let path = |path: &Path| path.to_str().map(str::to_owned);
                let known = match inner {
                    "userHome" => path(self.home),
                    "workspaceFolder" => self.project.and_then(path),
                    "workspaceFolderBasename" => self
                        .project
                        .and_then(Path::file_name)
                        .map(Path::new)
                        .and_then(path),
                    "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
                    _ => {
                        let name = inner.strip_prefix("env:").filter(|name| is_name(name));
                        name.map(|name| self.variable(name, None))
                    }
                };
                known.map_or_else(unknown, Ok)
            }
        }
    }

    fn variable(&mut self, name: &str, default: Option<&str>) -> String {
        if !self.variables.iter().any(|known| known == name) {
            self.variables.push(name.to_owned());
        }
        match default {
            Some(default) => format!("${{{name}:-{default}}}"),
            None => format!("${{{name}}}"),
        }
    }
}

fn leading_name(text: &str) -> &str {
    let end = text.find(|found: char| !(found.is_ascii_alphanumeric() || found == '_'));
    let name = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    if is_name(name) { name } else { "" }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, text: &str, expect: Result<&str, &str>, variables: &[&str]) {
        let mut context = Context {
            dialect,
            home: Path::new("/home/ada"),
            project: Some(Path::new("/code/shop")),
            variables: Vec::new(),
        };
        let got = context.translate(text);
        assert_eq!(got.as_deref().map_err(String::as_str), expect, "{text}");
        assert_eq!(context.variables, variables, "{text}");
    }

    #[test]
    fn references_become_ours() {
        use Dialect::{Braces, Dollar, Literal, Prefixed};
        check(Braces, "Bearer ${TOKEN}", Ok("Bearer ${TOKEN}"), &["TOKEN"]);
        check(
            Braces,
            "${URL:-http://a}/${URL}",
            Ok("${URL:-http://a}/${URL}"),
            &["URL"],
        );
        check(Braces, "cost: $5", Ok("cost: $5"), &[]);
        check(
            Braces,
            "${1}",
            Err("only the agent can resolve `${1}`"),
            &[],
        );
        check(Braces, "${OPEN", Err("it holds `${` without an end"), &[]);
        check(Dollar, "$A-${B}", Ok("${A}-${B}"), &["A", "B"]);
        check(Dollar, "$", Ok("$"), &[]);
        check(Prefixed, "${env:KEY}", Ok("${KEY}"), &["KEY"]);
        check(Prefixed, "${workspaceFolder}/x", Ok("/code/shop/x"), &[]);
        check(Prefixed, "${userHome}/x", Ok("/home/ada/x"), &[]);
        check(Prefixed, "${workspaceFolderBasename}", Ok("shop"), &[]);
        check(
            Prefixed,
            "${input:key}",
            Err("only the agent can resolve `${input:key}`"),
            &[],
        );
        check(
            Prefixed,
            "${KEY}",
            Err("only the agent can resolve `${KEY}`"),
            &[],
        );
        check(Literal, "$HOME and $5", Ok("$HOME and $5"), &[]);
        let plain = "mcpproxy would take its plain text `${HOME}` for a variable";
        check(Literal, "${HOME}", Err(plain), &[]);
    }
}
