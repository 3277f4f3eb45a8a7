//! What a hook's change makes of a call: the content is the hook's, whom the call is for and what
//! the gateway put in stay as they were.

use bytes::Bytes;
use mcpproxy_core::Call;
use mcpproxy_text::{self as text, Splice};

use super::span;

/// Says whom a call is for. Rights and rules were looked up by it.
const TARGET: [&str; 4] = ["name", "uri", "ref", "taskId"];
/// The gateway's own, and what ties the legs of a call together.
const OWN: [&str; 4] = ["_meta", "requestState", "inputResponses", "task"];

/// Puts changed content into the message of a call.
pub(super) fn applied(call: &Call, change: &Bytes) -> Result<Bytes, &'static str> {
    if call.hook.is_some() {
        return Err("a hook wants to change what an agent does with a tool of its own");
    }
    let span = span(call);
    if span.is_empty() {
        return Err("a hook changed a message that has no content");
    }
    let before = call.wire.raw.slice(span.clone());
    let (before, change) = (as_text(&before), as_text(change));
    let merged = merged(before, change)?;
    let mut splice = Splice::default();
    splice.replace(span, merged);
    Ok(splice.apply(&call.wire.raw).into())
}

/// The members of the change, with those of the call that are not the hook's to change.
fn merged(before: &str, change: &str) -> Result<String, &'static str> {
    let value = |of: &str, name: &str| text::get(of, &[name]).map(|(raw, _)| raw.to_owned());
    for name in TARGET {
        let given = value(change, name);
        if given.is_some() && given != value(before, name) {
            return Err("a hook changed whom the call is for");
        }
    }
    let ours = |key: &str| TARGET.contains(&key) || OWN.contains(&key);
    let mut members = Vec::new();
    for (of, is_ours) in [(before, true), (change, false)] {
        for member in text::members(of).filter(|member| ours(&member.key) == is_ours) {
            let key = of.get(member.key_span).unwrap_or_default();
            let value = of.get(member.value).unwrap_or_default();
            members.push(format!("{key}:{value}"));
        }
    }
    Ok(format!("{{{}}}", members.join(",")))
}

fn as_text(bytes: &Bytes) -> &str {
    // INVARIANT: calls and changes passed `text::check`.
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_content_changes_and_the_target_does_not() {
        let check = |change: &str, expect: Option<&str>| {
            let before = r#"{"name":"send","arguments":{"a":1},"_meta":{"progressToken":7}}"#;
            assert_eq!(
                super::merged(before, change).ok().as_deref(),
                expect,
                "{change}"
            );
        };
        check(
            r#"{"arguments":{"a":2}}"#,
            Some(r#"{"name":"send","_meta":{"progressToken":7},"arguments":{"a":2}}"#),
        );
        check(
            r#"{"name":"send","arguments":{},"_meta":{"progressToken":8}}"#,
            Some(r#"{"name":"send","_meta":{"progressToken":7},"arguments":{}}"#),
        );
        check("{}", Some(r#"{"name":"send","_meta":{"progressToken":7}}"#));
        check(r#"{"name":"delete","arguments":{}}"#, None);
        check(r#"{"uri":"file:///x","arguments":{}}"#, None);
    }
}
