//! The rules' own examples, what they must have in common, and texts that no single rule owns.

mod named;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn secrets() -> Secrets {
    Secrets::new(4.5).unwrap()
}

fn seen(text: &str) -> Vec<Detection> {
    let mut out = Vec::new();
    secrets().scan(text, &mut out);
    out
}

fn kinds(text: &str) -> Vec<String> {
    let loud = seen(text)
        .into_iter()
        .filter(|detection| detection.level > Level::Note);
    loud.map(|detection| detection.kind.into_owned()).collect()
}

fn keyed(key: &str, value: &str) -> Vec<String> {
    let mut out = Vec::new();
    secrets().scan_keyed(key, value, &mut out);
    out.into_iter()
        .map(|detection| detection.kind.into_owned())
        .collect()
}

#[test]
fn how_random_a_run_must_be_is_configured() {
    let run = "kJ7mQ2xV9bT4nR8wL3pZ6cF1sD5gH0yK";
    let check = |threshold: f64, expect: &[&str]| {
        let mut out = Vec::new();
        let scanner = Secrets::new(threshold).unwrap();
        scanner.scan(&format!("take {run} along"), &mut out);
        let found: Vec<_> = out.iter().map(|one| &*one.kind).collect();
        assert_eq!(found, expect, "{threshold}");
    };
    check(4.5, &["high_entropy"]);
    check(5.5, &[]);
}

#[test]
fn a_right_checksum_outweighs_the_words_of_a_placeholder() {
    let check = |token: &str, expect: bool| {
        let found = kinds(&format!("token: {token} end"));
        assert_eq!(
            found.contains(&"github_pat".to_owned()),
            expect,
            "{token}: {found:?}"
        );
    };
    for token in [
        "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",
        "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",
        "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",
        "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",
    ] {
        check(token, true);
        // The same with another last character is what somebody wrote into a document.
        let (kept, last) = token.split_at(token.len() - 1);
        check(&[kept, if last == "A" { "B" } else { "A" }].concat(), false);
    }
}

#[test]
fn every_rule_is_whole() {
    let mut ids = BTreeSet::new();
    for (index, rule) in rules().iter().enumerate() {
        assert!(ids.insert(rule.id), "{} is there twice", rule.id);
        assert!(
            !rule.yes.is_empty() && !rule.no.is_empty(),
            "{} lacks examples",
            rule.id
        );
        assert!(
            rule.form == Form::Bare || !rule.keywords.is_empty(),
            "{}",
            rule.id
        );
        let regex = secrets().engine.regex(index);
        assert!(
            rule.pattern.is_empty() || regex.is_some(),
            "{} does not compile",
            rule.id
        );
    }
    assert!(rules().len() >= 250);
}

#[test]
fn rule_files_are_toml() {
    for (file, text) in engine::FILES {
        let read: toml_edit::DocumentMut = text.parse().unwrap();
        let tables = read["rule"].as_array_of_tables().unwrap();
        let ours = load::rules(file, text).unwrap();
        assert_eq!(tables.len(), ours.len(), "{file}");
        for (table, rule) in tables.iter().zip(ours) {
            assert_eq!(table["id"].as_str(), Some(rule.id));
            let pattern = table.get("pattern").and_then(|item| item.as_str());
            assert_eq!(pattern.unwrap_or(""), rule.pattern);
            let yes = table["yes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item.as_str().unwrap());
            assert!(yes.eq(rule.yes.iter().copied()), "{}", rule.id);
        }
    }
}

#[test]
fn a_broken_rule_is_named() {
    let check = |text: &'static str, expect: &str| {
        assert_eq!(load::rules("x.toml", text).unwrap_err().to_string(), expect);
    };
    check(
        "\n[[rule]]\nid = 'a'\n",
        "rule `a` in x.toml: `type` is missing",
    );
    check(
        "\n[[rule]]\nid = \"a\"\n",
        "rule `1` in x.toml: `id` is neither a literal string, a number nor a list",
    );
    check(
        "\n[[rule]]\nid = 'a'\ncolour = 'red'\n",
        "rule `a` in x.toml: unknown field `colour`",
    );
}

#[test]
fn one_wrong_character_of_a_checksum_silences_the_rule() {
    for rule in rules().iter().filter(|rule| rule.validator.is_checksum()) {
        for text in rule.positives() {
            let found = seen(&text);
            let span = found
                .iter()
                .find(|one| one.rule == rule.id)
                .unwrap()
                .span
                .clone();
            let last = span.end - 1;
            let other = if text.as_bytes()[last] == b'7' {
                "8"
            } else {
                "7"
            };
            let mut wrong = text.clone();
            wrong.replace_range(last..span.end, other);
            let fired = seen(&wrong).iter().any(|one| one.rule == rule.id);
            assert!(!fired, "{} fires without its checksum", rule.id);
        }
    }
}

#[test]
fn samples_show_little() {
    for rule in rules() {
        for detection in rule.positives().flat_map(|text| seen(&text)) {
            assert!(
                detection.sample.as_str().chars().count() <= 9,
                "{}",
                detection.rule
            );
        }
    }
}

#[test]
fn passwords_are_found_in_every_spelling() {
    let check = |text: &str| {
        let found = kinds(text);
        assert!(
            found.iter().any(|kind| kind.contains("password")),
            "{text}: {found:?}"
        );
    };
    check("password=Maple7!rivet");
    check("password: Maple7!rivet");
    check(r#"{"password":"Maple7!rivet"}"#);
    check(r#"{\"password\": \"Maple7!rivet\"}"#);
    check("'password' => 'Maple7!rivet',");
    check(r#"let password: &str = "Maple7!rivet";"#);
    check(r#"props.setProperty("password", "Maple7!rivet");"#);
    check("<password>Maple7!rivet</password>");
    check(r#"<add key="MailPassword" value="Maple7!rivet"/>"#);
    check(r#"{"name": "MAIL_PASSWORD", "value": "Maple7!rivet"}"#);
    check("- name: DB_PASSWORD\n  value: Maple7!rivet");
    check("tool --password Maple7!rivet --verbose");
    check("tool --password=Maple7!rivet");
    check("the password is Maple7!rivet, keep it safe");
    check("export DB_PASSWORD='Maple7!rivet'");
    check(r"DEBUG=1\nPASSWORD=Maple7!rivet\nPORT=80");
    check("if password == \"Maple7!rivet\":");
}

#[test]
fn what_only_looks_like_a_secret_is_let_pass() {
    let check = |text: &str| assert_eq!(kinds(text), Vec::<String>::new(), "{text}");
    check("password: string");
    check("password=${DB_PASSWORD}");
    check("password = os.environ['PASSWORD']");
    check("\"password\": \"<your-password>\"");
    check("PASSWORD=********");
    check("fn token(token: TokenStream) -> TokenStream");
    check("commit 3f786850e387550fdab836ed7e6dc881de23001b");
    check(
        "\"integrity\": \"sha512-9xQnU2bZk4vQXo7yC2b1Yh0a3mZl8fK5tR6wE1sD4gH7jL0pO3iU6yT9rE2wQ5aS8dF1gH4jK7lZ0xC3vB6nMg==\"",
    );
    check("id = 550e8400-e29b-41d4-a716-446655440000");
    check("git clone https://github.com/plum/app.git");
    check("postgres://postgres:postgres@localhost/app");
    check("-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----");
    check("Authorization: Bearer <token>");
    check("max_tokens: 4096, next_page_token: \"Cg0KBxIFCgNmb28SAggB\"");
    check("the secret to good bread is time");
}

#[test]
fn a_field_with_a_name_is_judged_by_it() {
    let check =
        |key: &str, value: &str, expect: &[&str]| assert_eq!(keyed(key, value), expect, "{key}");
    check("password", "hunter2x!", &["password"]);
    check("DB_PASSWORD", " Maple7!rivet\n", &["database_password"]);
    check(
        "headers.X-Api-Key",
        "q8Zk2Lw0Vb7Nc4Xe1Rt6",
        &["api_key_header"],
    );
    check(
        "TWILIO_AUTH_TOKEN",
        "4f9a1c7e2b8d3065a7c1e9f24b6d8035",
        &["twilio_token"],
    );
    check("password", "the password of the user", &[]);
    check("description", "hunter2x!", &[]);
    check("max_tokens", "4096", &[]);
    check("password_hash", "q8Zk2Lw0Vb7Nc4Xe1Rt6", &[]);
}

#[test]
fn a_name_of_several_words_is_one_name() {
    let check = |text: &str, expect: &str| assert_eq!(kinds(text), [expect], "{text}");
    check(
        "the vultr api key is K7QX2M9ZC4WB8T1RN5VD3HJ6GY0PLQ2ES9UA",
        "vultr_key",
    );
    check(
        "our personal access token is q8Zk2Lw0Vb7Nc4Xe1Rt6",
        "generic_secret",
    );
    check(
        "send it with api key q8Zk2Lw0Vb7Nc4Xe1Rt6Qm5",
        "generic_secret",
    );
    check(
        "--azure-devops-pat k3pwndpxykopvkrfaveeeyipqltsyhvuakamncqbkrgrovqxce2q",
        "azure_devops_pat",
    );
    check(
        "const scwSecretKey = \"85fd743d-db7e-4a51-abe5-ebb4e6f96479\";",
        "scaleway_secret_key",
    );
}

#[test]
fn the_surest_rule_speaks_for_a_secret() {
    let rule = rules().iter().find(|rule| rule.id == "github-ghp").unwrap();
    let token = rule.positives().next().unwrap();
    assert_eq!(kinds(&format!("GITHUB_TOKEN={token}")), ["github_pat"]);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "(?s)(token|pass|=|\"|\\\\|://|@|:|eyJ|-----BEGIN |.|[a-zA-Z0-9]{1,40}){0,40}") {
        for detection in seen(&text) {
            prop_assert!(text.get(detection.span).is_some());
        }
    }
}
