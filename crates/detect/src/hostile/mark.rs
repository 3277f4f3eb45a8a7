//! Marks that put on another voice: templates of chats, tags that shout. Reads `hostile.marks`.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input};

use crate::error::DetectError;
use crate::hostile::{Hit, build, rule};

/// What opens a tag.
const OPENERS: &[&str] = &["<", "</", "[", "[/", "{{", "{{ "];

/// The longest text between the brackets of a tag.
const LONGEST: usize = 40;

/// All marks, and what finds them.
#[derive(Debug)]
pub(crate) struct Marks {
    marks: Vec<Mark>,
    finder: AhoCorasick,
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
        Ok(Self { marks, finder })
    }

    /// The literals to search for.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &str> {
        self.marks.iter().map(|mark| mark.literal.as_str())
    }

    /// Adds the marks within `span` of `text`.
    pub(crate) fn find<'a>(
        &'a self,
        text: &str,
        span: Range<usize>,
        side: usize,
        hits: &mut Vec<Hit<'a>>,
    ) {
        for found in self.finder.find_iter(Input::new(text).range(span)) {
            let Some(mark) = self.marks.get(found.pattern().as_usize()) else {
                continue;
            };
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
