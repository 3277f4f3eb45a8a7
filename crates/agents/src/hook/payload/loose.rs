//! Reads JSON on which readers differ, as far as it goes: half a surrogate pair becomes the sign for
//! what is no character, and a number past all bounds and what nests too deeply a text.
//!
//! An agent that cuts an answer in the middle of a character sends such JSON, and what stands
//! before the cut is as private as ever.

use mcpproxy_text::json::{Limits, check};
use mcpproxy_text::{elements, members, string};
use serde_json::Value;

/// How deep is read; what is deeper is a text.
const DEEP: usize = 64;
/// How deep a text may nest at all.
const DEEPEST: usize = 100_000;

/// Reads a value; nothing where even this cannot.
pub(super) fn value(bytes: &[u8]) -> Option<Value> {
    let mended = mended(std::str::from_utf8(bytes).ok()?);
    let text = check(mended.as_bytes(), Limits { depth: DEEPEST }).ok()?;
    Some(read(text.trim(), DEEP))
}

fn read(text: &str, deep: usize) -> Value {
    let as_text = || Value::String(text.to_owned());
    let inner = |place| read(text.get(place).unwrap_or_default(), deep - 1);
    match text.as_bytes().first() {
        Some(b'{' | b'[') if deep == 0 => as_text(),
        Some(b'{') => members(text)
            .map(|member| (member.key.clone().into_owned(), inner(member.value)))
            .collect(),
        Some(b'[') => elements(text).map(inner).collect(),
        Some(b'"') => string(text).map_or_else(as_text, |text| Value::String(text.into_owned())),
        _ => serde_json::from_str(text).unwrap_or_else(|_| as_text()),
    }
}

/// Puts the sign for what is no character in place of half a surrogate pair.
fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        mended.push_str(plain);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            (Some(_), _) => 6,
            // Two characters, of which the second may have several bytes where the text is broken.
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, left) = escape.split_at(length);
        mended.push_str(kept);
        rest = left;
    }
    mended.push_str(rest);
    mended
}

/// Reads the number of an escape such as `\ud83d`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_can_be_read_is_read() {
        let check = |text: &str, expect: Value| {
            assert_eq!(value(text.as_bytes()), Some(expect), "{text}");
        };
        check(r#"{"a":"x\ud83d"}"#, json!({ "a": "x\u{fffd}" }));
        check(
            r#"{"a":"\ud83dx\udc00"}"#,
            json!({ "a": "\u{fffd}x\u{fffd}" }),
        );
        check(r#"{"a":"\ud83d\ude00"}"#, json!({ "a": "😀" }));
        check(r#"{"a":"\\ud83d"}"#, json!({ "a": "\\ud83d" }));
        check(
            r#"{"a":1e999,"b":[2, true]}"#,
            json!({ "a": "1e999", "b": [2, true] }),
        );
        let deep = format!("{}7{}", "[".repeat(70), "]".repeat(70));
        let found = value(deep.as_bytes()).unwrap().to_string();
        assert_eq!(
            found,
            format!("{}\"[[[[[[7]]]]]]\"{}", "[".repeat(64), "]".repeat(64))
        );
        for broken in ["", "{", "\"a", r#"{"a":1,"a":2}"#] {
            assert_eq!(value(broken.as_bytes()), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn sound_json_is_read_as_others_read_it(text in "\\PC{0,40}", number in any::<i64>()) {
            let sound = json!({ "a": [text, number, null], "b": { "c": text } });
            prop_assert_eq!(value(sound.to_string().as_bytes()), Some(sound));
        }

        #[test]
        fn any_bytes_are_taken(text in "[\"\\\\ud8c{}\\[\\]:,é ]{0,60}") {
            let _value = value(text.as_bytes());
        }
    }
}
