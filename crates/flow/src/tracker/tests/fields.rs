//! Whole fields and values: what they weigh, however they are written or cut.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

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

/// What nobody can read, and looks like chance.
fn noise(bytes: u64) -> Vec<u8> {
    let some = (0..bytes.div_ceil(8)).flat_map(|at| crate::roll::scramble(at + 7).to_le_bytes());
    some.take(usize::try_from(bytes).unwrap()).collect()
}

fn chunks(text: &str, length: usize) -> Vec<String> {
    let chunks = text.as_bytes().chunks(length);
    chunks
        .map(|chunk| String::from_utf8(chunk.to_vec()).unwrap())
        .collect()
}

#[test]
fn what_nobody_can_read_is_reported_in_pieces_of_any_size() {
    let desk = Desk::new();
    desk.read(PROSE);
    let check = |json: serde_json::Value| {
        let found = desk.send_as(whose(ME, ME), "slack", &json.to_string(), false);
        assert!(!found.opaque.is_empty(), "{json}");
    };
    let blob = noise(96);
    let base64 = STANDARD_NO_PAD.encode(&blob);
    for length in 1..=8 {
        let pieces = chunks(&base64, length);
        check(json!({ "data": pieces }));
        check(json!({ "n": 7, "to": "#general", "text": json!(pieces).to_string() }));
        let row = |(at, piece): (usize, &String)| json!({"at": at, "v": piece, "kind": "row"});
        let rows: Vec<_> = pieces.iter().enumerate().map(row).collect();
        check(json!({ "rows": rows }));
    }
    check(json!(chunks(&hex(&blob), 2)));
    check(json!({"a": chunks(&hex(&blob), 2)}));
    check(json!({"a": chunks(&hex(&blob).to_uppercase(), 4)}));
    let prefixed: Vec<_> = blob.iter().map(|byte| format!("0x{byte:02x}")).collect();
    check(json!({ "a": prefixed }));
    check(json!({ "a": blob }));
    let decimal: Vec<_> = blob.iter().map(u8::to_string).collect();
    check(json!({ "a": decimal }));
    let signed: Vec<_> = blob.iter().map(|byte| byte.cast_signed()).collect();
    check(json!({ "a": signed }));
}

#[test]
fn lists_that_people_and_programs_send_are_no_blobs() {
    let desk = Desk::new();
    desk.read(PROSE);
    let check = |json: serde_json::Value| {
        let found = desk.send_as(whose(ME, ME), "slack", &json.to_string(), false);
        assert!(found.opaque.is_empty(), "{json} {:?}", found.opaque);
    };
    let words = |text: &str| json!({"list": text.split(' ').collect::<Vec<_>>()});
    for list in [
        // Words, names, places.
        "red green blue yellow orange purple black white grey brown pink teal",
        "Anna Ben Chloe David Emma Felix Greta Hugo Ida Jonas Klara Leon Mia Noah",
        "Berlin Paris Rome Madrid Vienna Oslo Bern Prague Dublin Athens Lisbon Riga",
        "the of and to in is it for on with as at by from or an be this that are",
        // Codes of countries, languages, currencies, airports, shares, the elements.
        "DE FR IT ES PT NL BE LU AT CH DK SE NO FI IS IE GB PL CZ SK HU SI HR RO BG GR CY",
        "de fr it es pt nl be lb at ch da sv no fi is ga en pl cs sk hu sl hr ro bg el tr",
        "USD EUR GBP JPY CHF SEK NOK DKK PLN CZK HUF RON BGN TRY CAD AUD NZD CNY INR BRL",
        "JFK LHR FRA CDG AMS MAD BCN FCO MUC ZRH VIE CPH OSL ARN HEL DUB LIS ATH WAW PRG",
        "AAPL MSFT NVDA AMZN GOOGL META TSLA BRK.B JPM V UNH XOM JNJ WMT PG MA HD CVX",
        "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn",
        // Tags and names of programs.
        "k8s i18n l10n s3 ec2 h264 mp3 mp4 utf8 ipv6 html5 css3 es6 web3 x86 arm64 2fa",
        "userId fileName isOpen rowCount maxSize minSize lastSeen firstRow toName byDate",
        "GitHub macOS iPhone YouTube LaTeX PyPI eBay iPad GitLab OAuth GraphQL NumPy",
        "GET POST PUT PATCH DELETE HEAD OPTIONS TRACE GET POST PUT PATCH DELETE",
        // Numbers that count, measure, order.
        "A1 A2 A3 A4 B1 B2 B3 B4 C1 C2 C3 C4 D1 D2 D3 D4 E1 E2 E3 E4 F1 F2 F3 F4 G1 G2",
        "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7 Re1 b5 Bb3 d6 c3 O-O h3 Nb8 d4 Nbd7",
        "OPS-1042 OPS-1043 OPS-1077 OPS-1080 DEV-3 DEV-17 DEV-220 OPS-1101 OPS-1102",
        "C-7719 C-8120 C-1002 C-4417 C-9934 C-1288 C-5561 C-7003 C-2210 C-3345",
        "LH400 BA117 AF1234 KL602 UA901 DL48 IB6253 AZ610 SK903 AY1331 LX40 OS87 TP209",
        "SW1A1AA M11AE EC1A1BB W1A0AX CR26XH DN551PT B338TH L18JQ G28DF BS11AA LS15DL",
        "v1.0.0 v1.0.1 v1.1.0 v1.2.0 v2.0.0 v2.0.1 v2.1.0 v3.0.0-b v3.0.0",
        "10px 1.5rem 50% auto -4px 0.5em 2vh 12px 1fr 100% 3.5rem 8px 0 1px 24px 90%",
        "9:00 9:30 10:00 10:30 11:00 11:30 12:00 12:30 13:00 13:30 14:00 14:30",
        "#3f9a2c #81d04e #aa17b3 #5c60f2 #e8d911 #0b7c9a #52a1d3 #4e0a9c #7e3f5a #1c2d8e",
        "9fceb02 1a2b3c4 77f0e12 d4c3b2a 0e9d8c7 5b4a392 c0ffee1 8d7e6f5 2c1b0a9 f00ba42",
        "ABDCA CADBA BBACD DACBA A B D C A C A D B A B B A C D D A C B A A B D C A C A D",
        "Y N Y Y N N Y N Y Y Y N N N Y N Y N Y Y N Y N Y Y N N Y N Y Y Y N N N Y N Y N Y",
        "M-F 9-5 Sat Sun 24/7 n/a TBD Q1 Q2 Q3 Q4 FY25 FY26 H1 H2 YTD MTD WTD",
    ] {
        check(words(list));
        let rows: Vec<_> = list.split(' ').map(|one| json!({ "name": one })).collect();
        check(json!({ "rows": rows }));
    }
    let count = |of: &dyn Fn(u64) -> u64| json!({"values": (0..96).map(of).collect::<Vec<_>>()});
    let chance = |at: u64| crate::roll::scramble(at);
    check(count(&|at| at));
    check(count(&|at| at * 255 / 95));
    check(count(&|at| chance(at) % 100));
    check(count(&|at| 40 + chance(at) % 40 + chance(at + 999) % 40));
    check(count(&|at| chance(at) % 1_000_000));
    check(count(&|at| chance(at) % 2 * 255));
    check(count(&|at| 18 + chance(at) % 70));
    check(
        json!({"values": (0..96).map(|at| f64::from(u32::try_from(chance(at) % 1000).unwrap()) / 10.0).collect::<Vec<_>>()}),
    );
}

#[test]
fn characters_beside_their_places_are_put_in_order() {
    let desk = Desk::new();
    desk.read_secret(&env_file(), KEY, Nature::Secret);
    let mut pairs: Vec<(usize, char)> = KEY.chars().enumerate().collect();
    let sent = |json: serde_json::Value| {
        let found = desk.send_as(whose(ME, ME), &json.to_string(), &json.to_string(), false);
        assert_eq!(weight(&found), Some(Weight::Sensitive), "{json}");
    };
    for _ in 0..2 {
        let text: Vec<_> = pairs
            .iter()
            .map(|(at, char)| (at, char.to_string()))
            .collect();
        let turned: Vec<_> = text.iter().map(|(at, char)| (char, at)).collect();
        let row = |(at, char): &(&usize, String)| json!({"i": at, "c": char});
        let rows: Vec<_> = text.iter().map(row).collect();
        sent(json!({ "a": text }));
        sent(json!({ "a": turned }));
        sent(json!({ "a": rows }));
        sent(json!({ "text": json!(text).to_string() }));
        pairs.sort_by_key(|(at, _)| crate::roll::scramble(*at as u64));
    }
}
