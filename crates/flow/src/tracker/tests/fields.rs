//! Whole fields and values: what they weigh, however they are written or cut.

use super::*;

#[test]
fn a_whole_field_weighs_by_what_it_says_and_not_by_its_length() {
    let deal = "We intend to acquire Nordwind AG for 41 million";
    let note = |text: &str| json!({"structuredContent": {"note": text}}).to_string();
    let check = |text: &str, expect: Option<Weight>| {
        let found = Desk::new().read(&note(text)).send(&message(text));
        assert_eq!(weight(&found), expect, "{text}");
        let loud = json!({"text": format!(" {} ", text.to_uppercase())}).to_string();
        let found = Desk::new().read(&note(text)).send(&loud);
        assert_eq!(weight(&found), expect, "{text}");
    };
    for text in [
        deal,
        "Kessler resigns on Friday",
        "Der Umzug nach Bremen ist verschoben",
        "我们打算以四千一百万欧元的价格收购北风公司",
    ] {
        check(text, Some(Weight::Notable));
    }
    for text in [
        "Thank you for your help with this.",
        "Please let me know if you have any questions",
        "https://tracker.example/browse/OPS-48213",
        "see https://tracker.example/browse/OPS-48213",
        "OPS-48213-BERLIN-NORTH-7",
        "deploy/production/eu-west/config.yaml",
        "Wed, 18 Nov 2026 20:54:26 GMT",
        "0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e90",
        "numberOfOpenInvoicesTotal",
        "application/vnd.openxmlformats",
        "Katarina Mikkelsen-Lindqvist",
    ] {
        check(text, Some(Weight::Trace));
    }
    // Shorter than what is hashed, or not the whole of it.
    check("Kessler resigns", None);
    let found = Desk::new().read(&note(deal)).send(&message("Nordwind AG"));
    assert!(weight(&found) <= Some(Weight::Trace));
    let least = FlowTracking {
        hash_min_length: 64,
        ..FlowTracking::default()
    };
    let found = Desk::with(&least).read(&note(deal)).send(&message(deal));
    assert!(weight(&found) <= Some(Weight::Trace));
}

#[test]
fn a_whole_field_that_others_or_the_agent_said_first_weighs_nothing() {
    let deal = "We intend to acquire Nordwind AG for 41 million";
    let me = whose(ME, ME);
    let note = json!({ "note": deal }).to_string();
    let least = |said: &Desk| {
        let found = said.read(&note).send(&message(deal));
        assert!(weight(&found) < Some(Weight::Notable), "{found:?}");
    };
    let desk = Desk::new();
    desk.read_as(me, Side::Outside, "web", &note, &[]);
    least(&desk);
    let desk = Desk::new();
    let page = format!("As the paper has it: {deal}, and nobody knows more than that.");
    desk.read_as(me, Side::Outside, "web", &page, &[]);
    least(&desk);
    let desk = Desk::new();
    let prompt = format!("Tell them: {deal}.");
    let content = |json| Content { json, marked: &[] };
    let by = origin(desk.call(), Side::Inside, "user");
    desk.tracker.prompted(me, by, &content(&prompt), NOW);
    least(&desk);
    let desk = Desk::new();
    let by = origin(desk.call(), Side::Inside, "files");
    desk.tracker.said(me, by, &content(&note), NOW);
    least(&desk);
    // What goes back inside is found, and whoever asks about such a flow is told.
    let desk = Desk::new();
    let found = desk.read(&note).send(&note);
    assert_eq!(weight(&found), Some(Weight::Notable));
}

#[test]
fn a_value_that_is_recognized_is_not_reported_as_unreadable_as_well() {
    let blob = "qX7vPz1KfYw0Rr8mTcJ2Lh5NsGd3Ub";
    let check = |text: &str, nature: Nature, expect: &[&str]| {
        let desk = Desk::new();
        let found = desk
            .read_secret(&env_file(), KEY, nature)
            .send(&json!({"a": "hello", "text": text, "other": expect}).to_string());
        assert_eq!(
            weight(&found) >= Some(Weight::Notable),
            text.contains("qz9")
        );
        let strange = found.opaque.iter().filter(|one| &*one.place == "text");
        assert_eq!(strange.count(), expect.len(), "{text}");
    };
    let turned: String = KEY.chars().rev().collect();
    for nature in [Nature::Secret, Nature::Personal, Nature::Typed] {
        check(KEY, nature, &[]);
        check(&format!("the key is {KEY}, as agreed"), nature, &[]);
        check(&format!("API_KEY={KEY}"), nature, &[]);
    }
    let found = Desk::new()
        .read_secret(&env_file(), KEY, Nature::Secret)
        .send(&message(&turned));
    assert!(found.opaque.is_empty(), "{found:?}");
    // What is something else stays what nobody can read, also beside a value.
    check(blob, Nature::Secret, &[""]);
    check(
        &format!("{KEY} and then {blob}{blob}"),
        Nature::Secret,
        &[""],
    );
    let found = Desk::new()
        .read_secret(&env_file(), KEY, Nature::Secret)
        .send(&json!({"a": KEY, "b": blob}).to_string());
    assert_eq!(found.opaque.len(), 1);
}

#[test]
fn a_number_is_the_same_however_it_is_written() {
    let numbers = [41_234_u32, 52_345, 63_456, 74_567, 85_678, 96_789];
    let list = |write: &dyn Fn(u32) -> String| {
        let list: Vec<String> = numbers.iter().map(|one| write(*one)).collect();
        let [list, lines] = [", ", "\n"].map(|between| list.join(between));
        let rows: Vec<String> = numbers
            .iter()
            .map(|one| format!(r#"{{"pay":{}}}"#, write(*one)))
            .collect();
        [
            format!(r#"{{"pay":[{list}]}}"#),
            format!(r#"{{"rows":[{}]}}"#, rows.join(",")),
            json!({ "text": lines }).to_string(),
        ]
    };
    let forms: [&dyn Fn(u32) -> String; 4] = [
        &|one| one.to_string(),
        &|one| format!("{one}.0"),
        &|one| format!("{one}.00"),
        &|one| format!("{}.{}e4", one / 10_000, one % 10_000),
    ];
    for (read, sent) in [(0, 1), (0, 2), (0, 3), (1, 0), (3, 0), (1, 3), (2, 1)] {
        for (read, sent) in list(forms[read]).iter().zip(list(forms[sent])) {
            let found = Desk::new().read(read).send(&sent);
            assert_eq!(weight(&found), Some(Weight::Notable), "{read} {sent}");
        }
    }
    let rows = list(&|one| one.to_string());
    let other = list(&|one| format!("{}.0", one + 1));
    let found = Desk::new().read(&rows[0]).send(&other[0]);
    assert!(weight(&found) <= Some(Weight::Trace));
}
