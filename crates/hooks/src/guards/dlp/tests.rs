//! Messages with made-up secrets in every place, and what is left of them.

use mcpproxy_detect::{Context, Detector};

use super::*;

const CARD: &str = "4111 1111 1111 1111";
const TOKEN: &str = "ghp_t4Xw9LbQz2KfVn7RjYc1HsMd8PaGe5UoTi3B";
/// The same with a right checksum.
const CHECKED: &str = "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";

fn detector() -> Detector {
    Detector::new(&mcpproxy_detect::Settings::default()).unwrap()
}

fn treat(rules: &str, way: Way, raw: &str) -> Treated {
    treat_between(
        rules,
        raw,
        Between {
            way,
            upstream: "slack",
            classes: &["external"],
        },
    )
}

fn treat_between(rules: &str, raw: &str, between: Between<'_>) -> Treated {
    let dlp = Dlp::new(serde_json::from_str(&format!(r#"{{"rules":{rules}}}"#)).unwrap());
    let detector = detector();
    let scan = |raw: &str| detector.json(raw, Context::default());
    dlp.treat(between, raw, &scan(raw), scan)
}

#[test]
fn what_is_done_goes_by_type_direction_and_destination() {
    let check = |rules: &str, way, raw: &str, expect: Option<&str>, wants: Option<Action>| {
        let treated = treat(rules, way, raw);
        assert_eq!(treated.text.as_deref(), expect, "{rules}");
        assert_eq!(treated.finding.map(|found| found.wants), wants, "{rules}");
    };
    let raw = format!(r#"{{"a":"card {CARD} ok","b":1.50}}"#);
    let redacted = r#"{"a":"card [REDACTED:credit_card] ok","b":1.50}"#;
    let masked = r#"{"a":"card ****-****-****-1111 ok","b":1.50}"#;
    let (request, response) = (Way::Request, Way::Response);
    let allowed = Some(Action::Allow);
    check(
        r#"[{"action":"redact"}]"#,
        response,
        &raw,
        Some(redacted),
        allowed,
    );
    check(
        r#"[{"action":"mask"}]"#,
        response,
        &raw,
        Some(masked),
        allowed,
    );
    check(r#"[{"action":"tag"}]"#, response, &raw, None, allowed);
    check(
        r#"[{"action":"block"}]"#,
        response,
        &raw,
        None,
        Some(Action::Deny),
    );
    check("[]", response, &raw, None, None);
    check(
        r#"[{"types":["credit_card"],"action":"redact"}]"#,
        request,
        &raw,
        Some(redacted),
        allowed,
    );
    check(
        r#"[{"types":["email"],"action":"redact"}]"#,
        request,
        &raw,
        None,
        None,
    );
    check(
        r#"[{"direction":"response","action":"redact"}]"#,
        request,
        &raw,
        None,
        None,
    );
    check(
        r#"[{"direction":"request","action":"redact"}]"#,
        request,
        &raw,
        Some(redacted),
        allowed,
    );
    check(
        r#"[{"servers":["internal"],"action":"block"}]"#,
        request,
        &raw,
        None,
        None,
    );
    check(
        r#"[{"servers":["external"],"action":"redact"}]"#,
        request,
        &raw,
        Some(redacted),
        allowed,
    );
    check(
        r#"[{"servers":["slack"],"action":"mask"}]"#,
        request,
        &raw,
        Some(masked),
        allowed,
    );
    let both =
        r#"[{"action":"tag"},{"types":["credit_card"],"action":"redact"},{"action":"mask"}]"#;
    check(both, request, &raw, Some(redacted), allowed);
    check(
        r#"[{"action":"block"}]"#,
        request,
        r#"{"a":"nothing to see"}"#,
        None,
        None,
    );
}

#[test]
fn whatever_place_it_stands_in_nothing_is_left_and_the_rest_is_as_it_was() {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("token {TOKEN} end"));
    let check = |raw: String| {
        let treated = treat(r#"[{"action":"redact"}]"#, Way::Response, &raw);
        let text = treated.text.unwrap_or_else(|| panic!("{raw}"));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(!text.contains(TOKEN) && !text.contains(&encoded), "{text}");
        assert_eq!(value["keep"], serde_json::json!(1), "{text}");
        assert!(text.ends_with(r#","keep" : 1}"#), "{text}");
    };
    check(format!(r#"{{"a":"{TOKEN}","keep" : 1}}"#));
    check(format!(r#"{{"a":["x","{TOKEN}","{TOKEN}"],"keep" : 1}}"#));
    check(format!(r#"{{"a":"{TOKEN} and {TOKEN}","keep" : 1}}"#));
    check(format!(
        r#"{{"a":"caf\u00e9 \n {TOKEN} \"x\"","keep" : 1}}"#
    ));
    check(format!(r#"{{"{TOKEN}":1,"keep" : 1}}"#));
    check(format!(
        r#"{{"a":{{"{TOKEN}":1}},"b":{{"{TOKEN}":2}},"keep" : 1}}"#
    ));
    check(format!(r#"{{"a":"{encoded}","keep" : 1}}"#));
    check(format!(
        r#"{{"a":"gh\u0070{}","keep" : 1}}"#,
        TOKEN.trim_start_matches("ghp")
    ));
}

#[test]
fn a_document_in_a_text_stays_one() {
    let check = |action: &str, text: &str, expect: &str| {
        let raw = serde_json::json!({ "text": text }).to_string();
        let rules = format!(r#"[{{"action":"{action}"}}]"#);
        let treated = treat(&rules, Way::Response, &raw);
        let treated = treated.text.unwrap_or_else(|| panic!("{text}"));
        let value: serde_json::Value = serde_json::from_str(&treated).unwrap();
        assert_eq!(value["text"], expect, "{text}");
    };
    let number = r#"{"card": 4111111111111111, "n": 1}"#;
    let redacted = r#"{"card": "[REDACTED:credit_card]", "n": 1}"#;
    check("redact", number, redacted);
    let masked = r#"{"card": "****-****-****-1111", "n": 1}"#;
    check("mask", number, masked);
    let list = r#" [4111111111111111,{"card":"4111111111111111"},2]"#;
    let listed = r#" ["[REDACTED:credit_card]",{"card":"[REDACTED:credit_card]"},2]"#;
    check("redact", list, listed);
    let keys = r#"{"4111111111111111":1,"card":"\"4111111111111111\"\n","b":{}}"#;
    let kept = r#"{"[REDACTED:credit_card]#0":1,"card":"\"[REDACTED:credit_card]\"\n","b":{}}"#;
    check("redact", keys, kept);
    // What is no document is a text as any other.
    let text = "{card: 4111111111111111}";
    check("redact", text, "{card: [REDACTED:credit_card]}");
    check("redact", "4111111111111111", "[REDACTED:credit_card]");
}

#[test]
fn what_is_cut_within_an_escape_or_across_values_leaves_a_document() {
    let check = |text: &str, span: Range<usize>, expect: &str| {
        let cut = Cut {
            span,
            treatment: Treatment::Mask,
            kind: "credit_card",
        };
        assert_eq!(document_without(text, &[cut]).as_deref(), Some(expect));
    };
    let redacted = r#"{"a":"[REDACTED:credit_card]"}"#;
    check(r#"{"a":"x\n4111"}"#, 8..13, redacted);
    let apart = r#"["[REDACTED:credit_card]","[REDACTED:credit_card]"]"#;
    check("[41111111,11111111]", 1..18, apart);
}

#[test]
fn what_cannot_be_taken_out_is_stopped() {
    let dlp = Dlp::new(serde_json::from_str(r#"{"rules":[{"action":"redact"}]}"#).unwrap());
    let between = Between {
        way: Way::Response,
        upstream: "slack",
        classes: &["external"],
    };
    let raw = format!(r#"{{"a":"{TOKEN}"}}"#);
    let report = detector().json(&raw, Context::default());
    // Whatever is found afterwards counts, also if nobody knows how it stayed.
    let treated = dlp.treat(between, &raw, &report, |_| report.clone());
    assert_eq!(treated.text, None);
    assert_eq!(treated.finding.map(|found| found.wants), Some(Action::Deny));
    // A report of another text names spans that are not there.
    let treated = dlp.treat(between, "{}", &report, |_| Report::default());
    assert_eq!(treated.text, None);
    assert_eq!(treated.finding.map(|found| found.wants), Some(Action::Deny));
}

#[test]
fn what_nobody_knows_is_an_error() {
    let check = |rules: &str| assert!(serde_json::from_str::<Rule>(rules).is_err(), "{rules}");
    check("{}");
    check(r#"{"action":"shred"}"#);
    check(r#"{"action":"mask","way":"request"}"#);
}

#[test]
fn what_was_not_looked_through_does_not_pass_a_rule_that_would_stop_it() {
    use base64::Engine as _;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let addresses = |count: usize| {
        let addresses = (0..count).map(|n| format!("person{n}@corvane-freight.com "));
        addresses.collect::<String>()
    };
    let coded = |count: usize| {
        let words = (0..count).map(|n| base64(&format!("the tide of day {n} is high")) + " ");
        words.collect::<String>()
    };
    let words = |count: usize| "word ".repeat(count);
    let wants = |rules: &str, way, text: &str| {
        let raw = format!(r#"{{"a":"{text}"}}"#);
        let treated = treat(rules, way, &raw);
        (treated.text.is_some(), treated.finding.map(|one| one.wants))
    };
    let stopped = (false, Some(Action::Deny));
    let passed = (false, None);
    for action in ["mask", "redact", "block"] {
        let rules = format!(r#"[{{"types":["api_token"],"action":"{action}"}}]"#);
        for way in [Way::Request, Way::Response] {
            let hidden = [
                coded(2_000) + &base64(&format!("token {CHECKED} end")),
                words(230_000) + CHECKED,
            ];
            for text in hidden {
                assert_eq!(
                    wants(&rules, way, &text),
                    stopped,
                    "{action} {}",
                    text.len()
                );
            }
            // Addresses do not keep a token from being found, and nobody asked for addresses.
            let (changed, wanted) = wants(&rules, way, &(addresses(10_500) + CHECKED));
            assert_eq!(changed, action != "block", "{action}");
            assert_eq!(wanted == Some(Action::Deny), action == "block", "{action}");
            for text in [addresses(10_500), coded(500), words(100_000)] {
                assert_eq!(wants(&rules, way, &text), passed, "{action} {}", text.len());
            }
        }
    }
    let long = words(230_000);
    let check = |rules: &str, text: &str, expect| {
        assert_eq!(wants(rules, Way::Request, text), expect, "{rules}");
    };
    // Addresses that cannot all be taken out are stopped.
    let emails = r#"[{"types":["email"],"action":"redact"}]"#;
    check(emails, &addresses(10_500), stopped);
    // Rules that only name what they see, or speak of other messages, stop nothing.
    check(r#"[{"action":"tag"}]"#, &long, passed);
    check(
        r#"[{"direction":"response","action":"block"}]"#,
        &long,
        passed,
    );
    check(
        r#"[{"servers":["internal"],"action":"block"}]"#,
        &long,
        passed,
    );
    check("[]", &long, passed);
}

#[test]
fn an_upstream_that_nobody_could_tell_is_outside() {
    let raw = format!(r#"{{"a":"card {CARD} ok"}}"#);
    let check = |server: &str, classes: &[&'static str], expect: bool| {
        let rules = format!(r#"[{{"servers":["{server}"],"action":"block"}}]"#);
        let between = Between {
            way: Way::Request,
            upstream: "zork",
            classes,
        };
        let treated = treat_between(&rules, &raw, between);
        assert_eq!(treated.finding.is_some(), expect, "{server} {classes:?}");
    };
    let unknown = ["external", "unknown"];
    check("external", &unknown, true);
    check("unknown", &unknown, true);
    check("zork", &unknown, true);
    check("internal", &unknown, false);
    check("hybrid", &["external", "hybrid"], true);
    check("hybrid", &["external"], false);
    check("external", &["internal"], false);
}

#[test]
fn a_type_that_nobody_knows_is_found() {
    let check = |types: &str, expect: Option<&str>| {
        let rule = format!(r#"{{"types":{types},"action":"block"}}"#);
        let rule: Rule = serde_json::from_str(&rule).unwrap();
        let known = |name: &str| ["email", "order_number"].contains(&name);
        assert_eq!(rule.unknown_type(known), expect, "{types}");
    };
    check("[]", None);
    check(r#"["email","api_token","pii","order_number"]"#, None);
    check(r#"["emial"]"#, Some("emial"));
    check(r#"["pii","Email"]"#, Some("Email"));
    // Detections of these families stand on no value.
    check(r#"["sensitive_file"]"#, Some("sensitive_file"));
}
