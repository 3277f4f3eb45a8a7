//! Reads a query: cuts it to its bounds, drops words without content and notes what looks like the
//! name of a tool. Which words of the index it may mean is decided in `expand`.

use std::collections::BTreeSet;

use crate::found::Ignored;
use crate::split;

/// Characters of a query that are looked at; the rest is ignored and reported.
pub const MAX_QUERY_CHARACTERS: usize = 1_000;

/// Terms of a query that are looked at; the rest is ignored and reported.
pub const MAX_QUERY_TERMS: usize = 64;

/// Words that carry a request but not its subject.
const STOP_WORDS: &str = "\
    a able about all also am an and any are as at be been but by can could d did do does \
    each else every for from give had has have hello help hey hi how i if in into is it its \
    just let like ll m may me might must my need needs of on only or our please re s shall \
    she should so some somebody someone something than thanks that the their them then there \
    these they this those to too tool tools t up us use used using ve very via want wants \
    was way we were what when where whether which while who whom whose why will with would \
    you your";

/// A query that has been read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    /// Words with content in order, each once.
    pub(crate) terms: Vec<String>,
    /// Key of the whole query, should it be the name of a tool.
    pub(crate) whole: String,
    /// Keys of those parts that are spelt like a name of several words.
    pub(crate) parts: Vec<String>,
    pub(crate) ignored: Ignored,
}

impl Query {
    pub(crate) fn read(text: &str) -> Self {
        let text = text.trim();
        let (text, characters) = cut(text);
        let (terms, ignored) = terms(text);
        let parts = text.split_whitespace().map(split::key);
        Self {
            terms,
            whole: split::key(text),
            parts: parts.filter(|key| key.contains('_')).collect(),
            ignored: Ignored {
                characters,
                terms: ignored,
            },
        }
    }
}

/// Cuts a text to its bound and says how many characters are left over.
fn cut(text: &str) -> (&str, usize) {
    match text.char_indices().nth(MAX_QUERY_CHARACTERS) {
        Some((at, _)) => {
            let (head, tail) = text.split_at(at);
            (head, tail.chars().count())
        }
        None => (text, 0),
    }
}

/// Returns the terms of a text and how many there are too many.
fn terms(text: &str) -> (Vec<String>, usize) {
    let mut seen = BTreeSet::new();
    let all: Vec<String> = split::words(text)
        .filter(|word| seen.insert(word.clone()))
        .collect();
    let has_content = |word: &String| !STOP_WORDS.split_ascii_whitespace().any(|stop| stop == word);
    let mut terms: Vec<String> = all
        .iter()
        .filter(|word| has_content(word))
        .cloned()
        .collect();
    // Somebody who asks for nothing but `who` may well look for a tool of that name.
    if terms.is_empty() {
        terms = all;
    }
    let ignored = terms.len().saturating_sub(MAX_QUERY_TERMS);
    terms.truncate(MAX_QUERY_TERMS);
    (terms, ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, terms: &[&str], parts: &[&str]) {
        let query = Query::read(text);
        assert_eq!(query.terms, terms, "{text}");
        assert_eq!(query.parts, parts, "{text}");
        assert_eq!(query.ignored, Ignored::default(), "{text}");
    }

    #[test]
    fn queries_are_read() {
        check("", &[], &[]);
        check("?!", &[], &[]);
        check("How do I merge the PR?", &["merge", "pr"], &[]);
        check("list list LIST", &["list"], &[]);
        check("who is this", &["who", "is", "this"], &[]);
        check(
            "use `github:create_issue`",
            &["github", "create", "issue"],
            &["github_create_issue"],
        );
        check(
            "call createIssue now",
            &["call", "create", "issue", "now"],
            &["create_issue"],
        );
    }

    #[test]
    fn what_is_past_the_bounds_is_reported() {
        let long = Query::read(&"ä ".repeat(MAX_QUERY_CHARACTERS));
        assert_eq!(
            long.ignored,
            Ignored {
                characters: MAX_QUERY_CHARACTERS - 1,
                terms: 0
            }
        );

        let words: Vec<String> = (100..100 + MAX_QUERY_TERMS + 3)
            .map(|n| n.to_string())
            .collect();
        let many = Query::read(&words.join(" "));
        assert_eq!(
            many.ignored,
            Ignored {
                characters: 0,
                terms: 3
            }
        );
        assert_eq!(many.terms, words[..MAX_QUERY_TERMS]);
    }
}
