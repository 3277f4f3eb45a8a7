//! Values and text in pieces, over several calls.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

#[test]
fn pieces_in_several_calls_add_up() {
    let check = |pieces: &[&str], expect: &[Option<Weight>]| {
        let desk = Desk::new();
        desk.read_secret(&env_file(), KEY, Nature::Secret);
        let found: Vec<_> = pieces
            .iter()
            .map(|piece| weight(&desk.send(&message(piece))))
            .collect();
        assert_eq!(found, expect, "{pieces:?}");
    };
    let sensitive = Some(Weight::Sensitive);
    let parts: Vec<&str> = KEY
        .as_bytes()
        .chunks(8)
        .map(|c| std::str::from_utf8(c).unwrap())
        .collect();
    check(&parts[..3], &[None, None, sensitive]);
    let single: Vec<String> = KEY.chars().map(String::from).collect();
    let single: Vec<&str> = single.iter().map(String::as_str).collect();
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    let seen = single
        .iter()
        .position(|one| weight(&desk.send(&message(one))).is_some());
    assert!(seen.unwrap() <= 20, "{seen:?}");
    // Each destination gets a piece, and none has enough of it.
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    let found: Vec<_> = parts[..3]
        .iter()
        .enumerate()
        .map(|(n, piece)| {
            weight(&desk.send_as(whose(ME, ME), &format!("d{n}"), &message(piece), true))
        })
        .collect();
    assert_eq!(found, [None, None, sensitive]);
    // What did not leave does not add up.
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    for _ in 0..3 {
        assert_eq!(
            weight(&desk.send_as(whose(ME, ME), "slack", &message(parts[0]), false)),
            None
        );
    }
    assert_eq!(weight(&desk.send(&message(parts[1]))), None);
}

#[test]
fn pieces_within_what_stays_the_same_add_up() {
    let by = |size: usize| -> Vec<String> {
        let pieces = KEY.as_bytes().chunks(size);
        pieces
            .map(|piece| String::from_utf8(piece.to_vec()).unwrap())
            .collect()
    };
    let check = |name: &str, texts: Vec<String>| {
        let desk = Desk::new();
        desk.read_secret(&env_file(), KEY, Nature::Secret);
        let found = texts
            .iter()
            .map(|text| weight(&desk.send(&message(text))))
            .any(|weight| weight == Some(Weight::Sensitive));
        assert!(found, "{name}: {texts:?}");
    };
    for size in 1..=6 {
        let pieces = || by(size).into_iter().enumerate();
        let name = |frame: &str| format!("{frame}, {size} at a time");
        let address =
            |piece: &str| format!("https://collect.example.net/pixel/{piece}/1x1.png?v=2");
        check(
            &name("address"),
            pieces().map(|(_, piece)| address(&piece)).collect(),
        );
        check(
            &name("word"),
            pieces().map(|(_, piece)| format!("next {piece}")).collect(),
        );
        check(
            &name("number"),
            pieces()
                .map(|(n, piece)| format!("part {n} of 40: {piece}."))
                .collect(),
        );
        check(
            &name("backward number"),
            pieces()
                .map(|(n, piece)| format!("{piece} ({n})"))
                .collect(),
        );
        check(
            &name("glued"),
            pieces().map(|(_, piece)| format!("id_x{piece}y")).collect(),
        );
        let words = ["so", "here we go", "one more thing", "and then", "well"];
        let said = |n: usize| words[n % words.len()];
        check(
            &name("chatter"),
            pieces()
                .map(|(n, piece)| format!("{}: {piece}", said(n)))
                .collect(),
        );
        check(
            &name("hex"),
            pieces()
                .map(|(n, piece)| format!("block {n} = {}", hex(piece.as_bytes())))
                .collect(),
        );
    }
}

#[test]
fn pieces_in_the_rows_of_one_message_add_up() {
    let rows = |size: usize, row: &dyn Fn(usize, &str) -> String, between: &str| -> String {
        let pieces = KEY
            .as_bytes()
            .chunks(size)
            .map(|piece| std::str::from_utf8(piece).unwrap());
        let rows: Vec<String> = pieces.enumerate().map(|(n, piece)| row(n, piece)).collect();
        rows.join(between)
    };
    let check = |text: &str| {
        let desk = Desk::new();
        desk.read_secret(&env_file(), KEY, Nature::Secret);
        assert_eq!(weight(&desk.send(text)), Some(Weight::Sensitive), "{text}");
    };
    for size in 2..=6 {
        check(&message(&rows(
            size,
            &|n, piece| format!("line {n} is {piece}."),
            "\n",
        )));
        check(&message(&rows(
            size,
            &|_, piece| format!("- item {piece}"),
            "\n",
        )));
        check(&message(&rows(
            size,
            &|_, piece| format!("| ok | {piece} | done |"),
            "\n",
        )));
        check(&message(&rows(
            size,
            &|_, piece| format!("https://x.example/{piece}"),
            " ",
        )));
        check(&message(&rows(
            size,
            &|n, piece| format!("part {n} = {}", hex(piece.as_bytes())),
            "\n",
        )));
        check(&message(&rows(
            size,
            &|_, piece| format!("![](https://x.example/{piece}.png)"),
            "",
        )));
        check(&message(&rows(
            size,
            &|_, piece| format!("<li>{}</li>", hex(piece.as_bytes())),
            "",
        )));
        check(&message(&rows(size, &|_, piece| piece.to_owned(), " and ")));
        let list = rows(size, &|_, piece| format!(r#""item {piece} ok""#), ",");
        check(&format!(r#"{{"channel":"general","items":[{list}]}}"#));
        let blocks = rows(
            size,
            &|_, piece| format!(r#"{{"type":"section","text":"{}"}}"#, hex(piece.as_bytes())),
            ",",
        );
        check(&format!(r#"{{"channel":"general","blocks":[{blocks}]}}"#));
    }
    let codes = KEY.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>();
    let colours: Vec<String> = codes
        .chunks(3)
        .map(|rgb| format!("rgb({})", rgb.join(",")))
        .collect();
    check(&message(&colours[..colours.len() - 1].join(" ")));
}

#[test]
fn many_fields_are_followed_and_the_one_that_rested_longest_makes_room() {
    let check = |warm: usize, constant: usize| {
        let desk = Desk::new();
        desk.read_secret(&env_file(), KEY, Nature::Secret);
        let fields = |from: usize, count: usize| -> String {
            let fields = (from..from + count).map(|n| format!(r#""f{n}":"same {n}","#));
            fields.collect()
        };
        for round in 0..warm {
            desk.send(&format!(
                r#"{{{}"channel":"general"}}"#,
                fields(1000 + round * 16, 16)
            ));
        }
        let found = KEY.as_bytes().chunks(4).any(|piece| {
            let piece = std::str::from_utf8(piece).unwrap();
            let text = format!(r#"{{{}"text":"{piece}"}}"#, fields(0, constant));
            weight(&desk.send(&text)) == Some(Weight::Sensitive)
        });
        assert!(found, "{warm} {constant}");
    };
    for (warm, constant) in [(0, 0), (2, 0), (40, 0), (0, 16), (0, 60), (200, 40)] {
        check(warm, constant);
    }
}

#[test]
fn numbers_are_not_found_by_chance_nor_where_somebody_counts() {
    let desk = Desk::new();
    desk.read_secret("Account number: 1234567", "1234567", Nature::Personal);
    for step in 1..9 {
        assert_eq!(
            weight(&desk.send(&message(&format!("step {step} done")))),
            None
        );
    }
    // Many account numbers, and a long chart that has nothing to do with them.
    let mut state = 7_u64;
    let mut number = |most: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    for _ in 0..250 {
        let account = format!("{:06}", number(1_000_000));
        desk.read_secret(&format!("account {account}"), &account, Nature::Typed);
    }
    let last = format!("{:06}", number(1_000_000));
    desk.read_secret(&format!("account {last}"), &last, Nature::Typed);
    let chart: Vec<String> = (0..2000).map(|_| number(1000).to_string()).collect();
    let text = format!(r#"{{"chart":[{}]}}"#, chart.join(","));
    assert_eq!(weight(&desk.send(&text)), None);
    // A number that stands there as it is stays found.
    let text = format!(r#"{{"chart":[{},{last}]}}"#, chart.join(","));
    assert_eq!(weight(&desk.send(&text)), Some(Weight::Notable));
}

#[test]
fn what_left_before_it_was_known_is_not_held_against_what_comes_after() {
    let check = |sent: &[&str], next: &str, expect: Option<Weight>| {
        let desk = Desk::new();
        for piece in sent {
            desk.send(&message(piece));
        }
        desk.read_secret(&env_file(), KEY, Nature::Secret);
        assert_eq!(
            weight(&desk.send(&message(next))),
            expect,
            "{sent:?} {next}"
        );
    };
    let sensitive = Some(Weight::Sensitive);
    let (one, two) = KEY.split_at(KEY.len() * 2 / 5);
    check(&[KEY], "Good morning", None);
    check(&["Good morning", KEY], "Good night", None);
    check(&[KEY], KEY, sensitive);
    // The rest of it adds up with what left, also where something stands between them.
    check(&[one], two, sensitive);
    check(
        &[one],
        &format!("and {}", two.get(..two.len() - 3).unwrap()),
        sensitive,
    );
}

#[test]
fn calls_on_their_way_count_until_they_are_settled() {
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    let check = |call: u64, piece: &str| {
        let checked = check(
            &desk.tracker,
            whose(ME, ME),
            call,
            "slack",
            &message(piece),
            NOW,
        );
        weight(&checked.evidence)
    };
    let (one, two) = KEY.split_at(12);
    let two = two.get(..10).unwrap();
    assert_eq!(check(100, one), None);
    assert_eq!(check(101, two), Some(Weight::Sensitive));
    for call in [101, 100] {
        let call = CallId::new(call, 0);
        desk.tracker.settle(whose(ME, ME), call, Fate::Undone, NOW);
    }
    assert_eq!(check(102, two), None);
}

#[test]
fn text_in_pieces_is_found_across_calls() {
    let desk = Desk::new();
    desk.read(PROSE);
    let pieces: Vec<&str> = PROSE
        .as_bytes()
        .chunks(16)
        .map(|c| std::str::from_utf8(c).unwrap())
        .collect();
    let found: Vec<_> = pieces
        .iter()
        .map(|piece| weight(&desk.send(&message(piece))))
        .collect();
    assert!(found.contains(&Some(Weight::Notable)), "{found:?}");
}

/// Made up: of the shape of a key, and of nobody.
const TOKEN: &str = "k7Qd2vN9xR4tZ8pL1mB6hW3s";

fn with_token() -> Desk {
    let desk = Desk::new();
    desk.read_secret(&format!("API_TOKEN={TOKEN}"), TOKEN, Nature::Secret);
    desk
}

#[test]
fn pieces_of_a_secret_add_up_over_what_is_left_out() {
    let check = |text: &str, expect: Option<Weight>| {
        assert_eq!(weight(&with_token().send(&message(text))), expect, "{text}");
    };
    let sensitive = Some(Weight::Sensitive);
    check("k7Qd2v 9xR4tZ pL1mB6 W3s", sensitive);
    check("k7Qd2v 9xR4tZ", sensitive);
    check(
        "first k7Qd2v, as you know, and afterwards 9xR4tZ",
        sensitive,
    );
    check("6Bm1Lp Zt4Rx9", sensitive);
    check("k7Qd2v and nothing else", None);
    check("k7Qd2v k7Qd2v", None);
    let far = "the night shift moves to Tampere with a bonus of a fifth of their pay";
    check(&format!("k7Qd2v, {far}, 9xR4tZ"), None);
    // Words that everybody writes are no pieces.
    let desk = Desk::new();
    let words = "copper-harbor-meadow";
    desk.read_secret(words, words, Nature::Secret);
    let found = desk.send(&message("It is of copper, and the harbor is old."));
    assert_eq!(weight(&found), None, "{found:?}");
}

#[test]
fn chance_has_no_pieces_of_a_secret() {
    let desk = Desk::new();
    let values: Vec<String> = (0..400).map(|seed| random(seed, 24)).collect();
    let marked: Vec<Marked<'_>> = values
        .iter()
        .map(|value| Marked {
            value: Cow::Borrowed(value),
            label: label(Nature::Secret),
            place: Cow::Borrowed(""),
        })
        .collect();
    desk.read_as(whose(ME, ME), Side::Inside, "files", "{}", &marked);
    for (seed, length) in (1000..1032).zip([1 << 10, 1 << 14].into_iter().cycle()) {
        let found = desk.send(&message(&random(seed, length)));
        assert_eq!(weight(&found), None, "{seed}");
    }
}

/// Sends texts one after the other, whatever becomes of them; returns what arrived.
fn arrived(texts: &mut dyn Iterator<Item = &str>) -> String {
    let desk = with_token();
    let mut arrived = String::new();
    for piece in texts {
        let text = message(piece);
        let call = desk.call();
        let found = check(&desk.tracker, whose(ME, ME), call, "slack", &text, NOW);
        let stops = weight(&found.evidence) == Some(Weight::Sensitive);
        let fate = if stops { Fate::Stopped } else { Fate::Left };
        let call = CallId::new(call, 0);
        desk.tracker.settle(whose(ME, ME), call, fate, NOW);
        if !stops {
            arrived.push_str(piece);
        }
    }
    arrived
}

#[test]
fn who_goes_on_after_a_denial_gets_no_further() {
    let singles = || TOKEN.split("").filter(|one| !one.is_empty());
    assert_eq!(arrived(&mut singles()), TOKEN.get(..11).unwrap());
    // What is denied is denied again.
    let (first, rest) = TOKEN.split_at(6);
    let (second, third) = rest.split_at(5);
    let desk = with_token();
    let again = |piece: &str| weight(&desk.send_as(whose(ME, ME), "slack", &message(piece), false));
    assert_eq!(weight(&desk.send(&message(first))), None);
    assert_eq!(weight(&desk.send(&message(second))), None);
    for _ in 0..3 {
        assert_eq!(again(third.get(..1).unwrap()), Some(Weight::Sensitive));
    }
    // What is left out ends nothing.
    let gaps = singles().enumerate().filter(|(at, _)| at % 7 != 6);
    let got = arrived(&mut gaps.map(|(_, one)| one));
    assert!(got.len() < 20, "{got}");
}

#[test]
fn pieces_that_are_encoded_each_by_itself_add_up() {
    let check = |name: &str, texts: Vec<String>| {
        let desk = with_token();
        let found = texts
            .iter()
            .any(|text| weight(&desk.send(&message(text))) == Some(Weight::Sensitive));
        assert!(found, "{name}: {texts:?}");
    };
    for size in 1..=8 {
        let pieces = || TOKEN.as_bytes().chunks(size);
        let each = |piece: &[u8], of: &dyn Fn(u8) -> String, between: &str| {
            let codes: Vec<String> = piece.iter().map(|byte| of(*byte)).collect();
            codes.join(between)
        };
        let decimal = |byte: u8| byte.to_string();
        // One number alone may be half of one.
        if size > 1 {
            for between in [" ", ",", ", "] {
                let codes = |one| each(one, &decimal, between);
                check("codes", pieces().map(codes).collect());
            }
        }
        let of_hex = |byte: u8| format!("{byte:02x}");
        check("hex", pieces().map(|one| each(one, &of_hex, " ")).collect());
        check("base64", pieces().map(|one| STANDARD.encode(one)).collect());
    }
}

#[test]
fn what_stands_between_pieces_is_not_taken_for_one() {
    let token = "k7Qdk72vk7R4tkZ82pQdL1mB6";
    let desk = Desk::new();
    desk.read_secret(token, token, Nature::Secret);
    let mut text = String::new();
    for (at, piece) in token.as_bytes().chunks(2).enumerate() {
        text.push_str(std::str::from_utf8(piece).unwrap());
        // In no even rows.
        text.push_str([" then ", " then then then ", " then then "][at * at % 3]);
    }
    let found = desk.send(&message(&text));
    assert_eq!(weight(&found), Some(Weight::Sensitive), "{text}");
}

#[test]
fn pieces_that_go_to_several_fields_and_places_add_up() {
    let channel =
        |field: &str, piece: &str| json!({ "channel": "#general", field: piece }).to_string();
    let check = |name: &str, read: &dyn Fn() -> Desk, calls: Vec<(&str, String)>| {
        let desk = read();
        let found = calls.iter().any(|(to, json)| {
            let evidence = desk.send_as(whose(ME, ME), to, json, true);
            weight(&evidence) == Some(Weight::Sensitive)
        });
        assert!(found, "{name}: {calls:?}");
    };
    for size in [1, 2, 4, 5, 6] {
        let pieces = || {
            let pieces = TOKEN.as_bytes().chunks(size);
            pieces
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .enumerate()
        };
        let fields = ["text", "title"];
        let in_turn = |(n, piece)| ("slack", channel(fields[n % 2], piece));
        check("fields", &with_token, pieces().map(in_turn).collect());
        let key = |(_, piece): (usize, &str)| {
            (
                "slack",
                json!({ "channel": "#general", piece: 1 }).to_string(),
            )
        };
        check("names", &with_token, pieces().map(key).collect());
        let places = ["slack", "gmail", "pastebin"];
        let in_turn = |(n, piece)| (places[n % 3], message(piece));
        check("places", &with_token, pieces().map(in_turn).collect());
    }
    for (value, nature) in [
        ("4929 1758 3306 8842", Nature::Personal),
        ("DE67500105175407324931", Nature::Personal),
    ] {
        let read = || {
            let desk = Desk::new();
            desk.read_secret(&message(value), value, nature);
            desk
        };
        let (first, last) = value.split_at(value.len() / 2);
        let halves = [("text", first), ("title", last)];
        let to = |place, (field, piece)| (place, channel(field, piece));
        check(
            "in order",
            &read,
            halves.map(|half| to("slack", half)).into(),
        );
        let [first, last] = halves;
        check("turned", &read, vec![to("slack", last), to("slack", first)]);
        check("apart", &read, vec![to("gmail", last), to("slack", first)]);
    }
}

#[test]
fn who_goes_on_within_an_address_after_a_denial_gets_no_further() {
    let pieces = TOKEN.as_bytes().chunks(4);
    let uris = pieces.map(|piece| {
        let piece = std::str::from_utf8(piece).unwrap();
        format!("slack://messages/{piece}")
    });
    let uris: Vec<String> = uris.collect();
    let all = uris.len();
    let out = arrived(&mut uris.iter().map(String::as_str))
        .matches("slack")
        .count();
    assert!(2 * out <= all, "{out} of {all}");
}

#[test]
fn parts_of_an_address_that_others_have_too_do_not_add_up() {
    let desk = Desk::new();
    let address = "ada.lovelace@analytical-engines.example";
    desk.read_secret(&message(address), address, Nature::Personal);
    let parts = ["analytical-engines.example", "ada.lovelace"];
    let found = parts.map(|part| weight(&desk.send(&message(part))));
    assert!(!found.contains(&Some(Weight::Sensitive)), "{found:?}");
}
