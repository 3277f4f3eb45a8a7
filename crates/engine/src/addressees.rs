//! Whom a message is for: the address of somebody one writes to is no data that leaks to them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mcpproxy_core::{Match, Nature};
use mcpproxy_detect::Report;

use crate::marks::Values;

/// Arguments that say whom or where a message is for.
const ADDRESSING: [&str; 22] = [
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "email",
    "emails",
    "mail",
    "address",
    "attendees",
    "participants",
    "invitees",
    "guests",
    "user",
    "username",
    "assignee",
    "phone",
    "tel",
    "number",
    "contact",
    "receiver",
    "host",
];

/// Leaves out the matches that are the address of whom the message is for: one writes to people by
/// it.
pub(crate) fn leave_out(matches: &mut Vec<Match>, raw: &str, report: &Report) {
    let typed = |one: &Match| one.label.as_ref().map(|label| label.nature) == Some(Nature::Typed);
    if !matches.iter().any(typed) {
        return;
    }
    // Asked for each match, this would be work for each detection and each address of each of them.
    let named = named(raw, report);
    matches.retain(|one| !typed(one) || !is_addressing(&one.place) && !named.contains(&*one.place));
}

/// Returns the places that hold nothing but addresses of whom the message is for.
fn named<'a>(raw: &str, report: &'a Report) -> HashSet<&'a str> {
    let mut values = Values::of(raw);
    let found = report.detections.iter();
    let found = found.filter_map(|found| Some((found.path.as_str(), values.next(found)?)));
    let found: Vec<(&str, Cow<'_, str>)> = found.collect();
    let known = found.iter().filter(|(place, _)| is_addressing(place));
    let known: HashSet<&str> = known.map(|(_, value)| &**value).collect();
    let mut places = HashMap::new();
    for (place, value) in &found {
        *places.entry(*place).or_insert(true) &= known.contains(&**value);
    }
    places.retain(|_, named| *named);
    places.into_keys().collect()
}

/// Tells whether a place in a message, by its whole name, says whom or where the message is for.
fn is_addressing(place: &str) -> bool {
    let name = place.rsplit('.').next().unwrap_or_default();
    let mut words = name
        .split(|char: char| !char.is_ascii_alphabetic())
        .filter(|word| !word.is_empty());
    words.all(|word| {
        let mut known = ADDRESSING.iter();
        known.any(|known| known.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use mcpproxy_detect::{Context, Detector, Settings};

    use super::*;

    #[test]
    fn places_with_nothing_but_addressees_are_named() {
        let detector = Detector::new(&Settings::default()).unwrap();
        let check = |raw: &str, expect: &[&str]| {
            let report = detector.json(raw, Context::default());
            let mut places: Vec<_> = named(raw, &report).into_iter().collect();
            places.sort_unstable();
            assert_eq!(places, expect, "{raw}");
        };
        check(
            r#"{"to":"ana@corvane-freight.com","body":"Hi,\nis it ana@corvane-freight.com?"}"#,
            &["body", "to"],
        );
        check(
            r#"{"to":"ana@corvane-freight.com","body":"ask tom@corvane-freight.com\nor ana@corvane-freight.com"}"#,
            &["to"],
        );
        check(r#"{"body":"ana@corvane-freight.com"}"#, &[]);
    }
}
