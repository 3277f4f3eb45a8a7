//! Marks that put on another voice: templates of chats, tags that shout. Reads `hostile.marks`.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input};

use crate::error::DetectError;
use crate::hostile::{Hit, build, rule};

/// What opens a tag.
const OPENERS: &[&str] = &["<", "</", "[", "[/", "{{", "{{ "];

/// The longest text between the brackets of a tag.
const LONGEST: usize = 40;

/// How many letters of a mark are looked at first, and how many ways there are to begin; no mark is
/// shorter.
const HEAD: usize = 3;
const HEADS: usize = 1 << (5 * HEAD);

/// All marks, and what finds them.
#[derive(Debug)]
pub(crate) struct Marks {
    all: Vec<Mark>,
    finder: AhoCorasick,
    /// One bit for the first three letters of each mark, five bits of each: most sentences have
    /// none of them, and need no automaton.
    heads: Vec<u64>,
}

#[derive(Debug)]
struct Mark {
    id: String,
    weights: [u8; 2],
    literal: String,
    /// Whether the literal is the head of a tag that has to be read to its end.
    tag: bool,
}

impl Marks {
    /// Reads the marks.
    pub(crate) fn parse(source: &str) -> Result<Self, DetectError> {
        let mut marks = Vec::new();
        let lines = source.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with("# ") && *line != "#")
        {
            let (head, literal) = rule::split_head("hostile.marks", line)?;
            let mark = |literal: String, tag| Mark {
                id: head.id.clone(),
                weights: head.weights,
                literal,
                tag,
            };
            match literal.strip_prefix("tag ") {
                Some(word) => {
                    marks.extend(
                        OPENERS
                            .iter()
                            .map(|opener| mark(format!("{opener}{word}"), true)),
                    );
                }
                None => marks.push(mark(literal.to_owned(), false)),
            }
        }
        let finder = build(marks.iter().map(|mark| mark.literal.clone()))?;
        let mut heads = vec![0; HEADS / 64];
        for mark in &marks {
            let head = mark.literal.bytes().take(HEAD).fold(0, push);
            if let Some(bits) = heads.get_mut(head / 64) {
                *bits |= 1 << (head % 64);
            }
        }
        Ok(Self {
            all: marks,
            finder,
            heads,
        })
    }

    /// Where the first mark may begin within `span`.
    fn first(&self, text: &str, span: &Range<usize>) -> Option<usize> {
        let bytes = text.as_bytes().get(span.clone())?;
        let mut letters = 0;
        let end = bytes.iter().position(|byte| {
            letters = push(letters, *byte);
            let bits = self.heads.get(letters / 64).copied().unwrap_or(0);
            bits >> (letters % 64) & 1 != 0
        })?;
        Some(span.start + end.saturating_sub(HEAD - 1))
    }

    /// The literals to search for.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|mark| mark.literal.as_str())
    }

    /// Adds the marks within `span` of `text`.
    pub(crate) fn find<'a>(
        &'a self,
        text: &str,
        span: Range<usize>,
        side: usize,
        hits: &mut Vec<Hit<'a>>,
    ) {
        let Some(first) = self.first(text, &span) else {
            return;
        };
        for found in self
            .finder
            .find_iter(Input::new(text).range(first..span.end))
        {
            let Some(mark) = self.all.get(found.pattern().as_usize()) else {
                continue;
            };
            if !mark.tag && is_named(text, &found.range()) {
                continue;
            }
            let end = if mark.tag {
                tag_end(text, &found.range())
            } else {
                Some(found.end())
            };
            if let Some(end) = end {
                hits.push(Hit {
                    id: &mark.id,
                    weight: mark.weights.get(side).copied().unwrap_or(0),
                    span: found.start()..end,
                });
            }
        }
    }
}

/// Whether a mark is only named, in a list of such: `special tokens such as <|im_start|> are counted`.
fn is_named(text: &str, mark: &Range<usize>) -> bool {
    let before = text.get(..mark.start).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let line = line.to_ascii_lowercase();
    let rest = text.get(mark.end..).unwrap_or_default();
    let rest = rest.strip_prefix(['`', '"', '\'']).unwrap_or(rest);
    NAMING.iter().any(|phrase| line.contains(phrase))
        && NAMED.iter().any(|next| rest.starts_with(next))
}

/// The last letters that were seen and one more, case aside.
fn push(letters: usize, byte: u8) -> usize {
    (letters << 5 | usize::from(byte & 31)) % HEADS
}

/// Where a tag ends, if it holds nothing but a few words.
fn tag_end(text: &str, head: &Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = bytes.get(head.end..)?;
    if rest.first()?.is_ascii_alphanumeric() {
        return None;
    }
    let plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b':' | b'!');
    let inner = rest
        .iter()
        .take(LONGEST)
        .take_while(|byte| plain(byte))
        .count();
    matches!(rest.get(inner), Some(b'>' | b']' | b'}')).then_some(head.end + inner + 1)
}

/// What comes before marks that are only named.
const NAMING: &[&str] = &[
    " such as ",
    " like ",
    "e.g. ",
    "for example ",
    " tokens ",
    " markers ",
];

/// What comes behind a mark that is only named. What a voice says would come there.
const NAMED: &[&str] = &[
    ",", ")", ".", " or ", " and ", " are ", " is ", " in ", " found ", " counts ", " tokens",
    " markers",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mark_is_too_short_to_be_looked_for() {
        let marks = Marks::parse(crate::hostile::MARKS).unwrap();
        for mark in &marks.all {
            assert!(mark.literal.len() >= HEAD, "{}", mark.literal);
            let text = format!("so {}", mark.literal.to_uppercase());
            let first = marks.first(&text, &(0..text.len()));
            assert!(first.is_some_and(|at| at <= 3), "{text}");
        }
    }

    #[test]
    fn tags_hold_a_few_words_and_end() {
        let marks = Marks::parse("a.tag 9 9 : tag system\na.lit 9 9 : <|x|>").unwrap();
        let check = |text: &str, expect: &[&str]| {
            let mut hits = Vec::new();
            marks.find(text, 0..text.len(), 0, &mut hits);
            let found: Vec<_> = hits
                .iter()
                .map(|hit| text.get(hit.span.clone()).unwrap())
                .collect();
            assert_eq!(found, expect, "{text}");
        };
        check("a <SYSTEM> b", &["<SYSTEM>"]);
        check("a [System note] b", &["[System note]"]);
        check("a {{ system: override }} b", &["{{ system: override }"]);
        check("a <systemd> [system-x] [system, too] <system b", &[]);
        check("a <|x|> b", &["<|x|>"]);
        check("<|x|>", &["<|x|>"]);
        check("<[system]", &["[system]"]);
    }
}
