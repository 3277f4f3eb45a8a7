//! The log against the rules of SARIF 2.1.0 (OASIS, sections 3.13 to 3.52) for the objects that it
//! has: what each must hold, what it may hold, and the words that have a fixed set.

use std::collections::BTreeSet;

use mcpproxy_core::Masked;

use super::*;

/// An object of the standard: where it stands, with `*` for every element, what it must hold, and
/// what it may hold beside that. Nothing else is allowed, as the schema closes every object.
type Object = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const OBJECTS: &[Object] = &[
    ("", &["version", "runs"], &["$schema"]),
    (
        "/runs/*",
        &["tool"],
        &["columnKind", "invocations", "results"],
    ),
    ("/runs/*/tool", &["driver"], &[]),
    (
        "/runs/*/tool/driver",
        &["name"],
        &["semanticVersion", "informationUri", "rules"],
    ),
    (
        "/runs/*/tool/driver/rules/*",
        &["id"],
        &[
            "name",
            "shortDescription",
            "defaultConfiguration",
            "properties",
        ],
    ),
    (
        "/runs/*/tool/driver/rules/*/shortDescription",
        &["text"],
        &[],
    ),
    (
        "/runs/*/tool/driver/rules/*/defaultConfiguration",
        &[],
        &["level"],
    ),
    ("/runs/*/invocations/*", &["executionSuccessful"], &[]),
    (
        "/runs/*/results/*",
        &["message"],
        &["ruleId", "ruleIndex", "level", "locations", "properties"],
    ),
    ("/runs/*/results/*/message", &["text"], &[]),
    (
        "/runs/*/results/*/locations/*",
        &[],
        &["physicalLocation", "logicalLocations"],
    ),
    (
        "/runs/*/results/*/locations/*/physicalLocation",
        &["artifactLocation"],
        &["region"],
    ),
    (
        "/runs/*/results/*/locations/*/physicalLocation/artifactLocation",
        &["uri"],
        &[],
    ),
    (
        "/runs/*/results/*/locations/*/physicalLocation/region",
        &["startLine"],
        &["startColumn", "endLine", "endColumn"],
    ),
    (
        "/runs/*/results/*/locations/*/logicalLocations/*",
        &[],
        &["name", "fullyQualifiedName", "kind"],
    ),
];

/// Returns the values at a path of `OBJECTS`; a part that is not given has none.
fn at<'a>(log: &'a Value, path: &str) -> Vec<&'a Value> {
    let steps = path.split('/').filter(|step| !step.is_empty());
    steps.fold(vec![log], |values, step| {
        let inner = |value: &'a Value| -> Vec<&'a Value> {
            match step {
                "*" => value.as_array().into_iter().flatten().collect(),
                key => value.get(key).into_iter().collect(),
            }
        };
        values.into_iter().flat_map(inner).collect()
    })
}

fn texts<'a>(log: &'a Value, path: &str) -> Vec<&'a str> {
    let values = at(log, path).into_iter();
    values.map(|value| value.as_str().unwrap()).collect()
}

/// Fails where a log is not what the standard asks for.
fn check(log: &Value) {
    for (path, needed, allowed) in OBJECTS {
        for object in at(log, path) {
            let object = object.as_object().unwrap();
            for key in *needed {
                assert!(object.contains_key(*key), "`{path}` lacks `{key}`");
            }
            for (key, value) in object {
                let known = needed.contains(&key.as_str()) || allowed.contains(&key.as_str());
                assert!(known, "`{path}` has `{key}`");
                assert!(!value.is_null(), "`{key}` of `{path}` is null");
            }
        }
    }
    assert_eq!(texts(log, "/version"), ["2.1.0"]);
    assert_eq!(texts(log, "/runs/*/columnKind"), ["unicodeCodePoints"]);
    let levels = ["none", "note", "warning", "error"];
    for path in [
        "/runs/*/results/*/level",
        "/runs/*/tool/driver/rules/*/defaultConfiguration/level",
    ] {
        assert!(texts(log, path).iter().all(|level| levels.contains(level)));
    }
    for value in at(log, "/runs/*/invocations/*/executionSuccessful") {
        assert!(value.is_boolean());
    }
    let ids = texts(log, "/runs/*/tool/driver/rules/*/id");
    let unique: BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "rules are listed once");
    for result in at(log, "/runs/*/results/*") {
        let index = result.get("ruleIndex").and_then(Value::as_u64).unwrap();
        let rule = ids.get(usize::try_from(index).unwrap());
        assert_eq!(rule.copied(), result.get("ruleId").and_then(Value::as_str));
    }
    for region in at(log, "/runs/*/results/*/locations/*/physicalLocation/region") {
        for (key, place) in region.as_object().unwrap() {
            assert!(place.as_u64().is_some_and(|place| place > 0), "`{key}`");
        }
    }
    for uri in texts(
        log,
        "/runs/*/results/*/locations/*/physicalLocation/artifactLocation/uri",
    ) {
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&byte);
        assert!(uri.bytes().all(fits), "`{uri}` is no reference");
    }
    for tags in at(log, "/runs/*/tool/driver/rules/*/properties/tags") {
        let tags = tags.as_array().unwrap();
        let unique: BTreeSet<_> = tags.iter().map(|tag| tag.as_str().unwrap()).collect();
        assert_eq!(unique.len(), tags.len(), "tags are listed once");
    }
}

fn finding(rule: &str, verdict: Level, severity: Severity) -> Finding {
    Finding {
        verdict,
        subject: "notes:add".to_owned(),
        part: "function",
        field: "description".to_owned(),
        path: "tools[0].description".to_owned(),
        file: None,
        rule: rule.to_owned(),
        kind: rule.to_owned(),
        category: "hostile_text".to_owned(),
        severity,
        confidence: 80,
        reason: Masked::from_safe("wants something kept from the user"),
        sample: Masked::from_safe("do not tell"),
        tags: vec!["MCP03", "ASI09"],
    }
}

#[test]
fn a_log_is_what_the_standard_asks_for() {
    check(&log(&[], true));
    check(&log(&[], false));
    let region = Region {
        line: 3,
        column: 7,
        end_line: 3,
        end_column: 21,
    };
    let mut placed = finding("secrecy", Level::Block, Severity::Critical);
    placed.file = Some(("a dir/é`.json".to_owned(), Some(region)));
    let mut whole = finding("secrecy", Level::Warn, Severity::High);
    (whole.file, whole.field) = (Some(("/etc/mcp.json".to_owned(), None)), String::new());
    let mut bare = finding("override", Level::Note, Severity::Info);
    (bare.sample, bare.tags) = (Masked::from_safe(""), Vec::new());
    check(&log(&[placed, whole, bare], true));
}

#[test]
fn the_check_sees_what_is_wrong() {
    let broken = |path: &str, value: Value| {
        let finding = finding("secrecy", Level::Warn, Severity::High);
        let mut log = log(&[finding], true);
        *log.pointer_mut(path).unwrap() = value;
        std::panic::catch_unwind(|| check(&log)).is_err()
    };
    assert!(broken("/version", json!("2.0.0")));
    assert!(broken("/runs/0/results/0/ruleIndex", Value::Null));
    assert!(broken("/runs/0/results/0/ruleIndex", json!(1)));
    assert!(broken("/runs/0/results/0/level", json!("fatal")));
    assert!(broken("/runs/0/results/0/message", json!({"txt": ""})));
    assert!(broken("/runs/0/tool", json!({})));
}

#[test]
fn files_are_addresses() {
    let check = |file: &str, expect: &str| assert_eq!(uri(file), expect);
    check("tools.json", "tools.json");
    check("a dir/é.json", "a%20dir/%C3%A9.json");
    check("/etc/mcp.json", "file:///etc/mcp.json");
}
