//! Tables for each family, and every kind of national number made up at random.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

static PII: LazyLock<Pii> = LazyLock::new(Pii::new);

fn scan(text: &str) -> Vec<Detection> {
    let mut out = Vec::new();
    PII.scan(text, &mut out);
    out
}

/// What is worth a look in a text, as `type:value`.
fn warned(text: &str) -> Vec<String> {
    let loud = scan(text)
        .into_iter()
        .filter(|one| one.level >= Level::Warn);
    loud.map(|one| format!("{}:{}", one.kind, text.get(one.span).unwrap()))
        .collect()
}

fn check(text: &str, expect: &[&str]) {
    assert_eq!(warned(text), expect, "in `{text}`");
}

fn check_keyed(key: &str, value: &str, expect: Option<&str>) {
    let mut out = Vec::new();
    PII.scan_keyed(key, value, &mut out);
    let kind = out.first().map(|one| one.kind.as_ref());
    assert_eq!(kind, expect, "`{key}`: `{value}`");
    assert!(out.iter().all(|one| value.get(one.span.clone()).is_some()));
}

#[test]
fn emails() {
    check(
        "write to ana.silva@corp-mail.co.uk.",
        &["email:ana.silva@corp-mail.co.uk"],
    );
    check("<mailto:b+tag@mail.fr>", &["email:b+tag@mail.fr"]);
    check("müller@bücher.de", &["email:müller@bücher.de"]);
    check("x\\nzoe@mail.org", &["email:zoe@mail.org"]);
    check("ask ana@corp.io: she knows", &["email:ana@corp.io"]);
    check("who runs ssh? ana@corp.io", &["email:ana@corp.io"]);
    check(
        "ilse_brandt47@example.org",
        &["email:ilse_brandt47@example.org"],
    );
    for text in [
        "user@example.com",
        "logo@2x.png",
        "https://bob:pw@host.com/x",
        "git@github.com:a/b.git",
        "rsync -a dist/ deploy@web2.corp.io:/srv/app",
        "ssh -A deploy@web2.corp.io uptime",
        "@types/node@20.1.2",
        "a@b",
        "authors = [\"Ana <ana@corp.io>\"]",
        "Copyright 2020 Ana <ana@corp.io>",
        "decorate(@app.route)",
        "info@mail.",
    ] {
        check(text, &[]);
    }
}

#[test]
fn telephone_numbers() {
    for number in [
        "+44 20 7284 6613",
        "+4915194827361",
        "+33 (0)1 58 37 92 06",
        "+1-438-527-6091x318",
        "(629) 482-7716",
        "629-482-7716",
        "629.482.7716",
        "1-629-482-7716",
        "+55 (21) 97381-4402",
        "+7 (812) 604-38-91",
        "02.59.73.04.86",
        "06 83 20 97 41",
        "0683209741",
        "07458302916",
        "089/6204817",
        "080-7316-4905",
        "0044 20 7284 6613",
        "(48) 3927-5108",
    ] {
        check(
            &format!("the new one is {number}. Thanks"),
            &[&format!("phone:{number}")],
        );
    }
    check("Phone: 627 1983", &["phone:627 1983"]);
    check("mobile 684 209 571, work", &["phone:684 209 571"]);
    check("手机 13682049157", &["phone:13682049157"]);
    check("618 392 740 office", &["phone:618 392 740"]);
}

#[test]
fn what_only_looks_like_a_telephone_number() {
    for text in [
        "2024-01-31 10:20:30",
        "31.01.2024 10:20",
        "01-02-2024 1011",
        "1712345678",
        "1712345678901",
        "v1.2.3-20240131",
        "0.123456789012",
        "3.1415926535",
        "550e8400-e29b-41d4-a716-446655440000",
        "0123456789",
        "Boston, MA 02110-1301, USA",
        "1.15.0 (2021-12-25)",
        "libedit2:amd64 (3.1-20221030-2)",
        "const SMS_ATN: u32 = 536916224;",
        "+10000-12-31",
        "a = b +12345678",
        "00 01 02 03 04 05 06 07",
        "{\"id\": 123456789, \"ts\": 1712345678}",
    ] {
        check(text, &[]);
    }
}

#[test]
fn payment_cards() {
    for number in [
        "4539 4079 2527 3103",
        "4539-4079-2527-3103",
        "4539407925273103",
        "5338221872855253",
        "3775 280960 58453",
        "36159565131069",
        "6011177581311495",
        "3566495004244291",
    ] {
        check(
            &format!("pay with {number}, please"),
            &[&format!("credit_card:{number}")],
        );
    }
    check("card 4252882585188", &["credit_card:4252882585188"]);
    check("4252882585188", &[]);
    check("4539 4079 2527 3104", &[]);
    check("id=4539407925273104", &[]);
    check("0.4539407925273103", &[]);
}

/// All of these pass Luhn, and a word for a card stands beside each.
#[test]
fn a_card_has_a_length_that_its_issuer_has() {
    for number in [
        "676214587302",
        "586104729353",
        "060482193756",
        "6304582910477",
        "4252882585188",
        "6212345678901265",
        "6221260123456789024",
        "36159565131069",
    ] {
        let text = format!("card {number}");
        check(&text, &[&format!("credit_card:{number}")]);
    }
    // Twelve digits of nobody, and lengths that Visa, Mastercard, American Express, Discover and
    // UnionPay do not have.
    for number in [
        "012345678903",
        "091827364554",
        "412345678905",
        "512345678902",
        "601112345678",
        "621234567892",
        "681234567896",
        "51234567890127",
        "3412345678901237",
        // Shorter and longer than any.
        "67621458735",
        "62212601234567890243",
    ] {
        check(&format!("card {number}"), &[]);
    }
}

#[test]
fn bank_accounts_and_banks() {
    check(
        "to DE23759489196910672233.",
        &["iban:DE23759489196910672233"],
    );
    check(
        "GB64 QVKT 8460 6143 6018 18",
        &["iban:GB64 QVKT 8460 6143 6018 18"],
    );
    check("to DE23759489196910672234.", &[]);
    check("BIC: QVKTDE2LXXX", &["bic:QVKTDE2LXXX"]);
    check("let SWIFT = Swift.Array", &[]);
    check("account number 60417392", &["bank_account:60417392"]);
    check("routing number 076756126", &["us_routing_number:076756126"]);
}

#[test]
fn numbers_of_the_united_states() {
    check("123-45-6789", &["ssn:123-45-6789"]);
    check("SSN 123456789", &["ssn:123456789"]);
    check("947-83-2016", &["us_itin:947-83-2016"]);
    for text in [
        "666-45-6789",
        "000-45-6789",
        "123-00-6789",
        "123-45-0000",
        "123456789",
    ] {
        check(text, &[]);
    }
    check("passport number 518302764", &["passport:518302764"]);
    check(
        "my driver's license number is 4819-03-7726",
        &["driver_license:4819-03-7726"],
    );
    check("MRN: 00731584", &["medical_record:00731584"]);
}

#[test]
fn digits_that_somebody_typed_are_nobodys() {
    for text in [
        "passport number: 123456789",
        "passport number 987654321",
        "Account number: 1234567",
        "account number 7654321",
        "account number: 12345678",
        "bank account number: 1234567890",
        "account number 00000000",
        "account number 11223311",
        "account number 12341234",
        "member id 20212022",
        "member id: 12121212",
        "MRN: 12345678",
        "MRN: 01234567",
        "MRN: 55555555",
        "driver's license number 123456789",
        "ein: 12-3456789",
        "itin: 987-65-4321",
        "987-65-4321",
        "ssn: 078-05-1120",
        "219-09-9999",
        "ssn 219099999",
        "SSN: 111-11-1111",
        "ssn: 555555555",
    ] {
        check(text, &[]);
    }
    check_keyed("account_number", "1234567", None);
    check_keyed("passport_no", "123456789", None);
    check_keyed("ssn", "078051120", None);
    // A single digit out of order is enough, and few digits may be different in a short number.
    for (text, found) in [
        ("passport number: 123456780", "passport:123456780"),
        ("passport number: X4455667", "passport:X4455667"),
        ("passport number 223344", "passport:223344"),
        ("account number: 1243567", "bank_account:1243567"),
        ("account number 2020202", "bank_account:2020202"),
        ("account number 12349999", "bank_account:12349999"),
        ("member id 20212023994", "health_insurance:20212023994"),
        ("MRN: 0012344", "medical_record:0012344"),
        ("ein: 12-3456798", "us_ein:12-3456798"),
        ("itin: 987-65-4312", "us_itin:987-65-4312"),
        ("ssn: 078-05-1121", "ssn:078-05-1121"),
        ("ssn: 219-09-9998", "ssn:219-09-9998"),
        // What everybody types to see whether numbers are found is found.
        ("ssn: 123-45-6789", "ssn:123-45-6789"),
    ] {
        check(text, &[found]);
    }
}

#[test]
fn machines() {
    check("from 91.66.204.37:443", &["ip_address:91.66.204.37"]);
    check("2a02:26f0:1700::17d", &["ip_address:2a02:26f0:1700::17d"]);
    check("00:1b:44:11:3a:b7", &["mac_address:00:1b:44:11:3a:b7"]);
    check("001b.4411.3ab7", &["mac_address:001b.4411.3ab7"]);
    // The first digit may stand in any group.
    for mac in [
        "ae:1b:44:11:3a:b7",
        "AE-FB-44-11-3A-B7",
        "ae:fb:cd:aa:ea:b7",
        "aefb.cdaa.eab7",
    ] {
        check(&format!("of {mac}"), &[&format!("mac_address:{mac}")]);
    }
    // A name near by makes up for a weak shape.
    for (text, mac) in [
        ("MAC address 0011.2233.4457", "0011.2233.4457"),
        ("mac: 001b44113ab7, up", "001b44113ab7"),
        ("hwaddr 00-1B-44-11-3A-B7", "00-1B-44-11-3A-B7"),
    ] {
        check(text, &[&format!("mac_address:{mac}")]);
    }
    check("commit 001b44113ab7 of the machine", &[]);
    check("fdac:edfa:1700::17d", &[]);
    check(
        "acde:edfa:1700:2:3:4:5:6",
        &["ip_address:acde:edfa:1700:2:3:4:5:6"],
    );
    for text in [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.7",
        "203.0.113.9",
        "8.8.8.8",
        "1.2.3.4",
        "version 120.34.50.77",
        "Chrome/120.34.50.77",
        "2.5.29.19",
        "120.34.50.77.1",
        "300.1.1.1",
        "fe80::1",
        "2001:db8::1",
        "std::vec::Vec",
        "12:34:56",
        "00:00:00:00:00:00",
        "a8:98:5d:3a:65:e5:e5:11",
        "00:1b:44:11:3a",
        "ae:fb:44:11:3a",
        "xae:fb:44:11:3a:b7",
        "be-fad-dea-d4",
        "abc::def::a1",
    ] {
        check(text, &[]);
    }
}

#[test]
fn births_and_addresses() {
    for date in [
        "1984-03-12",
        "12/03/1984",
        "12.03.1984",
        "12 March 1984",
        "12th of May 1984",
    ] {
        let seen = warned(&format!("date of birth: {date}"));
        assert_eq!(seen.len(), usize::from(!date.contains("of")), "{date}");
    }
    check("Born: March 12, 1984", &["date_of_birth:March 12, 1984"]);
    check("released 1984-03-12", &[]);
    check(
        "Ana, 417 Linden Street, Springfield",
        &["postal_address:417 Linden Street"],
    );
    check(
        "Lindenstraße 31, Berlin",
        &["postal_address:Lindenstraße 31"],
    );
    check("Via Manzoni 48", &["postal_address:Via Manzoni 48"]);
    check(
        "au 26 rue des Tilleuls, Paris",
        &["postal_address:26 rue des Tilleuls"],
    );
    for text in [
        "via RFC 8693",
        "Section 5",
        "2 Way merge",
        "in 2017 while",
        "Step 3 Place it",
    ] {
        check(text, &[]);
    }
}

#[test]
fn a_key_speaks_for_its_value() {
    check_keyed("ssn", "123456789", Some("ssn"));
    check_keyed("socialSecurityNumber", "123456789", Some("ssn"));
    check_keyed("date_of_birth", "1984-03-12", Some("date_of_birth"));
    check_keyed("phoneNumber", " 6294827716 ", Some("phone"));
    check_keyed("passport_no", "X5820374", Some("passport"));
    check_keyed("cardNumber", "4252882585188", Some("credit_card"));
    check_keyed("bic", "QVKTDE2L", Some("bic"));
    check_keyed("street_address", "9 Via Dante", Some("postal_address"));
    check_keyed("account_number", "60417392", Some("bank_account"));
    check_keyed("id", "123456789", None);
    check_keyed("ssn", "000456789", None);
    check_keyed("ssn", "123-45-6789", None);
    check_keyed("phone", "unknown", None);
    check_keyed("address", "0.0.0.0:8080", None);
}

#[test]
fn nothing_in_ordinary_text() {
    for text in [
        "",
        "9",
        "@",
        "+",
        "(",
        "a@",
        "1.",
        "4539 5787",
        "sha256:9f86d081884c7d659a2feaa0c55ad015",
        "fn f(x: [u8; 32]) -> u64 { x[3] as u64 + 1_000_000 }",
        "{\"version\":\"10.0.19041\",\"size\":1048576,\"hash\":\"da39a3ee5e6b4b0d3255\"}",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    ] {
        check(text, &[]);
    }
}

/// Examples that authorities and standards print.
#[test]
fn published_numbers_are_found_by_their_label_alone() {
    for (label, value, kind) in [
        ("PIS", "120.56874.10-7", "br_pis"),
        ("CLABE", "032180000118359719", "mx_clabe"),
        ("NIP", "856-734-62-15", "pl_nip"),
        ("UTR", "1955839661", "uk_utr"),
        ("SIRET", "73282932000074", "fr_siret"),
        ("SIREN", "732 829 320", "fr_siren"),
        ("ОГРН", "1027700132195", "ru_ogrn"),
        ("统一社会信用代码", "91350100M000100Y43", "cn_uscc"),
        ("法人番号", "5835678256246", "jp_corporate_number"),
        ("NPWP", "01.300.066.6-091.000", "id_npwp"),
        ("code melli", "0790419904", "ir_national_code"),
        ("CCCD", "001099012345", "vn_cccd"),
        ("GSTIN", "27AAPFU0939F1ZV", "in_gstin"),
        ("ACN", "004 085 616", "au_acn"),
    ] {
        let found = format!("{kind}:{value}");
        assert_eq!(warned(&format!("{label}: {value}")), [found], "{label}");
        check_keyed(label, value, alone(value).is_none().then_some(kind));
    }
    for text in [
        "build 91350100M000100Y43",
        "took 032180000118359719 ns",
        "NIP: 856-734-62-16",
        "SIRET 73282932000075",
        "row 1027700132195",
    ] {
        check(text, &[]);
    }
}

/// What a value is found to be without any word near by.
fn alone(value: &str) -> Option<String> {
    warned(value).into_iter().next()
}

#[test]
fn every_national_number_is_found_by_its_label_and_lost_by_its_check() {
    let mut seed = 7_u64;
    for kind in national::all() {
        for pattern in kind.labelled.iter().chain(kind.alone) {
            let value = make(kind, pattern, &mut seed);
            let alone = kind.alone.contains(pattern);
            let label = context::phrase_of(kind.topic);
            let text = if alone {
                value.clone()
            } else {
                format!("{label}: {value}")
            };
            let found = warned(&text);
            // Some shapes are shared; one of the numbers that fit is named.
            assert!(!found.is_empty(), "{} misses `{text}`", kind.code);
            for wrong in one_off(&value).filter(|wrong| !(kind.check)(&compact(wrong))) {
                let found = warned(&text.replace(&value, &wrong));
                let same = format!("{}:{wrong}", kind.code);
                assert!(!found.contains(&same), "{} accepts `{wrong}`", kind.code);
            }
        }
    }
}

/// The letters and digits of a number.
fn compact(value: &str) -> Vec<u8> {
    value.bytes().filter(u8::is_ascii_alphanumeric).collect()
}

/// The same number with each other digit or letter at its end.
fn one_off(value: &str) -> impl Iterator<Item = String> {
    let end = value
        .rfind(|last: char| last.is_ascii_alphanumeric())
        .unwrap();
    let others = if value.as_bytes()[end].is_ascii_digit() {
        '0'..='9'
    } else {
        'A'..='Z'
    };
    let made = others.map(move |last| {
        format!(
            "{}{last}{}",
            value.get(..end).unwrap(),
            value.get(end + 1..).unwrap()
        )
    });
    made.filter(move |made| made != value)
}

/// A number of this kind and shape that its check accepts.
fn make(kind: &national::Kind, pattern: &str, seed: &mut u64) -> String {
    let mut next = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*seed >> 33).unwrap()
    };
    for _ in 0..2_000_000 {
        let fill = |wanted: char, at: usize| match wanted {
            '9' => char::from(b'0' + u8::try_from(at % 10).unwrap()),
            'A' => char::from(b'A' + u8::try_from(at % 26).unwrap()),
            'X' if at.is_multiple_of(2) => char::from(b'A' + u8::try_from(at / 2 % 26).unwrap()),
            'X' => char::from(b'0' + u8::try_from(at / 2 % 10).unwrap()),
            '_' => '-',
            other => other,
        };
        let mut value: String = pattern.chars().map(|wanted| fill(wanted, next())).collect();
        for (prefix, kinds) in [("756", "ch_ahv"), ("784", "ae_emirates_id")] {
            if kind.code == kinds {
                value.replace_range(..3, prefix);
            }
        }
        if (kind.check)(&compact(&value)) {
            return value.replace('-', if pattern.contains('_') { "" } else { "-" });
        }
    }
    panic!("nothing fits {} `{pattern}`", kind.code)
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_spans_are_characters(text in "\\PC{0,80}") {
        for one in scan(&text) {
            prop_assert!(text.get(one.span).is_some_and(|value| !value.is_empty()));
        }
    }

    #[test]
    fn no_mixture_of_numbers_and_signs_makes_it_panic(
        text in "[0-9a-fA-FxX+()./: @,_'\"\\\\\n-]{0,60}",
    ) {
        for one in scan(&text) {
            prop_assert!(text.get(one.span).is_some_and(|value| !value.is_empty()));
        }
    }

    #[test]
    fn a_card_is_found_and_with_another_check_digit_it_is_not(
        body in "4[0-9]{14}", off in 1_u8..10,
    ) {
        let digits: Vec<u8> = (b'0'..=b'9').collect();
        let right = digits.iter().copied().find(|last| {
            checksum::luhn(format!("{body}{}", char::from(*last)).as_bytes())
        }).unwrap();
        let card = format!("{body}{}", char::from(right));
        prop_assert_eq!(warned(&format!("pay {card} now")), vec![format!("credit_card:{card}")]);
        let wrong = char::from((right - b'0' + off) % 10 + b'0');
        prop_assert_eq!(warned(&format!("pay {body}{wrong} now")), Vec::<String>::new());
    }

    #[test]
    fn an_iban_is_found_and_with_another_digit_it_is_not(
        account in "[0-9]{18}", place in 0_usize..18, off in 1_u8..10,
    ) {
        let rest = checksum::mod97(account.bytes().chain(*b"DE00"));
        let iban = format!("DE{:02}{account}", 98 - rest);
        prop_assert_eq!(warned(&iban), vec![format!("iban:{iban}")]);
        let mut wrong = iban.clone().into_bytes();
        wrong[4 + place] = (wrong[4 + place] - b'0' + off) % 10 + b'0';
        let wrong = String::from_utf8(wrong).unwrap();
        prop_assert!(!warned(&wrong).iter().any(|one| one.starts_with("iban")));
    }

    #[test]
    fn a_sample_never_shows_more_than_a_few_letters(value in "[0-9A-Z]{6,24}") {
        for kind in ["ssn", "credit_card", "phone", "iban", "passport", "bank_account", "bic"] {
            let sample = crate::mask::sample(kind, &value);
            let shown = sample.as_str().chars().filter(|one| one.is_alphanumeric()).count();
            prop_assert!(shown <= 6, "{} of {}", sample.as_str(), kind);
            prop_assert!(!sample.as_str().contains(&value));
        }
    }
}

#[test]
fn a_masked_text_keeps_what_is_around_and_nothing_of_the_value() {
    let text = "Ana <zoe.lima@corp.io>, 4539 4079 2527 3103, SSN 123-45-6789!";
    let masked = crate::mask::mask_in(text, &scan(text));
    assert_eq!(
        masked,
        "Ana <z***@***.io>, ****-****-****-3103, SSN ***-**-6789!"
    );
}
