//! Removes from a text what must not reach a model, and says what it removed.
//!
//! Only what a person cannot see is removed; hostile words stay, since a text with holes misleads
//! as well. What comes out is never longer, and cleaning it again changes nothing.

use std::borrow::Cow;
use std::ops::Range;

use crate::hidden::{comments, name, walk};

/// Rounds until nothing changes: removing a comment can take away the only letters that justified
/// a mark of direction, and removing the mark can close a comment. There is no third step.
const ROUNDS: usize = 4;

/// A text without what was hidden in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sanitized<'a> {
    /// The text; borrowed if nothing was removed.
    pub text: Cow<'a, str>,
    /// What was removed, in the order of removal.
    pub removed: Vec<Removed>,
}

/// One thing that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// What it was, in the words of `hidden`'s rules.
    pub kind: &'static str,
    /// Where it stood: in the given text in the first round, in what was left of it after that.
    pub span: Range<usize>,
}

/// Removes terminal escapes, control characters, characters without width, marks of direction,
/// smuggled text and comments from `text`.
pub fn sanitize(text: &str) -> Sanitized<'_> {
    let mut clean = Sanitized {
        text: Cow::Borrowed(text),
        removed: Vec::new(),
    };
    for _ in 0..ROUNDS {
        let before = clean.removed.len();
        drop_unseen(&mut clean);
        drop_comments(&mut clean);
        if clean.removed.len() == before {
            break;
        }
    }
    clean
}

fn drop_unseen(clean: &mut Sanitized<'_>) {
    let planted = walk(&clean.text)
        .into_iter()
        .filter(|unseen| unseen.kind.is_planted());
    let removed: Vec<Removed> = planted
        .map(|unseen| Removed {
            kind: name(&unseen.kind),
            span: unseen.span,
        })
        .collect();
    cut(clean, removed, "");
}

/// Comments leave a blank, so that what stood around them does not join to another one.
fn drop_comments(clean: &mut Sanitized<'_>) {
    let removed: Vec<Removed> = comments(&clean.text)
        .into_iter()
        .map(|span| Removed {
            kind: "hidden_comment",
            span,
        })
        .collect();
    cut(clean, removed, " ");
}

/// Replaces the spans, which stand in order, by `filler`.
fn cut(clean: &mut Sanitized<'_>, mut removed: Vec<Removed>, filler: &str) {
    if removed.is_empty() {
        return;
    }
    let mut left = String::with_capacity(clean.text.len());
    let mut at = 0;
    for Removed { span, .. } in &removed {
        left.push_str(clean.text.get(at..span.start).unwrap_or_default());
        left.push_str(filler);
        at = span.end;
    }
    left.push_str(clean.text.get(at..).unwrap_or_default());
    clean.text = Cow::Owned(left);
    clean.removed.append(&mut removed);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_things_go_and_the_rest_stays() {
        let check = |text: &str, expect: &str, kinds: &[&str]| {
            let clean = sanitize(text);
            let found: Vec<_> = clean.removed.iter().map(|removed| removed.kind).collect();
            assert_eq!((clean.text.as_ref(), found.as_slice()), (expect, kinds));
        };
        check("plain text\n", "plain text\n", &[]);
        check(
            "a\u{1b}[8mb\u{1b}[0mc",
            "abc",
            &["ansi_conceal", "ansi_style"],
        );
        check("ig\u{200b}nore", "ignore", &["zero_width"]);
        check("x\u{202e}y", "xy", &["bidi_override"]);
        check("a\u{e0068}\u{e0069}", "a", &["tag_smuggling"]);
        check("a <!-- b --> c", "a   c", &["hidden_comment"]);
        check("<!\u{200b}-- b -->", " ", &["zero_width", "hidden_comment"]);
        for honest in [
            "👨‍👩‍👧 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
            "می‌خواهم",
            "क्‍ष",
            "\u{200f}שלום",
            "葛\u{e0100}",
            "a\u{a0}b",
            "\u{feff}bom",
        ] {
            check(honest, honest, &[]);
        }
    }

    /// Text made of the pieces that matter, in any order.
    fn hostile_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("<!".to_owned()),
            Just("--".to_owned()),
            Just("[//]: # (".to_owned()),
            Just(")\n".to_owned()),
            Just("\u{1b}[".to_owned()),
            Just("\u{1b}]0;".to_owned()),
            Just("\u{9b}31m".to_owned()),
            Just("\u{7}".to_owned()),
            Just("\u{200b}".to_owned()),
            Just("\u{200d}".to_owned()),
            Just("\u{200e}".to_owned()),
            Just("\u{2066}".to_owned()),
            Just("ש".to_owned()),
            Just("😀".to_owned()),
            Just("\u{1f3f4}".to_owned()),
            Just("\u{e0067}\u{e0062}".to_owned()),
            Just("\u{e007f}".to_owned()),
            Just("\u{fe0f}".to_owned()),
            Just("\u{e0110}".to_owned()),
            Just("葛".to_owned()),
            Just("\u{feff}".to_owned()),
            Just("\u{ad}".to_owned()),
            Just("\u{3164}".to_owned()),
            Just("한".to_owned()),
            Just("क".to_owned()),
            any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn cleaning_twice_is_cleaning_once(text in hostile_text()) {
            let once = sanitize(&text);
            prop_assert!(once.text.len() <= text.len());
            let twice = sanitize(&once.text);
            prop_assert_eq!(&twice.removed, &[]);
            prop_assert_eq!(&once.text, &twice.text);
        }
    }
}
