//! Splits identifiers and prose into lower-case words. What a word means, and whether it counts,
//! is not decided here.

/// Longest word that is kept, in characters. Longer runs are keys, hashes or encoded data, and
/// nobody searches for those.
pub(crate) const MAX_WORD_CHARACTERS: usize = 40;

/// Splits at everything but letters and digits, and inside camelCase.
///
/// Letters with digits between them stay one word, because `k8s`, `s3` and `base64` are words, and
/// their longer parts follow as words of their own. So does the whole of a name in two parts like
/// `GitHub`, which others write as one. Han, Kana and Hangul, which are written without spaces,
/// become pairs of characters.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words {
        rest: text.chars(),
        ready: Vec::new(),
        inside: false,
        head: None,
    }
}

/// Brings all spellings of a name together: `createIssue`, `create-issue`, `Create issue`.
pub(crate) fn key(text: &str) -> String {
    let mut words = words(text);
    let mut runs = Vec::new();
    while let Some(run) = words.run() {
        runs.push(run.text);
    }
    runs.join("_")
}

/// The words of a text, in order.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    rest: std::str::Chars<'a>,
    /// Words of the last run, in reverse.
    ready: Vec<String>,
    /// Whether the last run ended inside an identifier.
    inside: bool,
    /// First part of an identifier that begins with a capital, until its second part ends.
    head: Option<String>,
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.ready.is_empty() {
            let is_first = !self.inside;
            let run = self.run()?;
            let whole = self
                .head
                .take()
                .filter(|_| !self.inside)
                .map(|head| head + &run.text);
            if is_first && run.is_capitalized && self.inside {
                self.head = Some(run.text.clone());
            }
            if run.length <= MAX_WORD_CHARACTERS {
                self.ready = run.words();
                self.ready.extend(whole);
                self.ready.reverse();
            }
        }
        self.ready.pop()
    }
}

impl Words<'_> {
    /// Takes the next run of characters between two boundaries, or nothing at the end of the text.
    fn run(&mut self) -> Option<Run> {
        let first = self.rest.find(|character| character.is_alphanumeric())?;
        let mut run = Run {
            is_capitalized: first.is_uppercase(),
            ..Run::default()
        };
        run.push(first);
        let mut previous = first;
        self.inside = false;
        while let Some(next) = self
            .rest
            .clone()
            .next()
            .filter(|next| next.is_alphanumeric())
        {
            if self.is_boundary(previous, next) {
                self.inside = true;
                break;
            }
            self.rest.next();
            run.push(next);
            previous = next;
        }
        Some(run)
    }

    /// Says whether a word ends between `previous` and `next`, which is still in `rest`.
    fn is_boundary(&self, previous: char, next: char) -> bool {
        if is_unspaced(previous) != is_unspaced(next) {
            return true;
        }
        if !next.is_uppercase() {
            return false;
        }
        if !previous.is_uppercase() {
            return true;
        }
        // The last capital of `HTTPServer` begins a word; that of `PRs` does not.
        let mut after = self.rest.clone().skip(1);
        match (after.next(), after.next()) {
            (Some('s'), end) if end.is_none_or(|end| !end.is_lowercase()) => false,
            (after, _) => after.is_some_and(char::is_lowercase),
        }
    }
}

/// Characters between two boundaries, in lower case.
#[derive(Debug, Default)]
struct Run {
    text: String,
    length: usize,
    is_capitalized: bool,
}

impl Run {
    fn push(&mut self, character: char) {
        self.length = self.length.saturating_add(1);
        self.text.extend(character.to_lowercase());
    }

    fn words(self) -> Vec<String> {
        if self.text.chars().next().is_some_and(is_unspaced) {
            return pairs(&self.text);
        }
        let mut words = parts(&self.text);
        if words.len() > 1 {
            words.retain(|part| part.chars().nth(1).is_some());
            words.insert(0, self.text);
        }
        words
    }
}

/// Splits between letters and digits.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_numeric = None;
    for character in text.chars() {
        let is_numeric = Some(character.is_numeric());
        match parts.last_mut() {
            Some(part) if was_numeric == is_numeric => part.push(character),
            _ => parts.push(character.to_string()),
        }
        was_numeric = is_numeric;
    }
    parts
}

/// Overlapping pairs of characters; a single character stands alone.
fn pairs(text: &str) -> Vec<String> {
    let seconds = text.chars().skip(1);
    let pairs: Vec<String> = text
        .chars()
        .zip(seconds)
        .map(|(a, b)| [a, b].iter().collect())
        .collect();
    if pairs.is_empty() {
        vec![text.to_owned()]
    } else {
        pairs
    }
}

/// Says whether a character belongs to a script that puts no spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(words(text).collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn identifiers_and_prose_split_into_words() {
        check("", &[]);
        check(" _-./:()\n", &[]);
        check("create_issue", &["create", "issue"]);
        check("createIssue", &["create", "issue"]);
        check("github:create-issue.v", &["github", "create", "issue", "v"]);
        check("HTTPServerURL", &["http", "server", "url"]);
        check("listPRs", &["list", "prs"]);
        check("PRs and IDs.", &["prs", "and", "ids"]);
        check("URLsByName", &["urls", "by", "name"]);
        check("myABStand", &["my", "ab", "stand"]);
        check("k8s s3 v2", &["k8s", "s3", "v2"]);
        check("getBase64Data", &["get", "base64", "base", "64", "data"]);
        check(
            "GitHub PostgreSQL",
            &["git", "hub", "github", "postgre", "sql", "postgresql"],
        );
        check("GitHubIssue", &["git", "hub", "issue"]);
        check("oauth2", &["oauth2", "oauth"]);
        check("item 42", &["item", "42"]);
        check("today's", &["today", "s"]);
        check("Grüße_ÄNDERN", &["grüße", "ändern"]);
    }

    #[test]
    fn scripts_without_spaces_split_into_pairs() {
        check("发送消息", &["发送", "送消", "消息"]);
        check("字", &["字"]);
        check("发送email", &["发送", "email"]);
    }

    #[test]
    fn a_run_that_is_no_word_is_left_out() {
        let longest = "a".repeat(MAX_WORD_CHARACTERS);
        check(&longest, &[&longest]);
        check(&format!("x {longest}a y"), &["x", "y"]);
    }

    #[test]
    fn spellings_of_one_name_have_one_key() {
        for name in [
            "create_issue",
            "createIssue",
            "CreateIssue",
            "create-issue",
            "Create issue",
        ] {
            assert_eq!(key(name), "create_issue", "{name}");
        }
    }
}
