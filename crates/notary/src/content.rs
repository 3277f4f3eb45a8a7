//! Values that a receipt keeps in clear, because the user asked for it.
//!
//! A plain object stands in the receipt as it is, in canonical form. Anything that a strict
//! reader of packs would stumble over (keys that are not ASCII, numbers that readers disagree
//! on, deep nesting, values that are no object, text that is not JSON) stands as a string that
//! holds its text.

use std::ops::ControlFlow;

use mcpproxy_text::{LeafKind, members, visit};

use crate::hash::{Numbers, Pepper, canonical, digest, quote};
use crate::receipt::{Evidence, Mark};

/// The longest value that is kept, in bytes of its text.
pub const LONGEST: usize = 1 << 20;

/// A value to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Canonical text of a plain object.
    Object(Vec<u8>),
    /// The text of anything else.
    Text(String),
    /// Either of them, as it stood in a line.
    Rendered(Vec<u8>),
}

/// Which values are kept in clear.
#[derive(Clone, Debug)]
pub enum Keep {
    /// None.
    Nothing,
    /// Of objects these members.
    Fields(Vec<String>),
    /// All.
    All,
}

impl Keep {
    /// Makes evidence of a value, and says what a reader must know of it.
    pub fn evidence(
        &self,
        bytes: &[u8],
        pepper: Option<&Pepper>,
        marks: &mut Vec<Mark>,
    ) -> Evidence {
        let digest = digest(bytes, pepper);
        if !digest.is_canonical() {
            marks.push(Mark::Uninspected);
        }
        let content = match self {
            Self::Nothing => None,
            Self::Fields(names) => Content::only(bytes, names),
            Self::All => Content::all(bytes),
        };
        if content.is_none() && matches!(self, Self::All) {
            marks.push(Mark::ContentTooLong);
        }
        Evidence { digest, content }
    }
}

impl Content {
    /// Keeps a value whole; nothing if it is too long.
    pub fn all(text: &[u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let canonical = canonical(text, Numbers::Rfc8785).ok();
        let plain = std::str::from_utf8(text).is_ok_and(is_plain);
        let canonical = canonical.filter(|_| plain);
        Some(Self(canonical.map_or_else(
            || Form::Text(String::from_utf8_lossy(text).into_owned()),
            Form::Object,
        )))
    }

    /// Keeps the members of an object that `fields` names, and of anything else nothing.
    pub fn only(text: &[u8], fields: &[String]) -> Option<Self> {
        let text = std::str::from_utf8(&canonical(text, Numbers::Rfc8785).ok()?)
            .ok()?
            .to_owned();
        let mut kept = Vec::new();
        for member in members(&text).filter(|member| fields.iter().any(|name| *name == member.key))
        {
            kept.push(if kept.is_empty() { b'{' } else { b',' });
            let (key, value) = (text.get(member.key_span), text.get(member.value));
            kept.extend_from_slice(key.unwrap_or_default().as_bytes());
            kept.push(b':');
            kept.extend_from_slice(value.unwrap_or_default().as_bytes());
        }
        if kept.is_empty() {
            return None;
        }
        kept.push(b'}');
        Self::all(&kept)
    }

    /// Takes up what stands in a line.
    pub(crate) fn from_line(rendered: &str) -> Self {
        Self(Form::Rendered(rendered.as_bytes().to_vec()))
    }

    /// Returns how many bytes it holds on to.
    pub(crate) fn size(&self) -> usize {
        match &self.0 {
            Form::Object(bytes) | Form::Rendered(bytes) => bytes.len(),
            Form::Text(text) => text.len(),
        }
    }

    /// Renders the value for a line.
    pub(crate) fn rendered(&self) -> Vec<u8> {
        match &self.0 {
            Form::Object(canonical) => escape_breaks(canonical),
            Form::Rendered(rendered) => rendered.clone(),
            Form::Text(text) => {
                let mut bytes = Vec::with_capacity(text.len() + 2);
                quote(text, &mut bytes);
                bytes
            }
        }
    }
}

/// Tells whether all readers of JSON agree on what an object says.
fn is_plain(text: &str) -> bool {
    let mut plain = text.trim_start().starts_with('{');
    visit(text, |leaf| {
        plain &= match leaf.kind {
            LeafKind::Key => leaf.text.is_ascii(),
            // Sixteen digits may be more than a double holds.
            LeafKind::Number => leaf.text.len() <= 15 || leaf.text.contains(['.', 'e', 'E']),
            LeafKind::Text => true,
        };
        if plain {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    plain
}

/// Escapes the characters at which some readers end a line.
fn escape_breaks(canonical: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(canonical.len());
    for char in String::from_utf8_lossy(canonical).chars() {
        match char {
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                bytes.extend_from_slice(format!("\\u{:04x}", u32::from(char)).as_bytes());
            }
            _ => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let rendered = Content::all(text.as_bytes()).unwrap().rendered();
        assert_eq!(String::from_utf8(rendered).unwrap(), expect, "{text}");
    }

    #[test]
    fn plain_objects_stand_as_they_are_and_the_rest_as_text() {
        check(
            r#"{"b": "\u00e9", "a": [1.50, true]}"#,
            r#"{"a":[1.5,true],"b":"é"}"#,
        );
        check("{\"a\":\"x\u{2028}y\"}", r#"{"a":"x\u2028y"}"#);
        check(r#"{"é":1}"#, r#""{\"é\":1}""#);
        check(
            r#"{"a":12345678901234567890}"#,
            r#""{\"a\":12345678901234567890}""#,
        );
        check("[1]", r#""[1]""#);
        check(r#"{"a":1,"a":2}"#, r#""{\"a\":1,\"a\":2}""#);
        check("{broken", r#""{broken""#);
        assert_eq!(Content::all(&vec![b' '; LONGEST + 1]), None);
    }

    #[test]
    fn only_the_fields_that_are_named_are_kept() {
        let only = |text: &str, fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
            let kept = Content::only(text.as_bytes(), &fields)?;
            Some(String::from_utf8(kept.rendered()).unwrap())
        };
        let text = r#"{"path":"/x","token":"t","n":{"token":1}}"#;
        assert_eq!(
            only(text, &["path", "n"]).as_deref(),
            Some(r#"{"n":{"token":1},"path":"/x"}"#)
        );
        assert_eq!(only(text, &["none"]), None);
        assert_eq!(only("[1]", &["path"]), None);
        assert_eq!(only("{", &["path"]), None);
    }
}
