//! How often the detector is right about each type that the specification names: over values made
//! by a fixed sequence in ordinary surroundings, and over as many look-alikes that are none.
//!
//! The shares are of these cases. What becomes of texts that nobody here has seen is measured by
//! `cargo xtask eval detect`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpproxy_core::Severity;
use mcpproxy_detect::{Category, Detection, Detector, Level, Settings};

/// Values and look-alikes of each type.
const EACH: usize = 200;
const DIGITS: &str = "0123456789";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// What carries a value.
const CARRIERS: [&str; 5] = [
    "Please note {} before the meeting on Thursday.",
    "{\"customer\":{\"note\":\"{}\"},\"state\":\"open\"}",
    "2026-02-03 11:09:41 INFO saved {} ok\n",
    "| name | value |\n|---|---|\n| first | {} |\n",
    "id,value,state\n17,{},open\n",
];

/// A sequence that looks random and is the same in each run.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn string(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let next = |_| char::from(letters[self.below(letters.len())]);
        (0..length).map(next).collect()
    }

    fn digits(&mut self, length: usize) -> String {
        self.string(DIGITS, length)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length)
            .map(|_| u8::try_from(self.below(256)).unwrap())
            .collect()
    }
}

type Make = fn(&mut Sequence) -> String;

/// A type, how its values and its look-alikes are made, and what the specification asks for.
struct Type {
    is: fn(&Detection) -> bool,
    level: Level,
    value: Make,
    alike: Make,
    /// The least share of all cases that are judged right, in percent.
    right: usize,
    /// The greatest share of look-alikes that are flagged, in percent.
    alarms: usize,
}

/// Returns what is seen of a type in a text.
fn seen(detector: &Detector, kind: &Type, text: &str) -> Option<Detection> {
    let found = detector.text(text).detections.into_iter();
    let mut found = found.map(|found| found.detection);
    found.find(|one| (kind.is)(one) && one.level >= kind.level)
}

fn carried(sequence: &mut Sequence, value: &str) -> String {
    sequence.pick(&CARRIERS).replace("{}", value)
}

/// Counts, and checks the severity of all that is found where one is asked for.
fn check(kind: &Type, severity: Option<Severity>) {
    let detector = Detector::new(&Settings::default()).unwrap();
    let mut sequence = Sequence(7);
    let (mut missed, mut alarms) = (Vec::new(), Vec::new());
    for _ in 0..EACH {
        let value = (kind.value)(&mut sequence);
        let text = carried(&mut sequence, &value);
        match seen(&detector, kind, &text) {
            Some(one) => {
                let as_asked = severity.is_none_or(|severity| one.severity == severity);
                assert!(as_asked, "{one:?}");
            }
            None => missed.push(text),
        }
        let alike = (kind.alike)(&mut sequence);
        let text = carried(&mut sequence, &alike);
        if seen(&detector, kind, &text).is_some() {
            alarms.push(text);
        }
    }
    let wrong = missed.len() + alarms.len();
    let right = 100 * (2 * EACH - wrong) / (2 * EACH);
    assert!(right >= kind.right, "{right} % right, missed {missed:#?}");
    assert!(alarms.len() * 100 <= kind.alarms * EACH, "{alarms:#?}");
}

fn card(sequence: &mut Sequence, off: u32) -> String {
    let start = sequence.pick(&["4", "51", "53", "55", "6011", "37"]);
    let length = if start == "37" { 15 } else { 16 };
    let body = format!("{start}{}", sequence.digits(length - start.len() - 1));
    let doubled = |(place, digit): (usize, char)| {
        let digit = digit.to_digit(10).unwrap();
        let digit = if place % 2 == 0 { digit * 2 } else { digit };
        digit / 10 + digit % 10
    };
    let sum: u32 = body.chars().rev().enumerate().map(doubled).sum();
    format!("{body}{}", (10 - sum % 10 + off) % 10)
}

#[test]
fn email_addresses() {
    let kind = Type {
        is: |one| one.kind == "email",
        level: Level::Warn,
        value: |sequence| {
            let first = sequence.pick(&["nora", "liam", "chen", "amara", "petra", "yusuf"]);
            let last = sequence.pick(&["vogel", "okafor", "tanaka", "silva", "novak", "moss"]);
            let at = sequence.pick(&["postbox.org", "mailkit.io", "uni-west.edu", "firm.co.uk"]);
            let joint = sequence.pick(&[".", "_", "-", "+"]);
            format!("{first}{joint}{last}{}@{at}", sequence.below(90))
        },
        alike: |sequence| {
            let word = sequence.string("abcdefghijklmnopqrstuvwxyz", 7);
            let number = sequence.below(9);
            match sequence.below(6) {
                0 => format!("{word}@{number}x.png"),
                1 => format!("git@github.com:{word}/app.git"),
                2 => format!("@types/{word}@20.{number}.2"),
                3 => format!("{word}@localhost"),
                4 => format!("@{word}.route"),
                _ => format!("https://{word}:pw@host.com/x"),
            }
        },
        right: 90,
        alarms: 10,
    };
    check(&kind, Some(Severity::Medium));
}

#[test]
fn numbers_of_the_social_security() {
    let kind = Type {
        is: |one| one.kind == "ssn",
        level: Level::Warn,
        value: |sequence| {
            let area = [1 + sequence.below(665), 667 + sequence.below(233)][sequence.below(2)];
            let (group, serial) = (1 + sequence.below(99), 1 + sequence.below(9999));
            format!("{area:03}-{group:02}-{serial:04}")
        },
        alike: |sequence| {
            let (area, group, serial) = (
                sequence.below(900),
                sequence.below(100),
                sequence.below(10_000),
            );
            match sequence.below(6) {
                0 => format!("000-{group:02}-{serial:04}"),
                1 => format!("666-{group:02}-{serial:04}"),
                2 => format!("9{group:02}-{group:02}-{serial:04}"),
                3 => format!("{area:03}-00-{serial:04}"),
                4 => format!("{area:03}-{group:02}-0000"),
                _ => format!("{group:02}-{area:03}-{serial:04}"),
            }
        },
        right: 95,
        alarms: 2,
    };
    check(&kind, Some(Severity::Critical));
}

#[test]
fn payment_cards() {
    let kind = Type {
        is: |one| one.kind == "credit_card",
        level: Level::Warn,
        value: |sequence| card(sequence, 0),
        alike: |sequence| {
            let off = u32::try_from(1 + sequence.below(9)).unwrap();
            card(sequence, off)
        },
        right: 95,
        alarms: 15,
    };
    check(&kind, Some(Severity::Critical));
}

#[test]
fn telephones_of_the_united_states() {
    let kind = Type {
        is: |one| one.kind == "phone",
        level: Level::Warn,
        value: |sequence| {
            let area = sequence.pick(&["212", "415", "617", "303", "702", "512"]);
            let (middle, last) = (201 + sequence.below(700), sequence.digits(4));
            match sequence.below(4) {
                0 => format!("({area}) {middle}-{last}"),
                1 => format!("{area}-{middle}-{last}"),
                2 => format!("+1 {area} {middle} {last}"),
                _ => format!("1-{area}-{middle}-{last}"),
            }
        },
        alike: |sequence| {
            let (year, month, day) = (
                1970 + sequence.below(60),
                1 + sequence.below(12),
                1 + sequence.below(28),
            );
            let digits = sequence.digits(10);
            match sequence.below(6) {
                0 => format!("{year}-{month:02}-{day:02} 10:20:30"),
                1 => format!("1{digits}"),
                2 => format!("0.{digits}"),
                3 => format!("v{month}.{day}.3-{year}{month:02}{day:02}"),
                4 => format!("Boston, MA 02110-{year}"),
                _ => format!("build {digits}"),
            }
        },
        right: 80,
        alarms: 20,
    };
    check(&kind, Some(Severity::Medium));
}

fn is_secret(one: &Detection) -> bool {
    matches!(
        one.category,
        Category::ApiToken
            | Category::AuthToken
            | Category::CloudCredentials
            | Category::HighEntropy
    )
}

#[test]
fn keys_of_interfaces() {
    let kind = Type {
        is: is_secret,
        level: Level::Warn,
        value: |sequence| {
            let length = 20 + sequence.below(28);
            let random = sequence.string(WORD, length);
            match sequence.below(4) {
                0 => format!("sk-{random}"),
                1 => format!("api_key={random}"),
                2 => format!("API-KEY: {random}"),
                _ => format!("client_secret = {random}"),
            }
        },
        alike: |sequence| {
            let word = sequence.pick(&["orders", "billing", "search", "invoices"]);
            match sequence.below(6) {
                0 => match sequence.below(4) {
                    0 => format!("sk-{word}-of-the-harbour-office"),
                    1 => format!("sk-{word}-{}", sequence.string("0123456789abcdef", 16)),
                    2 => format!("sk-estimator-{word}-doc-link-{}", sequence.below(99)),
                    _ => {
                        let part = |length| sequence.string("0123456789abcdef", length);
                        format!("sk-{}", [8, 4, 4, 4, 12].map(part).join("-"))
                    }
                },
                1 => format!("api_key=${{{}_API_KEY}}", word.to_uppercase()),
                2 => format!("API-KEY: <your-{word}-key>"),
                3 => format!("secret_name = prod/{word}/main"),
                4 => format!("api_key = os.environ['{}']", word.to_uppercase()),
                _ => format!("the secret of {word} is patience"),
            }
        },
        right: 97,
        alarms: 1,
    };
    check(&kind, Some(Severity::High));
}

/// Digits, hexadecimal digits, and letters of one case with digits, all of them short; beside them
/// the same under names that only begin like those of secrets, and words.
#[test]
fn short_values_under_the_name_of_a_secret() {
    const HEX: &str = "0123456789abcdef";
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
    let kind = Type {
        is: |one| {
            let database = one.category == Category::DatabaseCredential;
            is_secret(one) || database
        },
        level: Level::Warn,
        value: |sequence| {
            let (alphabet, more) = [(DIGITS, 23), (HEX, 11), (LOWER, 6)][sequence.below(3)];
            let length = 10 + sequence.below(more);
            let value = sequence.string(alphabet, length);
            let name = sequence.pick(&["DB_PASSWORD", "API_KEY", "client_secret", "auth_token"]);
            format!("{name}={value}")
        },
        alike: |sequence| {
            let length = 10 + sequence.below(6);
            let value = match sequence.below(2) {
                0 => sequence.digits(length),
                _ => sequence.string(HEX, length),
            };
            let word = sequence.pick(&["deployment", "connection", "description", "integration"]);
            match sequence.below(8) {
                0 => format!("token_count={}", sequence.digits(10)),
                1 => format!("password_changed_at=17{}", sequence.digits(8)),
                2 => format!("API_KEY_ID={value}"),
                3 => format!("key={value}"),
                4 => format!("commit={value}"),
                5 => format!("build_id={value}"),
                6 => format!("sync_token=17{}", sequence.digits(8)),
                _ => format!("api_key={word}{}", sequence.below(99)),
            }
        },
        right: 98,
        alarms: 0,
    };
    check(&kind, None);
}

#[test]
fn signed_tokens() {
    let kind = Type {
        is: |one| one.kind == "jwt_token",
        level: Level::Warn,
        value: |sequence| {
            let subject = sequence.string(WORD, 12);
            let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
            let body = format!(r#"{{"sub":"{subject}","iat":1775000000}}"#);
            let signature = URL_SAFE_NO_PAD.encode(sequence.bytes(32));
            format!("{head}.{}.{signature}", URL_SAFE_NO_PAD.encode(body))
        },
        alike: |sequence| {
            let part = |sequence: &mut Sequence| sequence.string(WORD, 30);
            let (one, two, three) = (part(sequence), part(sequence), part(sequence));
            match sequence.below(3) {
                0 => format!("{one}.{two}.{three}"),
                1 => format!("eyJ{one}.{two}.{three}"),
                _ => format!("eyJ{one}"),
            }
        },
        right: 99,
        alarms: 1,
    };
    check(&kind, Some(Severity::High));
}

#[test]
fn random_looking_secrets() {
    let kind = Type {
        is: is_secret,
        level: Level::Note,
        value: |sequence| {
            let length = 40 + sequence.below(24);
            let random = sequence.string(WORD, length);
            match sequence.below(2) {
                0 => format!("SESSION_SECRET={random}"),
                _ => random,
            }
        },
        alike: |sequence| {
            const HEX: &str = "0123456789abcdef";
            match sequence.below(4) {
                0 => sequence.string(HEX, 40),
                1 => sequence.string(HEX, 64),
                2 => {
                    let part = |length| sequence.string(HEX, length);
                    [8, 4, 4, 4, 12].map(part).join("-")
                }
                _ => {
                    let word = |_| sequence.pick(&["harbour", "lamp", "pier", "office", "list"]);
                    (0..8).map(word).collect::<Vec<_>>().join("-")
                }
            }
        },
        right: 85,
        alarms: 15,
    };
    check(&kind, None);
}

#[test]
fn names_of_persons_are_out_of_reach() {
    let detector = Detector::new(&Settings::default()).unwrap();
    for text in [
        "Ana Silva and Chen Tanaka will join us.",
        "April Washington signed for Mr. Novak.",
        "{\"first_name\":\"Amara\",\"last_name\":\"Okafor\"}",
    ] {
        let report = detector.text(text);
        assert!(report.detections.is_empty(), "{report:?}");
    }
    // Whoever needs one found says so.
    let settings = r#"{"sensitive_keywords":["Amara Okafor"]}"#;
    let settings: Settings = serde_json::from_str(settings).unwrap();
    let report = Detector::new(&settings).unwrap().text("ask Amara Okafor");
    assert_eq!(report.detections.len(), 1, "{report:?}");
}

#[test]
fn a_check_that_holds_makes_surer() {
    let detector = Detector::new(&Settings::default()).unwrap();
    let confidence = |text: &str| {
        let report = serde_json::to_value(detector.text(text)).unwrap();
        let confidence = report["detections"][0]["confidence"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&confidence), "{report}");
        confidence
    };
    // Both are addresses of currencies; only the first has a checksum that was looked at.
    let checked = confidence("pay 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    let shaped = confidence("pay 0x52908400098527886e0f7030069857d2e4169ee7");
    assert!(checked > shaped, "{checked} {shaped}");
    // A card that its issuer and Luhn vouch for, beside a number that only a word names.
    let card = confidence("pay with 4539 4079 2527 3103, please");
    let named = confidence("account number 60417392");
    assert!(card > named, "{card} {named}");
}
