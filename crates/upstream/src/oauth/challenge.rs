//! What an upstream says it wants, in the header of a refusal (RFC 9110, 11.6.1; RFC 6750, 3).

/// What a `Bearer` challenge says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where the upstream describes itself (RFC 9728, 5.1).
    pub(super) resource_metadata: Option<String>,
    /// What a token must allow.
    pub(super) scope: Option<String>,
    /// What was wrong with the token that was shown.
    pub(super) error: Option<String>,
}

impl Challenge {
    /// Reads the first `Bearer` challenge of a header; nothing where there is none.
    pub(super) fn read(header: &str) -> Option<Self> {
        let mut rest = header;
        let mut found: Option<Self> = None;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let (word, after) = token(rest);
            if word.is_empty() {
                return found;
            }
            let trimmed = after.trim_start_matches([' ', '\t']);
            match (trimmed.strip_prefix('='), &mut found) {
                (Some(after), challenge) => {
                    let (value, left) = value(after.trim_start_matches([' ', '\t']))?;
                    if let Some(challenge) = challenge {
                        challenge.set(word, value);
                    }
                    rest = left;
                }
                // The next challenge begins, of whatever kind.
                (None, Some(_)) => return found,
                (None, None) => {
                    found = word.eq_ignore_ascii_case("bearer").then(Self::default);
                    rest = trimmed;
                }
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        // The first one counts: a second is either a mistake or a trick.
        place.get_or_insert(value);
    }
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    let end = text.find(|c| !is_token(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// Reads a value, quoted or not; nothing where a quote is not closed.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return Some((value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(chars.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        let check = |header: &str, expect: Option<(Option<&str>, Option<&str>)>| {
            let found = Challenge::read(header);
            let found = found.as_ref().map(|one| {
                let metadata = one.resource_metadata.as_deref();
                (metadata, one.scope.as_deref())
            });
            assert_eq!(found, expect, "{header}");
        };
        check("", None);
        check("Basic realm=\"x\"", None);
        check("Bearer", Some((None, None)));
        check("bearer scope=a", Some((None, Some("a"))));
        check(
            r#"Bearer realm="a, b", resource_metadata="https://h/x", scope="a b""#,
            Some((Some("https://h/x"), Some("a b"))),
        );
        check(
            r#"Basic realm="Bearer scope=x", Bearer scope="y""#,
            Some((None, Some("y"))),
        );
        check(
            r#"Bearer scope="y", Basic scope="z""#,
            Some((None, Some("y"))),
        );
        check(r#"Bearer scope="y", scope="z""#, Some((None, Some("y"))));
        check(r#"Bearer scope="a\"b""#, Some((None, Some("a\"b"))));
        check(r#"Bearer scope="open"#, None);
        check("Bearer =,=,=", None);
        check("é", None);
    }
}
