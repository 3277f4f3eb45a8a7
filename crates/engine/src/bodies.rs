//! What records keep of what was sent and of what came back, where that is wanted, and what a person
//! is shown who is asked about a call: masked, and no more than a person reads.

use std::ops::ControlFlow;

use bytes::Bytes;
use mcpproxy_core::{Bodies, Call, Finding, Masked, Match, Outcome, Weight};
use mcpproxy_text::{self as text, LeafKind, Splice};

use crate::pipeline::mask;
use crate::ready::Ready;

/// The longest text of either that is kept.
const KEPT: usize = 4096;
/// Stands for a value that was recognized.
const LEFT_OUT: &str = "\"[left out: it holds sensitive data that was read before]\"";
/// Stands for what nobody looked through to its end.
const WITHHELD: &str = "[withheld: it cannot be told whether it holds a secret]";

/// Returns what the record of a call keeps; nothing where nothing is to be kept. `known` tells whether
/// words hold what was read as a secret before.
pub(crate) fn bodies(
    call: &Call,
    outcome: &Outcome,
    findings: &[Finding],
    ready: &Ready,
    known: &mut dyn FnMut(&str) -> bool,
) -> Option<Box<Bodies>> {
    if !ready.settings.bodies {
        return None;
    }
    let (arguments, _) = asked_about(call, findings, ready, known);
    let response = (!outcome.body.is_empty()).then(|| kept(&outcome.body, ready, known));
    let response_truncated = response.as_ref().is_some_and(|(_, cut)| *cut);
    Some(Box::new(Bodies {
        arguments,
        response: response.map(|(response, _)| response),
        response_truncated,
    }))
}

/// Returns the arguments of a call as a person is shown them who is asked about it; tells whether they
/// are cut.
///
/// A detector may not know a secret again without the words that stood around it where it was read;
/// the tracker does, so that what holds such a one is left out as a whole.
pub(crate) fn asked_about(
    call: &Call,
    findings: &[Finding],
    ready: &Ready,
    known: &mut dyn FnMut(&str) -> bool,
) -> (Masked, bool) {
    let arguments = arguments(call);
    let found = findings.iter().filter_map(|one| one.evidence.as_deref());
    let grave: Vec<_> = found
        .filter(|one| one.weight == Weight::Sensitive)
        .collect();
    match without(&arguments, &grave) {
        Some(arguments) => kept(&arguments, ready, known),
        None => (Masked::from_safe(WITHHELD), true),
    }
}

/// Leaves out what holds what was recognized; nothing where that stands in no single place.
fn without(arguments: &Bytes, grave: &[&Match]) -> Option<Bytes> {
    if grave.is_empty() {
        return Some(arguments.clone());
    }
    let json = std::str::from_utf8(arguments).ok()?;
    let mut splice = Splice::default();
    let mut held = vec![false; grave.len()];
    text::visit(json, |leaf| {
        let path = leaf.path.to_string();
        let mut holds = false;
        for (one, held) in grave.iter().zip(&mut held) {
            if leaf.kind != LeafKind::Key && place(one) == path {
                (*held, holds) = (true, true);
            }
        }
        if holds {
            splice.replace(leaf.span, LEFT_OUT);
        }
        ControlFlow::Continue(())
    });
    let all = held.into_iter().all(|held| held);
    all.then(|| splice.apply(arguments).into())
}

/// Leaves out the keys and values that hold what is known; nothing where several of them do together.
fn unknown(body: Bytes, known: &mut dyn FnMut(&str) -> bool) -> Option<Bytes> {
    let json = std::str::from_utf8(&body).ok()?;
    if !known(json) {
        return Some(body);
    }
    let mut splice = Splice::default();
    text::visit(json, |leaf| {
        if known(&leaf.text) {
            splice.replace(leaf.span, LEFT_OUT);
        }
        ControlFlow::Continue(())
    });
    let left = splice.apply(&body);
    let is_safe = !known(std::str::from_utf8(&left).ok()?);
    is_safe.then(|| left.into())
}

/// Returns where something stands within the arguments.
fn place(found: &Match) -> &str {
    let place = &*found.place;
    let place = place.strip_prefix("params.").unwrap_or(place);
    place.strip_prefix("arguments.").unwrap_or(place)
}

/// Returns the arguments of a call, or all that it says where it has none.
fn arguments(call: &Call) -> Bytes {
    let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
    let found = [&["params", "arguments"][..], &["params"]];
    let found = found.iter().find_map(|path| text::get(raw, path));
    let (found, _) = found.unwrap_or_default();
    call.wire.raw.slice_ref(found.as_bytes())
}

/// Masks a JSON text, leaves out what is known all the same, and cuts it; tells whether it was cut.
fn kept(body: &Bytes, ready: &Ready, known: &mut dyn FnMut(&str) -> bool) -> (Masked, bool) {
    let masked = mask(ready)(body).and_then(|masked| unknown(masked, known));
    let Some(masked) = masked else {
        return (Masked::from_safe(WITHHELD), true);
    };
    let masked = String::from_utf8_lossy(&masked);
    let end = masked.floor_char_boundary(KEPT);
    let (start, rest) = masked.split_at(end);
    (Masked::from_safe(start), !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcpproxy_core::{Status, Wire};
    use mcpproxy_testkit::samples;
    use mcpproxy_testkit::suite::activity;

    use super::*;
    use crate::ready::EngineSettings;

    fn ready(bodies: bool, max_payload_size_kb: u32) -> Ready {
        let mut settings = EngineSettings {
            bodies,
            ..EngineSettings::default()
        };
        settings.detector.max_payload_size_kb = max_payload_size_kb;
        Ready::new(settings).unwrap()
    }

    /// A finding that a secret stands at a place.
    fn grave(place: &str) -> Finding {
        let mut finding = activity::denial(0).findings.remove(0);
        finding.evidence.as_mut().unwrap().place = place.into();
        finding
    }

    #[test]
    fn what_is_known_again_is_left_out_or_all_is_withheld() {
        let check = |places: &[&str], expect: &str| {
            let raw = r#"{"params":{"arguments":{"a":{"b":["hunter2",7]},"c":"x"}}}"#;
            let call = Call {
                wire: Wire {
                    raw: raw.into(),
                    ticket: None,
                },
                ..samples::call()
            };
            let found: Vec<_> = places.iter().map(|place| grave(place)).collect();
            let (shown, _) = asked_about(&call, &found, &ready(false, 1024), &mut |_| false);
            assert_eq!(shown.as_str(), expect, "{places:?}");
        };
        check(&[], r#"{"a":{"b":["hunter2",7]},"c":"x"}"#);
        let left = format!(r#"{{"a":{{"b":[{LEFT_OUT},7]}},"c":"x"}}"#);
        check(&["arguments.a.b[0]"], &left);
        check(&["a.b[0]", "params.arguments.a.b[0]"], &left);
        check(&["arguments.a.b[0]", ""], WITHHELD);
        check(&["arguments.elsewhere"], WITHHELD);
    }

    #[test]
    fn what_a_conversation_read_as_a_secret_is_left_out_of_both_bodies() {
        let check = |sent: &str, came: &str, expect: (&str, &str)| {
            let raw = format!(r#"{{"params":{{"arguments":{sent}}}}}"#);
            let call = Call {
                wire: Wire {
                    raw: raw.into(),
                    ticket: None,
                },
                ..samples::call()
            };
            let outcome = Outcome {
                body: Bytes::from(came.to_owned()),
                status: Status::Success,
                took: Duration::ZERO,
            };
            // As the tracker does, signs between the letters are not looked at.
            let mut known = |words: &str| {
                let letters = words.chars().filter(char::is_ascii_alphanumeric);
                letters.collect::<String>().contains("hunter2pass")
            };
            let found = super::bodies(&call, &outcome, &[], &ready(true, 1024), &mut known);
            let found = found.unwrap();
            let response = found.response.as_ref().unwrap();
            assert_eq!((found.arguments.as_str(), response.as_str()), expect);
        };
        let left = |name: &str| format!(r#"{{"{name}":{LEFT_OUT}}}"#);
        check(
            r#"{"text":"my note: hunter2pass"}"#,
            r#"{"echo":"hunter2-pass"}"#,
            (&left("text"), &left("echo")),
        );
        check(r#"{"a":1}"#, r#"{"b":2}"#, (r#"{"a":1}"#, r#"{"b":2}"#));
        // As a key, and in two pieces that no single value holds.
        let key = format!("{{{LEFT_OUT}:1}}");
        check(
            r#"{"hunter2pass":1}"#,
            r#"["hunter2","pass"]"#,
            (&key, WITHHELD),
        );
    }

    #[test]
    fn bodies_are_kept_masked_and_cut_where_that_is_wanted() {
        let key = "AKIAQ3EGRTLZ7VHWN2KM";
        let raw = format!(
            r#"{{"method":"tools/call","params":{{"name":"n","arguments":{{"k":"{key}"}}}}}}"#
        );
        let call = Call {
            wire: Wire {
                raw: raw.into(),
                ticket: None,
            },
            ..samples::call()
        };
        let check =
            |bodies: bool, most: u32, body: &str, expect: Option<(&str, Option<&str>, bool)>| {
                let outcome = Outcome {
                    body: Bytes::from(body.to_owned()),
                    status: Status::Success,
                    took: Duration::ZERO,
                };
                let ready = ready(bodies, most);
                let found = super::bodies(&call, &outcome, &[], &ready, &mut |_| false);
                let found = found.as_deref().map(|found| {
                    let response = found.response.as_ref().map(Masked::as_str);
                    (found.arguments.as_str(), response, found.response_truncated)
                });
                assert_eq!(found, expect, "{body}");
            };
        let sent = r#"{"k":"AKIA***KM"}"#;
        check(false, 1024, "{}", None);
        check(true, 1024, "", Some((sent, None, false)));
        check(
            true,
            1024,
            r#"{"n": 1.50}"#,
            Some((sent, Some(r#"{"n": 1.50}"#), false)),
        );
        let long = format!(r#"{{"t":"{}"}}"#, "a b ".repeat(2000));
        check(true, 1024, &long, Some((sent, long.get(..KEPT), true)));
        check(true, 1, &long, Some((sent, Some(WITHHELD), true)));
    }
}
