//! Whether what a hook put in place of a message can be used.
//!
//! What cannot be is a denial, whatever the hook's failure mode says: the hook meant to take
//! something away, and letting the original pass would give it back.

use bytes::Bytes;
use mcpproxy_core::SecurityModification;
use mcpproxy_text::{self as text, Limits};

use crate::restored::{UNTOLD, restored};

/// The deepest nesting of a modified message.
const DEPTH: usize = 128;
/// Headers that one modification may add.
const MOST_HEADERS: usize = 32;
/// The longest value of a header.
const LONGEST_VALUE: usize = 8 * 1024;
/// The longest note that is kept of a modification.
const LONGEST_NOTE: usize = 4 * 1024;
/// Headers that are the gateway's own, or the protocol's.
const OWN: [&str; 12] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the body of a modification, if it has one that is another than the message's, given the
/// message's body as it is and as the hook was shown it. What the hook was shown masked is put back.
pub(crate) fn body(
    modified: Option<&Bytes>,
    (exact, shown): (&Bytes, Option<&Bytes>),
    most: usize,
) -> Result<Option<Bytes>, &'static str> {
    let Some(body) = modified else {
        return Ok(None);
    };
    let Some(shown) = shown else {
        return Err("it was shown nothing of what it changed");
    };
    if body == exact || body == shown {
        return Ok(None);
    }
    if body.len() > most {
        return Err("what it put in place of the message is too large");
    }
    let made = sound(body)?;
    if exact == shown {
        return Ok(Some(body.clone()));
    }
    let (exact, shown) = (std::str::from_utf8(exact), std::str::from_utf8(shown));
    let (Ok(exact), Ok(shown)) = (exact, shown) else {
        return Err(UNTOLD);
    };
    let body = Bytes::from(restored(exact, shown, made)?);
    sound(&body)?;
    Ok(Some(body).filter(|body| *body != exact))
}

/// Checks that a body is a JSON object.
fn sound(body: &Bytes) -> Result<&str, &'static str> {
    let is_object = body.trim_ascii_start().first() == Some(&b'{');
    let text = text::check(body, Limits { depth: DEPTH }).ok();
    let text = text.filter(|_| is_object);
    text.ok_or("what it put in place of the message is no JSON object")
}

/// Checks what else a modification asks for.
pub(crate) fn extras(modification: &SecurityModification) -> Result<(), &'static str> {
    let headers = &modification.added_headers;
    if headers.len() > MOST_HEADERS || !headers.iter().all(|(name, value)| is_header(name, value)) {
        return Err("it added a header that cannot be sent");
    }
    let note = modification.audit_metadata.as_deref();
    let sound = |note: &str| {
        note.len() <= LONGEST_NOTE && text::check(note.as_bytes(), Limits { depth: DEPTH }).is_ok()
    };
    if !note.is_none_or(sound) {
        return Err("what it wants on record is too long, or no JSON");
    }
    Ok(())
}

fn is_header(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let free = !OWN.contains(&name.as_str()) && !name.starts_with("mcp-");
    let sound = !name.is_empty() && name.len() <= 128 && name.bytes().all(token);
    let printable = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    free && sound && printable && value.len() <= LONGEST_VALUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sound_object_takes_a_messages_place() {
        let check = |modified: Option<&'static [u8]>, expect: Result<Option<&[u8]>, ()>| {
            let modified = modified.map(Bytes::from_static);
            let before = Bytes::from_static(b"{\"a\":1}");
            let used = body(modified.as_ref(), (&before, Some(&before)), 32);
            let used = used.as_ref().map(|body| body.as_deref()).map_err(|_| ());
            assert_eq!(used, expect, "{modified:?}");
        };
        check(None, Ok(None));
        check(Some(b"{\"a\":1}"), Ok(None));
        check(Some(b"{\"a\":2}"), Ok(Some(b"{\"a\":2}")));
        for garbage in [
            &b""[..],
            b"null",
            b"[1]",
            b"{\"a\":1",
            b"{\"a\":1,\"a\":2}",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"far too long for the bound\"}",
        ] {
            check(Some(garbage), Err(()));
        }
    }

    #[test]
    fn headers_of_the_protocol_stay_ours() {
        let check = |name: &str, value: &str, expect: bool| {
            let modification = SecurityModification {
                added_headers: vec![(name.to_owned(), value.to_owned())],
                ..SecurityModification::default()
            };
            assert_eq!(extras(&modification).is_ok(), expect, "{name}: {value}");
        };
        check("x-roles", "admin", true);
        check("Authorization", "Bearer x", true);
        for name in ["", "Host", "content-length", "Mcp-Session-Id", "a b", "ä"] {
            check(name, "x", false);
        }
        check("x-roles", "a\r\nb: c", false);
    }

    #[test]
    fn notes_are_json_and_short() {
        let check = |note: &str, expect: bool| {
            let modification = SecurityModification {
                audit_metadata: Some(note.into()),
                ..SecurityModification::default()
            };
            assert_eq!(extras(&modification).is_ok(), expect, "{note}");
        };
        check(r#"{"redacted":2}"#, true);
        check("{", false);
        check(&format!("\"{}\"", "x".repeat(LONGEST_NOTE)), false);
    }
}
