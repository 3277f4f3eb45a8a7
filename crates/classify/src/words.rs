//! Names split into words, and the few forms of a word that count as one.
//!
//! What a word means is not known here. Words stand side by side in one buffer, so that any run of
//! neighbours is a slice of it: `google-drive`, `googleDrive` and `googledrive` have the same run.

use std::ops::Range;

use mcpproxy_text::fold;

/// Characters of a name that are read; a longer name says nothing more.
const MOST_CHARACTERS: usize = 256;
/// Words of a name that are read.
const MOST_WORDS: usize = 32;

/// The words of a name, in lower case and in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    joined: String,
    ends: Vec<usize>,
}

impl Words {
    /// Splits at everything but letters and digits, inside camelCase, and between letters and
    /// digits.
    pub fn of(name: &str) -> Self {
        if name.is_ascii() {
            return split(name);
        }
        // Wide and styled letters become plain ones; capitals are lost, and their boundaries.
        let start: String = name.chars().take(MOST_CHARACTERS).collect();
        split(&fold(&start))
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Says whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns a run of neighbouring words written as one; empty if there is no such run.
    pub fn run(&self, words: Range<usize>) -> &str {
        let start = match words.start.checked_sub(1) {
            None => 0,
            Some(before) => self.end(before),
        };
        let end = match words.end.checked_sub(1) {
            None => 0,
            Some(last) => self.end(last),
        };
        self.joined.get(start..end).unwrap_or_default()
    }

    /// Returns one word; empty if there are not so many.
    pub fn word(&self, at: usize) -> &str {
        self.run(at..at + 1)
    }

    /// Walks the words in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        (0..self.len()).map(|at| self.word(at))
    }

    /// Returns all words written as one.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    fn end(&self, at: usize) -> usize {
        self.ends.get(at).copied().unwrap_or(self.joined.len())
    }

    fn close(&mut self) {
        if self.joined.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.joined.len());
        }
    }
}

fn split(name: &str) -> Words {
    let mut words = Words::default();
    let mut previous = ' ';
    let mut rest = name.chars().take(MOST_CHARACTERS);
    while let Some(character) = rest.next() {
        if is_invisible(character) {
            continue;
        }
        if is_boundary(previous, character, rest.clone()) {
            words.close();
            if words.ends.len() == MOST_WORDS {
                return words;
            }
        }
        if character.is_alphanumeric() {
            words.joined.extend(character.to_lowercase());
        }
        previous = character;
    }
    words.close();
    words
}

/// Says whether a word ends between `previous` and `next`, after which `rest` follows.
fn is_boundary(previous: char, next: char, mut rest: impl Iterator<Item = char>) -> bool {
    if !next.is_alphanumeric() || !previous.is_alphanumeric() {
        return true;
    }
    if previous.is_numeric() != next.is_numeric() {
        return true;
    }
    if !next.is_uppercase() {
        return false;
    }
    if !previous.is_uppercase() {
        return true;
    }
    // The last capital of `HTTPServer` begins a word; that of `PRs` and of `URLs_seen` does not.
    match (rest.next(), rest.next()) {
        (Some('s'), after) if after.is_none_or(|after| !after.is_lowercase()) => false,
        (after, _) => after.is_some_and(char::is_lowercase),
    }
}

/// Characters that nobody sees and that must not cut a word in two.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
}

/// Returns the forms under which a word may stand in a table: itself, then its singulars.
pub fn forms(word: &str) -> impl Iterator<Item = (&str, &str)> {
    let singular = singulars(word);
    std::iter::once((word, "")).chain(singular.into_iter().flatten())
}

/// Stem and ending of each singular: `queries` is `quer` and `y`, `boxes` is `boxe` or `box`.
fn singulars(word: &str) -> [Option<(&str, &str)>; 3] {
    if word.len() < 4 || ["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        return [None; 3];
    }
    [
        word.strip_suffix("ies").map(|stem| (stem, "y")),
        word.strip_suffix('s').map(|stem| (stem, "")),
        word.strip_suffix("es").map(|stem| (stem, "")),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(name: &str, expect: &str) {
        let words = Words::of(name);
        assert_eq!(words.iter().collect::<Vec<_>>().join(" "), expect, "{name}");
    }

    #[test]
    fn names_fall_into_words() {
        check("digital-ocean", "digital ocean");
        check("create_issue", "create issue");
        check("createIssue", "create issue");
        check("HTTPServer", "http server");
        check("listPRs", "list prs");
        check("URLs_seen", "urls seen");
        check("GitHub", "git hub");
        check("io.github.owner/name", "io github owner name");
        check("@scope/server-time", "scope server time");
        check("s3-public", "s 3 public");
        check("context7", "context 7");
        check("k8s", "k 8 s");
        check("ABC", "abc");
        check("", "");
        check("__--..//", "");
        check("ｄｅｌｅｔｅ_file", "delete file");
        check("de\u{200B}lete", "delete");
        check("löschen", "löschen");
        check("  spaced  out ", "spaced out");
    }

    #[test]
    fn neighbours_read_as_one_word() {
        let words = Words::of("my-Google_drive2");
        assert_eq!(words.run(1..3), "googledrive");
        assert_eq!(words.run(0..words.len()), words.joined());
        assert_eq!(words.run(3..9), "2");
        assert_eq!(words.run(9..12), "");
        assert_eq!(words.word(1), "google");
    }

    #[test]
    fn plurals_have_their_singular_among_the_forms() {
        let check = |word: &str, expect: &[&str]| {
            let found: Vec<_> = forms(word).map(|(a, b)| format!("{a}{b}")).collect();
            assert_eq!(found, expect);
        };
        check("emails", &["emails", "email"]);
        check("queries", &["queries", "query", "querie", "queri"]);
        check("boxes", &["boxes", "boxe", "box"]);
        check("status", &["status"]);
        check("access", &["access"]);
        check("aws", &["aws"]);
        check("file", &["file"]);
    }

    proptest! {
        #[test]
        fn splitting_takes_any_text(name in "\\PC{0,300}") {
            let words = Words::of(&name);
            prop_assert!(words.len() <= MOST_WORDS);
            prop_assert!(words.iter().all(|word| !word.is_empty()));
            prop_assert_eq!(words.iter().collect::<String>(), words.joined());
        }

        #[test]
        fn separators_do_not_matter(
            parts in prop::collection::vec("[a-z]{1,9}", 1..6),
            separator in "[-_./: ]{1,2}",
        ) {
            let words = Words::of(&parts.join(&separator));
            prop_assert_eq!(words.iter().collect::<Vec<_>>(), parts);
        }
    }
}
