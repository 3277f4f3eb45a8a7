//! Leaves, views, switches and bounds, with a scanner that looks for one made-up key.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_core::{Masked, Severity};
use proptest::prelude::*;
use serde_json::json;

use super::pass::MOST;
use super::*;
use crate::detection::{Category, Level};
use crate::report::Reason;

/// Finds `KEY-` and eight digits, and calls any longer run of letters and digits random.
struct Keys;

impl Scan for Keys {
    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        for (at, _) in text.match_indices("KEY-") {
            let end = (at + 12).min(text.len());
            out.push(seen("key", Category::ApiToken, at..end));
            out.push(seen(
                "random",
                Category::HighEntropy,
                at..(end + 1).min(text.len()),
            ));
        }
    }
}

fn seen(kind: &'static str, category: Category, span: Range<usize>) -> Detection {
    Detection {
        rule: Cow::Borrowed(kind),
        kind: Cow::Borrowed(kind),
        category,
        severity: Severity::High,
        confidence: if kind == "key" { 80 } else { 95 },
        level: Level::Block,
        span,
        via: Vec::new(),
        reason: Masked::from_safe("made up"),
        sample: Masked::from_safe("KEY***"),
        tags: &[],
    }
}

fn detector(settings: &str) -> Detector {
    let settings: Settings = serde_json::from_str(settings).unwrap();
    Detector::with(vec![Box::new(Keys)], &settings).unwrap()
}

fn shown(report: &Report) -> Vec<String> {
    let shown = report.detections.iter().map(|found| {
        let detection = &found.detection;
        let via = detection.via.iter();
        let via = via.fold(String::new(), |out, via| out + " via " + via);
        format!(
            "{} {} {:?}{via}",
            found.path, detection.kind, detection.span
        )
    });
    shown.collect()
}

fn check_text(settings: &str, text: &str, expect: &[&str]) {
    assert_eq!(shown(&detector(settings).text(text)), expect, "{text}");
}

fn check_json(settings: &str, tool: Option<&str>, raw: &str, expect: &[&str]) {
    let context = Context {
        tool,
        direction: Direction::Request,
        ..Context::default()
    };
    assert_eq!(
        shown(&detector(settings).json(raw, context)),
        expect,
        "{raw}"
    );
}

#[test]
fn plain_and_encoded_text_is_scanned() {
    check_text("{}", "take KEY-12345678 now", &[" key 5..17"]);
    let coded = STANDARD.encode("the key is KEY-12345678 and more");
    check_text("{}", &format!("run {coded}"), &[" key 4..48 via base64"]);
    let twice = STANDARD.encode(&coded);
    check_text("{}", &twice, &[" key 0..60 via base64 via base64"]);
    // What is plain as well as escaped is reported once.
    check_text("{}", r#"{\"a\":\"KEY-12345678\"}"#, &[" key 9..21"]);
    check_text("{}", "KEY-%31%32%33%34%35%36%37%38", &[" key 0..12"]);
    check_text("{}", "nothing here", &[]);
}

#[test]
fn what_else_is_in_an_encoded_text_hides_no_value() {
    let detector = Detector::new(&Settings::default()).unwrap();
    let value = "q7Zk4vT9mW2xB8nR5yLc3dHf6gJp";
    for beside in [
        "# .env of the shop",
        "support@kestrel-depot.net",
        "~/.aws/credentials",
    ] {
        let text = format!("{beside}\nSERVICE_TOKEN={value}\n");
        for text in [STANDARD.encode(&text), text] {
            let report = detector.text_in(&text, Context::default());
            let mut rules = report.detections.iter().map(|found| &*found.detection.rule);
            assert!(rules.any(|rule| rule == "secret-assignment"), "{text}");
        }
    }
}

#[test]
fn leaves_have_their_paths() {
    let raw = r#"{"a":{"b":["x","KEY-1234\u0035678"]},"KEY-11112222":1,"n":12}"#;
    check_json(
        "{}",
        None,
        raw,
        &["a.b[1] key 0..12", "KEY-11112222 key 0..12"],
    );
    let report = detector("{}").json(raw, Context::default());
    assert_eq!(
        raw.get(report.detections[0].leaf.clone()).unwrap(),
        r#""KEY-1234\u0035678""#
    );
    assert!(report.coverage.is_complete());
    // Broken JSON is read as text.
    check_json("{}", None, r#"{"a":"KEY-12345678""#, &[" key 6..18"]);
}

#[test]
fn categories_and_allowed_values_are_left_out() {
    let text = "KEY-12345678";
    let raw = r#"{"id":"KEY-12345678"}"#;
    check_text(
        r#"{"categories":{"api_token":false,"high_entropy":false}}"#,
        text,
        &[],
    );
    check_text(
        r#"{"categories":{"api_token":false}}"#,
        text,
        &[" random 0..12"],
    );
    let allowed =
        |entry: &str| format!(r#"{{"categories":{{"high_entropy":false}},"allowlist":[{entry}]}}"#);
    let hash = "e11da7827ed07e43443b4c713d7284d052b752d6c649398961e76537a14c708d";
    check_text(&allowed(r#"{"value":"KEY-12345678"}"#), text, &[]);
    check_text(
        &allowed(r#"{"value":"KEY-12345679"}"#),
        text,
        &[" key 0..12"],
    );
    check_text(&allowed(&format!(r#"{{"sha256":"{hash}"}}"#)), text, &[]);
    check_text(&allowed(r#"{"regex":"^KEY-1+2"}"#), text, &[]);
    check_text(&allowed(r#"{"rule":"api_token"}"#), text, &[]);
    check_text(
        &allowed(r#"{"rule":"key","value":"other"}"#),
        text,
        &[" key 0..12"],
    );
    check_json(&allowed(r#"{"path":"id"}"#), None, raw, &[]);
    check_json(&allowed(r#"{"path":"ids"}"#), None, raw, &["id key 0..12"]);
    check_json(
        &allowed(r#"{"tool":"git*"}"#),
        Some("github:read"),
        raw,
        &[],
    );
    check_json(&allowed(r#"{"tool":"git*"}"#), None, raw, &["id key 0..12"]);
    // An allowed value is allowed in a view, too.
    let coded = STANDARD.encode("the key is KEY-12345678 and more");
    check_text(&allowed(r#"{"value":"KEY-12345678"}"#), &coded, &[]);
}

#[test]
fn what_is_not_read_is_said() {
    let check = |settings: &str, text: &str, direction: Direction, expect: &[Reason]| {
        let report = detector(settings).text_in(
            text,
            Context {
                tool: None,
                direction,
                ..Context::default()
            },
        );
        let reasons: Vec<_> = report
            .coverage
            .unread
            .iter()
            .map(|unread| unread.reason)
            .collect();
        assert_eq!(reasons, expect);
        assert_eq!(report.coverage.is_complete(), expect.is_empty());
        report
    };
    check("{}", "short", Direction::Request, &[]);
    check(
        r#"{"enabled":false}"#,
        "KEY-12345678",
        Direction::Still,
        &[Reason::Off],
    );
    check(
        r#"{"scan_requests":false}"#,
        "x",
        Direction::Request,
        &[Reason::Off],
    );
    check(r#"{"scan_requests":false}"#, "x", Direction::Response, &[]);
    check(
        r#"{"scan_responses":false}"#,
        "x",
        Direction::Response,
        &[Reason::Off],
    );
    let long = format!("{}é KEY-12345678", "a ".repeat(511) + "a");
    let report = check(
        r#"{"max_payload_size_kb":1}"#,
        &long,
        Direction::Still,
        &[Reason::PayloadSize],
    );
    assert_eq!(
        (report.coverage.scanned, report.coverage.unscanned),
        (1023, 15)
    );
    let nested = (0..6).fold("KEY-12345678 is it".to_owned(), |text, _| {
        STANDARD.encode(text)
    });
    let report = check("{}", &nested, Direction::Still, &[Reason::DecodedDepth]);
    assert_eq!(report.detections[0].detection.kind, "nested_encoding");
    let many = "KEY-12345678 ".repeat(MOST + 1);
    check("{}", &many, Direction::Still, &[Reason::Detections]);
}

#[test]
fn many_values_of_one_sort_do_not_hide_another() {
    let people = |count: usize| {
        let people = (0..count).map(|n| format!("person{n}@corvane-freight.com "));
        people.collect::<String>()
    };
    let real = Detector::new(&Settings::default()).unwrap();
    let check = |raw: String, untold: bool| {
        let report = real.json(&raw, Context::default());
        let kinds = report.detections.iter().map(|one| &*one.detection.kind);
        assert_eq!(kinds.filter(|kind| *kind == "aws_access_key").count(), 1);
        assert_eq!(report.coverage.is_complete(), !untold);
        let kinds: Vec<_> = report
            .coverage
            .untold
            .iter()
            .map(|(kind, _)| &**kind)
            .collect();
        assert_eq!(kinds, if untold { vec!["email"] } else { vec![] });
    };
    let key = "AKIAQ3EGRTLZ7VHWN2KM";
    check(format!(r#"{{"a":"{}{key}"}}"#, people(MOST + 1)), true);
    check(
        format!(r#"{{"a":"{}","b":"{key}"}}"#, people(MOST + 1)),
        true,
    );
    check(format!(r#"{{"a":"{}","b":"{key}"}}"#, people(100)), false);
}

#[test]
fn leaves_share_one_bound() {
    let raw = format!(r#"["{0}","{0}","KEY-12345678"]"#, "b ".repeat(400));
    let report = detector(r#"{"max_payload_size_kb":1}"#).json(&raw, Context::default());
    assert_eq!(
        (report.coverage.scanned, report.coverage.unscanned),
        (1024, 588)
    );
    let paths: Vec<_> = report
        .coverage
        .unread
        .iter()
        .map(|unread| unread.path.as_str())
        .collect();
    assert_eq!(paths, ["[1]", "[2]"]);
}

#[test]
fn a_report_shows_no_value() {
    let report = detector(r#"{"sensitive_keywords":["heron"]}"#).text("KEY-12345678 heron");
    let shown = serde_json::to_string(&report).unwrap() + &format!("{report:?}");
    assert!(
        !shown.contains("12345678") && !shown.contains("heron"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn what_was_read_before_changes_no_report(
        leaves in prop::collection::vec(
            ("(password|note|card|id|email)", "(plain|4111 1111 1111 1111|hunter-2!Xy|a@b.dev|7)"),
            1..12,
        ),
    ) {
        let used = Detector::new(&Settings::default()).unwrap();
        for (name, text) in leaves {
            let raw = json!([{ name: text }, { "other": text }]).to_string();
            let fresh = Detector::new(&Settings::default()).unwrap();
            let report = |detector: &Detector| detector.json(&raw, Context::default());
            prop_assert_eq!(report(&used), report(&fresh));
        }
    }
}
