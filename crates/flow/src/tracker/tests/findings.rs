//! What is found, how it is shown, and what it weighs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_core::{FlowType, Likeness, RiskLevel};

use super::*;
use crate::digest::digest;
use crate::session::Edge;

#[test]
fn evidence_names_how_where_and_whence() {
    let desk = Desk::new();
    let body = "Quarterly figures are below plan in every region but one";
    desk.read(&json!({"id": 7, "body": body}).to_string());
    let check = |json: String, how: Likeness, place: &str| {
        let evidence = desk.send_as(whose(ME, ME), &json, &json, true);
        let found = evidence.heaviest().unwrap();
        assert_eq!((found.how, &*found.place), (how, place), "{json}");
        assert_eq!(found.origin.upstream.as_str(), "files");
        assert!(found.shared >= 24, "{}", found.shared);
    };
    check(
        json!({"id": 7, "body": body}).to_string(),
        Likeness::Exact,
        "",
    );
    check(
        json!({"a": {"b": [1, body]}}).to_string(),
        Likeness::Field,
        "a.b[1]",
    );
    check(
        json!({"a": body.to_uppercase()}).to_string(),
        Likeness::Normalized,
        "a",
    );
    check(
        json!({"a": format!("so: {body}!")}).to_string(),
        Likeness::Fragment,
        "a",
    );
    check(
        json!({"a": STANDARD.encode(body)}).to_string(),
        Likeness::Encoded,
        "a",
    );
    let (one, two) = body.split_at(28);
    check(
        json!({"a": one, "b": two}).to_string(),
        Likeness::Pieces,
        "a",
    );
}

#[test]
fn an_origin_says_whence_when_and_of_which_side_and_its_values_what_they_are() {
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    let evidence = desk.send(&env_file());
    let found = evidence.heaviest().unwrap();
    let call = found.origin.call.millis();
    assert_eq!(found.origin, origin(call, Side::Inside, "files"));
    assert_eq!(found.label, Some(label(Nature::Secret)));
    // The hash of the whole leads to the same origin.
    let desk = Desk::new();
    desk.read(PROSE);
    let evidence = desk.send(PROSE);
    let found = evidence.heaviest().unwrap();
    assert_eq!((found.how, &found.label), (Likeness::Exact, &None));
    let call = found.origin.call.millis();
    assert_eq!(found.origin, origin(call, Side::Inside, "files"));
}

#[test]
fn an_edge_says_from_where_by_which_tool_in_which_direction_at_what_risk_and_with_what_hash() {
    let desk = Desk::new();
    let me = whose(ME, ME);
    let edges = || desk.tracker.session(me.session).unwrap().edges;
    let body = "Quarterly figures are below plan in every region but one";
    let public = "The museum by the river opens at nine on Sundays and at ten else";
    desk.read(&json!({ "body": body }).to_string());
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    desk.read_as(me, Side::Outside, "web", public, &[]);
    desk.send(&json!({ "a": body, "b": public, "c": format!("key {KEY}") }).to_string());
    let call = CallId::new(desk.calls.get(), 0);
    let of = |upstream: &str, weight: Weight| {
        let fits = |edge: &Edge| edge.origin.upstream.as_str() == upstream && edge.weight == weight;
        edges().into_iter().find(fits).unwrap()
    };
    let own = of("files", Weight::Notable);
    assert_eq!(
        (own.call, &*own.to, own.tool.as_str()),
        (call, "slack", "read")
    );
    assert_eq!(own.origin.call.millis(), 2);
    // The hash of the field that moved is that of the field that was read, as the specification
    // has it.
    assert_eq!(own.hash, Some(digest(body)));
    assert_eq!(of("web", Weight::Trace).hash, Some(digest(public)));
    let hash = digest(&format!("key {KEY}"));
    assert_eq!(of("files", Weight::Sensitive).hash, Some(hash));
    let judged = || {
        let of = |upstream, weight| {
            let edge = of(upstream, weight);
            (edge.flow, edge.risk)
        };
        [
            of("files", Weight::Notable),
            of("files", Weight::Sensitive),
            of("web", Weight::Trace),
        ]
    };
    let (out, pass) = (FlowType::InternalToExternal, FlowType::ExternalToExternal);
    let none = RiskLevel::None;
    assert_eq!(judged(), [(out, none), (out, none), (pass, none)]);
    // Another call is another matter.
    let other = CallId::new(1, 0);
    desk.tracker
        .note_flow(me, other, out, RiskLevel::Critical, NOW);
    assert_eq!(judged(), [(out, none), (out, none), (pass, none)]);
    desk.tracker
        .note_flow(me, call, out, RiskLevel::Critical, NOW);
    let (medium, critical) = (RiskLevel::Medium, RiskLevel::Critical);
    assert_eq!(judged(), [(out, medium), (out, critical), (pass, none)]);
    desk.tracker.note_flow(me, call, out, RiskLevel::High, NOW);
    let high = RiskLevel::High;
    assert_eq!(judged(), [(out, high), (out, high), (pass, none)]);
}

#[test]
fn what_is_too_short_to_be_hashed_moves_without_a_hash() {
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    let (short, _) = KEY.split_at(19);
    // Fields of JSON inside a string are not told apart.
    let nested = json!({ "one": format!("{KEY} one"), "two": "more than twenty characters" });
    for text in [short.to_owned(), nested.to_string()] {
        desk.send(&message(&text));
        let edges = desk.tracker.session(session(ME)).unwrap().edges;
        let call = CallId::new(desk.calls.get(), 0);
        let mut last = edges.iter().filter(|edge| edge.call == call);
        let last = last.find(|edge| edge.weight == Weight::Sensitive).unwrap();
        assert_eq!(last.hash, None, "{text}");
    }
}

#[test]
fn how_much_is_hashed_is_configured() {
    let check = |settings: FlowTracking, read: &str, sent: &str, expect: Option<Likeness>| {
        let evidence = Desk::with(&settings).read(read).send(sent);
        let found = evidence.heaviest().map(|one| one.how);
        assert_eq!(found, expect, "{settings:?}");
    };
    let least = |hash_min_length| FlowTracking {
        hash_min_length,
        ..FlowTracking::default()
    };
    let short = json!({ "a": "to be seen by few" }).to_string();
    let other = json!({ "b": "to be seen by few" }).to_string();
    check(least(20), &short, &other, None);
    check(least(17), &short, &other, Some(Likeness::Field));
    let most = |max_response_hash_bytes| FlowTracking {
        max_response_hash_bytes,
        ..FlowTracking::default()
    };
    let ends = |end: &str| format!("{PROSE} {end}");
    let (one, two) = (ends("That is all."), ends("More is to come."));
    check(most(65_536), &one, &two, Some(Likeness::Fragment));
    check(most(64), &one, &two, Some(Likeness::Exact));
}

#[test]
fn what_is_public_or_common_is_not_held_against_anyone() {
    let licence = include_str!("../../common/licence.txt")
        .lines()
        .next()
        .unwrap();
    let desk = Desk::new();
    desk.read(licence);
    assert_eq!(weight(&desk.send(&message(licence))), Some(Weight::Trace));
    // It came from outside first.
    let desk = Desk::new();
    desk.read_as(whose(ME, ME), Side::Outside, "web", PROSE, &[]);
    desk.read(PROSE);
    assert_eq!(weight(&desk.send(&message(&format!("so: {PROSE}")))), None);
    // It came from outside only after it was known inside.
    let desk = Desk::new();
    desk.read(PROSE);
    desk.read_as(whose(ME, ME), Side::Outside, "web", PROSE, &[]);
    assert_eq!(weight(&desk.send(&message(PROSE))), Some(Weight::Notable));
    // A secret stays one, whoever else knows it.
    let desk = Desk::new();
    desk.read_as(whose(ME, ME), Side::Outside, "web", &env_file(), &[]);
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    assert_eq!(weight(&desk.send(&message(KEY))), Some(Weight::Sensitive));
}

#[test]
fn tokens_weigh_little_alone_and_more_together() {
    let ticket = json!({
        "ticket": "OPS-48213", "customer": "K-7719-ABX", "order": 83_002_917,
        "url": "https://tracker.example/browse/OPS-48213",
    });
    let check = |text: &str, expect: Option<Weight>| {
        let evidence = Desk::new().read(&ticket.to_string()).send(&message(text));
        assert_eq!(weight(&evidence), expect, "{text}");
    };
    check("nothing of it", None);
    check("please look at OPS-48213", Some(Weight::Trace));
    check(
        "see https://tracker.example/browse/OPS-48213",
        Some(Weight::Trace),
    );
    check(
        "OPS-48213: K-7719-ABX ordered 83002917",
        Some(Weight::Notable),
    );
    // The destination knows it already, since it said so itself.
    let desk = Desk::new();
    desk.read_as(
        whose(ME, ME),
        Side::Outside,
        "slack",
        "about OPS-48213",
        &[],
    );
    desk.read(&ticket.to_string());
    assert_eq!(weight(&desk.send(&message("done with OPS-48213"))), None);
    let other = desk.send_as(
        whose(ME, ME),
        "pastebin",
        &message("done with OPS-48213"),
        true,
    );
    assert_eq!(weight(&other), Some(Weight::Trace));
}

#[test]
fn what_nobody_can_read_is_reported_after_a_private_reading() {
    let blob: Vec<u8> = (0..96_u64)
        .flat_map(|n| crate::roll::scramble(n).to_le_bytes())
        .collect();
    let json = message(&STANDARD.encode(&blob));
    let desk = Desk::new();
    let me = whose(ME, ME);
    assert!(desk.send_as(me, "slack", &json, false).opaque.is_empty());
    desk.read(PROSE);
    let evidence = desk.send(&json);
    assert_eq!(evidence.opaque.len(), 1);
    // What has left before is no news.
    assert!(desk.send(&json).opaque.is_empty());
    assert_eq!(&*evidence.opaque[0].place, "text");
    assert!(evidence.opaque[0].bytes >= 700);
    assert!(
        desk.send(&message(
            "nothing but words, and enough of them to fill a line"
        ))
        .opaque
        .is_empty()
    );
}

#[test]
fn what_nobody_can_read_is_not_laundered_by_saying_it_elsewhere() {
    let blob: Vec<u8> = (0..96_u64)
        .flat_map(|n| crate::roll::scramble(n).to_le_bytes())
        .collect();
    let json = message(&STANDARD.encode(&blob));
    let me = whose(ME, ME);
    let desk = Desk::new();
    desk.read(PROSE);
    // To an inside tool, and to another place outside.
    desk.send_as(me, "files", &json, true);
    desk.send_as(me, "mail", &json, true);
    assert_eq!(desk.send(&json).opaque.len(), 1);
    // What was read inside is no better than what was read nowhere.
    let desk = Desk::new();
    desk.read(&json);
    assert_eq!(desk.send(&json).opaque.len(), 1);
}

#[test]
fn one_of_many_values_that_look_alike_is_found() {
    let desk = Desk::new();
    let name = |number: u32| format!("someone{number}@corvane-freight.com");
    let all: Vec<String> = (1000..3000).map(name).collect();
    let marked: Vec<Marked<'_>> = all
        .iter()
        .map(|value| Marked {
            value: Cow::Borrowed(value),
            label: label(Nature::Typed),
            place: Cow::Borrowed(""),
        })
        .collect();
    let json = json!({ "people": all }).to_string();
    desk.read_as(whose(ME, ME), Side::Inside, "crm", &json, &marked);
    let labelled = |text: &str| {
        let found = desk.send(&message(text)).matches;
        found.iter().filter(|one| one.label.is_some()).count()
    };
    assert_eq!(labelled("write to our mail corvane-freight.com, please"), 0);
    assert_eq!(labelled("write to someone2999@corvane-freight.com"), 1);
    assert_eq!(labelled("moc.thgierf-enavroc@7271enoemos"), 1);
}

#[test]
fn an_origin_says_which_call_read_it_of_whom_and_when() {
    let desk = Desk::new();
    desk.read(PROSE);
    let read = desk.calls.get();
    let found = desk.send(&message(PROSE)).matches.remove(0);
    assert_eq!(found.origin, origin(read, Side::Inside, "files"));
    let shown = serde_json::to_value(&found.origin).unwrap();
    assert_eq!(shown["call"], CallId::new(read, 0).to_string());
    assert_eq!(
        (&shown["upstream"], &shown["side"]),
        (&json!("files"), &json!("inside"))
    );
    assert_eq!(shown["at"], Wall(read).rfc3339());
    // The edge joins the call that read with the one that sent.
    let edge = desk.tracker.session(session(ME)).unwrap().edges.remove(0);
    assert_eq!(
        (edge.origin.call, edge.call),
        (CallId::new(read, 0), CallId::new(read + 1, 0))
    );
}

#[test]
fn a_key_that_is_a_secret_is_not_told() {
    let check = |text: &str| {
        let desk = Desk::new();
        desk.read_secret(&env_file(), KEY, Nature::Secret);
        let checked = desk.send(text);
        let evidence = format!("{checked:?}");
        assert!(!evidence.contains(KEY.get(..8).unwrap()), "{evidence}");
        assert!(evidence.contains(crate::content::SECRET_KEY), "{evidence}");
    };
    check(&format!(r#"{{"channel":"general","{KEY}":"x"}}"#));
    check(&format!(
        r#"{{"channel":"general","a":{{"{KEY}":{{"b":"{KEY}"}}}}}}"#
    ));
    let reversed: String = KEY.chars().rev().collect();
    check(&format!(r#"{{"{reversed}":"x"}}"#));
    // A name that a field has at its source, too, is told.
    let desk = Desk::new();
    let source = r#"{"text":"the board has not yet seen the figures of the northern warehouses"}"#;
    desk.read(source);
    let evidence = format!("{:?}", desk.send(source));
    assert!(!evidence.contains(crate::content::SECRET_KEY), "{evidence}");
}

#[test]
fn what_was_read_as_a_secret_is_known_in_any_text() {
    let desk = Desk::new();
    let me = whose(ME, ME);
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    desk.read_secret("{\"pin\":\"a7f3\"}", "a7f3", Nature::Secret);
    desk.read_secret(
        "{\"mail\":\"ann@corvane.com\"}",
        "ann@corvane.com",
        Nature::Typed,
    );
    let check = |text: &str, expect: bool| {
        assert_eq!(desk.tracker.known(me, text).is_some(), expect, "{text}");
    };
    check(KEY, true);
    check(&format!("send {KEY} to them, because"), true);
    check(&KEY.to_uppercase(), true);
    check(KEY.get(..20).unwrap(), true);
    check("the door opens with A7F3 today", true);
    check("a7f31 is another", false);
    check(KEY.get(..5).unwrap(), false);
    check("what everybody may read", false);
    check("write to ann@corvane.com", false);
    check("", false);
    assert!(
        desk.tracker.known(whose(9, 9), KEY).is_none(),
        "of somebody else"
    );
    // A summary and a view name no tool by it.
    let mut named = origin(50, Side::Outside, "agent");
    named.tool = ToolName::new(KEY);
    let content = Content {
        json: "{\"a\":\"some words of an answer\"}",
        marked: &[],
    };
    desk.tracker.record(me, named, &content, NOW);
    let view = desk.tracker.session(me.session).unwrap();
    assert!(!format!("{view:?}").contains(KEY), "{view:?}");
    let ended = desk.tracker.finish();
    assert!(ended.iter().all(|one| !format!("{one:?}").contains(KEY)));
    assert!(
        ended
            .iter()
            .any(|one| one.tools.iter().any(|tool| tool.contains("withheld")))
    );
}

/// Digits in the place of letters are all that makes such a password a secret.
#[test]
fn a_password_of_everyday_words_does_not_forbid_the_words() {
    let check = |value: &str, text: &str, expect: bool| {
        let desk = Desk::new();
        desk.read_secret(
            &json!({ "password": value }).to_string(),
            value,
            Nature::Secret,
        );
        let evidence = desk.send(&json!({ "query": text }).to_string());
        let found = evidence.matches.iter().any(|one| one.label.is_some());
        assert_eq!(found, expect, "{value}: {text}");
    };
    for (value, text) in [
        ("p4ssw0rd!", "postgres reset password"),
        ("h3ll0w0rld", "rust hello world example"),
        ("sup3rs3cr3t", "a super secret handshake"),
        ("Passw0rd123", "redis password 123"),
    ] {
        check(value, text, false);
        check(value, &format!("it is {value}"), true);
        check(
            value,
            &STANDARD.encode(format!("login: {value} and more")),
            true,
        );
    }
    check("correcthorsebattery", "correct horse battery", true);
    check("Kx7Qm2Vb9TkwYpR4sNdLc6Gf", "kx7qm2vb9tkwypr4", true);
}

#[test]
fn an_answer_full_of_values_makes_room_for_what_is_read_later() {
    let desk = Desk::new();
    let (me, other) = (whose(ME, ME), whose(ME, 7));
    let (old, new) = (random(1, 24), random(2, 24));
    desk.read_secret(&format!("OLD={old}"), &old, Nature::Secret);
    for round in 0..6 {
        let lengths = [(33, 3_000), (60, 36), (40, 24)];
        let lengths = lengths
            .iter()
            .flat_map(|&(count, length)| vec![length; count]);
        let seeded = lengths.zip(round * 1000 + 1000..);
        let fill: Vec<String> = seeded.map(|(length, seed)| random(seed, length)).collect();
        let marked: Vec<Marked<'_>> = fill
            .iter()
            .map(|value| Marked {
                value: Cow::Borrowed(value),
                label: label(Nature::Secret),
                place: Cow::Borrowed(""),
            })
            .collect();
        let json = json!(fill).to_string();
        desk.read_as(me, Side::Inside, "github", &json, &marked);
    }
    desk.read_secret(&format!("API_TOKEN={new}"), &new, Nature::Secret);
    for value in [old, new] {
        let reversed: String = value.chars().rev().collect();
        for text in [&value, &reversed] {
            let found = desk.send_as(other, "slack", &message(text), false);
            assert_eq!(weight(&found), Some(Weight::Sensitive), "{text}");
        }
    }
}

#[test]
fn any_run_of_a_long_secret_is_found() {
    let value = random(1, 3_000);
    let desk = Desk::new();
    desk.read_secret(&format!("KEY={value}"), &value, Nature::Secret);
    for at in (0..value.len() - 29).step_by(53) {
        let run = value.get(at..at + 29).unwrap();
        let reversed: String = run.chars().rev().collect();
        for text in [run, &reversed] {
            let found = desk.send_as(whose(ME, ME), &format!("to-{at}"), &message(text), false);
            assert_eq!(weight(&found), Some(Weight::Sensitive), "{at}");
        }
    }
    assert!(
        desk.tracker
            .known(whose(ME, ME), value.get(100..129).unwrap())
            .is_some()
    );
}

#[test]
fn a_short_credential_is_asked_about_and_its_word_is_not() {
    let check = |read: &str, text: &str, expect: Option<Weight>| {
        let desk = Desk::new();
        desk.read(&json!({ "text": read }).to_string());
        assert_eq!(weight(&desk.send(&message(text))), expect, "{read}: {text}");
    };
    let asked = Some(Weight::Notable);
    for (read, texts) in [
        (
            "API_KEY=GX-20443-B",
            ["GX-20443-B", "gx 20443 b", "B-34402-XG"],
        ),
        ("password: hunter2", ["hunter2", "HUNTER2", "hunter-2"]),
        (
            "DB_PASSWORD=letmein99",
            ["letmein99", "let.me.in.99", "LETMEIN99"],
        ),
        (
            "The door code is 9KTUMAFGrM",
            ["9KTUMAFGrM", "9ktum-afgrm", "MrGFAMUTK9"],
        ),
    ] {
        for text in texts {
            check(read, &format!("the word is {text}"), asked);
        }
    }
    check("password: hunter2", "the hunter is in the forest", None);
    check("DB_PASSWORD=letmein99", "they did not let me in", None);
}
