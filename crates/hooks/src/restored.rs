//! What a hook was shown masked, put back into what it made of the message.
//!
//! A hook that may not see secrets answers with the masks that it was shown. Sent on like that, a
//! change of something else would destroy the values behind them. A mask that stands where it stood
//! is the value again; one that turns up elsewhere, or as part of another text, could be any value,
//! and the change is refused.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use mcpproxy_text::{self as text, LeafKind, Segment, Splice};

/// Why a change cannot be used that holds masks of which nobody can tell what they stand for.
pub(crate) const UNTOLD: &str = "it cannot be told what the masks in it stand for; a hook that changes such texts needs `sees` with `secrets`";

/// A key, text or number of a message.
struct Leaf {
    is_key: bool,
    /// Where it stands.
    path: String,
    /// The same with any element for each element of a list.
    kind: String,
    text: String,
    span: Range<usize>,
}

/// What may stand behind a text at places of one kind.
struct Behind<'a> {
    path: &'a str,
    /// As the message has it, with its quotes.
    spelled: &'a str,
    is_masked: bool,
}

/// Returns what a hook made of `shown`, which is `exact` with masks in it, with the values behind the
/// masks.
pub(crate) fn restored(exact: &str, shown: &str, made: &str) -> Result<Vec<u8>, &'static str> {
    let (were, seen, now) = (leaves(exact), leaves(shown), leaves(made));
    if were.len() != seen.len() {
        return Err(UNTOLD);
    }
    let mut behind: HashMap<_, Vec<Behind<'_>>> = HashMap::new();
    let (mut masks, mut plain) = (HashSet::new(), HashSet::new());
    for (was, saw) in were.iter().zip(&seen) {
        let is_masked = was.text != saw.text;
        if is_masked {
            masks.extend(masks_in(&saw.text, &was.text));
        } else {
            plain.insert(was.text.as_str());
        }
        let spelled = exact.get(was.span.clone()).unwrap_or_default();
        let path = saw.path.as_str();
        behind.entry(place(saw)).or_default().push(Behind {
            path,
            spelled,
            is_masked,
        });
    }
    let mut count: HashMap<_, usize> = HashMap::new();
    for leaf in &now {
        *count.entry(place(leaf)).or_default() += 1;
    }
    let mut splice = Splice::default();
    for leaf in &now {
        let known = behind.get(&place(leaf)).map(Vec::as_slice);
        match known.filter(|known| known.iter().any(|one| one.is_masked)) {
            Some(known) => {
                let all_there = count.get(&place(leaf)) == Some(&known.len());
                let spelled = value(known, &leaf.path, all_there).ok_or(UNTOLD)?;
                splice.replace(leaf.span.clone(), spelled);
            }
            None if plain.contains(leaf.text.as_str()) => {}
            None if masks.iter().any(|mask| leaf.text.contains(mask)) => return Err(UNTOLD),
            None => {}
        }
    }
    Ok(splice.apply(made.as_bytes()))
}

fn place(leaf: &Leaf) -> (bool, &str, &str) {
    (leaf.is_key, &leaf.kind, &leaf.text)
}

/// The value behind a mask: the only one there is, or the one at its very place, as long as none of
/// those that look the same was taken away, after which others would have moved up.
fn value<'a>(known: &[Behind<'a>], path: &str, all_there: bool) -> Option<&'a str> {
    let first = known.first()?.spelled;
    if known.iter().all(|one| one.spelled == first) {
        return Some(first);
    }
    let mut same = known.iter().filter(|one| all_there && one.path == path);
    same.next().map(|one| one.spelled)
}

/// The parts of a masked text that are masks.
fn masks_in<'a>(shown: &'a str, exact: &str) -> Vec<&'a str> {
    let within = |letter: char| letter.is_alphanumeric() || "*…@._-".contains(letter);
    let parts = shown.split(|letter| !within(letter));
    let parts = parts.map(|part| part.trim_matches(['.', '-', '_']));
    parts
        .filter(|part| part.contains(['*', '…']) && !exact.contains(part))
        .collect()
}

fn leaves(json: &str) -> Vec<Leaf> {
    let mut found = Vec::new();
    text::visit(json, |leaf| {
        let (mut path, mut kind) = (String::new(), String::new());
        for segment in leaf.path.segments() {
            // A key in quotes is told from a part of one.
            let (exact, any) = match segment {
                Segment::Key(key) => {
                    let key = format!(".{:?}", text::unescape(key));
                    (key.clone(), key)
                }
                Segment::Index(index) => (format!("[{index}]"), "[]".to_owned()),
            };
            path.push_str(&exact);
            kind.push_str(&any);
        }
        found.push(Leaf {
            is_key: leaf.kind == LeafKind::Key,
            path,
            kind,
            text: leaf.text.into_owned(),
            span: leaf.span,
        });
        ControlFlow::Continue(())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_where_it_stood_is_the_value_and_any_other_is_refused() {
        let exact = r#"{"key":"use AKIAQ7Z now","note":"free","pin":1234,"users":[{"mail":"ann@x.com"},{"mail":"abe@y.com"},{"mail":"eve@z.org"}]}"#;
        let shown = r#"{"key":"use AK***7Z now","note":"free","pin":"***","users":[{"mail":"a***@***.com"},{"mail":"a***@***.com"},{"mail":"e***@***.org"}]}"#;
        let check = |made: &str, expect: Option<&str>| {
            let found = restored(exact, shown, made).ok();
            let found = found.map(|found| String::from_utf8(found).unwrap());
            assert_eq!(found.as_deref(), expect, "{made}");
        };
        check(shown, Some(exact));
        // Something is added, and something else said.
        check(
            r#"{"key":"use AK***7Z now","note":"changed","pin":"***","team":"blue"}"#,
            Some(r#"{"key":"use AKIAQ7Z now","note":"changed","pin":1234,"team":"blue"}"#),
        );
        // A value is taken away, or replaced by another.
        check(r#"{"note":"free"}"#, Some(r#"{"note":"free"}"#));
        let replaced = r#"{"key":"[removed]"}"#;
        check(replaced, Some(replaced));
        // The first of three goes: the last is known by its looks, the second could be either.
        check(
            r#"{"users":[{"mail":"e***@***.org"}]}"#,
            Some(r#"{"users":[{"mail":"eve@z.org"}]}"#),
        );
        check(r#"{"users":[{"mail":"a***@***.com"}]}"#, None);
        // Elsewhere, or as part of another text.
        check(r#"{"note":"use AK***7Z now"}"#, None);
        check(r#"{"key":"Use AK***7Z, now!"}"#, None);
        check(r#"{"to":"a***@***.com"}"#, None);
    }

    #[test]
    fn what_has_stars_by_itself_is_no_mask() {
        let (exact, shown) = (
            r#"{"glob":"**/*.rs","key":"AKIAQ7Z"}"#,
            r#"{"glob":"**/*.rs","key":"AK***7Z"}"#,
        );
        let made = r#"{"glob":"**/*.rs","key":"AK***7Z","also":"*.md"}"#;
        let found = restored(exact, shown, made).unwrap();
        let expect = r#"{"glob":"**/*.rs","key":"AKIAQ7Z","also":"*.md"}"#;
        assert_eq!(String::from_utf8(found).unwrap(), expect);
    }

    #[test]
    fn a_key_that_was_masked_is_put_back_too() {
        let (exact, shown) = (r#"{"ann@x.com":{"a":1}}"#, r#"{"a***@***.com":{"a":1}}"#);
        let made = r#"{"a***@***.com":{"a":2},"b":3}"#;
        let found = restored(exact, shown, made).unwrap();
        assert_eq!(
            String::from_utf8(found).unwrap(),
            r#"{"ann@x.com":{"a":2},"b":3}"#
        );
    }
}
