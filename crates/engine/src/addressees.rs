//! Whom a message is for: the address of somebody one writes to is no data that leaks to them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mcpproxy_classify::host::host;
use mcpproxy_core::{Match, Nature, Sensitive};
use mcpproxy_detect::{Category, Report};

use crate::marks::{DATABASE, Values};

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

/// Leaves out the matches that are the address of whom the message is for, or the host of one of the
/// `addresses` that a command connects to: people are written to, and machines asked, by it.
pub(crate) fn leave_out(
    matches: &mut Vec<Match>,
    raw: &str,
    report: &Report,
    addresses: &[String],
) {
    // What its source calls a code is no address, whatever the argument is called that it stands in.
    let typed = |one: &Match| {
        let label = one.label.as_ref();
        label.is_some_and(|label| label.nature == Nature::Typed && label.word != "identifier")
    };
    if !matches.iter().any(typed) {
        return;
    }
    // Asked for each match, this would be work for each detection and each address of each of them.
    let hosts: Vec<_> = addresses.iter().filter_map(|one| host(one)).collect();
    let named = named(raw, report, &hosts);
    matches.retain(|one| !typed(one) || !is_addressing(&one.place) && !named.contains(&*one.place));
}

/// Leaves out what a command logs in with at the very host that it names, `psql postgres://…@host`:
/// that is what such a string is for.
pub(crate) fn leave_out_logins(
    sensitive: &mut Vec<Sensitive>,
    raw: &str,
    report: &Report,
    addresses: &[String],
) {
    if addresses.is_empty() {
        return;
    }
    let mut values = Values::of(raw);
    let mut places: HashMap<&str, bool> = HashMap::new();
    for found in &report.detections {
        if found.detection.category == Category::DatabaseCredential {
            let value = values.next(found).unwrap_or_default();
            let own = addresses.iter().any(|address| logs_in(address, &value));
            *places.entry(found.path.as_str()).or_insert(true) &= own;
        }
    }
    let is_login = |one: &Sensitive| {
        one.label.word == DATABASE && places.get(&*one.place).is_some_and(|own| *own)
    };
    sensitive.retain(|one| !is_login(one));
}

/// Tells whether a value stands in an address where the login stands.
fn logs_in(address: &str, value: &str) -> bool {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let login = authority.rsplit_once('@').map(|(login, _)| login);
    login.is_some_and(|login| login.split(':').any(|part| part == value))
}

/// Returns the places that hold nothing but addresses of whom the message is for.
fn named<'a>(raw: &str, report: &'a Report, hosts: &[String]) -> HashSet<&'a str> {
    let mut values = Values::of(raw);
    let found = report.detections.iter();
    let found = found.filter_map(|found| Some((found.path.as_str(), values.next(found)?)));
    let found: Vec<(&str, Cow<'_, str>)> = found.collect();
    let known = found.iter().filter(|(place, _)| is_addressing(place));
    let known = known.map(|(_, value)| &**value);
    let known: HashSet<&str> = known.chain(hosts.iter().map(String::as_str)).collect();
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
            let hosts = ["54.12.33.44".to_owned()];
            let mut places: Vec<_> = named(raw, &report, &hosts).into_iter().collect();
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
        check(r#"{"command":"ping 54.12.33.44"}"#, &["command"]);
        check(r#"{"command":"ping 54.12.33.44 # 54.12.33.99"}"#, &[]);
    }

    #[test]
    fn a_login_is_known_in_the_address_that_it_is_for() {
        let check = |address: &str, expect: bool| {
            assert_eq!(logs_in(address, "s3cr3tPw99"), expect, "{address}");
        };
        check("postgres://app:s3cr3tPw99@db.corp.io/app", true);
        check(
            "postgres://app:s3cr3tPw99@db.corp.io:5432?sslmode=require",
            true,
        );
        check("postgres://app:other@db.corp.io/s3cr3tPw99@x", false);
        check("https://db.corp.io/?key=s3cr3tPw99", false);
        check("db.corp.io", false);
    }
}
